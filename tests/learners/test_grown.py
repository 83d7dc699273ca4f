"""Forests that are grown anew: the same as slowly grown ones, judged by rounds not seen, bounded in memory, and worth it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.algorithms import boosted
from banditboost.learners import Grown
from banditboost.learners.grown_bank import GrownBank
from banditboost.spaces import Box, Interval, Simplex, Space
from tests.learners import slow_grown

LINE = Interval(-3.0, 3.0)


def remembered(spec: Grown, X: Array, targets: Array, space: Space = LINE) -> GrownBank:
    """A bank that was told where the loss would have been least."""
    bank = spec.start(1, space, X.shape[1], np.random.default_rng(0))
    for x, target in zip(X, targets, strict=True):
        bank.remember(x, np.zeros((1, *space.shape)), -2 * np.asarray(target).reshape(1, *space.shape))
    return bank


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("sparse", [False, True])
def test_it_grows_what_a_slow_program_grows(d: int, sparse: bool) -> None:
    rng = np.random.default_rng(d)
    X = rng.integers(0, 12, (90, 4)).astype(float)
    if sparse:
        X[rng.random(X.shape) < 0.7] = 0.0
    targets = np.stack([np.sin(X[:, 0] + j) + 0.3 * X[:, 1] * (X[:, 2] > 4) for j in range(d)], axis=1)
    targets += 0.1 * rng.normal(size=targets.shape)
    spec = Grown(trees=10, leaves=6, rate=0.3, ridge=2.0, least=5.0, first=90)
    bank = remembered(spec, X, targets, LINE if d == 1 else Box((-9.0,) * d, (9.0,) * d))
    bank.memory.errors[:] = 0.0  # all trees are used
    slowly = slow_grown.forest(X, targets.copy(), 10, 6, 0.3, 2.0, 5.0)
    for x in np.concatenate([X[:30], rng.uniform(-1, 13, (20, 4)).round()]):
        expected = slow_grown.predict(slowly, targets.mean(axis=0), 0.3, x)
        np.testing.assert_allclose(np.ravel(bank.play(x)), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("power", [-8, 12])
def test_residuals_are_counted_in_units_of_their_size(power: int) -> None:
    rng = np.random.default_rng(11)
    X = rng.random((90, 4))
    targets, scale = np.sin(9 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=90), 2.0**power
    spec = Grown(trees=10, leaves=6, rate=0.3, least=5.0, first=90)
    banks = [remembered(spec, X, by * targets, Interval(-3.0 * by, 3.0 * by)) for by in (1.0, scale)]
    np.testing.assert_array_equal(banks[0].memory.forest.feature, banks[1].memory.forest.feature)
    np.testing.assert_array_equal(scale * banks[0].memory.forest.value, banks[1].memory.forest.value)
    assert (banks[0].memory.forest.feature >= 0).sum() > 20


def test_trees_are_grown_at_geometric_times() -> None:
    spec = Grown(trees=10, leaves=3, first=20, growth=1.5)
    bank = spec.start(1, LINE, 2, np.random.default_rng(0))
    rng, times, before = np.random.default_rng(1), [], 20
    for t in range(1, 400):
        bank.remember(rng.random(2), np.zeros(1), rng.normal(size=1))
        if bank.memory.clock[0, 2] != before:
            times.append(t)
            before = int(bank.memory.clock[0, 2])
    assert times == [20, 30, 45, 68, 102, 153, 230, 345]


@pytest.mark.parametrize("signal", [0.0, 2.0])
def test_rounds_not_seen_decide_how_many_trees_are_used(signal: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.random((1500, 3))
    targets = signal * np.sign(X[:, 0] - 0.5) + rng.normal(size=1500)
    bank = remembered(Grown(least=5.0), X, targets)
    played = np.ravel(bank.play_many(X[:200]))
    errors = bank.memory.errors[0]
    if signal:
        assert errors[0] > 2 * errors.min(), "the mean is no match"
        assert np.square(played - signal * np.sign(X[:200, 0] - 0.5)).mean() < 0.3
    else:
        assert errors[0] == errors.min(), "trees fit noise"
        np.testing.assert_allclose(played, targets.mean(), atol=1e-9)


def test_memory_is_bounded_and_older_rounds_fade() -> None:
    spec = Grown(memory=12 * 100, first=50, trees=10, leaves=3)
    rows = spec.most_rows(1, 1)
    assert rows == 100
    times = np.arange(2000.0)
    bank = remembered(spec, times[:, np.newaxis], times * 1e-3)
    kept = np.sort(bank.memory.rows[0, :, 0])
    assert bank.memory.rows.shape == (1, 100, 1)
    assert kept.max() == 1999.0
    ages = 1999 - kept
    assert 60 < ages.mean() < 160, "as old as there are places, in the mean"
    np.testing.assert_allclose(bank.memory.targets[0, :, 0], 1e-3 * bank.memory.rows[0, :, 0], atol=1e-6)


def test_what_is_remembered_is_the_label_where_gradients_are_exact() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.random((60, 2)), rng.uniform(-1, 1, 60)
    booster = boosted(Interval(-1, 1), gradient=bb.gradients.Exact(), memory=2**20)
    for x, label in zip(X, y, strict=True):
        ticket = booster.ask(x)
        booster.tell(ticket, 2 * (ticket.queries - label))
    arrays = booster.arrays()
    kept = next(array for name, array in arrays.items() if name.endswith("targets"))
    np.testing.assert_allclose(
        kept[0, 1:60, 0], y[1:], atol=1e-9
    )  # the first gradient may be an outlier, for all that is known


SPACES: list[Space] = [Interval(0.0, 4.0), Box((0.0, 10.0), (1.0, 40.0)), Simplex(3)]


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("answers", [1, 2, 6])
def test_compiled_and_plain_agree_and_saved_half_way_it_goes_on(space: Space, answers: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    X = rng.random((160, 3))
    labels = space.project(np.asarray(space.inner_centre) + 0.2 * (X[:, :1] - 0.5) * space.extents).reshape(
        -1, *space.shape
    )
    world = bb.worlds.Supervised(X, labels, noise=bb.noise.Uniform(0.01))
    runs = []
    for compiled in (False, True):
        booster = boosted(space, answers=answers, copies=6, memory=2**16, seed=3)
        runs.append(bb.evaluate.progressive(booster, world, compiled=compiled).predictions)
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-6, atol=1e-9)
    first = boosted(space, answers=answers, copies=6, memory=2**16, seed=3)
    both = [first]
    for t, x in enumerate(X):
        if t == 70:  # trees were grown, and will be
            first.save(tmp_path / "b")
            both.append(bb.Booster.load(tmp_path / "b"))
        for booster in both:
            ticket = booster.ask(x)
            away = (ticket.queries - labels[t]).reshape(len(ticket.queries), -1)
            booster.tell(ticket, np.square(away).sum(axis=1))
    assert both[0].digest() == both[1].digest()


@pytest.mark.long
@pytest.mark.parametrize("around", [bb.learners.Scaled, bb.learners.Steady, bb.learners.InUnits])
def test_a_forest_within_another_learner_remembers_the_same_on_both_paths(around: Any) -> None:
    rng = np.random.default_rng(7)
    X = rng.random((60, 3))
    world = bb.worlds.Supervised(X, np.sign(X[:, 0] - 0.5) * 0.5, noise=bb.noise.Uniform(0.1))
    kept = []
    for compiled in (False, True):
        booster = bb.Booster(around(Grown(first=100)), copies=2, space=Interval(-1.0, 1.0))  # nothing is grown yet
        bb.evaluate.progressive(booster, world, compiled=compiled)
        kept.append(next(array for name, array in booster.arrays().items() if name.endswith("targets")))
    np.testing.assert_allclose(kept[0], kept[1], rtol=1e-9, atol=1e-12)


def streams(name: str) -> tuple[bb.worlds.Supervised, Interval]:
    """Two streams that the pages speak of: letter, and noise."""
    if name == "noise":
        rng = np.random.default_rng(6)
        return bb.worlds.Supervised(
            rng.random((3000, 8)), rng.normal(size=3000), noise=bb.noise.Uniform(0.1)
        ), Interval(-4, 4)
    data = bb.datasets.load(name).scaled("minmax")
    world = bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1)).shuffled(0).halves()[0].head(5000)
    return world, Interval(*data.label_range)


@pytest.mark.parametrize("answers", [1, 2, 30])
def test_it_is_worth_its_memory(answers: int) -> None:
    world, space = streams("letter")
    plain, remembers = (
        bb.evaluate.progressive(boosted(space, answers=answers, memory=memory), world).losses[2500:].mean()
        for memory in (None, 2**25)
    )
    assert remembers < 0.85 * plain
    assert remembers < 0.6 * bb.evaluate.running_mean(world)[2500:].mean()


@pytest.mark.parametrize("answers", [2, 30])
def test_noise_is_left_alone(answers: int) -> None:
    world, space = streams("noise")
    trace = bb.evaluate.progressive(boosted(space, answers=answers, memory=2**25), world)
    assert trace.losses[200:].mean() < 1.01 * bb.evaluate.running_mean(world)[200:].mean()


@dataclass(frozen=True)
class Forgetful(Grown, kind="tests:Forgetful"):
    """Trees that are never grown."""

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Any:
        bank = super().start(copies, space, features, rng)
        bank.memory.clock[:, 2] = 2**60
        return bank


def test_a_forest_that_is_never_grown_is_caught() -> None:
    world, space = streams("letter")
    booster = boosted(space, answers=30, memory=2**25)
    learner: Any = booster.spec.learner.learner  # type: ignore[attr-defined]  # for narrow contexts
    parts = (*learner.learner.parts[:-1], Forgetful())
    broken = bb.Booster.from_spec(
        replace(booster.spec, learner=replace(learner, learner=replace(learner.learner, parts=parts)))
    )
    plain = bb.evaluate.progressive(boosted(space, answers=30), world).losses[2500:].mean()
    assert bb.evaluate.progressive(broken, world).losses[2500:].mean() > 0.95 * plain


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"trees": 0}, "trees must be"),
        ({"leaves": 1}, "leaves must be"),
        ({"growth": 1.0}, "growth must be above 1"),
        ({"bins": 256}, "bins must be at least 2 and at most 255"),
        ({"least": 0.0}, "least must be"),
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Grown(**wrong)


def test_a_booster_that_remembers_has_four_copies() -> None:
    with pytest.raises(ValueError, match="copies must be at least 4 where rounds are remembered, got 3"):
        boosted(LINE, copies=3, memory=1000)


@pytest.mark.parametrize(
    ("name", "place", "number"),
    [
        ("clock", (0, 1), 10**9),
        ("clock", (0, 0), -1),
        ("clock", (0, 3), 10**6),
        ("forest.feature", (0, 0, 0), 10**6),
        ("forest.feature", (0, 0, 0), -2),
        ("forest.child", (0, 0, 0), 10**6),
        ("forest.child", (0, 0, 0), 0),
    ],
)
def test_a_damaged_forest_is_refused_before_it_leads_anywhere(name: str, place: tuple[int, ...], number: int) -> None:
    rng = np.random.default_rng(8)
    X = rng.random((60, 2))
    bank = remembered(Grown(trees=10, leaves=4, least=2.0, first=50), X, np.sign(X[:, 0] - 0.5))
    assert bank.memory.forest.feature[0, 0, 0] >= 0
    bank.play(X[0])
    bank.arrays()[name][place] = number
    for act in (lambda: bank.play(X[0]), lambda: bank.remember(X[0], np.zeros(1), np.zeros(1))):
        with pytest.raises(ValueError, match="The forest is damaged"):
            act()


def test_only_tests_that_can_be_reached_are_shown() -> None:
    rng = np.random.default_rng(9)
    X = rng.random((1500, 2))
    targets = np.sign(X[:, 0] - 0.5) * (np.arange(1500) < 60)  # forgotten by the end, when there is nothing to split
    bank = remembered(Grown(trees=10, leaves=8, least=2.0, first=50, memory=960), X, targets)
    forest, reached = bank.memory.forest, 0
    for tree in range(bank.memory.clock[0, 3]):
        nodes = [0]
        while nodes:
            node = nodes.pop()
            if forest.feature[0, tree, node] >= 0:
                reached += 1
                nodes += [forest.child[0, tree, node], forest.child[0, tree, node] + 1]
    (shown,) = bank.feature_weights()
    assert shown.shown is not None
    assert shown.shown[0].sum() == reached


@pytest.mark.parametrize(
    ("frugal", "knows", "trees", "again"), [(True, False, 40, 640), (True, True, 10, 1280), (False, True, 40, 640)]
)
def test_a_frugal_forest_stays_small_and_is_seldom_grown_where_others_know_as_much(
    frugal: bool, knows: bool, trees: int, again: int
) -> None:
    spec = Grown(trees=40, leaves=8, least=3.0, first=20, growth=2.0, frugal=frugal)
    bank = spec.start(1, Interval(-4, 4), 3, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    for _ in range(400):
        x = rng.random(3)
        z = 4.0 * x[0] * x[1] + rng.normal(scale=0.1)
        anchor = 4.0 * x[0] * x[1] if knows else 0.0
        bank.remember(x, np.array([anchor]), 2 * np.array([anchor - z]))
    assert bank.memory.clock[0, 3] == trees
    assert bank.memory.clock[0, 2] == again, (
        "after 20, 80 and 320 rounds, and where it is worth it, or not frugal, after 160, too"
    )
    assert ("worth" in bank.arrays()) == frugal
