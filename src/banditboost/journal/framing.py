"""The format of a journal on disk: records, one after the other.

A record is a head, a payload and a checksum of both:

    "bbJ1"  length u64  kind u8  position u64  synced u64  last_ask_checksum u32  |  payload  |  CRC-32 u32   (little-endian)

`position` is where the record stands in the file, so that a record that was moved, or left over from an older file, is not
accepted. `synced` is how much of the file was known to be on the disk when the record was written. It tells two kinds of damage
apart. A record that was never acknowledged may be torn by a crash, and is cut off. Where a later record says that the damaged
place was on the disk already, something other than a crash has harmed the file: it is refused, since cutting there would lose
answers that were promised to be safe. `last_ask_checksum` covers what the last ask before this record returned, so that a
replay which computes something else is noticed.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

MAGIC = b"bbJ1"
HEAD = struct.Struct("<4sQBQQI")
TAIL = struct.Struct("<I")
LEAST = HEAD.size + TAIL.size


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


def frame(kind: int, payload: bytes, position: int, synced: int, last_ask_checksum: int) -> bytes:
    """Return the bytes of a record."""
    head = HEAD.pack(MAGIC, len(payload), kind, position, synced, last_ask_checksum)
    return b"".join((head, payload, TAIL.pack(zlib.crc32(payload, zlib.crc32(head)))))


def parse(data: bytes, at: int, *, moved: bool = False) -> Record | None:
    """Return the record at position `at`; None where no complete record with the right checksum stands there.

    A record that was written at another position is accepted with `moved` only.
    """
    if at + LEAST > len(data):
        return None
    magic, length, kind, position, synced, last_ask_checksum = HEAD.unpack_from(data, at)
    begin = at + HEAD.size
    end = begin + length + TAIL.size
    if magic != MAGIC or end > len(data) or not (moved or position == at):
        return None
    payload = data[begin : begin + length]
    if zlib.crc32(payload, zlib.crc32(data[at:begin])) != TAIL.unpack_from(data, end - TAIL.size)[0]:
        return None
    return Record(kind, payload, position, synced, last_ask_checksum, end)


def scan(name: str, data: bytes) -> tuple[list[Record], int]:
    """Return the complete records of a file and the position where they end; anything after it was never acknowledged.

    Raises
    ------
    ValueError
        Where a record is damaged that a later record knows to have been on the disk; the error names the position.
    """
    found: list[Record] = []
    at = 0
    while at < len(data):
        record = parse(data, at)
        if record is None:
            break
        found.append(record)
        at = record.end
    if not found:
        raise ValueError(f"{name} is not a journal, or it is damaged at byte 0.")
    if at < len(data):
        _refuse_what_was_safe(name, data, at)
    return found, at


def _refuse_what_was_safe(name: str, data: bytes, damaged: int) -> None:
    at = data.find(MAGIC, damaged + 1)
    while at != -1:
        record = parse(data, at, moved=True)
        if record is not None and record.synced > damaged:
            raise ValueError(
                f"{name} is damaged at byte {damaged}: a record there was on the disk and can no longer be read; "
                "bring the file back from a copy."
            )
        at = data.find(MAGIC, at + 1 if record is None else record.end)
