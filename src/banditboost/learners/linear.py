"""Linear weak learners: N linear models, each trained on linear losses by projected online gradient descent.

Copy i plays W_i·x and is charged g_i·(W_i·x), whose gradient in the weights is g_i xᵀ:

    W_i  ←  Π_R( W_i - rate(t) · g_i xᵀ )          Π_R: projection on the Frobenius ball of radius R

A linear loss has no minimum of its own: without the ball the copies run away.

References
----------
Zinkevich (2003), Section 2; the weak learner of the paper's experiments (Section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, positive
from banditboost.learners.base import Bank
from banditboost.learners.family import LinearFamily, clip_norms, many_products, outer, products, rows
from banditboost.rates import Power, Rate
from banditboost.spaces import Space


@dataclass(frozen=True)
class Linear(LinearFamily):
    """N linear models on a ball of weights.

    Parameters
    ----------
    radius
        Radius R of each copy's weights in the Frobenius norm; None leaves them free.
    rate
        Step sizes.
    intercept
        Whether a constant 1 is appended to every context.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Linear(radius=10.0).start(copies=3, space=Interval(0, 1), features=2, rng=np.random.default_rng(0))
    >>> bank.update(np.array([1.0, 2.0]), np.array([-1.0, 0.0, 1.0]), t=1)
    >>> bank.play(np.array([1.0, 2.0])).round(6).tolist()
    [0.6, 0.0, -0.6]
    """

    radius: float | None = 10.0
    rate: Rate = Power(0.1, 0.5)  # noqa: RUF009 - specs are frozen
    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.radius is not None:
            positive("radius", self.radius)
        if not isinstance(self.rate, Rate):
            raise ValueError(f"rate must be a Rate, such as Power(0.1, 0.5), got {self.rate!r}.")

    def start(
        self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False
    ) -> LinearBank:
        """All weights zero."""
        return LinearBank(self, np.zeros((copies, *space.shape, features + self.intercept)))

    def best_in_hindsight(self, contexts: Array, gradients: Array) -> Array:
        """Return, for every T, the least Σ_{t≤T} g_t·(W x_t) over the ball: -R ‖Σ g_t x_tᵀ‖.

        This is the comparator of the weak-learning definition (Definition 6) for this class.
        """
        if self.radius is None:
            raise ValueError("radius must be given: without it linear losses have no least value.")
        rounds = len(contexts)
        if self.intercept:
            contexts = np.column_stack([contexts, np.ones(rounds)])
        total = np.zeros((gradients[0].size, contexts.shape[1]))
        best = np.empty(rounds)
        for t in range(rounds):
            total += gradients[t].reshape(-1, 1) * contexts[t]
            best[t] = -self.radius * np.linalg.norm(total)
        return best


class LinearBank(Bank):
    """Weights of shape (N, *shape, features)."""

    def __init__(self, spec: Linear, weights: Array) -> None:
        self.spec = spec
        self.weights = weights

    def play(self, context: Array | None) -> Array:
        """Return W_i·x for every copy."""
        return products(self.weights, rows(context, self.spec.intercept))

    def play_many(self, contexts: Array) -> Array:
        """Return W_i·x for every copy and row."""
        return many_products(self.weights, rows(contexts, self.spec.intercept))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Step against g_i xᵀ, then project each copy on its ball."""
        self.weights -= outer(self.spec.rate.step(t) * gradients, rows(context, self.spec.intercept))
        if self.spec.radius is not None:
            clip_norms(self.weights, self.spec.radius)

    def arrays(self) -> dict[str, Array]:
        """Return the weights."""
        return {"weights": self.weights}
