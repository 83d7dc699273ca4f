"""The smoothed loss, the regret bounds of Algorithms 1 and 2, their prescriptions, and what they refuse."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import integrate, optimize

from banditboost import theory

Array = NDArray[np.float64]
steady = settings(derandomize=True, deadline=None, max_examples=100)
sizes = st.floats(1e-2, 1e2)


# --- the smoothed loss ---------------------------------------------------------------------------------------------
def test_smoothing_in_one_dimension_is_tight() -> None:
    delta, slope = 0.3, 2.0

    def smoothed(y: float) -> float:
        value, _ = integrate.quad(lambda u: slope * abs(y + delta * u) / 2, -1, 1, points=[max(-1, min(1, -y / delta))])
        return float(value)

    for y in np.linspace(-1, 1, 21):
        assert abs(smoothed(y) - slope * abs(y)) <= theory.smoothing_gap(delta, slope) + 1e-9
    step = 1e-3
    curvature = (smoothed(step) - 2 * smoothed(0.0) + smoothed(-step)) / step**2
    assert curvature == pytest.approx(theory.smoothed_smoothness(1, slope, delta), rel=1e-3)


@pytest.mark.parametrize("loss", ["norm", "corner"])
def test_sphere_estimator_is_the_gradient_of_the_ball_average(loss: str) -> None:
    # In the plane, by quadrature: over angles for the sphere, over angles and radii for the ball.
    angles = np.linspace(0, 2 * np.pi, 720, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    radii, weights = (nodes + 1) / 2, weights * (nodes + 1) / 2  # density 2r of the radius on [0, 1]
    delta, slope = 0.4, 1.0

    def value(points: Array) -> Array:
        length = np.linalg.norm(points - np.array([0.1, 0.0]), axis=-1)
        return np.asarray(
            length if loss == "norm" else np.maximum(points[..., 0], 0.6 * points[..., 0] + 0.8 * points[..., 1])
        )

    def average(y: Array) -> float:
        return float(weights @ value(y + delta * radii[:, None, None] * circle).mean(axis=1))

    def estimate(y: Array) -> Array:
        return np.asarray((2 / delta * value(y + delta * circle)[:, None] * circle).mean(axis=0))

    rng, step = np.random.default_rng(0), 1e-4
    for _ in range(10):
        y, z = rng.uniform(-1, 1, size=(2, 2))
        slopes = [(average(y + step * e) - average(y - step * e)) / (2 * step) for e in np.eye(2)]
        np.testing.assert_allclose(estimate(y), slopes, atol=3e-3)
        assert abs(average(y) - float(value(y))) <= theory.smoothing_gap(delta, slope)
        ratio = np.linalg.norm(estimate(y) - estimate(z)) / np.linalg.norm(y - z)
        assert ratio <= theory.smoothed_smoothness(2, slope, delta)


@steady
@given(
    dimension=st.integers(1, 10),
    loss=st.floats(-3, 3),
    noise=st.floats(-0.5, 0.5),
    delta=sizes,
    seed=st.integers(0, 99),
)
def test_sphere_gradient_is_bounded(dimension: int, loss: float, noise: float, delta: float, seed: int) -> None:
    v = np.random.default_rng(seed).normal(size=dimension)
    g = dimension / delta * (loss + noise) * v / np.linalg.norm(v)
    assert np.linalg.norm(g) <= theory.sphere_gradient_bound(dimension, 3.0, delta, 0.5) * (1 + 1e-12)


def test_sphere_gradient_bound_is_attained() -> None:
    assert theory.sphere_gradient_bound(4, 3.0, 0.5, 0.5) == 4 / 0.5 * (3.0 + 0.5)
    assert theory.sphere_gradient_bound(4, 3.0, 0.5, 3.0) == 2 * theory.sphere_gradient_bound(4, 3.0, 0.5)


@steady
@given(seed=st.integers(0, 2**32 - 1), share=st.floats(0.01, 1.0), dimension=st.integers(1, 5))
def test_queries_from_the_shrunk_set_are_legal_and_cost_what_they_should(
    seed: int, share: float, dimension: int
) -> None:
    rng = np.random.default_rng(seed)
    low, high = -rng.uniform(0.2, 3, size=dimension), rng.uniform(0.2, 3, size=dimension)
    center = (low + high) / 2
    radius, diameter = float((high - low).min()) / 2, float(np.linalg.norm(high - low))
    delta = share * radius
    xi = theory.shrinkage(delta, radius)
    x, v = rng.uniform(low, high), rng.normal(size=dimension)
    corner = np.where(rng.uniform(size=dimension) < 0.5, low, high)
    for y in (x, corner):
        moved = center + (1 - xi) * (y - center)
        query = moved + delta * v / np.linalg.norm(v)
        assert np.all(query >= low - 1e-9)
        assert np.all(query <= high + 1e-9)
        price = theory.shrinkage_price(10, delta, radius, 2.0, diameter)
        assert 10 * 2.0 * np.linalg.norm(y - moved) <= price + 1e-9  # the loss 2‖x - y‖, ten times
        assert 10 * 2.0 * np.linalg.norm(corner - center - (1 - xi) * (corner - center)) == pytest.approx(price / 2)


def test_less_shrinkage_would_let_queries_out() -> None:
    xi = theory.shrinkage(0.1, 1.0)
    assert (1 - xi) * 1.0 + 0.1 == pytest.approx(1.0)  # touches the boundary of [-1, 1]


# --- Algorithms 1 and 2 --------------------------------------------------------------------------------------------
@steady
@given(
    horizon=st.integers(1, 10**6),
    copies=st.integers(1, 1000),
    smoothness=sizes,
    diameter=sizes,
    regret=st.floats(0, 1e4),
)
def test_algorithm_1_is_the_recursion_claim(
    horizon: int, copies: int, smoothness: float, diameter: float, regret: float
) -> None:
    stated = theory.projection_free_regret(horizon, copies, smoothness, diameter, regret)
    proved = theory.recursion_bound(copies, smoothness * diameter**2 * horizon, regret)[-1]
    assert proved <= stated * (1 + 1e-12)
    more = (stated - regret) * copies / (copies + 1) + regret  # the proof has N + 1 where the statement has N
    assert proved == pytest.approx(more, rel=1e-9)
    assert theory.gradient_boosting_regret(horizon, copies, smoothness, diameter, regret) == pytest.approx(stated)


@steady
@given(horizon=st.integers(1, 10**8), smoothness=sizes, diameter=sizes, sigma=sizes)
def test_prescribed_copies_are_the_fewest_that_do(
    horizon: int, smoothness: float, diameter: float, sigma: float
) -> None:
    copies = theory.projection_free_copies(horizon, smoothness, diameter, sigma)
    allowed = 2 * sigma * diameter * math.sqrt(horizon)
    assert theory.projection_free_regret(horizon, copies, smoothness, diameter, 0.0) <= allowed * (1 + 1e-9)
    if copies > 1:
        fewer = theory.projection_free_regret(horizon, copies - 1, smoothness, diameter, 0.0)
        assert fewer > allowed * (1 - 1e-9)


def test_prescribed_copies_at_the_edges() -> None:
    assert theory.projection_free_copies(1, 1e-6, 1e-3, 1e3) == 1
    assert theory.projection_free_copies(49, 0.1, 1.0, 0.7) == 1  # 0.1 · 7 / 0.7 = 1.0000000000000002
    assert theory.projection_free_copies(100, 1.0, 1.1, 1.0) == 11
    assert [theory.projection_free_bandit_copies(t) for t in (1, 2, 4, 5, 10**16, 10**16 + 1)] == [
        1, 2, 2, 3, 10**8, 10**8 + 1,
    ]  # fmt: skip
    assert theory.projection_free_bandit_delta(16) == 0.5
    assert theory.projection_free_bandit_delta(1) == 1.0


def full_information(horizon: int, failure: float | None) -> float:
    copies = theory.projection_free_copies(horizon, 1.0, 2.0, 3.0)
    level = None if failure is None else theory.optimizer_failure(copies, failure)
    learner = theory.fpl_regret(horizon, 3.0, 2.0, 5, failure=level)
    return theory.projection_free_regret(
        horizon, copies, 1.0, 2.0, learner, failure=failure, sigma=3.0, gradient_bound=2.0
    )


def bandit(horizon: int, failure: float | None, delta: float | None = None) -> float:
    copies = theory.projection_free_bandit_copies(horizon)
    radius = theory.projection_free_bandit_delta(horizon) if delta is None else delta
    sigma = theory.sphere_gradient_bound(2, 1.0, radius, 0.1)
    level = None if failure is None else theory.optimizer_failure(copies, failure)
    learner = theory.fpl_regret(horizon, sigma, 1.0, 2, failure=level)
    return theory.projection_free_bandit_regret(
        horizon, copies, 2, 1.0, 1.0, radius, learner, failure=failure, sigma=sigma
    )


@pytest.mark.parametrize(("bound", "power"), [(full_information, 0.5), (bandit, 0.75)])
def test_rates_of_theorems_2_3_and_14(bound: Callable[[int, float | None], float], power: float) -> None:
    for horizon in (10**4, 10**6, 10**8):
        assert bound(16 * horizon, None) / bound(horizon, None) == pytest.approx(16**power, rel=0.01)
        log = math.sqrt(math.log(16 * horizon) / math.log(horizon))
        likely = bound(16 * horizon, 0.05) / bound(horizon, 0.05)
        assert 16**power < likely < 16**power * log * 1.01
        assert bound(horizon, 0.05) > bound(horizon, None)
        assert bound(horizon, 0.01) > bound(horizon, 0.05)


@pytest.mark.parametrize("failure", [None, 0.05])
def test_prescribed_delta_is_of_the_best_order(failure: float | None) -> None:
    shares = []
    for horizon in (10**4, 10**6, 10**8, 10**10):
        best = optimize.minimize_scalar(
            lambda log, t=horizon: bandit(t, failure, math.exp(log)), bounds=(-12, 3), method="bounded"
        )
        shares.append(bandit(horizon, failure) / best.fun)
    assert min(shares) >= 1 - 1e-9
    if failure is None:
        assert max(shares) - min(shares) < 0.05  # a constant away, at every horizon
    assert max(shares) < 4


@steady
@given(
    horizon=st.integers(1, 10**6),
    copies=st.integers(1, 100),
    dimension=st.integers(1, 20),
    lipschitz=sizes,
    diameter=sizes,
    delta=sizes,
    regret=st.floats(0, 1e4),
    gamma=st.floats(0.1, 10),
)
def test_algorithm_2_term_by_term(
    horizon: int,
    copies: int,
    dimension: int,
    lipschitz: float,
    diameter: float,
    delta: float,
    regret: float,
    gamma: float,
) -> None:
    arguments: dict[str, Any] = {
        "horizon": horizon,
        "copies": copies,
        "dimension": dimension,
        "lipschitz": lipschitz,
        "diameter": diameter,
        "delta": delta,
        "learner_regret": regret,
    }
    expected = (
        2 * dimension * lipschitz * diameter**2 * horizon / (delta * gamma**2 * copies)
        + regret / gamma
        + 2 * horizon * delta * lipschitz
    )
    assert theory.boosting_regret(**arguments, gamma=gamma) == pytest.approx(expected)
    assert theory.boosting_regret(**arguments) == pytest.approx(theory.projection_free_bandit_regret(**arguments))
    likely = theory.boosting_regret(**arguments, gamma=gamma, failure=0.1, sigma=5.0) - expected
    spread = (5.0 + lipschitz) * diameter * max(1, 1 / gamma)
    assert likely == pytest.approx(spread * math.sqrt(2 * horizon * math.log(40 * copies)), rel=1e-6)
    same = theory.projection_free_bandit_regret(**arguments, failure=0.1, sigma=5.0)
    assert theory.boosting_regret(**arguments, failure=0.1, sigma=5.0) == pytest.approx(same)
    beta = theory.smoothed_smoothness(dimension, lipschitz, delta)
    proved = theory.recursion_bound(copies, beta * diameter**2 * horizon / gamma**2, regret / gamma)[-1]
    assert proved <= expected * (1 + 1e-9)


def test_martingale_price_solves_azuma() -> None:
    horizon, copies, rho = 1000, 12, 0.07
    price = theory.martingale_price(horizon, copies, 2.0, 0.5, 3.0, rho)
    tail = 2 * math.exp(-(price**2) / (2 * horizon * (2.5 * 3.0) ** 2))
    assert tail == pytest.approx(rho / (2 * copies)) == pytest.approx(theory.optimizer_failure(copies, rho))
    assert copies * tail + copies * theory.optimizer_failure(copies, rho) == pytest.approx(rho)


@steady
@given(seed=st.integers(0, 2**32 - 1), gamma=st.floats(0.1, 10), dimension=st.integers(1, 4))
def test_weak_distance_covers_every_play_and_comparator(seed: int, gamma: float, dimension: int) -> None:
    rng = np.random.default_rng(seed)
    offset = rng.normal(size=dimension)
    offset *= rng.uniform(0, 3) / np.linalg.norm(offset)  # a unit ball about it, with and without 0
    plays, comparators = (offset + _in_ball(rng, 50, dimension) for _ in range(2))
    farthest = float(np.linalg.norm(plays[:, None] / gamma - comparators, axis=-1).max())
    reach = float(np.linalg.norm(offset)) + 1
    assert farthest <= theory.weak_distance(2.0, gamma, norm_bound=reach) + 1e-9
    if reach <= 2:
        assert farthest <= theory.weak_distance(2.0, gamma) + 1e-9


def _in_ball(rng: np.random.Generator, count: int, dimension: int) -> Array:
    x = rng.normal(size=(count, dimension))
    return np.asarray(x / np.linalg.norm(x, axis=1, keepdims=True) * rng.choice([1.0, 0.7], size=(count, 1)))


def test_weak_distance_is_attained() -> None:
    for gamma in (0.25, 1.0, 4.0):  # Y = [0, 1]: a/γ = 1/γ against f = 0, or a = 0 against f = 1
        assert theory.weak_distance(1.0, gamma) == max(1 / gamma, 1.0)
    # Y = [2, 3] does not hold 0: 3/γ - 2 is farther than D·max(1, 1/γ) for γ = 1/2, and the general form covers it.
    assert theory.weak_distance(1.0, 0.5) < 3 / 0.5 - 2 <= theory.weak_distance(1.0, 0.5, norm_bound=3.0)
    assert theory.weak_distance(1.0, 1.0, norm_bound=3.0) == 1.0


# --- what is refused -----------------------------------------------------------------------------------------------
GOOD: dict[str, Any] = {
    "horizon": 100,
    "copies": 10,
    "dimension": 3,
    "delta": 0.1,
    "gamma": 0.5,
    "diameter": 2.0,
    "smoothness": 1.0,
    "lipschitz": 1.0,
    "gradient_bound": 1.0,
    "sigma": 2.0,
    "loss_bound": 1.0,
    "noise_bound": 0.1,
    "failure": 0.1,
    "learner_regret": 5.0,
    "inner_radius": 0.5,
    "regularizer_range": 1.0,
    "rate": 0.1,
    "scale": 1.0,
    "perturbation": "uniform",
    "norm_bound": 1.0,
    "distance": 1.0,
    "least_distance": 1.0,
    "curvature": 1.0,
    "regret": 1.0,
    "start": 0.0,
    "step": 0.5,
    "radius": 2.0,
    "start_regret": 3.0,
    "span_norm": 1.5,
    "play_bound": 1.0,
    "adaptive": True,
    "harmless": False,
    "share": 0.01,
    "width": 1.0,
}
SEQUENCES = [name for name in theory.__all__ if name.startswith("unrolled") or name == "leader_regret"]
"""Functions of what was played in every round, which have tests of their own."""
SCALARS = [name for name in theory.__all__ if name.islower() and name not in SEQUENCES]
CASES = [
    (name, argument) for name in SCALARS for argument in getattr(theory, name).__annotations__ if argument != "return"
]


@pytest.mark.parametrize(("name", "argument"), CASES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, "many", -1.0, 0])
def test_bad_arguments_are_refused_in_a_sentence(name: str, argument: str, bad: object) -> None:
    function = getattr(theory, name)
    arguments = {key: GOOD[key] for key in function.__annotations__ if key != "return"}
    function(**arguments)
    any_sign, zero_too = {"learner_regret", "regret", "start", "start_regret"}, {
        "lipschitz", "loss_bound", "noise_bound", "smoothness", "sigma", "gradient_bound", "norm_bound", "curvature", "share",
    }  # fmt: skip
    if bad in (0, -1.0) and (argument in any_sign or (bad == 0 and argument in zero_too)):
        return
    with pytest.raises(ValueError, match=rf"^{argument} must .*[,;] got .*{bad!r}\.$"):
        function(**arguments | {argument: bad})


def test_every_function_is_covered_by_the_refusals() -> None:
    rooms = [room for name, room in sys.modules.items() if name.startswith("banditboost.theory.") and "._" not in name]
    defined = {
        name for room in rooms for name, part in vars(room).items() if getattr(part, "__module__", "") == room.__name__
    }
    assert {name for name in defined if name.islower() and not name.startswith("_")} <= set(theory.__all__)
    assert (
        {name for name, _ in CASES}
        == set(SCALARS)
        == {name for name in theory.__all__ if name.islower()} - set(SEQUENCES)
    )


@pytest.mark.parametrize("bad", [2.5, True, "3"])
def test_counts_are_whole_numbers(bad: Any) -> None:
    with pytest.raises(ValueError, match="copies must be a whole number of at least 1, got"):
        theory.chain_weights(bad)
    assert len(theory.chain_weights(np.int64(3))) == 3  # type: ignore[arg-type]


def test_other_refusals() -> None:
    with pytest.raises(ValueError, match="sigma must be given together with failure, got None"):
        theory.projection_free_regret(10, 2, 1.0, 1.0, 1.0, failure=0.1)
    with pytest.raises(ValueError, match="gradient_bound must be given together with failure, got None"):
        theory.projection_free_regret(10, 2, 1.0, 1.0, 1.0, failure=0.1, sigma=1.0)
    with pytest.raises(ValueError, match="sigma must be given together with failure, got None"):
        theory.boosting_regret(10, 2, 1, 1.0, 1.0, 1.0, 1.0, failure=0.1)
    with pytest.raises(ValueError, match=r"failure must lie strictly between 0 and 1, got 1\.0"):
        theory.optimizer_failure(3, 1.0)
    with pytest.raises(ValueError, match=r"delta must be at most inner_radius \(0\.1\), got 0\.2"):
        theory.shrinkage(0.2, 0.1)
    with pytest.raises(ValueError, match="dimension must be a whole number of at least 2, got 1"):
        theory.entropic_range(1)
    with pytest.raises(ValueError, match="perturbation must be one of gaussian, laplace, uniform; got 'cauchy'"):
        theory.fpl_scale(10, 1.0, 1, "cauchy")  # type: ignore[arg-type]
