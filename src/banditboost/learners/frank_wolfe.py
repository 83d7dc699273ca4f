"""Online Frank-Wolfe: one linear step a round, and no copies at all.

F_t(x) = η Σ_{τ≤t} g_τ·x + ‖x - x_1‖²,   v_t = argmin_{x in K} ∇F_t(x_t)·x,   x_{t+1} = (1-s_t) x_t + s_t v_t,   s_t = min(1, 2/√t)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count, positive
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.spaces import Space
from banditboost.theory import online_frank_wolfe_parameters


@dataclass(frozen=True)
class FrankWolfe(Learner, kind="learners.FrankWolfe"):
    """Copies that move towards one answer of the linear oracle a round.

    Parameters
    ----------
    gradient_bound
        Bound on the norm of the gradients (G).
    horizon
        Number of rounds (T), for η = D/(2G T^{3/4}).

    References
    ----------
    Hazan, Kale (2012), "Projection-free online learning", Algorithm 1; in this form Hazan, *Introduction to Online
    Convex Optimization*, Algorithm 27 (online conditional gradient).

    Examples
    --------
    >>> from banditboost.spaces import Simplex
    >>> bank = FrankWolfe(horizon=16).start(1, Simplex(2), 0, np.random.default_rng(0))
    >>> bank.update(None, np.array([[1.0, 0.0]]), t=1)
    >>> bank.play(None).tolist()
    [[0.0, 1.0]]
    """

    gradient_bound: float = 1.0
    horizon: int = 1000

    contextual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gradient_bound", self.gradient_bound)
        count("horizon", self.horizon)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: points and sums."""
        return 2 * copies * space.size

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> FrankWolfeBank:
        """Put all copies at the centre."""
        rate = online_frank_wolfe_parameters(self.horizon, self.gradient_bound, space.diameter).rate
        return FrankWolfeBank(rate, copies, space)


class FrankWolfeBank(Bank):
    """One point and the sum of its gradients per copy."""

    def __init__(self, rate: float, copies: int, space: Space) -> None:
        self.rate, self.space = rate, space
        self.points = np.broadcast_to(space.inner_centre, (copies, *space.shape)).copy()
        self.total = np.zeros_like(self.points)

    def play(self, context: Array | None) -> Array:
        """Return the points."""
        return self.points.copy()

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Take one step towards the oracle's answer."""
        self.total += gradients
        towards = self.space.minimize(self.rate * self.total + 2 * (self.points - self.space.inner_centre))
        step = min(1.0, 2 / np.sqrt(t))
        self.points[...] = (1 - step) * self.points + step * towards

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Put these copies back at the centre, without gradients."""
        self.points[copies] = self.space.inner_centre
        self.total[copies] = 0.0

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned(self.kind, len(self.points))]

    def arrays(self) -> dict[str, Array]:
        """Return points and sums."""
        return {"points": self.points, "total": self.total}
