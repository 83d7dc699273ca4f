"""Arrays as plain data and bytes: how tickets and journals hold them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from banditboost._storage.strict_npz import DTYPES

_LENGTH = struct.Struct("<I")


class ArrayTable:
    """Arrays in the order in which they were first put here; an array that is put twice is kept once."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self._places: dict[int, int] = {}

    def put(self, array: Any) -> int:
        """Keep an array and return its place."""
        if id(array) not in self._places:
            self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return self._places[id(array)]


def take(place: Any, arrays: Sequence[Any]) -> Any:
    """Return the array at a place that a file names; raise ValueError where there is none."""
    if type(place) is not int or not 0 <= place < len(arrays):
        raise ValueError("a place in the table of arrays must be a whole number below their count")
    return arrays[place]


def pack(header: dict[str, Any], arrays: Sequence[Any]) -> bytes:
    """Return a header and arrays as bytes: the length of the JSON, the JSON, and the arrays' own bytes one after the other."""
    stored = [np.ascontiguousarray(array) for array in arrays]
    kinds = [[array.dtype.str, list(np.shape(array))] for array in arrays]
    text = json.dumps({"header": header, "arrays": kinds}, allow_nan=False).encode()
    return b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in stored)])


def unpack(data: bytes) -> tuple[dict[str, Any], list[Any]]:
    """Return what `pack` was given.

    Raises
    ------
    ValueError, TypeError, LookupError, RecursionError, struct.error
        Where `pack` cannot have written the bytes.
    """
    (length,) = _LENGTH.unpack_from(data)
    begin = _LENGTH.size + length
    read = json.loads(bytes(data[_LENGTH.size : begin]).decode(), parse_constant=_refused)
    arrays = []
    for kind, shape in read["arrays"]:
        dtype = np.dtype(DTYPES[kind])
        if len(shape) > 8 or not all(type(length) is int and length >= 0 for length in shape):
            raise ValueError("the shape of an array must be at most eight whole numbers")
        size = math.prod(shape)
        arrays.append(np.frombuffer(data, dtype, size, begin).reshape(shape).copy())
        begin += size * dtype.itemsize
    if begin != len(data):
        raise ValueError("the bytes must be those of the arrays, and no more")
    return dict(read["header"]), arrays


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)
