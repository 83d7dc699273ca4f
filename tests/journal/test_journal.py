"""The journal: what it promises about crashes, damage, and who may write."""

from __future__ import annotations

import copy
import errno
import os
import pickle
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.journal import framing
from banditboost.journal.kinds import Kind
from banditboost.spaces.stacks import Entries, Factored
from tests.booster.slow_booster import COPIES, make
from tests.checks.discovery import Target, answers, boosters
from tests.journal.common import ROOT, Stumbles, X, crash, play, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def test_reopened_goes_on_bit_for_bit(path: Path) -> None:
    plain, booster = make(), make()
    bb.Journal(path, booster)
    for _ in range(4):
        play(plain, 10)
        play(booster, 10)
        assert booster.digest() == plain.digest()
        assert isinstance(booster.journal, bb.Journal)
        crash(booster.journal)
        booster = make()
        bb.Journal(path, booster)
        assert booster.digest() == plain.digest()


BOOSTERS = list(boosters())
each_booster = pytest.mark.parametrize("booster", [b for _, b in BOOSTERS], ids=[name for name, _ in BOOSTERS])


@each_booster
def test_every_part_can_be_journalled(booster: bb.Booster, path: Path) -> None:
    world, spec = Target(booster), booster.plan or booster.spec
    booster = bb.Booster.from_spec(spec)
    with bb.Journal(path, booster, sync_every=100, snapshot_every=9):
        tickets = []
        for t in range(20):
            tickets.append((t, booster.ask(world.context(t))))
            if t % 3 == 2:
                for told, ticket in reversed(tickets):
                    booster.tell(ticket, answers(world, ticket, told))
                tickets = []
        expected = booster.digest()
    again = bb.Booster.from_spec(spec)
    journal = bb.Journal(path, again)
    assert again.digest() == expected
    assert again.identity == booster.identity
    for t, ticket in tickets:
        kept = journal.tickets[ticket.number]
        assert kept.queries.tobytes() == ticket.queries.tobytes()
        booster.tell(ticket, answers(world, ticket, t))
        again.tell(kept, answers(world, kept, t))
    assert again.digest() == booster.digest()
    journal.close()


def test_plans_restart_in_a_journal(path: Path) -> None:
    def start() -> tuple[bb.Booster, bb.Journal]:
        booster = bb.algorithms.projection_free(bb.spaces.Ball(2, 1.0))
        return booster, bb.Journal(path, booster, sync_every=100, snapshot_every=30)

    booster, journal = start()
    late = booster.ask()
    for _ in range(40):
        booster.step(None, lambda queries: queries)
    before = booster.digest()
    crash(journal)
    booster, journal = start()
    assert (booster.digest(), booster.phase) == (before, 1)
    assert journal.tickets[late.number].queries.tobytes() == late.queries.tobytes()
    booster.tell(late, np.zeros_like(late.queries))  # of an earlier phase
    before = booster.digest()
    crash(journal)
    booster, journal = start()
    assert (booster.digest(), booster.in_flight) == (before, ())
    journal.close()


def test_described_matrices_are_journalled(path: Path) -> None:
    space = bb.spaces.NuclearBall(70, 80, radius=1.0)
    given = Entries((3, 70, 80), np.array([1, 2]), np.array([3, 4]), np.ones((3, 2)))

    def start() -> tuple[bb.Booster, bb.Journal]:
        booster = bb.Booster(bb.learners.FPL(), 3, gradient=bb.gradients.Stochastic(), space=space)
        return booster, bb.Journal(path, booster)

    booster, journal = start()
    first, second = booster.ask(), booster.ask()
    assert isinstance(first.path, Factored)
    booster.tell(second, given.array())
    journal.snapshot()
    booster.tell(first, given.array())
    before = booster.digest()
    crash(journal)
    booster, journal = start()
    assert booster.digest() == before
    journal.close()


