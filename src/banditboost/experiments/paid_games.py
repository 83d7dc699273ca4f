"""The games of the experiment on paid losses: what is shown, what an action costs, and how noisy the one answer is.

A game is a frozen spec, so that every contestant plays the same rounds with the same noise. Losses are in the data's own units.

- `Table`: labelled rows. The second half of a shuffle, at most its first 20,000 rows; what is tuned is tuned on first halves.
- `Boxed`: five uniform features and a target that moves smoothly through a box, beside the same problem on the unit cube.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from banditboost import losses
from banditboost._core.checks import Array, at_least_zero, count, one_of
from banditboost._core.spec import Spec
from banditboost._core.streams import stream
from banditboost.experiments.data import label_interval, scaled
from banditboost.experiments.paid_loss import Sides
from banditboost.noise import Noise, Silent, Uniform
from banditboost.spaces import Box, Interval
from banditboost.worlds import Supervised

LOSSES: dict[str, losses.Loss] = {"squared": losses.Squared(), "absolute": losses.Absolute()}
"""Losses by name."""
ROWS = 20_000
"""Largest number of rows of a half."""
NOISE = 0.1
"""Half-width of the noise on an answer, in units of the best constant's loss."""
SIDES = (10.0, 4.0, 1.0, 2.0, 0.5)
"""Sides of the boxes; a box of d dimensions has the first d."""
FEATURES = 5
"""Number of features of a box's contexts."""


@dataclass(frozen=True)
class Table(Spec, kind="experiments.paid.Table"):
    """A data set in one shuffle, one loss, and the noise on its answers.

    Examples
    --------
    >>> game = Table("abalone", "squared", noise=0.1)
    >>> len(game.world()), game.space(), round(game.best_constant(), 2), round(game.half_width, 2)
    (2089, Interval(low=1.0, high=29.0), 10.39, 1.04)
    """

    dataset: str = "abalone"
    loss: str = "squared"
    noise: float = 0.0
    seed: int = 0
    half: str = "second"
    rows: int = ROWS

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("loss", self.loss, tuple(LOSSES))
        one_of("half", self.half, ("first", "second"))
        at_least_zero("noise", self.noise)
        count("rows", self.rows, least=4)

    def space(self) -> Interval:
        """Return the interval of the labels, in which actions lie."""
        return label_interval(self.dataset)

    def best_constant(self) -> float:
        """Return the mean loss of the best constant on the whole data set, which is the unit of the noise."""
        labels = scaled(self.dataset).y
        best = labels.mean() if self.loss == "squared" else np.median(labels)
        return float(LOSSES[self.loss].value(best, labels, 0).mean())

    @property
    def half_width(self) -> float:
        """Half-width of the noise, in units of the loss."""
        return self.noise * self.best_constant()

    @property
    def unit(self) -> float:
        """The largest loss possible: that of one end of the interval against the other."""
        space = self.space()
        return float(LOSSES[self.loss].value(space.low, space.high))

    def world(self) -> Supervised:
        """Return the rounds."""
        contexts, labels, seed = _rows(self.dataset, self.seed, self.half, self.rows)
        noise: Noise = Uniform(self.half_width) if self.noise else Silent()
        return Supervised(contexts, labels, LOSSES[self.loss], noise, seed)

    def values(self, actions: Array) -> Array:
        """Return the losses of actions, one for every round."""
        return LOSSES[self.loss].value(actions, self.world().labels(), 0)

    def first_half(self) -> Table:
        """Return the game on the other half of shuffle 0, on which settings are chosen."""
        return replace(self, half="first", seed=0)


class Played(NamedTuple):
    """True losses of a contestant, round by round."""

    paid: Array
    """Losses of the actions played."""
    proposed: Array
    """Losses of the actions that it holds to be best, and would play if it stopped exploring."""


