"""The shop of the experiment on paid losses: one price for each customer, sale or no sale, and the share of the best revenue.

Everybody is judged by the expected revenue at the prices *shown*, exploration included, as a share of what the best price for every
customer would earn. Peers know that the answer to a price is a sale or none; `boosted` is only told what was lost.

- the logistic demand model: P(sale | x, p) = 1 / (1 + exp(-w·(1, x, p))), refitted by Newton's method whenever 5 % more customers
  were seen; it shows the price of the largest revenue under the model, and any price with probability min(1, 100 / t);
- ε-greedy over ten prices with a ridge each, ε = 0.03;
- the best single price in hindsight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from banditboost import algorithms, worlds
from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.experiments.cells import Cell
from banditboost.experiments.paid_cells import ours
from banditboost.experiments.paid_peers import Ridges
from banditboost.experiments.statistics import rounded

CUSTOMERS = 20_000
"""Number of rounds."""
SEEDS = 3
"""Number of shops."""
GRID = 200
"""Number of prices among which the best under a model is looked for."""
OURS = {"boosted": "boosted(answers=1)", "pricing": "pricing"}
"""Ours by name, with their titles in tables."""
THEIRS = {
    "logistic": "logistic demand model, refitted",
    "greedy": "ε-greedy, a ridge per price",
    "best_price": "best single price in hindsight",
}
"""Peers by name, with their titles in tables."""


def available() -> tuple[str, ...]:
    """Return those of ours that this version of the library has; none where there is no shop."""
    if not hasattr(worlds, "Shop"):
        return ()
    return tuple(name for name in OURS if hasattr(algorithms, name))


def shop(seed: int, customers: int) -> Any:
    """Return a shop."""
    return getattr(worlds, "Shop")(customers=customers, features=5, seed=seed)  # noqa: B009 - it may be missing


def pricing(space: Any, seed: int) -> Booster:
    """Return the recipe for prices, with nothing tuned."""
    made: Booster = getattr(algorithms, "pricing")(space, seed=seed)  # noqa: B009 - it may be missing
    return made


def judged(world: Any, prices: Array) -> dict[str, Any]:
    """Return the share of the best expected revenue, over all rounds, over the last tenth, and in every quarter."""
    earned, best = world.expected(prices), world.expected(world.best_prices)
    tenth = -max(1, len(earned) // 10)
    quarters = zip(np.array_split(earned, 4), np.array_split(best, 4), strict=True)
    return {
        "share": rounded(float(earned.sum() / best.sum())),
        "share_tenth": rounded(float(earned[tenth:].sum() / best[tenth:].sum())),
        "share_quarters": [rounded(float(mine.sum() / most.sum())) for mine, most in quarters],
    }


@dataclass(frozen=True)
class OursSelling(Cell, kind="experiments.paid.OursSelling"):
    """One of ours in one shop."""

    way: str = "boosted"
    seed: int = 0
    customers: int = CUSTOMERS

    def run(self) -> dict[str, Any]:
        """Show a price to every customer."""
        world = shop(self.seed, self.customers)
        make: Callable[[], Booster] = {
            "boosted": lambda: ours(world.space, 1, seed=self.seed),
            "pricing": lambda: pricing(world.space, self.seed),
        }[self.way]
        return judged(world, prices_shown(make(), world))


def prices_shown(booster: Booster, world: Any) -> Array:
    """Let a booster sell, and return the prices that it showed."""
    world.begin()
    rng, prices = stream(world.seed, "noise"), np.empty(len(world))
    for t in range(len(world)):
        ticket = booster.ask(world.context(t))
        prices[t] = float(np.ravel(ticket.queries)[0])
        booster.tell(ticket, losses=world.answer(t, ticket, True, rng))
    return prices


@dataclass(frozen=True)
class TheirsSelling(Cell, kind="experiments.paid.TheirsSelling"):
    """A peer in one shop."""

    way: str = "logistic"
    seed: int = 0
    customers: int = CUSTOMERS

    def run(self) -> dict[str, Any]:
        """Show a price to every customer."""
        world = shop(self.seed, self.customers)
        if self.way == "best_price":
            grid = np.linspace(world.space.low, world.space.high, 10 * GRID)
            return judged(world, np.full(len(world), max(grid, key=lambda price: world.expected(price).sum())))
        return judged(world, {"logistic": _logistic, "greedy": _greedy}[self.way](world))


def _logistic(world: Any, first: int = 100, growth: float = 1.05) -> Array:
    """Return the prices of a logistic demand model that is refitted as customers come."""
    rng, space = stream(world.seed, "coins"), world.space
    contexts, prices = world.contexts(), np.empty(len(world))
    grid = np.linspace(space.low, space.high, GRID + 1)[1:]
    features, sales = np.column_stack([np.ones(len(world)), contexts, prices]), np.zeros(len(world))
    weights, refit = np.zeros(features.shape[1]), first
    for t in range(len(world)):
        if t >= refit:
            weights, refit = fitted(features[:t], sales[:t], weights), int(growth * t) + 1
        if t < first or rng.random() < first / t:
            prices[t] = rng.uniform(space.low, space.high)
        else:
            demand = expit(float(features[t, :-1] @ weights[:-1]) + weights[-1] * grid)
            prices[t] = grid[int(np.argmax(grid * demand))]
        features[t, -1] = prices[t]
        sales[t] = float(world.values(t, prices[t]) < 0)
    return prices


def fitted(features: Array, sales: Array, start: Array, ridge: float = 0.1, steps: int = 8) -> Array:
    """Return the weights of a logistic regression of sales (0 or 1) on features, by Newton's method from a first guess.

    Examples
    --------
    >>> features = np.column_stack([np.ones(200), np.tile([0.0, 1.0], 100)])
    >>> sales = np.tile([0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0], 25)  # half of the first kind, three quarters of the second
    >>> fitted(features, sales, np.zeros(2)).round(1).tolist()
    [0.0, 1.1]
    """
    weights = start.copy()
    for _ in range(steps):
        chances = expit(features @ weights)
        slope = features.T @ (chances - sales) + ridge * weights
        curvature = (features * (chances * (1 - chances))[:, np.newaxis]).T @ features
        weights -= np.linalg.solve(curvature + ridge * np.eye(len(weights)), slope)
    return weights


def _greedy(world: Any, bins: int = 10, epsilon: float = 0.03) -> Array:
    """Return the prices of ε-greedy over the centres of bins, with a ridge regression of what is lost on features for each."""
    rng, space = stream(world.seed, "coins"), world.space
    grid = space.low + (np.arange(bins) + 0.5) * (space.high - space.low) / bins
    contexts, prices = np.column_stack([world.contexts(), np.ones(len(world))]), np.empty(len(world))
    ridges = Ridges(bins, contexts.shape[1], first=-space.high)  # untried prices look best, so that each is tried
    for t, x in enumerate(contexts):
        k = int(rng.integers(bins)) if rng.random() < epsilon else int(np.argmin(ridges.answers(x)))
        prices[t] = grid[k]
        ridges.learn(k, x, float(world.values(t, grid[k])))
    return prices
