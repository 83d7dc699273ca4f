"""Online gradient descent on the set itself: an online linear optimizer for sets that are easy to project on.

x ← Π_K( x - D/(σ√t) · g )
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.rates import Rate, Theory
from banditboost.spaces import Space


@dataclass(frozen=True)
class OGD(Learner, kind="learners.OGD"):
    """Copies that take gradient steps and project on the set.

    Parameters
    ----------
    sigma
        Bound on the norm of the linear losses (σ).
    rate
        Step sizes; D/(σ√t), as theory prescribes, when not given.

    References
    ----------
    Zinkevich (2003), Theorem 1; regret (3/2)σD√T: `banditboost.theory.ogd_regret`.

    Examples
    --------
    >>> from banditboost.spaces import Ball
    >>> bank = OGD(sigma=1.0).start(1, Ball(2), 0, np.random.default_rng(0))
    >>> bank.update(None, np.array([[0.0, 1.0]]), t=1)
    >>> bank.play(None).tolist()
    [[0.0, -1.0]]
    """

    sigma: float = 1.0
    rate: Rate | None = None

    contextual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("sigma", self.sigma)
        if self.rate is not None and not isinstance(self.rate, Rate):
            raise ValueError(f"rate must be a Rate, such as Power(0.1, 0.5), got {self.rate!r}.")

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> OGDBank:
        """Put all copies at the centre."""
        return OGDBank(self.rate or Theory(space.diameter, self.sigma), copies, space)


class OGDBank(Bank):
    """One point per copy."""

    def __init__(self, rate: Rate, copies: int, space: Space) -> None:
        self.rate, self.space = rate, space
        self.points = np.broadcast_to(space.inner_centre, (copies, *space.shape)).copy()

    def play(self, context: Array | None) -> Array:
        """Return the points."""
        return self.points.copy()

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Take a step against the gradient, and project."""
        self.points[...] = self.space.project(self.points - self.rate.step(t) * gradients)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Put these copies back at the centre."""
        self.points[copies] = self.space.inner_centre

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned(self.kind, len(self.points))]

    def arrays(self) -> dict[str, Array]:
        """Return the points."""
        return {"points": self.points}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.points`."""
        from banditboost._compiled.points import Points

        rates = self.rate.at(np.arange(rounds_done + 1.0, rounds_done + len(shown.rows) + 1))
        return Prepared(Points(self.points.reshape(len(self.points), -1), rates, self.space.compiled_form()))

    def why_not_compiled(self) -> str | None:
        """Return why the set cannot be projected on in a compiled loop."""
        return super().why_not_compiled() or self.space.why_not_compiled()
