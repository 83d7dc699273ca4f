"""Linear copies for wide contexts: against whole matrices, against ridge regression, in other units, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.evaluate.undo import check_block
from banditboost.learners import ByWidth, Linear, Mixed, SecondOrder, Wide
from banditboost.learners.base import LinearWeights
from banditboost.learners.wide import WideBank
from banditboost.spaces import Box, Interval
from tests.learners.slow_wide import SlowWide

LINE = Interval(-5.0, 5.0)


def rows(rounds: int, features: int, seed: int, density: float = 0.3) -> Array:
    """Indicators, counts, a feature far from zero that is always there, and one with both signs."""
    rng = np.random.default_rng(seed)
    X = (rng.random((rounds, features)) < density).astype(float)
    X[:, 0] = 100.0 + rng.normal(size=rounds)
    X[:, 1] *= rng.normal(size=rounds)
    X[:, 2] *= rng.integers(1, 9, rounds)
    return X


def taught(spec: Wide, X: Array, gradients: Array) -> WideBank:
    bank = spec.start(1, LINE, X.shape[1], np.random.default_rng(0))
    for t, (x, g) in enumerate(zip(X, gradients, strict=True), start=1):
        bank.update(x, np.array([g]), t)
    return bank


@given(
    seed=st.integers(0, 10**6),
    features=st.integers(3, 12),
    block=st.integers(0, 8),
    proven=st.integers(1, 6),
    ridge=st.floats(0.1, 10),
    curvature=st.floats(0.5, 4),
    wary=st.booleans(),
)
@settings(max_examples=30, deadline=None)
def test_it_is_the_whole_matrix_with_entries_struck_out(
    seed: int, features: int, block: int, proven: int, ridge: float, curvature: float, wary: bool
) -> None:
    spec, rng = Wide(ridge, curvature, block, proven, wary), np.random.default_rng(seed)
    X, slow = rows(40, features, seed), SlowWide(spec, features)
    bank = spec.start(1, LINE, features, rng)
    for t, x in enumerate(X, start=1):
        assert float(bank.play(x)[0]) == pytest.approx(slow.play(x), rel=1e-7, abs=1e-7)
        g = float(rng.normal())
        bank.update(x, np.array([g]), t)
        slow.update(x, g)


@pytest.mark.parametrize("broken", ["share", "step", "gain"])
def test_the_slow_one_notices_what_is_broken_of_wary_weights(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, rng, X = Wide(block=3, proven=2, wary=True), np.random.default_rng(1), rows(80, 6, 1)
    slow, bank = SlowWide(spec, 6), spec.start(1, LINE, 6, rng)
    learn = slow.learn_warily
    change = {
        "share": lambda z, target: (learn(z, target), slow.gains.__imul__((0.0, 1.0, 1.0))),
        "step": lambda z, target: learn(z, 1.01 * target),
        "gain": lambda z, target: (learn(z, target), slow.gains.__imul__((1.0, 1.0, 0.99))),
    }
    worst = {"whole": 0.0, broken: 0.0}
    for kind, other in (("whole", SlowWide(spec, 6)), (broken, slow)):
        monkeypatch.setattr(slow, "learn_warily", change[broken])
        bank, noise = spec.start(1, LINE, 6, rng), np.random.default_rng(2)
        for t, x in enumerate(X, start=1):
            worst[kind] = max(worst[kind], abs(float(bank.play(x)[0]) - other.play(x)))
            g = float(noise.normal())
            bank.update(x, np.array([g]), t)
            other.update(x, g)
    assert worst["whole"] < 1e-7 < 1e-4 < worst[broken]


def test_wary_weights_pay_where_labels_are_noisy_and_cost_little_where_they_are_not() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((2000, 400))
    for x in X:
        x[rng.choice(400, 10, replace=False)] = 1.0
    said, shares = {}, {}
    for noise in (0.0, 3.0):
        y = X @ np.random.default_rng(1).normal(size=400) / 3 + noise * rng.normal(size=2000)
        for wary in (False, True):
            bank, errors = Wide(block=16, wary=wary).start(1, LINE, 400, rng), []
            for t, x in enumerate(X, start=1):
                errors.append((float(bank.play(x)[0]) - y[t - 1]) ** 2)
                bank.update(x, np.array([-2 * y[t - 1]]), t)
            said[noise, wary], shares[noise, wary] = np.mean(errors), float(bank.followed[0])
    assert said[3.0, True] < 0.95 * said[3.0, False]
    assert said[0.0, True] < 1.005 * said[0.0, False]
    assert shares[3.0, True] > 0.5 > 0.1 > shares[0.0, True]
    assert shares[0.0, False] == shares[3.0, False] == 0.0


def test_wary_weights_begin_again_and_keep_what_they_know_when_features_are_added() -> None:
    X, rng = rows(100, 6, 3), np.random.default_rng(3)
    bank = taught(Wide(block=2, proven=2, wary=True), X, rng.normal(size=100))
    larger = bank.stretched(9, rng)
    assert bank.followed[0] > 0.1
    assert larger.play(np.append(X[0], np.zeros(3))) == pytest.approx(bank.play(X[0]), rel=1e-12)
    shown = bank.feature_weights()[0].shown
    assert isinstance(shown, LinearWeights)
    alone = bank.weights[0] + bank.followed[0] * (bank.wary[0] - bank.weights[0])
    np.testing.assert_allclose(shown.weights[0, 0], alone, rtol=1e-12)
    bank.reset(np.array([0]), rng)
    assert not bank.wary.any()
    assert not bank.gains.any()


@pytest.mark.parametrize("broken", ["unit", "noise", "joins"])
def test_the_slow_one_notices_what_is_broken(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, rng, X = Wide(block=3, proven=2), np.random.default_rng(1), rows(40, 6, 1)
    other = {"unit": spec, "noise": Wide(2.1, block=3, proven=2), "joins": Wide(block=3, proven=3)}[broken]
    slow, bank = SlowWide(spec, 6), other.start(1, LINE, 6, rng)
    if broken == "unit":
        monkeypatch.setattr(slow, "scaled", lambda x: np.append(x / np.maximum(np.abs(X).max(axis=0), 1e-9), 1.0))
    worst = 0.0
    for t, x in enumerate(X, start=1):
        worst = max(worst, abs(float(bank.play(x)[0]) - slow.play(x)))
        bank.update(x, np.array([x[1] - 1.0]), t)
        slow.update(x, float(x[1] - 1.0))
    assert worst > 1e-4


def test_with_every_feature_in_the_block_it_is_ridge_regression() -> None:
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 5)) < 0.5, rng.choice([-1.0, 1.0], (300, 5)), 0.0)  # units are 1 then
    gradients = -2 * (X @ [1.0, -1.0, 0.5, 0.0, 2.0] + 0.1 * rng.normal(size=300))
    bank = taught(Wide(ridge=1.5, block=5, proven=1), X, gradients)
    exact = SecondOrder(1.5, 2.0, "zero", forward=False).start(1, LINE, 5, rng)
    for t, (x, g) in enumerate(zip(X, gradients, strict=True), start=1):
        exact.update(x, np.array([g]), t)
    # Covariances of the round in which a feature joins are not known: they are all there soon.
    np.testing.assert_allclose(bank.weights, exact.weights, atol=0.02)


@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_play_no_part(factor: float) -> None:
    X, rng = rows(100, 8, 3), np.random.default_rng(3)
    gradients, scale = rng.normal(size=100), np.where(np.arange(8) % 2, factor, 1.0)
    one, two = taught(Wide(block=4), X, gradients), taught(Wide(block=4), X * scale, gradients)
    np.testing.assert_allclose(one.play(X[7]), two.play(X[7] * scale), rtol=1e-8)


def test_features_that_are_never_there_change_nothing_and_take_no_memory() -> None:
    X, gradients = rows(60, 6, 4), np.random.default_rng(4).normal(size=60)
    wide = np.zeros((60, 5000))
    wide[:, 1000:1006] = X
    narrow, bank = taught(Wide(block=3), X, gradients), taught(Wide(block=3), wide, gradients)
    assert bank.play(wide[0]) == narrow.play(X[0])
    assert not bank.known[np.r_[:1000, 1006:5000]].any()


def test_a_step_never_goes_beyond_its_target() -> None:
    rng = np.random.default_rng(5)
    bank = Wide(ridge=0.1, block=2, proven=2).start(1, LINE, 30, rng)
    for t in range(1, 300):
        x = (rng.random(30) < 0.4) * rng.lognormal(0, 2, 30)
        before, target = float(bank.play(x)[0]), float(rng.normal())
        bank.update(x, np.array([-2 * target]), t)
        # The play after a round lies between the play before it and what the round asked for; units move a little.
        assert min(before, target) - 1e-9 <= again(bank, x) <= max(before, target) + 1e-9


def again(bank: WideBank, x: Array) -> float:
    """The play in the units that the round had: counted once, not twice."""
    present = np.flatnonzero(x)
    count, mean, variation, _ = bank.known[present].T
    spread = variation / count
    centred = (count >= 0.9 * bank.clock[0]) & (spread > (1e-10 * mean) ** 2)
    z = np.where(
        centred, (x[present] - mean) / np.sqrt(np.maximum(spread, 1e-300)), x[present] / np.sqrt(spread + mean**2)
    )
    return float(bank.weights[0, -1] + bank.weights[0, present] @ z)


def test_copies_and_coordinates_learn_by_themselves() -> None:
    X, rng = rows(50, 6, 6), np.random.default_rng(6)
    box, gradients = Box((-1, -1), (1, 1)), rng.normal(size=(50, 3, 2))
    bank = Wide(block=3, proven=2).start(3, box, 6, rng)
    for t, (x, g) in enumerate(zip(X, gradients, strict=True), start=1):
        bank.update(x, g, t)
    for i in range(3):
        for j in range(2):
            alone = taught(Wide(block=3, proven=2), X, gradients[:, i, j])
            assert bank.play(X[3])[i, j] == pytest.approx(float(alone.play(X[3])[0]), rel=1e-12)


def test_damage_is_found() -> None:
    bank = taught(Wide(block=2, proven=1), rows(10, 5, 7), np.ones(10))
    for name, where, value in (("clock", 1, 9), ("features", 1, 77), ("slots", 4, 3)):
        broken = bank.arrays()[name]
        kept, broken[where] = broken[where], value
        with pytest.raises(ValueError, match="The block is damaged"):
            bank.play(np.ones(5))
        broken[where] = kept
    bank.play(np.ones(5))


def test_the_covariance_of_an_earlier_version_is_read() -> None:
    """It had zeros above the diagonal."""
    X = rows(60, 6, 9)
    today, before = (taught(Wide(block=4, proven=1), X, X[:, 0]) for _ in range(2))
    covariance = before.arrays()["covariance"]
    assert np.array_equal(covariance, covariance.T)
    assert np.count_nonzero(np.triu(covariance, 1)) > 5
    covariance[np.triu_indices(5, 1)] = 0.0
    for bank in (today, before):
        bank.update(X[0], np.array([1.0]), 61)
    assert np.array_equal(today.weights, before.weights)
    assert np.array_equal(today.covariance, before.covariance)


@pytest.mark.parametrize("name", ["0.weights", "1.weights", "1.wary", "1.gains", "0.covariance"])
def test_a_number_that_is_not_finite_is_found_in_all_that_follows_from_gradients(name: str) -> None:
    wide = ByWidth(Linear(), Mixed((Wide(block=2), Wide(wary=True)), (1, 1)), most=2)
    booster, losses = bb.Booster(wide, 2, space=LINE), np.ones(3)
    booster.step(np.ones(9), lambda queries: queries[:, 0] ** 2 if queries.ndim > 1 else queries**2)
    assert booster.bank is not None
    assert booster.bank.sound == {"0.known", "1.known"} < booster.bank.arrays().keys()
    check_block(booster, losses, losses)
    booster.arrays()[name][0] = np.nan
    with pytest.raises(ValueError, match="overflow"):
        check_block(booster, losses, losses)


@pytest.mark.parametrize("wrong", [{"ridge": 0.0}, {"curvature": -1.0}, {"block": -1}, {"proven": 0}, {"wary": 1}])
def test_numbers_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must"):
        Wide(**wrong)


def test_sparse_dense_compiled_and_plain_are_one_trajectory() -> None:
    X, rng = rows(150, 40, 8, density=0.1), np.random.default_rng(8)
    y = X[:, 3] - X[:, 4] + 0.1 * rng.normal(size=150)
    wide = Wide(block=4, proven=2, wary=True)
    spec = bb.Booster(wide, 2, bb.chains.Trusted(first=1.0), space=Interval(-3, 3)).spec
    found = []
    for contexts in (X, sparse.csr_array(X)):
        for compiled in (True, False):
            booster = bb.Booster.from_spec(spec)
            world = bb.worlds.Supervised(contexts, y, noise=bb.noise.Uniform(0.1))
            found.append((bb.evaluate.progressive(booster, world, compiled=compiled).predictions, booster.arrays()))
    for predictions, arrays in found[1:]:
        np.testing.assert_allclose(predictions, found[0][0], rtol=0, atol=1e-10)
        for name, array in arrays.items():
            np.testing.assert_allclose(array, found[0][1][name], rtol=1e-9, atol=1e-9)