def test_refused_calls_leave_no_trace(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster) as journal:
        ticket = booster.ask(X)
        before, calls, size = booster.digest(), journal.calls, path.stat().st_size
        bad: list[Callable[[], Any]] = [
            lambda: booster.ask([1.0]),
            lambda: booster.ask([np.nan, 0.0]),
            lambda: booster.tell(ticket, np.ones(2)),
            lambda: booster.tell(ticket, np.full(3, np.inf)),
            lambda: booster.tell(ticket, np.full(3, 1e308)),
            lambda: booster.tell(make().ask(X), np.ones(3)),
        ]
        for call in bad:
            with pytest.raises(ValueError, match="must"):
                call()
        assert (booster.digest(), journal.calls, path.stat().st_size) == (before, calls, size)
        booster.tell(ticket, np.ones(3))
        with pytest.raises(bb.NotInFlightError):
            booster.tell(ticket, np.ones(3))
        assert journal.calls == calls + 1


def test_the_journal_learns_from_the_ticket_that_it_knows(path: Path, tmp_path: Path) -> None:
    # A ticket that was changed must not teach the booster what the journal could not repeat.
    booster = make()
    with bb.Journal(path, booster):
        play(booster, 5)
        ticket = booster.ask(X)
        ticket.save(tmp_path / "ticket.bb")
        changed = bb.Ticket.load(tmp_path / "ticket.bb")
        changed.raw = changed.raw + 1.0
        booster.tell(changed, [1.0, 2.0, 3.0])
        before = booster.digest()
    assert bb.Journal.replay(path).booster.digest() == before


def test_limits_and_deadlines_are_repeated(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    for _ in range(6):
        booster.ask(X)
    booster.limit_in_flight(4)
    booster.ask(X)
    booster.forget_older_than(2)
    assert booster.in_flight == tuple(journal.tickets) == (5, 6, 7)
    before = booster.digest()
    crash(journal)
    booster = make()
    with bb.Journal(path, booster) as journal:
        assert booster.digest() == before
        assert (booster.in_flight_limit, tuple(journal.tickets)) == (4, (5, 6, 7))


def test_what_is_durable(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster, sync_every=4) as journal:
        seen = []
        for _ in range(6):
            booster.ask(X)
            seen.append((journal.calls, journal.durable))
        assert seen == [(1, 0), (2, 0), (3, 0), (4, 4), (5, 4), (6, 4)]
        journal.flush()
        assert journal.durable == 6
    marks = [record.synced for record in framing.scan("x", path.read_bytes())[0]]
    assert marks == sorted(marks)


def test_snapshots_keep_the_file_short(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster, sync_every=50, snapshot_every=20) as journal:
        sizes = []
        for _ in range(30):
            play(booster, 5)
            sizes.append(path.stat().st_size)
        assert journal.calls == 300
        assert max(sizes) < 2 * max(sizes[:5])
    found = bb.Journal.replay(path)
    assert (found.calls, found.booster.rounds) == (300, 150)
    assert found.repeated <= 20
    assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]


def test_a_journal_has_one_writer(path: Path) -> None:
    with bb.Journal(path, make()):
        with pytest.raises(BlockingIOError, match="is open already: a journal has one writer at a time"):
            bb.Journal(path, make())
        code = f"""
import banditboost as bb
from tests.booster.slow_booster import make
try:
    bb.Journal({str(path)!r}, make())
except BlockingIOError as error:
    print(error)
"""
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
        assert "is open already" in shown.stdout, shown.stderr
    bb.Journal(path, make()).close()


def test_reading_needs_no_lock(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster):
        play(booster, 3)
        found = bb.Journal.replay(path)
        assert (found.booster.digest(), found.repeated, found.asks_compared) == (booster.digest(), 6, 3)


