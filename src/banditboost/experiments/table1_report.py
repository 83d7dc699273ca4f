"""The presentation of Table 1: a table for the terminal, and a report with log-log figures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.table1 import TITLES
from banditboost.experiments.terminal import primary, terminal_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.table import Table

HEADINGS = (
    "space",
    "algorithm",
    "exponent (95 %)",
    "theory",
    "T up to",
    "oracle calls",
    "gradients",
    "µs a round",
    "equal calls",
    "equal time",
)


def lines(results: dict[str, Any]) -> list[list[str]]:
    """Return the rows as text; calls and times are those of a round at the longest horizon."""
    shown = []
    for row in results["rows"]:
        shown.append(
            [
                row["space"].split("(")[0],
                TITLES[row["algorithm"]],
                f"{row['exponent']:.2f} ({row['interval'][0]:.2f}..{row['interval'][1]:.2f})",
                f"{row['theory']:g}",
                f"{row['horizons'][-1]:,}",
                f"{row['oracle_calls'][-1]:,.0f}",
                f"{row['gradient_calls'][-1]:,.0f}",
                f"{row['microseconds'][-1]:,.0f}",
                f"{row['at_equal_calls']['regret_per_round']:.2g}",
                f"{row['at_equal_time']['regret_per_round']:.2g}",
            ]
        )
    return shown


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the table for the terminal."""
    title = "Table 1: regret and cost; the last two columns are regret per round at equal total cost"
    return [terminal_table(title, HEADINGS, primary(lines(results)), HEADINGS[:2])]


def figure(results: dict[str, Any]) -> Figure:
    """Draw regret against the horizon, against total oracle calls and against time, one row per space."""
    from matplotlib.figure import Figure

    spaces = list(dict.fromkeys(row["space"] for row in results["rows"]))
    drawn = Figure(figsize=(12, 3.6 * len(spaces)), layout="constrained")
    axes = drawn.subplots(len(spaces), 3, squeeze=False)
    for i, space in enumerate(spaces):
        for row in (row for row in results["rows"] if row["space"] == space):
            title = TITLES[row["algorithm"]]
            axes[i][0].loglog(row["horizons"], row["mean_regret"], "o-", label=f"{title}: T^{row['exponent']:.2f}")
            axes[i][1].loglog(row["total_calls"], row["regret_per_round"], "o-", label=title)
            axes[i][2].loglog(row["total_seconds"], row["regret_per_round"], "o-", label=title)
        axes[i][0].set(xlabel="horizon T", ylabel="regret", title=space)
        axes[i][1].set(xlabel="linear-oracle calls in all", ylabel="regret per round", title="what calls buy")
        axes[i][2].set(xlabel="seconds in all", ylabel="regret per round", title="what time buys")
        axes[i][0].legend(fontsize="x-small")
    return drawn


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report of Table 1 and return its file."""
    stops = [
        [row["space"], TITLES[row["algorithm"]], f"{row['horizons'][-1]:,}", f"{row['total_calls'][-1]:,.0f}"]
        for row in results["rows"]
    ]
    body = [
        "<h1>Table 1: projection-free online convex optimisation, measured</h1>",
        f"<p>Finite sums of {results['protocol']['samples']} quadratics a round, one run per horizon and seed. Calls and times are "
        "those of a round at the longest horizon. Regret per round at equal total cost is what a user buys: every algorithm is "
        "given the horizon that the same number of oracle calls, or the same time, pays for. Exponents are fitted on the five "
        "longest horizons.</p>",
        html_table(HEADINGS, primary(lines(results))),
        picture(figure(results), "Regret against horizon, calls and time"),
        "<h2>Where each grid stops</h2>",
        html_table(("space", "algorithm", "longest horizon", "oracle calls of that run"), primary(stops)),
    ]
    return write(folder / "table1.html", "banditboost: Table 1", body)
