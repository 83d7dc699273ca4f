"""`banditboost evaluate`: what a policy would have cost, from a log."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from banditboost.booster import Booster
from banditboost.cli import evaluate_report, outcomes, warmed
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
from banditboost.cli.own_log import LogColumns, encoding_of, listed, read, show_context
from banditboost.datasets.blocks import few
from banditboost.evaluate import Exploring, OffPolicy, off_policy
from banditboost.evaluate.ope.choice import RULES
from banditboost.evaluate.ope.off_policy import ESTIMATORS
from banditboost.gradients import Remembered
from banditboost.logs import Log
from banditboost.spaces import Box, Interval, Space

LogFile = Annotated[
    Path,
    typer.Argument(metavar="LOG", help="A log: a CSV or Parquet file, or a folder of such files, one row a decision."),
]
ActionOf = Annotated[
    str, typer.Option("--action", help="The column of the action, or those of its coordinates, separated by commas.")
]
LossOf = Annotated[
    str | None,
    typer.Option(
        "--loss", help="The column of the loss, which is wanted low; loss when neither this nor --reward is given."
    ),
]
RewardOf = Annotated[
    str | None, typer.Option("--reward", help="In place of --loss: the column of the reward, which is wanted high.")
]
DensityOf = Annotated[
    str | None, typer.Option("--density", help="The column of the density with which the action was drawn.")
]
ContextOf = Annotated[
    str | None,
    typer.Option(
        "--context",
        help="The columns of the context, separated by commas; all other columns when not given.",
    ),
]
TicketOf = Annotated[str | None, typer.Option("--ticket", help="The column of ticket numbers.")]
TimeOf = Annotated[
    str | None, typer.Option("--time", help="The column of times, which then is no part of the context.")
]
LateOf = Annotated[
    Path | None, typer.Option("--losses", help="A file of losses that came later, with --ticket and --loss.")
]
SpaceOf = Annotated[
    str | None,
    typer.Option("--space", help="Where actions lie: low,high of every coordinate, such as 0,20 or 0,1,0,5."),
]


def evaluate(
    file: LogFile,
    action: ActionOf,
    policy: Annotated[str, typer.Option("--policy", help="A model file, a constant such as 12.5, or logging.")],
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
    space: SpaceOf = None,
    estimator: Annotated[str, typer.Option("--estimator", help=f"One of {', '.join(ESTIMATORS)}.")] = "dr",
    bandwidth: Annotated[
        str, typer.Option("--bandwidth", help="balanced, slope, or a number in units of the action.")
    ] = "balanced",
    level: Annotated[float, typer.Option("--level", help="How often intervals shall hold the truth.")] = 0.95,
    exploring: Annotated[bool, typer.Option("--exploring", help="Evaluate a model with its exploration.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write an HTML report into this folder.", file_okay=False)
    ] = None,
    seed: Seed = 0,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Estimate what a policy would have cost on a log that another policy wrote, and say whether to trust the answer."""
    check_outputs({"report": report, "json": json_file}, [file])
    screen = Screen(quiet, json_file)
    whom = policy_of(policy, exploring)
    wanted = context_for(policy, whom, context)
    names = LogColumns(file, action, loss, reward, density, wanted, ticket, time, losses)
    log = read(names, said_of(number, category, date, drop), encoding_of(_booster_of(whom)))
    check_features(policy, whom, log)
    if (turned := told_otherwise(policy, whom, log)) is not None:
        screen.say(turned)
    show_context(screen, log, wanted)
    if wanted is None and (warning := outcomes.sentence(log)) is not None:
        screen.say(warning)
    widths = bandwidth if bandwidth in RULES else numbers("bandwidth", bandwidth, "balanced, slope, or ")
    found = off_policy(
        log, whom, estimator, widths, level=level,
        space=space_of(space), seed=seed,
    )  # fmt: skip
    screen.say(str(found))
    results = {"command": "evaluate", "file": str(file), "policy": policy} | plain(found)
    if report is not None:
        screen.say(f"Report: {evaluate_report.report(results, found, report)}")
    screen.results(results)


