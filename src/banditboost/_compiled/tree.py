"""Streaming regression trees, compiled: N trees grow side by side in fixed arrays.

How features are cut into bins is said in `bins.py`; what is grown, and why, in `banditboost.learners.tree`.
The plain path calls `play` and `update`, the compiled loop `look` and `learn`: both do the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.bins import READY, UNUSUAL, Bins, observe
from banditboost._compiled.dispatch import implements
from banditboost._compiled.jit import brief, called, inlined
from banditboost._compiled.round import Desk, learn, look
from banditboost._core.checks import Array

Numbers = NDArray[np.int64]

LEAF = -1
LATELY = 256.0
"""Rounds over which a tree must have raised the losses to be renewed."""
SURE = 16.0
"""How many variances the square of what it has cost must be then."""
MARGIN = 1e-9
"""By how much, relatively, a split must be better than another: equal ones must not be told apart by rounding errors."""


class Trees(NamedTuple):
    """N trees of at most L leaves and M = 2L - 1 nodes, for decisions of d numbers. Node 0 is the root."""

    feature: Numbers
    """Which feature a node tests, or LEAF. Shape (N, M)."""
    threshold: Array
    """Contexts up to and including it go left. Shape (N, M)."""
    child: Numbers
    """The left child; the right one is the next node. Shape (N, M)."""
    depth: Numbers
    """How many tests lie above a node, shape (N, M)."""
    slot: Numbers
    """Where a leaf keeps its sums, shape (N, M)."""
    nodes: Numbers
    """How many nodes are in use, shape (N,)."""
    value: Array
    """What a leaf plays, shape (N, M, d)."""
    weight: Array
    """How many gradients that value is worth, shape (N, M)."""
    tried: Array
    """How many gradients the leaf had when a split was last looked for, shape (N, L)."""
    totals: Array
    """A leaf's number of gradients, Σ‖g‖² and Σg. Shape (N, L, 2 + d)."""
    cells: Array
    """The number and Σg in every bin of every feature but its usual one. Shape (N, L, bins, 1 + d)."""
    allowed: NDArray[np.uint8]
    """Which features a tree may test, shape (N, features)."""
    stale: Array
    """What each tree has cost of late, and the variance of that; shape (N, 2), or (N, 0) where trees are not renewed."""


class Rules(NamedTuple):
    """How trees grow: the fields of `banditboost.learners.Tree`, and room to work in."""

    curvature: float
    ridge: float
    window: float
    grace: float
    evidence: float
    max_depth: int
    room: Array
    """Number and Σg on the left side of a cut, and in a feature's usual bin. Shape (2, 1 + d)."""
    found: Numbers
    """The leaf of every tree that the present context falls into, shape (N,)."""
    open: Numbers
    """Where that leaf keeps its sums, or -1 where it takes no note of the context, shape (N,)."""
    own: Numbers
    """The features that each tree may test, and how many they are, shape (N, features + 1)."""
    testers: Numbers
    """The trees that may test each feature, and how many they are, shape (features, N + 1)."""


@inlined
def find(trees: Trees, i: int, x: Array) -> int:
    """Return the leaf of tree i that a context falls into."""
    node = 0
    while trees.feature[i, node] != LEAF:
        node = trees.child[i, node] + (1 if x[trees.feature[i, node]] > trees.threshold[i, node] else 0)
    return node


class Forest(NamedTuple):
    """Trees, the bins they share, the rules they grow by, and the contexts of T rounds, shape (T, features)."""

    trees: Trees
    rules: Rules
    bins: Bins
    contexts: Array
    seen: Array
    """Scratch: the present context, shape (features,)."""


@implements(look, Forest)
def look_forest(bank: Forest, t: int, begin: int, desk: Desk) -> None:
    """Write every tree's play."""
    for k in range(bank.contexts.shape[1]):
        bank.seen[k] = bank.contexts[t, k]
    descend(bank.trees, bank.rules, bank.seen, desk.outputs, begin)


@implements(learn, Forest)
def learn_forest(bank: Forest, t: int, begin: int, desk: Desk) -> None:
    """Take note of the context, then move one leaf of every tree, and split it where that pays."""
    teach(bank.trees, bank.rules, bank.bins, bank.seen, desk.G, begin)


@brief
def play(trees: Trees, rules: Rules, x: Array, out: Array) -> None:
    """Write every tree's play to out, shape (N, d)."""
    descend(trees, rules, x, out, 0)


@brief
def update(trees: Trees, rules: Rules, bins: Bins, x: Array, G: Array) -> None:
    """Let every tree learn from its gradient in G, shape (N, d)."""
    for i in range(len(trees.nodes)):
        rules.found[i] = find(trees, i, x)
    teach(trees, rules, bins, x, G, 0)


@inlined
def descend(trees: Trees, rules: Rules, x: Array, out: Array, begin: int) -> None:
    """Find the leaf of every tree, and write its play to out, from row `begin` on."""
    for i in range(len(trees.nodes)):
        node = find(trees, i, x)
        rules.found[i] = node
        for j in range(out.shape[1]):
            out[begin + i, j] = trees.value[i, node, j]


