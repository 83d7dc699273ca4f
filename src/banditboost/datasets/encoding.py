"""From columns to features, encoded so that the numbers of features match those of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from banditboost.datasets.table import Categorical, Numeric, Table

MISSING = "?"
"""The level that stands for a missing value in UCI's files; it has no indicator."""


def floating(dtype: DTypeLike) -> np.dtype[np.floating[Any]]:
    """Return `dtype` as one of the two dtypes that features may have.

    Examples
    --------
    >>> floating("float32")
    dtype('float32')
    """
    # Half precision is not supported: SciPy's sparse arrays refuse it, and adult's column fnlwgt would overflow.
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise ValueError(f"dtype must be float64 or float32, got {dtype!r}.") from None
    for known in (np.dtype(np.float64), np.dtype(np.float32)):
        if wanted == known:
            return known
    raise ValueError(f"dtype must be float64 or float32, got {wanted}.")


def encode(
    table: Table, *, sparse: bool = False, dtype: DTypeLike = np.float64
) -> tuple[NDArray[np.floating[Any]] | csr_array, tuple[str, ...]]:
    """Turn the features of a table into a matrix and the names of its columns.

    A numeric column stays one column. A string column becomes one 0/1 indicator per level, in the order of
    its levels, named ``column=level``; the level ``?`` has none, so that a missing value is all zeros. The
    label's column is left out.

    Parameters
    ----------
    table
        The columns.
    sparse
        True: return a SciPy CSR array, which is filled directly and never dense in between.
    dtype
        ``float64`` or ``float32``.

    Returns
    -------
    X
        The features, one row per row of the table.
    names
        One name per column of `X`.

    Examples
    --------
    >>> columns = {"colour": ["red", "?", "blue"], "size": [1, 2, 3], "y": [0, 1, 0]}
    >>> X, names = encode(Table.from_columns(columns, label="y"))
    >>> names
    ('colour=blue', 'colour=red', 'size')
    >>> X.tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 2.0], [1.0, 0.0, 3.0]]
    """
    kind = floating(dtype)
    blocks = [_Block(column) for column in table.features]
    names = tuple(name for block in blocks for name in block.names)
    fill = _fill_sparse if sparse else _fill_dense
    return fill(blocks, (len(table), len(names)), kind), names


def categories(table: Table) -> tuple[tuple[int, int], ...]:
    """Return the features that are the indicators of one string column each: the first, and the one after the last.

    Examples
    --------
    >>> columns = {"size": [1, 2, 3], "colour": ["red", "?", "blue"], "y": [0, 1, 0]}
    >>> categories(Table.from_columns(columns, label="y"))
    ((1, 3),)
    """
    found, begin = [], 0
    for column in table.features:
        end = begin + len(_Block(column).names)
        if isinstance(column, Categorical) and end > begin:
            found.append((begin, end))
        begin = end
    return tuple(found)


class _Block:
    """The features of one column: their names, and at most one nonzero entry per row."""

    def __init__(self, column: Numeric | Categorical) -> None:
        self.column = column
        if isinstance(column, Numeric):
            self.names = [column.name]
            return
        kept = [code for code, level in enumerate(column.levels) if level != MISSING]
        self.names = [f"{column.name}={column.levels[code]}" for code in kept]
        self._place = np.full(len(column.levels), -1, dtype=np.int32)
        self._place[kept] = np.arange(len(kept), dtype=np.int32)

    def entries(self) -> tuple[NDArray[np.intp], NDArray[np.int32] | int, NDArray[Any] | int]:
        """Return the rows with a nonzero entry, and for each its position within the block and its value."""
        if isinstance(self.column, Numeric):
            rows = np.flatnonzero(self.column.values)
            return rows, 0, self.column.values[rows]
        places = self._place[self.column.codes]
        rows = np.flatnonzero(places >= 0)
        return rows, places[rows], 1


def _fill_dense(
    blocks: list[_Block], shape: tuple[int, int], dtype: np.dtype[np.floating[Any]]
) -> NDArray[np.floating[Any]]:
    X = np.zeros(shape, dtype)
    start = 0
    for block in blocks:
        rows, places, values = block.entries()
        X[rows, start + places] = values
        start += len(block.names)
    return X


def _fill_sparse(
    blocks: list[_Block],
    shape: tuple[int, int],
    dtype: np.dtype[np.floating[Any]],
) -> csr_array:
    # Two passes over the columns, first to count entries and then to place them, avoid sorting and copies.
    starts = np.zeros(shape[0] + 1, dtype=np.int32)
    for block in blocks:
        starts[1 + block.entries()[0]] += 1
    np.cumsum(starts, out=starts)
    data = np.empty(starts[-1], dtype)
    indices = np.empty(starts[-1], dtype=np.int32)
    free = starts[:-1].copy()
    start = 0
    for block in blocks:
        rows, places, values = block.entries()
        data[free[rows]] = values
        indices[free[rows]] = start + places
        free[rows] += 1
        start += len(block.names)
    return csr_array((data, indices, starts), shape=shape)
