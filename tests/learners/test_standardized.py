"""The running scaler against whole-sample statistics; affine changes of the features change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import FPL, Linear, SecondOrder, Standardized
from banditboost.spaces import Interval

LINE = Interval(-1.0, 1.0)


def contexts(rounds: int = 200) -> Array:
    rng = np.random.default_rng(1)
    return np.column_stack([rng.normal(5.0, 2.0, rounds), rng.exponential(1e4, rounds), rng.random(rounds) < 0.1])


@pytest.mark.parametrize("squash", [True, False])
@pytest.mark.parametrize("spread", ["deviation", "largest"])
def test_scaled_contexts_are_those_of_the_sample_so_far(spread: str, squash: bool) -> None:
    X = contexts()
    bank = Standardized(Linear(), spread, squash).start(1, LINE, 3, np.random.default_rng(0))  # type: ignore[arg-type]
    for t, x in enumerate(X):
        seen = X[: t + 1]
        away, size = (x, np.abs(seen).max(axis=0)) if spread == "largest" else (x - seen.mean(axis=0), seen.std(axis=0))
        expected = np.where(size > 0, away / np.where(size > 0, size, 1.0), 0.0)
        expected = np.sign(expected) * np.log1p(np.abs(expected)) if squash else expected
        np.testing.assert_allclose(bank.scaled(x), expected, rtol=1e-9, atol=1e-11)
        bank.update(x, np.ones(1), t + 1)


def test_the_inner_copies_see_what_was_played_on() -> None:
    X, rng = contexts(60), np.random.default_rng(2)
    bank = Standardized(Linear(1.0)).start(2, LINE, 3, rng)
    inner = Linear(1.0).start(2, LINE, 3, rng)
    for t, x in enumerate(X, start=1):
        z, g = bank.scaled(x), rng.normal(size=2)
        np.testing.assert_array_equal(bank.play(x), inner.play(z))
        bank.update(x, g, t)
        inner.update(z, g, t)


def test_units_and_origins_change_nothing() -> None:
    X, rng = contexts(100), np.random.default_rng(3)
    banks = [Standardized(SecondOrder()).start(1, LINE, 3, rng) for _ in range(2)]
    for t, x in enumerate(X, start=1):
        g = rng.normal(size=1)
        moved = x * [1e3, -1e-2, 7.0] + [5.0, 1.0, -20.0]
        np.testing.assert_allclose(banks[0].play(x)[0], banks[1].play(moved)[0] * 1.0, rtol=1e-6, atol=1e-8)
        banks[0].update(x, g, t)
        banks[1].update(moved, g, t)


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e9, 1e-300])
def test_constant_features_are_nothing_and_cost_nothing(constant: float) -> None:
    bank = Standardized().start(1, LINE, 2, np.random.default_rng(0))
    for t in range(1, 1000):
        x = np.array([constant, float(t % 7)])
        assert bank.scaled(x)[0] == 0.0
        bank.update(x, np.zeros(1), t)


def test_variance_is_kept_far_from_the_origin() -> None:
    rng = np.random.default_rng(4)
    values = 1e8 + rng.normal(size=20_000)
    bank = Standardized().start(1, LINE, 1, rng)
    for t, value in enumerate(values, start=1):
        bank.update(np.array([value]), np.zeros(1), t)
    assert np.sqrt(bank.variations / bank.count).item() == pytest.approx(float(np.std(values - 1e8)), rel=1e-6)


def test_defaults_work_on_raw_data() -> None:
    """Raw abalone and adult features: without scaling the same learner is lost."""
    for name in ("abalone", "adult"):
        data = bb.datasets.load(name)
        world = bb.worlds.Supervised(data.X, data.y).shuffled(0).halves()[0].head(2000)
        space = Interval(*data.label_range)
        raw, scaled = (
            bb.evaluate.progressive(bb.algorithms.ogd(space, learner=learner), world).losses[500:].mean()
            for learner in (SecondOrder(10.0), Standardized(SecondOrder(10.0), squash=True))
        )
        assert scaled < raw
        assert scaled < 0.75 * world.labels().var()


def test_bad_fields_are_named() -> None:
    with pytest.raises(ValueError, match="spread must be one of deviation, largest; got 'median'"):
        Standardized(spread="median")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="learner must be one that takes contexts, got FPL"):
        Standardized(FPL())
