"""The games in which regrets are measured beside their bounds: linear optimizers, Algorithm 1, Algorithm 2."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from banditboost import algorithms, theory
from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.chains import ConvexHull
from banditboost.experiments.cells import Cell
from banditboost.gradients import Exact, OnePoint
from banditboost.learners import FPL, FTRL, OGD, Learner, Linear, Scaled
from banditboost.losses import Absolute, Loss, Squared
from banditboost.noise import Uniform
from banditboost.rates import Theory
from banditboost.spaces import Interval, Simplex, Space
from banditboost.worlds import Convex, Supervised, SyntheticLinear, World, oblivious, stationary

FAILURE = 0.05
"""Failure probability ρ of the bounds with high probability."""
NOISE = 0.1
"""Bound of the noise on loss values."""

WorldName = Literal["stationary", "oblivious"]
OptimizerName = Literal["fpl", "ogd", "ftrl"]
Perturbation = Literal["gaussian", "laplace", "uniform"]


@dataclass(frozen=True)
class Game(Cell):
    """A setting that is played with many seeds and compared with its bounds."""

    horizon: int = 128
    seeds: int = 100

    def verdict(self, regrets: Array, expected: float, likely: float, margins: Array) -> dict[str, Any]:
        """Compare the regrets of all seeds with the bounds; `margins` are the lemma's bounds minus the regrets, run by run."""
        return {
            "seeds": len(regrets),
            "mean": float(regrets.mean()),
            "error": float(regrets.std(ddof=1) / np.sqrt(len(regrets))) if len(regrets) > 1 else 0.0,
            "largest": float(regrets.max()),
            "expected_bound": expected,
            "likely_bound": likely,
            "exceeding": int((regrets > likely).sum()),
            "least_margin": float(margins.min()) if margins.size else None,
            "lemma_violations": int((margins < -1e-9).sum()),
        }


@dataclass(frozen=True)
class LinearGame(Game, kind="experiments.LinearGame"):
    """An online linear optimizer alone, against linear losses whose sign alternates from round to round."""

    optimizer: OptimizerName = "fpl"
    perturbation: Perturbation = "gaussian"
    space: Space = Simplex(5)  # noqa: RUF009 - specs are frozen

    def run(self) -> dict[str, Any]:
        """Play the linear losses of one oblivious sequence with every seed."""
        T, D, d = self.horizon, self.space.diameter, self.space.size
        rng = stream(0, "world")
        direction = rng.standard_normal(self.space.shape)
        gradients = np.where(np.arange(T) % 2 < rng.random(T), 1.0, -1.0).reshape(-1, *(1,) * len(self.space.shape))
        gradients = gradients * direction / np.linalg.norm(direction)
        least = float(np.sum(gradients.sum(axis=0) * self.space.minimize(gradients.sum(axis=0))))
        learner = self._learner()
        regrets = np.empty(self.seeds)
        for seed in range(self.seeds):
            bank = learner.start(1, self.space, 0, stream(seed, "perturbations"))
            paid = 0.0
            for t in range(T):
                paid += float(np.sum(gradients[t] * bank.play(None)[0]))
                bank.update(None, gradients[t : t + 1], t + 1)
            regrets[seed] = paid - least
        expected = _optimizer_regret(self.optimizer, T, 1.0, D, d, self.perturbation)
        likely = _optimizer_regret(self.optimizer, T, 1.0, D, d, self.perturbation, FAILURE)
        return self.verdict(regrets, expected, likely, np.empty(0))

    def _learner(self) -> Learner:
        if self.optimizer == "ogd":
            return OGD(sigma=1.0)
        if self.optimizer == "ftrl":
            return FTRL(sigma=1.0, horizon=self.horizon)
        return FPL(sigma=1.0, horizon=self.horizon, perturbation=self.perturbation)


