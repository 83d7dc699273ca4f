"""The record of a booster's calls on disk: every call is written before it takes effect, so that no crash loses an answer.

A booster draws its random numbers from its seed, hence a state and the calls made after it determine everything: the journal
holds a *snapshot* of the state, then one short record for every call (an ask's context, a tell's ticket number and answers).
Opening the journal again makes the same calls on the same state. After a number of calls, a new file that begins with a new
snapshot replaces the old one, all or nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.booster.answers import Said
from banditboost.booster.growing import Late
from banditboost.booster.header import SPARE
from banditboost.booster.ticket import Ticket
from banditboost.encoder import Pairs
from banditboost.gradients import Aim, Limits
from banditboost.journal import calls, opening
from banditboost.journal.file import JournalFile, sweep
from banditboost.journal.kinds import Kind
from banditboost.journal.ledger import Ledger
from banditboost.journal.lock import open_locked
from banditboost.journal.recording import JournalWarning, Recording, open_files
from banditboost.journal.replay import Replayed, checksum, shown
from banditboost.journal.snapshot import Cancelled


class Journal(Recording):
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
    ledger
        What the caller keeps beside the booster, in the same record; one that is fresh where the file exists already.

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
        ledger: Ledger | None = None,
    ) -> None:
        every = checks.count("sync_every", sync_every), checks.count("snapshot_every", snapshot_every)
        opening.check_booster(booster)
        place = Path(os.path.realpath(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        super().__init__(place, booster, *every)
        self.ledger = ledger
        self.difference: float | None = 0.0
        """The largest difference of predictions between what was recorded and what was repeated when the journal was opened: 0.0
        where all bits agree, None where it was not recorded."""
        self._large = False
        try:
            self._file = JournalFile(place, open_locked(place))
            sweep(place)
            if self._file.handle >= 0:
                self._resume()
            else:
                self.tickets = opening.in_flight(booster, tickets)
                self._begin_file()
        except BaseException:
            self._let_go()
            raise
        self._opened = True
        if ledger is not None:
            ledger.attend(booster, self.tickets)
        booster.journal = self
        open_files.add(self)

    def _resume(self) -> None:
        again, follows, said = opening.resumed(self.path, self.booster, self.ledger)
        self.difference = again.difference
        if again.end < os.fstat(self._file.handle).st_size:
            self._file.cut(again.end)
        self._file.position, self.calls, self._since = again.end, again.calls, again.repeated
        self.tickets, self._last_ask_checksum = again.tickets, again.last_ask_checksum
        self.booster.become(again.booster)
        if said:
            warnings.warn(said, JournalWarning, stacklevel=3)
        if follows:
            self._sync()
        else:
            self._begin_file()

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
        return opening.read(path, parts)

    # Called by the booster.

    def asking(self, context: Array | None, limits: Limits | None = None) -> None:
        """Record an ask, and the limits that hold for its round alone."""
        self._note_size(context)
        if limits is None:
            self._append(Kind.ASK, calls.pack_ask(context))
        else:
            self._append(Kind.ASK_WITHIN, calls.pack_ask_within(context, limits))

    def naming(self, named: Pairs, limits: Limits | None, columns: int) -> None:
        """Record an ask in a context with names: its features by hash, and the names that are new."""
        self._note_columns(columns)
        self._append(Kind.ASK_NAMED, calls.pack_ask_named(named, limits))

    def telling(self, number: int, said: Said) -> None:
        """Record a tell, and what was played where that is not what was asked about."""
        if said.actions is None:
            self._append(Kind.TELL, calls.pack_tell(number, said.answers))
        else:
            self._append(Kind.TELL_AS, calls.pack_tell_as(number, said))

    def learning(
        self, context: Array | None, action: Array, answers: Array, density: float | None, aim: Aim | None
    ) -> None:
        """Record an action that another has chosen, and its loss."""
        self._note_size(context)
        self._append(Kind.LEARN, calls.pack_learn(context, action, answers, density, aim))

    def learning_named(self, named: Pairs, columns: int, action: Array, answers: Array, density: float | None) -> None:
        """Record the same in a context with names, after which there are so many columns."""
        self._note_columns(columns)
        self._append(Kind.LEARN_NAMED, calls.pack_learn_named(named, action, answers, density))

    def forgetting(self, numbers: Sequence[int]) -> None:
        """Record which tickets are forgotten."""
        self._append(Kind.FORGET, calls.pack_forget(numbers))

    def limiting(self, limit: int) -> None:
        """Record how many tickets may be in flight."""
        self._append(Kind.LIMIT, calls.pack_limit(limit))

    def resetting(self, copies: NDArray[np.intp]) -> None:
        """Record which copies begin again."""
        self._append(Kind.RESET, calls.pack_reset(copies))

    def growing(self, news: Sequence[Late]) -> None:
        """Record which growths in the background are late, and which no longer."""
        self._append(Kind.GROWTH, calls.pack_growth(news))

    def rewriting(self) -> None:
        """Begin the file anew with the present state, in which something was erased; where that fails, it must be opened again."""
        self._check_open()
        if self._writer is not None:
            self._writer.cancel()
            self._writer.wait_until_gone()
        try:
            self._begin_file()
        except BaseException:
            self._broken = True  # the file says what was not erased, and memory does not
            raise

    def done(self, issued: Ticket | None = None) -> None:
        """Note that the call recorded last has taken effect, and keep the ticket that it issued."""
        if issued is not None:
            self.tickets[issued.number] = issued
            self._last_ask_checksum, self._shown = checksum(issued), shown(issued)
        if self.ledger is not None:
            self.ledger.happened(*self._last, issued)
        self._unfinished = False
        if self._large:
            self._snapshot_of_large()

    # Called by the user.

    def annotate(self, note: bytes) -> None:
        """Set what stands beside every ask and every learn from now on, and is given to the ledger with it; nothing if empty."""
        self._note = bytes(note)

    def remark(self, payload: bytes) -> None:
        """Record what the owner decides between calls; the ledger hears of it now, and whenever the journal is read."""
        with self._alone("the remark", lambda: self.remark(payload)) as now:
            if now:
                self._append(Kind.REMARK, bytes(payload))
                self.done()

    def flush(self) -> None:
        """Wait until all calls so far are on the disk."""
        with self._alone("the flush", self.flush) as now:
            if not now:
                return
            self._check_open()
            self._file.check_name()
            self._sync()

    def snapshot(self) -> None:
        """Replace the file by one that begins with the present state; other threads may go on meanwhile.

        Where the file was deleted while it was open, this writes it anew.
        """
        with self._alone("the snapshot", self.snapshot) as now:
            if not now:
                return
            self._check_open()
            writer = self._begin_snapshot()
        writer.run()
        with self._alone("the end of a snapshot", lambda: None):
            if self._writer is writer:
                self._switch()
        if writer.error is not None and not isinstance(writer.error, Cancelled):
            raise writer.error

    def close(self) -> None:
        """Write a snapshot of the state, wait for the disk, and release the file; the booster goes on without a journal.

        Where the disk fails, the error is raised, and the booster refuses every call that would change it without a record. Where
        a call has failed half way, its record is taken back: it has not happened. In a handler of a signal that came within a
        call, the journal is closed when the call is over.
        """
        said = ""
        with self._alone("the closing", self.close, always=True) as now:
            if not now or not self._opened:
                return
            if not (self._unfinished or self._broken):
                said = self._last_snapshot()
                self.booster.journal = None
            self._take_back()
            self._let_go()
        if said:
            warnings.warn(said, JournalWarning, stacklevel=2)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _note_size(self, context: Array | None) -> None:
        """Note before the first context is recorded whether it makes a large booster."""
        if context is not None:
            self._note_columns(len(context))

    def _note_columns(self, columns: int) -> None:
        if self.booster.bank is None:
            self._large = self.booster.spec.needs(columns) > columns + SPARE

    def _snapshot_of_large(self) -> None:
        """Begin the file anew after the first ask of a large booster.

        Nobody who reads a journal takes as much memory as one context asks for, unless the file bears that out.
        """
        self._large = False
        try:
            self._begin_file()
        except OSError as error:
            if self._broken:
                raise
            self._due = self._since
            self._say_not_now(error, 5)