def test_a_booster_that_does_not_fit_is_refused(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster):
        play(booster, 3)
        with pytest.raises(ValueError, match="booster must have no journal yet"):
            bb.Journal(path.with_name("other"), booster)
    with pytest.raises(ValueError, match="holds a booster with other parts"):
        bb.Journal(path, make(copies=4))
    with pytest.raises(ValueError, match=r"booster must be fresh where .* exists already, got one with 3 rounds"):
        bb.Journal(path, booster)
    booster.ask(X)
    with pytest.raises(ValueError, match=r"tickets must be those that the booster has in flight .* got 0 for 1"):
        bb.Journal(path.with_name("other"), booster)
    with pytest.raises(ValueError, match="issued by another"):
        bb.Journal(path.with_name("other"), booster, tickets=[make().ask(X)])
    with pytest.raises(ValueError, match="booster must be a Booster, got str"):
        bb.Journal(path, "booster")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sync_every must be a whole number of at least 1, got 0"):
        bb.Journal(path, make(), sync_every=0)
    # None of these holds on to the file.
    bb.Journal(path, make()).close()


def test_a_journal_may_begin_with_tickets_in_flight(path: Path) -> None:
    booster = make()
    play(booster, 3)
    late, later = booster.ask(X), booster.ask(X)
    journal = bb.Journal(path, booster, tickets=[later, late])
    booster.tell(late, np.ones(3))
    before = booster.digest()
    crash(journal)
    booster = make()
    with bb.Journal(path, booster) as journal:
        assert booster.digest() == before
        assert journal.tickets[5].queries.tobytes() == later.queries.tobytes()


class Mean:
    total = 0.0

    def predict_one(self, x: dict[str, float]) -> float:
        return self.total

    def learn_one(self, x: dict[str, float], y: float) -> None:
        self.total += y


def mean() -> Mean:
    return Mean()


@pytest.mark.parametrize("started", [False, True])
def test_what_cannot_be_written_is_refused_at_the_start(path: Path, started: bool) -> None:
    lambdas = bb.spaces.Oracle(lambda g: np.where(g > 0, 0.0, 1.0), centre=(0.5, 0.5), inner_radius=0.5, diameter=1.5)
    for booster, reason in (
        (make(learner=bb.learners.Wrapped(mean)), "only foreign models that show their state"),
        (make(learner=bb.learners.Wrapped(Mean())), "Mean cannot be saved"),
        (bb.algorithms.projection_free(lambdas, horizon=10), "cannot be saved without a name"),
    ):
        if started and booster.spec.learner.contextual:
            play(booster, 2)
        with pytest.raises(ValueError, match=f"booster must have parts that can be saved: .*{reason}"):
            bb.Journal(path, booster)
        assert not path.exists()


def test_progressive_leaves_nothing_out(path: Path) -> None:
    world = bb.worlds.SyntheticLinear(rounds=50, features=2, noise=bb.noise.Uniform(0.1))
    booster, plain = make(), make()
    with bb.Journal(path, booster, sync_every=1000) as journal:
        with pytest.raises(ValueError, match="compiled must be None or False here: a journal writes down every round"):
            bb.evaluate.progressive(booster, world, compiled=True)
        trace = bb.evaluate.progressive(booster, world)
        assert not trace.compiled
        assert journal.calls == 100
    expected = bb.evaluate.progressive(plain, world, compiled=False)
    assert trace.losses.tolist() == expected.losses.tolist()
    assert bb.Journal.replay(path).booster.digest() == plain.digest()


def test_progressive_on_weight_vectors_leaves_nothing_out(path: Path) -> None:
    world = bb.worlds.WeightSpace(bb.worlds.SyntheticLinear(rounds=30, features=2, noise=bb.noise.Uniform(0.1)))
    space, gradient = bb.spaces.Ball(world.dimension, 2.0), bb.gradients.OnePoint(0.3)
    booster = bb.Booster(bb.learners.OGD(rate=bb.rates.Power(0.01, 0.5)), 3, gradient=gradient, space=space)
    assert bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), world).compiled
    with bb.Journal(path, booster, sync_every=1000) as journal:
        assert not bb.evaluate.progressive(booster, world).compiled
        assert journal.calls == 60
    assert bb.Journal.replay(path).booster.digest() == booster.digest()


