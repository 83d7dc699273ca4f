"""The presentation of Table 2: tables for the terminal, and a report with curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.table2 import BANDIT, COLUMNS, TITLES
from banditboost.experiments.terminal import Rows, primary, terminal_table

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


COMPARATORS = ("running_mean", "online_ridge", "best_linear")


def cells_of(results: dict[str, Any]) -> Rows:
    """Return the table's rows as text; deviations and quotations of the paper are secondary."""
    rows: Rows = []
    for name, row in results["rows"].items():
        ours = row["readings"]["paper grid"]
        entries = [*(ours["columns"][column] for column in COLUMNS), *(row[key] for key in COMPARATORS)]
        means, spreads = [f"{e['mean']:.4g}" for e in entries], [f"±{e['deviation']:.2g}" for e in entries]
        rows.append((False, [name, *means[:4], f"{ours['relative_decrease']:+.1%}", *means[4:]]))
        rows.append((True, ["", *spreads[:4], "", *spreads[4:]]))
        paper = row["paper"]
        quoted = [f"{paper[column]:.4g}" for column in COLUMNS]
        rows.append((True, [" paper", *quoted, f"{_decrease(paper):+.1%}", *("" for _ in COMPARATORS)]))
    for name, why in results["not_run"].items():
        if why != "not asked for":
            rows.append((False, [name, f"not run: {why}", *("" for _ in HEADINGS[2:])]))
    return rows


def _decrease(paper: dict[str, float]) -> float:
    """Return the relative decrease of bandit boosting against N-FKM, from the numbers in the paper."""
    return (paper["n_point_fkm"] - paper["bandit_boosting"]) / paper["n_point_fkm"]


READING_HEADINGS = (
    "data set",
    "reading",
    "rounds",
    "OGD",
    "boosting",
    "N-FKM",
    "boosting",
    "boosting - N-FKM (95 %)",
    "decrease",
)


def readings_of(results: dict[str, Any]) -> Rows:
    """Return the rows of every reading of the paper, with the paired difference between bandit boosting and N-FKM."""
    rows: Rows = []
    for name, row in results["rows"].items():
        for reading, found in row["readings"].items():
            means = [f"{found['columns'][c]['mean']:.4g}" if c in found["columns"] else "" for c in COLUMNS]
            pair = found["paired_bandit"]
            difference = f"{pair['mean']:+.3g} ({pair['low']:+.2g} .. {pair['high']:+.2g})"
            rounds = f"{found['rounds']:,}"
            rows.append((False, [name, reading, rounds, *means, difference, f"{found['relative_decrease']:+.1%}"]))
        paper = row["paper"]
        quoted = [f"{paper[column]:.4g}" for column in COLUMNS]
        difference = f"{paper['bandit_boosting'] - paper['n_point_fkm']:+.3g}"
        rows.append((True, [name, "paper", "", *quoted, difference, f"{_decrease(paper):+.1%}"]))
    return rows


HEADINGS = (
    "data set",
    *(f"{'full' if c in COLUMNS[:2] else 'bandit'} {TITLES[c]}" for c in COLUMNS),
    "decrease",
    "running mean",
    "online ridge",
    "best linear",
)


PAID_TITLE = "Predicted and paid: the loss at the predictions, and at the points played to learn from them"
PAID_HEADINGS = (
    "data set",
    "bandit algorithm",
    "loss predicted",
    "loss paid",
    "regret a round, predicted",
    "regret a round, paid",
)


def paid_of(results: dict[str, Any]) -> Rows:
    """Return what the algorithms that learn from loss values predicted and paid; regret is against the best linear predictor.

    Algorithms that are told gradients ask about nothing, and the running mean of labels, a secondary row, does not either.
    """
    rows: Rows = []
    for name, row in results["rows"].items():
        best, found = row["best_linear"]["mean"], row["readings"]["paper grid"]["columns"]
        for column in BANDIT:
            predicted, paid = found[column]["mean"], float(np.mean([run["paid"] for run in found[column]["runs"]]))
            regrets = [f"{loss - best:+.4g}" for loss in (predicted, paid)]
            rows.append((False, [name, TITLES[column], f"{predicted:.4g}", f"{paid:.4g}", *regrets]))
        mean = row["running_mean"]["mean"]
        rows.append((True, [name, "running mean, told labels", *[f"{mean:.4g}"] * 2, *[f"{mean - best:+.4g}"] * 2]))
    return rows


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the table for the terminal, one of all readings where more than one was run, and at last what was paid."""
    runs = results["protocol"]["runs"]
    title = f"Table 2: mean squared loss of predictions on the second half, {runs} run(s)"
    left = ("data set", "reading", "bandit algorithm")
    tables = [terminal_table(title, HEADINGS, cells_of(results), left)]
    if any(len(row["readings"]) > 1 for row in results["rows"].values()):
        tables.append(terminal_table("Every reading of the paper's text", READING_HEADINGS, readings_of(results), left))
    return [*tables, terminal_table(PAID_TITLE, PAID_HEADINGS, paid_of(results), left)]


def curves(row: dict[str, Any], title: str) -> Figure:
    """Draw the running loss of every column, with a band of one standard deviation over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    columns = row["readings"]["paper grid"]["columns"]
    for column in COLUMNS:
        runs = columns[column]["runs"]
        rounds = np.array(runs[0]["curve"]["round"])
        losses = np.array([run["curve"]["loss"] for run in runs])
        middle, spread = losses.mean(axis=0), losses.std(axis=0)
        ax.plot(rounds, middle, color=_COLORS[column], label=_LEGENDS[column])
        ax.fill_between(rounds, middle - spread, middle + spread, color=_COLORS[column], alpha=0.15, linewidth=0)
    ax.axhline(row["running_mean"]["mean"], color="#888", linestyle=":", label="running mean")
    ax.axhline(row["best_linear"]["mean"], color="#888", linestyle="--", label="best linear predictor in hindsight")
    final = max(columns[c]["mean"] for c in COLUMNS)
    ax.set(xscale="log", xlabel="round", ylabel="mean squared loss so far", title=title, ylim=(0, 3 * final))
    ax.legend(fontsize="small")
    return figure


