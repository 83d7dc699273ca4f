"""Boosted trees as slowly as can be: every split of every leaf is tried by the values themselves, and nothing is kept in bins."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array


@dataclass
class Leaf:
    """A leaf, or what became of it."""

    rows: NDArray[np.intp]
    value: Array
    test: tuple[int, float] | None = None
    children: list[Leaf] = field(default_factory=list)


def best_split(X: Array, r: Array, rows: NDArray[np.intp], ridge: float, least: float) -> tuple[float, int, float]:
    """The gain, the feature and the value up to which rows go to the left."""
    best = (1e-12, -1, 0.0)
    total, n = r[rows].sum(axis=0), len(rows)
    for f in range(X.shape[1]):
        for low, high in pairwise(np.unique(X[:, f])):
            left = rows[X[rows, f] <= low]
            if min(len(left), n - len(left)) < least:
                continue
            here = r[left].sum(axis=0)
            gain = float(
                np.square(here).sum() / (len(left) + ridge)
                + np.square(total - here).sum() / (n - len(left) + ridge)
                - np.square(total).sum() / (n + ridge)
            )
            if gain > best[0] + 1e-9:
                best = (gain, f, 0.5 * float(low) + 0.5 * float(high))
    return best


def forest(X: Array, targets: Array, trees: int, leaves: int, rate: float, ridge: float, least: float) -> list[Leaf]:
    """Trees, each on what is left over by those before it."""
    left_over = targets - targets.mean(axis=0)
    grown = []
    for _ in range(trees):
        root = Leaf(np.arange(len(X)), left_over.sum(axis=0) / (len(X) + ridge))
        edge = [root]
        while len(edge) < leaves:
            gains = [best_split(X, left_over, leaf.rows, ridge, least) for leaf in edge]
            k = int(np.argmax([gain for gain, _, _ in gains]))
            _, f, value = gains[k]
            if f < 0:
                break
            leaf = edge.pop(k)
            leaf.test = (f, value)
            for rows in (leaf.rows[X[leaf.rows, f] <= value], leaf.rows[X[leaf.rows, f] > value]):
                leaf.children.append(Leaf(rows, left_over[rows].sum(axis=0) / (len(rows) + ridge)))
            edge += leaf.children
        for leaf in edge:
            left_over[leaf.rows] -= rate * leaf.value
        grown.append(root)
    return grown


def predict(grown: list[Leaf], mean: Array, rate: float, x: Array) -> Array:
    """What the trees say together."""
    said = mean.copy()
    for leaf in grown:
        while leaf.test is not None:
            leaf = leaf.children[int(x[leaf.test[0]] > leaf.test[1])]
        said += rate * leaf.value
    return said
