"""Wider intervals and more features lose nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.interop.growing import stretched, widened
from banditboost.interop.targets import Targets
from banditboost.learners import (
    Coin,
    Fourier,
    Learner,
    Linear,
    Mixed,
    Scaled,
    ScaleFree,
    SecondOrder,
    Standardized,
    Tree,
)
from banditboost.learners.wrapped import Wrapped, least_squares
from banditboost.losses import Bregman, Squared
from banditboost.spaces import Interval, Simplex, Space

# Trees that may test every feature: which of them they may test is the one thing that is drawn anew.
TREES = Tree(subset=1.0, grace=5, evidence=1.0)
STRETCHABLE: list[Learner] = [
    Linear(),
    Linear(intercept=False),
    Coin(),
    ScaleFree(),
    SecondOrder(centre="zero", shrinks=True),
    Standardized(SecondOrder(centre="zero")),
    Scaled(Linear(), 0.5),
    TREES,
    Mixed((Standardized(SecondOrder(centre="zero")), TREES), (1, 3)),
]


def play(booster: bb.Booster, X: Array, labels: Array) -> None:
    for x, y in zip(X, labels, strict=True):
        ticket = booster.ask(x)
        booster.tell(ticket, Squared().value(ticket.queries, y))


@pytest.mark.parametrize("space", [Interval(-2.0, 2.0), Simplex(3)], ids=["interval", "simplex"])
@pytest.mark.parametrize("rounds", [7, 120], ids=["before bins are cut", "after"])
@pytest.mark.parametrize("learner", STRETCHABLE, ids=lambda spec: type(spec).__name__)
def test_a_late_feature_was_zero_before(learner: Learner, rounds: int, space: Space) -> None:
    rng, gradient = np.random.default_rng(0), bb.gradients.Fitted(0.3, scaled=True)
    X = rng.normal(size=(rounds + 250, 5))  # bins are cut anew after 256 rounds, where trees come to know new features
    X[:rounds, 2:] = 0.0
    labels = np.abs(X[:, :1]) + X[:, 3:4] * np.arange(1, space.size + 1)
    labels = labels[:, 0] if space.shape == () else labels
    late, early = (bb.Booster(learner, 4, gradient=gradient, space=space, features=p) for p in (2, 5))
    play(late, X[:rounds, :2], labels[:rounds])
    play(early, X[:rounds], labels[:rounds])
    found = stretched(late, 5)
    assert found is not None
    assert found.rounds == early.rounds
    np.testing.assert_allclose(found.predict_many(X), early.predict_many(X), rtol=1e-9, atol=1e-12)
    play(found, X[rounds:], labels[rounds:])
    play(early, X[rounds:], labels[rounds:])
    np.testing.assert_allclose(found.predict_many(X), early.predict_many(X), rtol=1e-7, atol=1e-9)
    assert (found.predict_many(X) != found.predict_many(X * [1, 1, 0, 0, 0])).any(), "new features count"


def test_copies_that_cannot_be_stretched_say_so() -> None:
    for learner in (Fourier(), Wrapped(least_squares), Mixed((Linear(), Fourier()))):
        booster = bb.Booster(learner, 4, space=Interval(-2, 2), features=2)
        assert stretched(booster, 3) is None
        assert booster.features == 2


@pytest.mark.parametrize(
    "learner", [*STRETCHABLE, Fourier(), Wrapped(least_squares)], ids=lambda spec: type(spec).__name__
)
def test_a_wider_interval_keeps_predictions_and_can_be_saved(learner: Learner, tmp_path: Path) -> None:
    rng, gradient = np.random.default_rng(1), bb.gradients.Fitted(1.0, scaled=True)
    X = rng.normal(size=(100, 2))
    booster = bb.Booster(learner, 4, gradient=gradient, space=Interval(-2, 2), features=2)
    play(booster, X, 0.3 * X[:, 0])
    wide = widened(booster, Interval(-2.0, 6.0))
    inside = np.abs(booster.predict_many(X, staged=True)).max(axis=0) < 1.5
    assert inside.any()
    np.testing.assert_array_equal(wide.predict_many(X)[inside], booster.predict_many(X)[inside])
    assert wide.spec.gradient == bb.gradients.Fitted(2.0, scaled=True)
    assert wide.gradient_memory["scale"].tolist() == [*booster.gradient_memory["scale"][:3].tolist(), 8.0]
    wide.save(tmp_path / "wide.bb")
    again = bb.Booster.load(tmp_path / "wide.bb", parts=wide.spec.callables())
    for runner in (wide, again):
        play(runner, X, 5.0 + X[:, 0])
    np.testing.assert_array_equal(wide.predict_many(X), again.predict_many(X))
    assert wide.predict_many(X).max() > 2.0


def test_budgets_and_shrinkage_go_along() -> None:
    gradient = bb.gradients.Budget(bb.gradients.Fitted(1.0, scaled=True), 3, exactly=True)
    booster = bb.Booster(TREES, 4, bb.chains.Span(), gradient, Interval(-2, 2), features=1)
    play(booster, np.ones((30, 1)), np.ones(30))
    wide = widened(booster, Interval(-4, 4))
    assert wide.spec.gradient == bb.gradients.Budget(bb.gradients.Fitted(2.0, scaled=True), 3, exactly=True)
    assert wide.chain_memory["squares"].tolist() == booster.chain_memory["squares"].tolist() != [0.0] * 4
    untouched = widened(bb.Booster(space=Interval(-2, 2)), Interval(-4, 4))
    assert untouched.bank is None
    assert untouched.spec.gradient == bb.gradients.OnePoint()


def test_ranges_of_labels() -> None:
    assert Targets.found([3.0]) == Targets(0.0, 6.0, 3.0)
    assert Targets.found([-3.0, -3.0]) == Targets(-6.0, 0.0, -3.0)
    assert Targets.found([0.0]) == Targets(-1.0, 1.0, 0.0)
    known = Targets.found([0.0, 10.0])
    assert known == Targets(-1.0, 11.0, 5.0)
    assert known.holding([11.0, -1.0, 3.0]) is known
    assert known.holding([-2.0, 3.0]) == Targets(-3.3, 11.0, 5.0)
    given = Targets.given((0, 4), Squared())
    assert given == Targets(0.0, 4.0, 2.0, fixed=True)
    assert given.holding([100.0]) is given
    assert Targets.given((1, 4), Bregman("entropy")).middle == 0.0
    for wrong in ((4, 0), (1, 1), (1, 2, 3), 5, ("a", "b"), (0, np.inf)):
        with pytest.raises(ValueError, match="target_range must be two numbers"):
            Targets.given(wrong, Squared())
    with pytest.raises(ValueError, match="target_range must be given for the loss Bregman"):
        Targets.begin(None, Bregman("entropy"), [1.0])


def test_ranges_grow_seldom() -> None:
    known, grown = Targets.found([0.0, 1.0]), 0
    for label in range(2, 10_000):
        wider = known.holding([float(label)])
        grown += wider is not known
        known = wider
    assert grown < 120


@pytest.mark.long
def test_bands_go_on_in_a_wider_interval_and_with_more_features() -> None:
    booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), copies=3, answers=2, bands=True)
    rng = np.random.default_rng(0)
    for x in rng.normal(size=(60, 2)):
        booster.step(x, lambda queries, x=x: (queries - x[0]) ** 2 + rng.normal(size=len(queries)))  # type: ignore[misc]
    band = booster.predict_loss([0.5, 0.5])
    assert widened(booster, bb.spaces.Interval(-2, 2)).predict_loss([0.5, 0.5]) == band
    larger = stretched(booster, 4)
    assert larger is not None
    assert larger.predict_loss([0.5, 0.5, 0.0, 0.0]) == band
    larger.step([0.1, 0.2, 3.0, 0.0], lambda queries: queries**2)
    assert larger.predict_loss([0.5, 0.5, 0.0, 0.0]).rounds == 61
    assert booster.predict_loss([0.5, 0.5]) == band


def test_alarms_go_on_in_a_wider_interval_and_with_more_features() -> None:
    booster = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), copies=3, answers=2, drifts=True)
    rng = np.random.default_rng(0)
    for t, x in enumerate(rng.uniform(-1, 1, (500, 2))):
        booster.step(x, lambda queries, t=t: (queries - 0.5) ** 2 + rng.normal(0, 0.1, 2) + (t >= 450))  # type: ignore[misc]
    (alarm,) = booster.drifts
    assert abs(alarm.since - 450) < 10
    known = {name: array.copy() for name, array in booster.drifts_memory.items()}
    wider = widened(booster, bb.spaces.Interval(-2, 2))
    longer = stretched(booster, 5)
    for other in (wider, longer):
        assert other is not None
        assert other.drifts == (alarm,)
        assert all(np.array_equal(array, known[name]) for name, array in other.drifts_memory.items())
