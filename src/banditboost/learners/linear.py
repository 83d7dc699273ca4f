"""Linear weak learners: N linear models, each trained on linear losses by projected online gradient descent.

Copy i plays W_i·x and is charged g_i·(W_i·x), whose gradient in the weights is g_i xᵀ:

    W_i  ←  Π_R( W_i - rate(t) · g_i xᵀ )          Π_R: projection on the Frobenius ball of radius R

A linear loss has no minimum: without the ball the weights would grow without bound.

References
----------
Zinkevich (2003), Section 2; the weak learner of the paper's experiments (Section 4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown, flat
from banditboost.learners.family import LinearFamily, LinearFamilyBank, clip_norms, many_products, outer, products, rows
from banditboost.rates import Power, Rate
from banditboost.spaces import Space


@dataclass(frozen=True)
class Linear(LinearFamily, kind="learners.Linear"):
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
        """Make a bank whose weights are zero."""
        return LinearBank(self, copies, space, features + self.intercept, separate)

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


class LinearBank(LinearFamilyBank):
    """Weights of shape (N, *shape, features)."""

    spec: Linear

    def __init__(self, spec: Linear, copies: int, space: Space, features: int, separate: bool) -> None:
        self.spec, self.space, self.separate = spec, space, separate
        self.weights = np.zeros((copies, *space.shape, features))

    def play(self, context: Array | None) -> Array:
        """Return W_i·x for every copy."""
        return products(self.weights, rows(context, self.spec.intercept))

    def play_many(self, contexts: Array) -> Array:
        """Return W_i·x for every copy and row."""
        return many_products(self.weights, rows(contexts, self.spec.intercept))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Take a step against g_i xᵀ, then project each copy on its ball."""
        self.weights -= outer(self.spec.rate.step(t) * gradients, rows(context, self.spec.intercept))
        if self.spec.radius is not None:
            clip_norms(self.weights, self.spec.radius)

    def arrays(self) -> dict[str, Array]:
        """Return the weights."""
        return {"weights": self.weights}

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled`: `linear`, `linear_lanes` or, for sparse contexts, `sparse_linear`."""
        from banditboost._compiled import linear, linear_lanes, sparse_linear, weight_balls

        weights, rounds = flat(self.weights), len(shown.rows)
        rates = self.spec.rate.at(np.arange(rounds_done + 1.0, rounds_done + rounds + 1))
        radius = np.inf if self.spec.radius is None else self.spec.radius
        if isinstance(shown.table, csr_array):
            thin = sparse_linear.form(weights, shown.table, shown.rows, rates, radius)
            return Prepared(thin, lambda: weight_balls.collect(thin.weights, weights))
        table, rows = (shown.dense(), np.arange(rounds)) if shown.own else (shown.table, shown.rows)
        if linear_lanes.fits(weights, table):
            lanes = linear_lanes.form(weights, table, rows, rates, radius)
            return Prepared(lanes, lambda: weight_balls.collect(lanes.weights, weights))
        dense = linear.form(weights, table, rows, rates, radius)

        def finish() -> None:
            weights[...] *= dense.scales[:, np.newaxis, np.newaxis]

        return Prepared(dense, finish)
