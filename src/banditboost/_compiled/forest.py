"""Forests: their nodes in arrays, and how a context finds its leaves, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.categories import FLAG, Bits, in_set
from banditboost._compiled.jit import strict
from banditboost._core.checks import Array

Whole = NDArray[np.int32]


class Forest(NamedTuple):
    """Trees, each with its nodes in one row; a leaf tests no feature."""

    feature: Whole
    """The feature that a node tests, -1 for a leaf, shape (trees, nodes); categories are numbered after all features."""
    threshold: Array
    child: Whole
    """The left child, after which comes the right one."""
    value: Array
    """What a leaf adds to the prediction, shape (trees, nodes, d)."""
    sets: Bits
    """The levels that a node which tests a category sends to the left, shape (trees, nodes, bytes): no bytes without categories."""


@strict
def forest_of(forest: Forest, i: int) -> Forest:
    """Return the forest of one copy, of arrays whose first axis is the copy."""
    return Forest(forest.feature[i], forest.threshold[i], forest.child[i], forest.value[i], forest.sets[i])


@strict
def next_node(forest: Forest, tree: int, node: int, x: Array) -> int:
    """Return the child of a node that a context goes to, which its level of every category follows; of a leaf the leaf itself."""
    feature = forest.feature[tree, node]
    value = x[max(feature, 0)]
    if forest.sets.shape[2] > 0 and feature >= 0 and forest.sets[tree, node, 0] & FLAG:
        left = in_set(forest.sets[tree, node], int(value))
    else:
        left = value <= forest.threshold[tree, node]
    child = forest.child[tree, node] + (0 if left else 1)
    return int(child) if feature >= 0 else node


@strict
def leaf_of(forest: Forest, tree: int, x: Array) -> int:
    """Return the leaf of a tree that a context falls into."""
    node = 0
    while forest.feature[tree, node] >= 0:
        node = next_node(forest, tree, node, x)
    return node


@strict
def add_trees(forest: Forest, begin: int, end: int, x: Array, said: Array) -> None:
    """Add what trees say, one after the other; four are walked at a time, so that none waits for another's memory."""
    tree = begin
    while tree + 4 <= end:
        a, b, c, d, walking = 0, 0, 0, 0, True
        while walking:
            nodes = a + b + c + d  # children come after their parents
            a, b = next_node(forest, tree, a, x), next_node(forest, tree + 1, b, x)
            c, d = next_node(forest, tree + 2, c, x), next_node(forest, tree + 3, d, x)
            walking = a + b + c + d > nodes
        for j in range(len(said)):
            said[j] += forest.value[tree, a, j]
            said[j] += forest.value[tree + 1, b, j]
            said[j] += forest.value[tree + 2, c, j]
            said[j] += forest.value[tree + 3, d, j]
        tree += 4
    while tree < end:
        leaf = leaf_of(forest, tree, x)
        for j in range(len(said)):
            said[j] += forest.value[tree, leaf, j]
        tree += 1
