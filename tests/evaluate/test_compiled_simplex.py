"""The compiled loops on a simplex: the same trajectory as the plain path, and a projection that needs no sorting."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost._compiled.jit import loop
from banditboost._compiled.spaces import Simplex, project
from banditboost._core.checks import Array
from tests.evaluate import test_compiled, test_compiled_tree

pytestmark = pytest.mark.long

SPACES = [bb.spaces.Simplex(2), bb.spaces.Simplex(4), bb.spaces.Simplex(3, 2.0, 0.25)]
GRADIENTS = [
    bb.gradients.Exact(),
    bb.gradients.Stochastic(),
    bb.gradients.OnePoint(0.1),
    bb.gradients.TwoPoint(0.1, queries=2),
    bb.gradients.Baseline(0.1, window=20),
    bb.gradients.Surrogate(0.1, queries=3),
    bb.gradients.Surrogate(0.1, queries=4, model="diagonal", ridge=0.1),
    bb.gradients.Fitted(0.4, ridge=0.1),
    bb.gradients.Fitted(0.4, queries=2, model="linear"),
    bb.gradients.Budget(bb.gradients.Fitted(0.4, queries=4, model="diagonal", ridge=0.1), 9, exactly=True),
]


@loop
def project_rows(region: Simplex, points: Array, out: Array) -> None:
    for i in range(points.shape[0]):
        project(region, points, i, points.shape[1], out, i)


@pytest.mark.parametrize("dimension", [2, 3, 26, 100])
@pytest.mark.parametrize(("total", "floor"), [(1.0, 0.0), (5.0, 0.03)])
def test_projection_is_the_one_by_sorting(dimension: int, total: float, floor: float) -> None:
    space, rng = bb.spaces.Simplex(dimension, total, floor), np.random.default_rng(0)
    # From deep inside to far away, with equal coordinates, with members, and with coordinates that the cut meets exactly.
    points = np.concatenate([scale * rng.normal(size=(200, dimension)) for scale in (0.01, 1.0, 1e6)])
    points = np.concatenate([points, np.round(points), space.project(points), np.eye(dimension), -np.eye(dimension)])
    out = np.empty_like(points)
    project_rows(Simplex(floor, space.spread), points, out)
    np.testing.assert_allclose(out, space.project(points), rtol=0, atol=1e-9)
    assert (out >= floor).all()
    in_place = points.copy()
    project_rows(Simplex(floor, space.spread), in_place, in_place)
    np.testing.assert_array_equal(in_place, out)


@pytest.mark.parametrize("gradient", GRADIENTS, ids=str)
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_gradient(gradient: bb.gradients.Gradient, space: bb.spaces.Simplex) -> None:
    learner = bb.learners.Linear(radius=3.0, rate=bb.rates.Power(0.02, 0.5))
    chains = (
        bb.chains.ConvexHull(gamma=0.8),
        bb.chains.Span(rate=bb.rates.Power(0.05, 0.5)),
        bb.chains.Additive(first=1.0),
    )
    k = GRADIENTS.index(gradient)  # chains, losses and both answers to `inside` come in turn, each with each other
    booster = bb.Booster(learner, 5, chains[k % 3], gradient, space, inside=k % 2 == 0, seed=2)
    loss: bb.losses.Loss = bb.losses.Squared() if k % 4 < 2 else bb.losses.Bregman("entropy", 0.05)
    test_compiled.agree(booster, test_compiled.world_for(space, loss, 300))


def test_a_span_whose_rate_would_follow_rounding_errors_takes_the_plain_path() -> None:
    world = test_compiled.world_for(SPACES[1], bb.losses.Squared(), 20)
    booster = bb.Booster(copies=3, chain=bb.chains.Span(), gradient=bb.gradients.Exact(), space=SPACES[1])
    assert not bb.evaluate.progressive(booster, world).compiled
    with pytest.raises(ValueError, match="chain Span on a Simplex, unless it is given a rate"):
        bb.evaluate.progressive(booster, world, compiled=True)


def test_a_thousand_rounds() -> None:
    space = bb.spaces.Simplex(4)
    learner = bb.learners.Standardized(bb.learners.SecondOrder(centre="zero"))
    booster = bb.Booster(learner, 6, bb.chains.Additive(first=1.0), bb.gradients.Fitted(0.35, ridge=0.1), space, seed=1)
    quick, plain = (bb.Booster.from_spec(booster.spec) for _ in range(2))
    world = test_compiled.world_for(space, bb.losses.Squared(), 1000)
    one, two = (bb.evaluate.progressive(b, world, compiled=c) for b, c in ((quick, True), (plain, False)))
    np.testing.assert_allclose(one.predictions, two.predictions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(one.paid, two.paid, rtol=0, atol=1e-9)


@pytest.mark.parametrize("gradient", [bb.gradients.Exact(), bb.gradients.Fitted(0.35, queries=2, ridge=0.1)], ids=str)
@pytest.mark.parametrize("space", SPACES[1:], ids=str)
def test_trees(gradient: bb.gradients.Gradient, space: bb.spaces.Simplex) -> None:
    # Labels inside the simplex: plays that are cut off at a vertex would leave trees to choose among equal splits by rounding.
    rng, contexts = np.random.default_rng(3), test_compiled_tree.world_for(bb.spaces.Interval(-1, 1)).contexts()
    steps = np.where(contexts[:, :1] > 0.3, 1.0, -1.0) * space.tangent(np.eye(space.dimension)[0])
    labels = space.inner_centre + space.inner_radius * (0.5 * steps + 0.05 * rng.uniform(-1, 1, steps.shape))
    world = bb.worlds.Supervised(contexts, space.project(labels), noise=bb.noise.Uniform(0.01), seed=9)
    linear = bb.learners.Standardized(bb.learners.SecondOrder(centre="zero"))
    learner = bb.learners.Mixed((linear, test_compiled_tree.GROWING), (1, 4))
    test_compiled_tree.agree(bb.Booster(learner, 5, bb.chains.Additive(first=1.0), gradient, space, seed=2), world)
