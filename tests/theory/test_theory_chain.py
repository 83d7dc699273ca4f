"""The recursion, its weights, and the unrolled lemma on arbitrary plays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from banditboost import theory

Array = NDArray[np.float64]
steady = settings(derandomize=True, deadline=None, max_examples=100)


def weights_of_steps(steps: Array) -> Array:
    """Unroll y^i = (1-η_i) y^{i-1} + η_i a_i by hand: one unit play at a time."""
    weights = []
    for i in range(len(steps)):
        y = 0.0
        for k, eta in enumerate(steps):
            y = (1 - eta) * y + eta * (k == i)
        weights.append(y)
    return np.array(weights)


@pytest.mark.parametrize("copies", [1, 2, 3, 7, 30, 200])
def test_weights_are_those_of_the_steps(copies: int) -> None:
    weights = theory.chain_weights(copies)
    assert weights.sum() == pytest.approx(1.0, rel=1e-13)
    np.testing.assert_allclose(weights, weights_of_steps(theory.step_lengths(copies)), rtol=1e-12)


@steady
@given(
    copies=st.integers(1, 300),
    curvature=st.floats(0, 1e6),
    regret=st.floats(-1e6, 1e6),
    start=st.floats(-1e6, 1e6),
)
def test_recursion_claim_holds_with_equality_iterated(
    copies: int, curvature: float, regret: float, start: float
) -> None:
    values = theory.recursion_values(copies, curvature, regret, start)
    bounds = theory.recursion_bound(copies, curvature, regret)
    assert np.all(values <= bounds + 1e-12 * (curvature + abs(regret)))


@pytest.mark.parametrize("copies", [1, 2, 5, 50, 1000])
def test_recursion_has_its_closed_form(copies: int) -> None:
    harmonic = sum(1 / k for k in range(1, copies + 2))
    expected = 3.0 + 7.0 * 2 * (copies + 1 - harmonic) / (copies * (copies + 1))
    assert theory.recursion_values(copies, 7.0, 3.0)[-1] == pytest.approx(expected, rel=1e-12)


def test_recursion_claim_is_asymptotically_exact() -> None:
    value, bound = theory.recursion_values(10_000, 1.0, 0.0)[-1], theory.recursion_bound(10_000, 1.0, 0.0)[-1]
    assert 0.999 < value / bound < 1
    assert theory.recursion_bound(1, 1.0, 0.0)[0] == 2 * theory.recursion_values(1, 1.0, 0.0)[0]


def value_and_gradient(kind: str, y: Array, c: Array) -> tuple[float, Array]:
    """Three convex losses with smoothness of at most 2: stretched square, logistic along c, Huber."""
    if kind == "square":
        h = np.linspace(0.0, 2.0, len(y))
        return float(0.5 * (h * (y - c) ** 2).sum()), h * (y - c)
    if kind == "logistic":
        z = float(c @ y)
        scale = 8.0 / max(float(c @ c), 1e-9)
        return float(scale * np.logaddexp(0.0, z)), scale * c / (1.0 + np.exp(-z))
    r = float(np.linalg.norm(y - c))
    return (r**2, 2 * (y - c)) if r <= 0.5 else (r - 0.25, (y - c) / r)


@steady
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["square", "logistic", "huber"]),
    gamma=st.sampled_from([0.3, 1.0, 2.5]),
    copies=st.integers(1, 8),
    dimension=st.integers(1, 4),
    moving=st.booleans(),
)
def test_any_plays_satisfy_the_lemma(
    seed: int, kind: str, gamma: float, copies: int, dimension: int, moving: bool
) -> None:
    rng, rounds = np.random.default_rng(seed), 5
    plays = rng.uniform(-1, 1, size=(rounds, copies, dimension))  # the box [-1, 1]^d
    targets = rng.normal(size=(rounds, dimension))
    stars = rng.uniform(-1, 1, size=(rounds, dimension)) if moving else rng.uniform(-1, 1, size=dimension)
    start = rng.uniform(-1, 1, size=dimension) / gamma
    gradients, regret = np.empty_like(plays), 0.0
    for t in range(rounds):
        y = start
        for i in range(copies):
            gradients[t, i] = value_and_gradient(kind, y, targets[t])[1]
            y = (1 - 2 / (i + 2)) * y + 2 / (i + 2) * plays[t, i] / gamma
        star = stars[t] if moving else stars
        regret += value_and_gradient(kind, y, targets[t])[0] - value_and_gradient(kind, star, targets[t])[0]
    diameter = 2 * np.sqrt(dimension)
    lemma = theory.unrolled_lemma(gradients, plays, stars, smoothness=2.0, diameter=diameter, gamma=gamma)
    low, linear, high = theory.unrolled_bracket(gradients, plays, stars, smoothness=2.0, start=start, gamma=gamma)
    assert low - 1e-9 <= regret <= high + 1e-9
    assert low <= linear <= high <= lemma + 1e-9


@steady
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.2, 5.0), copies=st.integers(1, 12))
def test_round_quadratics_make_the_bracket_an_identity(seed: int, gamma: float, copies: int) -> None:
    rng = np.random.default_rng(seed)
    plays, targets = rng.normal(size=(4, copies, 2, 3)), rng.normal(size=(4, 2, 3))  # decisions are matrices
    star, start, beta = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), 1.7
    gradients, regret = np.empty_like(plays), 0.0
    for t in range(4):
        y = start
        for i in range(copies):
            gradients[t, i] = beta * (y - targets[t])
            y = (1 - 2 / (i + 2)) * y + 2 / (i + 2) * plays[t, i] / gamma
        regret += beta / 2 * (((y - targets[t]) ** 2).sum() - ((star - targets[t]) ** 2).sum())
    low, linear, high = theory.unrolled_bracket(gradients, plays, star, smoothness=beta, start=start, gamma=gamma)
    assert low + high - linear == pytest.approx(regret, rel=1e-9, abs=1e-9 * (1 + abs(high)))


def test_start_outside_the_set_breaks_the_lemma_but_not_the_bracket() -> None:
    # One copy, ℓ = y²/2, plays in [1, 1.01], start 0 outside of it: the step from 0 to 1 is longer than D.
    plays, gradients = np.array([[1.0]]), np.array([[0.0]])
    regret = 0.5  # of y = 1 against x* = 0
    assert regret > theory.unrolled_lemma(gradients, plays, 0.0, smoothness=1.0, diameter=0.01)
    assert regret <= theory.unrolled_bracket(gradients, plays, 0.0, smoothness=1.0, start=0.0).upper


def test_constant_comparator_equals_its_repetition() -> None:
    rng = np.random.default_rng(0)
    grads, plays, star = rng.normal(size=(6, 3, 2)), rng.normal(size=(6, 3, 2)), rng.normal(size=2)
    repeated = np.repeat(star[None], 6, axis=0)
    one = theory.unrolled_lemma(grads, plays, star, smoothness=1.0, diameter=2.0)
    assert one == pytest.approx(theory.unrolled_lemma(grads, plays, repeated, smoothness=1.0, diameter=2.0))
    a = theory.unrolled_bracket(grads, plays, star, smoothness=1.0, start=star)
    b = theory.unrolled_bracket(grads, plays, repeated, smoothness=1.0, start=repeated)
    np.testing.assert_allclose(a, b)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"plays": np.ones(3)}, r"plays must have shape \(rounds, copies, \*shape\) and not be empty, got \(3,\)"),
        ({"plays": np.ones((0, 2, 1))}, "plays must have shape .* not be empty"),
        ({"plays": np.full((2, 3, 1), np.nan)}, "plays must be finite, got NaN or infinity"),
        ({"gradients": np.ones((2, 3, 2))}, r"gradients must have the shape of plays \(2, 3, 1\), got \(2, 3, 2\)"),
        ({"gradients": [[1.0], [1.0, 2.0]]}, "gradients must be numbers in a regular array, got list"),
        ({"comparator": np.ones(2)}, r"comparator must have shape \(1,\) or \(2, 1\), got \(2,\)"),
        ({"smoothness": 0.0}, "smoothness must be positive, got 0.0"),
        ({"gamma": -1.0}, "gamma must be positive, got -1.0"),
        ({"gamma": "x"}, "gamma must be a number, got 'x'"),
    ],
)
def test_bad_runs_are_refused(change: dict[str, object], message: str) -> None:
    ones = np.ones((2, 3, 1))
    good: dict[str, object] = {"gradients": ones, "plays": ones, "comparator": np.ones(1), "smoothness": 1.0}
    arguments = good | change
    with pytest.raises(ValueError, match=message):
        theory.unrolled_lemma(**arguments, diameter=1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        theory.unrolled_bracket(**arguments, start=np.ones(1))  # type: ignore[arg-type]


def test_bad_start_and_diameter_are_refused() -> None:
    ones = np.ones((2, 3, 1))
    with pytest.raises(ValueError, match=r"start must have shape \(1,\) or \(2, 1\), got \(5,\)"):
        theory.unrolled_bracket(ones, ones, np.ones(1), smoothness=1.0, start=np.ones(5))
    with pytest.raises(ValueError, match="diameter must be positive, got 0"):
        theory.unrolled_lemma(ones, ones, np.ones(1), smoothness=1.0, diameter=0)
