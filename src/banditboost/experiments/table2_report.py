"""The presentation of Table 2: tables and sentences for the terminal, and a report with curves."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.table2_readings import BANDIT, COLUMNS, FULL
from banditboost.experiments.table2_says import percent, says
from banditboost.experiments.terminal import Rows, primary, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

TITLES = {"ogd": "OGD", "gradient_boosting": "boosting", "n_point_fkm": "N-FKM", "bandit_boosting": "boosting"}
_COLORS = {"ogd": "#4c72b0", "gradient_boosting": "#55a868", "n_point_fkm": "#dd8452", "bandit_boosting": "#c44e52"}
_LEGENDS = {
    "ogd": "OGD (full information)",
    "gradient_boosting": "boosting (full information)",
    "n_point_fkm": "N-FKM (bandit)",
    "bandit_boosting": "boosting (bandit)",
}
HALVES = {"full": FULL, "bandit": BANDIT}
COMPARATORS = ("running_mean", "online_ridge", "best_linear")


def main_readings(results: dict[str, Any]) -> dict[str, str]:
    """Return the reading that each half of the table shows: the first of those that were run and have it."""
    found: dict[str, str] = {}
    for row in results["rows"].values():
        for key, reading in row["readings"].items():
            for half in HALVES:
                if half in reading:
                    found.setdefault(half, key)
    return found


def headings_of(results: dict[str, Any]) -> list[str]:
    """Return the headings of the table, which name the reading of each half."""
    main, headings = main_readings(results), ["data set"]
    for half, columns in HALVES.items():
        if half in main:
            headings += [f"{half} {TITLES[column]}" for column in columns] + [f"decrease, {main[half]}"]
    return [*headings, "running mean", "online ridge", "best linear"]


def cells_of(results: dict[str, Any]) -> Rows:
    """Return the table's rows as text; deviations and quotations of the paper are secondary."""
    rows, main = [], main_readings(results)
    for name, row in results["rows"].items():
        means, spreads, quoted = [name], [""], [" paper"]
        for half, key in ((half, main[half]) for half in HALVES if half in main):
            ours = row["readings"][key]
            for column in HALVES[half]:
                entry = ours["columns"][column]
                means.append(f"{entry['mean']:.4g}")
                spreads.append(f"±{entry['deviation']:.2g}")
                quoted.append(f"{row['paper'][column]:.4g}")
            means.append(percent(ours[half]["decrease"]["mean"], "+"))
            spreads.append("")
            quoted.append(percent(papers_decrease(row["paper"], half), "+"))
        rows.append((False, means + [f"{row[key]['mean']:.4g}" for key in COMPARATORS]))
        rows.append((True, spreads + [f"±{row[key]['deviation']:.2g}" for key in COMPARATORS]))
        rows.append((True, quoted + ["" for _ in COMPARATORS]))
    for name, why in results["not_run"].items():
        if why != "not asked for":
            rows.append((False, [name, f"not run: {why}", *("" for _ in headings_of(results)[2:])]))
    return rows


def papers_decrease(paper: dict[str, float], half: str) -> float:
    """Return the relative decrease of boosting against its baseline, from the numbers in the paper."""
    baseline, boosting = (paper[column] for column in HALVES[half])
    return (baseline - boosting) / baseline


def decrease_headings(results: dict[str, Any]) -> list[str]:
    """Return the headings of the table of readings: one column for each data set."""
    return ["reading", "baseline", *results["rows"]]


def decreases_of(results: dict[str, Any]) -> Rows:
    """Return by how much boosting's loss is below its baseline's, under every reading, with 95 % intervals paired over runs."""
    rows: Rows = []
    for half in ("bandit", "full"):
        baseline, some = TITLES[HALVES[half][0]], False
        for key, told in results["protocol"]["readings"].items():
            found = [row["readings"][key] for row in results["rows"].values()]
            if all(half in one for one in found):
                some = True
                texts = [_decrease(one[half]["decrease"]) for one in found]
                rows.append((False, [f"{key}: {told['title']}", baseline, *texts]))
        if some:
            quoted = [percent(papers_decrease(row["paper"], half), "+") for row in results["rows"].values()]
            rows.append((True, ["paper", baseline, *quoted]))
    return rows


def _decrease(found: dict[str, float]) -> str:
    mean, low, high = (percent(found[key], "+") for key in ("mean", "low", "high"))
    return f"{mean} ({low} .. {high})"


READING_HEADINGS = (
    "data set",
    "reading",
    "rounds",
    "baseline",
    "its loss",
    "boosting",
    "boosting - baseline (95 %)",
    "boosting ahead",
)


def readings_of(results: dict[str, Any]) -> Rows:
    """Return the losses under every reading, with the paired difference between boosting and its baseline."""
    rows: Rows = []
    for name, row in results["rows"].items():
        for key, found in row["readings"].items():
            for half, (baseline, boosting) in HALVES.items():
                if half in found:
                    means = [f"{found['columns'][column]['mean']:.4g}" for column in (baseline, boosting)]
                    pair = found[half]["difference"]
                    difference = f"{pair['mean']:+.3g} ({pair['low']:+.2g} .. {pair['high']:+.2g})"
                    ahead = f"{found[half]['ahead']} of {len(found['columns'][boosting]['runs'])} runs"
                    line = [name, key, f"{found['rounds']:,}", TITLES[baseline], *means, difference, ahead]
                    rows.append((False, line))
    return rows


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
    rows, main = [], main_readings(results)
    for name, row in results["rows"].items() if "bandit" in main else ():
        best, found = row["best_linear"]["mean"], row["readings"][main["bandit"]]["columns"]
        for column in BANDIT:
            predicted, paid = found[column]["mean"], float(np.mean([run["paid"] for run in found[column]["runs"]]))
            regrets = [f"{loss - best:+.4g}" for loss in (predicted, paid)]
            rows.append((False, [name, TITLES[column], f"{predicted:.4g}", f"{paid:.4g}", *regrets]))
        mean = row["running_mean"]["mean"]
        rows.append((True, [name, "running mean, told labels", *[f"{mean:.4g}"] * 2, *[f"{mean - best:+.4g}"] * 2]))
    return rows


