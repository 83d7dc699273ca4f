"""Tables of features as users of scikit-learn have them: with missing numbers, or with words, dates and categories.

A number that is missing is replaced by the mean of its column, and an indicator says so; the indicator is a column that comes
behind all others when the first value is missing. Tables with columns that are not numbers go through the one encoder of the
library. In both cases later calls may bring new columns, and copies keep what they know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from banditboost._core.checks import Array
from banditboost.encoder import Encoder
from banditboost.encoder.encoder import columns_of, most_used


def has_names(X: Any) -> bool:
    """Return whether a table has columns that are not numbers, or is a list of dictionaries.

    Examples
    --------
    >>> import polars as pl
    >>> has_names(pl.DataFrame({"a": [1, None], "b": [True, False]})), has_names(pl.DataFrame({"a": ["x"]}))
    (False, True)
    >>> has_names([{"a": 1}]), has_names([[1.0]])
    (True, False)
    """
    if isinstance(X, list | tuple):
        return bool(X) and isinstance(X[0], Mapping)
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return False
    return any(not _numeric(kind, X, name) for name, kind in zip(X.columns, X.dtypes, strict=True))


def _numeric(kind: Any, X: Any, name: Any) -> bool:
    if str(kind) == "category":  # of pandas: what its levels are called says nothing
        return False
    if hasattr(kind, "is_numeric"):  # of polars
        return bool(kind.is_numeric()) or str(kind) in ("Boolean", "Null")
    if kind.kind != "O":
        return kind.kind in "biufc"
    try:
        np.asarray(X[name], dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True)
class Missing:
    """Which columns of numbers have had missing values, and what these are replaced by.

    Examples
    --------
    >>> known = Missing.none(2).with_rows(np.array([[1.0, np.nan], [3.0, 5.0]]))
    >>> known.filled(np.array([[np.nan, np.nan]])).tolist()
    [[2.0, 5.0, 1.0]]
    """

    sums: Array
    counts: Array
    columns: NDArray[np.int64]
    """The columns that have an indicator, in the order of these."""
    fills: Array
    """What replaces a missing value in them."""

    @classmethod
    def none(cls, features: int) -> Missing:
        """Return that nothing was missing yet."""
        return cls(np.zeros(features), np.zeros(features), np.zeros(0, np.int64), np.zeros(0))

    def with_rows(self, X: Any) -> Missing:
        """Return the same after more rows."""
        gone = _gone(X)
        with np.errstate(over="ignore"):
            sums = self.sums + (np.nansum(X, axis=0) if isinstance(X, np.ndarray) else _sums(X))
        counts = self.counts + X.shape[0] - gone
        fresh = np.setdiff1d(np.flatnonzero(gone), self.columns)
        fills = np.concatenate([self.fills, self._means(sums, counts)[fresh]])
        return Missing(sums, counts, np.concatenate([self.columns, fresh]).astype(np.int64), fills)

    @staticmethod
    def _means(sums: Array, counts: Array) -> Array:
        return np.where(np.isfinite(sums), sums, 0.0) / np.maximum(counts, 1)

    def filled(self, X: Any) -> Any:
        """Return rows without missing values, and with the indicators."""
        fill = self._means(self.sums, self.counts)
        fill[self.columns] = self.fills
        if isinstance(X, np.ndarray):
            gone = np.isnan(X)
            if gone.any():
                X = np.where(gone, fill, X)
            return np.column_stack([X, gone[:, self.columns]]) if len(self.columns) else X
        gone = np.isnan(X.data)
        marks = csr_array((gone.astype(np.float64), X.indices, X.indptr), shape=X.shape)[:, self.columns]
        X = csr_array((np.where(gone, fill[X.indices], X.data), X.indices, X.indptr), shape=X.shape)
        if not len(self.columns):
            return X
        marks.eliminate_zeros()
        return csr_array(hstack([X, marks], format="csr"))


def _gone(X: Any) -> NDArray[np.int64]:
    """Return how many values are missing in every column."""
    if isinstance(X, np.ndarray):
        return np.asarray(np.isnan(X).sum(axis=0), dtype=np.int64)
    return np.bincount(X.indices[np.isnan(X.data)], minlength=X.shape[1])


def _sums(X: csr_array) -> Array:
    return np.asarray(np.bincount(X.indices, weights=np.nan_to_num(X.data), minlength=X.shape[1]), dtype=np.float64)


@dataclass(frozen=True)
class Named:
    """Which indices of an encoder are features, in the order of these."""

    encoder: Encoder
    columns: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def with_rows(self, table: csr_array, most: int) -> Named:
        """Return the same with the indices of more rows; where there is no room for all, with those that occur most often."""
        room = max(0, most - len(self.columns))
        names = np.setdiff1d(np.unique(table.indices), self.columns)
        kept = names if len(names) <= room else names[most_used(csr_array(table[:, names]), room)]
        return Named(self.encoder, np.concatenate([self.columns, kept]).astype(np.int64))

    def rows(self, table: csr_array) -> csr_array:
        """Return the features of rows; indices that are none are left out."""
        order = np.argsort(self.columns)
        made = columns_of(table, self.columns[order])
        return made if (order == np.arange(len(order))).all() else csr_array(made[:, np.argsort(order)])
