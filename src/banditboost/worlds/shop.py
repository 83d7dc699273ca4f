"""A shop that shows one price to every customer and learns from sales alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import expit, wrightomega

from banditboost._core.checks import Array, at_least_zero, between, count, finite, positive
from banditboost._core.streams import stream
from banditboost.losses import Sale
from banditboost.spaces import Interval
from banditboost.worlds.supervised import Supervised

GRID = 201
"""Prices at which the revenue of a single price for all is compared, before the best of them is refined."""


class Shop(Supervised):
    """Round t shows a customer's features and sells at the price shown if the customer is willing to pay it.

    The willingness to pay w is drawn once for every customer and is never revealed. The answer to a price is the loss -price where
    price ≤ w, and 0 where there is no sale. Willingness has a logistic distribution around a mean that depends on the features x,
    w = μ(x) + s·ε, so that P(sale | x, price) = 1 / (1 + exp((price - μ(x)) / s)), and the mean is linear in x up to a bend,

        μ(x) = highest · [1/2 + spread · (√(1 - bend²) · u·x + bend · (v·x)²)],

    where u and v are random directions, and u·x and (v·x)² are standardised. The expected revenue price · P(sale | x, price) of a
    context has a single maximum, and is not concave. With the numbers that stand here by default the best single price earns about
    90 % of what the best price for every context does, and the best price that is linear in x about 99 %.

    Parameters
    ----------
    customers
        Number of rounds (T).
    features
        Length of a context, drawn uniformly from [-1, 1].
    seed
        As for every world.
    highest
        The highest price; prices start at zero.
    spread
        Standard deviation of the mean willingness μ(x) over customers, as a fraction of the highest price.
    doubt
        Scale s of what the features do not explain, as a fraction of the highest price: small for steep demand curves.
    bend
        Share of the standard deviation of μ(x) that is quadratic in x, between 0 and 1.

    Examples
    --------
    >>> shop = Shop(customers=2000, seed=1)
    >>> shop.space, shop.features
    (Interval(low=0.0, high=10.0), 5)
    >>> w = float(shop.labels(0, 1)[0])
    >>> shop.values(0, np.array([w - 1, w + 1])).round(2).tolist(), round(w, 2)
    ([-5.01, 0.0], 6.01)
    >>> round(shop.best_constant, 2), round(shop.share(np.full(2000, shop.best_constant)), 3)
    (3.81, 0.892)
    >>> shop.share(shop.best_prices)
    1.0
    """

    def __init__(
        self,
        customers: int = 20_000,
        features: int = 5,
        seed: int = 0,
        *,
        highest: float = 10.0,
        spread: float = 0.12,
        doubt: float = 0.08,
        bend: float = 0.3,
    ) -> None:
        rounds, length = count("customers", customers), count("features", features)
        rng = stream(count("seed", seed, least=0), "world")
        highest, doubt = positive("highest", highest), positive("doubt", doubt)
        spread, bend = at_least_zero("spread", spread), between("bend", bend, 0.0, 1.0)
        self._space = Interval(0.0, highest)
        self._scale = highest * doubt
        u, v = (direction / np.linalg.norm(direction) for direction in rng.standard_normal((2, length)))
        contexts = rng.uniform(-1.0, 1.0, (rounds, length))
        mixed = np.sqrt(1 - bend**2) * _line(contexts, u) + bend * _arch(contexts, v)
        self._means = highest * (0.5 + spread * mixed)
        super().__init__(contexts, self._means + self._scale * rng.logistic(size=rounds), Sale(), seed=seed)

    @property
    def space(self) -> Interval:
        """Prices: from zero to the highest."""
        return self._space

    def chances(self, prices: ArrayLike) -> Array:
        """Return P(sale | x_t, price_t) in every round, for one price or for one price a round, shape (T,)."""
        return np.asarray(expit((self._means[self._order] - self._checked(prices)) / self._scale))

    def expected(self, prices: ArrayLike) -> Array:
        """Return the expected revenue of every round, for one price or for one price a round, shape (T,)."""
        return self._checked(prices) * self.chances(prices)

    @property
    def best_prices(self) -> Array:
        """The price of the largest expected revenue in every round, shape (T,).

        It solves price = s / (1 - P(sale | x, price)), that is price = s·(1 + ω) with ω·exp(ω) = exp(μ/s - 1).
        """
        ratio = self._means[self._order] / self._scale
        return self._space.project(self._scale * (1 + wrightomega(ratio - 1)))

    @property
    def best_constant(self) -> float:
        """The price that earns most, in expectation, of all that are the same for every customer."""
        grid = np.linspace(self._space.low, self._space.high, GRID)
        best = int(np.argmax([self.expected(price).sum() for price in grid]))
        around = (grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)])
        return float(minimize_scalar(lambda price: -self.expected(price).sum(), bounds=around, method="bounded").x)

    def share(self, prices: ArrayLike, since: int = 0) -> float:
        """Return the expected revenue at those prices from round `since` on, as a fraction of that at the best prices.

        Parameters
        ----------
        prices
            One price, or shape (T,): the prices shown in all rounds.
        since
            The first round that counts, where the first of all is 0.
        """
        if count("since", since, least=0) >= len(self):
            raise ValueError(f"since must be below the {len(self)} rounds of this world, got {since}.")
        best = self.expected(self.best_prices)
        return float(self.expected(prices)[since:].sum() / best[since:].sum())

    def _checked(self, prices: ArrayLike) -> Array:
        given = finite("prices", prices, copy=False)
        if given.shape not in ((), (len(self),)):
            raise ValueError(f"prices must be one number or have shape ({len(self)},), got {given.shape}.")
        return given


def _line(contexts: Array, direction: Array) -> Array:
    """Return u·x, divided by its standard deviation √(1/3) for a unit vector u and x uniform in the cube."""
    return np.asarray(np.sqrt(3.0) * contexts @ direction)


def _arch(contexts: Array, direction: Array) -> Array:
    """Return (v·x)² with its mean 1/3 taken off, divided by its standard deviation √(2/9 - 2/15·Σv⁴)."""
    spread = np.sqrt(2 / 9 - 2 / 15 * (direction**4).sum())
    return np.asarray(((contexts @ direction) ** 2 - 1 / 3) / spread)
