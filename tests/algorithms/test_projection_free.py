"""Algorithm 1 and its bandit version against loops straight from the pseudo-code, and what its recipes prescribe."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import banditboost as bb
from banditboost import theory
from banditboost._core import streams

T = 200
Step = Callable[[list[np.ndarray], int], np.ndarray]


def simplex_projection(point: np.ndarray) -> np.ndarray:
    """By bisection on the shift: slow, and nothing like the library's."""
    low, high = point.min() - 1, point.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(point - middle, 0).sum() > 1 else (low, middle)
    return np.asarray(np.maximum(point - low, 0))


@pytest.mark.parametrize("case", ["fpl on the simplex", "ogd on the ball", "ftrl on the box"])
def test_algorithm_1_line_by_line(case: str) -> None:
    sigma, N, d, seed = 3.0, 7, 4, 11
    spaces = {
        "fpl": bb.spaces.Simplex(d),
        "ogd": bb.spaces.Ball(d, 1.5),
        "ftrl": bb.spaces.Box((-1.0,) * d, (1.0, 2, 1, 1)),
    }
    name = case.split()[0]
    space = spaces[name]
    world = bb.worlds.stationary(space, rounds=T, noise=bb.noise.Uniform(0.2), seed=5)
    booster = bb.algorithms.projection_free(space, horizon=T, sigma=sigma, copies=N, optimizer=name, seed=seed)  # type: ignore[arg-type]

    perturbations = streams.stream(seed, "perturbations")
    noises = streams.stream(world.seed, "noise")
    s = theory.fpl_scale(T, sigma, d)
    past: list[list[np.ndarray]] = [[] for _ in range(N)]
    points = [space.inner_centre.copy() for _ in range(N)]  # of online gradient descent
    noise_stream = streams.stream(world.seed, "noise")
    start = np.zeros(d) if name != "fpl" else space.inner_centre  # 0 does not lie in the simplex
    for t in range(T):
        drawn = perturbations.standard_normal((N, d)) if name == "fpl" else np.zeros((N, d))
        ticket = booster.ask()
        blur = noises.uniform(-0.2, 0.2, (N, d))
        x, fed = start, []
        for i in range(N):
            np.testing.assert_allclose(ticket.queries[i], x, rtol=1e-12, atol=1e-12)
            fed.append(x - world.targets[t] + blur[i])  # stochastic gradient at x^{i-1}
            total = np.sum(past[i], axis=0) if past[i] else np.zeros(d)
            if name == "fpl":
                play = np.zeros(d)
                play[np.argmin(total + s * drawn[i])] = 1.0
            elif name == "ogd":
                play = points[i]
            else:
                D = math.sqrt(3 * 2**2 + 3**2)
                play = np.clip(
                    space.inner_centre - math.sqrt(2 * (D**2 / 2) / (sigma**2 * T)) * total,
                    space.low,  # type: ignore[attr-defined]
                    space.high,  # type: ignore[attr-defined]
                )
            eta = 2 / (i + 2)
            x = (1 - eta) * x + eta * play
        np.testing.assert_allclose(ticket.prediction, x, rtol=1e-12, atol=1e-12)
        booster.tell(ticket, world.answer(t, ticket, True, noise_stream))
        for i in range(N):
            past[i].append(fed[i])
            step = points[i] - 3.0 / (sigma * math.sqrt(t + 1)) * fed[i]
            points[i] = step * min(1.0, 1.5 / float(np.linalg.norm(step)))


def test_bandit_algorithm_1_line_by_line_inside_the_simplex() -> None:
    N, d, seed = 6, 4, 2
    space = bb.spaces.Simplex(d)
    world = bb.worlds.stationary(space, rounds=T, noise=bb.noise.Uniform(0.1), seed=3)
    booster = bb.algorithms.projection_free_bandit(
        space, horizon=T, loss_bound=1.0, noise_bound=0.1, copies=N, seed=seed
    )
    inner = 1 / math.sqrt(d * (d - 1))
    delta = min(T**-0.25, inner / 2)
    xi = delta / inner
    sigma = (d - 1) * 1.1 / delta
    s = theory.fpl_scale(T, sigma, d)
    center = np.full(d, 1 / d)
    perturbations, directions = streams.stream(seed, "perturbations"), streams.stream(seed, "directions")
    noises, noise_stream = streams.stream(world.seed, "noise"), streams.stream(world.seed, "noise")
    total = np.zeros((N, d))
    for t in range(T):
        drawn = perturbations.standard_normal((N, d))
        ticket = booster.ask()
        assert (ticket.queries >= -1e-12).all()
        np.testing.assert_allclose(ticket.queries.sum(axis=1), 1.0, rtol=1e-12)
        blur = noises.uniform(-0.1, 0.1, N)
        x, fed = center, []
        for i in range(N):
            v = directions.standard_normal(d)
            v -= v.mean()
            v /= np.linalg.norm(v)
            query = x + delta * v
            np.testing.assert_allclose(ticket.queries[i], query, rtol=1e-12, atol=1e-12)
            value = 0.5 * float(((query - world.targets[t]) ** 2).sum()) + blur[i]
            fed.append((d - 1) / delta * value * v)
            corner = np.zeros(d)
            corner[np.argmin(total[i] + s * drawn[i])] = 1.0
            eta = 2 / (i + 2)
            x = (1 - eta) * x + eta * (center + (1 - xi) * (corner - center))
        np.testing.assert_allclose(ticket.prediction, x, rtol=1e-12, atol=1e-12)
        booster.tell(ticket, world.answer(t, ticket, True, noise_stream))
        total += np.array(fed)


