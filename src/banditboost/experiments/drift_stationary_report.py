"""The presentation of what drift handling costs where nothing changes: ratios with intervals, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments import drift_ours
from banditboost.experiments.drift_stationary import LIMIT
from banditboost.experiments.html import sections, write
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]
TITLE = f"Loss with drift handling over the loss without, paired 95 % intervals (at most {LIMIT})"


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table."""
    return ("booster", "answers", *results["protocol"]["datasets"], "kept")


def rows_of(results: Results) -> Rows:
    """Return the ratios of predicted losses, and of what was paid, of every variant with every number of answers."""
    by = {(row["variant"], row["answers"], row["dataset"]): row for row in results["rows"]}
    names, everyone = results["protocol"]["datasets"], drift_ours.VARIANTS | drift_ours.BROKEN
    rows: Rows = []
    for variant in dict.fromkeys(row["variant"] for row in results["rows"]):
        broken = variant in drift_ours.BROKEN
        for k in drift_ours.ANSWERS:
            found = [by.get((variant, k, name)) for name in names]
            there = [row for row in found if row]
            if there:
                texts = [_entry(row, "loss", results["protocol"]["runs"]) for row in found]
                kept = f"{sum(row['met'] for row in there)} of {len(there)}"
                rows.append((broken, [everyone[variant].title, str(k), *texts, kept]))
            if there and not broken:
                paid = [_entry(row, "paid", results["protocol"]["runs"]) for row in found]
                rows.append((True, [f"{everyone[variant].title}: paid", str(k), *paid, ""]))
    return rows


def _entry(row: dict[str, Any] | None, key: str, runs: int) -> str:
    """Return a ratio with its interval, and the number of runs where it is not the usual one."""
    if row is None:
        return "-"
    ratio = row[f"{key}_ratio"]
    few = f" ({row['runs']})" if row["runs"] < runs else ""
    return f"{ratio['mean']:.4f} [{ratio['low']:.4f}, {ratio['high']:.4f}]{few}"


def terminal_tables(results: Results) -> list[Table]:
    """Return the table for the terminal."""
    return [terminal_table(TITLE, headings_of(results), rows_of(results), left=("booster",))]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    body = [
        "<h1>What drift handling costs where nothing changes</h1>",
        f"<p>Means over {results['protocol']['runs']} shuffle(s) of second halves, each played by both boosters; noisy loss values "
        "are told, and no label. A booster that is broken on purpose must be above the limit.</p>",
        *(f"<p>{sentence}</p>" for sentence in results["complaints"]),
        *sections([(TITLE, headings_of(results), rows_of(results))]),
    ]
    return write(folder / "drift_stationary.html", "banditboost: drift handling where nothing changes", body)
