"""Taking a block of rounds back: compiled loops write to a booster's arrays as they go, and look at no number on the way."""

from __future__ import annotations

import numpy as np

from banditboost.booster import Booster
from banditboost.require import LARGEST, Array, OverflowingError, all_finite
from banditboost.streams import restore, state

TINY = 1e-140
"""Losses below it have squares that are zero, and compiled loops divide by squares."""


class Undo:
    """What a booster, and the world's noise, were before a block of rounds."""

    def __init__(self, booster: Booster, rng: np.random.Generator) -> None:
        self.booster, self.rng = booster, rng
        self.arrays = {name: array.copy() for name, array in booster.arrays().items()}
        self.streams = {role: state(stream) for role, stream in booster.streams.items()}
        self.noise = state(rng)
        self.counts = booster.rounds, booster.phase_rounds

    def __call__(self) -> None:
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
    sane = all_finite(losses) and all_finite(asked) and smallest >= TINY
    if not sane or not all(
        array.dtype.kind != "f" or all_finite(array, LARGEST**3) for array in booster.arrays().values()
    ):
        raise OverflowingError("losses must be small enough for their gradients to be numbers: these overflow.")
