"""Forests that are grown in the background: what is played is the same as without, whatever happens to a booster meanwhile."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost._core.processes import current_process
from banditboost.algorithms import boosted
from banditboost.journal.kinds import Kind
from banditboost.learners import Grown, background
from banditboost.learners.background import Growth
from banditboost.learners.grown_bank import GrownBank
from banditboost.spaces import Box, Interval, Space
from banditboost.testing.rounds import state
from tests.journal.common import crash, python, records, rewrite
from tests.learners.slow_reservoir import Reservoir

LINE = Interval(-1.0, 1.0)
SMALL = Grown(trees=10, leaves=4, least=2.0, first=10, memory=1200, lag=0.2)
"""Grows at rounds 10, 13, 17, ...; remembers some sixty rounds, and an eighth as many in the queue."""
APART = replace(SMALL, background=True)


def make(memory: Grown, space: Space = LINE, answers: int = 2) -> bb.Booster:
    return boosted(space, answers=answers, copies=4, memory=memory, seed=2)


def contexts(rounds: int) -> Array:
    return np.random.default_rng(0).random((rounds, 3))


def play(booster: bb.Booster, begin: int, end: int, wait: bool = True) -> list[bytes]:
    """Play rounds in which the best decision jumps with the first feature; return all that was asked."""
    seen = []
    for x in contexts(end)[begin:]:
        ticket = booster.ask(x)
        seen.append(ticket.queries.tobytes())
        if wait:
            booster.wait_for_growth()
        away = (ticket.queries - 0.5 * np.sign(x[0] - 0.5)).reshape(len(ticket.queries), -1)
        booster.tell(ticket, np.square(away).sum(axis=1))
    return seen


def grower(booster: bb.Booster) -> GrownBank:
    assert booster.bank is not None
    (found,) = booster.bank.growers()
    assert isinstance(found, GrownBank)
    return found


def pending(booster: bb.Booster) -> Any:
    """The round in which a growth has begun, the round of its effect, its rows, its trees, whether it is late, and the queue."""
    name = next(name for name in booster.arrays() if name.endswith("pending.clock"))
    return booster.arrays()[name][0]


class Held:
    """An executor that does its work when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Growth] = []

    def begin(self, growth: Growth) -> None:
        self.waiting.append(growth)

    def release(self) -> None:
        while self.waiting:
            self.waiting.pop(0).run()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    executor = Held()
    monkeypatch.setattr(background, "begin", executor.begin)
    return executor


def started(spec: Grown, rounds: int, copies: int = 1) -> GrownBank:
    """A bank that was told rounds."""
    bank = spec.start(copies, LINE, 2, np.random.default_rng(0))
    tell(bank, 0, rounds)
    return bank


def tell(bank: GrownBank, begin: int, end: int) -> None:
    X = np.random.default_rng(1).random((end, 2))
    for x in X[begin:]:
        bank.remember(x, np.zeros(bank.copies), np.full(bank.copies, -np.sign(x[0] - 0.5) - x[1]))


def held_in(bank: GrownBank) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in bank.arrays().items()}


