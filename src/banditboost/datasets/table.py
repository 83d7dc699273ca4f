"""Tables of raw columns: numbers, and strings as codes into a list of levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# `float` would also accept "nan", "inf" and "1_000", which count as words in a table.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, eq=False)
class Numeric:
    """A column written as numbers.

    Parameters
    ----------
    name
        The column's name.
    values
        One finite number per row, in any real dtype.

    Examples
    --------
    >>> len(Numeric("age", np.array([39, 50], dtype=np.uint8)))
    2
    """

    name: str
    values: NDArray[Any] = field(repr=False)

    def __post_init__(self) -> None:
        if self.values.ndim != 1 or self.values.dtype.kind not in "biuf":
            raise ValueError(
                f"values of column {self.name!r} must be a vector of real numbers, "
                f"got shape {self.values.shape} and dtype {self.values.dtype}."
            )
        if self.values.dtype.kind == "f" and not np.isfinite(self.values).all():
            row = int(np.flatnonzero(~np.isfinite(self.values))[0])
            raise ValueError(
                f"values of column {self.name!r} must be finite, got {float(self.values[row])} in row {row}."
            )

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Categorical:
    """A column written as strings, kept as codes.

    Parameters
    ----------
    name
        The column's name.
    codes
        One integer per row: the position of the row's string in `levels`.
    levels
        The distinct strings.

    Examples
    --------
    >>> Categorical("sex", np.array([1, 0, 1]), ("F", "M")).levels
    ('F', 'M')
    """

    name: str
    codes: NDArray[Any] = field(repr=False)
    levels: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.codes.ndim != 1 or self.codes.dtype.kind not in "iu":
            raise ValueError(
                f"codes of column {self.name!r} must be a vector of integers, "
                f"got shape {self.codes.shape} and dtype {self.codes.dtype}."
            )
        if len(set(self.levels)) != len(self.levels):
            raise ValueError(f"levels of column {self.name!r} must be distinct, got {self.levels!r}.")
        if self.codes.size and not (self.codes.min() >= 0 and self.codes.max() < len(self.levels)):
            raise ValueError(
                f"codes of column {self.name!r} must lie in 0..{len(self.levels) - 1}, "
                f"got {int(self.codes.min())}..{int(self.codes.max())}."
            )

    def __len__(self) -> int:
        return len(self.codes)


def from_codes(name: str, codes: NDArray[Any], levels: Sequence[str]) -> Numeric | Categorical:
    """Return a column of strings, as a numeric column where every string is written as a number.

    Parameters
    ----------
    name
        The column's name.
    codes
        One integer per row: the position of the row's string in `levels`.
    levels
        The distinct strings.

    Examples
    --------
    >>> from_codes("year", np.array([1, 0, 1]), ["94", "95"]).values
    array([95., 94., 95.])
    """
    if levels and all(_NUMBER.fullmatch(level) for level in levels):
        return Numeric(name, np.array([float(level) for level in levels])[codes])
    return Categorical(name, codes, tuple(levels))


@dataclass(frozen=True, eq=False)
class Table:
    """Named columns of the same length, one of which is the label.

    Parameters
    ----------
    columns
        The columns in order, the label among them.
    label
        The name of the label's column.

    Examples
    --------
    >>> columns = {"colour": ["red", "?", "blue"], "size": [1, 2, 3], "y": [0, 1, 0]}
    >>> table = Table.from_columns(columns, label="y")
    >>> len(table), [column.name for column in table.features], table.target.name
    (3, ['colour', 'size'], 'y')
    """

    columns: tuple[Numeric | Categorical, ...]
    label: str

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"columns must have distinct names, got {names!r}.")
        if self.label not in names:
            raise ValueError(f"label must name one of the columns {', '.join(names)}; got {self.label!r}.")
        lengths = sorted({len(column) for column in self.columns})
        if len(lengths) > 1:
            raise ValueError(f"columns must have one length, got {lengths!r}.")

    def __len__(self) -> int:
        return len(self.columns[0])

    @property
    def target(self) -> Numeric | Categorical:
        """The label's column."""
        return next(column for column in self.columns if column.name == self.label)

    @property
    def features(self) -> tuple[Numeric | Categorical, ...]:
        """Every column but the label's, in order."""
        return tuple(column for column in self.columns if column.name != self.label)

    @classmethod
    def from_columns(cls, columns: Mapping[str, ArrayLike], label: str) -> Table:
        """Make a table from arrays; a column of strings becomes numeric where every string is written as a number.

        Parameters
        ----------
        columns
            One array of numbers or of strings per column name, in order.
        label
            The name of the label's column.

        Examples
        --------
        >>> Table.from_columns({"code": ["3", "12"], "y": ["no", "yes"]}, label="y").columns
        (Numeric(name='code'), Categorical(name='y', levels=('no', 'yes')))
        """
        made: list[Numeric | Categorical] = []
        for name, values in columns.items():
            array = np.asarray(values)
            if array.dtype.kind in "biuf":
                made.append(Numeric(name, array))
                continue
            if array.ndim != 1 or not all(isinstance(value, str) for value in array.tolist()):
                raise ValueError(
                    f"column {name!r} must be a vector of numbers or of strings, "
                    f"got shape {array.shape} and dtype {array.dtype}."
                )
            levels, codes = np.unique(array.astype(np.str_), return_inverse=True)
            made.append(from_codes(name, codes, levels.tolist()))
        return cls(tuple(made), label)
