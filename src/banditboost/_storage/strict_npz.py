"""Arrays by name in one file, and nothing else: a zip of NumPy's own format, of which only what `write` writes is read.

A zip may hold far more than that (paths that leave the folder, members that inflate to a thousand times their size, pickled
objects), so the reader is strict: nothing is compressed, every size is checked against the file's before memory is taken, and a
member's description must be, letter by letter, what NumPy writes for a plain array of numbers.
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
"""What an array may be called: no path can be made of it."""
DTYPES = {"<f8": np.float64, "<i8": np.int64, "|u1": np.uint8, "|b1": np.bool_, "<f4": np.float32, "<i4": np.int32}
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(((?:\d{1,15},? ?)*)\), \} *\n"
)


class Damaged(Exception):  # noqa: N818 - caught where the file's name is known, and never seen by a user
    """The file is not one of ours, or no longer."""


def write(file: IO[bytes], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write arrays; the same arrays make the same bytes."""
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
    """Return the arrays, which may not be written to; raise `Damaged` where there is anything else."""
    size = os.fstat(file.fileno()).st_size
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
            # Members that lie over one another would add up to more than the file.
            if not plain or len(set(names)) < len(names) or sum(entry.file_size for entry in entries) > size:
                raise Damaged
            return {name: _array(members.read(entry)) for name, entry in zip(names, entries, strict=True)}
    except (zipfile.BadZipFile, EOFError, OSError, OverflowError, RuntimeError, ValueError, struct.error):
        raise Damaged from None


def _array(member: bytes) -> NDArray[Any]:
    """Return the array that a member holds, without a copy."""
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
