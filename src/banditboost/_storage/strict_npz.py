"""Arrays by name in one file: a zip of NumPy's own format, of which the reader accepts only what `write` produces.

A zip in general may hold far more than that (paths that leave the folder, members that inflate to a thousand times their size,
pickled objects), so the reader is strict: nothing may be compressed, every size is checked against the file's size before memory is
taken, and a member's description must be, letter by letter, what NumPy writes for a plain array of numbers.
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

NAME = re.compile(r"[\w.+\- ]{1,200}", re.ASCII)
"""The names that an array may have, which cannot form a path; a file with any other name is refused."""
DTYPES = {"<f8": np.float64, "<i8": np.int64, "|u1": np.uint8, "|b1": np.bool_, "<f4": np.float32, "<i4": np.int32}
"""The types that an array may have; arrays of any other type are neither written nor read."""
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(((?:\d{1,15},? ?)*)\), \} *\n"
)


class Damaged(Exception):  # noqa: N818 - caught where the file's name is known, so that no user sees it
    """The file was not written by `write`, or was changed since."""


def write(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays by name; the same arrays always give the same bytes."""
    for name, array in arrays.items():
        if not NAME.fullmatch(name) or array.dtype.str not in DTYPES:
            raise ValueError(
                f"arrays must be numbers under plain names to be saved, got {name!r} with numbers of type {array.dtype}."
            )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as members:
        for name, array in arrays.items():
            with members.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array, order="C"), version=(1, 0), allow_pickle=False)


def read(file: IO[bytes]) -> dict[str, NDArray[Any]]:
    """Return the arrays, which may not be written to; raise `Damaged` where the file holds anything that `write` does not write."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    try:
        with zipfile.ZipFile(file) as members:
            entries = members.infolist()
            names = [entry.filename.removesuffix(".npy") for entry in entries]
            plain = all(
                entry.filename.endswith(".npy")
                and NAME.fullmatch(name)
                and entry.compress_type == zipfile.ZIP_STORED
                and entry.file_size == entry.compress_size
                and not entry.flag_bits & 1
                for name, entry in zip(names, entries, strict=True)
            )
            # The sizes of members that overlap in the file add up to more than the file's size.
            if not plain or len(set(names)) < len(names) or sum(entry.file_size for entry in entries) > size:
                raise Damaged
            return {name: _array(members.read(entry)) for name, entry in zip(names, entries, strict=True)}
    except (zipfile.BadZipFile, EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error):
        raise Damaged from None


def _array(member: bytes) -> NDArray[Any]:
    """Return the array in a member, without copying it."""
    begin = len(_MAGIC) + 2
    if not member.startswith(_MAGIC) or len(member) < begin:
        raise Damaged
    end = begin + int.from_bytes(member[begin - 2 : begin], "little")
    found = _DESCRIPTION.fullmatch(member[begin:end])
    dtype = DTYPES.get(found[1].decode()) if found else None
    if found is None or dtype is None:
        raise Damaged
    shape = tuple(int(length) for length in found[2].replace(b",", b" ").split())
    if len(shape) > 8 or math.prod(shape) * np.dtype(dtype).itemsize != len(member) - end:
        raise Damaged
    return np.frombuffer(member, dtype, offset=end).reshape(shape)
