"""Limits of a round, and rewards, in journals: they are replayed bit for bit, and journals without them are as they were."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.journal import framing
from banditboost.journal.kinds import Kind

LINE, BOX = bb.spaces.Interval(0.0, 20.0), bb.spaces.Box((-2.0, 0.0), (8.0, 1.0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def make(space: bb.spaces.Space = LINE, **changes: Any) -> bb.Booster:
    return bb.algorithms.boosted(space, answers=1, copies=3, **changes)


def play(booster: bb.Booster, rounds: int = 30, seed: int = 0) -> None:
    """Rounds with limits and without, told as rewards, one in five not told."""
    rng, space = np.random.default_rng(seed), booster.spec.space
    own = space.bounds
    assert own is not None
    for t in range(rounds):
        ends = np.sort(rng.uniform(own[0], own[1], (2, space.size)), axis=0).reshape(2, *space.shape)
        limits = None if t % 3 == 1 else (ends[0], ends[t % 3 and 1])
        ticket = booster.ask(rng.uniform(-1, 1, 2), space=limits)
        if t % 5:
            booster.tell(ticket, rewards=-np.square(ticket.queries - 1.0).reshape(1, -1).sum(axis=1))


def crash(journal: bb.Journal) -> None:
    """What a process that dies leaves behind: nothing is written any more."""
    journal._let_go()
    journal.booster.journal = None


def records(path: Path) -> list[Any]:
    return list(framing.scan("journal", path.read_bytes())[0])


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("snapshot_every", [4, 10_000])
def test_reopened_goes_on_bit_for_bit(path: Path, space: bb.spaces.Space, maximize: bool, snapshot_every: int) -> None:
    plain, booster = make(space, maximize=maximize), make(space, maximize=maximize)
    journal = bb.Journal(path, booster, snapshot_every=snapshot_every)
    for part in range(3):
        play(plain, seed=part)
        play(booster, seed=part)
        crash(journal)
        booster = make(space, maximize=maximize)
        journal = bb.Journal(path, booster, snapshot_every=snapshot_every)
        assert booster.digest() == plain.digest()
    limited = [ticket for ticket in journal.tickets.values() if ticket.limits is not None]
    assert limited
    for ticket in limited:
        assert ticket.limits is not None
        assert (ticket.limits.low <= np.ravel(ticket.queries)).all()
        assert (np.ravel(ticket.queries) <= ticket.limits.high).all()
        booster.tell(ticket, [0.5])
    journal.close()
    again = bb.Journal.replay(path)
    assert again.booster.digest() == booster.digest()
    assert again.asks_compared == sum(record.kind in (Kind.ASK, Kind.ASK_WITHIN) for record in records(path))


def test_a_first_ask_with_limits_is_replayed(path: Path) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    booster.ask([0.1, 0.2], space=(12, 15))
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == booster.digest()
    assert [record.kind for record in records(path)] == [Kind.SNAPSHOT, Kind.ASK_WITHIN]


def test_learners_without_contexts_may_have_limits(path: Path) -> None:
    booster = bb.Booster(bb.learners.OGD(), 2, gradient=bb.gradients.Remembered(), space=BOX)
    journal = bb.Journal(path, booster)
    for _ in range(5):
        booster.tell(booster.ask(space=((0.0, 0.5), (3.0, 0.5))), rewards=[1.0])
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == booster.digest()


def test_a_replay_that_forgets_the_limits_is_caught(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    play(booster)
    crash(journal)
    right = bb.Booster.ask
    monkeypatch.setattr(bb.Booster, "ask", lambda self, x=None, *, space=None: right(self, x))
    found = bb.Journal.replay(path)
    assert (found.differs_at, found.same_arithmetic) == (records(path)[2].position, True)
    assert "although the arithmetic seems to be the same: has a part changed" in found.report()


def test_records_without_limits_are_byte_for_byte_what_they_were(path: Path) -> None:
    booster, x = make(), np.array([0.25, -1.0])
    journal = bb.Journal(path, booster)
    first = booster.ask(x)
    booster.tell(first, losses=[0.75])
    booster.tell(booster.ask(x), rewards=[-0.75])
    crash(journal)
    found = [(record.kind, record.payload) for record in records(path)[1:]]
    told = [(Kind.TELL, struct.pack("<QBd", number, 0, 0.75)) for number in (1, 2)]
    assert found == [(Kind.ASK, b"x" + x.tobytes()), told[0], (Kind.ASK, b"x" + x.tobytes()), told[1]]


def test_a_record_with_limits_holds_what_the_space_leaves_of_them(path: Path) -> None:
    booster, x = make(BOX), np.array([0.25, -1.0])
    journal = bb.Journal(path, booster)
    booster.ask(x, space=((-3.0, 0.5), (4.0, 0.5)))
    crash(journal)
    record = records(path)[1]
    assert (record.kind, int(Kind.ASK_WITHIN)) == (8, 8)
    assert record.payload == struct.pack("<Q4d", 2, -2.0, 0.5, 4.0, 0.5) + b"x" + x.tobytes()


def test_refused_limits_are_not_recorded(path: Path) -> None:
    for fresh in (True, False):
        booster = make()
        journal = bb.Journal(path.with_suffix(f".{fresh}"), booster)
        if not fresh:
            play(booster, 3)
        before = path.with_suffix(f".{fresh}").read_bytes()
        with pytest.raises(ValueError, match="space must have points in common"):
            booster.ask([0.1, 0.2], space=(30, 40))
        assert path.with_suffix(f".{fresh}").read_bytes() == before
        booster.ask([0.1, 0.2])
        crash(journal)


@pytest.mark.parametrize("size", [0, 1, 3, 2**32, 2**63, 2**64 - 1])
def test_limits_of_another_size_are_refused(path: Path, size: int) -> None:
    booster = make(BOX)
    journal = bb.Journal(path, booster)
    booster.ask([0.1, 0.2], space=((0.0, 0.0), (1.0, 1.0)))
    booster.ask([0.1, 0.2])
    crash(journal)
    made = b""
    for record in records(path):
        payload = record.payload
        if record.kind == Kind.ASK_WITHIN:
            payload = struct.pack("<Q", size) + payload[8:]
        made += framing.frame(record.kind, payload, len(made), 0, record.last_ask_checksum)
    path.write_bytes(made)
    with pytest.raises(ValueError, match=r"cannot be repeated here: the call at byte .* fails with"):
        bb.Journal.replay(path)


def test_a_journal_of_a_booster_that_maximizes_belongs_to_one_that_does(path: Path) -> None:
    booster = make(maximize=True)
    journal = bb.Journal(path, booster)
    play(booster, 3)
    crash(journal)
    with pytest.raises(ValueError, match="holds a booster with other parts"):
        bb.Journal(path, make())
