"""The report on gradients along a run: what is known in closed form comes out."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.evaluate import gradient_noise
from banditboost.gradients import Averaged, Baseline, Exact, OnePoint, Stochastic, Surrogate, TwoPoint


def setting(dimension: int | None, loss: bb.losses.Loss) -> tuple[bb.Booster, bb.worlds.Supervised]:
    linear = bb.worlds.SyntheticLinear(300, 3, dimension, noise=bb.noise.Uniform(0.1), seed=3)
    world = bb.worlds.Supervised(linear.contexts(), linear.labels(), loss, bb.noise.Uniform(0.1))
    space = bb.spaces.Interval(-2, 2) if dimension is None else bb.spaces.Ball(dimension, 2.0)
    return bb.Booster(copies=8, gradient=Surrogate(0.4), space=space, seed=1), world


def test_noise_of_two_values_is_what_arithmetic_says() -> None:
    # On the line, with the squared loss, two-point is the gradient plus (w - w')/2δ: variance 2 · 0.1²/3 / 4δ².
    booster, world = setting(None, bb.losses.Squared())
    row = gradient_noise(booster, world, [TwoPoint(0.4)], repeats=400).rows[0]
    expected = 2 * 0.1**2 / 3 / (4 * 0.4**2)
    assert row.variance == pytest.approx(expected, rel=0.1)
    assert row.error == pytest.approx(expected, rel=0.1)
    assert row.queries == 16
    assert row.smoothing == pytest.approx(0.0, abs=1e-6)


def test_told_gradients_have_no_noise_but_the_world_s() -> None:
    booster, world = setting(3, bb.losses.Absolute())
    exact, stochastic = gradient_noise(booster, world, [Exact(), Stochastic()], repeats=200).rows
    assert max(exact.error, exact.bias, exact.smoothing) < 1e-12
    assert stochastic.variance == pytest.approx(3 * 0.1**2 / 3, rel=0.1)


@pytest.mark.parametrize("dimension", [None, 4])
def test_the_unbiased_have_no_bias_and_the_biased_do(dimension: int | None) -> None:
    booster, world = setting(dimension, bb.losses.Squared())
    ways = [OnePoint(0.4), TwoPoint(0.4), Baseline(0.4), Surrogate(0.4), Averaged()]
    *unbiased, averaged = gradient_noise(booster, world, ways, repeats=300).rows
    for row in unbiased:
        assert row.bias < 5 * np.sqrt(row.variance / (300 * 10))
    assert averaged.bias > 0.05
    errors = {type(row.gradient): row.error for row in unbiased}
    assert errors[Surrogate] < 0.5 * errors[Baseline] < 0.5 * errors[OnePoint]


def test_it_trains_the_booster_and_prints_a_table() -> None:
    booster, world = setting(None, bb.losses.Squared())
    other = bb.Booster.from_spec(booster.spec)
    found = gradient_noise(booster, world, measures=3, repeats=10)
    bb.evaluate.progressive(other, world, compiled=False)
    assert booster.arrays()["weights"].tobytes() == other.arrays()["weights"].tobytes(), "measuring changes nothing"
    assert found.rounds[-1] == len(world) - 1
    lines = str(found).splitlines()
    assert len(lines) == 2
    assert lines[0].split() == ["gradient", "queries", "smoothing", "bias", "variance", "error"]
    assert lines[1].startswith("Surrogate(")


def test_a_gradient_that_does_not_fit_is_refused() -> None:
    booster, world = setting(None, bb.losses.Squared())
    with pytest.raises(ValueError, match="queries must be at most"):
        gradient_noise(booster, world, [bb.gradients.Budget(OnePoint(0.4), 99)])
    assert booster.rounds == 0
