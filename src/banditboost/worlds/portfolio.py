"""Online portfolio selection: split a fortune between assets every day, and observe only what the split earned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, count, finite
from banditboost._core.streams import stream
from banditboost.noise import Noise
from banditboost.spaces import Simplex
from banditboost.worlds.convex import Best, Convex


class Portfolio(Convex):
    """The losses ℓ_t(x) = -log(r_t·x) for price relatives r_t: the negative growth rate of a fortune split as x.

    Parameters
    ----------
    relatives
        Price of each asset at the end of each round divided by that at its beginning, shape (T, assets), all positive.
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = Portfolio([[1.0, 2.0], [1.0, 0.5]])
    >>> best = world.best()
    >>> best.point.round(3).tolist(), bool(best.gap < 1e-6)
    ([0.5, 0.5], True)
    """

    def __init__(self, relatives: ArrayLike, noise: Noise | None = None, seed: int = 0) -> None:
        self.relatives = finite("relatives", relatives)
        if self.relatives.ndim != 2 or self.relatives.shape[1] < 2 or len(self.relatives) == 0:
            raise ValueError(
                f"relatives must have shape (rounds, assets) with two assets or more, got {self.relatives.shape}."
            )
        if not (self.relatives > 0).all():
            raise ValueError(f"relatives must be positive, got {self.relatives.min():g}.")
        super().__init__(Simplex(self.relatives.shape[1]), noise, seed)

    def __len__(self) -> int:
        return len(self.relatives)

    @property
    def smoothness(self) -> float:
        """Largest ‖r‖² / min(r)²."""
        return float((np.square(self.relatives).sum(axis=1) / np.square(self.relatives.min(axis=1))).max())

    @property
    def lipschitz(self) -> float:
        """Largest ‖r‖ / min(r)."""
        return math.sqrt(self.smoothness)

    @property
    def bound(self) -> float:
        """Largest |log r|."""
        return float(np.abs(np.log(self.relatives)).max())

    def values(self, t: int, points: Array) -> Array:
        """Return -log(r_t·x)."""
        return np.asarray(-np.log(points @ self.relatives[t]))

    def gradients(self, t: int, points: Array) -> Array:
        """Return -r_t / (r_t·x)."""
        return np.asarray(-self.relatives[t] / (points @ self.relatives[t])[..., np.newaxis])

    def best(self) -> Best:
        """Return the best constantly rebalanced portfolio, with a certified gap.

        The total growth is concave in the split x, so T · max_j(mean_t(r_tj / r_t·x) - 1) bounds the gain of any other split
        (Cover 1984, "An algorithm for maximizing expected log investment return"); the gap is valid however x was found.
        Sequential quadratic programming finds x; Cover's multiplicative steps, which never lower the growth, refine it.
        """
        from scipy.optimize import minimize

        def growth(x: Array) -> tuple[float, Array]:
            earned = self.relatives @ x
            return -float(np.log(earned).mean()), -(self.relatives / earned[:, np.newaxis]).mean(axis=0)

        d, rounds = self.space.size, len(self)
        start = np.full(d, 1 / d)
        budget: Any = {"type": "eq", "fun": lambda x: x.sum() - 1, "jac": lambda x: np.ones(d)}
        found = minimize(growth, start, jac=True, method="SLSQP", bounds=[(0, 1)] * d, constraints=budget, tol=1e-14)
        x = np.maximum(found.x, 1e-12)
        x /= x.sum()
        for _ in range(100):
            ratios = -growth(x)[1]
            gap = rounds * max(float(ratios.max()) - 1.0, 0.0)
            if gap < 1e-9 * rounds:
                break
            x = x * ratios / (x @ ratios)
        return Best(x, -np.log(self.relatives @ x), gap)


def market(rounds: int = 1000, assets: int = 5, seed: int = 0) -> Portfolio:
    """Make a synthetic market: assets of different growth and volatility, some of which move against each other.

    A daily log return is a drift plus a common factor plus the asset's own noise, clipped to ±0.2.

    Examples
    --------
    >>> market(rounds=10, assets=3).relatives.shape
    (10, 3)
    """
    rng = stream(count("seed", seed, least=0), "world")
    drifts = rng.uniform(-0.001, 0.002, count("assets", assets, least=2))
    loadings, volatilities = rng.uniform(-1, 1, assets), rng.uniform(0.005, 0.04, assets)
    factor = 0.02 * rng.standard_normal((count("rounds", rounds), 1))
    returns = drifts + loadings * factor + volatilities * rng.standard_normal((rounds, assets))
    return Portfolio(np.exp(np.clip(returns, -0.2, 0.2)), seed=seed)
