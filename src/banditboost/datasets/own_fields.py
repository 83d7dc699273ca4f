"""Contexts by the names of a table's columns: values of Python's own types, or frames, as the encoding of the table reads them."""

from __future__ import annotations

import datetime
import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost.datasets.own import OwnTable
from banditboost.datasets.own_columns import Numbers, OwnColumn, Words
from banditboost.datasets.own_encoding import Encoding
from banditboost.datasets.own_unread import Unread
from banditboost.datasets.own_values import shown

if TYPE_CHECKING:
    import polars as pl

ENCODING = "encoding"
"""Where a booster's `extra` has the encoding of the table by whose columns its contexts are named."""

CELLS = 4096
"""So many values of a table's columns are kept with the features that they became."""

WIDE = 256
"""Values of columns with more features than this are not kept."""

BOOSTERS = 32
"""So many encodings are kept, by the boosters that have them."""

LARGE = 1e300
"""Numbers below this are taken as they are; all others are looked at like words."""


class Fields:
    """Contexts by the names of a table's columns, as the encoding of the table makes numbers of them.

    Parameters
    ----------
    encoding
        The encoding of the table.

    Examples
    --------
    >>> from banditboost.datasets.own_columns import Numbers
    >>> fields = Fields(Encoding((Words("town", levels=("Bonn", "Rom")), Numbers("age", fill=40.0, marked=True))))
    >>> fields.row({"age": 41, "town": "Rom"}), fields.row({"age": None, "town": "Oslo"})
    ([0.0, 1.0, 41.0, 0.0], [0.0, 0.0, 40.0, 1.0])
    """

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self._parts = tuple((column, replace(encoding, columns=(column,))) for column in encoding.columns)
        self._cells: dict[tuple[str, type, Any], list[float]] = {}

    def row(self, values: Mapping[str, Any]) -> list[float]:
        """Return the features of one context; raise where a column is absent, or has a value that cannot be read."""
        self._require("x", values)
        return [number for column, alone in self._parts for number in self._cell(column, alone, values[column.name])]

    def frame(self, frame: Any) -> Array:
        """Return the features of a frame of polars or pandas, one row for each of its rows; raise as `row` does."""
        import polars as pl

        self._require("contexts", frame)
        columns = [_series(column.name, frame[column.name], column) for column in self.encoding.columns]
        made = self.encoding.encode(OwnTable(pl.DataFrame(columns), (), False))
        if made.unread:
            raise ValueError(_refused("contexts", made.unread[0], made.unread[0].where))
        return _dense(made.X)

    def _require(self, what: str, columns: Any) -> None:
        absent = [column.name for column in self.encoding.columns if column.name not in columns]
        if absent:
            names = ", ".join(column.name for column in self.encoding.columns)
            raise ValueError(
                f"{what} must have a value under each of the names {names}, got none under {absent[0]!r}; None stands for a "
                "missing one."
            )

    def _cell(self, column: OwnColumn, alone: Encoding, value: Any) -> Sequence[float]:
        """Return the features of one value: plain numbers at once, and all else, which comes again and again, from memory."""
        if type(column) is Numbers and column.date is None and not alone.scaled and _is_number(value):
            return (float(value), 0.0) if column.marked else (float(value),)
        value = _plain(value)
        key = (column.name, type(value), value)
        if isinstance(value, Hashable) and (found := self._cells.get(key)) is not None:
            return found
        import polars as pl

        made = alone.encode(OwnTable(pl.DataFrame([_series(column.name, [value], column)]), (), False))
        if made.unread:
            raise ValueError(_refused("x", made.unread[0], f"'{shown(made.unread[0].example)}'"))
        numbers = cast("list[float]", _dense(made.X)[0].tolist())
        if isinstance(value, Hashable) and len(numbers) <= WIDE:
            if len(self._cells) >= CELLS:
                self._cells.clear()
            self._cells[key] = numbers
        return numbers


def _dense(X: Any) -> Array:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def fields_in(extra: Mapping[str, Any], features: Sequence[str] | None) -> Fields | None:
    """Return how contexts come by the columns of a table, as `extra`, which a file may hold, says; None where it does not.

    What is found is kept for as long as it is this very object that says so.
    """
    given = extra.get(ENCODING)
    if not isinstance(given, dict) or features is None:
        return None
    known = _known.get(id(given))
    if known is None or known[0] is not given:
        if len(_known) >= BOOSTERS:
            _known.clear()
        known = _known[id(given)] = (given, _fields(given))
    found = known[1]
    return found if found is not None and found.encoding.features == tuple(features) else None


_known: dict[int, tuple[dict[str, Any], Fields | None]] = {}


def _fields(given: dict[str, Any]) -> Fields | None:
    try:
        found = spec.from_json(json.dumps(given))
    except (ValueError, TypeError, RecursionError):
        return None
    return Fields(found) if isinstance(found, Encoding) else None


def _refused(what: str, one: Unread, shown_value: str) -> str:
    return (
        f"{what} must have values that can be read, got {shown_value} for '{one.column}', which holds {one.wanted}; None stands "
        "for a missing one."
    )


def _is_number(value: Any) -> bool:
    return type(value) in (float, int) and -LARGE < value < LARGE


def _series(name: str, given: Any, column: Any) -> pl.Series:
    """Return values as a column of the type that suits them: numbers stay numbers, however the table wrote them."""
    import polars as pl

    if isinstance(given, pl.Series):
        return given.alias(name)
    values = [_plain(value) for value in given]
    there = [value for value in values if value is not None]
    if isinstance(column, Words):
        return pl.Series(name, [None if value is None else _word(value) for value in values], dtype=pl.String)
    for kinds, dtype in (((bool,), pl.Boolean), ((int, float), pl.Float64), ((datetime.date,), None)):
        if there and all(
            isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)) for value in there
        ):
            return pl.Series(name, values, dtype=dtype)
    return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)


def _plain(value: Any) -> Any:
    """Return a value as Python has it; None for all that stands for a missing one."""
    if isinstance(value, np.generic):
        value = value.item()
    # NaN, and pandas' NaT, are not what they are; pandas' NA says neither yes nor no.
    return None if value is None or type(value).__name__ == "NAType" or value != value else value


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
