"""A streaming tree that keeps every gradient it was told, and cuts by looking at all of them: slow, and written apart."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from banditboost.learners import Tree

Row = tuple[float, ...]


@dataclass
class Node:
    """A leaf with all it was told since bins were last cut, or a test with two children."""

    value: list[float]
    depth: int = 0
    weight: float = 0.0
    told: list[tuple[Row, Row]] = field(default_factory=list)
    tried: int = 0
    feature: int = -1
    threshold: float = 0.0
    children: tuple[Node, Node] | None = None


class SlowTree:
    """One copy."""

    def __init__(self, spec: Tree, outputs: int, allowed: list[int]) -> None:
        self.spec, self.outputs, self.allowed = spec, outputs, allowed
        self.root = Node([0.0] * outputs)
        self.leaves = [self.root]
        self.past: list[Row] = []
        self.edges: list[list[float]] = []
        self.cost = self.variance = 0.0
        self.renewed: list[int] = []

    def find(self, x: Row) -> Node:
        node = self.root
        while node.children is not None:
            node = node.children[x[node.feature] > node.threshold]
        return node

    def update(self, x: Row, g: Row) -> None:
        self.past.append(x)
        if len(self.past) in {16 * 4**k for k in range(10)}:
            self.edges = [self.cut(k) for k in range(len(x))]
            for leaf in self.leaves:
                leaf.told, leaf.tried = [], 0
        if self.spec.renews:
            self.look_back(self.find(x), g)
        leaf, c, ridge = self.find(x), self.spec.curvature, self.spec.ridge
        leaf.weight = min(leaf.weight + 1, self.spec.window or float("inf"))
        pull = c * leaf.weight + ridge
        leaf.value = [a - (part + c * a) / pull for a, part in zip(leaf.value, g, strict=True)]
        if not self.edges or len(self.leaves) == self.spec.max_leaves or leaf.depth == self.spec.max_depth:
            return
        leaf.told.append((x, g))
        if len(leaf.told) - leaf.tried >= self.spec.grace:
            leaf.tried = len(leaf.told)
            self.split(leaf)

    def look_back(self, leaf: Node, g: Row) -> None:
        """Begin anew where the sum of what plays have cost over about 256 rounds is four standard deviations above zero."""
        cost = sum(part * a for part, a in zip(g, leaf.value, strict=True))
        self.cost, self.variance = 255 / 256 * self.cost + cost, (255 / 256) ** 2 * self.variance + cost**2
        if self.cost > 0 and self.cost**2 > 16 * self.variance:
            self.root = Node([0.0] * self.outputs)
            self.leaves = [self.root]
            self.cost = self.variance = 0.0
            self.renewed.append(len(self.past))

    def cut(self, k: int) -> list[float]:
        """Edges of feature k from an even sample of the past and its two ends."""
        stride = 1
        while -(-len(self.past) // stride) > 256:
            stride *= 2
        column = [x[k] for x in self.past]
        groups = [
            (v, len(list(same))) for v, same in itertools.groupby(sorted([*column[::stride], min(column), max(column)]))
        ]
        most, held = self.spec.bins, 0
        edges: list[float] = []
        left = sum(size for _, size in groups)  # what the bins that are not closed yet must hold
        for (value, size), (following, next_size) in itertools.pairwise(groups):
            held += size
            share = left / (most - len(edges))
            if len(edges) < most - 1 and (len(groups) <= most or next_size > share or held >= share):
                edges.append((value + following) / 2)
                left, held = left - held, 0
        return edges

    def score(self, told: list[tuple[Row, Row]]) -> float:
        sums = [sum(g[j] for _, g in told) for j in range(self.outputs)]
        return sum(s * s for s in sums) / (self.spec.curvature * len(told) + self.spec.ridge)

    def split(self, leaf: Node) -> None:
        n = len(leaf.told)
        means = [sum(g[j] for _, g in leaf.told) / n for j in range(self.outputs)]
        variance = sum((g[j] - means[j]) ** 2 for _, g in leaf.told for j in range(self.outputs)) / n
        least = self.score(leaf.told) + self.spec.evidence * variance / self.spec.curvature
        best: tuple[float, int, float] | None = None
        for k in self.allowed:
            for edge in self.edges[k]:
                sides = [[pair for pair in leaf.told if (pair[0][k] > edge) is right] for right in (False, True)]
                if not all(sides):
                    continue
                score = sum(self.score(side) for side in sides)
                if score > (best[0] if best else least) * (1 + 1e-9):
                    best = (score, k, edge)
        if best is not None:
            self.divide(leaf, best[1], best[2])

    def divide(self, leaf: Node, k: int, edge: float) -> None:
        c, ridge = self.spec.curvature, self.spec.ridge
        children = []
        for right in (False, True):
            side = [g for x, g in leaf.told if (x[k] > edge) is right]
            pull = c * len(side) + ridge
            value = [(ridge * leaf.value[j] - sum(g[j] for g in side)) / pull for j in range(self.outputs)]
            children.append(Node(value, leaf.depth + 1, min(len(side), self.spec.window or float("inf"))))
        leaf.feature, leaf.threshold, leaf.children = k, edge, (children[0], children[1])
        self.leaves = [other for other in self.leaves if other is not leaf] + children
