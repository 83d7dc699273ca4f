"""Meta-Frank-Wolfe with stochastic gradients: K = T^{3/2} copies fed averaged gradients, regret O(√T).

    x^{k+1} = (1-η_k) x^k + η_k v^k,   η_k = 1/(k+3);   d^k = (1-ρ_k) d^{k-1} + ρ_k g(x^k),   ρ_k = 2/(k+3)^{2/3}

References
----------
Chen, Harshaw, Hassani, Karbasi (2018), Algorithm 1 and Theorem 1; the second row of the paper's Table 1.
"""

from __future__ import annotations

import math

from banditboost._core.checks import count
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Harmonic
from banditboost.gradients import Averaged
from banditboost.learners import FPL
from banditboost.spaces import Space


def meta_frank_wolfe(
    space: Space, *, horizon: int = 100, sigma: float = 1.0, copies: int | None = None, seed: int = 0
) -> Booster:
    """Build Meta-Frank-Wolfe: the world answers with stochastic gradients.

    Parameters
    ----------
    space
        The decision set (K).
    horizon
        Number of rounds (T).
    sigma
        Bound on the norm of the stochastic gradients (σ).
    copies
        Number of copies (K), instead of ceil(T^{3/2}).
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.finite_sum(bb.spaces.Simplex(5), rounds=100)
    >>> booster = meta_frank_wolfe(bb.spaces.Simplex(5), horizon=100, sigma=world.sigma)
    >>> booster.spec.copies
    1000
    """
    count("horizon", horizon)
    return Booster(
        learner=FPL(sigma=sigma, horizon=horizon, perturbation="uniform"),
        copies=math.ceil(round(horizon**1.5, 9)) if copies is None else copies,
        chain=ConvexHull(steps=Harmonic(1.0, 3.0)),
        gradient=Averaged(),
        space=space,
        seed=seed,
    )