def context_for(name: str, policy: Any, context: str | None) -> str | None:
    """Return the columns of the context: as asked for, or those of the model; raise where they are its own in another order."""
    booster = _booster_of(policy)
    known = warmed.context_of(booster) if isinstance(booster, Booster) else None
    if known is None or any("," in column or column != column.strip() for column in known):
        return context
    if context is None:
        return ",".join(known)
    given = tuple(listed(context))
    if given != known and sorted(given) == sorted(known):
        raise ValueError(f"context must have the order of {name}, {','.join(known)}, got {context}; or leave it out.")
    return context


def _booster_of(policy: Any) -> Any:
    return policy.booster if isinstance(policy, Exploring) else policy


def check_features(name: str, policy: Any, log: Log) -> None:
    """Raise a sentence where a model was made for contexts of another length."""
    booster = _booster_of(policy)
    if not isinstance(booster, Booster) or not booster.rounds or booster.spec.encoder is not None:
        return
    if booster.features != log.features:
        raise ValueError(
            f"the context must have as many columns as those of {name}, {booster.features}, got {log.features} "
            f"({few(log.context_names)}); --context chooses them."
        )


def told_otherwise(name: str, policy: Any, log: Log) -> str | None:
    """Return a sentence where a model wants high what the log has as a loss, or the other way round; None where both agree."""
    booster = _booster_of(policy)
    if not isinstance(booster, Booster) or booster.spec.maximize == log.in_rewards:
        return None
    model, column, other = (
        ("rewards", "--loss", "--reward") if booster.spec.maximize else ("losses", "--reward", "--loss")
    )
    return f"Warning: {name} is told {model}, and the log's column was given as {column}: is {other} meant?"


def numbers(name: str, text: str, words: str = "") -> list[float]:
    """Return numbers that are separated by commas; `words` are what else could have been said."""
    try:
        return [float(part) for part in listed(text)]
    except ValueError:
        raise ValueError(f"{name} must be {words}numbers separated by commas, got {text!r:.100}.") from None


def space_of(text: str | None) -> Space | None:
    """Return the space that bounds on the command line make.

    Examples
    --------
    >>> space_of("0,20"), space_of("0,1,0,5")
    (Interval(low=0.0, high=20.0), Box(low=(0.0, 0.0), high=(1.0, 5.0)))
    """
    if text is None:
        return None
    ends = numbers("space", text)
    if not ends or len(ends) % 2:
        raise ValueError(f"space must be low,high of every coordinate, got {text!r:.100}.")
    return Interval(*ends) if len(ends) == 2 else Box(tuple(ends[::2]), tuple(ends[1::2]))


def policy_of(text: str, exploring: bool) -> Any:
    """Return a policy: the log's own, a constant, or a model file, with its exploration or without."""
    if text == "logging":
        return text
    if not Path(text).exists():
        try:
            return numbers("policy", text)
        except ValueError:
            raise ValueError(
                f"policy must be a model file, numbers, or logging, got {text!r:.200}: there is no such file."
            ) from None
    booster = Booster.load(Path(text))
    if exploring and not isinstance(booster.spec.gradient, Remembered):
        raise ValueError(
            f"exploring must be left out for {text}, whose gradient, {type(booster.spec.gradient).__name__}, is not Remembered, as "
            "that of boosted is: its predictions are evaluated then."
        )
    return Exploring(booster) if exploring else booster


def plain(found: OffPolicy) -> dict[str, Any]:
    """Return a result as plain data."""
    names = (
        "value",
        "interval",
        "bernstein",
        "bias",
        "level",
        "estimator",
        "effective",
        "unsupported",
        "bandwidth",
        "rule",
    )
    rest = ("rows", "missing", "logged", "trusted", "trust", "notes")
    results = {name: getattr(found, name) for name in (*names, *rest)}
    results["unit"] = "reward" if found.rewards else "loss"
    results["curve"] = [point._asdict() for point in found.curve]
    results["calibration"] = [point._asdict() for point in found.calibration]
    return {name: value if not isinstance(value, np.generic) else value.item() for name, value in results.items()}
