"""Steps that add up, as long as earlier rounds have shown them to deserve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, positive, vector
from banditboost._core.spec import Memory
from banditboost.chains.additive import Additive
from banditboost.chains.span import added_up
from banditboost.spaces import Space

LEAST = 0.02
"""Smallest trust: with none at all, what later copies play would never be seen to be good."""
BEFOREHAND = 20.0
"""Rounds that full trust is worth before anything was seen."""
FORGETTING = 2.0
"""The trust is a mean over about the last 1/FORGETTING of all rounds, since copies get better."""


@dataclass(frozen=True)
class Trusted(Additive, kind="chains.Trusted"):
    """Steps that add up, those of all copies but the first multiplied by a trust τ in (0, 1] that is learned.

    Copies that fit residuals also fit the noise in them, the more so the fewer answers there are. What a copy plays is decided
    before the round's answers are known, so that rounds test it: with a_i the play and g_i the gradient at y^{i-1} (of a loss with
    curvature 2), the loss would have been least for the step

        η* = - Σ g_i·a_i / 2 Σ |a_i|²,

    and τ is η* over the step η, at most 1, pooled over copies and over the later part of all rounds. With exact gradients trust is
    mostly full, and this is `Additive`.

    Parameters
    ----------
    step, first
        As for `Additive`.
    units
        Units in which coordinates count alike, one for each or one for all: the sides of a box.

    References
    ----------
    The shrinkage of Stein (1956) with an estimate from rounds that were not fitted, as in the stacking of Wolpert (1992).

    Examples
    --------
    >>> chain = Trusted(step=0.5, first=1.0)
    >>> memory = chain.start(3)
    >>> chain.path(np.array([1.0, 1.0, 1.0]), np.array(0.0), memory).tolist()
    [0.0, 1.0, 1.5, 2.0]
    >>> for t in range(1, 200):  # the second copy moves away from the least loss, at 1
    ...     path = chain.path(np.array([1.0, 1.0, 0.0]), np.array(0.0), memory)
    ...     chain.learn(path, 2 * (path[:-1] - 1.0), memory, t)
    >>> chain.path(np.array([1.0, 1.0, 1.0]), np.array(0.0), memory).round(2).tolist()
    [0.0, 1.0, 1.05, 1.09]
    """

    units: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        for unit in vector("units", self.units):
            positive("units", unit)

    def start(self, copies: int) -> Memory:
        """Return the sums of -g·a/2η and of |a|² for every copy, and the trust, which is 1 at first."""
        return {"gained": np.zeros(copies), "squares": np.zeros(copies), "trust": np.ones(copies)}

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy."""
        lengths = self.lengths(len(plays))
        if memory is not None:
            lengths *= memory["trust"]
        return added_up(plays, start, lengths, np.ones(len(plays)), ground)

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Compare what copies played with what would have been best; the last copy, after which nothing is asked, is left out."""
        copies = len(path) - 1
        last = copies - 1
        if last < 1:
            return
        lengths = self.lengths(copies)
        plays = np.diff(path[:copies], axis=0).reshape(last, -1) / (lengths * memory["trust"])[:last, np.newaxis]
        plays, slopes = plays / self.units, np.asarray(gradients)[:last].reshape(last, -1) / self.units
        kept = 1 - FORGETTING / (t + 20 * FORGETTING)
        gained, squares = memory["gained"], memory["squares"]
        gained[:last] = kept * gained[:last] - 0.5 * (slopes * plays).sum(axis=1) / lengths[:last]
        squares[:last] = kept * squares[:last] + np.square(plays).sum(axis=1)
        total = squares[1:].sum()
        if total > 0:
            before = BEFOREHAND / t
            memory["trust"][1:] = min(max((gained[1:].sum() / total + before) / (1 + before), LEAST), 1.0)

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        whole = chains.Added(self.lengths(copies), start, ground)
        rules = np.array([LEAST, BEFOREHAND, FORGETTING, float(first)])
        units = np.array(np.broadcast_to(np.array(self.units), start.shape))
        return chains.Trusting(*whole, memory["gained"], memory["squares"], memory["trust"], rules, units)