def test_a_forest_takes_effect_later_and_is_grown_on_the_rounds_of_its_beginning() -> None:
    lagging, prompt = replace(SMALL, first=50, growth=9.0), replace(SMALL, first=50, growth=9.0, lag=0.0)
    early, late = started(lagging, 59), started(lagging, 60)
    at_once = started(prompt, 50)
    assert early.memory.clock[0, 3] == 0
    assert late.memory.clock[0, 3] == 10
    for found, expected in zip(late.memory.forest, at_once.memory.forest, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(late.memory.mean[0, 1], at_once.memory.mean[0, 1])
    np.testing.assert_allclose(late.memory.errors, 0.5 * early.memory.errors, rtol=0.2)


def test_rows_and_queue_are_those_of_a_slow_program() -> None:
    spec = replace(SMALL, lag=0.5, growth=1.6)
    rows, queued = spec.most_rows(2, 1), spec.most_queued(2, 1)
    slow, full = Reservoir(spec, rows, queued), 0
    bank = spec.start(1, LINE, 2, np.random.default_rng(0))
    for t, x in enumerate(np.random.default_rng(3).random((900, 2)).astype(np.float32), start=1):
        bank.remember(x.astype(float), np.zeros(1), np.array([-0.002 * t]))
        slow.add((*x.tolist(), 0.001 * t))
        for held, array in ((slow.kept, bank.memory), (slow.queue, bank.memory.pending)):
            found = np.column_stack([array.rows[0, : len(held)], array.targets[0, : len(held)]])
            np.testing.assert_allclose(found, np.array(held).reshape(-1, 3), rtol=1e-12)
        assert (bank.memory.clock[0, 1], bank.memory.pending.clock[0, 5]) == (len(slow.kept), len(slow.queue))
        full += len(slow.queue) == queued
    assert full > 100, "a full queue was seen"


@pytest.mark.parametrize("space", [LINE, Box((0.0, -1.0), (2.0, 1.0))], ids=["interval", "box"])
@pytest.mark.parametrize("answers", [1, 6])
def test_with_and_without_the_background_all_bits_agree(space: Space, answers: int) -> None:
    apart, within = make(APART, space, answers), make(SMALL, space, answers)
    grown = 0
    for t in range(150):
        assert play(apart, t, t + 1) == play(within, t, t + 1)
        assert state(apart) == state(within)
        grown += bool(grower(apart).apart)
    assert grown > 40, "forests were grown in the background"


def test_compiled_runs_are_the_same_and_plain_ones_agree() -> None:
    X = contexts(200)
    world = bb.worlds.Supervised(X, 0.5 * np.sign(X[:, 0] - 0.5), noise=bb.noise.Uniform(0.01))
    runs, states = [], []
    for memory in (SMALL, APART):
        for compiled in (False, True):
            booster = make(memory)
            runs.append(bb.evaluate.progressive(booster, world, compiled=compiled).predictions)
            states.append(state(booster))
    assert states[0] == states[2]
    assert states[1] == states[3]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-6, atol=1e-9)


def test_a_compiled_run_takes_over_what_is_being_grown_and_late(held: Held) -> None:
    X = contexts(150)
    world = bb.worlds.Supervised(X, 0.5 * np.sign(X[:, 0] - 0.5), noise=bb.noise.Uniform(0.01))
    apart, within = make(APART), make(SMALL)
    for booster in (apart, within):
        play(booster, 0, 11, wait=False)
    bb.evaluate.progressive(apart, world, compiled=True)
    bb.evaluate.progressive(within, world, compiled=True)
    assert state(apart) == state(within)
    late = make(APART)
    play(late, 0, 14, wait=False)
    assert pending(late)[4] == 1
    bb.evaluate.progressive(late, world, compiled=True)
    assert grower(late).memory.clock[0, 2] > 164, "forests were grown again and again"


@pytest.mark.parametrize("way", ["file", "pickle", "copy", "become"])
@pytest.mark.parametrize("ready", [False, True])
def test_a_booster_goes_on_from_the_middle_of_a_growth(way: str, ready: bool, held: Held, tmp_path: Path) -> None:
    apart, within = make(APART), make(SMALL)
    play(within, 0, 120)
    play(apart, 0, 11, wait=False)
    assert pending(apart)[0] == 10
    assert len(held.waiting) == 1
    if ready:
        held.release()
    if way == "file":
        apart.save(tmp_path / "model.bb")
        apart = bb.Booster.load(tmp_path / "model.bb")
    elif way == "pickle":
        apart = pickle.loads(pickle.dumps(apart))
    elif way == "copy":
        apart = apart._twin()
    else:
        other = make(APART)
        other.become(apart)
        apart = other
    for t in range(11, 120):
        ticket = apart.ask(contexts(t + 1)[t])
        grower(apart).growths()  # begun again, where the copy has none
        held.release()
        apart.tell(ticket, np.square(ticket.queries - 0.5 * np.sign(contexts(t + 1)[t, 0] - 0.5)))
    assert state(apart) == state(within)


