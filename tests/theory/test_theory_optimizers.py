"""OGD, FTRL and FPL against their bounds, in small linear games written out here."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, special

from banditboost import theory
from banditboost.theory.optimizers import Perturbation

Array = NDArray[np.float64]
steady = settings(derandomize=True, deadline=None, max_examples=100)
PERTURBATIONS: list[Perturbation] = ["uniform", "gaussian", "laplace"]
SEQUENCES = ["alternating", "half first", "constant", "random", "cycle", "blocks"]


def sequence(name: str, rounds: int, dimension: int, sigma: float) -> Array:
    """Oblivious gradients of length at most σ."""
    signs = (-1.0) ** np.arange(rounds)
    first = np.eye(dimension)[0]
    if name == "alternating":
        return sigma * np.outer(signs, first)
    if name == "half first":  # what makes the unperturbed leader lose every round
        return sigma * np.outer(np.concatenate([[0.5], signs[1:]]), first)
    if name == "constant":
        return np.full((rounds, dimension), sigma / math.sqrt(dimension))
    if name == "random":
        g = np.random.default_rng(7).normal(size=(rounds, dimension))
        return np.asarray(sigma * g / np.linalg.norm(g, axis=1, keepdims=True))
    if name == "cycle":
        return -sigma * np.eye(dimension)[np.arange(rounds) % dimension]
    return (
        sigma
        * np.outer(np.where(np.arange(rounds) < rounds // 2, 1.0, -1.0), np.ones(dimension))
        / math.sqrt(dimension)
    )


# Three sets: linear minimiser (over leading axes), projection and diameter.
def ball_minimize(g: Array) -> Array:
    return np.asarray(-g / np.maximum(np.linalg.norm(g, axis=-1, keepdims=True), 1e-300))


def box_minimize(g: Array) -> Array:
    return np.where(g < 0, 1.0, 0.0)


def simplex_minimize(g: Array) -> Array:
    return np.asarray(np.eye(g.shape[-1])[np.argmin(g, axis=-1)])


def ball_project(x: Array) -> Array:
    return x / max(1.0, float(np.linalg.norm(x)))


def box_project(x: Array) -> Array:
    return np.clip(x, 0.0, 1.0)


MINIMIZE: dict[str, Callable[[Array], Array]] = {
    "ball": ball_minimize,
    "box": box_minimize,
    "simplex": simplex_minimize,
}


def diameter_of(space: str, dimension: int) -> float:
    return {"ball": 2.0, "box": math.sqrt(dimension), "simplex": math.sqrt(2.0)}[space]


def best_loss(space: str, gradients: Array) -> float:
    total = gradients.sum(axis=0)
    return float(total @ MINIMIZE[space](total))


def perturb(kind: str, scale: float, size: tuple[int, ...], rng: np.random.Generator) -> Array:
    if kind == "uniform":
        return rng.uniform(-scale / 2, scale / 2, size=size)
    return rng.normal(0.0, scale, size=size) if kind == "gaussian" else rng.laplace(0.0, scale, size=size)


def fpl_regrets(space: str, gradients: Array, kind: str, scale: float, runs: int, seed: int = 0) -> Array:
    """Regret of each of many runs with fresh perturbations."""
    rng = np.random.default_rng(seed)
    before = np.cumsum(gradients, axis=0) - gradients
    noise = perturb(kind, scale, (runs, *gradients.shape), rng)
    plays = MINIMIZE[space](before + noise)
    return np.asarray((plays * gradients).sum(axis=(1, 2)) - best_loss(space, gradients))


@pytest.mark.parametrize("kind", PERTURBATIONS)
@pytest.mark.parametrize("space", ["ball", "box", "simplex"])
def test_fpl_is_below_its_bound(kind: Perturbation, space: str) -> None:
    shares = []
    for dimension in (1, 2, 8):
        if space == "simplex" and dimension == 1:
            continue
        for rounds in (50, 400):
            sigma, size = 1.5, diameter_of(space, dimension)
            scale = theory.fpl_scale(rounds, sigma, dimension, kind)
            for name in SEQUENCES:
                gradients = sequence(name, rounds, dimension, sigma)
                for factor in (0.2, 1.0, 5.0):
                    regrets = fpl_regrets(space, gradients, kind, factor * scale, runs=100)
                    mean, slack = float(regrets.mean()), 3 * float(regrets.std()) / 10
                    bound = theory.fpl_regret(rounds, sigma, size, dimension, kind, factor * scale)
                    assert mean <= bound + slack, (dimension, rounds, name, factor)
                    assert mean <= 1.05 * bound, (dimension, rounds, name, factor)
                    if factor == 1.0:
                        shares.append(mean / bound)
    assert max(shares) > 0.2  # the bound is not a silly factor away from what happens


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_fpl_bound_is_not_vacuous_on_the_alternating_sequence(kind: Perturbation) -> None:
    gradients = sequence("alternating", 400, 1, 1.0)
    small = theory.fpl_scale(400, 1.0, 1, kind) / 5  # where stability is nearly the whole price
    mean = float(fpl_regrets("box", gradients, kind, small, runs=400).mean())
    assert mean > 0.7 * theory.fpl_regret(400, 1.0, 1.0, 1, kind, small)
    for dimension in (1, 4):
        gradients = sequence("alternating", 400, dimension, 1.0)
        size = diameter_of("box", dimension)
        scale = theory.fpl_scale(400, 1.0, dimension, kind)
        mean = float(fpl_regrets("box", gradients, kind, scale, runs=200).mean())
        assert mean > 0.05 * theory.fpl_regret(400, 1.0, size, dimension, kind)


@pytest.mark.parametrize("kind", PERTURBATIONS)
def test_one_perturbation_for_all_rounds_has_the_same_mean(kind: Perturbation) -> None:
    gradients, rng = sequence("half first", 200, 3, 1.0), np.random.default_rng(3)
    scale = theory.fpl_scale(200, 1.0, 3, kind)
    before = np.cumsum(gradients, axis=0) - gradients
    plays = ball_minimize(before + perturb(kind, scale, (400, 1, 3), rng))
    mean = float((plays * gradients).sum(axis=(1, 2)).mean()) - best_loss("ball", gradients)
    fresh = float(fpl_regrets("ball", gradients, kind, scale, runs=400).mean())
    assert mean <= theory.fpl_regret(200, 1.0, 2.0, 3, kind)
    assert mean == pytest.approx(fresh, abs=0.5)


def constants(kind: Perturbation, dimension: int) -> tuple[float, float]:
    """Read κ and μ off the bound D(κσ²T/s + μs)/2 at tiny and huge scales."""
    tiny = theory.fpl_regret(1, 1.0, 2.0, dimension, kind, 1e-9) * 1e-9
    huge = theory.fpl_regret(1, 1.0, 2.0, dimension, kind, 1e9) * 1e-9
    return tiny, huge


@steady
@given(shift=st.lists(st.floats(-3, 3), min_size=1, max_size=6))
def test_total_variation_of_shifted_cubes_and_gaussians(shift: list[float]) -> None:
    h = np.array(shift)
    length = float(np.linalg.norm(h))
    cube = 1 - float(np.prod(np.maximum(1 - np.abs(h), 0.0)))
    bell = float(special.erf(length / (2 * math.sqrt(2))))
    assert cube <= constants("uniform", len(h))[0] * length + 1e-12
    assert bell <= constants("gaussian", len(h))[0] * length + 1e-12


@pytest.mark.parametrize("shift", [(0.1, 0.0), (0.1, 0.1), (1.0, 0.3), (2.0, 2.0), (0.02, 0.01)])
def test_total_variation_of_shifted_laplace(shift: tuple[float, float]) -> None:
    grid = np.linspace(-18, 18, 3601)
    cell = (grid[1] - grid[0]) ** 2
    a, b = np.exp(-np.abs(grid)) / 2, [np.exp(-np.abs(grid - h)) / 2 for h in shift]
    distance = float(np.abs(np.outer(a, a) - np.outer(b[0], b[1])).sum() * cell / 2)
    bound = constants("laplace", 2)[0] * math.hypot(*shift)
    assert 0.3 * bound < distance <= bound * 1.001


@pytest.mark.parametrize("kind", PERTURBATIONS)
@pytest.mark.parametrize("dimension", [1, 3, 50])
def test_mean_length_of_a_perturbation(kind: Perturbation, dimension: int) -> None:
    p = perturb(kind, 1.0, (20_000, dimension), np.random.default_rng(0))
    mean, bound = float(np.linalg.norm(p, axis=1).mean()), constants(kind, dimension)[1]
    assert 0.7 * bound < mean <= bound


@pytest.mark.parametrize("kind", PERTURBATIONS)
@pytest.mark.parametrize("dimension", [1, 10])
def test_fpl_scale_minimises_its_bound(kind: Perturbation, dimension: int) -> None:
    best = optimize.minimize_scalar(
        lambda log: theory.fpl_regret(300, 2.0, 3.0, dimension, kind, math.exp(log)), bounds=(-10, 10), method="bounded"
    )
    scale = theory.fpl_scale(300, 2.0, dimension, kind)
    assert math.exp(best.x) == pytest.approx(scale, rel=1e-3)
    assert theory.fpl_regret(300, 2.0, 3.0, dimension, kind) == pytest.approx(best.fun, rel=1e-9)


@pytest.mark.parametrize(("kind", "power"), [("uniform", 0.5), ("gaussian", 0.25), ("laplace", 0.25)])
def test_fpl_grows_with_the_dimension_as_documented(kind: Perturbation, power: float) -> None:
    one, many = (theory.fpl_regret(100, 1.0, 1.0, d, kind) for d in (1, 10_000))
    assert many / one == pytest.approx(10_000**power)
    assert theory.fpl_regret(400, 1.0, 1.0, 1, kind) == pytest.approx(2 * one)
    documented = {"uniform": 12**-0.25, "gaussian": (2 * math.pi) ** -0.25, "laplace": 2**-0.25}
    assert one == pytest.approx(10 * documented[kind])


def test_fpl_with_high_probability() -> None:
    # Coin flips of ±σD/2: huge perturbations and alternating gradients leave nothing but the martingale.
    sigma, rounds, runs = 1.0, 100, 4000
    gradients = sequence("alternating", rounds, 1, sigma)
    regrets = fpl_regrets("box", gradients, "gaussian", 1e9, runs)
    for rho in (0.3, 0.1, 0.02):
        price = theory.fpl_regret(rounds, sigma, 1.0, 1, failure=rho) - theory.fpl_regret(rounds, sigma, 1.0, 1)
        share = float((regrets - regrets.mean() > price).mean())
        assert rho / 50 < share <= rho
    scale = theory.fpl_scale(rounds, sigma, 1)
    usual = fpl_regrets("box", gradients, "gaussian", scale, runs)
    assert float((usual > theory.fpl_regret(rounds, sigma, 1.0, 1, failure=0.3)).mean()) <= 0.3


def ogd(
    gradients: Callable[[int, Array, Array], Array], rounds: int, dimension: int, sigma: float, space: str
) -> tuple[float, float]:
    """Regret of OGD, and of FTRL with the Euclidean regularizer at its best rate, against one adaptive adversary."""
    size = diameter_of(space, dimension)
    project, center = (ball_project, np.zeros(dimension)) if space == "ball" else (box_project, np.full(dimension, 0.5))
    results = []
    rate = theory.ftrl_rate(rounds, sigma, theory.euclidean_range(size))
    for method in ("ogd", "ftrl"):
        x, total, loss, played = center, np.zeros(dimension), 0.0, []
        for t in range(rounds):
            g = gradients(t, x, total)
            assert np.linalg.norm(g) <= sigma * (1 + 1e-9)
            loss, total = loss + float(g @ x), total + g
            played.append(g)
            x = (
                project(x - size / (sigma * math.sqrt(t + 1)) * g)
                if method == "ogd"
                else project(center - rate * total)
            )
        results.append(loss - best_loss(space, np.array(played)))
    return results[0], results[1]


@pytest.mark.parametrize("space", ["ball", "box"])
@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_ogd_and_euclidean_ftrl_are_below_their_bounds(space: str, name: str, dimension: int) -> None:
    for rounds in (1, 2, 60, 300):
        fixed = sequence(name, rounds, dimension, 0.7)
        size = diameter_of(space, dimension)
        first, second = ogd(lambda t, x, s, g=fixed: g[t], rounds, dimension, 0.7, space)  # type: ignore[misc]
        assert first <= theory.ogd_regret(rounds, 0.7, size)
        assert second <= theory.ftrl_regret(rounds, 0.7, theory.euclidean_range(size))


def test_ogd_and_ftrl_against_the_orthogonal_adversary() -> None:
    # g_t orthogonal to the play and to the past costs nothing now and (D/2)σ√T in hindsight: bounds are within 3 and 2.
    def orthogonal(t: int, x: Array, total: Array) -> Array:
        basis = np.linalg.svd(np.stack([x, total]))[2]
        return np.asarray(basis[-1])

    first, second = ogd(orthogonal, 200, 3, 1.0, "ball")
    assert first == pytest.approx(math.sqrt(200)) == pytest.approx(theory.ogd_regret(200, 1.0, 2.0) / 3)
    assert second == pytest.approx(theory.ftrl_regret(200, 1.0, theory.euclidean_range(2.0)) / 2)


@pytest.mark.parametrize("name", SEQUENCES)
@pytest.mark.parametrize("dimension", [2, 20])
def test_entropic_ftrl_is_below_its_bound(name: str, dimension: int) -> None:
    for rounds in (10, 400):
        gradients = sequence(name, rounds, dimension, 1.0)
        gradients = gradients / np.abs(gradients).max()
        spread = theory.entropic_range(dimension)
        best = theory.ftrl_rate(rounds, 1.0, spread)
        before = np.cumsum(gradients, axis=0) - gradients
        for rate in (0.3 * best, best, 3 * best):
            loss = float((special.softmax(-rate * before, axis=1) * gradients).sum())
            assert loss - best_loss("simplex", gradients) <= theory.ftrl_regret(rounds, 1.0, spread, rate)


def test_entropic_ftrl_bound_is_not_silly() -> None:
    rng, rounds, dimension = np.random.default_rng(0), 400, 20
    gradients = rng.choice([-1.0, 1.0], size=(rounds, dimension))  # the minimax adversary of experts
    rate = theory.ftrl_rate(rounds, 1.0, theory.entropic_range(dimension))
    before = np.cumsum(gradients, axis=0) - gradients
    regret = float((special.softmax(-rate * before, axis=1) * gradients).sum()) - best_loss("simplex", gradients)
    assert regret > 0.5 * theory.ftrl_regret(rounds, 1.0, theory.entropic_range(dimension))


@steady
@given(rounds=st.integers(1, 10**6), sigma=st.floats(1e-3, 1e3), spread=st.floats(1e-3, 1e3))
def test_ftrl_rate_minimises_its_bound(rounds: int, sigma: float, spread: float) -> None:
    best = theory.ftrl_regret(rounds, sigma, spread)
    rate = theory.ftrl_rate(rounds, sigma, spread)
    assert theory.ftrl_regret(rounds, sigma, spread, rate) == pytest.approx(best)
    for factor in (0.5, 0.99, 1.01, 2.0):
        assert theory.ftrl_regret(rounds, sigma, spread, factor * rate) > best


def test_online_frank_wolfe_parameters() -> None:
    rate, steps = theory.online_frank_wolfe_parameters(10_000, gradient_bound=2.0, diameter=3.0)
    assert rate == pytest.approx(3.0 / (4.0 * 1000.0))
    np.testing.assert_allclose(steps[[0, 3, 15, 9999]], [1.0, 1.0, 0.5, 0.02])
