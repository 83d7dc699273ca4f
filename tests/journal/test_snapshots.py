"""Snapshots: taken at once, written while calls go on, and complete or not there at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import array_table
from banditboost.journal import snapshot
from banditboost.journal.kinds import Kind
from tests.booster.slow_booster import make
from tests.journal.common import X, crash, play, python, records, rewrite

MANY = 150
"""Tickets in flight, enough for a snapshot to be written by a thread."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


class Gate:
    """Holds the thread that writes a snapshot back until it is opened."""

    def __init__(self) -> None:
        self.open, self.reached = threading.Event(), threading.Event()
        self.thread: threading.Thread | None = None


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    held, plain = Gate(), bb.Ticket.to_plain

    def to_plain(ticket: bb.Ticket, table: Any) -> dict[str, Any]:
        if threading.current_thread() is not threading.main_thread():
            held.thread = threading.current_thread()
            held.reached.set()
            assert held.open.wait(60)
        return plain(ticket, table)

    monkeypatch.setattr(bb.Ticket, "to_plain", to_plain)
    yield held
    held.open.set()


def busy(path: Path, gate: Gate) -> tuple[bb.Booster, bb.Journal]:
    """A booster with many tickets in flight, whose snapshot is being written."""
    booster = make()
    journal = bb.Journal(path, booster, sync_every=1000, snapshot_every=MANY)
    for _ in range(MANY + 1):
        booster.ask(X)
    assert gate.reached.wait(60)
    return booster, journal


def finished(gate: Gate) -> None:
    gate.open.set()
    assert gate.thread is not None
    gate.thread.join(60)
    assert not gate.thread.is_alive()


def test_calls_go_on_while_a_snapshot_is_written(path: Path, gate: Gate) -> None:
    booster, journal = busy(path, gate)
    inode = path.stat().st_ino
    # The thread stands still: every call of these returns, is recorded, and survives a crash.
    play(booster, 20)
    booster.tell(journal.tickets[7], np.ones(3))
    booster.limit_in_flight(MANY)
    assert path.stat().st_ino == inode
    assert bb.Journal.replay(path).booster.digest() == booster.digest()
    finished(gate)
    play(booster, 1)  # the first call after it lets the new file take its place
    assert path.stat().st_ino != inode
    kinds = [record.kind for record in records(path)]
    assert kinds[: MANY + 1] == [Kind.SNAPSHOT, *[Kind.TICKET] * MANY]
    assert len(kinds) == MANY + 1 + 1 + 40 + 2 + 2
    assert bb.Journal.replay(path).booster.digest() == booster.digest()
    before = booster.digest()
    crash(journal)
    again = make()
    with bb.Journal(path, again):
        assert again.digest() == before
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]


def test_a_snapshot_is_taken_where_no_thread_can_be_had(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    booster = make()
    journal = bb.Journal(path, booster, sync_every=1000, snapshot_every=MANY)
    for _ in range(MANY + 1):
        booster.ask(X)
    assert [record.kind for record in records(path)] == [Kind.SNAPSHOT, *[Kind.TICKET] * MANY, Kind.ASK]
    crash(journal)


def test_an_interrupt_while_a_thread_is_started_leaves_the_former_file(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        plain(thread)
        raise KeyboardInterrupt

    booster = make()
    journal = bb.Journal(path, booster, sync_every=1000, snapshot_every=MANY)
    for _ in range(MANY):
        booster.ask(X)
    monkeypatch.setattr(threading.Thread, "start", start)
    before = booster.digest()
    with pytest.raises(KeyboardInterrupt):
        booster.ask(X)
    monkeypatch.undo()
    assert (booster.digest(), journal._writer) == (before, None)
    for thread in threading.enumerate():
        if thread.name.startswith("snapshot of"):
            thread.join(60)
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]
    journal.snapshot()
    booster.ask(X)
    before = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == before


def test_many_calls_meanwhile_are_followed_by_the_thread(path: Path, gate: Gate) -> None:
    booster, journal = busy(path, gate)
    play(booster, 3 * snapshot.SHORT)
    finished(gate)
    assert journal._writer is not None
    assert len(journal._writer.since) <= snapshot.SHORT
    booster.ask(X)
    assert journal._writer is None
    before = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == before


@pytest.mark.parametrize("end", ["crash", "close", "snapshot", "nobody holds it"])
def test_a_snapshot_under_way_is_given_up(path: Path, gate: Gate, end: str) -> None:
    booster, journal = busy(path, gate)
    play(booster, 2)
    before = booster.digest()
    match end:
        case "crash":
            crash(journal)
        case "close":
            journal.close()
        case "snapshot":
            journal.snapshot()
            assert len(records(path)) == MANY + 2
            crash(journal)
        case _:
            booster.journal = None
            del journal
    finished(gate)
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]
    again = make()
    with bb.Journal(path, again):
        assert again.digest() == before


