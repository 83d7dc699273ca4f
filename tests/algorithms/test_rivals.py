"""Online-FW, Meta-FW and MORGFW against slow loops written from their sources' pseudo-code; the calls they make."""

from __future__ import annotations

import math

import numpy as np
import pytest

import banditboost as bb
from banditboost import theory
from banditboost._core import streams
from banditboost.experiments.table1 import ALGORITHMS, Race, prescribed_calls

T = 30
SPACES: list[bb.spaces.Space] = [bb.spaces.Simplex(4), bb.spaces.Ball(3, 1.5), bb.spaces.L1Ball(3)]
each_space = pytest.mark.parametrize("space", SPACES, ids=str)


def oracle(space: bb.spaces.Space, g: np.ndarray) -> np.ndarray:
    """The linear oracle, once more: the best vertex by comparison, the sphere by its formula."""
    if isinstance(space, bb.spaces.Ball):
        return np.asarray(-space.radius * g / np.linalg.norm(g))
    corners = (
        np.eye(len(g)) if isinstance(space, bb.spaces.Simplex) else np.concatenate([np.eye(len(g)), -np.eye(len(g))])
    )
    return np.asarray(min(corners, key=lambda corner: float(corner @ g)))


def start_of(space: bb.spaces.Space) -> np.ndarray:
    return np.full(4, 0.25) if isinstance(space, bb.spaces.Simplex) else np.zeros(3)


@each_space
def test_online_frank_wolfe(space: bb.spaces.Space) -> None:
    world = bb.worlds.stationary(space, rounds=T, seed=4)
    G = world.lipschitz
    booster = bb.algorithms.online_frank_wolfe(space, horizon=T, gradient_bound=G)
    eta = space.diameter / (2 * G * T**0.75)
    x = first = start_of(space)
    total = np.zeros(space.shape)
    for t in range(1, T + 1):
        ticket = booster.ask()
        np.testing.assert_allclose(ticket.prediction, x, rtol=1e-12, atol=1e-12)
        g = x - world.targets[t - 1]
        booster.tell(ticket, world.gradients(t - 1, ticket.queries))
        total = total + g
        v = oracle(space, eta * total + 2 * (x - first))
        s = min(1.0, 2 / math.sqrt(t))
        x = (1 - s) * x + s * v


@each_space
def test_meta_frank_wolfe(space: bb.spaces.Space) -> None:
    world = bb.worlds.finite_sum(space, rounds=T, samples=5, seed=1)
    sigma, seed = world.sigma, 6
    booster = bb.algorithms.meta_frank_wolfe(space, horizon=T, sigma=sigma, seed=seed)
    K = booster.spec.copies
    assert booster.spec.copies == math.ceil(T**1.5)
    scale = theory.fpl_scale(T, sigma, space.size, "uniform")
    perturbations = streams.stream(seed, "perturbations")
    samples = streams.stream(0, "noise")
    noise = streams.stream(0, "noise")
    past = np.zeros((K, *space.shape))
    for t in range(T):
        drawn = perturbations.uniform(-0.5, 0.5, (K, *space.shape))
        chosen = samples.integers(5, size=K)
        ticket = booster.ask()
        x, d = start_of(space), np.zeros(space.shape)
        fed = []
        for k in range(1, K + 1):
            np.testing.assert_allclose(ticket.queries[k - 1], x, rtol=1e-12, atol=1e-12)
            rho = 2 / (k + 3) ** (2 / 3)
            d = (1 - rho) * d + rho * (x - world.samples[t, chosen[k - 1]])
            fed.append(d)
            v = oracle(space, past[k - 1] + scale * drawn[k - 1])
            eta = 1 / (k + 3)
            x = (1 - eta) * x + eta * v
        np.testing.assert_allclose(ticket.prediction, x, rtol=1e-12, atol=1e-12)
        booster.tell(ticket, world.answer(t, ticket, True, noise))
        past += np.array(fed)
        assert booster.bank is not None
        np.testing.assert_allclose(booster.bank.arrays()["total"], past, rtol=1e-12, atol=1e-12)


@each_space
def test_morgfw(space: bb.spaces.Space) -> None:
    world = bb.worlds.finite_sum(space, rounds=T, samples=5, seed=2)
    sigma, seed, K = world.sigma, 7, T
    booster = bb.algorithms.morgfw(space, horizon=T, sigma=sigma, seed=seed)
    assert booster.spec.copies == K
    scale = theory.fpl_scale(T, sigma, space.size, "uniform")
    perturbations = streams.stream(seed, "perturbations")
    samples = streams.stream(0, "noise")
    noise = streams.stream(0, "noise")
    past = np.zeros((K, *space.shape))
    for t in range(T):
        drawn = perturbations.uniform(-0.5, 0.5, (K, *space.shape))
        chosen = samples.integers(5, size=K)
        ticket = booster.ask()
        assert len(ticket.queries) == 2 * K - 1
        x = before = start_of(space)
        d = np.zeros(space.shape)
        fed = []
        for k in range(1, K + 1):
            target = world.samples[t, chosen[k - 1]]
            rho = 1 / (k + 1)
            d = x - target if k == 1 else (x - target) + (1 - rho) * (d - (before - target))
            fed.append(d)
            v = oracle(space, past[k - 1] + scale * drawn[k - 1])
            eta = 1 / (k + 1)
            before, x = x, (1 - eta) * x + eta * v
        np.testing.assert_allclose(ticket.prediction, x, rtol=1e-12, atol=1e-12)
        booster.tell(ticket, world.answer(t, ticket, True, noise))
        past += np.array(fed)
        assert booster.bank is not None
        np.testing.assert_allclose(booster.bank.arrays()["total"], past, rtol=1e-12, atol=1e-12)


def test_recursive_gradients_of_one_sample_are_exact() -> None:
    # With a single sample every draw is the true gradient, and the recursion must return it at every copy.
    space = bb.spaces.Ball(3)
    world = bb.worlds.finite_sum(space, rounds=1, samples=1)
    booster = bb.algorithms.morgfw(space, copies=8)
    ticket = booster.ask()
    answers = world.answer(0, ticket, True, np.random.default_rng(0))
    estimates = booster.spec.gradient.estimate(answers, ticket.probe, space, {})
    np.testing.assert_allclose(estimates, world.gradients(0, ticket.path[:-1]), atol=1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("horizon", [16, 30])
def test_calls_are_those_of_table_1(algorithm: str, horizon: int) -> None:
    race = Race(algorithm, bb.spaces.Simplex(4), horizon, seeds=1)  # type: ignore[arg-type]
    result = race.run()
    world = bb.worlds.finite_sum(race.space, 1, 1)
    N = math.ceil(world.smoothness * race.space.diameter / world.sigma * math.sqrt(horizon))
    expected = {
        "online_frank_wolfe": (1, 1),
        "projection_free": (N, N),
        "morgfw": (horizon, 2 * horizon - 1),
        "meta_frank_wolfe": (math.ceil(horizon**1.5), math.ceil(horizon**1.5)),
    }
    assert (result["oracle_calls"], result["gradient_calls"]) == expected[algorithm]
    assert prescribed_calls(race.algorithm, horizon, race.space) == expected[algorithm][0]
