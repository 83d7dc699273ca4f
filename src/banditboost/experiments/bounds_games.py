"""The games in which regrets are measured beside their bounds: linear optimizers, and Algorithm 1."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from banditboost import algorithms, theory
from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.algorithms.projection_free import optimizer_for
from banditboost.booster import BoosterSpec
from banditboost.booster.geometry import Geometry
from banditboost.experiments.bounds_broken import BROKEN, GRADIENTS_TOLD, BrokenName, told
from banditboost.experiments.bounds_replicas import Played, play_replicas
from banditboost.experiments.bounds_worlds import Distances, one_sided
from banditboost.experiments.cells import Cell
from banditboost.experiments.statistics import deviation
from banditboost.gradients import Exact
from banditboost.learners import FPL, Learner
from banditboost.noise import Uniform
from banditboost.spaces import Ball, Interval, Space
from banditboost.worlds import Quadratic, World

FAILURE = 0.05
"""Failure probability ρ of the bounds with high probability."""
NOISE = 0.1
"""Bound of the noise on loss values, and on every coordinate of a gradient."""

OptimizerName = Literal["fpl", "ogd", "ftrl"]
Perturbation = Literal["gaussian", "laplace", "uniform"]


class Setting(NamedTuple):
    """What a game plays."""

    spec: BoosterSpec
    world: World
    comparator: Array
    largest: float
    """The largest answer that the world may give: the length of a gradient, or a value."""
    smoothness: float
    """β of losses (β/2)‖y - c‖², for which the unrolled lemma is an identity."""


@dataclass(frozen=True)
class Game(Cell):
    """A setting that is played with many seeds at once, by a booster that is right or broken, and compared with its bounds."""

    horizon: int = 1024
    seeds: int = 30
    broken: BrokenName | None = None
    identity: bool = False
    """Whether the unrolled lemma's identity is computed, from what copies were told; losses must be quadratic."""

    @property
    def variants(self) -> tuple[BrokenName, ...]:
        """The ways in which this game can be broken."""
        return BROKEN

    @abstractmethod
    def bound(self, horizon: int, failure: float | None = None) -> float | None:
        """Return the bound on the regret after a horizon, in expectation or with probability 1 - ρ; None where there is none."""

    @abstractmethod
    def describe(self) -> str:
        """Return the setting in a few words."""

    @abstractmethod
    def setting(self) -> Setting:
        """Return what is played."""

    @property
    def advantage(self) -> float:
        """The advantage γ of the learners."""
        return 1.0

    def run(self) -> dict[str, Any]:
        """Play with every seed; return regrets, and how far they are from what the identity says."""
        made = self.setting()
        played = play_replicas(
            made.spec,
            made.world,
            made.comparator,
            self.seeds,
            broken=self.broken,
            size=made.largest,
            keep=self.identity,
        )
        return self.verdict(played.regrets) | (self._identity(made, played) if self.identity else {})

    def verdict(self, regrets: Array) -> dict[str, Any]:
        """Return what is kept of the regrets of all seeds."""
        likely = self.bound(self.horizon, FAILURE)
        return {
            "seeds": len(regrets),
            "mean": float(regrets.mean()),
            "error": deviation(regrets) / len(regrets) ** 0.5,
            "largest": float(regrets.max()),
            "exceeding": None if likely is None else int((regrets > likely).sum()),
        }

    def _identity(self, made: Setting, played: Played) -> dict[str, Any]:
        """Return by how much regrets differ from what the plays and the gradients that were told imply."""
        assert played.gradients is not None
        assert played.plays is not None
        rest = np.empty(self.seeds)
        for seed in range(self.seeds):
            lower, linear, upper = theory.unrolled_bracket(
                played.gradients[:, :, seed],
                played.plays[:, :, seed],
                made.comparator,
                smoothness=made.smoothness,
                start=Geometry.of(made.spec).chain_start,
                gamma=self.advantage,
            )
            rest[seed] = played.ends[seed] - (lower + upper - linear)
        return {"rest": float(rest.mean()), "rest_error": deviation(rest) / self.seeds**0.5}


