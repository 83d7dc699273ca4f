"""The report of `banditboost run`: one HTML file for a colleague, with losses, pictures, what mattered, and what to do next."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from banditboost.cli import run_charts
from banditboost.cli.run_insight import LOOKED, Insight
from banditboost.cli.run_settings import how_to_use
from banditboost.cli.scoring import LINE
from banditboost.drifts import Alarm
from banditboost.evaluate import Trace
from banditboost.experiments.html import html_table, side_by_side, write
from banditboost.experiments.terminal import primary

LOSS_HEADINGS = ("loss", "predicted", "paid", "predicted, last half", "paid, last half")
REGRET_HEADINGS = ("regret against", "predicted", "paid", "predicted, a round", "paid, a round")
CLASSES = 12
"""Most classes of a table of hits."""


def loss_rows(results: dict[str, Any]) -> list[list[str]]:
    """Return the losses of a run and its comparators as rows of text: of predictions, and paid at the points asked."""
    keys = ("mean_loss", "mean_paid", "last_half_loss", "last_half_paid")
    rows = [["this run", *(_number(results[key]) for key in keys)]]
    # Comparators ask about nothing: what they predict is what they play.
    keys = ("mean_loss", "mean_loss", "last_half_loss", "last_half_loss")
    return rows + [[name, *(_number(row[key]) for key in keys)] for name, row in results["comparators"].items()]


def regret_rows(results: dict[str, Any]) -> list[list[str]]:
    """Return the run's regret against each comparator as rows of text: of its predictions, and of the loss paid."""
    rows = []
    for name, row in results["comparators"].items():
        sums = [row["regret"], row["paid_regret"]]
        rows.append([name, *(f"{value:+.5g}" for value in (*sums, *(found / results["rounds"] for found in sums)))])
    return rows


def quality(results: dict[str, Any]) -> str:
    """Return a sentence about how good predictions are in the usual measures; an empty one where there are none.

    Examples
    --------
    >>> quality({"accuracy": 0.8, "last_half_accuracy": 0.85, "commonest_share": 0.6})
    'Predictions hit the class in 80.0% of all rounds and in 85.0% of the last half; always naming the commonest class hits 60.0%.'
    >>> quality({"rmse": 2.0, "last_half_rmse": 1.5, "r2": 0.5, "last_half_r2": None})
    'RMSE is 2 over all rounds and 1.5 in the last half; R² is 0.500 and not defined, as labels do not vary.'
    """
    if "accuracy" in results:
        return (
            f"Predictions hit the class in {results['accuracy']:.1%} of all rounds and in {results['last_half_accuracy']:.1%} of "
            f"the last half; always naming the commonest class hits {results['commonest_share']:.1%}."
        )
    if "rmse" not in results:
        return ""
    said = [f"{results[key]:.3f}" if results[key] is not None else "not defined" for key in ("r2", "last_half_r2")]
    why = ", as labels do not vary" if None in (results["r2"], results["last_half_r2"]) else ""
    return (
        f"RMSE is {_number(results['rmse'])} over all rounds and {_number(results['last_half_rmse'])} in the last half; "
        f"R² is {said[0]} and {said[1]}{why}."
    )


def meaning(results: dict[str, Any]) -> str:
    """Return a sentence that says what was paid."""
    points = results["answers"]
    if points is None:
        return "Gradients were told, so that predictions were played: what was paid is their loss."
    if points == 1:
        return "Paid is the loss of the one decision that was played in a round, which is all that was learned from."
    return (
        f"Paid is the mean loss of the {points} points played in a round, whose losses are all that was learned from."
    )


def banded(results: dict[str, Any]) -> str:
    """Return a sentence about the bands for what was told."""
    found = results["bands"]
    if found["coverage"] is None:
        return f"Bands are infinite in the first {found['since']} rounds, so that this run says nothing about them."
    width = "without bounds" if found["width"] is None else f"{_number(found['width'])} wide"
    return (
        f"Bands made before each round held what was told in {found['coverage']:.1%} of the rounds after the first "
        f"{found['since']}, where {found['level']:.0%} were wanted, and were {width} in the mean."
    )


