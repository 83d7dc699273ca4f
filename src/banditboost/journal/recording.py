"""The file behind a journal: records that are written before calls take effect, snapshots, and what signals and forks may do."""

from __future__ import annotations

import atexit
import contextlib
import os
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

from banditboost.booster import Booster
from banditboost.booster.ticket import Ticket
from banditboost.journal.file import JournalFile
from banditboost.journal.framing import frame
from banditboost.journal.kinds import NOTED, Kind
from banditboost.journal.ledger import Ledger
from banditboost.journal.lock import lock_name
from banditboost.journal.snapshot import Entry, Snapshot, Writer


class JournalWarning(UserWarning):
    """Says what a journal could not do as usual although nothing is lost."""


class Recording:
    """Records what happens to a booster in one file, which is replaced by a snapshot now and then."""

    def __init__(self, path: Path, booster: Booster, sync_every: int, snapshot_every: int) -> None:
        self.path = path
        """The file itself, where a link was given."""
        self.sync_every, self.snapshot_every = sync_every, snapshot_every
        self.booster = booster
        self.tickets: dict[int, Ticket] = {}
        """The tickets in flight, by number, also after a restart."""
        self.calls = 0
        """How many calls were recorded since the journal began."""
        self.durable = 0
        """How many of them are known to be on the disk."""
        self._since = 0  # calls since the snapshot
        self._due = snapshot_every  # how many there may be before the next one
        self._last_ask_checksum = self._before = 0
        self._shown = b""  # what the last ask predicted, until a record holds it
        self._note = b""  # what is to stand beside the next call that may have a note
        self._last: tuple[int, bytes, bytes] = (
            0,
            b"",
            b"",
        )  # the kind, the payload and the note of the call recorded last
        self.ledger: Ledger | None = None
        """What the owner keeps beside the booster; None where nothing is."""
        self._unfinished = self._broken = self._working = self._opened = False
        self._writer: Writer | None = None
        self._later: list[Callable[[], None]] = []
        self._lock = lock_name(path)
        self._file = JournalFile(path, None)

    # Records.

    def _append(self, kind: Kind, payload: bytes) -> None:
        self._check_open()
        self._file.check_name(well=self.calls + 1 - self.durable >= self.sync_every)
        if self._since >= self._due or self._writer is not None:
            self._snapshot_when_due()
        self._record(kind, payload)
        if self.calls - self.durable >= self.sync_every:
            self._sync()

    def _record(self, kind: Kind, payload: bytes) -> None:
        checksum, shown = self._last_ask_checksum, self._shown
        self._before, synced = self._file.position, self._file.synced
        note = self._note if kind in NOTED else b""
        beside = frame(Kind.NOTE, note, self._before, synced, checksum) if note else b""
        self._last = kind, payload, note
        self._unfinished = True  # until `done`: an interrupt may come between any two lines
        try:
            self._file.append(beside + frame(kind, payload, self._before + len(beside), synced, checksum, shown))
        except OSError:
            self._unfinished, self._broken = False, self._file.torn  # the call has not happened
            raise
        self._shown = b""
        self.calls += 1
        self._since += 1
        if self._writer is not None:
            self._writer.note(
                *([Entry(Kind.NOTE, note, checksum)] if note else []), Entry(kind, payload, checksum, shown)
            )

    def _check_open(self) -> None:
        if not self._opened:
            raise RuntimeError(f"{self.path} is closed: this journal writes no more.")
        if self._unfinished or self._broken:
            raise RuntimeError(
                f"{self.path} holds a call that failed half way: close it and open it again with a fresh booster."
            )

    @contextlib.contextmanager
    def _alone(self, what: str, action: Callable[[], None], always: bool = False) -> Iterator[bool]:
        """Hold the booster's lock, unless a handler of a signal asks within a call: the action is then done after that call.

        Yields whether it is done now. What a handler asks for while this is under way is done right after it.
        """
        with self.booster._lock:
            if self._working or self.booster._turn.put_off(f"{what} of {self.path}", action, always):
                if self._working:
                    self._later.append(action)
                yield False
                return
            with self.booster._turn:  # an interrupt may have kept a call that it ended from saying that it is over
                pass
            self._working = True
            try:
                yield True
            finally:
                self._working = False
        while self._later:
            action = self._later.pop(0)
            if self._opened:  # nothing is left to do where this was the closing
                action()

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
        tickets = list(self.tickets.values())
        taken = Snapshot(self.booster, tickets, self.calls, self._last_ask_checksum, self.ledger)
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
                try:
                    writer.start()
                except BaseException:  # an interrupt: nothing was recorded yet
                    self._writer = None
                    writer.cancel()
                    raise
        if not writer.ready.is_set():
            return
        try:
            self._switch()
        except (OSError, MemoryError) as error:
            if self._broken:
                raise
            self._due = self._since + self.snapshot_every
            self._say_not_now(error, 6)

    def _say_not_now(self, error: Exception, level: int) -> None:
        why = error or "There is too little memory for a snapshot"
        again = f"Calls go on and are recorded; a snapshot is tried again after {self._due - self._since} calls."
        warnings.warn(f"{why}. {again}", JournalWarning, stacklevel=level)

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
        return (
            f"{self.path} was deleted while it was open, and was written anew with the whole state." if deleted else ""
        )

    # The end.

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


open_files: weakref.WeakSet[Recording] = weakref.WeakSet()


def _after_fork() -> None:
    """Close the files in a forked child: they belong to the process that opened them."""
    for journal in list(open_files):
        if journal._opened:
            if journal._writer is not None:
                journal._writer.forked()
                journal._writer = None
            journal._let_go()


def _at_exit() -> None:
    """Take back calls that have failed, and remove snapshots that are half written."""
    for journal in list(open_files):
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
