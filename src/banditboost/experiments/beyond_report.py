"""The presentation of what goes beyond the paper: tables for the terminal, and a report with curves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import picture, sections, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, not_kept, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table


def _names(results: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["dataset"] for row in results["tables"]["ablation"]))


def _find(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any] | None:
    return next((row for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def _spread(row: dict[str, Any] | None, key: str) -> str:
    if row is None:
        return "-"
    runs = row[f"{key}_runs"]
    return f"{row[key]:.4g} ±{deviation(runs):.2g}" if len(runs) > 1 else f"{row[key]:.4g}"


def _both(row: dict[str, Any] | None) -> str:
    """Return the loss of the predictions, and that paid where it was kept and something was asked."""
    if row is None or row["gradient"] == "exact" or "paid" not in row:
        return _spread(row, "loss")
    return f"{_spread(row, 'loss')} / {row['paid']:.4g}"


def ablation_of(results: dict[str, Any]) -> Rows:
    """Return the first-half losses of every combination of parts, from the best to the worst on average."""
    names, rows = _names(results), results["tables"]["ablation"]
    found: dict[tuple[str, str, str], dict[str, dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["gradient"], row["chain"], row["learner"]), {})[row["dataset"]] = row
    default = found[("fitted", "additive", "linear, then trees")]

    def worse(mine: dict[str, dict[str, Any]]) -> float:
        return float(np.mean([np.log(mine[name]["loss"] / default[name]["loss"]) for name in names]))

    lines: Rows = []
    for key, mine in sorted(found.items(), key=lambda item: worse(item[1])):
        losses = [_both(mine[name]) for name in names]
        lines.append((mine is default, [*key, *losses, f"{np.expm1(worse(mine)):+.1%}"]))
    return lines + not_kept(rows, 4 + len(names))


def ablation_headings(results: dict[str, Any]) -> tuple[str, ...]:
    """Return the headings of the ablation."""
    return ("gradient", "chain", "learner", *_names(results), "against the default")


def pays_of(results: dict[str, Any]) -> Rows:
    """Return, for every learner and gradient, the loss of one copy with chain Single, of one in the chain, and of 30."""
    names, rows = _names(results), results["tables"]["pays"]
    lines: Rows = []
    for learner in dict.fromkeys(row["learner"] for row in rows):
        for gradient in dict.fromkeys(row["gradient"] for row in rows):
            chosen = {"learner": learner, "gradient": gradient}
            one = [_find(rows, dataset=n, chain="single", copies=1, **chosen) for n in names]
            chain = "hull" if learner == "linear" else "additive"
            many = [_find(rows, dataset=n, chain=chain, copies=30, **chosen) for n in names]
            lines.append((False, [learner, gradient, "one, Single", *(_both(row) for row in one)]))
            first = [_find(rows, dataset=n, chain=chain, copies=1, **chosen) for n in names]
            if any(first):
                lines.append((False, [learner, gradient, f"one, {chain}", *(_both(row) for row in first)]))
            lines.append((False, [learner, gradient, f"30, {chain}", *(_both(row) for row in many)]))
    return lines + not_kept(rows, 3 + len(names))


def pays_headings(results: dict[str, Any]) -> tuple[str, ...]:
    """Return the headings of the table on whether boosting pays."""
    return ("learner", "gradient", "copies", *_names(results))


def rates_of(results: dict[str, Any]) -> Rows:
    """Return coin betting and gradient descent side by side."""
    rows = results["tables"]["rates"]
    return [
        (False, [row["dataset"], _spread(row, "coin"), _spread(row, "ogd"), f"{row['coin'] / row['ogd']:.2f}"])
        for row in rows
    ]


def rates_headings(results: dict[str, Any]) -> tuple[str, ...]:
    """Return the headings of the table on rates."""
    return ("data set", "coin betting", "gradient descent, tuned", "ratio")


Headings = Callable[[dict[str, Any]], tuple[str, ...]]
TABLES: tuple[tuple[str, Headings, Callable[[dict[str, Any]], Rows]], ...] = (
    ("Does boosting pay? Squared loss (predicted / paid), tuned alike, 30 answers a round", pays_headings, pays_of),
    ("No rate to tune", rates_headings, rates_of),
    ("Every combination of parts, on first halves (predicted / paid)", ablation_headings, ablation_of),
)


def tables_of(results: dict[str, Any]) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of every table that has rows."""
    return [(title, headings(results), rows) for title, headings, make in TABLES if (rows := make(results))]


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the tables for the terminal."""
    left = ("learner", "gradient", "chain", "copies", "data set")
    return [terminal_table(*table, left=left) for table in tables_of(results)]


def curve(results: dict[str, Any]) -> Figure:
    """Draw the loss against the number of copies, one panel per data set."""
    from matplotlib.figure import Figure

    names, rows = _names(results), [row for row in results["tables"]["pays"] if row["chain"] == "additive"]
    figure = Figure(figsize=(3.4 * len(names) + 0.6, 3.4), layout="constrained")
    axes = figure.subplots(1, len(names), squeeze=False)[0]
    colors = {"trees": "#55a868", "Fourier": "#4c72b0"}
    styles = {"exact": "--", "fitted": "-", "surrogate": ":"}
    for ax, name in zip(axes, names, strict=True):
        for learner, color in colors.items():
            for gradient, style in styles.items():
                chosen = (name, learner, gradient)
                mine = [r for r in rows if (r["dataset"], r["learner"], r["gradient"]) == chosen]
                points = sorted((row["copies"], row["loss"]) for row in mine)
                ax.plot(
                    *zip(*points, strict=True),
                    style,
                    marker="o",
                    markersize=3,
                    color=color,
                    label=f"{learner}, {gradient}",
                )
        ax.set(xlabel="copies N", title=name, xscale="log")
        ax.set_xticks([1, 2, 5, 10, 20, 30], ["1", "2", "5", "10", "20", "30"])
        ax.minorticks_off()
    axes[0].set_ylabel("squared loss on the second half")
    axes[-1].legend(fontsize="x-small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report and return its file."""
    runs = results["protocol"]["runs"]
    body = [
        "<h1>Beyond the paper</h1>",
        f"<p>Mean ± standard deviation over {runs} shuffled run(s). Ours learn from 30 noisy loss values a round (uniform on ±0.1) "
        "and have nothing tuned to the data; peers see every label, and play what they predict. Every prediction is clipped to the "
        "range of the labels.</p>",
        *sections(tables_of(results)),
    ]
    if results["tables"]["pays"]:
        body += ["<h2>Against the number of copies</h2>", picture(curve(results), "Loss against the number of copies")]
    return write(folder / "beyond.html", "banditboost: beyond the paper", body)
