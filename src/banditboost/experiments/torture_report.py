"""The presentation of the torture of the default: tables for the terminal and for pages, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.html import sections, write
from banditboost.experiments.paid_cells import TOLD
from banditboost.experiments.terminal import Rows, primary, terminal_table
from banditboost.experiments.torture import WORSE
from banditboost.experiments.torture_games import TROUBLES

if TYPE_CHECKING:
    from rich.table import Table

TITLE = "Loss after recovery over that of the undisturbed run, and in brackets over that of the running mean"
ABOVE = f"Cells above {WORSE:.2f}, or above the running mean in any part"
ABSOLUTE = "The same for the absolute loss, beside the running median"
ABOVE_HEADINGS = (
    "what happens",
    "data set",
    "answers",
    "loss",
    "over the undisturbed run",
    "over the mean, in the worst part",
)


def headings_of(results: dict[str, Any]) -> tuple[str, ...]:
    """Return the headings: a column for every data set and number of answers."""
    return ("what happens", *(f"{name}, {_asked(k)}" for name, k in _columns(results)))


def rows_of(results: dict[str, Any], by_loss: str = "squared") -> Rows:
    """Return one row for every trouble; the first, in which nothing happens, has the loss itself."""
    chosen = [row for row in results["rows"] if row["by_loss"] == by_loss]
    found = {(row["dataset"], row["answers"], row["trouble"]): row for row in chosen}
    troubles = dict.fromkeys(row["trouble"] for row in chosen)
    return [
        (
            trouble == "none",
            [TROUBLES[trouble].title, *(_text(found.get((*column, trouble))) for column in _columns(results))],
        )
        for trouble in troubles
    ]


def above_of(results: dict[str, Any]) -> Rows:
    """Return the cells that had to be lower."""
    return primary(
        [
            [
                TROUBLES[row["trouble"]].title,
                row["dataset"],
                _asked(row["answers"]),
                row["by_loss"],
                f"{row['ratio']:.2f}",
                f"{row['worst']:.2f}",
            ]
            for row in results["rows"]
            if row["ratio"] > WORSE or row["worst"] > 1
        ]
    )


def _columns(results: dict[str, Any]) -> list[tuple[str, int]]:
    return list(dict.fromkeys((row["dataset"], row["answers"]) for row in results["rows"]))


def _asked(answers: int) -> str:
    return "told" if answers == TOLD else str(answers)


def _text(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    value = f"{row['loss']:.4f}" if row["trouble"] == "none" else f"{row['ratio']:.2f}"
    return f"{value} ({row['share']:.2f})"


def tables_of(results: dict[str, Any]) -> list[tuple[str, tuple[str, ...], Rows]]:
    """Return title, headings and rows of all tables; the last is left out where nothing is above."""
    tables = [
        (TITLE, headings_of(results), rows_of(results)),
        (ABSOLUTE, headings_of(results), rows_of(results, "absolute")),
        (ABOVE, ABOVE_HEADINGS, above_of(results)),
    ]
    return [table for table in tables if table[2]]


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the tables for the terminal."""
    return [terminal_table(*table, left=("what happens", "data set", "loss")) for table in tables_of(results)]


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report and return its file."""
    protocol = results["protocol"]
    body = [
        "<h1>Torture</h1>",
        f"<p>Streams of {protocol['rounds']:,} rounds, {protocol['runs']} seed(s), labels in [0, 1]. The first row "
        "is the loss of the run that nothing disturbs.</p>",
        *sections(tables_of(results)),
    ]
    return write(folder / "torture.html", "banditboost: torture", body)