def changed(results: dict[str, Any]) -> str:
    """Return a sentence about every change of the world that was noticed, or that none was."""
    found = [Alarm(**row) for row in results["drifts"]]
    return " ".join(map(str, found)) or "No change of the world was noticed."


def _number(value: float) -> str:
    return f"{value:.5g}"


def report(
    results: dict[str, Any],
    trace: Trace,
    folder: Path,
    found: Insight | None = None,
    settings: Sequence[Sequence[str]] = (),
    warnings: Sequence[str] = (),
    model: Path | None = None,
) -> Path:
    """Write the report and return its file.

    Parameters
    ----------
    results
        What the run printed and would write as JSON.
    trace
        Its losses round by round.
    folder
        Where run.html is written.
    found
        What the model shows; without it those sections are left out.
    settings
        Rows of a setting and its value.
    warnings
        Sentences about what is off, which stand above all else.
    model
        The file that the model was saved to.
    """
    title = f"{results['target']} in {Path(results['file']).name}"
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{results['rounds']:,} rounds, {results['features']} features, {results['task']}. Every row was predicted before "
        f"anything was learned from it; comparators are told every label. {meaning(results)}</p>",
        _warned(warnings),
        _cards(results),
        *_losses(results, trace),
        *_quality(results, found),
        *_mattered(found),
        *_changes(results, trace),
        *_columns(results),
        *_settings(settings),
        *_use(results, model),
    ]
    return write(folder / "run.html", f"banditboost: {title}", body)


def _warned(warnings: Sequence[str]) -> str:
    """Return warnings as a box; an empty text where there are none."""
    said = "".join(f"<li>{html.escape(warning)}</li>" for warning in warnings)
    return f"<div class='warnings' role='note'><strong>Look at this first</strong><ul>{said}</ul></div>" if said else ""


def _cards(results: dict[str, Any]) -> str:
    """Return the few numbers to remember, of the last half."""
    shown = [(_number(results["last_half_loss"]), f"{results['setting']['loss']} loss of predictions")]
    if results["answers"] is not None:
        shown.append((_number(results["last_half_paid"]), "loss paid while learning"))
    if results.get("last_half_r2") is not None:
        shown.append((f"{results['last_half_r2']:.3f}", "R²"))
    if "last_half_rmse" in results:
        shown.append((_number(results["last_half_rmse"]), "RMSE"))
    if "last_half_accuracy" in results:
        shown.append((f"{results['last_half_accuracy']:.1%}", "of classes hit"))
    for name, row in results["comparators"].items():
        if row["last_half_loss"] > 0:
            shown.append((f"{results['last_half_loss'] / row['last_half_loss'] - 1:+.0%}", f"loss against: {name}"))
    items = "".join(f"<li><b>{html.escape(number)}</b>{html.escape(what)}</li>" for number, what in shown)
    return f"<p class='soft'>The last half of the rounds in short:</p><ul class='cards'>{items}</ul>"


def lines_left_out(results: dict[str, Any]) -> bool:
    """Return whether lines would be among the comparators, were the table not so large."""
    compared = results["setting"]["loss"] == "squared" and results["task"] == "numbers"
    return compared and LINE not in results["comparators"]


def about_lines(results: dict[str, Any]) -> str:
    """Return a sentence about the lines among the comparators."""
    if LINE in results["comparators"]:
        return "The best line in hindsight has seen all labels before it predicts the first."
    if lines_left_out(results):
        return (
            "Ridge regression and the best line are not compared: with "
            f"{results['features']:,} features and {results['rounds']:,} rounds they would take too long."
        )
    return "Lines are compared for the squared loss of numbers alone."


def _losses(results: dict[str, Any], trace: Trace) -> list[str]:
    return [
        "<h2>What it cost</h2>",
        html_table(LOSS_HEADINGS, primary(loss_rows(results)), about="losses"),
        "<p><em>Predicted</em> is the loss of the recommended decisions, <em>paid</em> that of the decisions that were tried in "
        f"order to learn. {about_lines(results)}</p>",
        run_charts.losses(trace),
        "<h3>Regret</h3><p>The sum of the run's losses minus the comparator's: below zero this run was better.</p>",
        html_table(REGRET_HEADINGS, primary(regret_rows(results)), about="regrets"),
    ]