@inlined
def teach(trees: Trees, rules: Rules, bins: Bins, x: Array, G: Array, begin: int) -> None:
    """Take note of a context, whose leaves were found, and let every tree learn from its gradient in G, from row `begin` on."""
    if observe(bins, x):
        forget(trees)
    for i in range(len(trees.nodes)):
        node = rules.found[i]
        if trees.stale.shape[1] > 0 and is_stale(trees, i, node, G, begin + i):
            renew(trees, i)
            node = 0
        step(trees, rules, i, node, G, begin + i)
        full = trees.nodes[i] + 2 > trees.feature.shape[1]
        if full or trees.depth[i, node] >= rules.max_depth or bins.clock[READY] == 0:
            rules.open[i] = -1
            continue
        rules.found[i], rules.open[i] = node, trees.slot[i, node]
        count(trees, i, rules.open[i], G, begin + i)
    note(trees, rules, bins, G, begin)
    for i in range(len(trees.nodes)):
        leaf = rules.open[i]
        if leaf >= 0 and trees.totals[i, leaf, 0] - trees.tried[i, leaf] >= rules.grace:
            trees.tried[i, leaf] = trees.totals[i, leaf, 0]
            grow(trees, rules, bins, i, rules.found[i])


@inlined
def is_stale(trees: Trees, i: int, node: int, G: Array, row: int) -> bool:
    """Return whether what tree i has played of late has raised the losses, by more than chance allows."""
    cost = 0.0
    for j in range(G.shape[1]):
        cost += G[row, j] * trees.value[i, node, j]
    kept = 1.0 - 1.0 / LATELY
    trees.stale[i, 0] = kept * trees.stale[i, 0] + cost
    trees.stale[i, 1] = kept * kept * trees.stale[i, 1] + cost * cost
    # As many standard deviations as that take more than a few rounds, however large these are.
    return bool(trees.stale[i, 0] > 0.0 and trees.stale[i, 0] ** 2 > SURE * trees.stale[i, 1])


