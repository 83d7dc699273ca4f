"""Reading a journal again: the same calls on the same state, held against what was written down at the time."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.records import Kind, Record
from banditboost.spaces.stacks import Factored

FORMAT = 1
NUMBER = struct.Struct("<Q")
TELL = struct.Struct("<QB")
"""A ticket's number, and whether the answers are described (a stack) or stored (an array)."""


class Replayed(NamedTuple):
    """What a journal says, and how well it says it."""

    booster: Booster
    """In the state after the last call."""
    tickets: dict[int, Ticket]
    """Those in flight."""
    calls: int
    """Calls since the journal began."""
    repeated: int
    """Those that were made again, since the last snapshot."""
    asks_compared: int
    """Asks among them whose queries and path were compared with what was handed out then."""
    marks_compared: int
    """Digests of the whole state that were compared."""
    seen: int
    end: int
    """Where the last call that took effect ends in the file."""


def snapshot(name: str, record: Record) -> tuple[dict[str, Any], list[Any]]:
    """Return the header and the arrays that a journal begins with."""
    try:
        if record.kind != Kind.SNAPSHOT:
            raise ValueError("no snapshot")
        header, arrays = array_table.unpack(record.payload)
        number = header["journal"]
        if not (isinstance(header["booster"]["spec"], dict) and isinstance(header["arrays"], dict)):
            raise ValueError("no booster")
    except (ValueError, TypeError, LookupError, struct.error):
        raise ValueError(f"{name} is damaged at byte 0: it does not begin with a snapshot.") from None
    if number != FORMAT:
        raise ValueError(
            f"{name} has format {number!r}; this version of banditboost ({__version__}) reads format {FORMAT}."
        )
    return header, arrays


def replayed(name: str, booster: Booster, header: dict[str, Any], arrays: list[Any], found: list[Record]) -> Replayed:
    """Make a fresh booster what the snapshot says, then make every later call again."""
    try:
        booster.restore(name, header["booster"], {key: arrays[i] for key, i in header["arrays"].items()})
        listed = [Ticket.from_plain(data, arrays) for data in header["tickets"]]
        seen, calls = int(header["seen"]), int(header["calls"])
    except (LookupError, TypeError, AttributeError):
        raise ValueError(f"{name} is damaged: its snapshot does not describe a booster.") from None
    tickets = {ticket.number: ticket for ticket in listed}
    if set(tickets) != set(booster.in_flight):
        raise ValueError(f"{name} is damaged: its tickets are not those that its booster has in flight.")
    asks, marks, end = 0, 0, found[0].end
    for record in found[1:]:
        if record.seen != seen:
            raise ValueError(
                f"{name} cannot be repeated here: at byte {record.position}, the queries differ from those that were asked. Was it "
                "written on another kind of machine, or with another version of NumPy?"
            )
        asks += record.kind == Kind.ASK
        if record.kind == Kind.MARK:
            if booster.digest().encode() != record.payload:
                raise ValueError(
                    f"{name} cannot be repeated here: at byte {record.position}, the state differs from what it was."
                )
            marks += 1
        else:
            try:
                seen = _repeat(booster, tickets, record, seen)
            except Exception as error:
                if record is not found[-1]:
                    raise ValueError(
                        f"{name} cannot be repeated here: the call at byte {record.position} fails with {error!r:.200}."
                    ) from error
                # It failed when it was made too, and nothing was written after it: it has not happened.
                before = Booster.from_spec(booster.plan or booster.spec)
                return replayed(name, before, header, arrays, found[:-1])
            calls += 1
        end = record.end
    return Replayed(booster, tickets, calls, calls - header["calls"], asks, marks, seen, end)


def _repeat(booster: Booster, tickets: dict[int, Ticket], record: Record, seen: int) -> int:
    payload = record.payload
    match record.kind:
        case Kind.ASK:
            ticket = booster.ask(np.frombuffer(payload, "<f8", offset=1) if payload else None)
            tickets[ticket.number] = ticket
            seen = checksum(ticket)
        case Kind.TELL:
            number, described = TELL.unpack_from(payload)
            ticket = tickets[number]
            if described:
                header, arrays = array_table.unpack(payload[TELL.size :])
                answers = array_table.take(header["answers"], arrays)
            else:
                shape = (-1,) if ticket.asks == "values" else (-1, *np.shape(ticket.prediction))
                answers = np.frombuffer(payload, "<f8", offset=TELL.size).reshape(shape)
            booster.tell(ticket, answers)
        case Kind.FORGET:
            for number in np.frombuffer(payload, "<u8").tolist():
                booster.forget(tickets[number])
        case Kind.LIMIT:
            booster.limit_in_flight(NUMBER.unpack(payload)[0])
        case _:
            raise ValueError(f"the record at byte {record.position} is of a kind that is not known here")
    if len(tickets) != len(booster._pending):
        for number in [number for number in tickets if number not in booster._pending]:
            del tickets[number]
    return seen


def checksum(ticket: Ticket) -> int:
    """Return a checksum of what a ticket asks, which depends on nearly all of the state."""
    total = 0
    for part in (ticket.probe.queries, ticket.path):
        for array in (part.left, part.right, part.weights) if isinstance(part, Factored) else (part,):
            total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total
