"""A booster's history on disk: every call is written before it takes effect, so that no crash loses an answer.

A booster draws its random numbers from its seed, hence a state, what was asked after it and what was told are all there is to
know: the journal holds a *snapshot*, then one short record for every call (an ask's context, a tell's number and answers).
Reading it again makes the same calls on the same state. When enough calls have come together, a new file that begins with a
new snapshot takes the old one's place, all or nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core import checks, spec
from banditboost._core.checks import Array
from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost._storage.atomic_file import atomic
from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.lock import lock
from banditboost.journal.records import Kind, frame, scan
from banditboost.journal.replay import FORMAT, NUMBER, TELL, Replayed, checksum, replayed, snapshot
from banditboost.spaces.stacks import Stack

_TEMPORARY = r"\.{}\.[a-z0-9_]{{8}}"  # the names that `archive.atomic` writes under


class Journal:
    """Writes down every ask, tell and forget of a booster, and brings the booster back after a crash.

    The same lines serve the first start and every later one: where `path` holds a journal, the booster given, which must be
    fresh and have the same spec, becomes what that journal says. Tickets in flight are kept too, in `tickets`.

    What is promised: a call that returned is in the operating system's hands, and survives whatever happens to the process,
    SIGKILL included. It survives a power failure once it is *durable*: after every call with ``sync_every=1``, after every n-th
    call with ``sync_every=n``, after `flush`, and after `close`. Reopened, the booster is in the exact state before or after the
    call that had not returned, never between.

    Parameters
    ----------
    path
        The file. Beside it stands ``path.lock``, which keeps a second writer out.
    booster
        Whose calls are written. Parts that cannot be saved (a lambda, a foreign model without `arrays`) are refused.
    tickets
        Those in flight, where the journal of a booster that has some begins.
    sync_every
        Calls between two times that the disk is waited for.
    snapshot_every
        Calls after which the file begins anew with a snapshot: reopening repeats at most so many.

    Examples
    --------
    >>> import banditboost as bb, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.journal"
    >>> def start():
    ...     booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1), copies=3)
    ...     return booster, bb.Journal(path, booster)
    >>> booster, journal = start()
    >>> booster.tell(booster.ask([0.5]), [1.0, 0.5, 0.2])
    >>> late = booster.ask([0.3])
    >>> before = booster.digest()
    >>> journal.close()
    >>> booster, journal = start()
    >>> booster.digest() == before, booster.rounds, list(journal.tickets)
    (True, 1, [2])
    >>> booster.tell(journal.tickets[2], [0.1, 0.2, 0.3])
    >>> journal.close()
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        booster: Booster,
        *,
        tickets: Iterable[Ticket] = (),
        sync_every: int = 1,
        snapshot_every: int = 10_000,
    ) -> None:
        self.path = Path(path)
        self.sync_every = checks.count("sync_every", sync_every)
        self.snapshot_every = checks.count("snapshot_every", snapshot_every)
        _check_booster(booster)
        self.booster = booster
        self.tickets: dict[int, Ticket] = {}
        """Tickets in flight, by number: the booster's own, also after a restart."""
        self.calls = 0
        """How many calls were written since the journal began."""
        self.durable = 0
        """How many of them are known to be on the disk."""
        self._file = self._position = self._synced = self._since = self._seen = 0
        self._unfinished = self._opened = False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = lock(self.path)
        try:
            self._sweep()
            if self.path.exists():
                self._resume()
            else:
                self.tickets = _in_flight(booster, tickets)
                self._begin_file()
        except BaseException:
            self._let_go()
            raise
        self._opened = True
        booster.journal = self
        _open.add(self)

    @staticmethod
    def replay(path: str | os.PathLike[str], parts: dict[str, spec.Spec] | None = None) -> Replayed:
        """Read a journal, from which nothing is taken and to which nothing is added; one that is being written may be read.

        Parameters
        ----------
        path
            The file.
        parts
            Parts by kind (``Spec.kind``), for those that the journal names but that are not known here.
        """
        name = os.fspath(path)
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no file {name}.")
        found, _ = scan(name, Path(path).read_bytes())
        header, arrays = snapshot(name, found[0])
        rebuilt = spec.from_dict(header["booster"]["spec"], parts)
        return replayed(name, Booster.from_spec(rebuilt), header, arrays, found)

    # What the booster calls.

    def asking(self, context: Array | None) -> None:
        """Write an ask."""
        self._append(Kind.ASK, b"" if context is None else b"x" + context.tobytes())

    def telling(self, number: int, answers: Any) -> None:
        """Write a tell."""
        if isinstance(answers, Stack):
            shelf = array_table.ArrayTable()
            where = shelf.put(answers)
            self._append(Kind.TELL, TELL.pack(number, 1) + array_table.pack({"answers": where}, shelf.arrays))
        else:
            self._append(Kind.TELL, TELL.pack(number, 0) + answers.tobytes())

    def forgetting(self, numbers: Sequence[int]) -> None:
        """Write which tickets are given up."""
        self._append(Kind.FORGET, np.array(numbers, dtype="<u8").tobytes())

    def limiting(self, limit: int) -> None:
        """Write how many tickets may be in flight."""
        self._append(Kind.LIMIT, NUMBER.pack(limit))

    def done(self, issued: Ticket | None = None) -> None:
        """Note that the last record has taken effect."""
        if issued is not None:
            self.tickets[issued.number] = issued
            self._seen = checksum(issued)
        self._unfinished = False

    # What the caller calls.

    def flush(self) -> None:
        """Return when all calls so far are on the disk."""
        with self.booster._lock:
            self._check_open()
            self._sync()

    def snapshot(self) -> None:
        """Begin the file anew with the present state."""
        with self.booster._lock:
            self._check_open()
            self._begin_file()

    def close(self) -> None:
        """Write the digest of the state, wait for the disk, and let others have the file; the booster goes on without."""
        with self.booster._lock:
            if not self._opened:
                return
            try:
                if not self._unfinished:
                    self._write(Kind.MARK, self.booster.digest().encode())
                    self._sync()
            finally:
                self._let_go()
                if not self._unfinished:  # else the booster may be half way through a call, and must not go on
                    self.booster.journal = None

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # The file.

    def _append(self, kind: Kind, payload: bytes) -> None:
        self._check_open()
        if self._since >= self.snapshot_every:
            self._begin_file()
        self._unfinished = True  # until it is done: an interrupt may come between any two lines
        self._write(kind, payload)
        self.calls += 1
        self._since += 1
        if self.calls - self.durable >= self.sync_every:
            self._sync()

    def _check_open(self) -> None:
        if not self._opened:
            raise RuntimeError(f"{self.path} is closed: this journal writes no more.")
        if self._unfinished:
            raise RuntimeError(
                f"{self.path} holds a call that failed half way: close it and open it again with a fresh booster."
            )

    def _write(self, kind: Kind, payload: bytes) -> None:
        data = frame(kind, payload, self._position, self._synced, self._seen)
        try:
            written = os.write(self._file, data)
            if written != len(data):
                raise OSError(f"Only {written} of {len(data)} bytes could be written to {self.path}: is the disk full?")
        except OSError:
            # The call has not happened: what was written of it must not stand before the next one.
            os.ftruncate(self._file, self._position)
            self._unfinished = False
            raise
        self._position += len(data)

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError:
            self._unfinished = True  # nobody knows what is on the disk now
            raise
        self._synced, self.durable = self._position, self.calls

    def _begin_file(self) -> None:
        shelf = array_table.ArrayTable()
        header = {
            "journal": FORMAT,
            "version": __version__,
            "calls": self.calls,
            "seen": self._seen,
            "booster": self.booster.header(),
            "tickets": [ticket.to_plain(shelf) for ticket in self.tickets.values()],
            "arrays": {name: shelf.put(array) for name, array in self.booster.arrays().items()},
        }
        data = frame(Kind.SNAPSHOT, array_table.pack(header, shelf.arrays), 0, 0, self._seen)
        self._unfinished = True
        try:
            with atomic(self.path) as file:
                file.write(data)
                self._drop_file()  # some systems replace no file that is open
        except OSError:
            self._unfinished = False  # the old file is still there, and goes on
            raise
        finally:
            self._take_file()
        self._position, self._since = len(data), 0
        _sync_folder(self.path.parent)
        self._synced, self.durable = self._position, self.calls
        self._unfinished = False

    def _take_file(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # where the first could not be written
            self._file = os.open(self.path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def _drop_file(self) -> None:
        if self._file:
            os.close(self._file)
            self._file = 0

    def _resume(self) -> None:
        name = os.fspath(self.path)
        found, _ = scan(name, self.path.read_bytes())
        header, arrays = snapshot(name, found[0])
        wanted = self.booster.plan or self.booster.spec
        if header["booster"]["spec"] != json.loads(json.dumps(wanted.to_dict())):
            raise ValueError(
                f"{name} holds a booster with other parts: booster must have the spec that the journal began with."
            )
        if self.booster.rounds or self.booster._asked:
            raise ValueError(
                f"booster must be fresh where {name} exists already, got one with {self.booster.rounds} rounds."
            )
        again = replayed(name, Booster.from_spec(wanted), header, arrays, found)
        self._take_file()
        if again.end < os.path.getsize(self.path):
            os.ftruncate(self._file, again.end)
        self._position, self.calls, self._since = again.end, again.calls, again.repeated
        self.tickets, self._seen = again.tickets, again.seen
        self.booster.become(again.booster)
        self._sync()

    def _sweep(self) -> None:
        """Remove what a crash has left of a snapshot: the lock is held, so that nobody is writing one."""
        pattern = re.compile(_TEMPORARY.format(re.escape(self.path.name)))
        for left in self.path.parent.iterdir():
            if pattern.fullmatch(left.name):
                left.unlink()

    def _let_go(self) -> None:
        self._opened = False
        self._drop_file()
        os.close(self._lock)

    def __del__(self) -> None:
        if getattr(self, "_opened", False):
            self._let_go()


_open: weakref.WeakSet[Journal] = weakref.WeakSet()


def _after_fork() -> None:
    """Leave the files to the process that opened them."""
    for journal in list(_open):
        if journal._opened:
            journal._let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _check_booster(booster: Booster) -> None:
    if not isinstance(booster, Booster):
        raise ValueError(f"booster must be a Booster, got {type(booster).__name__}.")
    if booster.journal is not None:
        raise ValueError("booster must have no journal yet: close the one that it has.")
    try:
        wanted = booster.plan or booster.spec
        wanted.to_dict()
        # Copies that are not there yet are made, for a moment, to see whether they could be written.
        (booster if booster.bank is not None else Booster.from_spec(booster.spec, 1)).arrays()
    except TypeError as error:
        raise ValueError(f"booster must have parts that can be saved: {error}") from None


def _in_flight(booster: Booster, tickets: Iterable[Ticket]) -> dict[int, Ticket]:
    given = {}
    for ticket in tickets:
        booster._check_ticket(ticket)
        given[ticket.number] = ticket
    if tuple(sorted(given)) != booster.in_flight:
        raise ValueError(
            f"tickets must be those that the booster has in flight when its journal begins, got {len(given)} for "
            f"{len(booster.in_flight)} in flight: give them, or forget them first."
        )
    return dict(sorted(given.items()))


def _sync_folder(folder: Path) -> None:
    """Wait until a new name is on the disk: without that a power failure may bring the old file back."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
