"""Trees against one that keeps everything, leaves against their closed form, regret against its bound and a known comparator."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Stump, Tree
from banditboost.learners.tree import TreeBank
from banditboost.spaces import Ball, Box, Interval, Space
from tests.learners.slow_tree import SlowTree


def start(spec: Tree, copies: int = 1, space: Space | None = None, features: int = 3, seed: int = 0) -> TreeBank:
    return spec.start(copies, space or Interval(-1.0, 1.0), features, np.random.default_rng(seed))


def mixed_contexts(rng: np.random.Generator, rounds: int) -> Array:
    """A number, a rounded number, two indicators (one rare), mostly zeros with a long tail, a constant."""
    columns = [
        rng.normal(size=rounds),
        np.round(rng.uniform(0, 5, rounds)),
        rng.random(rounds) < 0.5,
        rng.random(rounds) < 0.02,
        np.where(rng.random(rounds) < 0.8, 0.0, rng.exponential(size=rounds)),
        np.ones(rounds),
    ]
    return np.column_stack(columns)


@pytest.mark.parametrize(
    "spec",
    [
        Tree(grace=10, evidence=2.0),
        Tree(max_leaves=6, bins=4, subset=1.0, ridge=0.5, curvature=0.7, grace=7, evidence=3.0, window=25.0),
        Tree(max_depth=2, bins=2, subset=0.3, grace=5, evidence=0.0),
        Stump(subset=1.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Ball(2, 1.0)], ids=repr)
def test_bank_equals_a_tree_that_keeps_everything(spec: Tree, space: Space) -> None:
    copies, rounds, rng = 3, 1100, np.random.default_rng(21)
    contexts = mixed_contexts(rng, rounds)
    bank = start(spec, copies, space, contexts.shape[1])
    slow = [SlowTree(spec, space.size, np.flatnonzero(row).tolist()) for row in bank.trees.allowed]
    slope = rng.normal(size=(copies, *space.shape))
    for t, x in enumerate(contexts, start=1):
        row = tuple(x.tolist())
        step = (x[0] > 0.4) + 0.5 * x[2] - 2.0 * x[3] * (x[1] > 2) + 0.3 * x[4]
        plays = bank.play(x)
        assert plays.shape == (copies, *space.shape)
        expected = np.array([tree.find(row).value for tree in slow]).reshape(plays.shape)
        np.testing.assert_allclose(plays, expected, rtol=1e-9, atol=1e-9)
        gradients = slope * step + rng.normal(0.0, 0.5, (copies, *space.shape))
        bank.update(x, gradients, t)
        for tree, g in zip(slow, gradients.reshape(copies, -1), strict=True):
            tree.update(row, tuple(g.tolist()))
    assert [len(tree.leaves) for tree in slow] == bank.leaves.tolist()
    assert max(bank.leaves) > 1


RENEWED = Tree(max_leaves=4, grace=10, evidence=3.0, subset=1.0, ridge=1.0, renews=True)


@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Ball(2, 1.0)], ids=repr)
@pytest.mark.parametrize("renews", [True, False])
def test_trees_are_renewed_as_those_that_keep_everything(space: Space, renews: bool) -> None:
    """After 1,500 rounds the target of the first copy flips; that of the second stays."""
    copies, rounds, rng = 2, 2000, np.random.default_rng(22)
    spec, contexts = replace(RENEWED, renews=renews), mixed_contexts(rng, rounds)
    bank = start(spec, copies, space, contexts.shape[1])
    slow = [SlowTree(spec, space.size, np.flatnonzero(row).tolist()) for row in bank.trees.allowed]
    plays = np.zeros((copies, *space.shape))
    for t, x in enumerate(contexts, start=1):
        row = tuple(x.tolist())
        plays = bank.play(x)
        expected = np.array([tree.find(row).value for tree in slow]).reshape(plays.shape)
        np.testing.assert_allclose(plays, expected, rtol=1e-9, atol=1e-9)
        signs = np.array([-1.0 if t > 1500 else 1.0, 1.0]).reshape(copies, *(1,) * len(space.shape))
        gradients = -2 * signs * (2.0 * (x[0] > 0.4) - 1.0) + rng.normal(0.0, 0.5, (copies, *space.shape))
        bank.update(x, gradients, t)
        for tree, g in zip(slow, gradients.reshape(copies, -1), strict=True):
            tree.update(row, tuple(g.tolist()))
    assert [len(tree.leaves) for tree in slow] == bank.leaves.tolist()
    if renews:
        assert len(slow[0].renewed) == 1
        assert 1500 < slow[0].renewed[0] < 1800
        assert (np.square(plays[0] - np.sign(0.4 - contexts[-1, 0])) < 0.3).all()
    else:
        assert slow[0].renewed == []
        assert (np.square(plays[0] - np.sign(0.4 - contexts[-1, 0])) > 0.3).all()
    assert slow[1].renewed == []


@pytest.mark.parametrize("noise", [0.5, 4.0])
def test_where_nothing_changes_no_tree_is_renewed(noise: float) -> None:
    """Ten trees, of which every second one has nothing to learn; a tree with another threshold would be renewed again and again."""
    rng = np.random.default_rng(23)
    bank, contexts = start(RENEWED, 10, features=6), mixed_contexts(rng, 4000)
    signal, least = np.tile([1.0, 0.0], 5), np.ones(10)
    for t, x in enumerate(contexts, start=1):
        bank.update(x, -2 * signal * (2.0 * (x[0] > 0.4) - 1.0) + noise * rng.normal(size=10), t)
        if t > 500:
            least = np.minimum(least, bank.trees.stale[:, 1])
    assert (least > 0).all(), "sums were never set to zero"


def test_renewed_trees_keep_what_they_may_test_and_are_checked() -> None:
    bank = start(replace(RENEWED, subset=0.5), 2, features=6)
    allowed, rng = bank.trees.allowed.copy(), np.random.default_rng(24)
    for t, x in enumerate(mixed_contexts(rng, 2000), start=1):
        sign = 1.0 if t <= 1500 else -1.0
        bank.update(x, np.full(2, -2 * sign * (1.0 + x[2])), t)
    np.testing.assert_array_equal(bank.trees.allowed, allowed)
    bank.check()
    assert "stale" in bank.arrays()
    assert "stale" not in start(Tree()).arrays()
    with pytest.raises(ValueError, match=r"renews must be True or False, got 1\."):
        Tree(renews=1)  # type: ignore[arg-type]


def test_a_leaf_plays_the_minimiser_of_what_it_was_charged() -> None:
    rng = np.random.default_rng(1)
    bank = start(Tree(max_leaves=1, curvature=3.0, ridge=0.7), copies=4, space=Ball(2, 1.0))
    total = np.zeros((4, 2))
    for t in range(1, 50):
        gradients = rng.normal(size=(4, 2))
        bank.update(rng.normal(size=3), gradients, t)
        total += gradients
        np.testing.assert_allclose(bank.play(np.zeros(3)), -total / (3.0 * t + 0.7), rtol=1e-12)


def test_a_window_lets_old_gradients_fade() -> None:
    bank = start(Tree(max_leaves=1, window=10.0, ridge=1e-9))
    for t in range(1, 2001):
        bank.update(np.zeros(3), np.array([-2.0 if t <= 1900 else 2.0]), t)
    # a ← 0.9 a - 0.1 from a = 1 on: a = 2 · 0.9^n - 1.
    assert bank.play(np.zeros(3))[0] == pytest.approx(2 * 0.9**100 - 1, rel=1e-6)


def test_children_are_pulled_towards_their_parent() -> None:
    X, right, jumps = np.random.default_rng(2).uniform(size=(300, 1)), np.array([0.9]), list[float]()
    for ridge in (1e-6, 20.0, 100.0):
        bank = start(Tree(max_leaves=2, subset=1.0, ridge=ridge), features=1)
        leaves = [1.0]
        for t, x in enumerate(X, start=1):
            before = bank.play(right)[0]
            bank.update(x, np.array([-2.0 * (x[0] > 0.5)]), t)
            leaves.append(float(bank.leaves[0]))
            if leaves[-1] > leaves[-2]:
                jumps.append(float(bank.play(right)[0] - before))
        assert bank.play(right)[0] - bank.play(np.array([0.1]))[0] > 0.5
    assert len(jumps) == 3
    assert jumps[0] > jumps[1] > jumps[2] > 0


def test_regret_of_a_leaf_is_within_its_bound() -> None:
    # Follow the leader on the strongly convex f(a) = g·a + (c/2)a² plus λa²/2 (Hazan, Agarwal, Kale 2007, Theorem 1; McMahan
    # 2017, Theorem 1): Σ f(a_t) - f(u) ≤ λu²/2 + Σ (g + c a_t)² / (2(c t + λ)) for every u, on every sequence.
    c, ridge, rounds = 2.0, 1.5, 400
    for seed, rng in enumerate(map(np.random.default_rng, range(5))):
        bank = start(Tree(max_leaves=1, curvature=c, ridge=ridge))
        gradients = rng.normal(size=rounds) + np.sign(np.sin(np.arange(rounds) / (10 + 20 * seed)))
        paid, bound = 0.0, 0.0
        for t, g in enumerate(gradients, start=1):
            a = float(bank.play(np.zeros(3))[0])
            paid += g * a + c / 2 * a * a
            bound += (g + c * a) ** 2 / (2 * (c * t + ridge))
            bank.update(np.zeros(3), np.array([g]), t)
        best = -gradients.sum() / (c * rounds)
        regret = paid - (gradients.sum() * best + rounds * c / 2 * best * best)
        assert regret <= ridge * best * best / 2 + bound


def step_world(rounds: int, spread: float = 0.3) -> tuple[bb.worlds.Supervised, Array]:
    """Labels that are a tree of three leaves, plus and minus the same residual: that tree's losses are known and least."""
    rng = np.random.default_rng(3)
    X = np.repeat(rng.uniform(size=(rounds // 2, 4)), 2, axis=0)
    truth = np.where(X[:, 1] > 0.3, np.where(X[:, 2] > 0.6, 0.8, -0.2), 0.3)
    residuals = np.repeat(rng.uniform(-spread, spread, rounds // 2), 2) * np.tile([1.0, -1.0], rounds // 2)
    order = rng.permutation(rounds)
    return bb.worlds.Supervised(X[order], (truth + residuals)[order]), (residuals**2)[order]


def test_regret_against_a_known_tree_flattens() -> None:
    world, best = step_world(6000)
    learner = Tree(subset=1.0, ridge=1.0, evidence=15.0)
    booster = bb.Booster(learner, 1, gradient=bb.gradients.Exact(), space=Interval(-2.0, 2.0))
    trace = bb.evaluate.progressive(booster, world)
    regret = np.cumsum(trace.losses - best)
    assert isinstance(booster.bank, TreeBank)
    # Beside the three true leaves, cuts at bins next to the true thresholds.
    assert 3 <= booster.bank.leaves[0] <= 16
    assert regret[-1] < 60
    assert regret[-1] - regret[3000] < 0.25 * regret[3000]


def test_a_stump_finds_the_best_stump_in_hindsight() -> None:
    rng = np.random.default_rng(4)
    X, noise = rng.uniform(size=(3000, 5)), rng.normal(0, 0.2, 3000)
    y = np.where(X[:, 3] > 0.5, 0.5, -0.5) + 0.2 * (X[:, 0] > 0.5) + noise
    bank, paid = start(Stump(subset=1.0, ridge=1.0), features=5), 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True), start=1):
        play = float(bank.play(x)[0])
        paid += (play - label) ** 2
        bank.update(x, np.array([-2 * label]), t)
    best = math.inf
    for k in range(5):
        for edge in np.linspace(0.05, 0.95, 19):
            left = X[:, k] <= edge
            best = min(best, y[left].var() * left.sum() + y[~left].var() * (~left).sum())
    assert bank.trees.feature[0, 0] == 3
    assert bank.trees.threshold[0, 0] == pytest.approx(0.5, abs=0.1)
    assert bank.leaves[0] == 2
    # The early cut stays where a few contexts put it, up to a bin away from the best.
    assert paid < 1.35 * best


def test_scale_of_the_losses_does_not_matter() -> None:
    rng = np.random.default_rng(5)
    one, two = start(Tree(grace=10), 3), start(Tree(grace=10), 3)
    for t in range(1, 600):
        x, noise = rng.normal(size=3), rng.normal(size=3)
        one.update(x, noise + (x[0] > 0), t)
        two.update(x, 1024.0 * (noise + (x[0] > 0)), t)
    assert max(one.leaves) > 1
    np.testing.assert_array_equal(one.trees.feature, two.trees.feature)
    np.testing.assert_array_equal(one.trees.threshold, two.trees.threshold)
    np.testing.assert_allclose(1024.0 * one.trees.value, two.trees.value, rtol=1e-9)


def test_noise_alone_seldom_splits() -> None:
    rng = np.random.default_rng(6)
    bank = start(Tree(evidence=25.0), copies=40, features=4)
    for t in range(1, 2001):
        bank.update(rng.normal(size=4), rng.normal(size=40), t)
    assert (bank.leaves > 1).mean() < 0.1


def test_rare_indicators_are_seen() -> None:
    rng = np.random.default_rng(7)
    bank = start(Tree(subset=1.0, ridge=1.0), features=2)
    for t in range(1, 5001):
        x = (rng.random(2) < (0.5, 0.01)).astype(float)
        bank.update(x, np.array([-2.0 * x[1]]), t)
    assert bank.trees.feature[0, 0] == 1
    assert bank.trees.threshold[0, 0] == 0.5
    assert bank.play(np.array([0.0, 1.0]))[0] == pytest.approx(1.0, abs=0.05)
    assert bank.bins.offsets.tolist() == [0, 2, 4]


def test_bounds_hold_and_memory_is_fixed() -> None:
    rng = np.random.default_rng(8)
    spec, space = Tree(max_leaves=7, max_depth=3, subset=0.5, grace=2, evidence=0.0), Box((-1.0, 0.0), (1.0, 1.0))
    bank = start(spec, 5, space, features=6)
    addresses = {name: (array.ctypes.data, array.nbytes) for name, array in bank.arrays().items()}
    for t in range(1, 1500):
        bank.update(rng.normal(size=6), rng.normal(size=(5, 2)), t)
    assert {name: (array.ctypes.data, array.nbytes) for name, array in bank.arrays().items()} == addresses
    assert sum(size for _, size in addresses.values()) == spec.nbytes(5, space, features=6)
    assert bank.leaves.tolist() == [7.0] * 5
    assert bank.trees.depth.max() == 3
    assert bank.trees.allowed.sum(axis=1).tolist() == [3] * 5
    for tests, allowed in zip(bank.trees.feature, bank.trees.allowed, strict=True):
        assert allowed[tests[tests >= 0]].all()


def test_without_features_a_tree_is_a_leaf() -> None:
    bank = start(Tree(), 2, features=0)
    for t in range(1, 100):
        bank.update(np.zeros(0), np.array([-2.0, 4.0]), t)
    np.testing.assert_allclose(bank.play(np.zeros(0)), np.array([198.0, -396.0]) / (198.0 + 20.0))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("max_leaves", 0),
        ("max_depth", -1),
        ("bins", 1),
        ("grace", 0),
        ("curvature", 0.0),
        ("ridge", -1.0),
        ("evidence", -0.1),
        ("window", 0.5),
        ("subset", 0.0),
        ("subset", 1.5),
        ("subset", math.nan),
    ],
)
def test_bad_fields_are_named(field: str, bad: float) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must"):
        Tree(**{field: bad})  # type: ignore[arg-type]


def test_trees_that_no_memory_holds_are_refused() -> None:
    booster = bb.Booster(bb.learners.Tree(), copies=30, space=bb.spaces.Ball(50_000, 1.0), features=None)
    with pytest.raises(
        ValueError, match=r"30 trees of 64 leaves and 16 bins on 5000 features, .* would take .* GB of memory"
    ):
        booster.ask(np.zeros(5000))
    assert booster.bank is None
    small = bb.Booster(bb.learners.SecondOrder(), copies=2, space=bb.spaces.Interval(-1, 1))
    with pytest.raises(ValueError, match=r"The matrix of 3000000 features would take .* GB of memory"):
        small.ask(np.zeros(3_000_000))


def test_bounds_beyond_all_trees_are_none() -> None:
    booster = bb.Booster(
        Stump(max_depth=10**30, grace=10**400), 3, gradient=bb.gradients.Exact(), space=Interval(-1, 1)
    )
    for x in np.random.default_rng(0).normal(size=(40, 2)):
        booster.step(x, lambda queries: 2 * (queries - 0.5))
    assert abs(float(booster.predict([0.0, 0.0])) - 0.5) < 0.5
