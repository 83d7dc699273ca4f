"""Parameters become parts, or a sentence."""

from __future__ import annotations

from typing import Any

import pytest

import banditboost as bb
from banditboost.algorithms.names import LOSSES_OF_NUMBERS, chain_for
from banditboost.chains import Chain, ConvexHull, Trusted
from banditboost.interop.recipes import Recipe, loss_of, noise_of
from banditboost.learners import (
    ByWidth,
    Coin,
    Fourier,
    Learner,
    Linear,
    Mixed,
    Network,
    SecondOrder,
    Standardized,
    Steady,
    Tree,
    Wrapped,
)
from banditboost.losses import Absolute, Huber
from banditboost.spaces import Interval, Simplex


@pytest.mark.parametrize("space", [Interval(-3.0, 4.0), Simplex(5)])
def test_the_default_is_the_library_s(space: Any) -> None:
    assert Recipe(seed=7).spec(space) == bb.algorithms.boosted(space, seed=7).spec
    assert Recipe(copies=12, answers=4).spec(space) == bb.algorithms.boosted(space, copies=12, answers=4).spec
    told = bb.algorithms.boosted(space, gradient=bb.gradients.Exact(), curvature=1.0).spec
    assert Recipe(loss=Huber(), feedback="full").spec(space) == told


def test_halves_of_the_default_by_name() -> None:
    space, usual = Interval(-1, 1), bb.algorithms.boosted(Interval(-1, 1), memory=None).spec
    assert isinstance(usual.learner, ByWidth)
    steady = usual.learner.learner
    assert isinstance(steady, Steady)
    assert isinstance(steady.learner, Mixed)
    assert Recipe("second-order").spec(space).learner == steady.learner.parts[0]
    assert Recipe("trees").spec(space).learner == steady.learner.parts[1]
    assert Recipe("trees", copies=1).spec(space).learner == Tree()
    assert Recipe("coin").spec(space).learner == Coin()
    assert Recipe("coin").spec(space).chain == ConvexHull()


@pytest.mark.parametrize(
    ("learner", "chain"),
    [
        (Tree(), Trusted()),
        (Network(), Trusted()),
        (Wrapped(bb.learners.wrapped.least_squares), Trusted()),
        (Standardized(SecondOrder(centre="zero")), Trusted()),
        (Mixed((Tree(), SecondOrder(centre="zero"))), Trusted()),
        (Mixed((Tree(), Linear())), ConvexHull()),
        (SecondOrder(), ConvexHull()),
        (Fourier(), ConvexHull()),
        (Linear(), ConvexHull()),
    ],
)
def test_chains_that_fit_their_learner(learner: Learner, chain: Chain) -> None:
    assert chain_for(learner) == chain
    assert Recipe(learner).spec(Interval(-1, 1)).chain == chain
    assert Recipe(learner, chain=ConvexHull(gamma=0.5)).spec(Interval(-1, 1)).chain == ConvexHull(gamma=0.5)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (
            {"learner": "forest"},
            "learner must be one of boosted, coin, .*, trees; got 'forest'",
        ),
        ({"learner": bb.learners.FPL()}, "learner must be one that takes contexts"),
        ({"copies": 0}, "copies must be a whole number"),
        ({"feedback": "some"}, "feedback must be one of bandit, full"),
        ({"curvature": 2.0}, "curvature must be left out with feedback 'bandit'"),
        ({"feedback": "full", "answers": 3}, "answers must be left out with feedback 'full'"),
        ({"feedback": "full", "loss": Absolute()}, "curvature must be given with feedback 'full': the loss Absolute"),
        ({"feedback": "full", "curvature": -1.0}, "curvature must be positive"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Recipe(**given)


def test_losses_and_noises() -> None:
    assert loss_of("absolute", LOSSES_OF_NUMBERS) == Absolute()
    assert loss_of(Huber(3.0), LOSSES_OF_NUMBERS) == Huber(3.0)
    with pytest.raises(ValueError, match="loss must be one of absolute, huber, quantile, squared; got 'hinge'"):
        loss_of("hinge", LOSSES_OF_NUMBERS)
    assert noise_of(None) == bb.noise.Silent()
    assert noise_of(0.2) == bb.noise.Uniform(0.2)
    assert noise_of(bb.noise.Rademacher(1.0)) == bb.noise.Rademacher(1.0)
    with pytest.raises(ValueError, match="noise must be a number, got 'loud'"):
        noise_of("loud")