@dataclass(frozen=True)
class LinearGame(Game, kind="experiments.LinearGame"):
    """An online linear optimizer alone: Definition 1. Nearly all linear losses are the same."""

    optimizer: OptimizerName = "fpl"
    perturbation: Perturbation = "gaussian"
    space: Space = Ball(2)  # noqa: RUF009 - specs are frozen

    @property
    def variants(self) -> tuple[BrokenName, ...]:
        """Those that break answers: there is no chain."""
        return ("flipped sign", "zeros", "noise")

    def bound(self, horizon: int, failure: float | None = None) -> float | None:
        """Return the optimizer's own bound for losses of norm one; where nothing is random it holds always, and counts once."""
        if failure is not None and self.optimizer != "fpl":
            return None
        return optimizer_regret(self.optimizer, horizon, 1.0, self.space, self.perturbation, failure)

    def describe(self) -> str:
        """Return the optimizer and the set."""
        kind = f"fpl, {self.perturbation}" if self.optimizer == "fpl" else self.optimizer
        return f"{kind}, {brief(self.space)}"

    def setting(self) -> Setting:
        """Raise an error: there is no booster here."""
        raise TypeError("A linear optimizer alone is no booster.")

    def run(self) -> dict[str, Any]:
        """Play the linear losses of one oblivious sequence, every copy of one bank for a seed."""
        axes = tuple(range(1, 1 + len(self.space.shape)))
        targets, _ = one_sided(Ball(self.space.size), self.horizon)
        gradients = targets.reshape(-1, *self.space.shape)
        least = float(np.sum(gradients.sum(axis=0) * self.space.minimize(gradients.sum(axis=0))))
        bank = self._learner().start(self.seeds, self.space, 0, stream(0, "perturbations"))
        paid, coins = np.zeros(self.seeds), stream(0, "coins")
        for t, gradient in enumerate(gradients):
            paid += np.sum(gradient * bank.play(None), axis=axes)
            answers = np.broadcast_to(gradient, (self.seeds, *self.space.shape))
            bank.update(None, told(self.broken, answers, 1, 1.0, coins), t + 1)
        return self.verdict(paid - least)

    def _learner(self) -> Learner:
        if self.optimizer != "fpl":
            return optimizer_for(self.optimizer, 1.0, self.horizon)
        return FPL(sigma=1.0, horizon=self.horizon, perturbation=self.perturbation)


@dataclass(frozen=True)
class ProjectionFreeGame(Game, kind="experiments.ProjectionFreeGame"):
    """Algorithm 1 with stochastic gradients of quadratics: Theorems 2 and 3."""

    space: Space = Ball(2)  # noqa: RUF009 - specs are frozen
    optimizer: OptimizerName = "fpl"
    copies: int | None = None
    exact: bool = False
    """Whether gradients are exact, which makes the identity hold to the last digits."""

    @property
    def variants(self) -> tuple[BrokenName, ...]:
        """Those of boosters that are told gradients."""
        return GRADIENTS_TOLD

    def _copies(self, horizon: int) -> int:
        sigma = self._sigma()
        return self.copies or theory.projection_free_copies(horizon, 1.0, self.space.diameter, sigma)

    def _sigma(self) -> float:
        return self.space.diameter + NOISE * float(np.sqrt(self.space.size))

    def bound(self, horizon: int, failure: float | None = None) -> float:
        """Return Proposition 5 or 13, with the copies that Theorem 2 prescribes unless their number is given."""
        copies, sigma, D = self._copies(horizon), self._sigma(), self.space.diameter
        level = None if failure is None else theory.optimizer_failure(copies, failure)
        own = optimizer_regret(self.optimizer, horizon, sigma, self.space, failure=level)
        likely = {} if failure is None else {"failure": failure, "sigma": sigma, "gradient_bound": D}
        return theory.projection_free_regret(horizon, copies, 1.0, D, own, **likely)

    def describe(self) -> str:
        """Return optimizer, set, copies and feedback."""
        given = "" if self.copies is None else " (given)"
        feedback = ", exact gradients" if self.exact else ""
        return f"{self.optimizer}, {brief(self.space)}, N={self._copies(self.horizon)}{given}{feedback}"

    def setting(self) -> Setting:
        """Return Algorithm 1 among quadratics."""
        targets, _ = one_sided(self.space, self.horizon)
        world = Quadratic(self.space, targets, noise=Uniform(NOISE))
        booster = algorithms.projection_free(
            self.space, horizon=self.horizon, sigma=world.sigma, optimizer=self.optimizer, copies=self.copies
        )
        spec = booster.spec
        if self.exact:
            spec = BoosterSpec(spec.learner, spec.copies, spec.chain, Exact(), spec.space)
        return Setting(spec, world, world.best().point, world.sigma, 1.0)


