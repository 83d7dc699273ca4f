"""Replaying a journal: the recorded calls are made again on the recorded state, and compared with what was recorded.

On the arithmetic that the journal was written with, the bits must agree. Elsewhere (another kind of processor, another NumPy) they
may not: the calls are still made again, and the largest difference of predictions is reported. A call that cannot be made again is
left out, with all that depends on it, and counted: a journal whose checksums hold is not refused for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.arithmetic import arithmetic
from banditboost.journal.calls import MalformedError, TooLargeError, about, pack_forget, repeat
from banditboost.journal.framing import Record
from banditboost.journal.kinds import ASKS, KNOWN, Kind
from banditboost.journal.ledger import Ledger
from banditboost.journal.snapshot import read_tickets
from banditboost.spaces.stacks import Factored

PATIENCE = 8
"""How many calls that fail are taken out by making all others once more."""
SHOWN = 16
"""How many coordinates of a prediction are recorded, at most."""


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
    differs_at: int | None = None
    """The position of the first record that shows other bits than were computed here; None where all bits agree."""
    difference: float | None = 0.0
    """The largest difference between a prediction that was recorded and the same one here; None where none was recorded."""
    same_arithmetic: bool | None = None
    """Whether the journal was written by the same arithmetic as here, as far as can be told; None where it does not say."""
    left_out: int = 0
    """How many calls before the last could not be made again, and are left out: those that fail here, and what is told about asks
    that do."""
    left_out_for: str = ""
    """Why the first of them cannot be made again; empty where there is none."""
    failed: str = ""
    """Why the last recorded call cannot be made again; empty where it can."""
    uncompared: int = 0
    """How many calls at the end were repeated with nothing recorded after them to compare them to."""
    superseded: str = ""
    """The name under which the journal went on, where this file is one that a hard link has kept."""

    def report(self) -> str:
        """Return what is to be said about bits that differ or may differ, in a sentence; empty where all agree."""
        another = "the arithmetic is another one (another kind of processor, or other versions of libraries)"
        if self.differs_at is None:
            if self.same_arithmetic is not False or not self.uncompared:
                return ""
            return (
                f"{another}, and the last {self.uncompared} calls were repeated with nothing recorded after them to compare them "
                "to; all bits before them agree."
            )
        why = {
            True: "although the arithmetic seems to be the same: has a part changed, or does one draw numbers of its own?",
            False: f"since {another}.",
            None: "and nothing says whether the arithmetic is the same.",
        }[self.same_arithmetic]
        size = "was not recorded" if self.difference is None else f"is {self.difference:.3g}"
        left = f" {self.left_out} calls were left out: {self.left_out_for}." if self.left_out else ""
        return (
            f"from byte {self.differs_at} on the bits differ from those recorded, {why} "
            f"The largest difference of predictions {size}.{left}"
        )


def replayed(
    name: str,
    booster: Booster,
    header: dict[str, Any],
    arrays: list[Any],
    found: list[Record],
    replay: Callable[..., Replay] | None = None,
    ledger: Ledger | None = None,
) -> Replayed:
    """Put a fresh booster into the state of the snapshot, then make every later call again.

    A call that fails may have changed a part of the state: all calls are made once more without it, from the snapshot on. After
    `PATIENCE` such calls, further ones are left out where they fail. `replay` makes the replay: `Replay` when not given.
    """
    left_out: dict[int, str] = {}
    while True:
        try:
            return (replay or Replay)(name, booster, header, arrays, found, left_out, ledger).run()
        except FailedCallError as error:
            left_out[error.position] = error.why
            booster = Booster.from_spec(booster.plan or booster.spec)


class FailedCallError(Exception):
    """A recorded call that cannot be made again here."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(why)
        self.position, self.why = position, why


