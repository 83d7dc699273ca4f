"""Classes from bandit feedback to look at: a table for terminal and pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.experiments.classification import WAYS

if TYPE_CHECKING:
    from rich.table import Table

TITLE = "Letter's 26 classes: accuracy on second halves, each row predicted before it is learned from"
HEADINGS = ("way", "learns from", "accuracy", "on the last half", "squared loss", "microseconds a row")

Rows = list[tuple[bool, list[str]]]


def rows_of(results: dict[str, Any]) -> Rows:
    """Return the table's rows; those told the class or the gradient are secondary."""
    return [
        (
            row["told"],
            [
                WAYS[row["way"]],
                ("gradients" if "loss" in row else "classes") if row["told"] else "loss values",
                f"{row['accuracy']:.1%} ±{_deviation(row['accuracy runs']):.1%}",
                f"{row['late']:.1%}",
                f"{row['loss']:.3f}" if "loss" in row else "",
                f"{row['microseconds']:.0f}",
            ],
        )
        for row in results["rows"]
    ]


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def terminal_table(results: dict[str, Any]) -> Table:
    """Return the table for the terminal."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=TITLE, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in HEADINGS[:2] else "right")
    for secondary, line in rows_of(results):
        table.add_row(*line, style="dim" if secondary else None)
    return table
