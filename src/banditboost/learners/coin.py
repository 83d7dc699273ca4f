"""Coin betting: linear copies that learn without a learning rate.

Idea: a weight is a bet on the sign of its next gradient. Every weight starts with a small fortune and stakes the share of it that
past gradients suggest: a weight that is right grows exponentially, and one that is wrong loses its small fortune. With z = x/s
(features in units of the largest value seen, as in `ScaleFree`) and, for every weight of every copy, h = g z,

    h̃ = clip(h, -L, L),   L ← max(L, |h|),   G ← G + |h̃|,   θ ← θ - h̃,   R ← R - h̃·w,   w = θ / (L · (G + L)) · (ε L + R)

No bet exceeds the fortune ε L + R, which therefore stays positive: never more than ε L is lost in all on the clipped gradients.

Nothing is tuned: multiplying gradients or a feature by a constant leaves all plays as they are, and ε, the first fortune in units
of the decision space's inner radius, enters the regret through its logarithm only.

References
----------
Orabona, Tommasi (2017), "Training Deep Networks without Learning Rates Through Coin Betting", Algorithms 1 and 2 (COCOB: one bettor
per coordinate); the bet is that of Orabona, Pál (2016), Algorithm 1, with G in place of the number of rounds. Clipping by the
bound so far, where none is known in advance: Cutkosky (2019), "Artificial Constraints and Hints for Unconstrained Online Learning".
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
    largest,
    many_products,
    outer,
    products,
    rows,
)
from banditboost.spaces import Space


@dataclass(frozen=True)
class Coin(LinearFamily, kind="learners.Coin"):
    """Linear copies, each of whose weights is a bettor.

    Parameters
    ----------
    fortune
        ε: the fortune that every weight begins with, in units of the space's inner radius and of the largest gradient.
    intercept
        Whether a constant 1 is appended to every context.

    Examples
    --------
    Bets grow while the coin falls on the same side:

    >>> from banditboost.spaces import Interval
    >>> bank = Coin(fortune=1.0, intercept=False).start(1, Interval(-1, 1), 1, np.random.default_rng(0))
    >>> for t in range(1, 5):
    ...     bank.update(np.array([1.0]), np.array([-1.0]), t)
    ...     print(bank.play(np.array([1.0])).round(4).item())
    0.0
    0.5
    1.0
    1.875
    """

    fortune: float = 0.1
    intercept: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("fortune", self.fortune)

    @property
    def bets(self) -> bool:
        """True: bets grow with past wins."""
        return True

    def n_floats(self, copies: int, space: Space, features: int, separate: bool = False) -> int:
        """Return the number of floats: five for every weight, and the scales."""
        scales = (copies if separate else 1) * (features + self.intercept)
        return 5 * super().n_floats(copies, space, features) + scales

    def start(
        self, copies: int, space: Space, features: int, rng: np.random.Generator, separate: bool = False
    ) -> CoinBank:
        """Make a bank without bets."""
        return CoinBank(self, copies, space, features + self.intercept, separate)


class CoinBank(LinearFamilyBank):
    """Five numbers a weight, shape (N, *shape, p), and the scales of the features, shape (1 or N, p)."""

    spec: Coin
    unit = LARGEST

    def __init__(self, spec: Coin, copies: int, space: Space, features: int, separate: bool) -> None:
        self.spec, self.space, self.separate = spec, space, separate
        self.fortune = spec.fortune * space.inner_radius
        shape = (copies, *space.shape, features)
        self.weights, self.bounds, self.lengths, self.sums, self.rewards = (np.zeros(shape) for _ in range(5))
        self.scales = np.zeros((copies if separate else 1, features))

    def play(self, context: Array | None) -> Array:
        """Return the sum of the bets on this context."""
        return products(self.weights, largest(self.scales, rows(context, self.spec.intercept))[1])

    def play_many(self, contexts: Array) -> Array:
        """Return the sum of the bets on every row, each with the scales as they are once the row is counted."""
        return many_products(self.weights, largest(self.scales, rows(contexts, self.spec.intercept))[1])

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Settle the bets and place new ones."""
        scales, z = largest(self.scales, rows(context, self.spec.intercept))
        self.scales[...] = scales
        h = outer(gradients, z)
        clipped = np.clip(h, -self.bounds, self.bounds)
        np.maximum(self.bounds, np.abs(h), out=self.bounds)
        self.lengths += np.abs(clipped)
        self.sums -= clipped
        self.rewards -= clipped * self.weights
        stakes = self.bounds * (self.lengths + self.bounds)
        share = np.divide(self.sums, stakes, out=np.zeros_like(h), where=stakes > 0)
        np.multiply(share, self.fortune * self.bounds + self.rewards, out=self.weights)

    @property
    def shared(self) -> frozenset[str]:
        """The scales, where all copies see the same features."""
        return frozenset() if self.separate else frozenset({"scales"})

    def arrays(self) -> dict[str, Array]:
        """Return the weights (bets), bounds L, sums G and θ, rewards R and scales."""
        return {
            "weights": self.weights,
            "bounds": self.bounds,
            "lengths": self.lengths,
            "sums": self.sums,
            "rewards": self.rewards,
            "scales": self.scales,
        }

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.coin`."""
        from banditboost._compiled import coin, units

        kinds, p = self.scales.shape
        seen = units.form(shown, kinds, p, self.spec.intercept, in_place=True)
        weights, bounds, lengths = flat(self.weights), flat(self.bounds), flat(self.lengths)
        learned = (weights, bounds, lengths, flat(self.sums), flat(self.rewards))
        return Prepared(coin.Coin(*learned, self.scales, self.fortune, seen, np.zeros(1)))

    def floats_per_round(self, sparse: bool) -> int:
        """Return the length of a row of features, unless sparse contexts are read where they are."""
        return 1 if sparse else self.weights.shape[-1] + 1