@dataclass(frozen=True)
class ProjectionFreeGame(Game, kind="experiments.ProjectionFreeGame"):
    """Algorithm 1 with stochastic gradients: Theorems 2 and 3."""

    space: Space = Simplex(5)  # noqa: RUF009 - specs are frozen
    world: WorldName = "oblivious"
    optimizer: OptimizerName = "fpl"
    copies: int | None = None

    def run(self) -> dict[str, Any]:
        """Play one sequence of quadratics with every seed."""
        world = _quadratics(self.world, self.space, self.horizon)
        T, D, beta, G, sigma = self.horizon, self.space.diameter, world.smoothness, world.lipschitz, world.sigma
        make = algorithms.projection_free
        first = make(self.space, horizon=T, smoothness=beta, sigma=sigma, optimizer=self.optimizer, copies=self.copies)
        regrets, margins = _play_all(first, world, self.seeds, world.best().point, beta, D)
        N, d = first.spec.copies, self.space.size
        expected = theory.projection_free_regret(T, N, beta, D, _optimizer_regret(self.optimizer, T, sigma, D, d))
        level = theory.optimizer_failure(N, FAILURE)
        likely = theory.projection_free_regret(
            T,
            N,
            beta,
            D,
            _optimizer_regret(self.optimizer, T, sigma, D, d, failure=level),
            failure=FAILURE,
            sigma=sigma,
            gradient_bound=G,
        )
        return self.verdict(regrets, expected, likely, margins) | {"copies": N}


@dataclass(frozen=True)
class BanditGame(Game, kind="experiments.BanditGame"):
    """Algorithm 1 from loss values: Theorem 14."""

    space: Space = Simplex(5)  # noqa: RUF009 - specs are frozen
    world: WorldName = "oblivious"
    copies: int | None = None
    delta: float | None = None

    def run(self) -> dict[str, Any]:
        """Play one sequence of quadratics with every seed."""
        world = _quadratics(self.world, self.space, self.horizon)
        T, D, L, M = self.horizon, self.space.diameter, world.lipschitz, world.bound
        first = algorithms.projection_free_bandit(
            self.space, horizon=T, loss_bound=M, noise_bound=NOISE, copies=self.copies, delta=self.delta
        )
        gradient = first.spec.gradient
        assert isinstance(gradient, OnePoint)
        delta, N, d = gradient.delta, first.spec.copies, self.space.rank
        regrets, margins = _play_all(first, world, self.seeds, world.best().point, world.smoothness, D)
        sigma = theory.sphere_gradient_bound(d, M, delta, NOISE)
        shrinking = theory.shrinkage_price(T, delta, self.space.inner_radius, L, D)
        size, level = self.space.size, theory.optimizer_failure(N, FAILURE)
        own, own_likely = (_optimizer_regret("fpl", T, sigma, D, size, failure=f) for f in (None, level))
        expected = theory.projection_free_bandit_regret(T, N, d, L, D, delta, own) + shrinking
        likely = (
            theory.projection_free_bandit_regret(T, N, d, L, D, delta, own_likely, failure=FAILURE, sigma=sigma)
            + shrinking
        )
        return self.verdict(regrets, expected, likely, margins) | {"copies": N, "delta": delta}


