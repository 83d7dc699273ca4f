"""Predicting a table is predicting its rows."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost import learners
from banditboost.chains import Additive, Chain, ConvexHull, Single, Span
from banditboost.learners import Learner
from banditboost.spaces import Interval, Simplex, Space

CONTEXTUAL = [
    spec
    for cls in vars(learners).values()
    if inspect.isclass(cls) and issubclass(cls, Learner) and not inspect.isabstract(cls) and cls.contextual
    for spec in cls.examples()
]


def trained(learner: Learner, space: Space, chain: Chain, copies: int = 4, inside: bool = True) -> bb.Booster:
    booster = bb.Booster(learner, copies, chain, bb.gradients.Exact(), space, inside=inside, features=3)
    rng = np.random.default_rng(1)
    for x in rng.normal(size=(60, 3)):
        ticket = booster.ask(x)
        booster.tell(ticket, rng.normal(size=ticket.queries.shape) + ticket.queries)
    return booster


def test_every_contextual_learner_is_looked_at() -> None:
    assert len(CONTEXTUAL) >= 15
    assert {type(spec).__name__ for spec in CONTEXTUAL} >= {
        "Linear",
        "Tree",
        "SecondOrder",
        "Mixed",
        "Fourier",
        "Wrapped",
    }


@pytest.mark.long
@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Simplex(3)], ids=["interval", "simplex"])
@pytest.mark.parametrize("learner", CONTEXTUAL, ids=lambda spec: type(spec).__name__)
def test_a_table_is_predicted_as_its_rows_are(learner: Learner, space: Space) -> None:
    booster = trained(learner, space, ConvexHull())
    X = np.random.default_rng(2).normal(size=(7, 3))
    X[2] = 0.0
    one_by_one = np.array([booster.predict(x) for x in X])
    np.testing.assert_allclose(booster.predict_many(X), one_by_one, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(booster.predict_many(csr_array(X)), one_by_one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "chain", [ConvexHull(gamma=0.5), Additive(), Span(), Single()], ids=lambda chain: type(chain).__name__
)
@pytest.mark.parametrize("inside", [True, False])
def test_stages_are_the_points_of_the_path(chain: Chain, inside: bool) -> None:
    copies, space = (1 if isinstance(chain, Single) else 4), Interval(-0.2, 0.3)
    booster = trained(bb.learners.Tree(grace=5), space, chain, copies, inside)
    X = np.random.default_rng(3).normal(size=(9, 3))
    stages = booster.predict_many(X, staged=True)
    assert stages.shape == (copies, 9)
    for x, stage in zip(X, stages.T, strict=True):
        np.testing.assert_allclose(stage, space.project(booster.ask(x).path[1:]), atol=1e-12)
    np.testing.assert_array_equal(stages[-1], booster.predict_many(X))


def test_many_rows_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    booster = trained(bb.learners.Tree(), Simplex(3), Additive())
    X = np.random.default_rng(4).normal(size=(11, 3))
    whole = booster.predict_many(X)
    monkeypatch.setattr("banditboost.booster.booster.NUMBERS_AT_A_TIME", 45)  # three rows: (4 + 1) · 3 numbers each
    np.testing.assert_array_equal(booster.predict_many(X), whole)
    assert booster.predict_many(X[:0]).shape == (0, 3)


def test_before_anything_is_learned_and_bad_tables() -> None:
    booster = bb.Booster(space=Interval(2.0, 4.0))
    assert booster.predict_many([[1.0, 2.0]]).tolist() == [booster.predict([1.0, 2.0])]
    assert booster.bank is None, "predicting decides nothing"
    booster.ask([1.0, 2.0])
    with pytest.raises(ValueError, match=r"contexts must have 2 features, got 3\."):
        booster.predict_many(np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"contexts must be finite"):
        booster.predict_many([[1.0, np.nan]])
    with pytest.raises(ValueError, match=r"contexts must be a table of features"):
        booster.predict_many([1.0, 2.0])
    with pytest.raises(ValueError, match=r"contexts must be a table of features"):
        bb.algorithms.projection_free(bb.spaces.Ball(2), horizon=10, copies=3).predict_many([[1.0]])
