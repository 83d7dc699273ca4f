"""Random Fourier features: their kernel, their coordinates, whose they are; and that copies of their own make boosting pay."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from banditboost.learners import Coin, Fourier, Learner, Linear, ScaleFree, SecondOrder, Standardized
from banditboost.spaces import Ball, Interval

LINE = Interval(-1.0, 1.0)


def test_mean_product_is_the_gaussian_kernel() -> None:
    rng = np.random.default_rng(1)
    bank = Fourier(Linear(), features=40_000, bandwidth=0.8, raw=False).start(1, LINE, 3, rng)
    for distance in (0.0, 0.5, 1.5):
        x = rng.normal(size=3)
        other = x + distance * np.array([0.6, 0.0, 0.8])
        product = float((bank.shown(x) * bank.shown(other)).mean())
        assert product == pytest.approx(math.exp(-(distance**2) / (2 * 0.8**2 * 3)), abs=0.03)


def test_cosines_look_at_as_many_coordinates_as_asked() -> None:
    bank = Fourier(features=300, coordinates=2, shared=False).start(2, LINE, 5, np.random.default_rng(2))
    assert bank.picks.shape == bank.frequencies.shape == (2, 300, 2)
    assert (np.diff(bank.picks, axis=-1) > 0).all()
    for k in range(5):
        share = (bank.picks == k).any(axis=-1).mean()
        assert share == pytest.approx(2 / 5, abs=0.08)
    more = Fourier(features=4, coordinates=9).start(1, LINE, 5, np.random.default_rng(2))
    assert more.picks.shape == (1, 4, 5)


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("learner", [Linear(1.0), SecondOrder(), ScaleFree(), Coin()], ids=str)
def test_every_copy_learns_from_its_own_features(learner: Any, shared: bool, raw: bool) -> None:
    rng, space = np.random.default_rng(3), Ball(2, 1.0)
    bank = Fourier(learner, 6, shared=shared, raw=raw).start(3, space, 2, rng)
    alone = [learner.start(1, space, 6 + 2 * raw, rng) for _ in range(3)]
    for t in range(1, 40):
        x, g = rng.normal(size=2), rng.normal(size=(3, 2))
        shown = bank.shown(x)
        assert shown.shape == (1 if shared else 3, 6 + 2 * raw)
        plays = bank.play(x)
        for i in range(3):
            own = shown[0 if shared else i]
            np.testing.assert_allclose(plays[i], alone[i].play(own)[0], rtol=1e-9, atol=1e-12)
            alone[i].update(own, g[i : i + 1], t)
        bank.update(x, g, t)
    assert np.abs(plays).max() > 0.01


def fit(spec: Learner, copies: int, rounds: int = 3000) -> float:
    """Mean squared error, in the last third, of copies that each correct what the ones before have left."""
    rng = np.random.default_rng(4)
    bank, paid = spec.start(copies, LINE, 2, rng), 0.0
    for t in range(1, rounds + 1):
        x = rng.uniform(-1, 1, 2)
        y = math.sin(4 * x[0]) * math.cos(3 * x[1])
        path = np.append(0.0, np.cumsum(bank.play(x)))
        bank.update(x, 2 * (path[:-1] - y), t)
        paid += (path[-1] - y) ** 2 if 3 * t > 2 * rounds else 0.0
    return 3 * paid / rounds


def test_copies_with_features_of_their_own_make_boosting_pay() -> None:
    inner = SecondOrder(0.1, centre="zero", shrinks=True)
    own = Fourier(inner, features=12, bandwidth=0.3, shared=False)
    same = Fourier(inner, features=12, bandwidth=0.3, shared=True)
    assert fit(own, 8) < 0.5 * fit(own, 1)
    assert fit(own, 8) < 0.5 * fit(same, 8)
    # And a linear model alone has nothing to say.
    assert fit(inner, 8) > 0.1


def test_draws_are_part_of_the_state() -> None:
    bank = Fourier(features=4, shared=False).start(2, LINE, 3, np.random.default_rng(5))
    other = Fourier(features=4, shared=False).start(2, LINE, 3, np.random.default_rng(6))
    bank.update(np.ones(3), np.ones(2), 1)
    for name, array in other.arrays().items():
        array[...] = bank.arrays()[name]
    np.testing.assert_array_equal(bank.play(np.ones(3)), other.play(np.ones(3)))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"features": 0}, "features must be a whole number of at least 1, got 0."),
        ({"bandwidth": 0.0}, "bandwidth must be positive, got 0.0."),
        ({"coordinates": 0}, "coordinates must be a whole number of at least 1, got 0."),
        ({"learner": Standardized()}, f"learner must be a linear one, such as SecondOrder(), got {Standardized()!r}."),
    ],
)
def test_bad_fields_are_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        Fourier(**changes)
