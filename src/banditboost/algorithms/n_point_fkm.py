"""N-FKM: one linear model and the average of N one-point gradients at its prediction.

    g = (1/N) Σ_k (d/δ) ℓ̃(W·x + δ v_k) v_k,   W ← Π_R( W - rate(t) · g xᵀ )

References
----------
Flaxman, Kalai, McMahan (2005), Section 2, with N queries; the bandit baseline of the paper's Table 2.
"""

from __future__ import annotations

from banditboost.algorithms.bandit_boosting import default_delta
from banditboost.booster import Booster
from banditboost.chains import Single
from banditboost.gradients import OnePoint
from banditboost.learners import Learner, Linear
from banditboost.spaces import Space


def n_point_fkm(
    space: Space,
    *,
    queries: int = 20,
    delta: float | None = None,
    learner: Learner | None = None,
    inside: bool = True,
    seed: int = 0,
) -> Booster:
    """Build the N-FKM baseline: as many loss values as boosting with N copies, one model.

    Parameters
    ----------
    space
        Where predictions must land.
    queries
        Loss values asked a round (N).
    delta
        Distance of the queries (δ); 1/2 as in the paper, or a quarter of the inner radius where that is smaller.
    learner
        The model; a linear one on a ball of radius 10 when not given.
    inside
        Whether queries must stay in the space.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3, noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(n_point_fkm(bb.spaces.Interval(-2, 2)), world)
    >>> print(f"{trace.losses[2000:].mean():.3f} against {world.best_losses[2000:].mean():.3f}")
    0.003 against 0.003
    """
    return Booster(
        learner=learner or Linear(),
        copies=1,
        chain=Single(),
        gradient=OnePoint(default_delta(space) if delta is None else delta, queries=queries),
        space=space,
        inside=inside,
        seed=seed,
    )
