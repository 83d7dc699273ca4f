"""Games whose answers do not give the label away: prices, reserves, and targets in ten dimensions.

From two squared losses of one round its label can be computed, so that a learner that is told them may as well have been told the
label. Here it cannot, or not always:

- `shop`: a price is shown, and the customer buys or leaves (`worlds.Shop`). An answer is what was earned; what the customer would
  have paid stays unknown. The loss is what was missed: the revenue expected at the best price for this customer, less what was
  earned.
- `reserve`: z is reserved for an unknown demand y, at a cost of a tenth for each unit, and one for each unit that is missing,
  ℓ(z) = z/10 + max(0, y - z). Whoever reserves enough sees z/10, whatever the demand was. Demands are the labels of abalone.
- `norm`: a target in ten dimensions moves with five features, and the loss is the distance to it.
- `squared`: the same target, and the squared distance.

In d dimensions d + 1 answers or more would show a target to whoever knows the loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditboost import losses
from banditboost._core.checks import Array, between, count, one_of
from banditboost._core.spec import Spec
from banditboost._core.streams import stream
from banditboost.experiments.data import label_interval, scaled
from banditboost.extending import implements, slope, value
from banditboost.losses import Constants, Loss
from banditboost.spaces import Box, Space
from banditboost.worlds import Shop, Supervised

GAMES = {"shop": "missed in the shop", "reserve": "reserve", "norm": "norm, d = 10", "squared": "squared, d = 10"}
"""Games by name, with their titles in tables."""
DIMENSIONS = 10
FEATURES = 5
ROUNDS = 10_000
"""Rounds of a game; there are fewer demands than that."""
COST = 0.1
"""What a unit that is reserved costs, when one that is missing costs one."""
GRID = 201
"""Constants among which the best of earlier rounds is looked for, on an interval."""


class ReserveForm(NamedTuple):
    """What the compiled loop knows of the loss."""

    cost: float


@implements(value, ReserveForm)
def reserve_value(loss: ReserveForm, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Return the cost of what is reserved and of what is missing."""
    total = 0.0
    for j in range(d):
        total += loss.cost * points[i, j] + max(0.0, labels[t, j] - points[i, j])
    return total


