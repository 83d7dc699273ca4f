"""Projection-free online convex optimisation with stochastic gradients.

Idea: N copies of an online linear optimizer are the steps of a Frank-Wolfe method that learns its own directions.

    x^i = (1-η_i) x^{i-1} + η_i A_i(g_{1,i}, ..., g_{t-1,i}),   E[g_{t,i}] = ∇ℓ_t(x^{i-1}),   η_i = 2/(i+1)

References
----------
Brukhim, Hazan (2020), Algorithm 1 and Theorems 2 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from banditboost._core.checks import count, one_of, positive
from banditboost.booster import Booster, BoosterSpec, Plan
from banditboost.chains import ConvexHull
from banditboost.gradients import Stochastic
from banditboost.learners import FPL, FTRL, OGD, Learner
from banditboost.spaces import Interval, Space
from banditboost.theory import projection_free_copies

Optimizer = Literal["fpl", "ogd", "ftrl"]


def optimizer_for(name: Optimizer, sigma: float | None, horizon: int) -> Learner:
    """Return an online linear optimizer with the parameters that theory gives it, for linear losses of norm at most σ.

    Where σ is not known, perturbed leaders find their scale themselves, and the others take σ = 1.
    """
    one_of("optimizer", name, ("fpl", "ogd", "ftrl"))
    if sigma is None and name == "fpl":
        return FPL(scale="adaptive")
    sigma = 1.0 if sigma is None else sigma
    if name == "ogd":
        return OGD(sigma=sigma)
    return FPL(sigma=sigma, horizon=horizon) if name == "fpl" else FTRL(sigma=sigma, horizon=horizon)


@dataclass(frozen=True)
class ProjectionFree(Plan, kind="algorithms.ProjectionFree"):
    """Algorithm 1 for every horizon, with N and the optimizers as in Theorem 2."""

    space: Space = Interval()  # noqa: RUF009 - specs are frozen
    smoothness: float = 1.0
    sigma: float | None = None
    optimizer: Optimizer = "fpl"
    copies: int | None = None
    seed: int = 0

    def at(self, horizon: int) -> BoosterSpec:
        """Return the booster for a horizon."""
        count("horizon", horizon)
        prescribed = projection_free_copies(
            horizon, self.smoothness, self.space.diameter, 1.0 if self.sigma is None else self.sigma
        )
        return BoosterSpec(
            learner=optimizer_for(self.optimizer, self.sigma, horizon),
            copies=prescribed if self.copies is None else self.copies,
            chain=ConvexHull(),
            gradient=Stochastic(),
            space=self.space,
            seed=self.seed,
        )


def projection_free(
    space: Space,
    *,
    horizon: int | None = None,
    smoothness: float = 1.0,
    sigma: float | None = None,
    optimizer: Optimizer = "fpl",
    copies: int | None = None,
    seed: int = 0,
) -> Booster:
    """Build Algorithm 1 of Brukhim and Hazan (2020): the world answers with stochastic gradients; there is no context.

    Parameters
    ----------
    space
        The decision set (K).
    horizon
        Number of rounds (T). When it is not given, the algorithm starts again with doubled horizons, which costs a
        constant factor in regret.
    smoothness
        Lipschitz constant of the losses' gradients (β).
    sigma
        Bound on the norm of the stochastic gradients (σ), from which theory prescribes the scale of the perturbations. When it is
        not given, perturbed leaders find a scale from how far their plays change (`FPL` with ``scale="adaptive"``), which on the
        problems that we measured loses less; the other optimizers, and the number of copies, are those of σ = 1.
    optimizer
        ``"fpl"`` needs the space's linear oracle only; ``"ogd"`` and ``"ftrl"`` project.
    copies
        Number of copies (N), instead of ceil((βD/σ)√T), which Theorem 2 prescribes.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.stationary(bb.spaces.Simplex(5), rounds=1000, noise=bb.noise.Uniform(0.1))
    >>> booster = projection_free(bb.spaces.Simplex(5), horizon=1000, smoothness=1.0, sigma=world.sigma)
    >>> trace = bb.evaluate.progressive(booster, world)
    >>> print(f"{trace.mean:.3f} against {world.best().losses.mean():.3f}")
    0.120 against 0.100
    """
    plan = ProjectionFree(
        space,
        positive("smoothness", smoothness),
        None if sigma is None else positive("sigma", sigma),
        optimizer,
        copies,
        seed,
    )
    return Booster.from_spec(plan if horizon is None else plan.at(horizon))