def test_simplex_helper_and_library_agree() -> None:
    rng = np.random.default_rng(0)
    for point in rng.normal(size=(50, 5)):
        np.testing.assert_allclose(bb.spaces.Simplex(5).project(point), simplex_projection(point), atol=1e-9)


def test_copies_are_the_theorems() -> None:
    space = bb.spaces.Ball(3, 2.0)
    booster = bb.algorithms.projection_free(space, horizon=1000, smoothness=1.5, sigma=2.0)
    assert booster.spec.copies == math.ceil(1.5 * 4.0 / 2.0 * math.sqrt(1000))
    bandit = bb.algorithms.projection_free_bandit(space, horizon=10_000)
    assert bandit.spec.copies == 100
    assert bandit.spec.gradient == bb.gradients.OnePoint(0.1)


def test_projection_free_calls_no_projection_and_one_oracle_call_a_copy() -> None:
    counted = bb.spaces.CountingSpace(bb.spaces.Simplex(4))
    booster = bb.algorithms.projection_free(counted, horizon=50, sigma=1.0, copies=9)
    world = bb.worlds.stationary(bb.spaces.Simplex(4), rounds=50)
    before = counted.oracle_calls
    bb.evaluate.progressive(booster, world)
    assert counted.projections == 0
    assert counted.oracle_calls - before == 50 * 9


def test_doubling_when_the_horizon_is_not_known() -> None:
    space = bb.spaces.Ball(2)
    world = bb.worlds.stationary(space, rounds=600, noise=bb.noise.Uniform(0.1))
    booster = bb.algorithms.projection_free(space, sigma=world.sigma)
    copies = []
    for t in range(600):
        copies.append(booster.spec.copies)
        booster.step(None, lambda q, t=t: world.gradients(t, q))  # type: ignore[misc]
    phases = [16, 32, 64, 128, 256, 512]
    expected = [theory.projection_free_copies(h, 1.0, 2.0, world.sigma) for h in phases for _ in range(h)][:600]
    assert copies == expected
    assert booster.phase == 5
    assert booster.rounds == 600


def test_doubling_keeps_drawing_new_randomness() -> None:
    booster = bb.algorithms.projection_free(bb.spaces.Ball(3), copies=2)
    first = booster.ask().prediction
    for _ in range(16):
        booster.step(None, lambda q: np.zeros_like(q))
    assert booster.phase == 1
    assert not np.allclose(booster.predict(), first)


def test_a_ticket_from_before_a_restart_is_told_in_vain() -> None:
    booster = bb.algorithms.projection_free(bb.spaces.Ball(3), copies=2)
    old = booster.ask()
    for _ in range(16):
        booster.step(None, lambda q: np.zeros_like(q))
    assert booster.bank is not None
    before = {k: v.tobytes() for k, v in booster.bank.arrays().items()}
    booster.tell(old, np.ones((2, 3)))
    assert {k: v.tobytes() for k, v in booster.bank.arrays().items()} == before
    assert booster.rounds == 16
    with pytest.raises(ValueError, match="told twice"):
        booster.tell(old, np.ones((2, 3)))


@pytest.mark.parametrize("optimizer", ["fpl", "ogd", "ftrl"])
def test_regret_shrinks_per_round(optimizer: str) -> None:
    space = bb.spaces.Simplex(4)
    rates = []
    for horizon in (250, 4000):
        world = bb.worlds.stationary(space, rounds=horizon, noise=bb.noise.Uniform(0.1), seed=1)
        booster = bb.algorithms.projection_free(space, horizon=horizon, sigma=world.sigma, optimizer=optimizer)  # type: ignore[arg-type]
        trace = bb.evaluate.progressive(booster, world)
        rates.append((trace.losses - world.best().losses).mean())
    assert rates[1] < 0.5 * rates[0]


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(ValueError, match="optimizer must be one of fpl, ftrl, ogd; got 'adam'"):
        bb.algorithms.projection_free(bb.spaces.Ball(2), horizon=10, optimizer="adam")  # type: ignore[arg-type]