def test_where_a_forest_is_not_ready_the_former_one_goes_on_until_it_is(held: Held) -> None:
    booster = make(APART)
    play(booster, 0, 11, wait=False)
    assert pending(booster)[:5].tolist() == [10, 12, 10, 10, 0]
    play(booster, 11, 40, wait=False)  # never waits
    assert pending(booster)[:5].tolist() == [10, 12, 10, 10, 1]
    assert grower(booster).memory.clock[0, 3] == 0
    held.release()
    play(booster, 40, 41, wait=False)
    assert grower(booster).memory.clock[0, 3] == 10
    assert pending(booster)[:2].tolist() == [41, 50], "the next one begins at once"


def test_where_nobody_waits_the_journal_gives_the_rounds_that_were_played(tmp_path: Path) -> None:
    # The thread itself, as fast as it happens to be: forests may be late or not, and the journal must know.
    path, booster = tmp_path / "run.journal", make(replace(APART, trees=60, leaves=16))
    journal = bb.Journal(path, booster, sync_every=1000)
    play(booster, 0, 200, wait=False)
    grower(booster).wait()
    play(booster, 200, 202, wait=False)
    assert grower(booster).memory.clock[0, 3] > 0
    digest = booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == digest


def releasing(booster: bb.Booster, held: Held, rounds: int) -> None:
    """Play rounds in which growths are ready in every twelfth round only."""
    for t in range(rounds):
        if t % 12 == 5:
            held.release()
        play(booster, t, t + 1, wait=False)


