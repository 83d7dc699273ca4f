"""Labelled data as a world: labels stay hidden, orders are permutations, noise is nobody else's."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.losses import Absolute, Quantile, Squared
from banditboost.noise import Uniform
from banditboost.spaces import Ball, Interval
from banditboost.worlds import Supervised, SyntheticLinear


def numbered(rounds: int, shape: tuple[int, ...] = (), **kwargs: Any) -> Supervised:
    """A world whose t-th context says t and whose t-th label says -t."""
    contexts = np.arange(rounds, dtype=np.float64)[:, np.newaxis] * [1.0, 10.0]
    labels = -np.arange(rounds, dtype=np.float64).reshape(-1, *(1,) * len(shape)) * np.ones(shape)
    return Supervised(contexts, labels, **kwargs)


def rows(world: Supervised) -> list[int]:
    return [int(x) for x in world.contexts()[:, 0]]


def test_contexts_know_nothing_of_labels() -> None:
    rng = np.random.default_rng(41)
    x = rng.normal(size=(50, 3))
    one, other = Supervised(x, rng.normal(size=50)), Supervised(x, rng.normal(size=50))
    for left, right in ((one, other), (one.shuffled(3), other.shuffled(3)), (one.halves()[1], other.halves()[1])):
        np.testing.assert_array_equal(left.contexts(), right.contexts())
        for t in range(len(left)):
            np.testing.assert_array_equal(left.context(t), right.context(t))
        assert not np.shares_memory(left.contexts(), left.labels())
    # A table cut in two: the context holds its own columns, and no view of the label's.
    table = rng.normal(size=(50, 4))
    world = Supervised(table[:, :3], table[:, 3])
    x0 = world.context(0)
    assert x0.shape == (3,)
    assert x0.base is None or x0.base.shape[-1] == 3
    assert not np.shares_memory(world.context(0), table[:, 3])


@pytest.mark.parametrize("shape", [(), (2,), (2, 3)], ids=str)
def test_round_t_charges_its_own_label(shape: tuple[int, ...]) -> None:
    world = numbered(9, shape).shuffled(1)
    rng = np.random.default_rng(42)
    points = rng.normal(size=(4, *shape))
    assert (world.shape, world.features, len(world)) == (shape, 2, 9)
    for t in range(9):
        label = -world.context(t)[0]
        np.testing.assert_array_equal(world.context(t), world.contexts()[t])
        np.testing.assert_array_equal(world.labels()[t], np.full(shape, label))
        expected = [float(np.square(p - label).sum()) for p in points]
        np.testing.assert_allclose(world.values(t, points), expected)
        np.testing.assert_allclose(world.gradients(t, points), 2 * (points - label))
        np.testing.assert_array_equal(world.contexts(t, t + 3), world.contexts()[t : t + 3])
        np.testing.assert_array_equal(world.labels(t, t + 3), world.labels()[t : t + 3])


def test_the_loss_is_the_one_given() -> None:
    world = Supervised(np.zeros((1, 1)), [2.0], loss=Quantile(0.9))
    assert world.values(0, np.array([1.0, 3.0])).round(12).tolist() == [0.9, 0.1]
    assert world.gradients(0, np.array([1.0, 3.0])).round(12).tolist() == [-0.9, 0.1]
    assert isinstance(Supervised(np.zeros((1, 1)), [2.0]).loss, Squared)


def test_shuffles_are_permutations() -> None:
    world = numbered(200)
    orders = [rows(world.shuffled(seed)) for seed in range(8)]
    for order in orders:
        assert sorted(order) == list(range(200))
        assert order != list(range(200))
    assert len({tuple(order) for order in orders}) == 8
    assert rows(world.shuffled(5)) == orders[5]
    assert rows(world) == list(range(200))  # the world itself is as it was
    # Uniformly so: the first row of 2,000 shuffles of 4 rows is each of them about 500 times (σ = 19).
    first = [rows(numbered(4).shuffled(seed))[0] for seed in range(2000)]
    assert all(abs(first.count(k) - 500) < 4 * 19.4 for k in range(4))


def test_shuffling_a_shuffle_keeps_rows_and_labels_together() -> None:
    world = numbered(30).shuffled(0).shuffled(1).halves()[1].shuffled(2).head(7)
    assert len(world) == 7
    np.testing.assert_array_equal(world.labels(), -world.contexts()[:, 0])


@pytest.mark.parametrize("rounds", [2, 3, 10, 11])
def test_halves_are_disjoint_and_cover(rounds: int) -> None:
    world = numbered(rounds).shuffled(4)
    tuning, testing = world.halves()
    assert rows(tuning) + rows(testing) == rows(world)
    assert not set(rows(tuning)) & set(rows(testing))
    assert len(tuning) == rounds // 2
    assert rows(world.head(2)) == rows(world)[:2]
    assert rows(world.head(100)) == rows(world)


def draws(seed: int, role: str) -> Array:
    return stream(seed, role).random(4000)


def test_no_two_halves_share_noise() -> None:
    seeds = [half.seed for seed in range(20) for half in numbered(10).shuffled(seed).halves()]
    assert len(set(seeds)) == 40
    samples = [Uniform(0.1).sample(stream(seed, "noise"), (3,)).tolist() for seed in seeds]
    assert len({tuple(sample) for sample in samples}) == 40


def test_roles_with_one_seed_are_independent() -> None:
    roles = ("directions", "perturbations", "noise", "shuffling", "world")
    for seed in (0, 1, 7):
        for i, one in enumerate(roles):
            for other in roles[:i]:
                assert abs(np.corrcoef(draws(seed, one), draws(seed, other))[0, 1]) < 4 / math.sqrt(4000)
        # And no role's stream is another's with a neighbouring seed.
        for neighbour in (2 * seed, 2 * seed + 1, seed + 1):
            assert abs(np.corrcoef(draws(seed, "directions"), draws(neighbour, "noise"))[0, 1]) < 4 / math.sqrt(4000)


@pytest.mark.parametrize("seed", [0, 3])
def test_noise_does_not_follow_the_boosters_directions(seed: int) -> None:
    """Noise w with E[w v] ≠ 0 would enter every gradient (d/δ) w v: asked and answered as a run does, with one seed."""
    rounds, copies = 300, 10
    world = Supervised(np.zeros((rounds, 1)), np.zeros(rounds), noise=Uniform(0.1), seed=seed)
    booster = Booster(copies=copies, space=Interval(-2.0, 2.0), seed=seed)
    rng, products = stream(world.seed, "noise"), []
    for t in range(rounds):
        ticket = booster.ask(world.context(t))
        blurred = world.answer(t, ticket, True, rng)
        noise = blurred - world.values(t, ticket.queries)
        assert np.abs(noise).max() <= 0.1 + 1e-12
        directions = np.sign(ticket.queries - ticket.path[:-1])
        products.append(noise * directions)
        np.testing.assert_array_equal(world.answer(t, ticket, False, rng), world.values(t, ticket.queries))
        booster.tell(ticket, blurred)
    assert abs(np.mean(products)) < 3 * 0.1 / math.sqrt(3 * rounds * copies)


def test_answers_are_what_is_asked() -> None:
    world = numbered(3, (2,), loss=Absolute())
    booster = Booster(space=Ball(2, 2.0), copies=4)
    ticket = booster.ask(world.context(1))
    rng = stream(0, "noise")
    np.testing.assert_array_equal(world.answer(1, ticket, True, rng), world.values(1, ticket.queries))  # silent
    assert rng.random() == stream(0, "noise").random()


@pytest.mark.parametrize(
    ("contexts", "labels", "sentence"),
    [
        (np.zeros((0, 3)), np.zeros(0), r"contexts must have at least one row, got none\."),
        ([], [], r"contexts must have shape \(rounds, features\), got \(0,\)\."),
        ([1.0, 2.0], [1.0, 2.0], r"contexts must have shape \(rounds, features\), got \(2,\)\."),
        (np.zeros((2, 2, 2)), [1.0, 2.0], r"contexts must have shape \(rounds, features\), got \(2, 2, 2\)\."),
        ([[1.0], [math.nan]], [1.0, 2.0], r"contexts must be finite, got NaN or infinity\."),
        ([[1.0], [math.inf]], [1.0, 2.0], r"contexts must be finite, got NaN or infinity\."),
        ([[1.0], [2.0]], [1.0, math.nan], r"labels must be finite, got NaN or infinity\."),
        ([[1.0], [2.0]], [1.0], r"labels must be as many as contexts, got \(1,\) for 2 contexts\."),
        ([[1.0], [2.0]], 1.0, r"labels must be as many as contexts, got \(\) for 2 contexts\."),
        ([[1.0], [2.0, 3.0]], [1.0, 2.0], r"contexts must be numbers in a regular array, got list\."),
        ([["a"], ["b"]], [1.0, 2.0], r"contexts must be numbers in a regular array, got list\."),
        ([[1.0], [2.0]], None, r"labels must be (finite|numbers|as many).*\."),
    ],
)
def test_bad_data_raises_one_sentence(contexts: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Supervised(contexts, labels)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_bad_seeds_are_named(seed: Any) -> None:
    makers: list[Callable[[Any], Supervised]] = [
        lambda seed: numbered(4, seed=seed),
        lambda seed: numbered(4).shuffled(seed),
        lambda seed: SyntheticLinear(rounds=4, seed=seed),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=r"^seed must be a whole number of at least 0, got"):
            make(seed)


def test_other_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match="must have at least two rounds to be halved, got 1"):
        numbered(1).halves()
    with pytest.raises(ValueError, match=r"^rounds must be a whole number"):
        numbered(4).head(-1)