def test_a_booster_with_a_journal_is_not_copied(path: Path) -> None:
    booster = make()
    with bb.Journal(path, booster):
        for way in (copy.deepcopy, copy.copy, pickle.dumps):
            with pytest.raises(TypeError, match="A booster with a journal cannot be copied"):
                way(booster)
        booster.save(path.with_name("model.bb"))  # a file is no copy that writes
        with pytest.raises(RuntimeError, match="with a journal cannot be adopted"):
            booster.adopt()
    copy.deepcopy(booster).ask(X)


def test_closed_is_closed(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    journal.close()
    journal.close()
    for call in (journal.flush, journal.snapshot):
        with pytest.raises(RuntimeError, match="is closed: this journal writes no more"):
            call()
    booster.ask(X)  # the booster goes on without
    assert bb.Journal.replay(path).calls == 0


def test_a_journal_that_nobody_holds_lets_the_file_go(path: Path) -> None:
    import gc

    booster = make()
    bb.Journal(path, booster)
    booster.ask(X)
    del booster
    gc.collect()
    again = make()
    with bb.Journal(path, again):
        assert again.in_flight == (1,)


# Disks that fail.


def test_a_full_disk_refuses_the_call_and_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    with bb.Journal(path, booster) as journal:
        play(booster, 3)
        ticket = booster.ask(X)
        before, size = booster.digest(), path.stat().st_size
        write = os.write
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:20]))
        for call in (lambda: booster.ask(X), lambda: booster.tell(ticket, np.ones(3)), lambda: booster.forget(ticket)):
            with pytest.raises(OSError, match="is the disk full"):
                call()
        monkeypatch.undo()
        assert (booster.digest(), path.stat().st_size, tuple(journal.tickets)) == (before, size, (4,))

        def disk_fills_up(queries: Any) -> Any:
            monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:20]))
            return np.ones(3)

        with pytest.raises(OSError, match="is the disk full") as error:
            booster.step(X, disk_fills_up)
        assert error.value.__context__ is None
        monkeypatch.undo()
        assert tuple(journal.tickets) == booster.in_flight == (4, 5)  # neither told nor forgotten
        booster.tell(ticket, np.ones(3))
        before = booster.digest()
    assert bb.Journal.replay(path).booster.digest() == before


def test_nothing_follows_a_record_that_is_torn_for_good(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 3)
    write = os.write

    def broken(file: int, length: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:20]))
    monkeypatch.setattr(os, "ftruncate", broken)
    with pytest.raises(OSError, match="Input/output error"):
        booster.ask(X)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="failed half way"):  # what is written now could not be read again
        booster.ask(X)
    journal.close()
    again = make()
    with bb.Journal(path, again):
        assert again.rounds == 3


def test_a_snapshot_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    with bb.Journal(path, booster, snapshot_every=6) as journal:
        play(booster, 3)
        before, fsync, inode = booster.digest(), os.fsync, path.stat().st_ino

        def full(file: int) -> None:
            if os.fstat(file).st_ino != inode:
                raise OSError(errno.ENOSPC, "No space left on device")
            fsync(file)

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"run.journal could not be written anew and is as it was: No space left"):
            journal.snapshot()
        assert booster.digest() == before
        with pytest.warns(bb.JournalWarning, match=r"is as it was: No space left .* Calls go on and are recorded"):
            play(booster, 1)
        play(booster, 2)  # not tried again at once
        assert (path.stat().st_ino, journal.calls) == (inode, 12)
        assert sorted(os.listdir(path.parent)) == ["run.journal", "run.journal.lock"]
        monkeypatch.undo()
        before = booster.digest()
        assert bb.Journal.replay(path).repeated == 12
        play(booster, 1)
        assert path.stat().st_ino != inode
        before = booster.digest()
    assert bb.Journal.replay(path).booster.digest() == before