class Till:
    """Charges one action a round: keeps its true loss, and answers with the loss that a learner may see.

    Answers have the game's noise and are divided by the largest loss possible. Round t's noise is that which a booster with one
    answer gets in a run on the same world.

    Examples
    --------
    >>> till = Till(Table("abalone", "absolute", rows=4))
    >>> answers = [till.charge(action=10.0, proposed=11.0) for _ in range(4)]
    >>> till.played().paid.tolist(), [round(28 * answer, 6) for answer in answers]
    ([5.0, 2.0, 0.0, 2.0], [5.0, 2.0, 0.0, 2.0])
    """

    def __init__(self, game: Table) -> None:
        world = game.world()
        self.rounds = len(world)
        self._labels = world.labels().tolist()
        self._noise = world.noise.sample(stream(world.seed, "noise"), (self.rounds,)).tolist()
        self._power, self._unit = (2 if game.loss == "squared" else 1), game.unit
        self._paid: list[float] = []
        self._proposed: list[float] = []

    def charge(self, action: float, proposed: float) -> float:
        """Charge the next round's action, and return the answer to it."""
        t = len(self._paid)
        label = self._labels[t]
        paid = abs(action - label) ** self._power
        self._paid.append(paid)
        self._proposed.append(abs(proposed - label) ** self._power)
        return float((paid + self._noise[t]) / self._unit)

    def played(self) -> Played:
        """Return the losses of all rounds."""
        if len(self._paid) != self.rounds:
            raise ValueError(f"rounds must all be charged, {self.rounds} in all, got {len(self._paid)}.")
        return Played(np.array(self._paid), np.array(self._proposed))


@lru_cache(maxsize=2)
def _rows(dataset: str, seed: int, half: str, rows: int) -> tuple[Array, Array, int]:
    """Return contexts (dense, as there are few), labels, and the seed of this half's noise."""
    data = scaled(dataset)
    halves = Supervised(data.X, data.y).shuffled(seed).halves()
    part = halves[half == "second"].head(rows)
    contexts = part.contexts()
    return np.ascontiguousarray(contexts.toarray() if part.sparse else contexts), part.labels().copy(), part.seed


@dataclass(frozen=True)
class Boxed(Spec, kind="experiments.paid.Boxed"):
    """A target in a box with unequal sides, or the same problem in units in which the box is the unit cube.

    The target is z_j(x) = side_j · (1/2 + 0.35 sin(2 u_j·x + c_j) + 0.1 (x_j - 1/2)), with directions u_j and phases c_j drawn from
    the seed: a smooth map that is far from linear, and stays inside.

    Examples
    --------
    >>> box, cube = Boxed(dimensions=3), Boxed(dimensions=3, cube=True)
    >>> box.sides, cube.sides
    ((10.0, 4.0, 1.0), (1.0, 1.0, 1.0))
    >>> bool(np.allclose(box.world().labels() / box.sides, cube.world().labels()))
    True
    """

    dimensions: int = 3
    cube: bool = False
    seed: int = 0
    rounds: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if count("dimensions", self.dimensions) > len(SIDES):
            raise ValueError(f"dimensions must be at most {len(SIDES)}, got {self.dimensions}.")
        count("rounds", self.rounds, least=10)

    @property
    def sides(self) -> tuple[float, ...]:
        """Lengths of the sides."""
        return (1.0,) * self.dimensions if self.cube else SIDES[: self.dimensions]

    def space(self) -> Box:
        """Return the box, one corner of which is the origin."""
        return Box((0.0,) * self.dimensions, self.sides)

    def world(self) -> Supervised:
        """Return the rounds."""
        rng = stream(self.seed, "world")
        directions = rng.normal(size=(self.dimensions, FEATURES))
        phases = rng.uniform(0, 2 * np.pi, self.dimensions)
        contexts = rng.random((self.rounds, FEATURES))
        waves = 0.35 * np.sin(2 * contexts @ directions.T + phases)
        targets = 0.5 + waves + 0.1 * (contexts[:, : self.dimensions] - 0.5)
        return Supervised(contexts, targets * np.array(self.sides), Sides(self.sides), seed=self.seed)

    def best_point(self) -> Array:
        """Return the losses, round by round, of the best fixed point in hindsight, the mean of the targets."""
        labels = self.world().labels()
        return Sides(self.sides).value(labels.mean(axis=0), labels)
