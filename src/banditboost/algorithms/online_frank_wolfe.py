"""Online Frank-Wolfe: one gradient and one linear step a round, regret O(T^3/4).

References
----------
Hazan, Kale (2012), Algorithm 1 (adversarial form); the first row of the paper's Table 1.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import Single
from banditboost.gradients import Exact, Stochastic
from banditboost.learners import FrankWolfe
from banditboost.spaces import Space


def online_frank_wolfe(
    space: Space, *, horizon: int = 1000, gradient_bound: float = 1.0, stochastic: bool = False, seed: int = 0
) -> Booster:
    """Build online Frank-Wolfe: the world answers with the gradient at the prediction.

    Parameters
    ----------
    space
        The decision set (K).
    horizon
        Number of rounds (T).
    gradient_bound
        Bound on the norm of the gradients (G).
    stochastic
        Whether the gradient may be a stochastic one; the source's guarantee is for exact ones.
    seed
        Has no effect, since nothing here is random; all recipes take it.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.stationary(bb.spaces.Simplex(5), rounds=1000)
    >>> booster = online_frank_wolfe(bb.spaces.Simplex(5), horizon=1000, gradient_bound=world.lipschitz)
    >>> trace = bb.evaluate.progressive(booster, world)
    >>> print(f"{trace.mean:.3f} against {world.best().losses.mean():.3f}")
    0.118 against 0.100
    """
    return Booster(
        learner=FrankWolfe(gradient_bound, horizon),
        copies=1,
        chain=Single(),
        gradient=Stochastic() if stochastic else Exact(),
        space=space,
        seed=seed,
    )