class Replay:
    """A replay under way: the state so far, and what the comparisons have shown."""

    def __init__(
        self,
        name: str,
        booster: Booster,
        header: Mapping[str, Any],
        arrays: list[Any],
        found: list[Record],
        failing: Mapping[int, str] | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.name, self.booster = name, booster
        self.failing = {} if failing is None else failing  # calls that are not to be made, by position, and why
        tickets, records = read_tickets(name, header, arrays, found)
        try:
            state = {key: array_table.take(place, arrays) for key, place in header["arrays"].items()}
            self.last_ask, self.begun = (_count(header[key]) for key in ("seen", "calls"))
            _count(header["booster"].get("asked", 0))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ValueError(f"{name} is damaged: its snapshot does not describe a booster.") from None
        try:
            booster.restore(name, header["booster"], state)
        except (LookupError, TypeError, AttributeError):
            raise ValueError(f"{name} is damaged: its snapshot does not describe a booster.") from None
        self.ledger, self.note = ledger, b""
        if ledger is not None:
            try:
                ledger.restore(header.get("ledger"), arrays)
            except (ValueError, LookupError, TypeError, AttributeError):
                raise ValueError(f"{name} is damaged: its ledger cannot be read.") from None
        self.tickets = {ticket.number: ticket for ticket in tickets}
        if set(self.tickets) != set(booster.in_flight):
            raise ValueError(f"{name} is damaged: its tickets are not those that its booster has in flight.")
        if ledger is not None:
            ledger.attend(booster, self.tickets)
        self.calls, self.todo, self.end = self.begun, found[records:], found[records - 1].end
        self.written = header["booster"]["spec"]
        self.predicted: Any = None
        self.asks = self.marks = self.left_out = self.uncompared = 0
        self.asked = False  # whether an ask was made again that no record was compared with yet
        self.differs_at: int | None = None
        self.differences: list[float] = []
        self.failed = self.superseded = self.left_out_for = ""
        self.unknown = False  # whether the replay has stopped at a record that this version does not know
        told = header.get("arithmetic")
        self.same_arithmetic = told == arithmetic() if isinstance(told, str) else None

    def run(self) -> Replayed:
        """Make every call after the snapshot again."""
        self.booster._repeating = True
        try:
            return self._run()
        finally:
            self.booster._repeating = False

    def _run(self) -> Replayed:
        for record in self.todo:
            self._check_known(record)
            if record.kind == Kind.SUPERSEDED:
                self.superseded = record.payload.decode(errors="replace")
                continue
            if record.kind == Kind.NOTE:  # belongs to the call that follows, without which it has not happened
                self.note = record.payload
                continue
            self._compare(record)
            if record.kind == Kind.MARK:
                self._compare_mark(record)
            elif not self._repeat(record):
                break
            self.end = record.end
        difference = 0.0 if self.differs_at is None else max(self.differences, default=None)
        return Replayed(
            self.booster,
            self.tickets,
            self.calls,
            self.calls - self.begun,
            self.asks,
            self.marks,
            self.last_ask,
            self.end,
            self.differs_at,
            difference,
            self.same_arithmetic,
            self.left_out,
            self.left_out_for,
            self.failed,
            self.uncompared,
            self.superseded,
        )

    def _check_known(self, record: Record) -> None:
        # Refused also at the end: a call that is only unknown here did happen.
        if (record.kind, record.version) not in KNOWN:
            self.unknown = True
            raise ValueError(
                f"{self.name} holds a record at byte {record.position} of kind {record.kind}, version {record.version}, which this "
                f"version of banditboost ({__version__}) does not know, and is left as it is: read it with the version that wrote "
                "it."
            )
        if record.kind in (Kind.SNAPSHOT, Kind.TICKET):
            raise ValueError(f"{self.name} is damaged at byte {record.position}: a snapshot stands among the calls.")

    def _compare(self, record: Record) -> None:
        """Compare what a record says of the last ask with what that ask gave here."""
        if record.last_ask_checksum != self.last_ask and self.differs_at is None:
            self.differs_at = record.position
        if self.asked:
            self.asked, self.uncompared = False, 0
        if record.shown and self.predicted is not None:
            there, here = np.frombuffer(record.shown), np.ravel(self.predicted)[: len(record.shown) // 8]
            self.differences.append(float(np.abs(there - here).max()) if there.shape == here.shape else np.inf)

    def _compare_mark(self, record: Record) -> None:
        self.marks += 1
        self.uncompared = 0
        if self.booster.digest(self.written).encode() != record.payload and self.differs_at is None:
            self.differs_at = record.position

    def _repeat(self, record: Record) -> bool:
        """Make a recorded call; return whether there is a state after it to go on from."""
        note, self.note = self.note, b""
        if record.position in self.failing:
            return self._leave_out(record, self.failing[record.position])
        payload = self._present(record) if self.left_out else record.payload
        if payload is None:
            self.left_out += 1
            return True
        try:
            issued = repeat(self.booster, self.tickets, record.kind, payload)
        except (MemoryError, OSError, ImportError, RecursionError) as error:
            raise type(error)(
                f"{self.name} cannot be read now: the call at byte {record.position} fails with {error!r:.200}. It is left as it "
                "is: try again where that does not happen."
            ) from error
        except Exception as error:
            # No version has written such a record, so that it is not the numbers here that make it fail.
            forged = isinstance(error, TooLargeError) and record is not self.todo[-1]
            if forged or isinstance(error, MalformedError):
                raise ValueError(
                    f"{self.name} cannot be repeated here: the call at byte {record.position} fails with {error!r:.200}."
                ) from error
            why = f"the call at byte {record.position} fails with {error!r:.200}"
            if len(self.failing) < PATIENCE:
                raise FailedCallError(record.position, why) from error
            return self._leave_out(record, why)
        self.asks += record.kind in ASKS
        self.calls += 1
        self.uncompared += 1
        if self.ledger is not None:
            self.ledger.happened(record.kind, payload, note, issued)
        if issued is not None:
            self.asked = True
            self.tickets[issued.number] = issued
            self.last_ask, self.predicted = checksum(issued), issued.prediction
        if len(self.tickets) != len(self.booster._pending):
            for number in [number for number in self.tickets if number not in self.booster._pending]:
                del self.tickets[number]
        return True

    def _present(self, record: Record) -> bytes | None:
        """Return a call about the tickets that are there, after calls were left out; None where it is about others only."""
        numbers = about(record.kind, record.payload)
        gone = {number for number in numbers if number not in self.tickets and number <= self.booster._asked}
        if not gone:
            return record.payload
        here = [number for number in numbers if number not in gone]
        return pack_forget(here) if here and record.kind == Kind.FORGET else None

    def _leave_out(self, record: Record, why: str) -> bool:
        """Go on without a call that fails; return whether there is a state after it to go on from."""
        if record is self.todo[-1]:
            # Nothing was recorded after it, so it may have failed when it was made as well; then it did not happen.
            self.failed = why
            return False
        if record.kind in ASKS:  # later tickets have the numbers that they had
            self.booster._asked += 1
            self.predicted = None
        self.left_out += 1
        self.left_out_for = self.left_out_for or why
        self.differs_at = record.position if self.differs_at is None else self.differs_at
        return True


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**62:
        raise ValueError("no count")
    return value


def checksum(ticket: Ticket) -> int:
    """Return a checksum of a ticket's queries and path, which depend on nearly all of the booster's state."""
    total = 0
    for part in (ticket.probe.queries, ticket.path):
        for array in (part.left, part.right, part.weights) if isinstance(part, Factored) else (part,):
            total = zlib.crc32(np.ascontiguousarray(array).data, total)
    return total


def shown(ticket: Ticket) -> bytes:
    """Return the first few coordinates of a ticket's prediction, as records hold them."""
    prediction = np.asarray(ticket.prediction, dtype="<f8")
    return prediction.tobytes() if prediction.size <= SHOWN else np.ravel(prediction)[:SHOWN].tobytes()
