"""A data set ready for a learner: features, labels, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array

from banditboost._core import checks
from banditboost.datasets.catalog import Task

_ROWS = 8_192  # rows per block where a temporary as large as the data must be avoided


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and labels with their names and origin.

    Parameters
    ----------
    name
        The name of the data set.
    X
        The features, shape (n, p): a NumPy array, or a SciPy CSR array.
    y
        The labels, shape (n,).
    feature_names
        One name per column of `X`.
    label_range
        The smallest and the largest label that can occur.
    task
        ``"regression"`` or ``"classification"``.
    source
        The file or copy from which the rows were read.
    categories
        Columns of `X` that are the indicators of one category each, as pairs of the first column and the one after the last
        (`learners.Grown` takes them).

    Examples
    --------
    >>> Dataset("mine", np.eye(2), np.array([0.0, 1.0]), ("a", "b"), (0.0, 1.0), "regression", "by hand")
    Dataset(name='mine', label_range=(0.0, 1.0), task='regression', source='by hand')
    """

    name: str
    X: NDArray[np.floating[Any]] | csr_array = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    feature_names: tuple[str, ...] = field(repr=False)
    label_range: tuple[float, float]
    task: Task
    source: str
    categories: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if self.X.ndim != 2:
            raise ValueError(f"X must have two dimensions, got shape {self.X.shape}.")
        if self.y.shape != (self.X.shape[0],):
            raise ValueError(f"y must have shape {(self.X.shape[0],)} to match X, got {self.y.shape}.")
        if len(self.feature_names) != self.X.shape[1]:
            raise ValueError(
                f"feature_names must have one name for each of the {self.X.shape[1]} columns of X, "
                f"got {len(self.feature_names)}."
            )

    def scaled(self, kind: Literal["minmax", "standard", "none"] = "minmax") -> Dataset:
        """Return this data set with its features scaled column by column; labels stay as they are.

        Parameters
        ----------
        kind
            ``"minmax"`` scales every column to [0, 1], as in our runs of the paper's experiments; sparse features stay sparse.
            ``"standard"`` scales to mean 0 and variance 1, for dense features only; indicators then are no longer zero, and there
            are no categories. ``"none"`` changes nothing. The first two turn a constant column into zeros.

        Examples
        --------
        >>> X = np.array([[1.0, 5.0], [2.0, 5.0], [5.0, 5.0]])
        >>> data = Dataset("mine", X, np.zeros(3), ("a", "b"), (0.0, 1.0), "regression", "by hand")
        >>> data.scaled("minmax").X.tolist()
        [[0.0, 0.0], [0.25, 0.0], [1.0, 0.0]]
        """
        checks.one_of("kind", kind, ("minmax", "standard", "none"))
        if kind == "none" or 0 in self.X.shape:
            return self
        if isinstance(self.X, csr_array):
            if kind == "standard":
                raise ValueError(
                    "kind must be 'minmax' or 'none' for sparse features, since centring fills every zero; "
                    "got 'standard'."
                )
            return replace(self, X=_minmax_sparse(self.X))
        if kind == "standard":
            return replace(self, X=_standard(self.X), categories=())
        return replace(self, X=_minmax(self.X))


def _minmax(X: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    low, high = X.min(axis=0), X.max(axis=0)
    out: NDArray[np.floating[Any]] = np.subtract(X, low)
    # Divided in place, because census takes almost a gigabyte per copy.
    np.divide(out, np.where(high > low, high - low, X.dtype.type(1)), out=out)
    return out


def _standard(X: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
    low, constant = X.min(axis=0), X.min(axis=0) == X.max(axis=0)
    # Sums are taken in double precision. A constant column is centred by its value, which leaves exact zeros.
    mean = np.where(constant, low, X.mean(axis=0, dtype=np.float64))
    variance = np.zeros(X.shape[1])
    for start in range(0, X.shape[0], _ROWS):
        variance += ((X[start : start + _ROWS] - mean) ** 2).sum(axis=0)
    scale = np.where(constant, 1.0, np.sqrt(variance / X.shape[0]))
    out = np.empty_like(X)
    for start in range(0, X.shape[0], _ROWS):
        out[start : start + _ROWS] = (X[start : start + _ROWS] - mean) / scale
    return out


def _minmax_sparse(X: csr_array) -> csr_array:
    n, p = X.shape
    full = np.bincount(X.indices, minlength=p) == n  # a column with an entry in every row has no implicit zeros
    low, high = (np.where(full, bound, 0.0).astype(X.dtype) for bound in (np.inf, -np.inf))
    np.minimum.at(low, X.indices, X.data)
    np.maximum.at(high, X.indices, X.data)
    if (low[~full] < 0).any():
        return _minmax_by_column(X)
    span = np.where(high > low, high - low, X.dtype.type(1))
    # Rows are scaled in blocks into one copy that is then cut to length, so that census is not in memory three times.
    data, indices, starts = np.empty_like(X.data), np.empty_like(X.indices), np.zeros_like(X.indptr)
    for begin in range(0, n, _ROWS):
        bounds = X.indptr[begin : begin + _ROWS + 1]
        at = X.indices[bounds[0] : bounds[-1]]
        values = (X.data[bounds[0] : bounds[-1]] - low[at]) / span[at]
        kept = np.append(0, np.cumsum(values != 0))
        first, last = starts[begin], starts[begin] + kept[-1]
        data[first:last], indices[first:last] = values[values != 0], at[values != 0]
        starts[begin + 1 : begin + len(bounds)] = first + kept[bounds[1:] - bounds[0]]
    return csr_array((data[: starts[-1]], indices[: starts[-1]], starts), shape=(n, p))


def _minmax_by_column(X: csr_array) -> csr_array:
    columns = csc_array(X)
    n, p = columns.shape
    data: list[NDArray[Any]] = []
    rows: list[NDArray[Any]] = []
    for j in range(p):
        part = slice(columns.indptr[j], columns.indptr[j + 1])
        values, at = columns.data[part], columns.indices[part]
        if len(values) < n and (len(values) == 0 or values.min() >= 0):
            low = values.dtype.type(0)
        else:
            # Where the smallest value is not 0, zeros change too, so that this one column is made dense.
            full = np.zeros(n, dtype=values.dtype)
            full[at] = values
            values, at = full, np.arange(n, dtype=at.dtype)
            low = values.min()
        high = values.max(initial=low)
        values = (values - low) / (high - low) if high > low else np.zeros_like(values)
        data.append(values[values != 0])
        rows.append(at[values != 0])
    ends = np.cumsum([0] + [len(part) for part in data], dtype=columns.indptr.dtype)
    scaled = csc_array((np.concatenate(data), np.concatenate(rows), ends), shape=(n, p))
    return csr_array(scaled)