@dataclass(frozen=True)
class BanditGame(Game, kind="experiments.BanditGame"):
    """Algorithm 1 from loss values: Theorem 14.

    Copies play in K, the unit ball or [-1, 1], and the losses can be asked about within δ of it, as the paper assumes, so that no
    price is paid for a smaller set.
    """

    dimension: int = 1
    loss: Literal["distance", "quadratic"] = "distance"
    optimizer: OptimizerName = "fpl"
    copies: int | None = None
    delta: float | None = None

    def _numbers(self, horizon: int) -> tuple[int, float, float, float]:
        """Return N, δ, L and M for a horizon."""
        delta = self.delta or theory.projection_free_bandit_delta(horizon)
        copies = self.copies or theory.projection_free_bandit_copies(horizon)
        if self.loss == "distance":
            return copies, delta, 1.0, 1.0 + delta
        return copies, delta, 2.0 + delta, 0.5 * (2.0 + delta) ** 2

    def bound(self, horizon: int, failure: float | None = None) -> float:
        """Return Theorem 14, with its N and δ unless they are given, in expectation or with high probability."""
        copies, delta, L, M = self._numbers(horizon)
        sigma = theory.sphere_gradient_bound(self.dimension, M, delta, NOISE)
        level = None if failure is None else theory.optimizer_failure(copies, failure)
        own = optimizer_regret(self.optimizer, horizon, sigma, self._set(1.0), failure=level)
        likely = {} if failure is None else {"failure": failure, "sigma": sigma}
        return theory.projection_free_bandit_regret(horizon, copies, self.dimension, L, 2.0, delta, own, **likely)

    def describe(self) -> str:
        """Return optimizer, dimension, loss, copies and δ."""
        copies, delta, _, _ = self._numbers(self.horizon)
        given = " (given)" if self.copies is not None or self.delta is not None else ""
        return f"{self.optimizer}, {self.loss}, d={self.dimension}, N={copies}, δ={delta:.2g}{given}"

    def _set(self, radius: float) -> Space:
        return Interval(-radius, radius) if self.dimension == 1 else Ball(self.dimension, radius)

    def setting(self) -> Setting:
        """Return Algorithm 1 from values."""
        copies, delta, _, M = self._numbers(self.horizon)
        targets, point = one_sided(self._set(1.0), self.horizon)
        noise, around = Uniform(NOISE), self._set(1.0 + delta)
        booster = algorithms.projection_free_bandit(
            around,
            horizon=self.horizon,
            loss_bound=M,
            noise_bound=NOISE,
            optimizer=self.optimizer,
            copies=copies,
            delta=delta,
        )
        world = Distances(targets, noise=noise) if self.loss == "distance" else Quadratic(around, targets, noise=noise)
        return Setting(booster.spec, world, point, M + NOISE, 1.0)


def optimizer_regret(
    name: OptimizerName,
    T: int,
    sigma: float,
    space: Space,
    perturbation: Perturbation = "gaussian",
    failure: float | None = None,
) -> float:
    """Return the regret of an online linear optimizer, in expectation or with probability 1 - ρ."""
    if name == "ogd":
        return theory.ogd_regret(T, sigma, space.diameter)
    if name == "ftrl":
        return theory.ftrl_regret(T, sigma, theory.euclidean_range(space.diameter))
    return theory.fpl_regret(T, sigma, space.diameter, space.size, perturbation, failure=failure)


def brief(space: Space) -> str:
    """Return a set's name and dimension."""
    return f"{type(space).__name__}({space.size})"
