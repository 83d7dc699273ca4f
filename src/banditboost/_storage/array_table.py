"""Arrays, and stacks that describe arrays, as plain data: what tickets and journals are written with."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from banditboost.spaces.stacks import Entries, Factored, Stack

_LENGTH = struct.Struct("<I")


class ArrayTable:
    """Arrays in the order in which they were first put here; one that is shared is kept once."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._places: dict[int, int] = {}

    def put(self, value: Any) -> Any:
        """Keep an array, a stack or None, and return the plain data that says where it is."""
        if value is None:
            return None
        if isinstance(value, Factored):
            return {"factored": [self.put(part) for part in (*_factors(value),)]}
        if isinstance(value, Entries):
            parts = [self.put(np.asarray(part)) for part in (value.rows, value.columns, value.values)]
            return {"entries": parts, "shape": list(value.shape)}
        if isinstance(value, Stack):
            raise TypeError(f"A {type(value).__name__} cannot be saved: only the library's own stacks of matrices can.")
        if id(value) not in self._places:
            self._places[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return self._places[id(value)]


def _factors(stack: Factored) -> tuple[Any, ...]:
    return stack.left, stack.right, stack.weights, stack.start, stack.kept


def take(where: Any, arrays: Sequence[Any]) -> Any:
    """Return what `ArrayTable.put` kept; raise ValueError, TypeError, LookupError or AttributeError where that cannot be."""
    if where is None:
        return None
    if isinstance(where, dict):
        if "factored" in where:
            left, right, weights, start, kept = (arrays[i] for i in where["factored"])
            if weights.shape[1] != len(left) or len(kept) != len(weights) or len(left) != len(right):
                raise ValueError("factors do not fit each other")
            if start.shape != (left.shape[1], right.shape[1]):
                raise ValueError("factors do not fit their start")
            return Factored(left, right, weights, start, kept)
        rows, columns, values = (arrays[i] for i in where["entries"])
        return Entries(tuple(int(n) for n in where["shape"]), rows, columns, values)
    return arrays[where]


def pack(header: dict[str, Any], arrays: Sequence[Any]) -> bytes:
    """Return a header and arrays as bytes: a length, JSON, and the arrays' own bytes one after the other."""
    stored = [np.ascontiguousarray(array) for array in arrays]
    kinds = [[array.dtype.str, list(np.shape(array))] for array in arrays]
    text = json.dumps({"header": header, "arrays": kinds}, allow_nan=False).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in stored)])


def unpack(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Return what `pack` was given; raise ValueError, TypeError, LookupError or `struct.error` where that cannot be."""
    (length,) = _LENGTH.unpack_from(data)
    begin = _LENGTH.size + length
    read = json.loads(bytes(data[_LENGTH.size : begin]).decode())
    arrays = []
    for kind, shape in read["arrays"]:
        dtype = np.dtype(kind)
        if dtype.kind not in "fiub":
            raise ValueError("only arrays of numbers are read")
        size = int(np.prod(shape, dtype=np.int64))
        arrays.append(np.frombuffer(data, dtype, size, begin).reshape(shape).copy())
        begin += size * dtype.itemsize
    return dict(read["header"]), arrays
