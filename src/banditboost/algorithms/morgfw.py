"""MORGFW: K = T copies fed recursive gradients, regret Õ(√T).

    x^{k+1} = (1-η_k) x^k + η_k v^k,   η_k = 1/(k+1);   d^k = g(x^k, ξ^k) + (1-ρ_k)(d^{k-1} - g(x^{k-1}, ξ^k)),   ρ_k = 1/(k+1)

References
----------
Xie, Shen, Zhang, Wang, Qian (2020), Algorithm 2; the third row of the paper's Table 1.
"""

from __future__ import annotations

from banditboost._core.checks import count
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Harmonic
from banditboost.gradients import Recursive
from banditboost.learners import FPL
from banditboost.spaces import Space


def morgfw(
    space: Space, *, horizon: int = 100, sigma: float = 1.0, copies: int | None = None, seed: int = 0
) -> Booster:
    """Build MORGFW: the world answers with stochastic gradients, and queries with equal draws by the same sample.

    Parameters
    ----------
    space
        The decision set (K).
    horizon
        Number of rounds (T).
    sigma
        Bound on the norm of the stochastic gradients (σ).
    copies
        Number of copies (K), instead of T.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.finite_sum(bb.spaces.Simplex(5), rounds=100)
    >>> booster = morgfw(bb.spaces.Simplex(5), horizon=100, sigma=world.sigma)
    >>> booster.spec.copies, len(booster.ask().queries)
    (100, 199)
    """
    count("horizon", horizon)
    return Booster(
        learner=FPL(sigma=sigma, horizon=horizon, perturbation="uniform"),
        copies=horizon if copies is None else copies,
        chain=ConvexHull(steps=Harmonic(1.0, 1.0)),
        gradient=Recursive(),
        space=space,
        seed=seed,
    )
