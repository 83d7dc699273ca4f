"""The critic: the expected loss of an action in a context, learned from a log.

A ridge regression on 1, x, a and all products of two of their coordinates, or, where those are too many, of those of which one
belongs to the action; and on what it leaves over, boosted trees on the columns (x, a), by the kernels that grow the forests
of `banditboost.learners.Grown`. The
penalty is the one with the least leave-one-out error; how much of the trees is added is what one half of the rows, with trees grown
on the other half, finds best, between nothing and all of it. So where a quadratic is all there is, trees add next to nothing.
"""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np

from banditboost._core.checks import Array
from banditboost.learners import Grown
from banditboost.spaces import Interval

PRODUCTS = 400
"""Most products of each kind; where there are more, the regression leaves them to the trees."""
PENALTIES = 10.0 ** np.arange(-3, 5)
"""Ridge penalties that are tried, for features of variance one."""
NEAR = (-0.3, 0.0, 0.3)
"""What trees say is averaged over actions moved by so many standard deviations: they are steps in the action, and what is rough
there is a bias that no bandwidth shows."""
FEWEST = 40
"""Fewest rows on which trees are grown."""
FOREST = Grown(trees=100, leaves=8, rate=0.1, ridge=1.0, least=10.0)


class Regressor(Protocol):
    """A model of losses: any regressor with these two methods, such as those of scikit-learn.

    Tables have the columns of contexts, followed by those of actions.
    """

    def fit(self, table: Array, losses: Array) -> Any:
        """Learn from rows."""

    def predict(self, table: Array) -> Array:
        """Return the expected loss of every row."""


class LossModel:
    """The critic of `off_policy`.

    Parameters
    ----------
    dimension
        How many of the last columns are the action's.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> table = rng.normal(size=(2000, 3))
    >>> losses = (table[:, 2] - table[:, 0]) ** 2 + np.abs(table[:, 1]) + 0.1 * rng.normal(size=2000)
    >>> model = LossModel(dimension=1).fit(table[:1000], losses[:1000])
    >>> print(f"{np.square(losses[1000:] - model.predict(table[1000:])).mean() / losses.var():.3f} of the variance is left")
    0.002 of the variance is left
    """

    def __init__(self, dimension: int) -> None:
        self.dimension = dimension

    def fit(self, table: Array, losses: Array) -> Self:
        """Learn from rows."""
        self.mean, spread = table.mean(axis=0), table.std(axis=0)
        self.spread = np.where(spread > 0, spread, 1.0)
        inputs = (table - self.mean) / self.spread
        self.weights = _ridge(self._terms(inputs), losses)
        self.forest: Any = None
        left = losses - self._terms(inputs) @ self.weights
        if len(losses) < FEWEST:
            return self
        self.share = self._worth(inputs, losses)
        if self.share > 0:
            self.forest = _forest(inputs, left)
        return self

    def predict(self, table: Array) -> Array:
        """Return the expected loss of every row."""
        inputs = (table - self.mean) / self.spread
        found = np.asarray(self._terms(inputs) @ self.weights)
        return found if self.forest is None else found + self.share * self._smooth(self.forest, inputs)

    def _smooth(self, forest: Any, inputs: Array) -> Array:
        """Return what trees say about actions nearby, in the mean."""
        total, moved = np.zeros(len(inputs)), inputs.copy()
        for step in NEAR:
            moved[:, -self.dimension :] = inputs[:, -self.dimension :] + step
            total += _said(forest, moved)
        return total / len(NEAR)

    def _worth(self, inputs: Array, losses: Array) -> float:
        """Return how much of the trees to add: the least-squares weight on rows that neither they nor the regression have seen."""
        moved = total = 0.0
        for part in range(2):
            seen = np.arange(len(losses)) % 2 == part
            weights = _ridge(self._terms(inputs[seen]), losses[seen])
            left = losses - self._terms(inputs) @ weights
            said = self._smooth(_forest(inputs[seen], left[seen]), inputs[~seen])
            moved, total = moved + float(said @ left[~seen]), total + float(said @ said)
        return float(np.clip(moved / total, 0.0, 1.0)) if total > 0 else 0.0

    def _terms(self, inputs: Array) -> Array:
        n, columns = inputs.shape
        features, d = columns - self.dimension, self.dimension
        x, a = inputs[:, :features], inputs[:, features:]
        parts = [np.ones((n, 1)), inputs]
        if columns * (columns + 1) // 2 <= PRODUCTS:
            parts += [inputs[:, [j]] * inputs[:, j:] for j in range(columns)]
        else:
            parts += [a[:, [j]] * a[:, j:] for j in range(d)]
            parts += [x * a[:, [j]] for j in range(d)] if features * d <= PRODUCTS else []
        return np.concatenate(parts, axis=1)


def _ridge(terms: Array, losses: Array) -> Array:
    """Return the weights of ridge regression with the penalty of least leave-one-out error; the first term bears none."""
    n, mean, level = len(losses), terms.mean(axis=0), losses.mean()
    centred, left = terms[:, 1:] - mean[1:], losses - level
    squares, basis = np.linalg.eigh(centred.T @ centred)
    squares = np.maximum(squares, 0.0)
    scores = centred @ basis
    moment, levers = scores.T @ left, np.square(scores)
    best, chosen = np.inf, np.zeros(len(squares))
    for penalty in PENALTIES:
        weights = moment / (squares + penalty)
        lever = np.minimum(1.0 / n + levers @ (1.0 / (squares + penalty)), 1.0 - 1e-9)
        error = float(np.square((left - scores @ weights) / (1.0 - lever)).mean())
        if error < best:
            best, chosen = error, weights
    slopes = basis @ chosen
    return np.concatenate([[level - mean[1:] @ slopes], slopes])


def _forest(inputs: Array, targets: Array) -> Any:
    """Grow boosted trees; return them with their mean."""
    from banditboost._compiled import growing
    from banditboost._compiled.forest import Forest

    n, features = inputs.shape
    shop = FOREST.workshop(n, Interval(0.0, 1.0), features)
    rules = growing.Rules(FOREST.trees, FOREST.rate, FOREST.ridge, FOREST.least, 1.0, 0.0, 1)
    nodes = (FOREST.trees, 2 * FOREST.leaves)
    forest = Forest(
        feature=np.full(nodes, -1, dtype=np.int32),
        threshold=np.zeros(nodes),
        child=np.zeros(nodes, dtype=np.int32),
        value=np.zeros((*nodes, 1)),
        sets=np.zeros((*nodes, 0), dtype=np.uint8),
    )
    mean = np.zeros(1)
    rows = np.ascontiguousarray(inputs, dtype=np.float32)
    growing.grow_apart(rows, np.ascontiguousarray(targets[:, np.newaxis]), n, FOREST.trees, shop, rules, forest, mean)
    return forest, mean


def _said(grown: Any, inputs: Array) -> Array:
    """Return what trees say about rows."""
    from banditboost._compiled import growing

    forest, mean = grown
    out = np.full((len(inputs), 1), mean[0])
    growing.add_up(forest, np.ascontiguousarray(inputs), out)
    return np.asarray(out[:, 0])
