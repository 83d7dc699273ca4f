"""Online gradient boosting for the span of a class: predictions are sums of plays, with learned shrinkage.

Idea: where the convex hull of a class is too small, let plays add up, and learn how much to shrink the sum before each is added.

    y^i = Π((1 - σ_i η) y^{i-1} + η A_i(x)),   A_i is told the linear loss ∇ℓ(y^{i-1})·y

References
----------
Beygelzimer, Hazan, Kale, Luo (2015), "Online Gradient Boosting", Algorithm 1.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import Span
from banditboost.gradients import Exact, Gradient
from banditboost.learners import Learner, Linear
from banditboost.spaces import Space


def span_boosting(
    space: Space,
    *,
    copies: int = 20,
    step: float | None = None,
    learner: Learner | None = None,
    gradient: Gradient | None = None,
    inside: bool = True,
    seed: int = 0,
) -> Booster:
    """Build Algorithm 1 of Beygelzimer et al. (2015), or its bandit version.

    Parameters
    ----------
    space
        Where predictions must land: the source's ball of radius B.
    copies
        Number of weak learners (N).
    step
        η in [1/N, 1]; that of `chains.Span` when not given.
    learner
        The weak learner; linear models on a ball of radius 10 when not given.
    gradient
        Exact gradients when not given, as in the source; `Surrogate` learns from loss values.
    inside
        Whether queries must stay in the space.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3, noise=bb.noise.Uniform(0.1))
    >>> booster = span_boosting(bb.spaces.Interval(-2, 2), gradient=bb.gradients.Surrogate(0.3))
    >>> trace = bb.evaluate.progressive(booster, world)
    >>> print(f"{trace.losses[2000:].mean():.3f} against {world.best_losses[2000:].mean():.3f}")
    0.005 against 0.003
    """
    return Booster(
        learner=learner or Linear(),
        copies=copies,
        chain=Span(step=step),
        gradient=gradient or Exact(),
        space=space,
        inside=inside,
        seed=seed,
    )