@called
def renew(trees: Trees, i: int) -> None:
    """Make tree i a single leaf that plays zero; which features it may test stays as it was."""
    for leaf in range((trees.nodes[i] + 1) // 2):
        clear(trees, i, leaf)
    for node in range(trees.nodes[i]):
        trees.feature[i, node] = LEAF
        trees.threshold[i, node] = trees.weight[i, node] = 0.0
        trees.child[i, node] = trees.depth[i, node] = trees.slot[i, node] = 0
        for j in range(trees.value.shape[2]):
            trees.value[i, node, j] = 0.0
    trees.nodes[i] = 1
    trees.stale[i, 0] = trees.stale[i, 1] = 0.0


@inlined
def step(trees: Trees, rules: Rules, i: int, node: int, G: Array, row: int) -> None:
    """Move a leaf to the minimiser of its losses: n ← min(n + 1, window), a ← a - (g + c a)/(c n + λ)."""
    n = min(trees.weight[i, node] + 1.0, rules.window)
    trees.weight[i, node] = n
    for j in range(G.shape[1]):
        a = trees.value[i, node, j]
        trees.value[i, node, j] = a - (G[row, j] + rules.curvature * a) / (rules.curvature * n + rules.ridge)


@inlined
def count(trees: Trees, i: int, leaf: int, G: Array, row: int) -> None:
    """Add the gradient G[row] to the totals of a leaf."""
    trees.totals[i, leaf, 0] += 1.0
    for j in range(G.shape[1]):
        trees.totals[i, leaf, 1] += G[row, j] * G[row, j]
        trees.totals[i, leaf, 2 + j] += G[row, j]


@inlined
def note(trees: Trees, rules: Rules, bins: Bins, G: Array, begin: int) -> None:
    """Add gradients to the bins of open leaves. A feature's usual bin is the rest of the total: most indicators cost nothing."""
    last = rules.testers.shape[1] - 1
    for q in range(bins.clock[UNUSUAL]):
        k, cell = bins.unusual[q, 0], bins.unusual[q, 1]
        for tester in range(rules.testers[k, last]):
            i = rules.testers[k, tester]
            leaf = rules.open[i]
            if leaf >= 0:
                trees.cells[i, leaf, cell, 0] += 1.0
                for j in range(G.shape[1]):
                    trees.cells[i, leaf, cell, 1 + j] += G[begin + i, j]


@called
def grow(trees: Trees, rules: Rules, bins: Bins, i: int, node: int) -> None:
    """Split a leaf where its best split explains more than chance would."""
    leaf, n = trees.slot[i, node], trees.totals[i, trees.slot[i, node], 0]
    whole, squared_mean = 0.0, 0.0
    for j in range(trees.value.shape[2]):
        square = trees.totals[i, leaf, 2 + j] ** 2
        whole += square / (rules.curvature * n + rules.ridge)
        squared_mean += square / n
    spread = max(trees.totals[i, leaf, 1] - squared_mean, 0.0) / n
    best, where, after = whole + rules.evidence * spread / rules.curvature, LEAF, 0
    for q in range(rules.own[i, rules.own.shape[1] - 1]):
        k, gain, b = rules.own[i, q], -1.0, 0
        many = bins.offsets[k + 1] - bins.offsets[k]
        if many == 2:
            gain = only_cut(trees, rules, i, leaf, bins.offsets[k] + 1 - bins.usual[k])
        elif many > 2:
            gain, b = best_cut(trees, rules, bins, i, leaf, k)
        if gain > best * (1.0 + MARGIN):
            best, where, after = gain, k, b
    if where != LEAF:
        divide(trees, rules, bins, i, node, where, after)


@inlined
def only_cut(trees: Trees, rules: Rules, i: int, leaf: int, cell: int) -> float:
    """Return Σ_sides ‖Σg‖²/(c n + λ) for a feature of two bins, of which the one that is not usual has this cell."""
    here = trees.cells[i, leaf, cell, 0]
    there, gain = trees.totals[i, leaf, 0] - here, 0.0
    if here < 0.5 or there < 0.5:  # counts are whole numbers: a side is empty
        return -1.0
    for j in range(trees.value.shape[2]):
        inner = trees.cells[i, leaf, cell, 1 + j]
        outer = trees.totals[i, leaf, 2 + j] - inner
        gain += inner * inner / (rules.curvature * here + rules.ridge)
        gain += outer * outer / (rules.curvature * there + rules.ridge)
    return gain


@inlined
def best_cut(trees: Trees, rules: Rules, bins: Bins, i: int, leaf: int, k: int) -> tuple[float, int]:
    """Return the largest Σ_sides ‖Σg‖²/(c n + λ) over the cuts of feature k, and after which bin that cut lies."""
    best, after = -1.0, 0
    for b in range(bins.offsets[k + 1] - bins.offsets[k] - 1):
        tally(trees, rules, bins, i, leaf, k, b)
        left = rules.room[0, 0]
        right = trees.totals[i, leaf, 0] - left
        if left < 0.5 or right < 0.5:  # counts are whole numbers: a side is empty
            continue
        gain = 0.0
        for j in range(trees.value.shape[2]):
            inner, total = rules.room[0, 1 + j], trees.totals[i, leaf, 2 + j]
            gain += inner * inner / (rules.curvature * left + rules.ridge)
            gain += (total - inner) * (total - inner) / (rules.curvature * right + rules.ridge)
        if gain > best * (1.0 + MARGIN):
            best, after = gain, b
    return best, after


@inlined
def tally(trees: Trees, rules: Rules, bins: Bins, i: int, leaf: int, k: int, b: int) -> None:
    """Write to rules.room[0] the number and Σg of a leaf in bins 0 ... b of feature k; calls must come for b = 0, 1, ..."""
    room, first, usual = rules.room, bins.offsets[k], bins.usual[k]
    for j in range(room.shape[1]):
        if b == 0:
            # The usual bin holds what the others do not.
            room[0, j], room[1, j] = 0.0, trees.totals[i, leaf, 0 if j == 0 else 1 + j]
            for cell in range(first, bins.offsets[k + 1]):
                room[1, j] -= trees.cells[i, leaf, cell, j]
        room[0, j] += room[1, j] if b == usual else trees.cells[i, leaf, first + b, j]


@inlined
def divide(trees: Trees, rules: Rules, bins: Bins, i: int, node: int, k: int, after: int) -> None:
    """Give a leaf two children: what each has seen, pulled towards what the leaf played."""
    left, old = trees.nodes[i], trees.slot[i, node]
    for b in range(after + 1):
        tally(trees, rules, bins, i, old, k, b)
    trees.feature[i, node], trees.threshold[i, node], trees.child[i, node] = k, bins.edges[k, after], left
    for side in range(2):
        child = left + side
        n = rules.room[0, 0] if side == 0 else trees.totals[i, old, 0] - rules.room[0, 0]
        trees.weight[i, child] = min(n, rules.window)
        for j in range(trees.value.shape[2]):
            inner = rules.room[0, 1 + j]
            total = inner if side == 0 else trees.totals[i, old, 2 + j] - inner
            prior = rules.ridge * trees.value[i, node, j]
            trees.value[i, child, j] = (prior - total) / (rules.curvature * n + rules.ridge)
        trees.depth[i, child] = trees.depth[i, node] + 1
        # A tree of m nodes has (m + 1)/2 leaves, which is the next free place for sums.
        trees.slot[i, child] = old if side == 0 else (left + 1) // 2
    clear(trees, i, old)
    trees.nodes[i] = left + 2


@inlined
def clear(trees: Trees, i: int, leaf: int) -> None:
    """Forget a leaf's sums, not its value."""
    trees.tried[i, leaf] = 0.0
    for j in range(trees.totals.shape[2]):
        trees.totals[i, leaf, j] = 0.0
    for cell in range(trees.cells.shape[2]):
        for j in range(trees.cells.shape[3]):
            trees.cells[i, leaf, cell, j] = 0.0


@called
def forget(trees: Trees) -> None:
    """Forget all sums: the bins they were counted in are no longer the same."""
    for i in range(len(trees.nodes)):
        for leaf in range((trees.nodes[i] + 1) // 2):
            clear(trees, i, leaf)
