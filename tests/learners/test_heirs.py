"""Forests with heirs: when one is begun, what it is grown on, when it takes over or is given up, and that nothing spoils it."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._compiled.forest_memory import BASE, BEGUN, CHANCE, GROWN, HEIRS, NEXT, ROWS, SEEN, SINCE, TAKEN
from banditboost._core.checks import Array
from banditboost.algorithms import boosted
from banditboost.learners import Grown
from banditboost.learners.grown_bank import GrownBank
from banditboost.spaces import Box, Interval, Space
from banditboost.testing.rounds import state
from tests.learners.slow_heirs import SlowHeirs, stages

LINE = Interval(-3.0, 3.0)
PLANE = Box((-3.0, -3.0), (3.0, 3.0))
SMALL = Grown(trees=10, leaves=4, rate=0.5, least=2.0, first=20, memory=2**14, renews=True)
"""Remembers all rounds that are played here, and grows at rounds 20, 26, 34, ..."""
SHORT = replace(SMALL, memory=1800)
LAGGING = replace(SMALL, lag=0.3)


def contexts(rounds: int, seed: int = 0) -> Array:
    """A number, and the indicators of a category with three levels, one of which is all zeros."""
    rng = np.random.default_rng(seed)
    level = rng.integers(0, 3, rounds)
    return np.column_stack([rng.random(rounds), level == 1, level == 2]).astype(float)


def flipping(rounds: int, flip: int, seed: int = 0, noise: float = 0.3) -> tuple[Array, Array]:
    """Contexts, and targets whose sign changes once."""
    X, rng = contexts(rounds, seed), np.random.default_rng(seed + 100)
    sign = np.where(np.arange(rounds) < flip, 1.0, -1.0)
    return X, sign * (np.sign(X[:, 0] - 0.5) + X[:, 1]) + noise * rng.normal(size=rounds)


def disturbed(rounds: int, seed: int = 0) -> tuple[Array, Array]:
    """The same without the change, but with much noise for a while: reason for suspicion, and none for an heir."""
    X, rng = contexts(rounds, seed), np.random.default_rng(seed + 100)
    noise = np.where((np.arange(rounds) >= 300) & (np.arange(rounds) < 340), 3.0, 0.3)
    return X, np.sign(X[:, 0] - 0.5) + X[:, 1] + noise * rng.normal(size=rounds)


def start(spec: Grown, space: Space = LINE, copies: int = 1, features: int = 3) -> GrownBank:
    return spec.start(copies, space, features, np.random.default_rng(0))


def tell(bank: GrownBank, x: Array, target: Any) -> None:
    shape = (bank.copies, *bank.space.shape)
    bank.remember(x, np.zeros(shape), -2 * np.broadcast_to(np.asarray(target, dtype=float), shape))


def told(spec: Grown, X: Array, targets: Array) -> GrownBank:
    bank = start(spec)
    for x, target in zip(X, targets, strict=True):
        tell(bank, x, target)
    return bank


def with_heir(spec: Grown, ready: bool = True) -> tuple[GrownBank, int]:
    """A bank in the middle of an heir's life, and the next round; `ready`: the heir has trees, and is being judged."""
    X, targets = flipping(900, 300)
    bank = start(spec)
    for t, (x, target) in enumerate(zip(X, targets, strict=True)):
        clock, sums = bank.memory.heir.clock[0], bank.memory.heir.sums[0]
        if clock[SINCE] > 0 and (not ready or sums[7] >= 5):
            return bank, t
        tell(bank, x, target)
    raise AssertionError("there was no heir")


