"""A learner that truly is weak: it plays well with probability γ and otherwise a random sign.

Whatever stands within it is charged for its own plays a; what is played is a with probability γ, and ±1 with equal chances
otherwise, drawn afresh for every copy and round. A linear loss that does not depend on that draw then has the mean γ ℓ'(a), so that

    E[ Σ ℓ'(A(x)) - γ Σ ℓ'(f(x)) ]  =  γ E[ Σ ℓ'(a) - Σ ℓ'(f(x)) ]  ≤  γ R

and no better: Definition 6 with γ < 1 and equality in the middle. `Scaled`, in comparison, plays γa without any noise, which a
chain that divides by γ turns back into a: it tests that γ cancels, and nothing about weakness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, between
from banditboost.learners import Learner, Linear
from banditboost.learners.base import Bank
from banditboost.spaces import Space


@dataclass(frozen=True)
class Stumbling(Learner, kind="experiments.Stumbling"):
    """Another learner whose copies play a random sign instead, with probability 1 - `gamma`, on a set that is symmetric about zero.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Stumbling(Linear(), gamma=0.5).start(6, Interval(-1, 1), 1, np.random.default_rng(0))
    >>> bank.update(np.array([1.0]), np.full(6, -1.0), t=1)
    >>> bank.play(np.array([1.0])).tolist()
    [0.2, 0.2, 0.2, 0.2, 0.2, 1.0]
    """

    learner: Learner = Linear()  # noqa: RUF009 - specs are frozen
    gamma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        between("gamma", self.gamma, 0, 1)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> StumblingBank:
        """Start the inner learner, and draw who stumbles first."""
        return StumblingBank(self.gamma, copies, space, self.learner.start(copies, space, features, rng), rng)


class StumblingBank(Bank):
    """An inner bank, and the signs that are played next; zero where a copy does not stumble."""

    def __init__(self, gamma: float, copies: int, space: Space, bank: Bank, rng: np.random.Generator) -> None:
        self.gamma, self.bank, self.rng = gamma, bank, rng
        self.signs = np.empty((copies, *space.shape))
        self._stumble()

    def _stumble(self) -> None:
        drawn = self.rng.random(self.signs.shape)
        half = 0.5 * (1.0 - self.gamma)
        self.signs[...] = np.where(drawn < half, 1.0, np.where(drawn < 2 * half, -1.0, 0.0))

    def play(self, context: Array | None) -> Array:
        """Return the inner plays, and signs where copies stumble."""
        return np.where(self.signs == 0.0, self.bank.play(context), self.signs)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Let the inner copies learn as if nothing had happened, and draw who stumbles next."""
        self.bank.update(context, gradients, t)
        self._stumble()

    def arrays(self) -> dict[str, Array]:
        """Return the inner state and the signs."""
        return self.bank.arrays() | {"signs": self.signs}
