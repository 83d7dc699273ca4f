"""The whole loop for streaming trees, compiled: the same trajectory as the plain path.

Trees may come after a group of second-order linear copies, which take the linear part (`learners.Mixed`); it may be empty.
"""

from __future__ import annotations

import numpy as np

from banditboost._compiled import second_order
from banditboost._compiled.bins import Bins, observe
from banditboost._compiled.game import Desk, Game, empty_desk, play
from banditboost._compiled.jit import uncounted
from banditboost._compiled.second_order import Group, look
from banditboost._compiled.second_order import learn as learn_linear
from banditboost._compiled.tree import Rules, Trees, forget, learn
from banditboost._compiled.tree import play as propose
from banditboost._core.checks import Array


def nobody(rounds: int, d: int) -> Group:
    """Return a group of linear copies without any."""
    scratch = second_order.scratch(0, 0, d, 1)
    empty = (np.empty((0, d, 1)), np.empty((0, 1, 1)), np.empty(0), np.empty(0))
    return Group(np.empty((rounds, 0, 1)), *empty, 1.0, False, False, False, *scratch)


def rounds(first: Group, trees: Trees, rules: Rules, bins: Bins, X: Array, game: Game) -> None:
    """Play len(X) rounds; linear copies, trees and bins are learned in place."""
    begin, d = len(first.weights), first.weights.shape[1]
    desk, seen = empty_desk(begin + len(trees.nodes), d), np.empty(X.shape[1])
    loop(first, trees, rules, bins, X, seen, game, desk, desk.dots[begin:], desk.G[begin:])


@uncounted
def loop(
    first: Group,
    trees: Trees,
    rules: Rules,
    bins: Bins,
    X: Array,
    seen: Array,
    game: Game,
    desk: Desk,
    dots: Array,
    G: Array,
) -> None:
    """Play. `seen` is where trees read the present context; `dots` and `G` are their part of the desk."""
    for t in range(X.shape[0]):
        for k in range(X.shape[1]):
            seen[k] = X[t, k]
        look(t, first, 0, desk)
        propose(trees, seen, dots)
        play(t, game, desk)
        learn_linear(first, 0, desk)
        if observe(bins, seen):
            forget(trees)
        learn(trees, rules, bins, seen, G)