def compare(spec: Grown, X: Array, targets: Array, space: Space, kind: type[SlowHeirs] = SlowHeirs) -> SlowHeirs:
    """Tell a bank and a slow program the same rounds; they hold the same after each."""
    bank, d = start(spec, space), space.size
    places = spec.most_rows(3, d), spec.most_queued(3, d)
    slow = kind(spec, *places, np.asarray(space.inner_centre, dtype=float).reshape(-1))
    for x, target in zip(X, targets.reshape(len(targets), d), strict=True):
        own, heirs = stages(bank, False, x), stages(bank, True, x)
        said = slow.heir.says(heirs) if slow.leads else slow.own.says(own)
        np.testing.assert_allclose(np.ravel(bank.play(x)), said, rtol=1e-9, atol=1e-12)
        slow.add(x, np.clip(target, -12.0, 12.0), own, heirs)
        tell(bank, x, target.reshape(space.shape))
        memory = bank.memory
        clock, heir, n = memory.clock[0], memory.heir.clock[0], len(slow.kept)
        found = (clock[SEEN], clock[ROWS], clock[GROWN], heir[SINCE], heir[BASE], heir[TAKEN], heir[HEIRS])
        kept = (slow.seen, n, slow.own.trees, slow.since, slow.base, slow.taken, slow.grows == "heir")
        assert found == kept
        assert clock[NEXT] == slow.own.next or slow.since
        assert not slow.since or (heir[NEXT], heir[GROWN]) == (slow.heir.next, slow.heir.trees)
        assert memory.heir.born[0, :n].tolist() == [born for born, _, _ in slow.kept]
        queue = memory.heir.born[0, places[0] : places[0] + len(slow.queue)]
        assert queue.tolist() == [born for born, _, _ in slow.queue]
        np.testing.assert_array_equal(memory.rows[0, :n], [row for _, row, _ in slow.kept])
        np.testing.assert_allclose(memory.targets[0, :n], [z for _, _, z in slow.kept], rtol=1e-12)
        np.testing.assert_allclose(memory.errors[0], slow.own.errors, rtol=1e-9)
        sums = [slow.short, slow.long, slow.usual, slow.spread, slow.counted, slow.ahead, slow.doubt, slow.judged]
        np.testing.assert_allclose(memory.heir.sums[0], sums, rtol=1e-9, atol=1e-9)
    return slow


SPECS = {
    "plain": SMALL,
    "full": SHORT,
    "lag": LAGGING,
    "lag, full": replace(SHORT, lag=0.3),
    "category": replace(SMALL, categories=((1, 3),)),
}


@pytest.mark.parametrize("name", SPECS)
def test_an_heir_takes_over_as_in_a_slow_program(name: str) -> None:
    slow = compare(SPECS[name], *flipping(700, 300), LINE)
    assert slow.taken >= 1
    assert slow.base > 230, "rounds before the heir are forgotten"
    assert min(born for born, _, _ in slow.kept) >= slow.base


@pytest.mark.parametrize("name", SPECS)
def test_an_heir_is_given_up_as_in_a_slow_program(name: str) -> None:
    slow = compare(SPECS[name], *disturbed(800), LINE)
    assert slow.given_up >= 1
    assert slow.taken == 0


def test_forests_of_several_numbers_have_heirs_too() -> None:
    X, targets = flipping(500, 300)
    assert compare(SMALL, X, np.column_stack([targets, 0.5 * targets]), PLANE).taken == 1


class Blind(SlowHeirs):
    def suspect(self) -> None:
        """Never."""


class Clinging(SlowHeirs):
    def decide(self) -> None:
        kept = list(self.kept)
        super().decide()
        self.kept = kept


class Rash(SlowHeirs):
    def decide(self) -> None:
        self.doubt /= 9
        super().decide()


@pytest.mark.parametrize("kind", [Blind, Clinging, Rash])
def test_a_slow_program_without_one_of_the_ideas_is_noticed(kind: type[SlowHeirs]) -> None:
    with pytest.raises(AssertionError):
        compare(SMALL, *flipping(500, 300), LINE, kind)


