"""Boosted trees as slowly as can be: every split of every leaf is tried by the values themselves, and nothing is kept in bins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

Pairs = tuple[tuple[int, int], ...]
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Test:
    """What a node tests: whether a feature is at most a value, or whether a category's level is one of some."""

    __test__ = False

    begin: int
    value: float = 0.0
    end: int = 0
    levels: frozenset[int] = frozenset()

    def left(self, x: Array) -> bool:
        """Whether a row goes to the left."""
        return level(x, self.begin, self.end) in self.levels if self.end else bool(x[self.begin] <= self.value)


def level(x: Array, begin: int, end: int) -> int:
    """The number of the first column that is not zero, from 1 on, or 0."""
    found = np.flatnonzero(x[begin:end])
    return int(found[0]) + 1 if len(found) else 0


@dataclass
class Leaf:
    """A leaf, or what became of it."""

    rows: Rows
    value: Array
    test: Test | None = None
    children: list[Leaf] = field(default_factory=list)


@dataclass(frozen=True)
class Grower:
    """How trees are grown."""

    ridge: float
    least: float
    categories: Pairs = ()
    smooth: float = 10.0
    sorts: bool = True
    """Whether levels are sorted by their mean residuals: without it, it is broken."""

    def gain(self, r: Array, left: Rows, rows: Rows) -> float:
        """What is explained more when some of the rows go to the left."""
        total, here, n = r[rows].sum(axis=0), r[left].sum(axis=0), len(rows)
        return float(
            np.square(here).sum() / (len(left) + self.ridge)
            + np.square(total - here).sum() / (n - len(left) + self.ridge)
            - np.square(total).sum() / (n + self.ridge)
        )

    def tests(self, X: Array, r: Array, rows: Rows) -> Iterator[tuple[Test, float]]:
        """All tests, and how much less each is taken to gain than it does."""
        begins, inner = dict(self.categories), {k for begin, end in self.categories for k in range(begin, end)}
        for f in range(X.shape[1]):
            if f in begins:
                yield from self.sets(X, r, rows, f, begins[f])
            elif f not in inner:
                for low, high in pairwise(np.unique(X[:, f])):
                    yield Test(f, 0.5 * float(low) + 0.5 * float(high)), 0.0

    def sets(self, X: Array, r: Array, rows: Rows, begin: int, end: int) -> Iterator[tuple[Test, float]]:
        """Every level alone, and the first few in the order of mean residuals."""
        levels = np.array([level(x, begin, end) for x in X[rows]])
        present = sorted(set(levels.tolist()))
        away = {b: (r[rows[levels == b]] - r[rows].mean(axis=0)).sum(axis=0) for b in present}
        weight = {b: (levels == b).sum() + self.smooth for b in present}
        far = max(present, key=lambda b: np.square(away[b]).sum() / weight[b])
        along = away[far] if r.shape[1] > 1 else np.ones(1)
        for _ in range(3 if r.shape[1] > 1 else 0):
            along = sum((away[b] * (away[b] @ along) / weight[b] for b in present), start=np.zeros(r.shape[1]))
            along = along / max(np.abs(along).max(), 1e-300)
        order = sorted(present, key=lambda b: away[b] @ along / weight[b]) if self.sorts else present
        variance = (np.square(along) @ r[rows].var(axis=0)) / max(np.square(along).sum(), 1e-300)
        absent = set(range(end - begin + 1)) - set(present)
        for chosen, chance in [
            *(([b], 0.0) for b in order),
            *((order[: k + 1], max(len(order) - 2, 0) * variance) for k in range(len(order) - 1)),
        ]:
            most = 2 * np.isin(levels, chosen).sum() > len(rows)
            yield Test(begin, end=end, levels=frozenset(chosen) | (absent if most else set())), chance

    def best(self, X: Array, r: Array, rows: Rows) -> tuple[float, Test | None]:
        """The gain and the test of the best split."""
        gain, best = 1e-12, None
        for test, chance in self.tests(X, r, rows):
            left = rows[[test.left(x) for x in X[rows]]]
            if min(len(left), len(rows) - len(left)) < self.least:
                continue
            found = self.gain(r, left, rows) - chance
            if found > gain + 1e-9:
                gain, best = found, test
        return gain, best

    def forest(self, X: Array, targets: Array, trees: int, leaves: int, rate: float) -> list[Leaf]:
        """Trees, each on what is left over by those before it."""
        left_over = targets - targets.mean(axis=0)
        grown = []
        for _ in range(trees):
            root = Leaf(np.arange(len(X)), left_over.sum(axis=0) / (len(X) + self.ridge))
            edge = [root]
            while len(edge) < leaves:
                gains = [self.best(X, left_over, leaf.rows) for leaf in edge]
                k = int(np.argmax([gain for gain, _ in gains]))
                test = gains[k][1]
                if test is None:
                    break
                leaf = edge.pop(k)
                leaf.test = test
                sides = np.array([test.left(x) for x in X[leaf.rows]])
                for rows in (leaf.rows[sides], leaf.rows[~sides]):
                    leaf.children.append(Leaf(rows, left_over[rows].sum(axis=0) / (len(rows) + self.ridge)))
                edge += leaf.children
            for leaf in edge:
                left_over[leaf.rows] -= rate * leaf.value
            grown.append(root)
        return grown


def forest(X: Array, targets: Array, trees: int, leaves: int, rate: float, ridge: float, least: float) -> list[Leaf]:
    """Trees without categories."""
    return Grower(ridge, least).forest(X, targets, trees, leaves, rate)


def predict(grown: list[Leaf], mean: Array, rate: float, x: Array) -> Array:
    """What the trees say together."""
    said = mean.copy()
    for leaf in grown:
        while leaf.test is not None:
            leaf = leaf.children[0 if leaf.test.left(x) else 1]
        said += rate * leaf.value
    return said
