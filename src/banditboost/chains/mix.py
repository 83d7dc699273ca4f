"""Steps that add up, and then steps towards rivals: whole predictions, each followed as far as it has proven better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.spec import Memory
from banditboost.chains.span import added_up
from banditboost.chains.trusted import BEFOREHAND, FORGETTING, LEAST, Trusted
from banditboost.spaces import Space


@dataclass(frozen=True)
class Mix(Trusted, kind="chains.Mix"):
    """Steps that add up as in `Trusted`; then the last copies, the rivals, play predictions of their own.

    A rival's play a is followed by a weight ω in (0, 1], y^{i+1} = (1 - ω) y^i + ω a. No label is needed to judge it: with g the
    gradient at y^i of a loss with curvature 2, following it changes the loss by ω g·(a - y^i) + ω² |a - y^i|², which is least for

        ω* = - Σ g·(a - y) / 2 Σ |a - y|²,

    and ω is that ratio over the later part of all rounds, cut to [0.02, 1]. Both sums are unbiased for every number of answers.

    This is follow-the-leader on quadratic functions of one number: where |g| and |a - y| are bounded by G and D and nothing is
    forgotten, its regret against the best fixed ω is at most (G + 2D)² (1 + log T)/ 4 where Σ|a - y|² grows as T.

    Parameters
    ----------
    step, first, units
        As for `Trusted`.
    rivals
        How many of the last copies play predictions of their own.

    Examples
    --------
    >>> chain = Mix(step=0.5, first=1.0, rivals=1)
    >>> memory = chain.start(2)
    >>> for t in range(1, 200):  # the rival is right
    ...     path = chain.path(np.array([1.0, 3.0]), np.array(0.0), memory)
    ...     chain.learn(path, 2 * (path[:-1] - 3.0), memory, t)
    >>> chain.path(np.array([1.0, 3.0]), np.array(0.0), memory).round(1).tolist()
    [0.0, 1.0, 2.8]
    """

    rivals: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        count("rivals", self.rivals)

    def streams(self, copies: int) -> int:
        """Return how many copies are no rivals."""
        return max(copies - self.rivals, 0)

    def lengths(self, copies: int) -> Array:
        """Return the steps of copies that add up, and 1 for rivals."""
        lengths = super().lengths(copies)
        lengths[self.streams(copies) :] = 1.0
        return lengths

    def start(self, copies: int) -> Memory:
        """Return what `Trusted` does; rivals are hardly trusted at first."""
        memory = super().start(copies)
        memory["trust"][self.streams(copies) :] = LEAST
        return memory

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy, then towards the rivals."""
        memory = self.start(len(plays)) if memory is None else memory
        kept = np.ones(len(plays))
        kept[self.streams(len(plays)) :] -= memory["trust"][self.streams(len(plays)) :]
        return added_up(plays, start, self.lengths(len(plays)) * memory["trust"], kept, ground)

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Compare what copies played with what would have been best, those that add up together, and every rival by itself."""
        copies = len(path) - 1
        streams, lengths = self.streams(copies), self.lengths(copies)
        moves = np.diff(path, axis=0).reshape(copies, -1) / (lengths * memory["trust"])[:, np.newaxis] / self.units
        slopes = np.asarray(gradients).reshape(copies, -1) / self.units
        kept = 1 - FORGETTING / (t + 20 * FORGETTING)
        gained, squares, trust = memory["gained"], memory["squares"], memory["trust"]
        gained[:] = kept * gained - 0.5 * (slopes * moves).sum(axis=1) / lengths
        squares[:] = kept * squares + np.square(moves).sum(axis=1)
        before = BEFOREHAND / t
        total = squares[1:streams].sum()
        if total > 0:
            trust[1:streams] = min(max((gained[1:streams].sum() / total + before) / (1 + before), LEAST), 1.0)
        for i in range(streams, copies):
            if squares[i] > 0:
                trust[i] = min(max(gained[i] / squares[i] / (1 + before), LEAST), 1.0)

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Mixing(super().compiled_form(start, ground, copies, memory, first, rounds), self.streams(copies))