@pytest.mark.parametrize("spec", [SMALL, SHORT, SPECS["category"]], ids=["plain", "full", "category"])
def test_an_heir_is_grown_on_late_rows_alone_and_takes_over_with_them(spec: Grown) -> None:
    X, targets = flipping(700, 300)
    bank, t = with_heir(spec, ready=False)
    spec = replace(spec, first=20)
    while bank.memory.heir.clock[0, GROWN] == 0:
        tell(bank, X[t], targets[t])
        t += 1
    memory, since = bank.memory, int(bank.memory.heir.clock[0, SINCE])
    held = int((memory.heir.born[0, : memory.clock[0, ROWS]] >= since).sum())
    assert (memory.heir.born[0, :held] >= since).all(), "late rows stand before all others"
    alone = replace(spec, first=held, growth=99.0, renews=False, memory=2**14)
    again = told(alone, memory.rows[0, :held].astype(float), memory.targets[0, :held])
    for found, expected in zip(memory.heir.forest, again.memory.forest, strict=True):
        np.testing.assert_array_equal(found, expected)
    while bank.memory.heir.clock[0, TAKEN] == 0:
        forest = [array.copy() for array in memory.heir.forest]
        tell(bank, X[t], targets[t])
        t += 1
    for found, expected in zip(memory.forest, forest, strict=True):
        np.testing.assert_array_equal(found, expected)
    rows = int(memory.clock[0, ROWS])
    assert memory.heir.born[0, :rows].min() >= since
    assert rows <= t - since + 1


def test_the_flip_is_followed_with_an_heir_and_not_without() -> None:
    X, targets = flipping(700, 300)
    clean = -(np.sign(X[:, 0] - 0.5) + X[:, 1])
    late = {}
    for renews in (False, True):
        bank = told(replace(SMALL, renews=renews), X[:500], targets[:500])
        late[renews] = float(np.square(np.ravel(bank.play_many(X[500:])) - clean[500:]).mean())
    assert late[True] < 0.8
    assert late[False] > 1.3


@pytest.mark.parametrize("seed", range(6))
def test_where_nothing_changes_no_heir_takes_over(seed: int) -> None:
    X, targets = flipping(2500, 9999, seed)
    bank = start(SMALL)
    heirs = 0
    for x, target in zip(X, targets, strict=True):
        before = bank.memory.heir.clock[0, SINCE]
        tell(bank, x, target)
        heirs += before == 0 and bank.memory.heir.clock[0, SINCE] > 0
    assert bank.memory.heir.clock[0, TAKEN] == 0
    assert heirs <= 1


def test_in_the_background_all_bits_are_the_same() -> None:
    apart, within = start(replace(LAGGING, background=True)), start(LAGGING)
    heirs = 0
    for x, target in zip(*flipping(700, 300), strict=True):
        for bank in (apart, within):
            tell(bank, x, target)
        heirs += bool(apart.apart) and apart.memory.heir.clock[0, HEIRS] == 1
        assert arrays(apart) == arrays(within)
    assert heirs > 10, "heirs were grown in the background"
    assert within.memory.heir.clock[0, TAKEN] >= 1


def arrays(bank: GrownBank) -> dict[str, bytes]:
    return {name: array.tobytes() for name, array in bank.arrays().items()}


def played(booster: bb.Booster, begin: int, end: int, flip: int) -> bb.Booster:
    X = contexts(end)
    for t in range(begin, end):
        ticket = booster.ask(X[t])
        booster.wait_for_growth()
        label = (0.8 if t < flip else -0.8) * np.sign(X[t, 0] - 0.5)
        booster.tell(ticket, np.square(ticket.queries - label))
    return booster


def heir_of(booster: bb.Booster) -> Array:
    return next(array for name, array in booster.arrays().items() if name.endswith("heir.clock"))


