"""Online gradient boosting with noisy bandit feedback.

Idea: N weak learners are chained as in a Frank-Wolfe method; each learns from one noisy loss value near the point that those
before it have reached.

    y^i = (1-η_i) y^{i-1} + η_i A_i(x)/γ,   g_i = (d/δ) ℓ̃(y^{i-1} + δ v_i) v_i,   A_i is told the linear loss g_i·y

References
----------
Brukhim, Hazan (2020), "Online Boosting with Bandit Feedback", Algorithm 2 and Theorem 9.
"""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.chains import ConvexHull
from banditboost.gradients import Gradient, OnePoint
from banditboost.learners import Learner, Linear
from banditboost.spaces import Space


def bandit_boosting(
    space: Space,
    *,
    copies: int = 20,
    delta: float | None = None,
    gamma: float = 1.0,
    learner: Learner | None = None,
    gradient: Gradient | None = None,
    inside: bool = True,
    seed: int = 0,
) -> Booster:
    """Build Algorithm 2 of Brukhim and Hazan (2020).

    Parameters
    ----------
    space
        Where predictions must land.
    copies
        Number of weak learners (N), and of loss values asked a round.
    delta
        Distance of the queries (δ); 1/2 as in the paper, or a quarter of the inner radius where that is smaller.
    gamma
        The weak learners' advantage (γ).
    learner
        The weak learner; linear models on a ball of radius 10 when not given.
    gradient
        What to make of the answers; the paper's `OnePoint(delta)` when not given. `Surrogate(delta)` asks the same and learns more.
    inside
        Whether queries must stay in the space.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3, noise=bb.noise.Uniform(0.1))
    >>> trace = bb.evaluate.progressive(bandit_boosting(bb.spaces.Interval(-2, 2)), world)
    >>> print(f"{trace.losses[2000:].mean():.2f} against {world.best_losses[2000:].mean():.2f}")
    0.01 against 0.00
    """
    if gradient is not None and delta is not None:
        raise ValueError(
            f"delta must be left to the gradient where one is given, got delta={delta!r} and {gradient!r}."
        )
    return Booster(
        learner=learner or Linear(),
        copies=copies,
        chain=ConvexHull(gamma=gamma),
        gradient=gradient or OnePoint(default_delta(space) if delta is None else delta),
        space=space,
        inside=inside,
        seed=seed,
    )


def default_delta(space: Space) -> float:
    """Return the paper's δ = 1/2, or less where the space has no room for it."""
    return min(0.5, space.inner_radius / 4)
