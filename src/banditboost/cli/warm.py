"""`banditboost warm`: a booster that starts where a log ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from banditboost.algorithms import boosted
from banditboost.cli import warmed
from banditboost.cli.common import JsonOut, Quiet, Screen, Seed, check_outputs
from banditboost.cli.evaluate import (
    ActionOf,
    ContextOf,
    DensityOf,
    LateOf,
    LogFile,
    LossOf,
    RewardOf,
    TicketOf,
    TimeOf,
    about_context,
    read,
    space_of,
)
from banditboost.explore import Explore


def warm(
    file: LogFile,
    action: ActionOf,
    space: Annotated[
        str, typer.Option("--space", help="Where decisions lie: low,high of every coordinate, such as 0,20.")
    ],
    save: Annotated[Path, typer.Option("--save", help="Write the model to this file.", dir_okay=False)],
    loss: LossOf = None,
    reward: RewardOf = None,
    density: DensityOf = None,
    context: ContextOf = None,
    ticket: TicketOf = None,
    time: TimeOf = None,
    losses: LateOf = None,
    answers: Annotated[int, typer.Option("--answers", min=1, help="How many points the model will play a round.")] = 1,
    seed: Seed = 0,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Let a new booster learn from a log, so that it starts where the log ends."""
    check_outputs({"save": save, "json": json_file}, [file])
    screen, log, where = (
        Screen(quiet, json_file),
        read(file, action, (loss, reward), density, context, ticket, time, losses),
        space_of(space),
    )
    assert where is not None
    counts = log.check(where)
    width = log.explored() if answers == 1 else None
    booster = boosted(where, answers=answers, seed=seed, explore=Explore(most=width), maximize=log.in_rewards)
    learned = booster.learn_from(log)
    warmed.remember(booster, log.context_names, log.action_names)
    booster.save(save)
    screen.say(about_context(file, log, context))
    if counts.missing:
        screen.say(f"{counts.missing:,} rows have no loss and were left out.")
    screen.say(str(learned))
    if width is not None:
        far = ", ".join(f"{each:.3g}" for each in width)
        screen.say(f"It explores at most {far} from its predictions, as far as the log did from what it aims at.")
    if log.in_rewards:
        screen.say("It maximizes: tell it rewards.")
    screen.say(f"Model: {save}")
    screen.results(
        {"command": "warm", "file": str(file), "rows": counts.rows, "missing": counts.missing, "rounds": booster.rounds}
    )