def _quality(results: dict[str, Any], found: Insight | None) -> list[str]:
    said = quality(results)
    figures = []
    if found is not None and len(found.predicted):
        figures.append(run_charts.actual(found))
    if found is not None and found.calibration is not None:
        figures.append(run_charts.calibrated(found.calibration, found.confusion is not None, found.level))
    hits = _hits(found)
    if not (said or figures or hits):
        return []
    return ["<h2>How good predictions are</h2>", f"<p>{said}</p>" if said else "", side_by_side(figures), hits]


def _hits(found: Insight | None) -> str:
    """Return the table of actual and predicted classes, of the commonest where there are many."""
    if found is None or found.confusion is None:
        return ""
    names, counts = found.confusion
    order = [int(k) for k in (-counts.sum(axis=1)).argsort(kind="stable")[:CLASSES]]
    rows = []
    for k in order:
        share = counts[k, k] / counts[k].sum() if counts[k].sum() else 0.0
        rows.append([names[k], *(f"{counts[k, j]:,}" for j in order), f"{share:.0%}"])
    more = f" The {CLASSES} commonest of {len(names)} classes." if len(names) > CLASSES else ""
    return (
        f"<h3>Classes, actual and predicted</h3><p>Rounds of the last half; a row for each actual class.{more}</p>"
        + html_table(
            ("actual", *(f"said {names[k]}" for k in order), "hit"), primary(rows), about="actual and predicted classes"
        )
    )


def _mattered(found: Insight | None) -> list[str]:
    if found is None:
        return []
    if found.mattered is None:
        return [f"<h2>What mattered</h2><p>Not worked out: there are more than {LOOKED} columns, or none.</p>"]
    moves = [run_charts.moved(one, found.output) for one in found.mattered.moves]
    return [
        "<h2>What mattered</h2>",
        run_charts.important(found.mattered),
        "<h3>How predictions move with a column</h3><p>The mean prediction over recent rounds with this column set to a value and "
        "all others left as they are (partial dependence); it is what the model does, not what causes what.</p>"
        if moves
        else "",
        side_by_side(moves),
    ]


def _changes(results: dict[str, Any], trace: Trace) -> list[str]:
    """Return what is known about changes of the world, and the bands, where there are any."""
    said = (
        changed(results)
        if "drifts" in results
        else "Nobody watched for changes: run with --drifts to have them marked."
    )
    parts = [f"<h2>Did the world change?</h2><p>{html.escape(said)}</p>"]
    if "bands" in results:
        parts.append(f"<h2>Bands</h2><p>{html.escape(banded(results))}</p>")
        if results["bands"]["coverage"] is not None:
            parts.append(run_charts.banded(trace))
    return parts


def _columns(results: dict[str, Any]) -> list[str]:
    said = "".join(f"<li>{html.escape(note)}</li>" for note in results["notes"])
    return [
        "<h2>How the table was read</h2>",
        f"<ul>{said}</ul>" if said else "",
        html_table(
            ("column", "what became of it"),
            primary([[row["name"], row["what"]] for row in results["columns"]]),
            True,
            "columns",
        ),
    ]


def _settings(settings: Sequence[Sequence[str]]) -> list[str]:
    if not settings:
        return []
    rows = primary([list(row) for row in settings])
    return ["<h2>Settings that were used</h2>", html_table(("setting", "value"), rows, True, "settings")]


def _use(results: dict[str, Any], model: Path | None) -> list[str]:
    shell, python = how_to_use(results, model)
    first = "The model was not saved: the first command runs again and saves it." if model is None else ""
    return [
        "<h2>How to use the model</h2>",
        f"<p>{first}</p>" if first else "",
        f"<p>In the shell:</p><pre tabindex='0'><code>{html.escape(shell)}</code></pre>",
        f"<p>In Python:</p><pre tabindex='0'><code>{html.escape(python)}</code></pre>",
    ]