@implements(slope, ReserveForm)
def reserve_slope(loss: ReserveForm, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write the cost, less one where something is missing."""
    for j in range(d):
        out[i, j] = loss.cost - (1.0 if points[i, j] < labels[t, j] else 0.0)


@dataclass(frozen=True)
class Reserve(Loss, kind="experiments.hidden.Reserve"):
    """The loss cost · z + max(0, y - z), which shows nothing of y once z is large enough; its minimum is a quantile of y.

    Examples
    --------
    >>> Reserve(0.1).value([3.0, 5.0, 7.0], 5.0).round(6).tolist()
    [2.3, 0.5, 0.7]
    """

    cost: float = COST

    def __post_init__(self) -> None:
        super().__post_init__()
        between("cost", self.cost, 0.0, 1.0)

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return the cost of what is reserved and of what is missing."""
        points = np.asarray(points, dtype=np.float64)
        return np.asarray(self.cost * points + np.maximum(0.0, np.subtract(label, points)))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return the cost, less one where something is missing."""
        return np.where(np.less(points, label), self.cost - 1.0, self.cost)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = 1 and β = ∞, and as M the largest loss there is."""
        return Constants(1.0, float("inf"), self.cost * space.farthest + space.diameter + delta)

    def compiled_form(self) -> Any:
        """Return the cost."""
        return ReserveForm(self.cost)


@dataclass(frozen=True)
class Game(Spec, kind="experiments.hidden.Game"):
    """A game by name, in one draw of its rounds.

    Examples
    --------
    >>> for name in GAMES:
    ...     game = Game(name, rounds=100)
    ...     print(name, game.space().size, len(game.world()), game.constants().shape)
    shop 1 100 (100,)
    reserve 1 100 (100,)
    norm 10 100 (100,)
    squared 10 100 (100,)
    """

    name: str = "shop"
    seed: int = 0
    rounds: int = ROUNDS

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("name", self.name, tuple(GAMES))
        count("rounds", self.rounds, least=10)

    def space(self) -> Space:
        """Return where decisions lie."""
        if self.name == "shop":
            return self._shop().space
        return label_interval("abalone") if self.name == "reserve" else Box((0.0,) * DIMENSIONS, (1.0,) * DIMENSIONS)

    def _shop(self) -> Shop:
        return Shop(customers=self.rounds, features=FEATURES, seed=self.seed)

    def world(self) -> Supervised:
        """Return the rounds."""
        if self.name == "shop":
            return self._shop()
        if self.name == "reserve":
            data = scaled("abalone")
            return Supervised(data.X, data.y, Reserve()).shuffled(self.seed).head(min(self.rounds, len(data.y)))
        loss = losses.Squared() if self.name == "squared" else losses.Absolute()
        return Supervised(*targets(self.seed, self.rounds), loss, seed=self.seed)

    def beside(self) -> float | Array:
        """Return what is added to the losses of rounds: the revenue at the best prices in the shop, and otherwise nothing."""
        if self.name != "shop":
            return 0.0
        shop = self._shop()
        return shop.expected(shop.best_prices)

    def constants(self) -> Array:
        """Return the losses, round by round, of the constant that was best in earlier rounds, for somebody who knows the labels."""
        world, space = self.world(), self.space()
        labels, loss = world.labels(), world.loss
        if space.size == 1:
            low, high = space.project(np.array([-np.inf, np.inf]))
            grid = np.linspace(float(low), float(high), GRID)
            every = np.stack([loss.value(constant, labels, 0) for constant in grid], axis=1)
            past = np.cumsum(every, axis=0) - every
            return np.asarray(every[np.arange(len(labels)), past.argmin(axis=1)])
        means = running_centres(labels, plain=self.name == "squared")
        return loss.value(means, labels, 1)


def targets(seed: int, rounds: int) -> tuple[Array, Array]:
    """Return contexts, and targets in the unit cube that follow them along waves, with some noise."""
    rng = stream(seed, "world")
    directions, phases = rng.normal(size=(DIMENSIONS, FEATURES)), rng.uniform(0, 2 * np.pi, DIMENSIONS)
    contexts = rng.random((rounds, FEATURES))
    waves = 0.35 * np.sin(contexts @ directions.T + phases)
    return contexts, np.clip(0.5 + waves + rng.normal(0, 0.05, (rounds, DIMENSIONS)), 0.0, 1.0)


def running_centres(labels: Array, plain: bool, growth: float = 1.05) -> Array:
    """Return for every round the mean, or the geometric median, of the labels before it; the latter is renewed now and then.

    Examples
    --------
    >>> running_centres(np.array([[1.0], [0.0], [0.5]]), plain=True).ravel().tolist()
    [0.5, 1.0, 0.5]
    """
    centres = np.full_like(labels, 0.5)
    before = np.arange(1, len(labels))[:, np.newaxis]
    centres[1:] = np.cumsum(labels, axis=0)[:-1] / before
    t = 3
    while not plain and t < len(labels):
        until = max(t + 1, int(growth * t))
        centres[t:until] = geometric_median(labels[:t])
        t = until
    return centres


def geometric_median(points: Array, steps: int = 30) -> Array:
    """Return the point with the least mean distance, by Weiszfeld's iteration.

    Examples
    --------
    >>> geometric_median(np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [9.0, 1.0]])).round(3).tolist()
    [0.0, 0.0]
    """
    centre = points.mean(axis=0)
    for _ in range(steps):
        weights = 1 / np.maximum(np.sqrt(np.square(points - centre).sum(axis=1)), 1e-9)
        centre = (weights[:, np.newaxis] * points).sum(axis=0) / weights.sum()
    return np.asarray(centre)
