"""The report of `banditboost run`: one HTML file with the running loss, the columns and the settings."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.evaluate import Trace
from banditboost.experiments.html import html_table, picture, write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 2000
"""Most points of a curve."""


def loss_rows(results: dict[str, Any]) -> list[list[str]]:
    """Return the losses of a run and its comparators as rows of text."""
    rows = [["this run", _number(results["mean_loss"]), _number(results["last_half_loss"])]]
    rows += [
        [name, _number(row["mean_loss"]), _number(row["last_half_loss"])]
        for name, row in results["comparators"].items()
    ]
    if "accuracy" in results:
        rows.append(["share of classes hit", f"{results['accuracy']:.1%}", f"{results['last_half_accuracy']:.1%}"])
    return rows


LOSS_HEADINGS = ("loss", "all rounds", "last half")


def _number(value: float) -> str:
    return f"{value:.5g}"


def curves(trace: Trace) -> Figure:
    """Draw the mean loss so far, beside the comparators'."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    ax = figure.subplots()
    at = np.unique(np.linspace(0, len(trace) - 1, min(POINTS, len(trace))).astype(int))
    ax.plot(at + 1, trace.running[at], label="this run")
    for name, losses in trace.comparators.items():
        ax.plot(at + 1, (np.cumsum(losses) / np.arange(1, len(losses) + 1))[at], linestyle="--", label=name)
    # The first rounds of all are chance: they may not decide the scale.
    late = at >= len(trace) // 50
    lines = [np.asarray(line.get_ydata())[late] for line in ax.get_lines()]
    top = max(float(np.max(line)) for line in lines)
    ax.set(
        xlabel="round", ylabel="mean loss so far", ylim=(min(0.0, *(float(np.min(y)) for y in lines)), 1.1 * top or 1.0)
    )
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
        "anything is learned from it; comparators are told every label.</p>",
        html_table(LOSS_HEADINGS, [(False, row) for row in loss_rows(results)]),
        picture(curves(trace), "Mean loss so far, round by round"),
        f"<h2>Columns</h2><ul>{said}</ul>" if said else "<h2>Columns</h2>",
        html_table(
            ("column", "what became of it"), [(False, [row["name"], row["what"]]) for row in results["columns"]]
        ),
        "<h2>Settings</h2>",
        html_table(("setting", "value"), setting),
    ]
    return write(folder / "run.html", f"banditboost: {title}", body)
