"""Classes as a world: vertices as labels, bounded losses, accuracy, and a booster that learns classes from values alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost.worlds import Classification


def colours(rounds: int = 60, **kwargs: Any) -> Classification:
    rng = np.random.default_rng(0)
    return Classification(rng.normal(size=(rounds, 2)), rng.choice(["red", "blue", "green"], rounds), **kwargs)


def test_labels_are_vertices_in_the_order_of_the_names() -> None:
    world = colours()
    assert world.names == ("blue", "green", "red")
    assert world.space == bb.spaces.Simplex(3)
    assert world.shape == (3,)
    assert world.space.contains(world.labels()).all()
    np.testing.assert_array_equal(world.labels().argmax(axis=1), world.classes())


def test_names_may_be_more_than_there_are_and_in_any_order() -> None:
    world = Classification(np.zeros((3, 1)), [7, 3, 7], names=[9, 7, 5, 3])
    assert world.names == (9, 7, 5, 3)
    assert world.classes().tolist() == [1, 3, 1]


def test_shuffles_and_halves_keep_contexts_and_classes_together() -> None:
    codes = np.arange(40) % 5
    world = Classification(csr_array(codes[:, np.newaxis] * 1.0), codes)
    for part in (world.shuffled(3), *world.shuffled(3).halves(), world.head(7)):
        assert isinstance(part, Classification)
        np.testing.assert_array_equal(part.contexts().toarray()[:, 0], part.classes())
        assert part.accuracy(part.labels()) == 1.0


def test_accuracy_counts_the_likeliest_class() -> None:
    world = Classification(np.zeros((4, 1)), [0, 1, 1, 0])
    predictions = [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.5, 0.5]]  # the first of equals is taken
    assert world.hits(predictions).tolist() == [True, False, False, True]
    assert world.accuracy(predictions) == 0.5
    assert world.accuracy(predictions, since=3) == 1.0


def test_squared_loss_is_bounded_by_two() -> None:
    world = colours()
    points = np.concatenate([np.eye(3), world.space.project(np.random.default_rng(1).normal(size=(50, 3)))])
    for t in range(len(world)):
        values = world.values(t, points)
        assert values.min() == 0.0
        assert values.max() == 2.0


def test_entropy_is_the_log_loss_above_its_floor_and_bounded_below_it() -> None:
    floor = 0.05
    world = colours(loss=bb.losses.Bregman("entropy", floor))
    points = world.space.project(np.random.default_rng(1).normal(size=(200, 3)))
    for t in range(10):
        mine, values = points[:, world.classes()[t]], world.values(t, points)
        np.testing.assert_allclose(values[mine >= floor], -np.log(mine[mine >= floor]), atol=1e-12)
        assert (values <= 1 - np.log(floor) + 1e-12).all()  # the tangent at the floor, followed to zero
        assert (values[mine < floor] > -np.log(floor)).all()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"classes": [[0], [1]]}, "classes must have one axis"),
        ({"classes": [1, 1]}, "classes must have two or more different values"),
        ({"classes": [1, 2], "names": [1, 3]}, "classes must be among names, got 2"),
        ({"classes": [1, 9], "names": [1, 3]}, "classes must be among names, got 9"),
        ({"classes": [1, 2], "names": [1, 2, 2]}, "names must list every class once"),
        ({"classes": [1, 2, 3]}, "labels must be as many as contexts"),
    ],
)
def test_bad_classes_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Classification(np.zeros((2, 1)), **given)


def test_bad_predictions_are_refused() -> None:
    world = colours()
    with pytest.raises(ValueError, match=r"predictions must have shape \(60, 3\)"):
        world.accuracy(world.labels()[:5])
    with pytest.raises(ValueError, match="since must be below the 60 rounds"):
        world.accuracy(world.labels(), since=60)


def rings(rounds: int = 3000, classes: int = 6) -> Classification:
    """Classes that no linear rule tells apart: rings about the origin, cut by a line."""
    x = np.random.default_rng(5).uniform(-1, 1, (rounds, 4))
    ring = np.minimum((np.hypot(x[:, 0], x[:, 1]) * 3).astype(int), 2)
    return Classification(x, (ring + 3 * (x[:, 2] > 0)) % classes, noise=bb.noise.Uniform(0.1), seed=1)


@pytest.mark.long
def test_classes_are_learned_from_values_alone() -> None:
    world = rings()
    ways: dict[str, dict[str, Any]] = {
        "values": {},
        "fewer than slopes": {"answers": 5},
        "gradients": {"gradient": bb.gradients.Exact()},
    }
    found = {}
    for name, options in ways.items():
        trace = bb.evaluate.progressive(bb.algorithms.boosted(world.space, copies=20, **options), world)
        assert trace.compiled
        assert world.space.contains(trace.predictions).all()
        found[name] = world.accuracy(trace.predictions, since=1500)
    linear = bb.Booster(
        bb.learners.Standardized(bb.learners.SecondOrder()),
        1,
        bb.chains.Single(),
        bb.gradients.Exact(),
        world.space,
    )
    plain = world.accuracy(bb.evaluate.progressive(linear, world).predictions, since=1500)
    assert found["values"] > 0.8 > 0.7 > plain
    assert found["values"] > found["gradients"] - 0.08
    assert found["fewer than slopes"] > 0.7
