"""The whole loop for streaming trees, compiled: the same trajectory as the plain path."""

from __future__ import annotations

from banditboost.kernels.bins import Bins, observe
from banditboost.kernels.game import Desk, Game, play
from banditboost.kernels.jit import uncounted
from banditboost.kernels.tree import Rules, Trees, forget, learn
from banditboost.kernels.tree import play as propose
from banditboost.require import Array


@uncounted
def loop(trees: Trees, rules: Rules, bins: Bins, X: Array, seen: Array, game: Game, desk: Desk) -> None:
    """Play len(X) rounds; `seen`, shape (features,), is where the present context is read from."""
    for t in range(X.shape[0]):
        for k in range(X.shape[1]):
            seen[k] = X[t, k]
        propose(trees, seen, desk.dots)
        play(t, game, desk)
        if observe(bins, seen):
            forget(trees)
        learn(trees, rules, bins, seen, desk.G)
