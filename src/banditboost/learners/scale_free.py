"""Normalised adaptive gradient descent: features may have any scale, and gradients too.

Idea: every feature is measured in units of the largest value seen of it, and every weight has a step of its own that shrinks with
the gradients it has met. With s_k the largest |x_k| so far, this round included, z = x/s and u_i = s·w_i,

    play      u_i·z
    update    N ← N + ‖z‖²,   G_i ← (s_old/s)² G_i + (g_i z)²,   u_i ← u_i - η √(t/N) · g_i z / √G_i

Multiplying a feature by a constant multiplies its s and leaves z, u and hence every play as they are; multiplying all gradients by
a constant leaves g/√G as it is. (To √G a millionth of the largest gradient is added: a first gradient that is zero but for rounding
would make a whole step otherwise.)

References
----------
Ross, Mineiro, Langford (2013), "Normalized Online Learning", Algorithm 2 (NAG), written in u = s·w: their "squash" w ← w·s_old/s
when a larger value comes is then nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown, flat
from banditboost.learners.family import (
    LARGEST,
    LinearFamily,
    LinearFamilyBank,
    clip_norms,
    largest,
    many_products,
    outer,
    products,
    rows,
)
from banditboost.spaces import Space


@dataclass(frozen=True)
class ScaleFree(LinearFamily, kind="learners.ScaleFree"):
    """Linear copies whose plays do not depend on how features are scaled.

    Parameters
    ----------
    rate
        η in units of the decision space's inner radius.
    radius
        Radius of each copy's weights u = s·w in the Frobenius norm, in the same units; None leaves them free.
    intercept
        Whether a constant 1 is appended to every context.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> banks = [ScaleFree().start(1, Interval(-1, 1), 2, np.random.default_rng(0)) for _ in range(2)]
    >>> for bank, unit in zip(banks, (1.0, 1000.0)):
    ...     bank.update(np.array([1.0, 2.0]) * [1, unit], np.array([-1.0]), t=1)
    >>> [bank.play(np.array([1.0, 1.0]) * [1, unit]).round(4).tolist() for bank, unit in zip(banks, (1.0, 1000.0))]
    [[0.7217], [0.7217]]
    """

    rate: float = 0.5
    radius: float | None = None
    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("rate", self.rate)
        if self.radius is not None:
            positive("radius", self.radius)

    @classmethod
    def examples(cls) -> tuple[ScaleFree, ...]:
        """Give one without and one with a bound on the weights."""
        return (cls(), cls(1.0, radius=3.0))

    def n_floats(self, copies: int, space: Space, features: int, separate: bool = False) -> int:
        """Return the number of floats: two for every weight, one for every copy, and the scales."""
        rows = copies if separate else 1
        weights = super().n_floats(copies, space, features)
        return 2 * weights + copies + rows * (features + self.intercept + 1)

    def start(
        self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False
    ) -> ScaleFreeBank:
        """Make a bank whose weights are zero and that has seen no feature."""
        return ScaleFreeBank(self, copies, space, features + self.intercept, separate)


FLOOR = 1e-6
"""This share of the largest gradient is added to every √G, so that gradients far below it move weights little."""


class ScaleFreeBank(LinearFamilyBank):
    """Weights u and sums of squares G, shape (N, *shape, p); largest gradients, (N,); scales and totals of the features."""

    spec: ScaleFree
    unit = LARGEST

    def __init__(self, spec: ScaleFree, copies: int, space: Space, features: int, separate: bool) -> None:
        self.spec, self.space, self.separate = spec, space, separate
        self.rate = spec.rate * space.inner_radius
        self.radius = None if spec.radius is None else spec.radius * space.inner_radius
        self.weights = np.zeros((copies, *space.shape, features))
        self.squares = np.zeros_like(self.weights)
        self.largest = np.zeros(copies)
        self.scales = np.zeros((copies if separate else 1, features))
        self.totals = np.zeros(len(self.scales))

    def play(self, context: Array | None) -> Array:
        """Return u_i·z for every copy."""
        return products(self.weights, largest(self.scales, rows(context, self.spec.intercept))[1])

    def play_many(self, contexts: Array) -> Array:
        """Return u_i·z for every copy and row, each with the scales as they are once the row is counted."""
        return many_products(self.weights, largest(self.scales, rows(contexts, self.spec.intercept))[1])

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Update the scales, then take a step with every weight."""
        ndim = self.weights.ndim
        scales, z = largest(self.scales, rows(context, self.spec.intercept))
        shrink = np.divide(self.scales, scales, out=np.zeros_like(z), where=scales > 0)
        self.scales[...] = scales
        self.totals += np.square(z).sum(axis=1)
        slopes = outer(gradients, z)
        self.squares *= np.square(shrink).reshape(len(z), *(1,) * (ndim - 2), -1)
        self.squares += np.square(slopes)
        pace = self.rate * np.sqrt(np.divide(t, self.totals, out=np.zeros_like(self.totals), where=self.totals > 0))
        np.maximum(self.largest, np.abs(gradients).reshape(len(gradients), -1).max(axis=1), out=self.largest)
        # At least the slope itself, whose square may be too small to be a number.
        lengths = np.maximum(np.sqrt(self.squares), np.abs(slopes)) + FLOOR * self.largest.reshape(
            -1, *(1,) * (ndim - 1)
        )
        steps = np.divide(slopes, lengths, out=np.zeros_like(slopes), where=lengths > 0)
        self.weights -= pace.reshape(-1, *(1,) * (ndim - 1)) * steps
        if self.radius is not None:
            clip_norms(self.weights, self.radius)

    @property
    def shared(self) -> frozenset[str]:
        """The scales and totals, where all copies see the same features."""
        return frozenset() if self.separate else frozenset({"scales", "totals"})

    def arrays(self) -> dict[str, Array]:
        """Return weights, sums of squares, largest gradients, scales and totals."""
        return {
            "weights": self.weights,
            "squares": self.squares,
            "largest": self.largest,
            "scales": self.scales,
            "totals": self.totals,
        }

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.scale_free`; a ball of weights touches all of them, sparse or not."""
        from banditboost._compiled import scale_free, units

        kinds, p = self.scales.shape
        seen = units.form(shown, kinds, p, self.spec.intercept, in_place=self.radius is None)
        radius = np.inf if self.radius is None else self.radius
        learned = (flat(self.weights), flat(self.squares), self.largest, self.scales, self.totals)
        return Prepared(scale_free.ScaleFree(*learned, self.rate, radius, FLOOR, rounds_done, seen, np.zeros(1)))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a row of features, unless sparse contexts are read where they are."""
        return 1 if sparse and self.radius is None else self.weights.shape[-1] + 1
