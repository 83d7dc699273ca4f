"""The format of a journal on disk: records, one after the other.

A record is a head, what the last ask predicted, a payload, and a checksum of all three:

    "bbJ2"  length u64  kind u8  version u8  shown u8  position u64  synced u64  last_ask_checksum u32
    |  shown numbers f64  |  payload  |  CRC-32 u32                                                        (little-endian)

`kind` and `version` say how the payload is read. `position` is where the record stands in the file, so that a record that was
moved, or left over from an older file, is not accepted. `synced` is how much of the file was known to be on the disk when the
record was written. It tells two kinds of damage apart. A record that was never acknowledged may be torn by a crash, and is cut off.
Where a later record says that the damaged place was on the disk already, something other than a crash has harmed the file: it is
refused, since cutting there would lose answers that were promised to be safe. `last_ask_checksum` covers what the last ask before
this record returned, so that a replay which computes something else is noticed; the first record after an ask also holds the first
few coordinates of its prediction, so that a replay can say how large the difference is.

Journals of formats 1 and 2 have records that begin with "bbJ1" and lack the version and the prediction; they are read and no longer
written.
"""

from __future__ import annotations

import os
import stat
import struct
import zlib
from pathlib import Path
from typing import NamedTuple

MAGIC, OLD_MAGIC = b"bbJ2", b"bbJ1"
COMMON = MAGIC[:3]
HEAD, OLD_HEAD = struct.Struct("<4sQBBBQQI"), struct.Struct("<4sQBQQI")
TAIL = struct.Struct("<I")
PATIENCE = 8
"""How often the bytes of a damaged file are looked at on average, at most: reading a file takes time that is linear in its size."""


class Record(NamedTuple):
    """One record, as read."""

    kind: int
    payload: bytes
    position: int
    synced: int
    last_ask_checksum: int
    """A checksum of the queries and the path of the last ask before this record was written; 0 where there was none."""
    end: int
    """The position right after the record."""
    version: int = 1
    """Which version of its kind the record has."""
    shown: bytes = b""
    """The first few coordinates of what the last ask predicted, in the first record after it; empty otherwise."""


def frame(
    kind: int,
    payload: bytes,
    position: int,
    synced: int,
    last_ask_checksum: int,
    shown: bytes = b"",
    version: int = 1,
) -> bytes:
    """Return the bytes of a record."""
    head = HEAD.pack(MAGIC, len(payload), kind, version, len(shown) // 8, position, synced, last_ask_checksum)
    return b"".join((head, shown, payload, TAIL.pack(zlib.crc32(payload, zlib.crc32(shown, zlib.crc32(head))))))


def parse(data: bytes, at: int, *, moved: bool = False) -> Record | None:
    """Return the record at position `at`; None where no complete record with the right checksum stands there.

    A record that was written at another position is accepted with `moved` only.
    """
    claimed = _claimed(data, at)
    if claimed is None or not (moved or claimed.position == at):
        return None
    inside = memoryview(data)[at : claimed.end - TAIL.size]
    if zlib.crc32(inside) != TAIL.unpack_from(data, claimed.end - TAIL.size)[0]:
        return None
    begin = at + (HEAD.size if data[at : at + 4] == MAGIC else OLD_HEAD.size)
    shown = len(claimed.shown)
    return claimed._replace(
        shown=data[begin : begin + shown], payload=bytes(data[begin + shown : claimed.end - TAIL.size])
    )


def _claimed(data: bytes, at: int) -> Record | None:
    """Return what a head at position `at` claims, with a payload that is left empty; None where the file is too short for it."""
    magic = data[at : at + 4]
    shape = {MAGIC: HEAD, OLD_MAGIC: OLD_HEAD}.get(magic)
    if shape is None or at + shape.size + TAIL.size > len(data):
        return None
    if magic == MAGIC:
        _, length, kind, version, shown, position, synced, checksum = HEAD.unpack_from(data, at)
    else:
        (_, length, kind, position, synced, checksum), version, shown = OLD_HEAD.unpack_from(data, at), 1, 0
    end = at + shape.size + 8 * shown + length + TAIL.size
    return Record(kind, b"", position, synced, checksum, end, version, bytes(8 * shown)) if end <= len(data) else None


def scan(name: str, data: bytes) -> tuple[list[Record], int]:
    """Return the complete records of a file and the position where they end; anything after it was never acknowledged.

    Raises
    ------
    ValueError
        Where a record is damaged that a later record knows to have been on the disk; the error names the position.
    """
    found = whole(data)
    if not found:
        raise ValueError(f"{name} is not a journal, or it is damaged at byte 0.")
    end = found[-1].end
    if end < len(data) and was_safe(data, end):
        raise ValueError(
            f"{name} is damaged at byte {end}: a record there was on the disk and can no longer be read; bring the file back from "
            "a copy, or keep what stands before the damage by `banditboost journal repair`."
        )
    return found, end


def whole(data: bytes) -> list[Record]:
    """Return the complete records that a file begins with."""
    found: list[Record] = []
    record = parse(data, 0)
    while record is not None:
        found.append(record)
        record = parse(data, record.end)
    return found


def was_safe(data: bytes, damaged: int) -> bool:
    """Return whether a record after a damaged place knows that the place was on the disk, or too much is damaged to tell.

    Every place that looks like a record costs time in proportion to the length that it claims, so that a file of such places
    would take time that grows with the square of its size; hence the limit, beyond which the answer is the careful one.
    """
    left = PATIENCE * len(data)
    at = data.find(COMMON, damaged + 1)
    while at != -1:
        claimed = _claimed(data, at)
        left -= 0 if claimed is None else claimed.end - at
        if left < 0:
            return True
        record = parse(data, at, moved=True)
        if record is not None and record.synced > damaged:
            return True
        at = data.find(COMMON, at + 1 if record is None else record.end)
    return False


def read_plain(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a plain file; pipes and devices, whose end may never come, are refused."""
    name = os.fspath(path)
    if not Path(path).exists():
        raise FileNotFoundError(f"There is no file {name}.")
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        check_plain(name, handle)
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(handle)


def check_plain(name: str, handle: int) -> None:
    """Raise where an open file is no plain file."""
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise OSError(f"{name} is no plain file, and a journal must be one.")
