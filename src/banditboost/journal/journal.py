"""The record of a booster's calls on disk: every call is written before it takes effect, so that no crash loses an answer.

A booster draws its random numbers from its seed, hence a state and the calls made after it determine everything: the journal
holds a *snapshot* of the state, then one short record for every call (an ask's context, a tell's ticket number and answers).
Opening the journal again makes the same calls on the same state. After a number of calls, a new file that begins with a new
snapshot replaces the old one, all or nothing.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import from_dict
from banditboost.booster import Booster
from banditboost.booster.header import read_spec
from banditboost.booster.ticket import Ticket
from banditboost.gradients import Limits
from banditboost.journal import calls
from banditboost.journal.copies import keep_copy
from banditboost.journal.file import JournalFile, sweep
from banditboost.journal.framing import frame, read_plain, scan
from banditboost.journal.kinds import Kind
from banditboost.journal.lock import lock_name, open_locked
from banditboost.journal.replay import Replayed, checksum, replayed, shown
from banditboost.journal.snapshot import FORMAT, Cancelled, Entry, Snapshot, Writer, read_snapshot


class JournalWarning(UserWarning):
    """Says what a journal could not do as usual although nothing is lost."""


class Journal:
    """Records every ask, tell and forget of a booster on disk, and restores the booster after a crash.

    The same lines serve the first start and every later one: where `path` holds a journal, the booster given, which must be
    fresh and have the same spec, is put into the state at the journal's end. Tickets in flight are kept too, in `tickets`.
    Functions in the spec are the given booster's own: a journal holds their names only.

    What is promised: a call that returned has been handed to the operating system, and survives the death of the process,
    SIGKILL included. It survives a power failure once it is *durable*: after every call with ``sync_every=1``, after every n-th
    call with ``sync_every=n``, after `flush`, and after `close`. Where a call had not returned, the reopened booster is in the
    exact state before or after that call, never between.

    A journal may be opened on another kind of machine. Where its arithmetic gives other bits, the calls are repeated all the same,
    and a `JournalWarning` states the largest difference of predictions, which `difference` holds.

    Parameters
    ----------
    path
        The file; links are followed. Beside it stands ``path.lock``, which keeps a second writer out, as does a lock on the file
        itself.
    booster
        The booster whose calls are recorded. One that cannot be saved (with a lambda that has no `Named`, or a foreign model
        without `arrays`) is refused.
    tickets
        The tickets in flight, where a new journal is begun for a booster that has some.
    sync_every
        How many calls are made between two waits for the disk.
    snapshot_every
        How many calls are recorded before the file begins anew with a snapshot, which is written while calls go on; opening a
        journal repeats so many, and those that were made while a snapshot was written.

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
        self.path = Path(os.path.realpath(path))
        """The file itself, where a link was given."""
        self.sync_every = checks.count("sync_every", sync_every)
        self.snapshot_every = self._due = checks.count("snapshot_every", snapshot_every)
        _check_booster(booster)
        self.booster = booster
        self.tickets: dict[int, Ticket] = {}
        """The tickets in flight, by number, also after a restart."""
        self.calls = 0
        """How many calls were recorded since the journal began."""
        self.durable = 0
        """How many of them are known to be on the disk."""
        self.difference: float | None = 0.0
        """The largest difference of predictions between what was recorded and what was repeated when the journal was opened: 0.0
        where all bits agree, None where it was not recorded."""
        self._since = self._last_ask_checksum = self._before = 0
        self._shown = b""  # what the last ask predicted, until a record holds it
        self._unfinished = self._broken = self._working = self._opened = False
        self._writer: Writer | None = None
        self._later: list[Callable[[], None]] = []
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._lock = lock_name(self.path)
        self._file = JournalFile(self.path, None)
        try:
            self._file = JournalFile(self.path, open_locked(self.path))
            sweep(self.path)
            if self._file.handle >= 0:
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
        found, _ = scan(name, read_plain(path))
        header, arrays = read_snapshot(name, found[0])
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
            self._last_ask_checksum, self._shown = checksum(issued), shown(issued)
        self._unfinished = False
        self._catch_up()

    # Called by the user.

    def flush(self) -> None:
        """Wait until all calls so far are on the disk."""
        if self._put_off(self.flush):
            return
        with self._alone():
            self._check_open()
            self._file.check_name()
            self._sync()
        self._catch_up()

    def snapshot(self) -> None:
        """Replace the file by one that begins with the present state; other threads may go on meanwhile.

        Where the file was deleted while it was open, this writes it anew.
        """
        if self._put_off(self.snapshot):
            return
        with self._alone():
            self._check_open()
            writer = self._begin_snapshot()
        writer.run()
        with self._alone():
            if self._writer is writer:
                self._switch()
        if writer.error is not None and not isinstance(writer.error, Cancelled):
            raise writer.error
        self._catch_up()

    def close(self) -> None:
        """Write a snapshot of the state, wait for the disk, and release the file; the booster goes on without a journal.

        Where the disk fails, the error is raised, and the booster refuses every call that would change it without a record. Where
        a call has failed half way, its record is taken back: it has not happened. In a handler of a signal that came within a
        call, the journal is closed when the call is over.
        """
        if self._put_off(self.close):
            return
        said = ""
        with self._alone():
            if not self._opened:
                return
            if not (self._unfinished or self._broken):
                said = self._last_snapshot()
                self.booster.journal = None
            self._take_back()
            self._let_go()
        self._later.clear()
        if said:
            warnings.warn(said, JournalWarning, stacklevel=2)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # The file.

    def _append(self, kind: Kind, payload: bytes) -> None:
        self._check_open()
        self._working = True
        try:
            self._file.check_name()
            if self._since >= self._due or self._writer is not None:
                self._snapshot_when_due()
            self._record(kind, payload)
        finally:
            self._working = False
        if self.calls - self.durable >= self.sync_every:
            self._sync()

    def _record(self, kind: Kind, payload: bytes) -> None:
        entry = Entry(kind, payload, self._last_ask_checksum, self._shown)
        self._before = self._file.position
        self._unfinished = True  # until `done`: an interrupt may come between any two lines
        try:
            self._file.append(frame(kind, payload, self._before, self._file.synced, self._last_ask_checksum, self._shown))
        except OSError:
            self._unfinished = False  # the call has not happened
            raise
        self._shown = b""
        self.calls += 1
        self._since += 1
        if self._writer is not None:
            self._writer.note(entry)

    def _check_open(self) -> None:
        if not self._opened:
            raise RuntimeError(f"{self.path} is closed: this journal writes no more.")
        if self._unfinished or self._broken:
            raise RuntimeError(
                f"{self.path} holds a call that failed half way: close it and open it again with a fresh booster."
            )

    # Handlers of signals: what they ask for within a call, or within what they interrupt here, is done right after it.

    def _put_off(self, action: Callable[[], None]) -> bool:
        """Return whether this thread is within a call already, as in a handler of a signal: the action is then done after it."""
        # A lock that this thread holds shows that; a call that has failed has released it.
        within = getattr(self.booster._lock, "_is_owned", bool)() and (self._unfinished or self._working)
        if within:
            self._later.append(action)
        return within

    def _catch_up(self) -> None:
        while self._later:
            self._later.pop(0)()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the booster's lock, and put off what handlers ask for."""
        with self.booster._lock:
            self._working = True
            try:
                yield
            finally:
                self._working = False

    def _sync(self) -> None:
        self._broken = True  # unless it succeeds, it is unknown what is on the disk
        self._file.sync()
        self._broken = False
        self.durable = self.calls

    # Snapshots.

    def _begin_snapshot(self) -> Writer:
        """Take a snapshot, which is to be written."""
        if self._writer is not None:
            self._writer.cancel()
        taken = Snapshot(self.booster, list(self.tickets.values()), self.calls, self._last_ask_checksum)
        self._writer = Writer(self.path, self._file.handle, taken)
        return self._writer

    def _snapshot_when_due(self) -> None:
        """Begin a snapshot, or let one that is written take the place of the file; calls go on where it fails."""
        writer = self._writer
        if writer is None:
            writer = self._begin_snapshot()
            if writer.snapshot.small:
                writer.run()
            else:
                writer.start()
        if not writer.ready.is_set():
            return
        try:
            self._switch()
        except (OSError, MemoryError) as error:
            if self._broken:
                raise
            self._due = self._since + self.snapshot_every
            warnings.warn(
                f"{error or 'There is too little memory for a snapshot'}. Calls go on and are recorded; a snapshot is tried again after {self.snapshot_every} calls.",
                JournalWarning,
                stacklevel=5,
            )

    def _switch(self, *last: Entry) -> None:
        """Let the snapshot that is being written take the place of the file."""
        writer, self._writer = self._writer, None
        assert writer is not None
        writer.check()
        was = self._file.handle
        self._broken = True  # until all is in place: an interrupt may come between any two lines
        try:
            writer.finish(self._file, *last)
        except (OSError, MemoryError):
            self._broken = self._file.handle != was  # the former file is still there, and stays in use
            raise
        self._since, self._due, self.durable = writer.calls, self.snapshot_every, self.calls
        self._broken = False

    def _begin_file(self, *last: Entry) -> None:
        self._begin_snapshot().run()
        self._switch(*last)

    def _last_snapshot(self) -> str:
        """Wait for the disk and write a last snapshot; return what is to be said where only the second could be done."""
        deleted = not self.path.exists()
        if not deleted:
            self._file.check_name()
            self._sync()
        if self._since or deleted:
            try:
                self._begin_file(Entry(Kind.MARK, self.booster.digest().encode(), self._last_ask_checksum, self._shown))
            except OSError as error:
                if self._broken or deleted:
                    raise
                return f"{error}. All calls are on the disk; opening it again will repeat {self._since} of them."
        return f"{self.path} was deleted while it was open, and was written anew with the whole state." if deleted else ""

    def _resume(self) -> None:
        name = os.fspath(self.path)
        data = read_plain(self.path)
        found, _ = scan(name, data)
        header, arrays = read_snapshot(name, found[0])
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
        read_spec(name, header["booster"], sum(array.size for array in arrays), wanted.callables())  # for its checks
        again = replayed(name, Booster.from_spec(wanted), header, arrays, found)
        if again.superseded:
            raise ValueError(
                f"{name} is no longer the journal, which went on in another file under the name {again.superseded!a}: open that "
                "one, or make this one a journal of its own by `banditboost journal repair`."
            )
        said = self._kept_aside(again, data) if again.failed else again.report() and f"{name}: {again.report()}"
        self.difference = again.difference
        if again.end < len(data):
            self._file.cut(again.end)
        self._file.position, self.calls, self._since = again.end, again.calls, again.repeated
        self.tickets, self._last_ask_checksum = again.tickets, again.last_ask_checksum
        self.booster.become(again.booster)
        if said:
            warnings.warn(said, JournalWarning, stacklevel=3)
        if header["journal"] == FORMAT and written == own and again.differs_at is None:
            self._sync()
        else:  # what is recorded from now on must not follow records of another format, or of other arithmetic
            self._begin_file()

    def _kept_aside(self, again: Replayed, data: bytes) -> str:
        """Keep a copy of the file before its last call is cut off, and return the sentence that says so."""
        copy = keep_copy(self.path, data)
        return (
            f"{self.path}: {again.failed}. It was the last one, which may have failed when it was made as well, and is left out; the "
            f"file as it was is kept as {copy.name}."
        )

    def _take_back(self) -> None:
        """Cut off the record of a call that has failed: it raised an error, so nobody was told that it had happened."""
        if self._unfinished and not self._broken:
            with contextlib.suppress(OSError):
                self._file.cut(self._before)

    def _let_go(self) -> None:
        self._opened = False
        if self._writer is not None:
            self._writer.cancel()
            self._writer = None
        self._file.let_go()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __del__(self) -> None:
        if getattr(self, "_opened", False):
            self._take_back()
            self._let_go()


_open: weakref.WeakSet[Journal] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the files in a forked child: they belong to the process that opened them."""
    for journal in list(_open):
        if journal._opened:
            if journal._writer is not None:
                journal._writer.forked()
                journal._writer = None
            journal._let_go()


def _at_exit() -> None:
    """Take back calls that have failed, and remove snapshots that are half written."""
    for journal in list(_open):
        lock = journal.booster._lock
        if journal._opened and lock.acquire(timeout=1.0):
            try:
                if journal._writer is not None:
                    journal._writer.cancel()
                    journal._writer = None
                if journal._unfinished:
                    journal._take_back()
                    journal._let_go()
            finally:
                lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)


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
