"""The bounds against a slow, independent implementation of Algorithm 1, right and broken on purpose.

Everything here is written out in plain loops and shares nothing with the library but the formulas under test.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from banditboost import theory

Array = NDArray[np.float64]
ROUNDS, COPIES = 100, 10


class Run(NamedTuple):
    fed: Array
    plays: Array
    predictions: Array
    start: Array
    diameter: float


def to_ball(x: Array) -> Array:
    return x / max(1.0, float(np.linalg.norm(x)))


def to_simplex(x: Array) -> Array:
    ordered = np.sort(x)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, len(x) + 1)
    return np.asarray(np.maximum(x - thresholds[np.nonzero(ordered > thresholds)[0][-1]], 0.0))


def ball_corner(g: Array) -> Array:
    return -g / float(np.linalg.norm(g))


def simplex_corner(g: Array) -> Array:
    return np.asarray(np.eye(len(g))[int(np.argmin(g))])


def targets_of(world: str, space: str, dimension: int, rng: np.random.Generator) -> Array:
    """Centres c_t of the losses ‖x - c_t‖²/2, in the set."""
    if world == "random":
        inside = to_ball if space == "ball" else to_simplex
        return np.array([inside(2 * rng.normal(size=dimension)) for _ in range(ROUNDS)])
    if space == "simplex":
        hold = 1 if world == "alternating" else 20
        return np.eye(dimension)[(np.arange(ROUNDS) // hold) % dimension]
    if world == "alternating":
        u = rng.normal(size=dimension)
        return np.outer((-1.0) ** np.arange(ROUNDS), u / np.linalg.norm(u))
    angle = 6 * rng.uniform() + np.arange(ROUNDS) / 15
    return np.pad(np.stack([np.cos(angle), np.sin(angle)], axis=1), ((0, 0), (0, dimension - 2)))


def algorithm_1(
    targets: Array,
    space: str,
    learner: str,
    rng: np.random.Generator,
    broken: str = "",
    noise: float = 0.0,
    copies: int = COPIES,
    sigma: float = 2.0,
) -> Run:
    rounds, dimension = targets.shape
    project, corner, diameter = (
        (to_ball, ball_corner, 2.0) if space == "ball" else (to_simplex, simplex_corner, math.sqrt(2.0))
    )
    start = np.zeros(dimension) if space == "ball" else np.full(dimension, 1 / dimension)
    state = [start.copy() for _ in range(copies)]
    total = [np.zeros(dimension) for _ in range(copies)]
    fed, plays = np.zeros((rounds, copies, dimension)), np.zeros((rounds, copies, dimension))
    predictions = np.zeros((rounds, dimension))
    for t in range(rounds):
        for i in range(copies):
            if learner == "ogd":
                plays[t, i] = state[i]
            else:
                plays[t, i] = corner(total[i] + math.sqrt(rounds) / 2 * rng.normal(size=dimension))
        path = [start]
        for i in range(copies):
            eta = 1.0 if broken == "steps are 1" else 2 / (i + 2)
            path.append((1 - eta) * path[i] + eta * plays[t, i])
        where = path[1:] if broken == "feedback after the step" else path[:-1]
        gradients = [y - targets[t] for y in where]
        if noise:
            directions = rng.normal(size=(copies, dimension))
            gradients = [g + noise * v / np.linalg.norm(v) for g, v in zip(gradients, directions, strict=True)]
        if broken == "the next copy's gradient":
            gradients = [*gradients[1:], gradients[0]]
        if broken == "the first copy's gradient":
            gradients = [gradients[0]] * copies
        if broken == "the last copy's gradient":
            gradients = [gradients[-1]] * copies
        for i, g in enumerate(gradients):
            fed[t, i] = g
            total[i] = total[i] + g
            if learner == "ogd":
                state[i] = project(state[i] - diameter / (sigma * math.sqrt(t + 1)) * g)
        predictions[t] = path[-1]
    return Run(fed, plays, predictions, start, diameter)


def regret_of(run: Run, targets: Array, star: Array) -> float:
    return float((np.square(run.predictions - targets) - np.square(star - targets)).sum() / 2)


class Verdict(NamedTuple):
    regret: float
    lemma: float
    lower: float
    upper: float
    identity: float


def judge(targets: Array, run: Run, star: Array) -> Verdict:
    lemma = theory.unrolled_lemma(run.fed, run.plays, star, smoothness=1.0, diameter=run.diameter)
    low, linear, high = theory.unrolled_bracket(run.fed, run.plays, star, smoothness=1.0, start=run.start)
    return Verdict(regret_of(run, targets, star), lemma, low, high, low + high - linear)


GAMES = [
    (space, learner, world, dimension)
    for space in ("ball", "simplex")
    for learner in ("ogd", "fpl")
    for world in ("alternating", "random", "drift")
    for dimension in (2, 5)
]


@pytest.mark.parametrize(("space", "learner", "world", "dimension"), GAMES)
def test_right_code_satisfies_the_lemma_on_every_run(space: str, learner: str, world: str, dimension: int) -> None:
    inside: Callable[[Array], Array] = to_ball if space == "ball" else to_simplex
    for seed in range(3):
        rng = np.random.default_rng(seed)
        targets = targets_of(world, space, dimension, rng)
        run = algorithm_1(targets, space, learner, rng)
        for star in [targets.mean(axis=0), *(inside(rng.normal(size=dimension)) for _ in range(20))]:
            verdict = judge(targets, run, star)
            assert verdict.lower - 1e-9 <= verdict.regret <= verdict.upper + 1e-9
            assert verdict.upper <= verdict.lemma + 1e-9
            assert verdict.regret == pytest.approx(verdict.identity, abs=1e-8)


# What each end of the bracket catches, against the best fixed point of the run: (mistake, game, who catches it).
CAUGHT = [
    ("steps are 1", ("ball", "ogd", "alternating", 2), {"lemma", "upper", "identity"}),
    ("steps are 1", ("ball", "fpl", "random", 5), {"lemma", "upper", "identity"}),
    ("steps are 1", ("simplex", "fpl", "drift", 5), {"lemma", "upper", "identity"}),
    ("steps are 1", ("simplex", "ogd", "drift", 2), {"upper", "identity"}),
    ("feedback after the step", ("ball", "ogd", "drift", 2), {"lower", "identity"}),
    ("feedback after the step", ("ball", "fpl", "alternating", 2), {"lower", "identity"}),
    ("feedback after the step", ("simplex", "fpl", "random", 5), {"lower", "identity"}),
    ("the next copy's gradient", ("ball", "fpl", "alternating", 5), {"lower", "identity"}),
    ("the next copy's gradient", ("simplex", "fpl", "alternating", 2), {"lower", "identity"}),
    ("the next copy's gradient", ("ball", "ogd", "alternating", 2), {"identity"}),
    ("the first copy's gradient", ("ball", "ogd", "random", 2), {"upper", "identity"}),
    ("the last copy's gradient", ("ball", "ogd", "drift", 2), {"lower", "identity"}),
    ("the last copy's gradient", ("ball", "fpl", "random", 2), {"identity"}),
]


@pytest.mark.parametrize(("broken", "game", "catchers"), CAUGHT)
def test_broken_code_is_caught(broken: str, game: tuple[str, str, str, int], catchers: set[str]) -> None:
    space, learner, world, dimension = game
    rng = np.random.default_rng(0)
    targets = targets_of(world, space, dimension, rng)
    verdict = judge(targets, algorithm_1(targets, space, learner, rng, broken), targets.mean(axis=0))
    found = set()
    if verdict.regret > verdict.lemma + 1e-6:
        found.add("lemma")
    if verdict.regret > verdict.upper + 1e-6:
        found.add("upper")
    if verdict.regret < verdict.lower - 1e-6:
        found.add("lower")
    if abs(verdict.regret - verdict.identity) > 1e-6:
        found.add("identity")
    assert found == catchers, verdict


@pytest.mark.parametrize("game", GAMES)
def test_feedback_after_the_step_never_exceeds_the_upper_end(game: tuple[str, str, str, int]) -> None:
    space, learner, world, dimension = game
    rng = np.random.default_rng(1)
    targets = targets_of(world, space, dimension, rng)
    verdict = judge(targets, algorithm_1(targets, space, learner, rng, "feedback after the step"), targets[0])
    assert verdict.lower - 1e-9 > verdict.regret or verdict.regret != pytest.approx(verdict.identity, abs=1e-6)
    assert verdict.regret <= verdict.upper


@pytest.mark.parametrize("space", ["ball", "simplex"])
@pytest.mark.parametrize("world", ["alternating", "random", "drift"])
def test_asymptotic_bounds_hold_and_are_not_silly(space: str, world: str) -> None:
    rng = np.random.default_rng(2)
    targets = targets_of(world, space, 3, rng)
    diameter = 2.0 if space == "ball" else math.sqrt(2.0)
    noise = 1.0
    sigma = diameter + noise  # ‖x - c‖ ≤ D, plus the noise
    exact = algorithm_1(targets, space, "ogd", rng, sigma=diameter)
    star = targets.mean(axis=0)
    learner = theory.ogd_regret(ROUNDS, diameter, diameter)
    bound = theory.projection_free_regret(ROUNDS, COPIES, 1.0, diameter, learner)
    assert regret_of(exact, targets, star) <= bound
    assert theory.gradient_boosting_regret(ROUNDS, COPIES, 1.0, diameter, learner) == bound
    if world == "alternating":
        assert regret_of(exact, targets, star) > 0.01 * bound
    noisy = [algorithm_1(targets, space, "ogd", rng, noise=noise, sigma=sigma) for _ in range(5)]
    regrets = [regret_of(run, targets, star) for run in noisy]
    learner = theory.ogd_regret(ROUNDS, sigma, diameter)
    expected = theory.projection_free_regret(ROUNDS, COPIES, 1.0, diameter, learner)
    likely = theory.projection_free_regret(
        ROUNDS, COPIES, 1.0, diameter, learner, failure=0.1, sigma=sigma, gradient_bound=diameter
    )
    assert float(np.mean(regrets)) <= expected < likely
    assert max(regrets) <= likely
