"""One file for a header (JSON) and arrays (NumPy's own format): read without executing anything, written all or not at all.

A checksum covers the header and every array with its name, type and shape. It detects bits that have flipped. It does not say who
wrote the file: whoever can change the file can change the checksum. So everything that is read is checked as if an attacker had
written it, beginning with sizes, before memory is taken.

Format 3 is what this version writes. Format 2 is read as well: it differs only in the names of some specs and fields, which
`banditboost._core.old_names` translates. Files of format 1, which had no checksum, are refused. The promise from format 2 on: what
a version wrote, every later version reads.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from banditboost._core import bounded_json
from banditboost._core.checks import Array
from banditboost._core.old_names import LENGTHS
from banditboost._core.version import __version__
from banditboost._storage import strict_npz
from banditboost._storage.atomic_file import atomic

FORMAT = 3
"""The format that is written."""
READABLE = (2, 3)
"""The formats that are read; a file with any other number is refused."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: Mapping[str, Array]) -> None:
    """Write a file, which takes the name `path` only when it is complete."""
    parts = _parts(header, arrays)
    with atomic(path) as file:
        strict_npz.write(file, parts)


def to_bytes(header: dict[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """Return what `write` would write."""
    file = io.BytesIO()
    strict_npz.write(file, _parts(header, arrays))
    return file.getvalue()


def _parts(header: dict[str, Any], arrays: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
    text = json.dumps({"format": FORMAT, "version": __version__} | header, allow_nan=False).encode()
    if (reason := bounded_json.why_not(text)) is not None:
        raise ValueError(f"A header cannot be saved that has {reason}.")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"The array {name!r} cannot be saved: it holds NaN or infinity.")
    named = {f"array.{name}": array for name, array in arrays.items()}
    marks = {"header": np.frombuffer(text, np.uint8), "checksum": np.frombuffer(_checksum(text, named), np.uint8)}
    return marks | named


def _checksum(text: bytes, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the SHA-256 of a header and of arrays with their names, types and shapes."""
    total = hashlib.sha256(text)
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.digest()


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header, as plain data, and the arrays, which may not be written to."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {name}.")
    with open(path, "rb") as file:
        return read_open(file, name)


def read_open(file: BinaryIO, name: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return what `read` would of an open file, which errors call by a name."""
    try:
        arrays = strict_npz.read(file)
        text = arrays.pop("header").tobytes()
        header = bounded_json.loads(text)
        number = header.pop("format")
        header.pop("version", None)
    except (strict_npz.Damaged, ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"{name} is not a banditboost file, or it is damaged.") from None
    if type(number) is not int or number not in READABLE:
        raise ValueError(
            f"{name} has format {number!r:.50}; this version of banditboost ({__version__}) reads formats "
            f"{' and '.join(map(str, READABLE))}."
        )
    checksum = arrays.pop("checksum", None)
    if checksum is None or checksum.tobytes() != _checksum(text, arrays):
        raise ValueError(f"{name} is damaged: its contents do not have the checksum that it was saved with.")
    if any(not key.startswith("array.") for key in arrays):
        raise ValueError(f"{name} is damaged: it holds arrays that nothing of ours has.")
    return header, {key.removeprefix("array."): array for key, array in arrays.items()}


def refill(name: str, current: Mapping[str, Array], saved: Mapping[str, Array]) -> None:
    """Overwrite the arrays of a fresh state with those of a file, which must have the same names, shapes and types."""
    strange = sorted(set(saved) - set(current))
    if strange:
        raise ValueError(f"{name} is damaged: its spec has no array {strange[0]!r}.")
    for key, array in current.items():
        found = saved.get(key)
        if found is None or not _fits(key, found, array) or found.dtype != array.dtype or not np.isfinite(found).all():
            raise ValueError(f"{name} is damaged: its array {key!r} is missing or does not fit its spec.")
    for key, array in current.items():
        if saved[key].shape == array.shape:
            array[...] = saved[key]
        else:
            array[: len(saved[key])], array[len(saved[key]) :] = saved[key], 0.0


def _fits(key: str, found: Array, array: Array) -> bool:
    """Return whether a saved array has the right shape, or that of a version which kept less."""
    if found.shape == array.shape:
        return True
    return found.shape in [
        (length, *array.shape[1:]) for length in LENGTHS.get(key, LENGTHS.get(key.rpartition(".")[2], ()))
    ]
