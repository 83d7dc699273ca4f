"""Features in their first units: what is noticed, what is left alone, and what it is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import FPL, ByWidth, Linear, SecondOrder, Standardized, Steady, Tree
from banditboost.learners.steady import SteadyBank
from banditboost.spaces import Interval
from tests.evaluate.test_compiled_learners import agree

LINE = Interval(-1.0, 1.0)
KINDS = ("lengths", "indicators", "skewed", "signed")


def values(rounds: int, seed: int = 0) -> Array:
    """Lengths far from zero, indicators that are mostly zero, a skewed feature and one with both signs."""
    rng = np.random.default_rng(seed)
    kinds = (rng.uniform(1, 3, rounds), rng.random(rounds) < 0.3, rng.gamma(2.0, 1.0, rounds), rng.normal(0, 2, rounds))
    return np.column_stack([kind.astype(float) for kind in kinds])


def after(*blocks: Array) -> SteadyBank:
    bank = Steady().start(1, LINE, blocks[0].shape[1], np.random.default_rng(0))
    for t, x in enumerate(np.concatenate(blocks), start=1):
        bank.update(x, np.array([0.0]), t)
    return bank


def test_features_that_stay_as_they_are_are_shown_as_they_are() -> None:
    X = values(20_000)
    bank = after(X)
    inside = np.abs(X) <= np.abs(X[:15_000]).max(axis=0)
    assert np.array_equal(bank.shown(X)[inside], X[inside])


@pytest.mark.parametrize("factor", [3.0, 10.0, 1000.0])
@pytest.mark.parametrize("feature", range(4), ids=KINDS)
def test_another_unit_is_found_and_so_is_the_way_back(feature: int, factor: float) -> None:
    scale = np.ones(4)
    scale[feature] = factor
    first, then = values(3000, 1), values(3000, 2)
    bank = after(first, then * scale)
    back = bank.shown(scale)
    assert abs(back[feature] - 1) < (0.1 if feature == 1 else 0.05)  # of an indicator there are fewer values
    assert np.array_equal(np.delete(back, feature), np.ones(3))
    assert np.array_equal(after(first, then * scale, values(300, 3)).shown(np.ones(4)), np.ones(4))


def test_growth_that_takes_a_thousand_rounds_is_followed_to_its_end() -> None:
    growth = np.concatenate([np.linspace(1, 10, 1000), np.full(2000, 10.0)])[:, np.newaxis]
    bank = after(values(6000, 1), values(3000, 2) * growth)
    np.testing.assert_allclose(bank.shown(np.full(4, 10.0)), 1.0, atol=0.05)


@pytest.mark.parametrize("rounds", [500, 5000, 50_000])
def test_a_feature_that_grows_steadily_is_left_alone(rounds: int) -> None:
    days = np.arange(1.0, rounds + 1)[:, np.newaxis]
    assert after(days).shown(days[-1:]).tolist() == [[rounds]]


def test_seasons_are_left_alone() -> None:
    hours = np.repeat(np.arange(24.0), 200)
    X = np.column_stack([np.tile(hours, 4), 20 + 15 * np.sin(np.arange(4 * len(hours)) / 3000)])
    assert np.array_equal(after(X).shown(np.array([23.0, 30.0])), [23.0, 30.0])


def test_a_single_value_that_is_out_of_all_proportion_is_cut() -> None:
    X = values(300)
    bank = after(X)
    largest = np.abs(X[:270]).max(axis=0)
    assert (bank.shown(np.full(4, 1e9)) <= 1.25 * largest + 1e-12).all()
    assert (bank.shown(np.full(4, -1e9)) >= -1.25 * largest - 1e-12).all()
    odd = X.copy()
    odd[150] = 1e9
    np.testing.assert_allclose(after(odd, values(3000, 1)).shown(np.ones(4)), 1.0)


def test_looking_changes_nothing() -> None:
    bank = after(values(500))
    before = {name: array.copy() for name, array in bank.arrays().items()}
    bank.play(np.full(4, 1e5))
    bank.play_many(1e5 * values(100))
    assert all(np.array_equal(array, before[name]) for name, array in bank.arrays().items())


def changed_world(rounds: int = 1500) -> bb.worlds.Supervised:
    X = values(rounds, 5)
    y = np.where(X[:, 0] > 2, 0.4, -0.4) + 0.3 * np.tanh(X[:, 3]) + 0.2 * X[:, 1]
    X[rounds // 3 :] *= (20.0, 1.0, 300.0, 5.0)
    return bb.worlds.Supervised(X, y)


@pytest.mark.parametrize(
    "inner", [Linear(), Standardized(SecondOrder()), Tree()], ids=["linear", "standardized", "tree"]
)
def test_the_compiled_loop_is_the_plain_loop_through_a_change(inner: bb.learners.Learner) -> None:
    if isinstance(inner, Tree):
        booster = bb.algorithms.boosted(Interval(-1, 1), copies=4, seed=2, memory=None)
        quick, plain = bb.Booster.from_spec(booster.spec), bb.Booster.from_spec(booster.spec)
        one = bb.evaluate.progressive(quick, changed_world(), compiled=True)
        two = bb.evaluate.progressive(plain, changed_world(), compiled=False)
        np.testing.assert_allclose(one.predictions, two.predictions, rtol=0, atol=1e-9)
        return
    booster = bb.Booster(
        learner=Steady(inner), copies=2, chain=bb.chains.Additive(), gradient=bb.gradients.Exact(), space=LINE
    )
    agree(booster, changed_world())


def test_the_default_goes_on_where_the_learner_without_it_is_lost() -> None:
    world, booster = (
        changed_world(6000),
        bb.algorithms.boosted(Interval(-1, 1), answers=2, copies=10, seed=0, memory=None),
    )
    chosen = booster.spec.learner
    assert isinstance(chosen, ByWidth)
    steady = chosen.learner  # for narrow contexts
    assert isinstance(steady, Steady)
    lost = bb.Booster.from_spec(replace(booster.spec, learner=steady.learner))
    here = bb.evaluate.progressive(booster, world).losses[4000:].mean()
    there = bb.evaluate.progressive(lost, world).losses[4000:].mean()
    calm = bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), world).losses[1500:2000].mean()
    assert here < 0.5 * there
    assert here < 1.2 * calm


def test_what_is_kept_is_what_the_kernel_keeps() -> None:
    from banditboost._compiled import steady as kernel
    from banditboost.learners import steady as learner

    assert (kernel.ROWS, kernel.UNIT) == (learner.ROWS, learner.NOW)


def test_units_that_cannot_be_divided_by_are_refused() -> None:
    bank = after(values(100))
    bank.known[4, 2] = 0.0
    with pytest.raises(ValueError, match="known must hold finite numbers, and units above zero"):
        bank.check()


def test_a_learner_without_contexts_is_refused() -> None:
    with pytest.raises(ValueError, match="learner must be one that takes contexts"):
        Steady(FPL())
