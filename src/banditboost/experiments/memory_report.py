"""The presentation of what each part of the booster that remembers is worth: a table, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import sections, write
from banditboost.experiments.memory import ANSWERS, VARIANTS
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

Results = dict[str, Any]
TITLE = "Squared loss on first halves; in brackets over that of the whole"


def headings_of(results: Results) -> tuple[str, ...]:
    """Return the headings of the table."""
    return ("booster", "answers", *results["protocol"]["datasets"])


def rows_of(results: Results) -> Rows:
    """Return the losses of all variants, with their ratios to the whole."""
    by = {(row["dataset"], row["variant"], row["answers"]): row for row in results["rows"]}
    rows: Rows = []
    for answers in ANSWERS:
        for variant, (title, _) in VARIANTS.items():
            texts = []
            for name in results["protocol"]["datasets"]:
                row, whole = by[name, variant, answers], by[name, "whole", answers]
                ratio = "" if variant == "whole" else f" ({row['loss'] / whole['loss']:.3f})"
                texts.append(f"{row['loss']:.4g} ±{deviation(row['loss_runs']):.2g}{ratio}")
            rows.append((variant != "whole", [title, str(answers), *texts]))
    return rows


def terminal_tables(results: Results) -> list[Table]:
    """Return the table for the terminal."""
    return [terminal_table(TITLE, headings_of(results), rows_of(results), left=("booster",))]


def report(results: Results, folder: Path) -> Path:
    """Write the report and return its file."""
    body = [
        "<h1>What each part of memory is worth</h1>",
        f"<p>Mean ± standard deviation over {results['protocol']['runs']} shuffle(s) of the first 5,000 rows of first halves, on "
        "which parts were chosen; noisy loss values are told, and no label.</p>",
        *sections([(TITLE, headings_of(results), rows_of(results))]),
    ]
    return write(folder / "memory.html", "banditboost: what each part of memory is worth", body)