def test_a_snapshot_whose_name_may_be_lost_is_not_built_upon(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    journal = bb.Journal(path, booster, snapshot_every=6)
    play(booster, 3)
    before, fsync = booster.digest(), os.fsync

    def broken(file: int) -> None:
        if stat.S_ISDIR(os.fstat(file).st_mode):
            raise OSError("Input/output error")
        fsync(file)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        booster.ask(X)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="holds a call that failed half way"):
        booster.ask(X)
    journal.close()
    again = make()
    with bb.Journal(path, again):
        assert again.digest() == before


def test_when_the_disk_cannot_promise_nothing_more_is_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 3)

    def broken(file: int) -> None:
        raise OSError("Input/output error")

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(OSError, match="Input/output error"):
        booster.ask(X)
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match="holds a call that failed half way"):
        booster.ask(X)
    assert booster.predict(X) is not None
    journal.close()
    with pytest.raises(RuntimeError, match="is closed: this journal writes no more"):
        booster.ask(X)  # not without the journal either: it may be half way through a call
    again = make()
    with bb.Journal(path, again):
        assert again.rounds == 3


def test_the_disk_is_waited_for_in_the_right_order(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # No power can be cut here: what protects from it is that these calls are made, in this order.
    events: list[str] = []
    fsync, replace, write = os.fsync, os.replace, os.write

    def synced(file: int) -> None:
        events.append("sync folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "sync file")
        fsync(file)

    def replaced(*args: Any) -> None:
        events.append("rename")
        replace(*args)

    def noted(file: int, data: bytes) -> int:
        if not snapshots(file):
            events.append("write")
        return write(file, data)

    def snapshots(file: int) -> bool:
        return not path.exists() or os.fstat(file).st_ino != path.stat().st_ino

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    monkeypatch.setattr(os, "write", noted)
    booster = make()
    begun = ["sync file", "rename", "sync folder"]  # the snapshot, its name, and then its name for good
    with bb.Journal(path, booster, sync_every=2, snapshot_every=3):
        assert events == begun
        for _ in range(4):
            booster.ask(X)
        assert events == [*begun, "write", "write", "sync file", "write", *begun, "write"]
        events.clear()
    assert events == ["sync file", *begun]  # all calls are safe before the last snapshot is tried


def test_a_call_that_fails_half_way_has_not_happened(path: Path) -> None:
    booster = make(learner=Stumbles())
    journal = bb.Journal(path, booster)
    play(booster, 3)
    ticket = booster.ask(X)
    before = booster.digest()
    with pytest.raises(ZeroDivisionError):
        booster.tell(ticket, np.ones(3))
    with pytest.raises(RuntimeError, match="holds a call that failed half way"):
        booster.ask(X)
    journal.close()
    again = make(learner=Stumbles())
    with bb.Journal(path, again) as journal:
        assert (again.digest(), journal.calls) == (before, 7)
        again.forget(journal.tickets[4])
        assert again.in_flight == ()


# Files that were harmed.


def spoil(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 0x40
    path.write_bytes(data)


@pytest.mark.parametrize(
    "where", ["magic", "length", "kind", "version", "shown", "position", "synced", "payload", "checksum"]
)
def test_damage_in_the_middle_is_refused_with_its_place(path: Path, where: str) -> None:
    found = written(path)
    record = found[8]
    offsets = {
        "magic": 0,
        "length": 6,
        "kind": 12,
        "version": 13,
        "shown": 14,
        "position": 15,
        "synced": 23,
        "payload": 40,
    }
    spoil(path, record.position + offsets[where] if where in offsets else record.end - 1)
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match=rf"is damaged at byte {record.position}: a record there was on the disk"):
            read(path)


def test_damage_in_what_was_never_acknowledged_is_cut_off(path: Path) -> None:
    found = written(path, sync_every=1000)
    spoil(path, found[9].position + 40)
    booster = make()
    with bb.Journal(path, booster) as journal:
        assert journal.calls == 8
        play(booster, 3)
        before = booster.digest()
    assert bb.Journal.replay(path).booster.digest() == before


def test_a_torn_last_record_is_cut_off(path: Path) -> None:
    found = written(path)
    whole = path.read_bytes()
    for length in range(found[-1].position, len(whole)):
        path.write_bytes(whole[:length])
        assert bb.Journal.replay(path).calls == 19
    path.write_bytes(whole[:-1])
    booster = make()
    with bb.Journal(path, booster) as journal:
        assert (journal.calls, booster.in_flight) == (19, (10,))


def test_records_that_were_removed_or_moved_are_refused(path: Path) -> None:
    found = written(path)
    whole = path.read_bytes()
    third, fourth = found[3], found[4]
    path.write_bytes(whole[: third.position] + whole[third.end :])
    with pytest.raises(ValueError, match=f"is damaged at byte {third.position}"):
        bb.Journal.replay(path)
    swapped = whole[fourth.position : fourth.end] + whole[third.position : third.end]
    path.write_bytes(whole[: third.position] + swapped + whole[fourth.end :])
    with pytest.raises(ValueError, match=f"is damaged at byte {third.position}"):
        bb.Journal.replay(path)


def test_files_that_are_no_journals_are_refused(path: Path) -> None:
    for content in (b"", b"hello", b"bbJ1" + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"is not a journal, or it is damaged at byte 0\."):
            bb.Journal.replay(path)
    path.write_bytes(framing.frame(Kind.ASK, b"", 0, 0, 0))
    with pytest.raises(ValueError, match="does not begin with a snapshot"):
        bb.Journal.replay(path)
    path.write_bytes(framing.frame(Kind.SNAPSHOT, b"\x02\0\0\0{}", 0, 0, 0))
    with pytest.raises(ValueError, match="does not begin with a snapshot"):
        bb.Journal.replay(path)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        bb.Journal.replay(path.with_name("nothing"))


def test_what_a_crash_left_of_a_snapshot_is_swept_away(path: Path) -> None:
    written(path)
    (path.parent / ".run.journal.abcd1234").write_bytes(b"half")
    (path.parent / ".run.journal.of-somebody-else").write_bytes(b"kept")
    bb.Journal(path, make()).close()
    assert sorted(os.listdir(path.parent)) == [".run.journal.of-somebody-else", "run.journal", "run.journal.lock"]


# Forks.


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_forked_child_neither_writes_nor_keeps_the_lock(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster, 2)
    size = path.stat().st_size
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            refused = 0
            try:
                booster.ask(X)
            except RuntimeError:
                refused += 1
            try:
                journal.flush()
            except RuntimeError:
                refused += 1
            journal.close()
            booster.adopt(1)
            booster.ask(X)
            os.write(ready[1], b"%d" % refused)
            os.read(go[0], 1)
            code = 0
        finally:
            os._exit(code)
    assert os.read(ready[0], 1) == b"2"
    assert path.stat().st_size == size
    crash(journal)  # the parent dies, the child lives on
    again = make()
    with bb.Journal(path, again):
        assert again.rounds == 2
    os.write(go[1], b"x")
    assert os.waitpid(child, 0)[1] == 0
    for end in (*ready, *go):
        os.close(end)


def test_copies_that_begin_again_do_so_on_replay(tmp_path: Path) -> None:
    path, booster = tmp_path / "run.journal", make()
    journal = bb.Journal(path, booster)
    play(booster, 5)
    booster.reset([1, 0])
    play(booster, 3)
    before = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).repeated == 17
    again = make()
    with bb.Journal(path, again):
        assert again.digest() == before


def test_a_bad_reset_changes_nothing_and_is_not_recorded(tmp_path: Path) -> None:
    booster = make()
    with bb.Journal(tmp_path / "run.journal", booster) as journal:
        play(booster, 2)
        before, calls = booster.digest(), journal.calls
        for copies in ([COPIES], [-1], [0.5], ["a"]):
            with pytest.raises(ValueError, match=f"copies must be indices from 0 to {COPIES - 1}"):
                booster.reset(copies)  # type: ignore[arg-type]
        booster.reset([])
        assert (booster.digest(), journal.calls) == (before, calls)
