"""Decisions that are weight vectors: the compiled loop is the plain one, on dense and sparse tables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb

pytestmark = pytest.mark.long


def make_world(loss: bb.losses.Loss, sparse: bool = False) -> bb.worlds.WeightSpace:
    rng = np.random.default_rng(3)
    X = rng.uniform(0, 1, (400, 4)) * (rng.random((400, 4)) < 0.5)
    y = np.where(rng.random(400) < 0.5, -1.0, 1.0) if isinstance(loss, bb.losses.Logistic) else 1 + X.sum(axis=1)
    inner = bb.worlds.Supervised(csr_array(X) if sparse else X, y, loss, bb.noise.Uniform(0.1), seed=4)
    return bb.worlds.WeightSpace(inner)


@pytest.mark.parametrize(
    ("loss", "sparse"),
    [
        (bb.losses.Squared(), False),
        (bb.losses.Absolute(), True),
        (bb.losses.Logistic(), False),
        (bb.losses.Quantile(0.3), True),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("chain", "copies", "queries"),
    [(bb.chains.ConvexHull(), 4, 1), (bb.chains.Single(), 1, 6), (bb.chains.ConvexHull(steps=(0.5, 0.3)), 2, 2)],
)
@pytest.mark.parametrize("inside", [True, False])
def test_compiled_is_plain(
    loss: bb.losses.Loss, chain: bb.chains.Chain, copies: int, queries: int, inside: bool, sparse: bool
) -> None:
    world = make_world(loss, sparse)
    learner = bb.learners.OGD(rate=bb.rates.Power(0.01, 0.5))
    spec = bb.Booster(
        learner, copies, chain, bb.gradients.OnePoint(0.3, queries), bb.spaces.Ball(5, 2.0), inside=inside
    ).spec
    boosters = [bb.Booster.from_spec(spec) for _ in range(2)]
    traces = [bb.evaluate.progressive(b, world, compiled=c) for b, c in zip(boosters, (True, False), strict=True)]
    for name in ("predictions", "losses", "paid"):
        np.testing.assert_allclose(getattr(traces[0], name), getattr(traces[1], name), rtol=1e-9, atol=1e-9)
    one, two = (b.bank.arrays()["points"] for b in boosters if b.bank is not None)
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)
    assert (np.linalg.norm(one, axis=1) <= 2.0 + 1e-9).all()


def test_a_loss_of_weights_is_the_loss_of_their_prediction() -> None:
    world = make_world(bb.losses.Squared())
    w = np.array([[0.1, 0.2, -0.3, 0.4, 0.5]])
    x = np.append(world.world.context(7), 1.0)
    assert world.values(7, w)[0] == pytest.approx((w[0] @ x - world.world.labels()[7]) ** 2)
    h = 1e-6
    for k in range(5):
        step = h * np.eye(5)[k]
        slope = (world.values(7, w + step)[0] - world.values(7, w - step)[0]) / (2 * h)
        assert world.gradients(7, w)[0, k] == pytest.approx(slope, abs=1e-6)


def test_other_parts_take_the_plain_path() -> None:
    world = make_world(bb.losses.Squared())
    booster = bb.algorithms.projection_free(bb.spaces.Ball(5), horizon=400, copies=2)
    with pytest.raises(ValueError, match="there is no compiled loop for the learner AdaptiveFPL"):
        bb.evaluate.progressive(booster, world, compiled=True)


def test_labels_must_be_plain_numbers() -> None:
    with pytest.raises(ValueError, match="labels of shape"):
        bb.worlds.WeightSpace(bb.worlds.Supervised(np.ones((3, 1)), np.ones((3, 2))))
