"""Values of a column that could not be read: how many, which, and in which lines of the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from banditboost.datasets.own import OwnTable, line_numbers
from banditboost.datasets.own_values import shown

FIRST = 5
"""So many of a column's values that could not be read are named with their places."""


class Unread(NamedTuple):
    """Values of a column that could not be read, and count as missing."""

    column: str
    rows: int
    example: str
    wanted: str
    """What the column holds."""
    places: tuple[int, ...] = ()
    """Where the first of them stand: the line of a text file, or the row of another, from 1."""
    unit: str = "row"
    """What a place is: ``"line"`` or ``"row"``."""

    @property
    def where(self) -> str:
        """The example and its place, and the places that follow.

        Examples
        --------
        >>> print(Unread("when", 7, "soon", "dates", (4, 9, 12, 13, 15), "line").where)
        'soon' in line 4, and in lines 9, 12, 13, 15, ...
        """
        said = f"'{shown(self.example)}'"
        if not self.places:
            return said
        first, *more = self.places
        said = f"{said} in {self.unit} {first}"
        if not more:
            return said
        others = ", ".join(map(str, more)) + (", ..." if self.rows > len(self.places) else "")
        return f"{said}, and in {self.unit}{'s' if self.rows > 2 else ''} {others}"

    def __str__(self) -> str:
        values = "1 value" if self.rows == 1 else f"{self.rows:,} values"
        why = f"cannot be read like its other {self.wanted}"
        if self.wanted == "yes or no":
            why = "are neither yes nor no" if self.rows > 1 else "is neither yes nor no"
        return f"Column '{self.column}' has {values} that {why}, such as {self.where}: counted as missing."


def located(table: OwnTable, unread: Sequence[Unread]) -> tuple[Unread, ...]:
    """Return what could not be read with its places in the table's file: lines of text, or rows of another file."""
    if not unread:
        return ()
    rows = {
        place: place - 1 if table.rows is None else int(table.rows[place - 1]) for one in unread for place in one.places
    }
    if table.file is None:
        return tuple(one._replace(places=tuple(rows[place] + 1 for place in one.places)) for one in unread)
    lines = line_numbers(table.file, table.separator, sorted(rows.values()))
    return tuple(
        one._replace(places=tuple(lines[rows[place]] for place in one.places if rows[place] in lines), unit="line")
        for one in unread
    )
