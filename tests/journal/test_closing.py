"""Closing a journal: a snapshot for the next start, errors that are not forgotten, and handlers of signals."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.journal.kinds import Kind
from tests.booster.slow_booster import make
from tests.journal.common import X, crash, play, records, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def test_closing_leaves_a_snapshot_and_nothing_to_repeat(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 10)
    booster.ask(X)
    journal.close()
    assert [record.kind for record in records(path)] == [Kind.SNAPSHOT, Kind.TICKET, Kind.MARK]
    found = bb.Journal.replay(path)
    assert (found.booster.digest(), found.calls, found.repeated) == (booster.digest(), 21, 0)
    assert found.marks_compared == 1
    before = path.read_bytes()
    bb.Journal(path, make()).close()  # nothing has happened: nothing is written
    assert path.read_bytes() == before


def test_a_full_disk_on_closing_loses_no_call_and_is_said(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    journal = bb.Journal(path, booster, sync_every=1000)
    play(booster, 3)
    inode, write = path.stat().st_ino, os.write

    def full(file: int, data: bytes) -> int:
        if os.fstat(file).st_ino != inode:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.warns(bb.JournalWarning, match=r"No space left .* All calls are on the disk; .* will repeat 6 of them"):
        journal.close()
    monkeypatch.undo()
    assert (booster.journal, journal.durable) == (None, 6)
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]
    assert bb.Journal.replay(path).booster.digest() == booster.digest()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_after_a_close_that_failed_nothing_goes_on_without_a_record(
    path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    booster = make()
    journal = bb.Journal(path, booster, sync_every=1000)
    play(booster, 3)
    ticket = booster.ask(X)
    before, fsync = booster.digest(), os.fsync

    def broken(file: int) -> None:
        if os.path.isdir(f"/proc/self/fd/{file}") == (what == "folder"):
            raise OSError(errno.EIO, "Input/output error")
        fsync(file)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        journal.close()
    monkeypatch.undo()
    calls: list[Any] = [
        lambda: booster.ask(X),
        lambda: booster.tell(ticket, np.ones(3)),
        lambda: booster.forget(ticket),
        lambda: booster.limit_in_flight(3),
        lambda: booster.reset([0]),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="failed half way"):
            call()
    journal.close()  # lets the file go
    for call in calls:
        with pytest.raises(RuntimeError, match="is closed: this journal writes no more"):
            call()
    assert booster.digest() == before
    again = make()
    with bb.Journal(path, again):
        assert again.digest() == before


class Signalled(bb.learners.Linear):
    """Sends its process a signal in the middle of its third update."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        plain = bank.update

        def update(context: Any, gradients: Any, t: int) -> None:
            if t == 3 and signal.getsignal(signal.SIGUSR1) is not signal.SIG_DFL:  # not when this is repeated
                os.kill(os.getpid(), signal.SIGUSR1)
            plain(context, gradients, t)

        bank.update = update  # type: ignore[method-assign]
        return bank


@pytest.mark.parametrize("action", ["close", "flush", "snapshot"])
def test_a_handler_may_close_within_a_call(path: Path, action: str) -> None:
    booster = make(learner=Signalled())
    journal = bb.Journal(path, booster, sync_every=1000)
    former = signal.signal(signal.SIGUSR1, lambda *_: getattr(journal, action)())
    try:
        play(booster, 3)
    finally:
        signal.signal(signal.SIGUSR1, former)
    assert (journal.durable, booster.rounds) == (6, 3)  # done when the call was over, and with it
    assert (booster.journal is None) == (action == "close")
    found = bb.Journal.replay(path)
    assert (found.calls, found.booster.rounds, found.repeated) == (6, 3, 6 if action == "flush" else 0)
    assert found.booster.digest() == booster.digest()
    journal.close()


class Interrupted(bb.learners.Linear):
    """Is interrupted in the middle of its third update, as by Ctrl-C."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        plain = bank.update

        def update(context: Any, gradients: Any, t: int) -> None:
            plain(context, gradients, t)
            if t == 3:
                raise KeyboardInterrupt

        bank.update = update  # type: ignore[method-assign]
        return bank


def test_a_call_that_was_interrupted_has_not_happened(path: Path) -> None:
    booster = make(learner=Interrupted())
    with pytest.raises(KeyboardInterrupt), bb.Journal(path, booster):
        play(booster, 5)
    found = bb.Journal.replay(path, {"tests.journal.test_closing:Interrupted": bb.learners.Linear()})
    assert (found.calls, found.booster.rounds, sorted(found.tickets)) == (5, 2, [3])


def test_a_close_that_comes_twice_does_nothing(path: Path) -> None:
    written(path)
    journal = bb.Journal(path, make())
    journal.close()
    before = path.read_bytes()
    journal.close()
    assert path.read_bytes() == before
    crash(journal)
