"""Projection-free online convex optimisation with bandit feedback.

Idea: Algorithm 1, its stochastic gradients taken from N = √T noisy loss values a round by the sphere estimator.

    x^i = (1-η_i) x^{i-1} + η_i A_i(g_{1,i}, ...),   g_{t,i} = (d/δ) ℓ̃_t(x^{i-1} + δ v_i) v_i,   δ = T^-1/4

References
----------
Brukhim, Hazan (2020), Theorem 14 of the appendix.
"""

from __future__ import annotations

from dataclasses import dataclass

from banditboost._core.checks import positive
from banditboost.algorithms.projection_free import Optimizer, optimizer_for
from banditboost.booster import Booster, BoosterSpec, Plan
from banditboost.chains import ConvexHull
from banditboost.gradients import OnePoint
from banditboost.spaces import Interval, Space
from banditboost.theory import projection_free_bandit_copies, projection_free_bandit_delta, sphere_gradient_bound


@dataclass(frozen=True)
class ProjectionFreeBandit(Plan, kind="algorithms.ProjectionFreeBandit"):
    """The bandit version of Algorithm 1 for every horizon."""

    space: Space = Interval()  # noqa: RUF009 - specs are frozen
    loss_bound: float = 1.0
    noise_bound: float = 0.0
    optimizer: Optimizer = "fpl"
    copies: int | None = None
    delta: float | None = None
    seed: int = 0

    def at(self, horizon: int) -> BoosterSpec:
        """Return the booster for a horizon."""
        # Copies play in the space shrunk by δ: half the inner radius leaves them room.
        most = min(projection_free_bandit_delta(horizon), 0.5 * self.space.inner_radius)
        delta = most if self.delta is None else self.delta
        sigma = sphere_gradient_bound(self.space.rank, self.loss_bound, delta, self.noise_bound)
        return BoosterSpec(
            learner=optimizer_for(self.optimizer, sigma, horizon),
            copies=projection_free_bandit_copies(horizon) if self.copies is None else self.copies,
            chain=ConvexHull(),
            gradient=OnePoint(delta),
            space=self.space,
            seed=self.seed,
        )


def projection_free_bandit(
    space: Space,
    *,
    horizon: int | None = None,
    loss_bound: float = 1.0,
    noise_bound: float = 0.0,
    optimizer: Optimizer = "fpl",
    copies: int | None = None,
    delta: float | None = None,
    seed: int = 0,
) -> Booster:
    """Build the bandit version of Algorithm 1: the world answers with loss values; every query stays in the space.

    Parameters
    ----------
    space
        The decision set (K).
    horizon
        Number of rounds (T). When it is not given, the algorithm starts again with doubled horizons.
    loss_bound
        Bound on the losses' absolute values (M).
    noise_bound
        Bound on the noise of the loss values.
    optimizer
        ``"fpl"`` needs the space's linear oracle only; ``"ogd"`` and ``"ftrl"`` project.
    copies
        Number of copies (N), instead of √T.
    delta
        Distance of the queries (δ), instead of T^-1/4 or half the inner radius, whichever is smaller.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.stationary(bb.spaces.Ball(2), rounds=4000, noise=bb.noise.Uniform(0.1))
    >>> booster = projection_free_bandit(bb.spaces.Ball(2), horizon=4000, loss_bound=2.0, noise_bound=0.1)
    >>> trace = bb.evaluate.progressive(booster, world)
    >>> print(f"{trace.losses[2000:].mean():.2f} against {world.best().losses[2000:].mean():.2f}")
    0.13 against 0.12
    """
    plan = ProjectionFreeBandit(space, positive("loss_bound", loss_bound), noise_bound, optimizer, copies, delta, seed)
    return Booster.from_spec(plan if horizon is None else plan.at(horizon))
