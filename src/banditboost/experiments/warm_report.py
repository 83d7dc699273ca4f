"""The presentation of what a log is worth: a table, a report, and whether the limits hold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import sections, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table
from banditboost.experiments.warm import LOGS

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]
TITLE = "Selling to 5,000 customers after reading a log of 5,000 others"
HEADINGS = ("booster", "log", "regret", "saved", "share of the best revenue", "in the last tenth", "critic alone")


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table."""
    return HEADINGS


def rows_of(results: Results) -> Rows:
    """Return what every booster failed to earn after every log."""
    rows: Rows = []
    for row in results["rows"]:
        cold = row["log"] == "none"
        texts = [
            f"{row['regret']:.0f} ±{deviation(row['regret_runs']):.0f}",
            "" if cold else f"{100 * row['saved']:.0f} %",
            f"{row['share']:.3f}",
            f"{row['share_tenth']:.3f}",
            "" if cold else f"{row['critic_only']:.0f}",
        ]
        rows.append((not cold, [row["way"], LOGS[row["log"]], *texts]))
    return rows


def terminal_tables(results: Results) -> list[Table]:
    """Return the table for the terminal."""
    return [terminal_table(TITLE, HEADINGS, rows_of(results), left=("booster", "log"))]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    body = [
        "<h1>What a log is worth</h1>",
        f"<p>Mean ± standard deviation over {results['protocol']['runs']} shop(s). Regret is what is not earned of the best "
        "expected revenue, exploration included; saved is the part of the cold start's that the log spares. The last column has "
        "the number of rows from which only the critic learned.</p>",
        *sections([(TITLE, HEADINGS, rows_of(results))]),
    ]
    return write(folder / "warm.html", "banditboost: what a log is worth", body)
