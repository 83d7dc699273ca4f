"""The report of `banditboost run`: one HTML file with the running loss, the columns and the settings."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.drifts import Alarm
from banditboost.evaluate import Trace
from banditboost.evaluate.plots import mark_changes
from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.terminal import primary

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 2000
"""Most points of a curve."""


LOSS_HEADINGS = ("loss", "predicted", "paid", "predicted, last half", "paid, last half")
REGRET_HEADINGS = ("regret against", "predicted", "paid", "predicted, a round", "paid, a round")


def loss_rows(results: dict[str, Any]) -> list[list[str]]:
    """Return the losses of a run and its comparators as rows of text: of predictions, and paid at the points asked."""
    keys = ("mean_loss", "mean_paid", "last_half_loss", "last_half_paid")
    rows = [["this run", *(_number(results[key]) for key in keys)]]
    # Comparators ask about nothing: what they predict is what they play.
    keys = ("mean_loss", "mean_loss", "last_half_loss", "last_half_loss")
    rows += [[name, *(_number(row[key]) for key in keys)] for name, row in results["comparators"].items()]
    if "accuracy" in results:
        shares = [f"{results[key]:.1%}" for key in ("accuracy", "last_half_accuracy")]
        rows.append(["share of classes hit", shares[0], "", shares[1], ""])
    return rows


def regret_rows(results: dict[str, Any]) -> list[list[str]]:
    """Return the run's regret against each comparator as rows of text: of its predictions, and of the loss paid."""
    rows = []
    for name, row in results["comparators"].items():
        sums = [row["regret"], row["paid_regret"]]
        rows.append([name, *(f"{value:+.5g}" for value in (*sums, *(found / results["rounds"] for found in sums)))])
    return rows


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


def curves(trace: Trace) -> Figure:
    """Draw the mean losses so far, paid and of the predictions, beside the comparators'."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.subplots()
    at = np.unique(np.linspace(0, len(trace) - 1, min(POINTS, len(trace))).astype(int))
    color = None
    if not trace.told:
        color = ax.plot(at + 1, trace.running_paid[at], linewidth=2.0, label="this run, paid")[0].get_color()
    ax.plot(at + 1, trace.running[at], linewidth=0.9, color=color, label="this run, predicted")
    for name, losses in trace.comparators.items():
        ax.plot(at + 1, (np.cumsum(losses) / np.arange(1, len(losses) + 1))[at], linestyle="--", label=name)
    # The first rounds of all are chance: they may not decide the scale.
    late = at >= len(trace) // 50
    lines = [np.asarray(line.get_ydata())[late] for line in ax.get_lines()]
    top = max(float(np.max(line)) for line in lines)
    ax.set(
        xlabel="round", ylabel="mean loss so far", ylim=(min(0.0, *(float(np.min(y)) for y in lines)), 1.1 * top or 1.0)
    )
    mark_changes(ax, trace)
    ax.legend()
    return figure


def report(results: dict[str, Any], trace: Trace, folder: Path) -> Path:
    """Write the report and return its file."""
    title = f"{Path(results['file']).name}: {results['target']}"
    said = "".join(f"<li>{html.escape(note)}</li>" for note in results["notes"])
    setting = [(False, [name, str(value)]) for name, value in results["setting"].items() if name != "kind"]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p>{results['rounds']:,} rounds, {results['features']} features, {results['task']}. Every row is predicted before "
        f"anything is learned from it; comparators are told every label. {meaning(results)}</p>",
        html_table(LOSS_HEADINGS, primary(loss_rows(results))),
        html_table(REGRET_HEADINGS, primary(regret_rows(results))),
        picture(curves(trace), "Mean losses so far, round by round: paid, and of the predictions"),
        *([f"<p>{changed(results)}</p>"] if "drifts" in results else []),
        *_bands(results, trace),
        f"<h2>Columns</h2><ul>{said}</ul>" if said else "<h2>Columns</h2>",
        html_table(
            ("column", "what became of it"), [(False, [row["name"], row["what"]]) for row in results["columns"]]
        ),
        "<h2>Settings</h2>",
        html_table(("setting", "value"), setting),
    ]
    return write(folder / "run.html", f"banditboost: {title}", body)


def _bands(results: dict[str, Any], trace: Trace) -> list[str]:
    """Return a sentence and a picture of the bands, where there are any."""
    if "bands" not in results:
        return []
    if results["bands"]["coverage"] is None:
        return [f"<p>{banded(results)}</p>"]
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    trace.plot.bands(ax=figure.subplots())
    return [f"<p>{banded(results)}</p>", picture(figure, "What was told, within the bands made before")]
