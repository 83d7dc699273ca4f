"""One context of very many features, few of which are not zero: what plain rounds hand on where no learner needs them all."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array, all_finite, finite


class SparseRow:
    """The places and values of the non-zeros of a row, and its length; whoever needs an array gets one (`numpy.asarray`).

    Examples
    --------
    >>> row = SparseRow(np.array([1, 4]), np.array([2.0, 3.0]), 6)
    >>> len(row), np.asarray(row).tolist(), np.asarray(row.widened(8)).tolist()
    (6, [0.0, 2.0, 0.0, 0.0, 3.0, 0.0], [0.0, 2.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0])
    """

    __slots__ = ("indices", "length", "values")
    dtype = np.dtype(np.float64)
    ndim = 1

    def __init__(self, indices: NDArray[Any], values: Array, length: int) -> None:
        self.indices = np.asarray(indices, dtype=np.int32)
        """Places of non-zeros, in order, each once."""
        self.values = np.asarray(values, dtype=np.float64)
        self.length = int(length)

    @classmethod
    def of(cls, row: Any) -> SparseRow:
        """Return a row of numbers, or a sparse array with one row."""
        if isinstance(row, SparseRow):
            return row
        if isinstance(row, np.ndarray):
            where = np.flatnonzero(row)
            return cls(where, row[where], len(row))
        table = canonical_rows("x", row.reshape(1, -1))
        return cls(table.indices, table.data, table.shape[1])

    @property
    def shape(self) -> tuple[int]:
        """One axis."""
        return (self.length,)

    @property
    def whole(self) -> bool:
        """Whether places are in order and within the row, and values are as many, finite and not zero."""
        places = self.indices
        return bool(
            places.ndim == self.values.ndim == 1
            and len(places) == len(self.values)
            and (np.diff(places) > 0).all()
            and (len(places) == 0 or (places[0] >= 0 and places[-1] < self.length))
            and all_finite(self.values)
            and (self.values != 0).all()
        )

    def __len__(self) -> int:
        return self.length

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = np.zeros(self.length, dtype=dtype or np.float64)
        found[self.indices] = self.values
        return found

    def widened(self, length: int) -> SparseRow:
        """Return the same with zeros after it."""
        return SparseRow(self.indices, self.values, length)

    def copy(self) -> Array:
        """Return the row as an array, for those who write it down number by number."""
        return np.asarray(self)

    def tobytes(self) -> bytes:
        """Return the bytes of the row as an array."""
        return np.asarray(self).tobytes()

    def table(self) -> csr_array:
        """Return a sparse array with this row alone."""
        ends = np.array([0, len(self.indices)], dtype=np.int32)
        return csr_array((self.values, self.indices, ends), shape=(1, self.length))


def canonical_rows(name: str, table: Any) -> csr_array:
    """Return finite rows as CSR in order, without zeros, each place once: what kernels read; the table itself does not change."""
    rows = csr_array(table, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    finite(name, rows.data, copy=False)
    return csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=rows.shape)
