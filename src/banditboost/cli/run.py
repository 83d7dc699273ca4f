"""`banditboost run`: learn from a user's own table, row by row."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from banditboost._core.checks import one_of
from banditboost.algorithms.names import FEEDBACK, GRADIENTS, LEARNERS, LOSSES, listed
from banditboost.bands import Conformal
from banditboost.booster import Booster
from banditboost.cli import run_report
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
)
from banditboost.cli.run_insight import insight
from banditboost.cli.run_settings import used
from banditboost.cli.sanity import warnings_of
from banditboost.cli.scoring import BY, compare, score
from banditboost.cli.setting import Setting, booster_of, loss_of, space_of, world_of
from banditboost.datasets import Prepared, format_of, prepare_examples, prepare_own
from banditboost.datasets.blocks_examples import LABEL
from banditboost.datasets.own_target import Task
from banditboost.datasets.own_values import shown
from banditboost.drifts import Detector
from banditboost.encoder import Encoder
from banditboost.evaluate import Callback, Checkpoint, EarlyStopping, Log, ProgressBar, Trace, progressive
from banditboost.logs import LogWriter
from banditboost.spaces import Interval
from banditboost.worlds import Supervised


def _users(number: str) -> str:
    """Return the names of the learners that have a number."""
    return ", ".join(name for name, entry in LEARNERS.items() if number in entry.numbers(Interval(-1.0, 1.0), 30))


LossName = Annotated[str, typer.Option("--loss", help=f"The loss of a prediction: {listed(LOSSES)}.")]
LevelOf = Annotated[float, typer.Option("--level", help="The quantile to predict, for --loss quantile.")]
ThresholdOf = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        help="Distance from the label where --loss huber becomes linear; a tenth of the label range when not given.",
    ),
]
Feedback = Annotated[str, typer.Option("--feedback", help=f"What the learner is told: {listed(FEEDBACK)}.")]
LearnerName = Annotated[str, typer.Option("--learner", help=f"The learner: {listed(LEARNERS)}.")]
GradientName = Annotated[
    str,
    typer.Option(
        "--gradient", help=f"How loss values become gradients: auto (what suits the learner), {listed(GRADIENTS)}."
    ),
]
Copies = Annotated[int, typer.Option("--copies", min=1, help="Number of weak learners (copies).")]
Answers = Annotated[
    int | None,
    typer.Option(
        "--answers",
        min=1,
        help="How many points are played a round, each of which costs its loss and tells it: 1 where every round is one decision, "
        "such as a price; as many as copies when not given.",
    ),
]
NoiseOf = Annotated[
    float, typer.Option("--noise", min=0.0, help="Bound of the uniform noise that is added to loss values.")
]
Step = Annotated[float | None, typer.Option("--step", help=f"Step of every copy but the first, for: {_users('step')}.")]
RateOf = Annotated[float | None, typer.Option("--rate", help=f"Step size, for: {_users('rate')}.")]
Radius = Annotated[
    float | None,
    typer.Option("--radius", help=f"Bound on weights, in units of half the label range, for: {_users('radius')}."),
]
Ridge = Annotated[float | None, typer.Option("--ridge", help=f"Ridge of linear models, for: {_users('ridge')}.")]
Evidence = Annotated[
    float | None,
    typer.Option(
        "--evidence",
        help=f"How many times the variance of its gradients a split must explain, for: {_users('evidence')}.",
    ),
]
Leaves = Annotated[int | None, typer.Option("--leaves", min=1, help=f"Most leaves of a tree, for: {_users('leaves')}.")]
TaskName = Annotated[
    str,
    typer.Option("--task", help="numbers, classes, or auto (classes where the target has words)."),
]
Shuffle = Annotated[
    bool, typer.Option("--shuffle", help="Shuffle the rows by the seed instead of taking them in order.")
]

Bits = Annotated[
    int,
    typer.Option("--bits", min=1, max=24, help="Names in a file of Vowpal Wabbit become indices in a space of 2^BITS."),
]

Bands = Annotated[
    bool,
    typer.Option(
        "--bands",
        help="Say before every round between which values its loss will lie, nine times in ten (predict_loss).",
    ),
]

Drifts = Annotated[
    bool,
    typer.Option("--drifts", help="Raise an alarm where the world seems to have changed, and say about when."),
]


MOST_LOGGED = 1000
"""Most features of a sparse table whose decisions can be written to a log, which has a column for each."""


def run(
    file: TableFile,
    target: Target = None,
    task: TaskName = "auto",
    loss: LossName = "squared",
    level: LevelOf = 0.5,
    threshold: ThresholdOf = None,
    feedback: Feedback = "bandit",
    learner: LearnerName = "boosted",
    gradient: GradientName = "auto",
    copies: Copies = 30,
    answers: Answers = None,
    noise: NoiseOf = 0.0,
    step: Step = None,
    rate: RateOf = None,
    radius: Radius = None,
    ridge: Ridge = None,
    evidence: Evidence = None,
    leaves: Leaves = None,
    shuffle: Shuffle = False,
    number: NumberColumns = None,
    category: CategoryColumns = None,
    date: DateColumns = None,
    drop: DropColumns = None,
    explain_columns: Annotated[
        bool, typer.Option("--explain-columns", help="Show how every column would be read, and stop.")
    ] = False,
    bits: Bits = 18,
    bands: Bands = False,
    drifts: Drifts = False,
    save: Annotated[Path | None, typer.Option("--save", help="Write the model to this file.", dir_okay=False)] = None,
    checkpoint: Annotated[
        int | None, typer.Option("--checkpoint", min=1, help="Write the model every so many rounds too, and on Ctrl-C.")
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            help="Write every round's losses, predicted and paid, to this .csv or .parquet file.",
            dir_okay=False,
        ),
    ] = None,
    decisions: Annotated[
        Path | None,
        typer.Option(
            "--decisions",
            help="Write every decision to this .csv or .parquet file, for `evaluate` and `warm`: context, action, loss, density, "
            "ticket. Rounds are then played one by one, which takes longer.",
            dir_okay=False,
        ),
    ] = None,
    patience: Annotated[
        int | None, typer.Option("--patience", min=1, help="Stop after so many windows without a new lowest loss.")
    ] = None,
    window: Annotated[
        int, typer.Option("--window", min=1, help="Number of rounds in a window, for --patience.")
    ] = 1000,
    by: Annotated[str, typer.Option("--by", help=f"The loss that --patience watches: {listed(BY)}.")] = "predicted",
    report: Annotated[
        Path | None, typer.Option("--report", help="Write an HTML report into this folder.", file_okay=False)
    ] = None,
    seed: Seed = 0,
    json_file: JsonOut = None,
    quiet: Quiet = False,
) -> None:
    """Learn from your own table, row by row: every row is predicted before anything is learned from it."""
    setting = Setting(
        loss, level, threshold, feedback, learner, gradient, copies, answers, noise, step, rate, radius, ridge,
        evidence, leaves, seed,
    )  # fmt: skip
    if checkpoint is not None and save is None:
        raise ValueError("save must be given with --checkpoint: the file to write to.")
    paid = one_of("by", by, BY) == "paid"
    outputs = {"save": save, "log": log, "decisions": decisions, "report": report, "json": json_file}
    check_outputs(outputs, [file])
    screen = Screen(quiet, json_file)
    target = named_target(file, target)
    said = said_of(number, category, date, drop)
    table, world, booster = ready(file, target, task, setting, shuffle, bands, drifts, bits, said)
    show_columns(screen, table)
    if decisions is not None and world.sparse and world.features > MOST_LOGGED:
        raise ValueError(
            f"decisions must be left out with {world.features:,} features: a log has a column for each, at most {MOST_LOGGED:,}."
        )
    if explain_columns:
        screen.results({"command": "run", "file": str(file), "target": target} | columns_of(table))
        return
    listeners: list[Callback] = [] if quiet else [ProgressBar("Learning", err)]
    listeners += [Log(log)] if log is not None else []
    listeners += [EarlyStopping(patience, window, paid=paid)] if patience is not None else []
    listeners += [Checkpoint(save, checkpoint)] if save is not None and checkpoint is not None else []
    # Loading compiled code takes a second: two rounds of another booster load it, so that it does not count in the time of a round.
    progressive(Booster.from_spec(booster.spec), world.head(2))
    begun = time.perf_counter()
    try:
        if decisions is None:
            trace = progressive(booster, world, callbacks=listeners)
        else:
            trace = _recorded(booster, world, listeners, decisions)
    except OSError:  # such as a log on a full disk: what was learned is kept all the same
        if save is not None and booster.rounds:
            booster.save(save)
        raise
    seconds = time.perf_counter() - begun
    if save is not None:  # before anything else can go wrong
        booster.save(save)
    results: dict[str, Any] = {"command": "run", "file": str(file), "target": target}
    results |= summary(trace, world, booster, table, setting) | {"seconds": seconds}
    results["warnings"] = warnings_of(results, table)
    results["microseconds_a_round"] = 1e6 * seconds / len(trace)
    show(screen, results)
    if save is not None:
        screen.say(f"Model: {save}")
    if report is not None:
        found = insight(booster, world, table, trace, setting)
        warnings: list[str] = results.get("warnings", [])
        written = run_report.report(results, trace, report, found, used(setting, booster), warnings, save)
        screen.say(f"Report: {written}")
    screen.results(results)


def _recorded(booster: Booster, world: Supervised, listeners: list[Callback], path: Path) -> Trace:
    """Play a run round by round, and write every decision to a log."""
    with LogWriter(path, fresh=True) as writer:
        booster.log_to(writer)
        try:
            return progressive(booster, world, callbacks=listeners, compiled=False)
        finally:
            booster.log_to(None)


def summary(trace: Trace, world: Supervised, booster: Booster, table: Prepared, setting: Setting) -> dict[str, Any]:
    """Return the losses of a run and how the table was encoded, as plain data; comparators are added to the trace."""
    played = world.head(len(trace))
    compare(trace, played, booster.spec.space)
    return {
        "task": "numbers" if table.encoding.classes is None else "classes",
        "classes": table.encoding.classes,
        "rounds": len(trace),
        "rows": len(world),
        "features": world.features,
        "answers": None if trace.told else booster.spec.gradient.count(booster.spec.copies),
        **score(trace, played, setting),
        "compiled": trace.compiled,
        "setting": setting.to_dict(),
        "space": booster.spec.space.to_dict(),
        **columns_of(table),
    }


def columns_of(table: Prepared) -> dict[str, Any]:
    """Return how every column was read, as plain data."""
    return {
        "columns": [{"name": name, "what": what} for name, what in table.columns],
        "notes": list(table.notes),
        "unread": [row._asdict() for row in table.unread],
    }


def named_target(file: Path, target: str | None) -> str:
    """Return the target's name, which a file of examples need not be told."""
    if format_of(file) is None:
        if target is None:
            raise ValueError("target must be given: the column to predict, as in --target price.")
        return target
    if target not in (None, LABEL):
        raise ValueError(
            f"target must be left out for a file of examples, which has a label in every line, got '{shown(target)}'."
        )
    return LABEL