def test_a_snapshot_that_fails_in_the_background_is_said_and_calls_go_on(
    path: Path, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster, journal = busy(path, gate)
    write = os.write

    def full(file: int, data: bytes) -> int:
        if threading.current_thread() is gate.thread:
            raise OSError(28, "No space left on device")
        return write(file, data)

    monkeypatch.setattr(os, "write", full)
    finished(gate)
    with pytest.warns(bb.JournalWarning, match=r"is as it was: No space left .* Calls go on and are recorded"):
        booster.ask(X)
    play(booster, 3)
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]
    before = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == before


def test_a_fork_leaves_the_snapshot_to_the_parent(path: Path, gate: Gate) -> None:
    if not hasattr(os, "fork"):
        return
    code = """
import os, sys, warnings
warnings.simplefilter("ignore")
import banditboost as bb
from tests.booster.slow_booster import make
from tests.journal.common import X, play
booster = make()
journal = bb.Journal(sys.argv[1], booster, sync_every=1000, snapshot_every=200)
for _ in range(200):
    booster.ask(X)
children = []
for _ in range(30):
    booster.ask(X)
    child = os.fork()
    if not child:
        os._exit(journal._opened)
    children.append(child)
assert not any(os.waitpid(child, 0)[1] for child in children)
while journal._writer is not None:
    booster.ask(X)
digest = booster.digest()
journal.close()
assert bb.Journal.replay(sys.argv[1]).booster.digest() == digest
"""
    done = python(code, path)
    assert done.returncode == 0, done.stderr


def test_a_thread_may_take_a_snapshot_while_others_ask(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster, sync_every=1000, snapshot_every=90) as journal:
        for _ in range(MANY):
            booster.ask(X)
        working = threading.Thread(target=lambda: play(booster, 150))
        working.start()
        for _ in range(10):
            journal.snapshot()
        working.join()
        before = booster.digest()
        assert bb.Journal.replay(path).booster.digest() == before
    assert bb.Journal.replay(path).booster.digest() == before


@pytest.mark.parametrize("missing", ["last", "all", "one too many", "no ticket"])
def test_a_snapshot_without_its_tickets_is_refused(path: Path, missing: str) -> None:
    booster = make()
    with bb.Journal(path, booster) as journal:
        for _ in range(4):
            booster.ask(X)
        journal.snapshot()
        found = records(path)
    header, arrays = array_table.unpack(found[0].payload)
    match missing:
        case "last":
            rewrite(path, found[:-1])
        case "all":
            rewrite(path, found[:1])
        case "one too many":
            changed = array_table.pack(header | {"tickets": 3}, arrays)
            rewrite(path, [found[0]._replace(payload=changed), *found[1:]])
        case _:
            rewrite(path, [*found[:-1], found[-1]._replace(payload=b"\x02\0\0\0{}")])
    wanted = "its tickets are not those that" if missing == "one too many" else "its snapshot is not complete"
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match=wanted):
            read(path)


def test_damage_among_the_tickets_is_refused(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    for _ in range(4):
        booster.ask(X)
    journal.snapshot()
    play(booster, 2)
    crash(journal)
    whole, found = path.read_bytes(), records(path)
    for record in found[:5]:
        data = bytearray(whole)
        data[record.position + 50] ^= 1
        path.write_bytes(data)
        with pytest.raises(ValueError, match=f"is damaged at byte {record.position}"):
            bb.Journal.replay(path)
        path.write_bytes(whole[: record.position + 50])
        with pytest.raises(ValueError, match="is damaged"):
            bb.Journal.replay(path)


def test_what_travels_with_the_booster_is_taken_at_once(path: Path) -> None:
    booster = make()
    booster.extra = {"columns": ["a"]}
    taken = snapshot.Snapshot(booster, [], 0, 0)
    booster.extra["columns"].append("b")
    booster.ask(X)
    assert taken.header["booster"]["extra"] == {"columns": ["a"]}
    assert taken.header["booster"]["asked"] == 0
