"""Table 2 to look at: a table for the terminal, a report with curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.table2 import COLUMNS, TITLES

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

_COLORS = {"ogd": "#4c72b0", "gradient_boosting": "#55a868", "n_point_fkm": "#dd8452", "bandit_boosting": "#c44e52"}
_LEGENDS = {
    "ogd": "OGD (full information)",
    "gradient_boosting": "boosting (full information)",
    "n_point_fkm": "N-FKM (bandit)",
    "bandit_boosting": "boosting (bandit)",
}


def cells_of(results: dict[str, Any]) -> list[tuple[bool, list[str]]]:
    """Return the table's rows as text, each with whether it is secondary: a deviation, or a quotation of the paper."""
    rows: list[tuple[bool, list[str]]] = []
    for name, row in results["rows"].items():
        entries = [*(row["columns"][column] for column in COLUMNS), row["running_mean"], row["best_linear"]]
        means, spreads = [f"{e['mean']:.4g}" for e in entries], [f"±{e['deviation']:.2g}" for e in entries]
        rows.append((False, [name, *means[:4], f"{row['relative_decrease']:+.1%}", *means[4:]]))
        rows.append((True, ["", *spreads[:4], "", *spreads[4:]]))
        paper = row["paper"]
        decrease = (paper["n_point_fkm"] - paper["bandit_boosting"]) / paper["n_point_fkm"]
        rows.append((True, [" paper", *(f"{paper[column]:.4g}" for column in COLUMNS), f"{decrease:+.1%}", "", ""]))
    return rows


HEADINGS = (
    "data set",
    *(f"{'full' if c in COLUMNS[:2] else 'bandit'} {TITLES[c]}" for c in COLUMNS),
    "decrease",
    "running mean",
    "best linear",
)


def terminal_table(results: dict[str, Any]) -> Table:
    """Return the table for the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    runs = results["protocol"]["runs"]
    title = f"Table 2: mean squared loss on the second half, {runs} run(s)"
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "data set" else "right")
    for quoted, row in cells_of(results):
        table.add_row(*row, style="dim" if quoted else None)
    return table


def curves(row: dict[str, Any], title: str) -> Figure:
    """Draw the running loss of every column, with a band of one deviation over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    for column in COLUMNS:
        runs = row["columns"][column]["runs"]
        rounds = np.array(runs[0]["curve"]["round"])
        losses = np.array([run["curve"]["loss"] for run in runs])
        middle, spread = losses.mean(axis=0), losses.std(axis=0)
        ax.plot(rounds, middle, color=_COLORS[column], label=_LEGENDS[column])
        ax.fill_between(rounds, middle - spread, middle + spread, color=_COLORS[column], alpha=0.15, linewidth=0)
    ax.axhline(row["running_mean"]["mean"], color="#888", linestyle=":", label="running mean")
    ax.axhline(row["best_linear"]["mean"], color="#888", linestyle="--", label="best linear predictor in hindsight")
    final = max(row["columns"][c]["mean"] for c in COLUMNS)
    ax.set(xscale="log", xlabel="round", ylabel="mean squared loss so far", title=title, ylim=(0, 3 * final))
    ax.legend(fontsize="small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of Table 2 and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Table 2: online boosting and its baselines</h1>",
        f"<p>Mean squared loss on the second half of the rows, {protocol['runs']} shuffled run(s), mean ± standard deviation "
        f"over runs; every number tuned on the first half. Noise uniform on ±0.1, δ = {protocol['delta']}. "
        "<em>Decrease</em> is that of bandit boosting against N-FKM. Rows in italics quote the paper.</p>",
        html_table(HEADINGS, cells_of(results)),
    ]
    for name, row in results["rows"].items():
        body.append(f"<h2>{name}</h2>")
        body.append(picture(curves(row, name), f"Running loss of the four algorithms on {name}"))
        chosen = [[_LEGENDS[c], *_setting(row["columns"][c]["runs"][0]["setting"])] for c in COLUMNS]
        headings = ("chosen in the first run", "copies", "rate", "power", "radius")
        body.append(html_table(headings, [(False, line) for line in chosen]))
    return write(folder / "table2.html", "banditboost: Table 2", body)


def _setting(setting: dict[str, Any]) -> list[str]:
    return [f"{setting[key]:g}" for key in ("copies", "scale", "power", "radius")]
