"""Worlds that change: each changes what it says, where it says, and nothing else; the truth that they know is the truth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.algorithms import boosted
from banditboost.evaluate import best_linear, progressive
from banditboost.losses import Squared
from banditboost.noise import Uniform
from banditboost.spaces import Ball, Box, Interval, Simplex, Space
from banditboost.worlds import Drift, Flip, Gradual, Incremental, Recurring, Virtual, Wandering

Maker = Callable[..., Drift]
LINEAR: dict[str, Maker] = {
    "flip": lambda **given: Flip(at=(100, 250), **given),
    "recurring": lambda **given: Recurring(every=90, concepts=3, **given),
    "gradual": lambda **given: Gradual(begin=120, end=280, **given),
    "incremental": lambda **given: Incremental(begin=120, end=280, **given),
    "virtual": lambda **given: Virtual(at=(200,), **given),
}
ALL: dict[str, Maker] = LINEAR | {
    "wandering": lambda **given: Wandering(Ball(2), length=3.0, spread=0.1, **given),
}

each_linear = pytest.mark.parametrize("kind", LINEAR)
each = pytest.mark.parametrize("kind", ALL)


@each
def test_the_truth_is_that_of_every_round(kind: str) -> None:
    world = ALL[kind](rounds=400, seed=3)
    weights, clean = world.weights, []
    for t in range(400):
        clean.append(weights[t] @ world.context(t))
        assert world.best_losses[t] == pytest.approx(float(world.values(t, clean[t])), rel=1e-9, abs=1e-15)
    residuals = world.labels() - np.array(clean)
    largest = 0.1 if kind == "wandering" else 0.3
    assert 0.9 * largest < np.abs(residuals).max() <= largest * (1 + 1e-12)
    assert abs(residuals.mean()) < 4 * largest / np.sqrt(3 * residuals.size)
    assert isinstance(world.loss, Squared)
    assert world.path_length == pytest.approx(sum(np.linalg.norm(weights[t] - weights[t - 1]) for t in range(1, 400)))


@each_linear
def test_nothing_but_what_is_said_is_drawn_differently(kind: str) -> None:
    world = LINEAR[kind](rounds=400, features=5, norm=2.0, seed=1)
    x = world.contexts()
    assert x.shape == (400, 5)
    assert np.abs(x).max() <= 1
    assert np.linalg.norm(world.weights[[0, -1]], axis=1) == pytest.approx([2.0, 2.0])
    # Residuals have nothing to do with contexts: nobody who sees these gains more than 5 of 400 by chance.
    residuals = world.labels() - np.einsum("tn,tn->t", x, world.weights)
    left = residuals - x @ np.linalg.lstsq(x, residuals)[0]
    assert np.square(left).sum() > 0.95 * np.square(residuals).sum()


def stands(weights: Array) -> list[int]:
    """The rounds at which weights differ from those of the round before."""
    return [t for t in range(1, len(weights)) if np.any(weights[t] != weights[t - 1])]


def test_a_flip_is_the_other_sign_at_the_rounds_given() -> None:
    world = Flip(rounds=400, at=(100, 250))
    assert world.changes == (100, 250)
    assert stands(world.weights) == [100, 250]
    np.testing.assert_array_equal(world.weights[99], -world.weights[100])
    np.testing.assert_array_equal(world.weights[99], world.weights[250])
    assert Flip(rounds=7).changes == (3,)
    assert Flip(rounds=50, at=()).changes == ()
    assert stands(Flip(rounds=50, at=()).weights) == []
    assert (len(Flip()), Flip().features, Flip().changes) == (10_000, 6, (5000,))
    assert np.linalg.norm(Flip().weights[0]) == pytest.approx(np.sqrt(6))


def test_concepts_come_back_in_turn() -> None:
    world = Recurring(rounds=400, every=90, concepts=3)
    assert world.changes == (90, 180, 270, 360)
    assert stands(world.weights) == [90, 180, 270, 360]
    np.testing.assert_array_equal(world.weights[0], world.weights[270])
    np.testing.assert_array_equal(world.weights[90], world.weights[399])
    assert len(np.unique(world.weights, axis=0)) == 3
    assert Recurring(rounds=90, every=90).changes == ()


def test_a_gradual_change_is_one_of_two_concepts_with_a_probability_that_rises() -> None:
    world = Gradual(rounds=12_000, begin=1000, end=11_000, seed=2)
    old, new = world.weights[0], world.weights[-1]
    is_new = np.all(world.weights == new, axis=1)
    np.testing.assert_array_equal(is_new | np.all(world.weights == old, axis=1), True)
    assert world.changes == (1000,)
    assert not is_new[:1001].any()
    assert is_new[11_000:].all()
    for tenth in range(10):  # σ of a share of 1,000 rounds is at most 0.016
        share = is_new[1000 + 1000 * tenth : 2000 + 1000 * tenth].mean()
        assert share == pytest.approx((tenth + 0.5) / 10, abs=4 * 0.016)
    assert (Gradual(rounds=1000).changes, Gradual(rounds=2, begin=1).changes) == ((400,), (1,))


def test_an_incremental_change_is_a_straight_line() -> None:
    world = Incremental(rounds=400, begin=120, end=280)
    old, new = world.weights[0], world.weights[-1]
    assert stands(world.weights) == list(range(121, 281))
    for t in range(120, 281):
        np.testing.assert_allclose(world.weights[t], old + (t - 120) / 160 * (new - old), atol=1e-14)
    assert world.changes == (120,)
    assert world.path_length == pytest.approx(np.linalg.norm(new - old))


def test_in_a_virtual_change_only_contexts_move() -> None:
    world = Virtual(rounds=400, at=(200,), seed=4)
    x = world.contexts()
    assert world.changes == (200,)
    assert stands(world.weights) == []
    assert world.path_length == 0.0
    corner = np.sign(x[0])
    assert (x[:200] * corner).min() >= 0 >= (x[200:] * corner).max()
    # The best line in hindsight is the truth before and after, but for what it fits by chance.
    fitted = best_linear(world, intercept=False)
    assert 0.95 * world.best_losses.sum() < fitted.sum() <= world.best_losses.sum()


@pytest.mark.parametrize(
    "space",
    [Ball(3, 1.5, (1.0, 0.0, -2.0)), Box((-1.0, 0.0), (1.0, 0.5)), Interval(-1.0, 3.0), Simplex(4)],
    ids=lambda space: type(space).__name__,
)
def test_a_wandering_optimum_stays_inside_on_a_path_of_the_length_given(space: Space) -> None:
    world = Wandering(space, rounds=3000, length=5.0, seed=1)
    assert (world.shape, world.features, world.changes) == (space.shape, 1, ())
    assert space.contains(world.labels()).all()
    assert 0.99 * 5 < world.path_length <= 5.0 + 1e-9
    np.testing.assert_array_equal(world.contexts(), np.ones((3000, 1)))
    np.testing.assert_array_equal(world.weights[..., 0], world.labels())
    steps = np.linalg.norm(np.diff(world.labels(), axis=0).reshape(2999, -1), axis=1)
    assert steps.max() <= 5.0 / 2999 * (1 + 1e-9)
    assert Wandering(space, rounds=20, length=0.0).path_length == 0.0


@each
def test_parts_of_a_world_keep_the_truth_and_the_changes(kind: str) -> None:
    world = ALL[kind](rounds=400, seed=3)
    head = world.head(230)
    first, rest = world.halves()
    shuffled = world.shuffled(7)
    assert isinstance(head, Drift)
    assert head.changes == tuple(change for change in world.changes if change < 230)
    assert first.changes == tuple(change for change in world.changes if change < 200)
    assert rest.changes == tuple(change - 200 for change in world.changes if change > 200)
    assert (shuffled.changes, world.head(0).changes) == ((), ())
    np.testing.assert_array_equal(rest.weights, world.weights[200:])
    np.testing.assert_array_equal(rest.best_losses, world.best_losses[200:])
    assert shuffled.best_losses.sum() == pytest.approx(world.best_losses.sum())
    for t in range(0, 400, 37):
        truth = shuffled.weights[t] @ shuffled.context(t)
        assert shuffled.best_losses[t] == pytest.approx(float(shuffled.values(t, truth)), abs=1e-15)


@each
def test_seeds_make_worlds_and_noise_is_in_answers(kind: str) -> None:
    one, same, other = (ALL[kind](rounds=300, seed=seed, noise=Uniform(0.1)) for seed in (3, 3, 4))
    silent = ALL[kind](rounds=300, seed=3)
    for world in (same, silent):
        np.testing.assert_array_equal(one.labels(), world.labels())
        np.testing.assert_array_equal(one.contexts(), world.contexts())
    assert not np.array_equal(one.labels(), other.labels())
    assert (one.noise, silent.noise.bound) == (Uniform(0.1), 0.0)


@pytest.mark.parametrize("kind", ["flip", "wandering"])
def test_the_compiled_loop_plays_what_the_plain_one_plays(kind: str) -> None:
    def run(compiled: bool) -> Array:
        world = ALL[kind](rounds=300, seed=3, noise=Uniform(0.1))
        space: Space = Ball(2) if kind == "wandering" else Interval(-7.0, 7.0)
        trace = progressive(boosted(space, copies=5, answers=5), world, compiled=compiled)
        assert trace.compiled == compiled
        return trace.losses

    np.testing.assert_allclose(run(True), run(False), rtol=1e-5, atol=1e-8)


def test_weights_of_any_shape_of_labels() -> None:
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(7, 3)), rng.normal(size=(7, 2, 4, 3))
    world = Drift(x, weights, 0.5)
    assert world.shape == (2, 4)
    np.testing.assert_allclose(world.labels(), [w @ row + 0.5 for w, row in zip(weights, x, strict=True)])
    np.testing.assert_allclose(world.best_losses, 8 * 0.25)


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (Flip, {"rounds": 0}, "rounds must be a whole number of at least 1, got 0"),
        (Flip, {"features": 0}, "features must be a whole number of at least 1, got 0"),
        (Flip, {"spread": -1.0}, "spread must not be negative"),
        (Flip, {"norm": 0.0}, "norm must be positive"),
        (
            Flip,
            {"rounds": 10, "at": (5, 3)},
            r"at must be ascending rounds below the number of rounds, 10, got \(5, 3\)",
        ),
        (Flip, {"rounds": 10, "at": (10,)}, "at must be ascending rounds below"),
        (Virtual, {"rounds": 10, "at": (0,)}, "at must be a whole number of at least 1, got 0"),
        (Recurring, {"every": 0}, "every must be a whole number of at least 1, got 0"),
        (Recurring, {"concepts": 1}, "concepts must be a whole number of at least 2, got 1"),
        (
            Gradual,
            {"rounds": 10, "begin": 4, "end": 4},
            "begin and end must ascend between 1 and the number of rounds, 10",
        ),
        (Incremental, {"rounds": 10, "end": 11}, "begin and end must ascend between 1 and the number of rounds, 10"),
        (Flip, {"at": 5}, "at must be a sequence of rounds, got 5"),
        (Wandering, {"space": Ball(2), "length": -1.0}, "length must not be negative"),
        (
            Wandering,
            {"space": Ball(2), "length": 1e12},
            "length must be at most 100,000 diameters of the space, 200000, got 1e",
        ),
        (Wandering, {"space": "ball"}, "space must be a Space, such as Ball"),
        (
            Drift,
            {"contexts": [[1.0]], "weights": [1.0]},
            r"weights must have shape \(rounds, ..., features\) for contexts",
        ),
        (
            Drift,
            {"contexts": [[1.0]], "weights": [[1.0]], "residuals": [[1.0, 2.0]]},
            r"residuals must have the shape of the labels, \(1,\), got \(1, 2\)",
        ),
        (
            Drift,
            {"contexts": [[1.0], [2.0]], "weights": [[1.0], [1.0]], "residuals": [1.0, 2.0, 3.0]},
            r"residuals must have the shape of the labels, \(2,\), got \(3,\)",
        ),
        (Drift, {"contexts": [[1.0]], "weights": [[1.0]], "changes": (1,)}, "changes must be ascending rounds below"),
    ],
)
def test_what_makes_no_sense_is_named(make: Callable[..., Any], given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        make(**given)