def ready(
    file: Path,
    target: str,
    task: str,
    setting: Setting,
    shuffle: bool,
    bands: bool = False,
    drifts: bool = False,
    bits: int = 18,
    said: dict[str, list[str]] | None = None,
) -> tuple[Prepared, Supervised, Booster]:
    """Return the table, its world, and a fresh booster that carries the table's encoding in its model file."""
    kind: Task = task  # type: ignore[assignment]  # checked there
    if format_of(file) is None:
        table = prepare_own(file, target, task=kind, scaled=setting.scaled, **(said or {}))
        _require_few(table, setting)
    else:
        if said:
            raise ValueError(f"{next(iter(said))} must be left out for a file of examples, which has no columns.")
        table = prepare_examples(file, task=kind, encoder=Encoder(bits=bits), most=setting.most_features)
    world = world_of(setting, table)
    if shuffle:
        world = world.shuffled(setting.seed)
    booster = booster_of(setting, space_of(setting, world, table.encoding), table.encoding.categories)
    if bands:
        booster = Booster.from_spec(replace(booster.spec, bands=Conformal()))
    if drifts:
        booster = Booster.from_spec(replace(booster.spec, drifts=Detector()))
    booster.extra["table"] = {
        "encoding": table.encoding.to_dict(),
        "setting": setting.to_dict(),
        "loss": loss_of(setting, table.encoding).to_dict(),
    }
    return table, world, booster