@dataclass(frozen=True)
class BoostingGame(Game, kind="experiments.BoostingGame"):
    """Algorithm 2 with linear learners of advantage γ, from loss values (Theorem 9) or with exact gradients."""

    loss: Literal["squared", "absolute"] = "squared"
    copies: int = 10
    gamma: float = 1.0
    delta: float | None = 0.2

    def run(self) -> dict[str, Any]:
        """Play one labelled sequence with every seed, against the weights that made it."""
        T, N, gamma, radius = self.horizon, self.copies, self.gamma, 1.0
        space, features = Interval(-2.0, 2.0), 2
        loss: Loss = Squared() if self.loss == "squared" else Absolute()
        made = SyntheticLinear(T, features, spread=0.3, norm=radius, seed=0)
        world = Supervised(made.contexts(), made.labels(), loss, Uniform(NOISE))
        # Plays W·x stay within ±R‖x‖ ≤ ±√2, inside the space shrunk by δ, so that nothing is ever projected.
        D, longest = space.diameter, float(np.sqrt(features))
        L, beta, M = loss.constants(space)
        sigma = L if self.delta is None else theory.sphere_gradient_bound(1, M, self.delta, NOISE)
        learner = Linear(radius, Theory(2 * radius, sigma * longest), intercept=False)
        first = Booster(
            Scaled(learner, gamma),
            N,
            ConvexHull(gamma),
            Exact() if self.delta is None else OnePoint(self.delta),
            space,
            features=features,
        )
        comparator = made.contexts() @ made.weights
        smoothness = beta if np.isfinite(beta) else None
        regrets, margins = _play_all(first, world, self.seeds, comparator, smoothness, D, gamma)
        own = gamma * theory.ogd_regret(T, sigma * longest, 2 * radius)
        if self.delta is None:
            bound = theory.gradient_boosting_regret(T, N, beta, D, own, gamma)
            return self.verdict(regrets, bound, bound, margins)
        expected = theory.boosting_regret(T, N, 1, L, D, self.delta, own, gamma)
        likely = theory.boosting_regret(T, N, 1, L, D, self.delta, own, gamma, failure=FAILURE, sigma=sigma)
        return self.verdict(regrets, expected, likely, margins)


def _optimizer_regret(
    name: str, T: int, sigma: float, D: float, d: int, perturbation: Any = "gaussian", failure: float | None = None
) -> float:
    if name == "ogd":
        return theory.ogd_regret(T, sigma, D)
    if name == "ftrl":
        return theory.ftrl_regret(T, sigma, theory.euclidean_range(D))
    return theory.fpl_regret(T, sigma, D, d, perturbation, failure=failure)


def _quadratics(name: str, space: Space, rounds: int) -> Convex:
    make = stationary if name == "stationary" else oblivious
    return make(space, rounds, noise=Uniform(NOISE))


def _play_all(
    first: Booster,
    world: World,
    seeds: int,
    comparator: Array,
    smoothness: float | None,
    diameter: float,
    gamma: float = 1.0,
) -> tuple[Array, Array]:
    """Play a world with every seed; return the regrets and, for smooth losses, the unrolled lemma's bounds minus the regrets."""
    best = [float(world.values(t, _at(comparator, t, first))) for t in range(len(world))]
    regrets, margins = np.empty(seeds), np.empty(seeds)
    for seed in range(seeds):
        booster = Booster.from_spec(replace(first.spec, seed=seed))
        regret, gradients, plays = play(booster, world, seed)
        regrets[seed] = regret - sum(best)
        if smoothness is not None:
            lemma = theory.unrolled_lemma(
                gradients, plays, comparator, smoothness=smoothness, diameter=diameter, gamma=gamma
            )
            margins[seed] = lemma - regrets[seed]
    return regrets, margins if smoothness is not None else np.empty(0)


def _at(comparator: Array, t: int, booster: Booster) -> Array:
    return np.asarray(comparator[t] if comparator.ndim > len(booster.spec.space.shape) else comparator)


def play(booster: Booster, world: World, seed: int) -> tuple[float, Array, Array]:
    """Play a world once; return the total loss, the true gradients along every path, and every copy's plays."""
    spec, rng, total = booster.spec, stream(seed, "noise"), 0.0
    shape = (len(world), spec.copies, *spec.space.shape)
    gradients, plays = np.empty(shape), np.empty(shape)
    for t in range(len(world)):
        ticket = booster.ask(world.context(t))
        total += float(world.values(t, ticket.prediction))
        gradients[t] = world.gradients(t, ticket.path[:-1])
        plays[t] = ticket.raw
        booster.tell(ticket, losses=world.answer(t, ticket, spec.gradient.noisy, rng))
    return total, gradients, plays
