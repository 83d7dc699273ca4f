"""Replaying a journal: the recorded calls are made again on the recorded state, and compared with what was recorded."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.calls import Kind, repeat
from banditboost.journal.framing import Record
from banditboost.spaces.stacks import Factored

FORMAT = 2
"""The format of the snapshot that is written."""
READABLE = (1, 2)
"""The formats that are read. Format 1 has other names of some specs and fields, which `banditboost._core.old_names` translates."""


class Replayed(NamedTuple):
    """The result of replaying a journal, and how much of it was compared."""

    booster: Booster
    """The booster in its state after the last call."""
    tickets: dict[int, Ticket]
    """The tickets in flight, by number."""
    calls: int
    """How many calls were recorded since the journal began."""
    repeated: int
    """How many of them came after the snapshot and were made again."""
    asks_compared: int
    """How many asks were made again whose queries and path were compared with the recorded checksum."""
    marks_compared: int
    """How many recorded digests of the whole state were compared."""
    last_ask_checksum: int
    """A checksum of what the last ask returned; 0 where there was none."""
    end: int
    """The position in the file where the last call that took effect ends."""


def snapshot(name: str, record: Record) -> tuple[dict[str, Any], list[Any]]:
    """Return the header and the arrays of the snapshot that a journal begins with."""
    try:
        if record.kind != Kind.SNAPSHOT:
            raise ValueError("no snapshot")
        header, arrays = array_table.unpack(record.payload)
        number = header["journal"]
        if not (isinstance(header["booster"]["spec"], dict) and isinstance(header["arrays"], dict)):
            raise ValueError("no booster")
    except (ValueError, TypeError, LookupError, RecursionError, struct.error):
        raise ValueError(f"{name} is damaged at byte 0: it does not begin with a snapshot.") from None
    if type(number) is not int or number not in READABLE:
        raise ValueError(
            f"{name} has format {number!r:.50}; this version of banditboost ({__version__}) reads formats "
            f"{' and '.join(map(str, READABLE))}."
        )
    return header, arrays


def replayed(name: str, booster: Booster, header: dict[str, Any], arrays: list[Any], found: list[Record]) -> Replayed:
    """Put a fresh booster into the state of the snapshot, then make every later call again."""
    written = header["booster"]["spec"]
    try:
        booster.restore(
            name, header["booster"], {key: array_table.take(i, arrays) for key, i in header["arrays"].items()}
        )
        listed = [Ticket.from_plain(data, arrays) for data in header["tickets"]]
        last_ask, calls = int(header["seen"]), int(header["calls"])
    except (LookupError, TypeError, AttributeError):
        raise ValueError(f"{name} is damaged: its snapshot does not describe a booster.") from None
    tickets = {ticket.number: ticket for ticket in listed}
    if set(tickets) != set(booster.in_flight):
        raise ValueError(f"{name} is damaged: its tickets are not those that its booster has in flight.")
    asks, marks, end = 0, 0, found[0].end
    for record in found[1:]:
        if record.last_ask_checksum != last_ask:
            raise ValueError(
                f"{name} cannot be repeated here: at byte {record.position}, the queries differ from those that were asked. Was it "
                "written on another kind of machine, or with another version of NumPy?"
            )
        if record.kind not in set(Kind):  # refused also at the end: a call that is only unknown here did happen
            raise ValueError(
                f"{name} holds a call at byte {record.position} of a kind that this version of banditboost ({__version__}) does "
                "not know: read it with the version that wrote it."
            )
        asks += record.kind in (Kind.ASK, Kind.ASK_WITHIN)
        if record.kind == Kind.MARK:
            if booster.digest(written).encode() != record.payload:
                raise ValueError(
                    f"{name} cannot be repeated here: at byte {record.position}, the state differs from what it was."
                )
            marks += 1
        else:
            try:
                last_ask = _repeat(booster, tickets, record, last_ask)
            except Exception as error:
                if record is not found[-1]:
                    raise ValueError(
                        f"{name} cannot be repeated here: the call at byte {record.position} fails with {error!r:.200}."
                    ) from error
                # The last call failed when it was made as well, since nothing was recorded after it: it did not happen.
                before = Booster.from_spec(booster.plan or booster.spec)
                return replayed(name, before, header, arrays, found[:-1])
            calls += 1
        end = record.end
    return Replayed(booster, tickets, calls, calls - header["calls"], asks, marks, last_ask, end)


def _repeat(booster: Booster, tickets: dict[int, Ticket], record: Record, last_ask: int) -> int:
    """Make a recorded call, update the tickets in flight, and return the checksum of the last ask."""
    issued = repeat(booster, tickets, record.kind, record.payload)
    if issued is not None:
        tickets[issued.number] = issued
        last_ask = checksum(issued)
    if len(tickets) != len(booster._pending):
        for number in [number for number in tickets if number not in booster._pending]:
            del tickets[number]
    return last_ask


def checksum(ticket: Ticket) -> int:
    """Return a checksum of a ticket's queries and path, which depend on nearly all of the booster's state."""
    total = 0
    for part in (ticket.probe.queries, ticket.path):
        for array in (part.left, part.right, part.weights) if isinstance(part, Factored) else (part,):
            total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total
