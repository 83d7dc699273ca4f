"""Online gradient descent: one linear model, its own gradient, no boosting.

    W ← Π_R( W - rate(t) · ∇ℓ(W·x) xᵀ )

References
----------
Zinkevich (2003), Section 2; the full-information baseline of the paper's Table 2.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import Single
from banditboost.gradients import Exact
from banditboost.learners import Learner, Linear
from banditboost.spaces import Space


def ogd(space: Space, *, learner: Learner | None = None, inside: bool = True, seed: int = 0) -> Booster:
    """Build online gradient descent: the world must answer with the gradient at the prediction.

    Parameters
    ----------
    space
        Where predictions must land.
    learner
        The model; a linear one on a ball of radius 10 when not given.
    inside
        Whether the gradient is asked at the projected prediction (True) or at W·x itself.
    seed
        Makes the run reproducible, where the learner is random.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3)
    >>> trace = bb.evaluate.progressive(ogd(bb.spaces.Interval(-2, 2)), world)
    >>> print(f"{trace.losses[2000:].mean():.3f} against {world.best_losses[2000:].mean():.3f}")
    0.003 against 0.003
    """
    return Booster(
        learner=learner or Linear(), copies=1, chain=Single(), gradient=Exact(), space=space, inside=inside, seed=seed
    )
