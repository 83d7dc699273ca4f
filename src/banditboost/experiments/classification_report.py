"""The presentation of classification from bandit feedback: a table for the terminal, and a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from banditboost.experiments.classification import WAYS
from banditboost.experiments.html import html_table, write
from banditboost.experiments.statistics import deviation
from banditboost.experiments.terminal import Rows, terminal_table

if TYPE_CHECKING:
    from rich.table import Table

TITLE = "Letter's 26 classes: accuracy on second halves, each row predicted before it is learned from"
HEADINGS = ("way", "learns from", "accuracy", "on the last half", "its loss", "loss paid", "microseconds a row")


def rows_of(results: dict[str, Any]) -> Rows:
    """Return the table's rows; those of methods that see the class or the gradient are secondary."""
    return [
        (
            row["full_information"],
            [
                WAYS[row["way"]],
                _learns_from(row),
                f"{row['accuracy']:.1%} ±{deviation(row['accuracy runs']):.1%}",
                f"{row['late']:.1%}",
                f"{row['loss']:.3f}" if "loss" in row else "",
                _paid(row),
                f"{row['microseconds']:.0f}",
            ],
        )
        for row in results["rows"]
    ]


def _paid(row: dict[str, Any]) -> str:
    """Return the loss paid at the points asked; methods that are told gradients or classes ask about none."""
    if row["full_information"]:
        return "-" if "loss" in row else ""
    return f"{row['paid']:.3f}"


def _learns_from(row: dict[str, Any]) -> str:
    if "loss" not in row:
        return "classes"
    return f"{'gradients' if row['full_information'] else 'values'}, {row['by_loss']} loss"


def terminal_tables(results: dict[str, Any]) -> list[Table]:
    """Return the table for the terminal."""
    return [terminal_table(TITLE, HEADINGS, rows_of(results), HEADINGS[:2])]


def report(results: dict[str, Any], folder: Path) -> Path:
    """Write the report and return its file."""
    body = [
        f"<h1>{TITLE}</h1>",
        "<p>Noise is uniform on ±0.1; numbers are means ± standard deviations over runs. Methods in italics see gradients or "
        "classes. The settings of the default that depend on the number of classes were chosen on the first half of letter; "
        "peers were hardly tuned.</p>",
        html_table(HEADINGS, rows_of(results)),
    ]
    return write(folder / "classes.html", "banditboost: classes", body)
