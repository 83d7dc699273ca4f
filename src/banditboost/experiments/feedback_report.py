"""The presentation of the price of bandit feedback: tables for the terminal, and a report with curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.feedback import ONE_ANSWER, WAYS
from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.statistics import paired
from banditboost.experiments.terminal import Rows, not_kept, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

_COLORS = {
    "exact": "#222222",
    "surrogate": "#c44e52",
    "fitted": "#ccb974",
    "two_point": "#8172b3",
    "residual": "#937860",
    "baseline": "#55a868",
    "one_point": "#4c72b0",
    "ogd": "#888888",
    "n_fkm_surrogate": "#da8bc3",
    "n_fkm": "#dd8452",
}
PRICE_HEADINGS = ("data set", "loss", *WAYS.values(), "Surrogate against exact gradients, run by run (95 %)")
ONE_ANSWER_HEADINGS = ("data set", "running mean of labels", *ONE_ANSWER.values())
DIMENSION_HEADINGS = ("d", "loss", "way", "loss on second half", "gradient error", "variance", "smoothing")


TOLD = ("exact", "ogd")
"""Ways that are told gradients: they ask about nothing, and pay for nothing but their predictions."""


def _paid(row: dict[str, Any]) -> str:
    """Return the loss paid as text, with a dash for ways that are told gradients."""
    return "-" if row["way"] in TOLD else f"{row['paid']:.4g}"


def price_of(results: dict[str, Any]) -> Rows:
    """Return the losses of predictions, and those paid at the queries as secondary rows."""
    table: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
    for row in results["tables"]["price"]:
        table.setdefault((row["dataset"], row["loss"]), {})[row["way"]] = row
    lines: Rows = []
    for (name, loss), ways in table.items():
        change = paired(np.array(ways["surrogate"]["runs"]) / np.array(ways["exact"]["runs"]) - 1)
        means = [f"{ways[way]['value']:.4g} ±{ways[way]['deviation']:.2g}" for way in WAYS]
        lines.append(
            (False, [name, loss, *means, f"{change['mean']:+.1%} ({change['low']:+.1%} .. {change['high']:+.1%})"])
        )
        lines.append((True, ["", "paid", *(_paid(ways[way]) for way in WAYS), ""]))
    return lines


def one_answer_of(results: dict[str, Any]) -> Rows:
    """Return the losses with one answer per round: those of predictions, and those paid as secondary rows."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    for row in results["tables"]["one answer"]:
        table.setdefault(row["dataset"], {})[row["way"]] = row
    lines: Rows = []
    for name, ways in table.items():
        mean = next(iter(ways.values()))["mean"]
        values = [f"{ways[way]['value']:.4g} ±{ways[way]['deviation']:.2g}" for way in ONE_ANSWER]
        lines.append((False, [name, f"{mean:.4g}", *values]))
        lines.append((True, ["paid", f"{mean:.4g}", *(_paid(ways[way]) for way in ONE_ANSWER)]))
    return lines


def dimensions_of(results: dict[str, Any]) -> Rows:
    """Return the loss of each method in d dimensions, with the loss paid where it was kept, and the errors of its gradients."""
    lines: Rows = []
    for row in results["tables"]["dimensions"]:
        loss = f"{row['value']:.4g} ±{row['deviation']:.2g}"
        if "paid" in row and row["way"] not in TOLD:
            loss = f"{loss} / {row['paid']:.4g}"
        errors = [f"{row[key]:.3g}" for key in ("error", "variance", "smoothing")]
        lines.append(
            (
                False,
                [str(row["d"]), {"absolute": "norm"}.get(row["loss"], row["loss"]), WAYS[row["way"]], loss, *errors],
            )
        )
    return lines + not_kept(results["tables"]["dimensions"], len(DIMENSION_HEADINGS))


TABLES: tuple[tuple[str, tuple[str, ...], Callable[[dict[str, Any]], Rows]], ...] = (
    ("The price of bandit feedback: loss on second halves, 30 noisy values a round", PRICE_HEADINGS, price_of),
    ("One answer a round: squared loss on second halves", ONE_ANSWER_HEADINGS, one_answer_of),
    ("Decisions of d numbers (predicted / paid)", DIMENSION_HEADINGS, dimensions_of),
)


def tables_of(results: dict[str, Any]) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table that has rows."""
    return [(title, headings, rows) for title, headings, make in TABLES if (rows := make(results))]


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("data set", "loss", "way")) for table in tables_of(results)]


def curve(results: dict[str, Any], question: str, key: str, label: str) -> Figure:
    """Draw losses against a number that varies, one panel per data set; dashed lines are losses with exact gradients."""
    from matplotlib.figure import Figure

    rows = results["tables"][question]
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    figure = Figure(figsize=(4.2 * len(names) + 0.6, 3.8), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    for ax, name in zip(axes, names, strict=True):
        highest = 0.0
        for way in dict.fromkeys(row["way"] for row in rows):
            mine = sorted((r[key], r["value"], r["deviation"]) for r in rows if (r["dataset"], r["way"]) == (name, way))
            x, y, spread = np.array(mine).T
            ax.errorbar(x, y, spread, fmt="o-", markersize=3, capsize=2, color=_COLORS[way], label=WAYS[way])
            highest = max(highest, float(y[-1]), float(np.median(y)))
        for row in (r for r in results["tables"]["price"] if (r["dataset"], r["loss"]) == (name, "squared")):
            if row["way"] in ("exact", "ogd"):
                ax.axhline(row["value"], color=_COLORS[row["way"]], linestyle="--", linewidth=1, label=WAYS[row["way"]])
                lowest = row["value"]
        ax.set(xlabel=label, title=name, ylim=(0.9 * lowest, 1.15 * highest))
        if key == "answers":
            ax.set_xscale("log", base=2)
            ax.set_xticks(sorted({r[key] for r in rows}), [str(v) for v in sorted({r[key] for r in rows})])
    axes[0].set_ylabel("squared loss on the second half")
    axes[-1].legend(fontsize="x-small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report and return its file."""
    runs, few = results["protocol"]["runs"], results["protocol"]["curve_runs"]
    body = [
        "<h1>The price of bandit feedback</h1>",
        f"<p>Linear copies, everything tuned on first halves over the same grid, reported on second halves; mean ± standard "
        f"deviation over {runs} shuffled run(s). Noise uniform on ±0.1. Rows in italics: the loss paid.</p>",
        "<p>With one number to predict and the squared loss, three values nearly reveal the label. What is gained where that "
        "is not so stands in the table of dimensions.</p>",
        *sections(tables_of(results)),
        f"<h2>Against the budget</h2><p>Noisy values a round, {few} run(s).</p>",
        picture(
            curve(results, "budget", "answers", "noisy values a round"), "Loss against the number of answers a round"
        ),
        f"<h2>Against the noise</h2><p>Noise uniform on ± what is shown, {few} run(s).</p>",
        picture(curve(results, "noise", "noise", "noise"), "Loss against the noise of the answers"),
    ]
    return write(folder / "feedback.html", "banditboost: the price of bandit feedback", body)
