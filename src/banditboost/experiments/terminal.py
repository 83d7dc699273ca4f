"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

Rows = list[tuple[bool, list[str]]]
"""Rows of text, each with a flag that is true for secondary rows: deviations, quotations, remarks."""


def primary(lines: Sequence[list[str]]) -> Rows:
    """Return lines of text as rows none of which is secondary."""
    return [(False, line) for line in lines]


def not_kept(results: Sequence[dict[str, Any]], width: int) -> Rows:
    """Return a secondary row that says that runs did not keep the loss paid, where some of an earlier version did not."""
    kept = all("paid" in row for row in results)
    return [] if kept else [(True, ["paid: not kept by these runs", *[""] * (width - 1)])]


def terminal_table(title: str, headings: Sequence[str], rows: Rows, left: Sequence[str]) -> Table:
    """Return rows of text as a table; secondary rows are dim, and columns whose headings are in `left` are left-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    for secondary, row in rows:
        table.add_row(*row, style="dim" if secondary else None)
    return table