def _require_few(table: Prepared, setting: Setting) -> None:
    """Raise where a user gave more words an indicator each than the learner's copies can take."""
    features, most = table.X.shape[1], setting.most_features
    if not isinstance(table.X, np.ndarray) and features > most:
        raise ValueError(
            f"category must give fewer words an indicator each with --learner {setting.learner}, whose weak learners look at every "
            f"feature in every round: at most {most:,} features in all, got {features:,}."
        )


def show_columns(screen: Screen, table: Prepared) -> None:
    """Print how the table is read."""
    for note in table.notes:
        screen.say(note)
    columns = list(table.columns)
    if len(columns) > 30:
        left_out = [row for row in columns if "left out" in row[1]]
        screen.say(f"{len(columns)} columns, of which {len(left_out)} were left out; --json and --report name all.")
        columns = left_out[:30]
    screen.table("Columns", ("column", "what becomes of it"), columns, ("column", "what becomes of it"))


def show(screen: Screen, results: dict[str, Any]) -> None:
    """Print the losses of the run, and what seems wrong with it."""
    title = f"{results['setting']['loss'].capitalize()} loss of '{results['target']}'"
    screen.table(title, run_report.LOSS_HEADINGS, run_report.loss_rows(results), ("loss",))
    headings = run_report.REGRET_HEADINGS
    screen.table("Regret over all rounds", headings, run_report.regret_rows(results), headings[:1])
    screen.say(run_report.meaning(results))
    if run_report.lines_left_out(results):
        screen.say(run_report.about_lines(results))
    if said := run_report.quality(results):
        screen.say(said)
    if "bands" in results:
        screen.say(run_report.banded(results))
    if "drifts" in results:
        screen.say(run_report.changed(results))
    early = "" if results["rounds"] == results["rows"] else f" of {results['rows']:,} (stopped early)"
    screen.say(
        f"{results['rounds']:,} rounds{early}, {results['features']} features, "
        f"{results['microseconds_a_round']:,.0f} microseconds a round."
    )
    for warning in results["warnings"]:
        screen.say(f"Warning: {warning}")