@pytest.mark.parametrize("background", [False, True])
def test_a_booster_that_is_saved_in_the_middle_of_an_heirs_life_goes_on(background: bool, tmp_path: Path) -> None:
    memory = replace(LAGGING, background=background)
    one = played(boosted(Interval(-1, 1), answers=2, copies=4, memory=memory, seed=2), 0, 250, 250)
    t = 250
    while heir_of(one)[0, SINCE] == 0 or heir_of(one)[0, HEIRS] == 0:
        played(one, t, t + 1, 250)
        t += 1
        assert t < 600, "there is an heir by now, and it is being grown"
    one.save(tmp_path / "model.bb")
    other = bb.Booster.load(tmp_path / "model.bb")
    assert state(other) == state(one)
    for booster in (one, other):
        played(booster, t, t + 200, 250)
    assert state(other) == state(one)
    assert heir_of(one)[0, TAKEN] >= 1


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [
        ("heir.forest.child", (0, 0, 0), 10**6),
        ("heir.forest.child", (0, 0, 0), 0),
        ("heir.forest.feature", (0, 0, 0), 10**6),
        ("heir.forest.feature", (0, 0, 0), -2),
        ("heir.clock", (0, GROWN), 10**6),
        ("heir.clock", (0, GROWN), -1),
        ("heir.clock", (0, NEXT), 2**62),
        ("heir.clock", (0, SINCE), 10**6),
        ("heir.clock", (0, SINCE), -1),
        ("heir.clock", (0, BASE), 10**6),
        ("heir.clock", (0, BASE), 300),
        ("heir.clock", (0, HEIRS), 2),
        ("heir.clock", (0, HEIRS), 1),
        ("heir.born", (0, 0), 10**6),
        ("heir.born", (0, 0), -1),
        ("heir.sums", (0, 3), -1.0),
        ("heir.sums", (0, 4), -1.0),
        ("heir.sums", (0, 6), -1.0),
        ("heir.sums", (0, 7), np.nan),
    ],
)
def test_a_damaged_heir_is_refused_before_it_leads_anywhere(name: str, place: tuple[int, ...], number: float) -> None:
    bank, t = with_heir(SMALL)
    assert bank.memory.heir.forest.feature[0, 0, 0] >= 0
    assert bank.memory.heir.clock[0, SINCE] < 300
    x = contexts(t + 1)[t]
    bank.arrays()
    bank.play(x)  # what is not damaged is not refused
    bank.arrays()[name][place] = number
    for act in (lambda: bank.play(x), lambda: bank.remember(x, np.zeros(1), np.zeros(1))):
        with pytest.raises(ValueError, match="The forest is damaged: it leads out of its arrays"):
            act()


def test_an_heir_without_rows_waits_for_one() -> None:
    """Born is damaged so that no row in memory is late; the round just told may be driven out of the queue by another one."""
    spec, waited = replace(SHORT, memory=40 * 20, lag=0.3), 0
    bank, t = with_heir(spec)
    X, targets = flipping(900, 300)
    while bank.memory.pending.clock[0, BEGUN] == 0 or bank.memory.pending.clock[0, 5] < spec.most_queued(3, 1):
        tell(bank, X[t], targets[t])
        t += 1
    assert bank.memory.heir.clock[0, HEIRS] == 1
    for chance in range(1, 60):
        other = copy.deepcopy(bank)
        held = other.arrays()
        held["heir.born"][:] = 0
        held["clock"][0, CHANCE] = chance * 10**15
        held["heir.clock"][0, SINCE] = held["heir.clock"][0, NEXT] = held["clock"][0, SEEN]
        held["pending.clock"][0, 1] = held["clock"][0, SEEN] + 1
        tell(other, X[t], targets[t])
        waited += (other.memory.heir.born[0, : other.memory.clock[0, ROWS]] == 0).all()
        for later in range(t + 1, t + 12):
            tell(other, X[later], targets[later])
            assert np.isfinite(other.memory.heir.mean).all()
            assert np.isfinite(other.memory.heir.sums).all()
    assert waited > 0, "there was no late row at all at least once"


