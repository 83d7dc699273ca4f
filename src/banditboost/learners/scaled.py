"""A learner whose plays are multiplied by γ: one that truly has the advantage γ of the weak-learning definition.

If the inner learner has regret R against its class, then Σ ℓ'(γ a_t) - γ Σ ℓ'(f(x_t)) = γ (Σ ℓ'(a_t) - Σ ℓ'(f(x_t))) ≤ γ R
for linear ℓ': a (γ, T)-agnostic weak online learner (Definition 6), weak for γ < 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, positive
from banditboost.learners.base import Bank, Learner
from banditboost.learners.linear import Linear
from banditboost.spaces import Space


@dataclass(frozen=True)
class Scaled(Learner):
    """Another learner, its plays multiplied by `gamma`.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Scaled(Linear(), gamma=0.5).start(1, Interval(0, 1), 1, np.random.default_rng(0))
    >>> bank.update(np.array([1.0]), np.array([-1.0]), t=1)
    >>> bank.play(np.array([1.0])).tolist()
    [0.1]
    """

    learner: Learner = Linear()  # noqa: RUF009 - specs are frozen
    gamma: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gamma", self.gamma)
        if not self.learner.contextual:
            raise ValueError(f"learner must be contextual, since scaled plays leave the set; got {self.learner!r}.")

    @property
    def bets(self) -> bool:
        """As those within."""
        return self.learner.bets

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """As those within."""
        return self.learner.n_floats(copies, space, features)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> ScaledBank:
        """Start the inner learner."""
        return ScaledBank(self.gamma, self.learner.start(copies, space, features, rng))


class ScaledBank(Bank):
    """An inner bank and a factor."""

    def __init__(self, gamma: float, bank: Bank) -> None:
        self.gamma = gamma
        self.bank = bank

    def play(self, context: Array | None) -> Array:
        """Return γ times the inner plays."""
        return self.gamma * self.bank.play(context)

    def play_many(self, contexts: Array) -> Array:
        """Return γ times the inner plays."""
        return self.gamma * self.bank.play_many(contexts)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Pass the linear losses on as they are."""
        self.bank.update(context, gradients, t)

    def check(self) -> None:
        """As the bank within."""
        self.bank.check()

    def arrays(self) -> dict[str, Array]:
        """Return the inner state."""
        return self.bank.arrays()