def sensitivity(row: dict[str, Any], deltas: Sequence[float]) -> Figure:
    """Draw the tuning loss against each tuned number, the others at their best, and the reported loss against δ."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.2), layout="constrained")
    axes = figure.subplots(1, 4, sharey=False)
    columns = row["readings"]["paper grid"]["columns"]
    for column in COLUMNS:
        runs, style = columns[column]["runs"], {"color": _COLORS[column], "label": _LEGENDS[column]}
        for ax, key, label in zip(
            axes, ("copies", "scale", "radius"), ("copies N", "rate lr", "radius R"), strict=False
        ):
            values, losses = zip(*columns[column]["profile"][key], strict=True)
            if len(values) > 1:
                ax.semilogx(values, losses, "o-", **style)
                ax.set(xlabel=label, ylabel="tuning loss")
        if "deltas" in runs[0]:
            losses = np.array([run["deltas"] for run in runs]).mean(axis=0).tolist()
            axes[3].semilogx(deltas, losses, "o-", **style)
            axes[3].set(xlabel="distance δ of queries", ylabel="reported loss")
    top = 3 * max(columns[c]["mean"] for c in COLUMNS)
    for ax in axes:
        ax.set_ylim(0, top)
        tried = sorted({float(x) for line in ax.get_lines() for x in np.asarray(line.get_xdata())})
        if tried:  # a logarithmic axis over less than a decade would label its minor ticks, which overlap
            ax.set_xticks(tried, labels=[f"{x:g}" for x in tried])
            ax.minorticks_off()
        else:  # nothing was varied here, as in a quick run
            ax.set_visible(False)
    axes[1].legend(fontsize="x-small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of Table 2 and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Table 2: online boosting and its baselines</h1>",
        f"<p>Mean squared loss of predictions on the second half of the rows, {protocol['runs']} shuffled run(s), mean ± standard "
        f"deviation over runs; everything tuned on the first half. Noise uniform on ±0.1, δ = {protocol['delta']}. "
        "<em>Decrease</em> is that of bandit boosting against N-FKM. Rows in italics quote the paper.</p>",
        html_table(HEADINGS, cells_of(results)),
    ]
    if any(len(row["readings"]) > 1 for row in results["rows"].values()):
        body += [
            "<h2>Every reading of the paper's text</h2>",
            "<p><em>Paper grid</em>: predictions are perturbed (d = 1), rates as in the paper. <em>Wide grid</em>: the same with "
            "rates up to 1. <em>Weights</em>: weights are perturbed (d = number of features), on a small grid and, where data is "
            "wide, fewer rows. The difference is paired over runs, with a 95 % interval: below zero, boosting is better.</p>",
            html_table(READING_HEADINGS, readings_of(results)),
        ]
    body += [
        "<h2>What it cost to learn</h2>",
        f"<p>{PAID_TITLE}. Settings were chosen by the loss at the predictions; regret is against the best linear predictor.</p>",
        html_table(PAID_HEADINGS, paid_of(results)),
    ]
    for name, row in results["rows"].items():
        body.append(f"<h2>{name}</h2>")
        body.append(picture(curves(row, name), f"Running loss of the four algorithms on {name}"))
        body.append(picture(sensitivity(row, protocol["deltas"]), f"Sensitivity on {name}"))
        columns = row["readings"]["paper grid"]["columns"]
        chosen = [[_LEGENDS[c], *_setting(columns[c]["runs"][0]["setting"])] for c in COLUMNS]
        headings = ("chosen in the first run", "copies", "rate", "power", "radius")
        body.append(html_table(headings, primary(chosen)))
    return write(folder / "table2.html", "banditboost: Table 2", body)


def _setting(setting: dict[str, Any]) -> list[str]:
    return [f"{setting[key]:g}" for key in ("copies", "scale", "power", "radius")]
