"""Places by evidence: who says something is found, chance is not, and rounds may come one by one or in blocks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

import banditboost as bb
from banditboost._compiled.evidence import APART, BY_CHANCE, ENOUGH, LEAST, SELDOM
from banditboost._core.shown import Shown
from banditboost.learners import Grown, Level, Linear, Mixed, Screened, Steady, Tree, Wide
from banditboost.learners.evidence import FIRST_DUE, GROWTH, Gathered
from banditboost.spaces import Box, Interval, Space

LINE = Interval(-4.0, 4.0)


class Slow:
    """The same, from all values of a feature: nothing is updated but its running mean and deviation, value by value."""

    def __init__(self, features: int, d: int) -> None:
        self.values: list[list[tuple[float, Any]]] = [[] for _ in range(features)]
        self.met = np.zeros(features)
        self.signals: list[Any] = []
        self.d = d
        self.found: dict[int, float] = {}

    def round(self, x: Any, signals: Any, placed: set[int]) -> None:
        self.signals.append(signals)
        for k in np.flatnonzero(x).tolist():
            if k in placed:
                continue
            self.met[k] += 1
            if self.met[k] <= SELDOM:
                continue
            self.values[k].append((x[k], signals))
            count = len(self.values[k]) + SELDOM
            if count >= LEAST and math.log2(count).is_integer() and self.evidence(k) >= 1:
                self.found[k] = self.evidence(k)

    def evidence(self, k: int) -> float:
        groups: dict[int, list[Any]] = {}
        for n, (x, signals) in enumerate(self.values[k], start=1):
            so_far = np.array([value for value, _ in self.values[k][:n]])
            z = (x - so_far.mean()) / so_far.std() if so_far.std() > 0 else 0.0
            groups.setdefault(0 if abs(z) <= APART else int(np.sign(z)), []).append(signals)
        large = [np.array(found) for found in groups.values() if len(found) >= ENOUGH]
        if not large:
            return 0.0
        everything = np.array(self.signals)
        sums = sum(len(g) * (g.mean(axis=0) - everything.mean(axis=0)) ** 2 / everything.var(axis=0) for g in large)
        freedom, x = len(large) * self.d, math.log(len(self.values) / BY_CHANCE)
        most = max(sums[: self.d].sum(), sums[self.d :].sum())
        return float(most / (freedom + 2 * math.sqrt(freedom * x) + 2 * x))


@pytest.mark.parametrize("space", [LINE, Box((-1.0, -1.0), (1.0, 1.0))])
def test_it_is_what_all_values_say(space: Space) -> None:
    rng = np.random.default_rng(0)
    p, d, places = 12, space.size, 8
    gathered, slow = Gathered(space, p, places), Slow(p, space.size)
    seen, chosen, taken = np.zeros(p, dtype=np.int32), np.zeros(places, dtype=np.int64), np.zeros(1, dtype=np.int64)
    placed: set[int] = set()
    for t in range(1, GROWTH**2 * FIRST_DUE + 1):
        x = rng.normal(size=p) * (rng.random(p) < np.linspace(0.2, 1.0, p))
        signals = rng.normal(size=(1, 2 * d)) + 3.0 * (x[5] > 0.3) + 3.0 * x[9]
        gathered.gather(Shown.row(x), signals, 3, (seen, chosen, taken))
        slow.round(x, signals[0], placed)
        if slow.found and t in (FIRST_DUE, GROWTH * FIRST_DUE, GROWTH**2 * FIRST_DUE):
            # One in eight places is given at a time.
            best = max(slow.found, key=lambda k: slow.found[k])
            assert int(chosen[int(taken[0]) - 1]) == best
            placed.add(best)
            del slow.found[best]
    assert len(placed) == int(taken[0])
    assert placed == {5, 9}
    used = gathered.state.clock[1]
    found = dict(zip(gathered.state.waiting[:used].tolist(), gathered.state.found[:used].tolist(), strict=True))
    assert found == pytest.approx(slow.found)


def test_the_limit_is_above_the_quantile_that_it_stands_for() -> None:
    for p in (300, 10_000, 1_000_000):
        for freedom in (1, 3, 24):
            x = math.log(p / BY_CHANCE)
            assert freedom + 2 * math.sqrt(freedom * x) + 2 * x > chi2.isf(BY_CHANCE / p, freedom)


def test_noise_gets_no_place() -> None:
    waiting = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        bank = Screened(Linear(), 16, 10**6, evidence=True).start(1, LINE, 400, rng)
        for t in range(1, 600):
            x, g = rng.random(400), rng.normal(size=1)
            bank.remember(x, np.zeros(1), g)
            bank.update(x, g, t)
        waiting += int(bank.arrays()["evidence.clock"][1]) + int(bank.arrays()["taken"][0])
    assert waiting == 0


def steps(rounds: int, features: int, seed: int) -> bb.worlds.Supervised:
    """Steps in three of very many dense features, none of which is among the first."""
    rng = np.random.default_rng(seed)
    X = rng.random((rounds, features))
    y = 2.0 * (X[:, -5] > 0.5) * (X[:, -15] > 0.4) + 3.0 * np.abs(X[:, -25] - 0.5)
    return bb.worlds.Supervised(X, (y - y.mean()) / y.std(), noise=bb.noise.Uniform(0.1), seed=seed)


def default(evidence: bool, seed: int) -> bb.Booster:
    spec = bb.algorithms.boosted(LINE, answers=2, seed=seed).spec
    learner: Any = spec.learner
    wide: Any = learner.wide
    parts = (*wide.parts[:-1], replace(wide.parts[-1], evidence=evidence))
    assert wide.parts[-1].evidence  # it is how the default is
    return bb.Booster.from_spec(replace(spec, learner=replace(learner, wide=replace(wide, parts=parts))))


@pytest.mark.long
def test_the_default_finds_the_features_that_matter_among_many() -> None:
    def late(booster: bb.Booster) -> float:
        return float(bb.evaluate.progressive(booster, steps(4000, 300, 0)).losses[2000:].mean())

    constant, by_evidence, by_count = 1.0, late(default(True, 0)), late(default(False, 0))
    assert by_evidence < 0.35 * constant
    assert by_evidence < 0.5 * by_count  # which does not see them: the broken variant


LEARNER = Mixed(
    (
        Level(),
        Wide(block=8),
        Screened(Steady(Mixed((Tree(subset=1.0, grace=20, evidence=1.5), Grown(memory=2**16)), (2, 1))), 8, 5, True),
    ),
    (1, 1, 3),
)


def booster(space: Space) -> bb.Booster:
    return bb.Booster(LEARNER, 5, chain=bb.chains.Mix(alone=1), gradient=bb.gradients.Remembered(4), space=space)


def around(learner: bb.learners.Learner) -> bb.Booster:
    return bb.Booster(
        learner, 3, chain=bb.chains.Additive(), gradient=bb.gradients.OnePoint(0.3), space=LINE, start=1.0
    )


@pytest.mark.parametrize(
    "learner",
    [
        bb.learners.Scaled(Screened(Linear(1.0), 8, 5, True), 2.0),
        bb.learners.InUnits(Screened(Linear(1.0), 8, 5, True), units=(0.5,)),
        bb.learners.Standardized(Screened(Linear(1.0), 8, 5, True)),
        bb.learners.Standardized(Mixed((Screened(Linear(2.0), 8, 5, True), Linear(1.0)), (1, 1))),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_wrappers_pass_on_when_places_are_given_and_where_gradients_were_taken(learner: bb.learners.Learner) -> None:
    compiled, plain = around(learner), around(learner)
    bb.evaluate.progressive(compiled, steps(600, 40, 1), compiled=True)
    bb.evaluate.progressive(plain, steps(600, 40, 1), compiled=False)
    gathered = [name for name in plain.arrays() if "evidence." in name or name.endswith("taken")]
    assert len(gathered) > 5
    for name in gathered:
        np.testing.assert_allclose(compiled.arrays()[name], plain.arrays()[name], atol=1e-7, rtol=1e-7, err_msg=name)


@pytest.mark.long
def test_the_default_in_a_box_of_unequal_sides_gives_places_on_both_paths() -> None:
    space = Box((-4.0, -2.0), (4.0, 2.0))
    table = steps(600, 300, 0)
    labels = np.stack([table.labels().ravel(), 0.5 * table.labels().ravel()], axis=1)
    world = bb.worlds.Supervised(table.contexts(), labels, noise=bb.noise.Uniform(0.1), seed=0)
    ours = [bb.algorithms.boosted(space, answers=2, memory=None) for _ in range(2)]
    for one, compiled in zip(ours, (True, False), strict=True):
        bb.evaluate.progressive(one, world, compiled=compiled)
    taken = [int(next(v for k, v in one.arrays().items() if k.endswith("taken"))[0]) for one in ours]
    assert taken[0] == taken[1] > 96


@pytest.mark.long
@pytest.mark.parametrize("space", [LINE, Box((-4.0, -4.0), (4.0, 4.0))])
def test_compiled_and_plain_agree_and_saved_half_way_it_goes_on(space: Space, tmp_path: Any) -> None:
    world = steps(600, 40, 1)
    if space.size > 1:
        labels = np.stack([world.labels(), -world.labels()], axis=1)
        world = bb.worlds.Supervised(world.contexts(), labels, noise=bb.noise.Uniform(0.1), seed=1)
    whole, plain, parts = booster(space), booster(space), booster(space)
    compiled = bb.evaluate.progressive(whole, world, compiled=True)
    other = bb.evaluate.progressive(plain, world, compiled=False)
    np.testing.assert_allclose(compiled.predictions, other.predictions, atol=1e-9)
    for name, array in plain.arrays().items():
        np.testing.assert_allclose(whole.arrays()[name], array, atol=1e-7, err_msg=name)
    assert (
        next(array for name, array in whole.arrays().items() if name.endswith("2.taken"))[0] > 6
    )  # more than by having been there: some by evidence
    bb.evaluate.progressive(parts, world.head(520), compiled=True)
    parts.save(tmp_path / "model.npz")
    again = bb.Booster.load(tmp_path / "model.npz")
    for t in range(520, 560):
        ticket, before = again.ask(world.contexts()[t]), parts.ask(world.contexts()[t])
        assert np.array_equal(ticket.prediction, before.prediction)
        losses = np.arange(len(ticket.queries), dtype=float)
        again.tell(ticket, losses)
        parts.tell(before, losses)


@pytest.mark.long
def test_means_are_kept_over_blocks_in_which_places_are_given() -> None:
    means = bb.evaluate.progressive(booster(LINE), steps(300, 40, 1), compiled=True, keep="means")
    losses = bb.evaluate.progressive(booster(LINE), steps(300, 40, 1), compiled=True)
    assert means.mean == pytest.approx(losses.mean, rel=1e-12)


def test_more_features_leave_what_is_known_as_it_is() -> None:
    rng = np.random.default_rng(0)
    bank = Screened(Linear(), 8, 5, True).start(1, LINE, 5, rng)
    for t in range(1, 100):
        x = rng.normal(size=5)
        bank.remember(x, np.zeros(1), np.array([x[2] > 0.0]))
        bank.update(x, np.array([x[2] > 0.0]), t)
    larger = bank.stretched(9, rng)
    for name, array in bank.arrays().items():
        if name.startswith("evidence."):
            assert np.array_equal(larger.arrays()[name][: len(array)], array)
            assert not larger.arrays()[name][len(array) :].any()


def test_damage_is_found() -> None:
    bank = Screened(Linear(), 2, 1, True).start(1, LINE, 5, np.random.default_rng(0))
    bank.update(np.ones(5), np.array([1.0]), 1)
    for where, value in ((0, -1), (0, 2**62), (1, 10**6)):
        clock = bank.arrays()["evidence.clock"]
        kept, clock[where] = clock[where], value
        with pytest.raises(ValueError, match="The evidence for features is damaged"):
            bank.play(np.ones(5))
        clock[where] = kept
    seen = Screened(Linear(), 2, 3).start(1, LINE, 5, np.random.default_rng(0))
    seen.arrays()["seen"][:] = 2**31 - 1  # one more would be below zero: a place far beyond the last
    with pytest.raises(ValueError, match="The places are damaged"):
        seen.play(np.ones(5))
    bank.play(np.ones(5))
    with pytest.raises(ValueError, match="evidence must be True or False"):
        Screened(evidence=1)  # type: ignore[arg-type]