def terminal_tables(results: dict[str, Any]) -> list[Table | str]:
    """Return the table for the terminal, what was paid, the decreases under every reading, and sentences that say what holds."""
    runs = results["protocol"]["runs"]
    title = f"Table 2: mean squared loss of predictions on the second half, {runs} run(s)"
    left = ("data set", "reading", "bandit algorithm", "baseline")
    tables: list[Table | str] = [terminal_table(title, headings_of(results), cells_of(results), left)]
    paid = paid_of(results)
    if paid:
        tables.append(terminal_table(PAID_TITLE, PAID_HEADINGS, paid, left))
    title = "Decrease of boosting's loss against its baseline under every reading run (95 % over runs)"
    tables.append(terminal_table(title, decrease_headings(results), decreases_of(results), left))
    return [*tables, *(f"{sentence}\n" for sentence in says(results))]


def curves(row: dict[str, Any], title: str) -> Figure:
    """Draw the running loss of every column, with a band of one standard deviation over runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    ax = figure.subplots()
    columns = main_columns(row)
    for column in columns:
        runs = columns[column]["runs"]
        rounds = np.array(runs[0]["curve"]["round"])
        losses = np.array([run["curve"]["loss"] for run in runs])
        middle, spread = losses.mean(axis=0), losses.std(axis=0)
        ax.plot(rounds, middle, color=_COLORS[column], label=_LEGENDS[column])
        ax.fill_between(rounds, middle - spread, middle + spread, color=_COLORS[column], alpha=0.15, linewidth=0)
    ax.axhline(row["running_mean"]["mean"], color="#888", linestyle=":", label="running mean")
    ax.axhline(row["best_linear"]["mean"], color="#888", linestyle="--", label="best linear predictor in hindsight")
    final = max(column["mean"] for column in columns.values())
    ax.set(xscale="log", xlabel="round", ylabel="mean squared loss so far", title=title, ylim=(0, 3 * final))
    ax.legend(fontsize="small")
    return figure


def sensitivity(row: dict[str, Any]) -> Figure:
    """Draw the tuning loss against each tuned number, the others at their best."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.2), layout="constrained")
    axes, columns = figure.subplots(1, 3), main_columns(row)
    drawn = {"copies": "copies N", "scale": "rate lr", "radius": "radius R"}
    top = 3 * max(column["mean"] for column in columns.values())
    for ax, (key, label) in zip(axes, drawn.items(), strict=True):
        tried: set[float] = set()
        for name, column in columns.items():
            if key in column["profile"]:
                values, losses = zip(*column["profile"][key], strict=True)
                ax.semilogx(values, losses, "o-", color=_COLORS[name], label=_LEGENDS[name])
                tried |= set(values)
        if tried:  # a logarithmic axis over less than a decade would label its minor ticks, which overlap
            ax.set(xlabel=label, ylabel="tuning loss", ylim=(0, top))
            ax.set_xticks(sorted(tried), labels=[f"{x:g}" for x in sorted(tried)])
            ax.minorticks_off()
            ax.legend(fontsize="x-small")
        else:
            ax.set_visible(False)
    return figure


def main_columns(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of the first reading of each half."""
    found: dict[str, Any] = {}
    for reading in row["readings"].values():
        found = reading["columns"] | found
    return {column: found[column] for column in COLUMNS if column in found}


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of Table 2 and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Table 2: online boosting and its baselines</h1>",
        f"<p>Mean squared loss of predictions on the second half of the rows, {protocol['runs']} shuffled run(s), mean ± standard "
        f"deviation over runs; everything tuned on the first half. Noise uniform on ±0.1, δ = {protocol['delta']}. "
        "<em>Decrease</em> is that of boosting against its baseline under the reading named. Rows in italics quote the paper.</p>",
        html_table(headings_of(results), cells_of(results)),
        *(f"<p>{sentence}</p>" for sentence in says(results)),
        "<h2>Every reading of the paper's text</h2>",
        "<p>Relative decreases and differences with 95 % intervals, paired over runs.</p>",
        html_table(decrease_headings(results), decreases_of(results)),
        html_table(READING_HEADINGS, readings_of(results)),
        "<h2>What it cost to learn</h2>",
        f"<p>{PAID_TITLE}. Settings were chosen by the loss at the predictions; regret is against the best linear predictor.</p>",
        html_table(PAID_HEADINGS, paid_of(results)),
    ]
    for name, row in results["rows"].items():
        body.append(f"<h2>{name}</h2>")
        body.append(picture(curves(row, name), f"Running loss of the algorithms on {name}"))
        body.append(picture(sensitivity(row), f"Sensitivity on {name}"))
        chosen = [[_LEGENDS[c], *_setting(found["runs"][0]["setting"])] for c, found in main_columns(row).items()]
        headings = ("chosen in the first run", "copies", "rate", "power", "radius")
        body.append(html_table(headings, primary(chosen)))
    return write(folder / "table2.html", "banditboost: Table 2", body)


def _setting(setting: dict[str, Any]) -> list[str]:
    return ["none" if setting[key] is None else f"{setting[key]:g}" for key in ("copies", "scale", "power", "radius")]
