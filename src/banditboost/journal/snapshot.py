"""Snapshots: the whole state of a booster and its tickets in flight, taken at once and written while calls go on.

Taking one copies arrays, which is quick. Packing and writing it may take seconds where tens of thousands of tickets are in flight,
so a large one is written by a thread, under a temporary name, while calls are still recorded in the former file. They are noted,
too, and follow the snapshot in the new file; the last few are written when the new file takes the former one's place, which happens
within the next call. The thread never takes the booster's lock, so nothing can wait for it in vain.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
import os
import struct
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.arithmetic import arithmetic
from banditboost.journal.file import JournalFile, begin_beside, reopened
from banditboost.journal.framing import Record, frame
from banditboost.journal.kinds import Kind
from banditboost.journal.ledger import Ledger

FORMAT = 3
"""The format of the snapshot that is written."""
READABLE = (1, 2, 3)
"""The formats that are read. Formats 1 and 2 hold tickets within the snapshot; format 1 has other names of some specs and fields,
which `banditboost._core.old_names` translates."""
SMALL_TICKETS, SMALL_BYTES = 100, 2**20
"""A state of at most so many tickets and bytes is written within the call that it is due in."""
AT_A_TIME = 20
"""How many tickets a thread packs before it lets others run."""
SHORT = 50
"""A thread follows the calls recorded meanwhile until at most so many are left."""


class Entry(NamedTuple):
    """What a record says, without its place in a file."""

    kind: int
    payload: bytes
    last_ask_checksum: int
    shown: bytes = b""


class Snapshot:
    """The state of a booster and the tickets in flight at one moment, ready to be written whatever happens to the booster next."""

    def __init__(
        self, booster: Booster, tickets: list[Ticket], calls: int, last_ask_checksum: int, ledger: Ledger | None = None
    ) -> None:
        table = array_table.ArrayTable()
        self.header: dict[str, Any] = {
            "journal": FORMAT,
            "version": __version__,
            "arithmetic": arithmetic(),
            "calls": calls,
            "seen": last_ask_checksum,
            "booster": booster.header() | {"extra": copy.deepcopy(booster.extra)},
            "tickets": len(tickets),
            "arrays": {name: table.put(array) for name, array in booster.arrays().items()},
        }
        if ledger is not None:
            self.header["ledger"] = ledger.to_plain(table)
        self.arrays = [np.array(array) for array in table.arrays]
        self.tickets, self.last_ask_checksum = tickets, last_ask_checksum

    @property
    def small(self) -> bool:
        """Whether writing this takes about as long as any call that waits for the disk."""
        return len(self.tickets) <= SMALL_TICKETS and sum(array.nbytes for array in self.arrays) <= SMALL_BYTES

    def entries(self) -> Iterator[Entry]:
        """Pack the state and one ticket after the other."""
        yield Entry(Kind.SNAPSHOT, array_table.pack(self.header, self.arrays), self.last_ask_checksum)
        for ticket in self.tickets:
            table = array_table.ArrayTable()
            plain = ticket.to_plain(table)
            yield Entry(Kind.TICKET, array_table.pack(plain, table.arrays), self.last_ask_checksum)


class Cancelled(Exception):  # noqa: N818 - caught where it is raised
    """The snapshot is no longer wanted."""


class Writer:
    """Writes a snapshot to a file of its own beside the journal, and what was recorded since."""

    def __init__(self, path: Path, like: int, snapshot: Snapshot) -> None:
        self.path, self.like, self.snapshot = path, like, snapshot
        self.since: deque[Entry] = deque()
        """What was recorded since the snapshot was taken, and is not in the new file yet."""
        self.calls = 0
        """How many calls were recorded since."""
        self.position = 0
        self.error: BaseException | None = None
        """Why the file could not be written; None where it could."""
        self.ready = threading.Event()
        """Set when all but the last few records are written, or an error has come between."""
        self.name: Path | None = None
        self._handle = -1
        self._begun = self._cancelled = False
        self._guard = threading.RLock()

    def note(self, *entries: Entry) -> None:
        """Let the records of a call follow the snapshot."""
        self.since.extend(entries)
        self.calls += 1

    def start(self) -> None:
        """Write in a thread, or at once where the system gives none."""
        working = threading.Thread(target=self.run, args=(True,), name=f"snapshot of {self.path.name}", daemon=True)
        try:
            working.start()
        except RuntimeError:
            self.run()

    def run(self, wait: bool = False) -> None:
        """Write all but the last few records, and wait for the disk if told so; keep an error for `check`."""
        with self._guard:
            if self._begun:
                return
            self._begun = True
        try:
            self.name, self._handle = begin_beside(self.path, self.like)
            entries = self.snapshot.entries()
            while batch := list(itertools.islice(entries, AT_A_TIME)):
                self._write(batch)
                time.sleep(0)
            while len(self.since) > SHORT:
                self._follow(len(self.since))
            if wait:  # so that little is left to wait for when the file takes its place
                os.fsync(self._handle)
        except BaseException as error:  # raised where the caller can hear it
            self.error = error
        with self._guard:
            self.ready.set()
            if self._cancelled or self.error is not None:
                self._remove()

    def check(self) -> None:
        """Wait until `run` is over, and raise what it has met with."""
        self.ready.wait()
        if isinstance(self.error, OSError):
            raise self._failed(self.error)
        if self.error is not None:
            raise self.error

    def finish(self, file: JournalFile, *last: Entry) -> None:
        """Write what is left, wait for the disk, and let the new file take the place of the former one."""
        assert self.name is not None
        try:
            former, self._handle = self._handle, reopened(self.name)
            os.close(former)
            self._follow(len(self.since))
            self._write(list(last))
            os.fsync(self._handle)
            file.take_place(self.name, self._handle, self.position)
        except OSError as error:
            raise error if file.handle == self._handle else self._failed(error) from None
        finally:
            if file.handle == self._handle:  # in its place, and no longer ours
                self._handle, self.name = -1, None
            self._remove()

    def _failed(self, error: OSError) -> OSError:
        was = "is as it was" if self.path.exists() else "was not made"
        return type(error)(error.errno, f"{self.path} could not be written anew and {was}: {error.strerror or error}")

    def cancel(self) -> None:
        """Give the snapshot up; a thread that writes it notices and cleans up."""
        with self._guard:
            self._cancelled = True
            if self.ready.is_set():
                self._remove()

    def wait_until_gone(self) -> None:
        """Wait until a thread that was told to give up has removed what it wrote."""
        self.ready.wait()
        with self._guard:
            self._remove()

    def forked(self) -> None:
        """Close the file in a forked child; it belongs to the parent."""
        if self._handle >= 0:
            os.close(self._handle)

    def _follow(self, how_many: int) -> None:
        self._write([self.since.popleft() for _ in range(how_many)])

    def _write(self, entries: list[Entry]) -> None:
        if self._cancelled:
            raise Cancelled
        framed = []
        for kind, payload, checksum, shown in entries:
            # The file gets its name only when all of it is on the disk: what stands before a record is there for sure.
            framed.append(frame(kind, payload, self.position, self.position, checksum, shown))
            self.position += len(framed[-1])
        data = memoryview(b"".join(framed))
        while data:
            data = data[os.write(self._handle, data) :]

    def _remove(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)
        name, self.name = self.name, None
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)


def read_snapshot(name: str, record: Record) -> tuple[dict[str, Any], list[Any]]:
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
            f"{', '.join(map(str, READABLE[:-1]))} and {READABLE[-1]}."
        )
    return header, arrays


def read_tickets(
    name: str, header: Mapping[str, Any], arrays: list[Any], found: list[Record]
) -> tuple[list[Ticket], int]:
    """Return the tickets of a snapshot, and how many records hold it."""
    try:
        if header["journal"] < 3:
            return [Ticket.from_plain(data, arrays) for data in header["tickets"]], 1
        count = header["tickets"]
        if type(count) is not int or not 0 <= count < len(found):
            raise ValueError("tickets are missing")
        if any(record.kind != Kind.TICKET for record in found[1 : count + 1]):
            raise ValueError("records are no tickets")
        return [Ticket.from_plain(*array_table.unpack(record.payload)) for record in found[1 : count + 1]], count + 1
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError, struct.error) as error:
        raise ValueError(f"{name} is damaged: its snapshot is not complete ({error!s:.100}).") from None
