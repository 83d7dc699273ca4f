"""Taking a block of rounds back: compiled loops write to a booster's arrays as they go, and look at no number on the way."""

from __future__ import annotations

import math

import numpy as np

from banditboost._core.checks import Array, OverflowingError, all_finite
from banditboost._core.streams import restore, state
from banditboost.booster import Booster

TINY = 1e-140
"""Losses below it have squares that are zero, and compiled loops divide by squares."""


class Undo:
    """What a booster, and the world's noise, were before a block of rounds."""

    def __init__(self, booster: Booster, rng: np.random.Generator) -> None:
        self.booster, self.rng = booster, rng
        self.arrays: dict[str, Array] = {}

    def note(self) -> None:
        """Write down what is now, where it was written down before: fresh memory would take several times as long."""
        for name, array in self.booster.arrays().items():
            if name not in self.arrays or self.arrays[name].shape != array.shape:
                self.arrays[name] = np.empty_like(array)
            np.copyto(self.arrays[name], array)
        self.streams = {role: state(stream) for role, stream in self.booster.streams.items()}
        self.noise = state(self.rng)
        self.counts = self.booster.rounds, self.booster.phase_rounds

    def back(self) -> None:
        """Make it so again."""
        for name, array in self.booster.arrays().items():
            array[...] = self.arrays[name]
        for role, stream in self.booster.streams.items():
            restore(stream, self.streams[role])
        restore(self.rng, self.noise)
        self.booster.rounds, self.booster.phase_rounds = self.counts


def check_block(booster: Booster, losses: Array, asked: Array) -> None:
    """Raise where a block's numbers are none, or are too large or too small for the loops, which look at none."""
    smallest = min(np.abs(values).min(initial=1.0, where=values != 0) for values in (losses, asked))
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum is a number only where all of its terms are: one pass, and the quickest.
        sums = [float(array.sum()) for array in booster.arrays().values()]
    if not (all_finite(losses) and all_finite(asked) and smallest >= TINY and all(map(math.isfinite, sums))):
        raise OverflowingError("losses must be small enough for their gradients to be numbers: these overflow.")
