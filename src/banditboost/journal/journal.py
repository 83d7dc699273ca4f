"""The record of a booster's calls on disk: every call is written before it takes effect, so that no crash loses an answer.

A booster draws its random numbers from its seed, hence a state and the calls made after it determine everything: the journal
holds a *snapshot* of the state, then one short record for every call (an ask's context, a tell's ticket number and answers).
Opening the journal again makes the same calls on the same state. After a number of calls, a new file that begins with a new
snapshot replaces the old one, all or nothing.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import from_dict
from banditboost._core.version import __version__
from banditboost._storage import array_table
from banditboost._storage.atomic_file import atomic
from banditboost.booster import Booster
from banditboost.booster.header import read_spec
from banditboost.booster.ticket import Ticket
from banditboost.gradients import Limits
from banditboost.journal import calls
from banditboost.journal.calls import Kind
from banditboost.journal.framing import frame, scan
from banditboost.journal.lock import lock
from banditboost.journal.replay import FORMAT, Replayed, checksum, replayed, snapshot

_TEMPORARY = r"\.{}\.[a-z0-9_]{{8}}(\.unfinished)?"  # the temporary names of `atomic`


class Journal:
    """Records every ask, tell and forget of a booster on disk, and restores the booster after a crash.

    The same lines serve the first start and every later one: where `path` holds a journal, the booster given, which must be
    fresh and have the same spec, is put into the state at the journal's end. Tickets in flight are kept too, in `tickets`.
    Functions in the spec are the given booster's own: a journal holds their names only.

    What is promised: a call that returned has been handed to the operating system, and survives the death of the process,
    SIGKILL included. It survives a power failure once it is *durable*: after every call with ``sync_every=1``, after every n-th
    call with ``sync_every=n``, after `flush`, and after `close`. Where a call had not returned, the reopened booster is in the
    exact state before or after that call, never between.

    Parameters
    ----------
    path
        The file. Beside it stands ``path.lock``, which keeps a second writer out.
    booster
        The booster whose calls are recorded. One that cannot be saved (with a lambda that has no `Named`, or a foreign model
        without `arrays`) is refused.
    tickets
        The tickets in flight, where a new journal is begun for a booster that has some.
    sync_every
        How many calls are made between two waits for the disk.
    snapshot_every
        How many calls are recorded before the file begins anew with a snapshot; opening a journal repeats at most so many.

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
        """The tickets in flight, by number, also after a restart."""
        self.calls = 0
        """How many calls were recorded since the journal began."""
        self.durable = 0
        """How many of them are known to be on the disk."""
        self._file = self._position = self._synced = self._since = self._last_ask_checksum = 0
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
    def replay(path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None) -> Replayed:
        """Read a journal without changing it; a journal that is being written may be read.

        Parameters
        ----------
        path
            The file.
        parts
            What the journal names and does not hold: functions by name (`Spec.callables`), and specs by their kind
            (``Spec.kind``), for classes that are not imported here.
        """
        name = os.fspath(path)
        if not Path(path).is_file():
            raise FileNotFoundError(f"There is no file {name}.")
        found, _ = scan(name, Path(path).read_bytes())
        header, arrays = snapshot(name, found[0])
        spec = read_spec(name, header["booster"], sum(array.size for array in arrays), parts)
        try:
            booster = Booster.from_spec(spec)
        except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # from a function in `parts`
            raise ValueError(f"{name} holds a booster that cannot be made here: {error!r:.200}.") from error
        return replayed(name, booster, header, arrays, found)

    # Called by the booster.

    def asking(self, context: Array | None, limits: Limits | None = None) -> None:
        """Record an ask, and the limits that hold for its round alone."""
        if limits is None:
            self._append(Kind.ASK, calls.pack_ask(context))
        else:
            self._append(Kind.ASK_WITHIN, calls.pack_ask_within(context, limits))

    def telling(self, number: int, answers: Any) -> None:
        """Record a tell."""
        self._append(Kind.TELL, calls.pack_tell(number, answers))

    def forgetting(self, numbers: Sequence[int]) -> None:
        """Record which tickets are forgotten."""
        self._append(Kind.FORGET, calls.pack_forget(numbers))

    def limiting(self, limit: int) -> None:
        """Record how many tickets may be in flight."""
        self._append(Kind.LIMIT, calls.pack_limit(limit))

    def resetting(self, copies: NDArray[np.intp]) -> None:
        """Record which copies begin again."""
        self._append(Kind.RESET, calls.pack_reset(copies))

    def done(self, issued: Ticket | None = None) -> None:
        """Note that the call recorded last has taken effect, and keep the ticket that it issued."""
        if issued is not None:
            self.tickets[issued.number] = issued
            self._last_ask_checksum = checksum(issued)
        self._unfinished = False

    # Called by the user.

    def flush(self) -> None:
        """Wait until all calls so far are on the disk."""
        with self.booster._lock:
            if self.booster._turn.put_off(f"the flush of {self.path}", self.flush):
                return
            self._check_open()
            self._sync()

    def snapshot(self) -> None:
        """Replace the file by one that begins with the present state."""
        with self.booster._lock:
            if self.booster._turn.put_off(f"the snapshot of {self.path}", self.snapshot):
                return
            self._check_open()
            self._begin_file()

    def close(self) -> None:
        """Record the digest of the state, wait for the disk, and release the file; the booster goes on without a journal."""
        with self.booster._lock:
            if self.booster._turn.put_off(f"the closing of {self.path}", self.close, always=True) or not self._opened:
                return
            try:
                if not self._unfinished:
                    self._write(Kind.MARK, self.booster.digest().encode())
                    self._sync()
            finally:
                self._let_go()
                if not self._unfinished:  # otherwise the booster may be half way through a call, and must not go on
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
        self._unfinished = True  # until `done`: an interrupt may come between any two lines
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
        data = frame(kind, payload, self._position, self._synced, self._last_ask_checksum)
        try:
            written = os.write(self._file, data)
            if written != len(data):
                raise OSError(f"Only {written} of {len(data)} bytes could be written to {self.path}: is the disk full?")
        except OSError:
            # The call has not happened: a part of its record must not stand before the next one.
            os.ftruncate(self._file, self._position)
            self._unfinished = False
            raise
        self._position += len(data)

    def _sync(self) -> None:
        try:
            os.fsync(self._file)
        except OSError:
            self._unfinished = True  # it is unknown what is on the disk now
            raise
        self._synced, self.durable = self._position, self.calls

    def _begin_file(self) -> None:
        table = array_table.ArrayTable()
        header = {
            "journal": FORMAT,
            "version": __version__,
            "calls": self.calls,
            "seen": self._last_ask_checksum,
            "booster": self.booster.header(),
            "tickets": [ticket.to_plain(table) for ticket in self.tickets.values()],
            "arrays": {name: table.put(array) for name, array in self.booster.arrays().items()},
        }
        data = frame(Kind.SNAPSHOT, array_table.pack(header, table.arrays), 0, 0, self._last_ask_checksum)
        self._unfinished = True
        try:
            with atomic(self.path) as file:
                file.write(data)
                self._drop_file()  # some systems do not replace a file that is open
        except OSError:
            self._unfinished = False  # the old file is still there, and stays in use
            raise
        finally:
            self._take_file()
        self._position, self._since = len(data), 0
        _sync_folder(self.path.parent)
        self._synced, self.durable = self._position, self.calls
        self._unfinished = False

    def _take_file(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # where the first file could not be written
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
        own, written = json.loads(wanted.to_json()), header["booster"]["spec"]
        # A spec of an earlier version is rebuilt: it may use old names, and lack fields that have a default.
        if written != own and json.loads(_rebuilt(written, wanted.callables())) != own:
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
        self.tickets, self._last_ask_checksum = again.tickets, again.last_ask_checksum
        self.booster.become(again.booster)
        if header["journal"] == FORMAT and written == own:
            self._sync()
        else:  # what is recorded from now on must not follow a snapshot with old names
            self._begin_file()

    def _sweep(self) -> None:
        """Remove unfinished snapshots that a crash has left: nobody is writing one, since this process holds the lock."""
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
    """Close the files in a forked child: they belong to the process that opened them."""
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
        # Where the copies are not made yet, a passing booster shows whether they can be saved.
        (booster if booster.bank is not None else Booster.from_spec(booster.spec, 1)).arrays()
    except TypeError as error:
        raise ValueError(f"booster must have parts that can be saved: {error}") from None


def _rebuilt(written: Any, functions: Mapping[str, Any]) -> str:
    """Return the JSON of a spec in a journal under present names; an empty object where it cannot be read here."""
    try:
        return str(from_dict(written, functions).to_json())
    except (ValueError, TypeError, AttributeError):
        return "{}"


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
    """Wait until a new name is on the disk: otherwise a power failure may bring the old file back."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