@pytest.mark.parametrize("snapshot_every", [7, 10_000])
@pytest.mark.parametrize("rounds", [13, 30, 100])
def test_a_journal_knows_when_forests_took_effect(
    snapshot_every: int, rounds: int, held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, booster = tmp_path / "run.journal", make(APART)
    journal = bb.Journal(path, booster, snapshot_every=snapshot_every)
    releasing(booster, held, rounds)
    digest = booster.digest()
    crash(journal)
    late = [record for record in records(path) if record.kind == Kind.GROWTH]
    assert late or snapshot_every == 7
    monkeypatch.setattr(background, "begin", Growth.run)  # all is ready at once, when the journal is read again
    found = bb.Journal.replay(path)
    assert found.differs_at is None
    assert found.booster.digest() == digest
    assert found.booster._repeating is False
    again = make(APART)
    journal = bb.Journal(path, again)
    assert again.digest() == digest
    play(again, rounds, rounds + 20, wait=False)
    digest = again.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == digest


def test_a_journal_without_records_of_lateness_gives_another_state(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the test above says something: what is recorded decides.
    path, booster = tmp_path / "run.journal", make(APART)
    journal = bb.Journal(path, booster)
    releasing(booster, held, 40)
    digest = booster.digest()
    crash(journal)
    monkeypatch.setattr(background, "begin", Growth.run)
    on_time = make(SMALL)
    play(on_time, 0, 40)
    assert {name: array.tobytes() for name, array in on_time.arrays().items()} != {
        name: array.tobytes() for name, array in bb.Journal.replay(path).booster.arrays().items()
    }
    assert bb.Journal.replay(path).booster.digest() == digest


def test_a_record_of_lateness_that_makes_no_sense_is_refused(
    held: Held, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, booster = tmp_path / "run.journal", make(APART)
    journal = bb.Journal(path, booster)
    releasing(booster, held, 20)
    crash(journal)
    monkeypatch.setattr(background, "begin", Growth.run)
    good = records(path)
    for payload in (b"x", np.array([1, 0, 1], "<u8").tobytes(), np.array([0, 5, 1], "<u8").tobytes()):
        rewrite(path, [record._replace(payload=payload) if record.kind == Kind.GROWTH else record for record in good])
        with pytest.raises(ValueError, match="cannot be repeated here"):
            bb.Journal.replay(path)


def test_a_growth_that_fails_is_said_once_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from banditboost._compiled import growing

    apart, within, plain = make(APART), make(SMALL), growing.grow_apart
    play(apart, 0, 1)
    monkeypatch.setattr(background, "begin", Growth.run)

    def failing(*arguments: Any) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(growing, "grow_apart", failing)
    play(apart, 1, 10)
    ticket = apart.ask(contexts(11)[10])
    before, losses = apart.digest(), np.square(ticket.queries - 0.5 * np.sign(contexts(11)[10, 0] - 0.5))
    with pytest.raises(
        RuntimeError, match="A forest could not be grown in the background, and will be tried again: Mem"
    ):
        apart.tell(ticket, losses)
    assert apart.digest() == before
    monkeypatch.setattr(growing, "grow_apart", plain)
    apart.tell(ticket, losses)
    play(apart, 11, 60)
    play(within, 0, 60)
    assert state(apart) == state(within)


def test_where_it_fails_when_it_must_be_had_it_is_grown_within_the_round(monkeypatch: pytest.MonkeyPatch) -> None:
    from banditboost._compiled import growing

    def failing(*arguments: Any) -> None:
        raise MemoryError("no room")

    apart, within = started(APART, 1), started(SMALL, 40)
    monkeypatch.setattr(growing, "grow_apart", failing)
    tell(apart, 1, 40)
    assert held_in(apart) == held_in(within)


@pytest.mark.parametrize("ready", [False, True])
def test_copies_that_are_reset_forget_what_is_being_grown(ready: bool, held: Held) -> None:
    apart, within = started(APART, 11, 3), started(SMALL, 11, 3)
    growths = {i: apart.apart[i].growth for i in range(3)}
    if ready:
        held.release()
    for bank in (apart, within):
        bank.reset(np.array([0, 2]), np.random.default_rng(0))
    assert [bool(growths[i]._stop[0]) for i in range(3)] == [True, False, True]
    for t in range(11, 60):
        apart.growths()
        held.release()
        for bank in (apart, within):
            tell(bank, t, t + 1)
    assert held_in(apart) == held_in(within)


def test_a_bank_that_takes_more_features_grows_what_it_has_begun_on_them() -> None:
    banks = []
    for spec in (APART, SMALL):
        bank, seen = started(spec, 75), 75
        while not (bank.memory.pending.clock[0, 0] and bank.memory.pending.clock[0, 5]):  # with rounds in the queue
            tell(bank, seen, seen + 1)
            seen += 1
        larger = bank.stretched(30, np.random.default_rng(0))
        assert larger.memory.rows.shape[1] < bank.memory.rows.shape[1]
        assert larger.memory.pending.clock[0, 2] == larger.memory.clock[0, 1] == larger.memory.rows.shape[1]
        for x in np.random.default_rng(4).random((100, 30)):
            larger.remember(x, np.zeros(1), np.array([-x[0] - x[25]]))
        banks.append(larger)
    assert held_in(banks[0]) == held_in(banks[1])


def test_what_is_grown_from_other_rows_is_given_up(held: Held) -> None:
    apart, other = started(APART, 11), started(SMALL, 11)
    growth = apart.apart[0].growth
    apart.arrays()
    apart.play(np.zeros(2))
    assert apart.apart[0].growth is growth, "looking changes nothing"
    other.memory.targets[:] *= 0.5
    for name, array in apart.arrays().items():
        array[...] = other.arrays()[name]
    apart.play(np.zeros(2))
    assert not apart.apart
    assert growth._stop[0] == 1


def test_a_bank_that_is_dropped_gives_up_what_is_being_grown(held: Held) -> None:
    bank = started(APART, 11)
    growth = bank.apart[0].growth
    twin = copy.deepcopy(bank)
    assert not twin.apart
    del bank
    gc.collect()
    assert growth._stop[0] == 1
    held.release()  # nothing is grown
    assert growth.ready


def test_a_growth_that_stayed_in_another_process_is_begun_again(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    bank = started(APART, 11)
    first = bank.apart[0].growth
    assert bank.growths() == [first]
    monkeypatch.setattr(current_process, "token", "another")
    (second,) = bank.growths()
    assert second is not first
    assert first.lost
    assert not second.lost


def test_after_the_end_of_the_thread_growths_are_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    grower, done = background.Grower(), []
    begun, go_on = threading.Event(), threading.Event()

    def slow(stop: Any) -> None:
        begun.set()
        go_on.wait()
        done.append(int(stop[0]))

    first, second = Growth(slow), Growth(lambda stop: done.append(2))
    grower.begin(first)
    grower.begin(second)
    begun.wait()
    monkeypatch.setattr(background, "PATIENCE", 0.0)
    grower.close()
    go_on.set()
    for growth in (first, second):
        growth.wait()
        assert growth.lost, "what was given up is not taken for done"
    assert done == [1], "the first was told to stop, and the second not done"
    third = Growth(lambda stop: done.append(3))
    grower.begin(third)
    assert (third.ready, third.lost, done) == (True, False, [1, 3])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_a_forked_process_grows_what_its_parent_had_begun(tmp_path: Path) -> None:
    booster = make(APART)
    play(booster, 0, 11)  # the thread is there, and a forest is being grown or ready
    assert grower(booster).apart
    child = os.fork()
    if child == 0:
        code = 1
        try:
            booster.adopt()
            play(booster, 11, 60)
            (tmp_path / "digest").write_text(booster.digest())
            code = 0
        finally:
            os._exit(code)
    play(booster, 11, 60)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert (tmp_path / "digest").read_text() == booster.digest()


def test_a_program_ends_while_a_forest_is_being_grown() -> None:
    code = """
import numpy as np
from banditboost.learners import Grown
from banditboost.spaces import Interval

spec = Grown(trees=100_000, first=5000, least=1.0, lag=0.5, background=True)
bank = spec.start(1, Interval(0, 1), 4, np.random.default_rng(0))
for x in np.random.default_rng(1).random((5000, 4)):
    bank.remember(x, np.zeros(1), np.array([-x[0]]))
print(bank.apart[0].growth.ready)
"""
    ended = python(code)  # 100,000 trees would take many minutes
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "False\n", "")


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [(0, 2, 10**6), (0, 2, 0), (0, 3, 10**6), (0, 5, 10**6), (0, 4, 2), (0, 0, -1), (0, 1, 2**62)],
)
def test_a_damaged_growth_is_refused(name: int, place: int, number: int) -> None:
    bank = started(SMALL, 11)
    bank.arrays()["pending.clock"][name, place] = number
    with pytest.raises(ValueError, match="The forest is damaged"):
        bank.remember(np.zeros(2), np.zeros(1), np.zeros(1))


def test_without_a_lag_nothing_is_written_that_was_not_before() -> None:
    assert not {"lag", "background"} & set(Grown().to_dict())
    assert not any("pending" in name for name in started(replace(SMALL, lag=0.0), 5).arrays())
    assert {"lag", "background"} <= set(APART.to_dict())


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"lag": -0.1}, "lag must be at least 0 and at most 1, got -0.1"),
        ({"lag": 1.5}, "lag must be at least 0 and at most 1, got 1.5"),
        ({"background": True}, "lag must be above 0 where background is True, got 0.0"),
        ({"background": 1, "lag": 0.1}, "background must be True or False, got 1"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Grown(**wrong)