@pytest.mark.parametrize("ready", [False, True])
@pytest.mark.parametrize("name", ["plain", "lag", "category"])
def test_stretched_in_the_middle_of_an_heirs_life_it_plays_the_same(name: str, ready: bool) -> None:
    X, targets = flipping(900, 300)
    bank, t = with_heir(SPECS[name], ready)
    larger = bank.stretched(5, np.random.default_rng(0))
    for later in range(t, t + 150):
        wide = np.append(X[later], [0.0, 0.0])
        np.testing.assert_allclose(larger.play(wide), bank.play(X[later]), rtol=1e-12)
        tell(bank, X[later], targets[later])
        tell(larger, wide, targets[later])
        np.testing.assert_array_equal(larger.memory.heir.clock, bank.memory.heir.clock)
    assert bank.memory.heir.clock[0, TAKEN] >= 1


@pytest.mark.parametrize("lag", [0.0, 0.3])
def test_stretched_where_memory_is_short_an_heir_keeps_its_rows(lag: float) -> None:
    bank, _ = with_heir(replace(SHORT, lag=lag, memory=20 * 300))
    since, rows = bank.memory.heir.clock[0, SINCE], bank.memory.clock[0, ROWS]
    late = set(bank.memory.heir.born[0, :rows][bank.memory.heir.born[0, :rows] >= since].tolist())
    larger = bank.stretched(8, np.random.default_rng(0))
    fewer = larger.memory.clock[0, ROWS]
    assert len(late) < fewer < rows
    assert late <= set(larger.memory.heir.born[0, :fewer].tolist())
    times = dict(zip(bank.memory.heir.born[0, :rows].tolist(), bank.memory.rows[0], strict=False))
    for born, row in zip(larger.memory.heir.born[0, :fewer].tolist(), larger.memory.rows[0], strict=False):
        np.testing.assert_array_equal(row, np.append(times[born], np.zeros(5, dtype=np.float32)))


def test_copies_have_heirs_of_their_own_and_are_reset_alone() -> None:
    X, targets = flipping(308, 300)
    steady = flipping(308, 9999)[1]
    both, one, two = start(SMALL, copies=2), start(SMALL), start(SMALL)
    for x, flips, stays in zip(X, targets, steady, strict=True):
        both.remember(x, np.zeros(2), -2 * np.array([flips, stays]))
        tell(one, x, flips)
        tell(two, x, stays)
    assert (both.memory.heir.clock[:, SINCE] > 0).tolist() == [True, False]
    for name, array in both.arrays().items():
        np.testing.assert_array_equal(array, np.concatenate([one.arrays()[name], two.arrays()[name]]))
    both.reset(np.array([0]), np.random.default_rng(0))
    fresh = start(SMALL)
    for name, array in both.arrays().items():
        np.testing.assert_array_equal(array, np.concatenate([fresh.arrays()[name], two.arrays()[name]]))


@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Box((-1.0, -10.0), (1.0, 10.0))], ids=["interval", "box"])
def test_within_other_learners_plain_and_compiled_rounds_agree(space: Space) -> None:
    """The default has `Steady` and `Mixed` around a forest, and `InUnits` where the sides of a box differ."""
    X, rounds = contexts(520), 520
    sign = np.where(np.arange(rounds) < 300, 0.8, -0.8) * np.sign(X[:, 0] - 0.5)
    labels = sign if space.size == 1 else sign[:, np.newaxis] * np.array([1.0, 3.0])
    world, found = bb.worlds.Supervised(X, labels, noise=bb.noise.Uniform(0.01)), []
    for compiled in (False, True):
        booster = boosted(space, answers=6, copies=4, memory=replace(SMALL, lag=0.1), seed=3)
        trace = bb.evaluate.progressive(booster, world, compiled=compiled)
        found.append((trace.predictions, heir_of(booster).copy()))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found[0][1], found[1][1])
    assert found[0][1][0, TAKEN] >= 1


def test_renews_is_true_or_false() -> None:
    with pytest.raises(ValueError, match=r"renews must be True or False, got 1\."):
        Grown(renews=1)  # type: ignore[arg-type]


def test_without_heirs_nothing_is_written_that_was_not_before() -> None:
    assert "renews" not in Grown().to_dict()
    assert not any(name.startswith("heir") for name in start(replace(SMALL, renews=False)).arrays())
