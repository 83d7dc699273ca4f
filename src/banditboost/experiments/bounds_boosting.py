"""The game of Algorithm 2, boosting weak learners from loss values, beside its bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from banditboost import theory
from banditboost.booster import BoosterSpec
from banditboost.chains import ConvexHull
from banditboost.experiments.bounds_broken import BROKEN, GRADIENTS_TOLD, BrokenName
from banditboost.experiments.bounds_games import NOISE, Game, Setting
from banditboost.experiments.bounds_weak import Stumbling
from banditboost.experiments.bounds_worlds import Distances, one_sided_lines
from banditboost.gradients import Exact, OnePoint
from banditboost.learners import Learner, Linear
from banditboost.losses import Squared
from banditboost.noise import Uniform
from banditboost.rates import Theory
from banditboost.spaces import Interval
from banditboost.worlds import Supervised, World


@dataclass(frozen=True)
class BoostingGame(Game, kind="experiments.BoostingGame"):
    """Algorithm 2 with linear learners of advantage γ, from loss values: Theorem 9.

    Below γ = 1 learners stumble (`Stumbling`): they truly have no more than that advantage. Plays lie in Y = [-1, 1], chains in
    Y/γ, and predictions are projected on Y.
    """

    loss: Literal["distance", "squared"] = "distance"
    copies: int = 100
    gamma: float = 1.0
    delta: float = 0.2
    exact: bool = False
    """Whether gradients are exact, which makes the identity hold to the last digits."""

    @property
    def variants(self) -> tuple[BrokenName, ...]:
        """Those of what is told, gradients or values."""
        return GRADIENTS_TOLD if self.exact else BROKEN

    @property
    def advantage(self) -> float:
        """The advantage γ."""
        return self.gamma

    def _numbers(self) -> tuple[float, float]:
        """Return L and M on Y/γ and within δ of it."""
        reach = 1.0 / self.gamma + self.delta
        return (1.0, max(1.0, reach)) if self.loss == "distance" else (2.0 * (reach + 1.0), (reach + 1.0) ** 2)

    def _sigma(self) -> float:
        L, M = self._numbers()
        return L if self.exact else theory.sphere_gradient_bound(1, M, self.delta, NOISE)

    def bound(self, horizon: int, failure: float | None = None) -> float | None:
        """Return Theorem 9; learners that stumble keep their own bound in expectation only."""
        if self.exact or (failure is not None and self.gamma < 1):
            return None
        own = self.gamma * theory.ogd_regret(horizon, self._sigma(), 2.0)
        likely = {} if failure is None else {"failure": failure, "sigma": self._sigma()}
        L, _ = self._numbers()
        return theory.boosting_regret(horizon, self.copies, 1, L, 2.0, self.delta, own, self.gamma, **likely)

    def describe(self) -> str:
        """Return loss, copies, γ and feedback."""
        feedback = "exact gradients" if self.exact else f"δ={self.delta:g}"
        return f"{self.loss}, N={self.copies}, γ={self.gamma:g}, {feedback}"

    def setting(self) -> Setting:
        """Return Algorithm 2 on labels that unit weights predict nearly always."""
        contexts, labels, predicted = one_sided_lines(self.horizon)
        noise, sigma = Uniform(NOISE), self._sigma()
        world: World = (
            Distances(labels, contexts, noise)
            if self.loss == "distance"
            else Supervised(contexts, labels, Squared(), noise)
        )
        learner: Learner = Linear(1.0, Theory(2.0, sigma), intercept=False)
        spec = BoosterSpec(
            learner=learner if self.gamma == 1 else Stumbling(learner, self.gamma),
            copies=self.copies,
            chain=ConvexHull(self.gamma),
            gradient=Exact() if self.exact else OnePoint(self.delta),
            space=Interval(-1.0, 1.0),
            inside=False,
        )
        L, M = self._numbers()
        return Setting(spec, world, predicted, L if self.exact else M + NOISE, 2.0)
