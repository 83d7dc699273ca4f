"""The presentation of the bounds: a summary for the terminal, and a report with every row and log-log figures."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.terminal import primary, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table


def summary(results: dict[str, Any]) -> list[list[str]]:
    """Return one line per theorem and kind of bound: settings, runs, largest ratio of measured to bound, bounds that held."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in results["rows"]:
        groups[row["theorem"], row["kind"]].append(row)
    lines = []
    for (theorem, kind), rows in groups.items():
        ratios = [row["ratio"] for row in rows if row["ratio"] is not None]
        largest = f"{max(ratios):.3f}" if ratios else "-"
        runs = sum(row["seeds"] for row in rows)
        held = sum(row["held"] for row in rows)
        lines.append([theorem, kind, str(len(rows)), f"{runs:,}", largest, f"{held}/{len(rows)}"])
    return lines


HEADINGS = ("theorem", "bound", "settings", "runs", "largest ratio", "held")
EXPONENT_HEADINGS = ("algorithm", "world", "space", "exponent", "95 % interval", "target")


def exponents(results: dict[str, Any]) -> list[list[str]]:
    """Return one line per fitted exponent."""
    return [
        [
            e["algorithm"],
            e["world"],
            e["space"],
            f"{e['exponent']:.3f}",
            f"{e['interval'][0]:.3f} .. {e['interval'][1]:.3f}",
            "-" if e["target"] is None else f"<= {e['target']:g}",
        ]
        for e in results["exponents"]
    ]


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the summary and the exponents for the terminal."""
    return [
        terminal_table(title, headings, primary(lines), headings)
        for title, headings, lines in (
            ("Bounds against what was measured", HEADINGS, summary(results)),
            ("Growth of regret with the horizon", EXPONENT_HEADINGS, exponents(results)),
        )
    ]


def growth(results: dict[str, Any]) -> Figure:
    """Draw regret against the horizon, and regret per round against the adaptive adversary."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for e in results["exponents"]:
        label = f"{e['algorithm']}, {e['space']}"
        if e["world"] == "stationary":
            left.loglog(e["horizons"], e["mean_regret"], "o-", label=f"{label}: T^{e['exponent']:.2f}")
        else:
            right.loglog(e["horizons"], e["regret_per_round"], "o-", label=label)
    horizons = np.array(results["exponents"][0]["horizons"], dtype=float)
    top = max(e["mean_regret"][0] for e in results["exponents"])
    left.loglog(horizons, top * np.sqrt(horizons / horizons[0]), "k:", label="T^0.5")
    left.loglog(horizons, top * (horizons / horizons[0]) ** 0.75, "k--", label="T^0.75")
    left.set(xlabel="horizon T", ylabel="regret", title="stationary quadratics, one run per horizon")
    right.set(xlabel="horizon T", ylabel="regret per round", title="an adversary that reads the last point")
    for ax in (left, right):
        ax.legend(fontsize="x-small")
    return figure


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of the bounds and return its file."""
    rows = [
        (
            not row["held"],
            [
                row["theorem"],
                row["setting"],
                row["kind"],
                f"{row['horizon']:,}",
                f"{row['seeds']:,}",
                f"{row['measured']:.4g}",
                f"{row['bound']:.4g}",
                "-" if row["ratio"] is None else f"{row['ratio']:.4f}",
                "held" if row["held"] else "VIOLATED",
            ],
        )
        for row in results["rows"]
    ]
    headings = ("theorem", "setting", "bound", "T", "seeds", "measured", "bound", "ratio", "verdict")
    body = [
        "<h1>Every bound of the paper, against what is measured</h1>",
        "<p>Expected bounds are held against the mean over seeds, bounds with high probability against the largest regret and the "
        f"share of seeds that exceed them (at most {results['protocol']['failure']:g}), the unrolled lemma against every run; "
        "there <em>measured</em> is the largest excess of regret over the lemma's right-hand side.</p>",
        html_table(HEADINGS, primary(summary(results))),
        "<h2>Growth of regret</h2>",
        html_table(EXPONENT_HEADINGS, primary(exponents(results))),
        picture(growth(results), "Regret against horizon, log-log"),
        "<h2>All settings</h2>",
        html_table(headings, rows),
    ]
    return write(folder / "bounds.html", "banditboost: bounds", body)
