"""Arrays, stacks of matrices that describe arrays, and None as plain data, with the numbers in a table of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from banditboost._core.sparse_row import SparseRow
from banditboost._storage import array_table
from banditboost._storage.array_table import ArrayTable
from banditboost.spaces.stacks import Entries, Factored, Stack


def put(value: Any, table: ArrayTable) -> Any:
    """Keep an array, a stack or None in a table, and return the plain data by which `take` finds it."""
    if value is None:
        return None
    if isinstance(value, Factored):
        factors = (value.left, value.right, value.weights, value.start, value.kept)
        return {"factored": [table.put(part) for part in factors]}
    if isinstance(value, Entries):
        parts = [table.put(np.asarray(part)) for part in (value.rows, value.columns, value.values)]
        return {"entries": parts, "shape": list(value.shape)}
    if isinstance(value, SparseRow):
        return {"sparse": [table.put(value.indices), table.put(value.values)], "length": value.length}
    if isinstance(value, Stack):
        raise TypeError(f"A {type(value).__name__} cannot be saved: only the library's own stacks of matrices can.")
    return table.put(value)


def take(where: Any, arrays: Sequence[Any]) -> Any:
    """Return what `put` kept; raise ValueError, TypeError, LookupError or AttributeError where the data cannot be read."""
    if where is None:
        return None
    if isinstance(where, dict):
        if "factored" in where:
            left, right, weights, start, kept = (array_table.take(i, arrays) for i in where["factored"])
            if weights.shape[1] != len(left) or len(kept) != len(weights) or len(left) != len(right):
                raise ValueError("factors do not fit each other")
            if start.shape != (left.shape[1], right.shape[1]):
                raise ValueError("factors do not fit their start")
            return Factored(left, right, weights, start, kept)
        if "sparse" in where:
            indices, values = (array_table.take(i, arrays) for i in where["sparse"])
            row = SparseRow(indices, values, where["length"])
            if type(where["length"]) is not int or not row.whole:
                raise ValueError("a sparse row is none")
            return row
        rows, columns, values = (array_table.take(i, arrays) for i in where["entries"])
        return Entries(tuple(int(n) for n in where["shape"]), rows, columns, values)
    return array_table.take(where, arrays)
