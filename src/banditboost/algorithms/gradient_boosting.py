"""Online gradient boosting with full information, for the convex hull of a class.

Idea: the chain of Algorithm 2 with exact gradients in place of estimates.

    y^i = (1-η_i) y^{i-1} + η_i A_i(x)/γ,   A_i is told the linear loss ∇ℓ(y^{i-1})·y

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithm 2.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import ConvexHull
from banditboost.gradients import Exact
from banditboost.learners import Learner, Linear
from banditboost.spaces import Space


def gradient_boosting(
    space: Space,
    *,
    copies: int = 20,
    gamma: float = 1.0,
    learner: Learner | None = None,
    inside: bool = True,
    seed: int = 0,
) -> Booster:
    """Build Algorithm 2 of Beygelzimer et al. (2015): the world must answer with gradients.

    Parameters
    ----------
    space
        Where predictions must land.
    copies
        Number of weak learners (N).
    gamma
        The weak learners' advantage (γ); 1 in the source.
    learner
        The weak learner; linear models on a ball of radius 10 when not given.
    inside
        Whether the points at which gradients are asked must stay in the space.
    seed
        Makes the run reproducible, where the learner is random.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3)
    >>> trace = bb.evaluate.progressive(gradient_boosting(bb.spaces.Interval(-2, 2)), world)
    >>> print(f"{trace.losses[2000:].mean():.3f} against {world.best_losses[2000:].mean():.3f}")
    0.004 against 0.003
    """
    return Booster(
        learner=learner or Linear(),
        copies=copies,
        chain=ConvexHull(gamma=gamma),
        gradient=Exact(),
        space=space,
        inside=inside,
        seed=seed,
    )
