"""`banditboost warm`: a booster that starts where a log ends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from banditboost._core.checks import one_of
from banditboost.algorithms import boosted, pricing
from banditboost.booster import Booster
from banditboost.cli import outcomes, outside
from banditboost.cli.common import (
    CategoryColumns,
    DateColumns,
    DropColumns,
    JsonOut,
    NumberColumns,
    Quiet,
    Screen,
    Seed,
    check_outputs,
    said_of,
)
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
    space_of,
)
from banditboost.cli.own_log import LogColumns, read, show_context
from banditboost.critics import Sales
from banditboost.critics.suspicion import WANTED, Suspicion
from banditboost.explore import Explore
from banditboost.logs import Log
from banditboost.spaces import Space

ALGORITHMS = ("boosted", "pricing")
ABOUT = 0.01
"""A reward within this share of the price is the price, rounded."""


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
    number: NumberColumns = None,
    category: CategoryColumns = None,
    date: DateColumns = None,
    drop: DropColumns = None,
    explain_columns: Annotated[
        bool, typer.Option("--explain-columns", help="Show how every column would be read, and stop.")
    ] = False,
    most: Annotated[
        float | None,
        typer.Option(
            "--most",
            help="The farthest from its predictions that the model will play, in units of the action; with boosted as far as "
            "the log did when not given.",
        ),
    ] = None,
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm",
            help="boosted, for any loss or reward; or pricing, where --action is a price and --reward what it earned: the price "
            "for a sale and 0 for none.",
        ),
    ] = "boosted",
    answers: Annotated[int, typer.Option("--answers", min=1, help="How many points the model will play a round.")] = 1,
    seed: Seed = 0,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Let a new booster learn from a log, so that it starts where the log ends."""
    check_outputs({"save": save, "json": json_file}, [file])
    screen, where = Screen(quiet, json_file), space_of(space)
    assert where is not None
    names = LogColumns(file, action, loss, reward, density, context, ticket, time, losses)
    log = read(names, said_of(number, category, date, drop))
    show_context(screen, log, context)
    if explain_columns:
        screen.results({"command": "warm", "file": str(file), "columns": [list(row) for row in log.columns]})
        return
    prices = one_of("algorithm", algorithm, ALGORITHMS) == "pricing"
    booster, notes = (_pricing if prices else _boosted)(where, log, answers, seed, most)
    counts = log.check(where)
    learned = booster.learn_from(log)
    booster.extra |= log.naming()
    booster.save(save)
    if context is None and (warning := outcomes.sentence(log)) is not None:
        screen.say(warning)
    if counts.missing:
        screen.say(f"{counts.missing:,} rows have no loss and were left out.")
    for note in (str(learned), *notes):
        screen.say(note)
    if (compared := outside.compare(booster, log)) is not None:
        screen.say(compared.sentences(where))
    if log.in_rewards:
        screen.say("It maximizes: tell it rewards.")
    screen.say(f"Model: {save}")
    results = {"command": "warm", "file": str(file), "rows": counts.rows, "missing": counts.missing}
    screen.results(results | {"rounds": booster.rounds} | ({} if compared is None else compared.plain()))


def _boosted(space: Space, log: Log, answers: int, seed: int, most: float | None) -> tuple[Booster, list[str]]:
    """Return a booster for any loss that explores as far as the log did, or as asked, and what is to be said about it."""
    log.check(space)
    if most is not None:
        return boosted(space, answers=answers, seed=seed, explore=Explore(most=most), maximize=log.in_rewards), []
    width = log.explored() if answers == 1 else None
    booster = boosted(space, answers=answers, seed=seed, explore=Explore(most=width), maximize=log.in_rewards)
    if width is None:
        return booster, []
    far = ", ".join(f"{each:.3g}" for each in width)
    return booster, [f"It explores at most {far} from its predictions, as far as the log did from what it aims at."]


def _pricing(space: Space, log: Log, answers: int, seed: int, most: float | None) -> tuple[Booster, list[str]]:
    """Return a booster for prices, and what is to be said about it; raise where rewards cannot have been earned by sales."""
    if not log.in_rewards:
        raise ValueError(f"reward must be given with --algorithm pricing: the column of {WANTED}.")
    if answers != 1:
        raise ValueError(f"answers must be left out with --algorithm pricing, which shows one price, got {answers}.")
    booster, suspicion, parts = pricing(space, seed=seed, explore=Explore(most=most)), Suspicion(), 0
    log.check(space)
    for block in log.blocks():
        prices, rewards = block.actions[:, 0], -block.losses
        sold = np.flatnonzero(rewards)
        parts += int((np.abs(rewards - prices) > ABOUT * prices)[sold].sum())
        for i in sold:
            if (found := suspicion.look(float(prices[i]), float(block.losses[i]))) is not None:
                raise ValueError(f"reward must be {WANTED}, got {found}, up to row {block.row + i + 1}.")
    about = f"{parts:,} rewards are neither 0 nor the price: pricing takes each for a part of a sale, boosted for what it is."
    limit = Sales().products_up_to
    wide = (
        f"The context has {log.features} numbers: with more than {limit} the model of demand has no products of two of them, so "
        "that what matters together needs a column of its own, or fewer columns (--context)."
    )
    return booster, [about] * (parts > 0) + [wide] * (log.features > limit)
