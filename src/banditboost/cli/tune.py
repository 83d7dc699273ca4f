"""`banditboost tune`: search for a better setting on the first half of a table."""

from __future__ import annotations

import hashlib
import math
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from banditboost._core.checks import one_of
from banditboost.algorithms.names import listed
from banditboost.booster import Booster
from banditboost.cli.common import (
    CategoryColumns,
    DateColumns,
    DropColumns,
    JsonOut,
    NumberColumns,
    Quiet,
    Screen,
    Seed,
    TableFile,
    Target,
    check_outputs,
    err,
    said_of,
    tell,
)
from banditboost.cli.run import (
    Answers,
    Feedback,
    GradientName,
    LearnerName,
    LevelOf,
    LossName,
    NoiseOf,
    Shuffle,
    TaskName,
    ThresholdOf,
    named_target,
    ready,
)
from banditboost.cli.scoring import BY
from banditboost.cli.search import fare, finished, opened, search, suggest
from banditboost.cli.setting import Setting, booster_of
from banditboost.evaluate import progressive
from banditboost.worlds import Supervised


def tune(
    file: TableFile,
    target: Target = None,
    task: TaskName = "auto",
    loss: LossName = "squared",
    level: LevelOf = 0.5,
    threshold: ThresholdOf = None,
    feedback: Feedback = "bandit",
    learner: LearnerName = "boosted",
    gradient: GradientName = "auto",
    answers: Answers = None,
    noise: NoiseOf = 0.0,
    shuffle: Shuffle = False,
    number: NumberColumns = None,
    category: CategoryColumns = None,
    date: DateColumns = None,
    drop: DropColumns = None,
    by: Annotated[str, typer.Option("--by", help=f"The loss that settings are chosen by: {listed(BY)}.")] = "predicted",
    trials: Annotated[
        int, typer.Option("--trials", min=1, help="Number of trials, including those of earlier runs.")
    ] = 50,
    timeout: Annotated[
        float | None, typer.Option("--timeout", min=0.0, help="Seconds after which no further trial begins.")
    ] = None,
    storage: Annotated[
        str, typer.Option("--storage", help="A file (SQLite) or a database URL where trials are kept.")
    ] = "banditboost-tune.db",
    report_second_half: Annotated[
        bool,
        typer.Option(
            "--report-second-half", help="Report the losses of the best and the default setting on the second half."
        ),
    ] = False,
    seed: Seed = 0,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Search for a better setting on the first half of the rows (extra 'tune'); a stopped search goes on with the same command."""
    base = Setting(loss, level, threshold, feedback, learner, gradient, 30, answers, noise, seed=seed)
    if answers is not None and answers > 10:
        raise ValueError(f"answers must be at most 10 for tune, which tries as few as 10 copies, got {answers}.")
    paid = one_of("by", by, BY) == "paid"
    check_outputs({"json": json_file}, [file])
    screen = Screen(quiet, json_file)
    target = named_target(file, target)
    said = said_of(number, category, date, drop)
    table, world, booster = ready(file, target, task, base, shuffle, said=said)
    for note in table.notes:
        screen.say(note)
    space, categories, (first, _) = booster.spec.space, table.encoding.categories, world.halves()
    # Trials by the loss paid are a search of their own.
    searched = f"{target} {task} {shuffle} {base.digest()}{' paid' * paid}{said or ''}"
    digest = hashlib.sha256(file.read_bytes() + searched.encode()).hexdigest()
    try:
        with opened(storage, f"{file.name} {digest[:16]}") as study:
            before = len(finished(study))
            if before:
                screen.say(f"{before} trials were found in {storage}.")
            with _bar(quiet, trials) as progress:
                judge = partial(fare, world=first, space=space, paid=paid, categories=categories)
                search(study, base, space, judge, trials, timeout, progress)
            tried = [(suggest(trial, base), float(trial.value)) for trial in finished(study)]
    except KeyboardInterrupt:
        tell(f"Finished trials are kept in {storage}; the same command goes on from there.")
        raise
    if not tried or not any(math.isfinite(value) for _, value in tried):
        raise ValueError("trials must include one with a finite loss, got none: give more time or more trials.")
    best, least = min(tried, key=lambda pair: pair[1])
    again = ["banditboost", "run", str(file), "--target", target, *(["--task", task] if task != "auto" else [])]
    again += [text for kind, names in said.items() for name in names for text in (f"--{kind}", name)]
    command = f"{shlex.join(again + ['--shuffle'] * shuffle)} {best.options()}".strip()
    results: dict[str, Any] = {
        "command": "tune",
        "file": str(file),
        "target": target,
        "storage": storage,
        "by": by,
        "rows": len(first),
        "trials": [{"setting": s.to_dict(), "loss": v if math.isfinite(v) else None} for s, v in tried],
        "best": {"loss": least, "setting": best.to_dict(), "run": command},
        "first_loss": tried[0][1] if math.isfinite(tried[0][1]) else None,
    }
    ranked = sorted(tried, key=lambda pair: pair[1])[:5]
    rows = [[f"{value:.5g}", setting.options() or "(defaults)"] for setting, value in ranked]
    title = f"Best of {len(tried)} trials on the first {len(first):,} rows, by the loss {BY[by]}"
    screen.table(title, ("loss paid" if paid else "loss", "setting"), rows, ("setting",))
    screen.say(f"The first trial, with all numbers at their defaults: {tried[0][1]:.5g}.")
    if report_second_half:
        results["second_half"] = _second_half(
            world, partial(booster_of, space=space, categories=categories), best, base
        )
        screen.say(
            "Second half: {best:.5g} with the best setting (paid {best_paid:.5g}), {default:.5g} with the default "
            "(paid {default_paid:.5g}).".format(**results["second_half"])
        )
    screen.say(f"Run it: {command}")
    screen.results(results)


def _second_half(
    world: Supervised, made: Callable[[Setting], Booster], best: Setting, base: Setting
) -> dict[str, float]:
    """Return the last half's mean losses of a run over all rows, predicted and paid, as `run` reports them."""
    half = len(world) // 2
    found = {}
    for name, setting in {"best": best, "default": base}.items():
        trace = progressive(made(setting), world)
        found[name], found[f"{name}_paid"] = float(trace.losses[half:].mean()), float(trace.paid[half:].mean())
    return found


@contextmanager
def _bar(quiet: bool, trials: int) -> Iterator[Callable[[int, float], None]]:
    """Show how many trials are finished, and the least loss."""
    if quiet:
        yield lambda done, least: None
        return
    columns = (
        TextColumn("Trials"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err) as bar:
        row = bar.add_task("Trials", total=trials, best="-")
        yield lambda done, least: bar.update(row, completed=done, best=f"{least:.5g}")
