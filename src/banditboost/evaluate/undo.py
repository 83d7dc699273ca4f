"""Taking a block of rounds back: compiled loops change a booster's arrays round by round without checking any number."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from banditboost._core.checks import Array, OverflowingError, all_finite
from banditboost._core.streams import restore, state
from banditboost.booster import Booster

TINY = 1e-140
"""Losses of smaller absolute value are refused by the compiled loops, which divide by squares that would be zero."""


class Undo:
    """A saved state of a booster and of the world's noise, to return to when a block of rounds fails."""

    def __init__(self, booster: Booster, rng: np.random.Generator) -> None:
        self.booster, self.rng = booster, rng
        self.arrays: dict[str, Array] = {}
        self.before: Any = None
        """The random stream from which copies were begun, as it was before, while they are as they were begun."""

    def begin(self, features: int) -> None:
        """Begin the booster's copies, which need not be copied before their first rounds: they can be begun again."""
        self.before = state(self.booster.streams["perturbations"])
        self.booster._start_bank(features)

    def end(self) -> None:
        """Take back that copies were begun, where they were, before anything was played."""
        if self.before is not None:
            restore(self.booster.streams["perturbations"], self.before)
            self.booster.bank, self.booster.features, self.before = None, 0, None
            self.booster.bands_memory, self.booster.drifts_memory = {}, {}

    def save(self) -> None:
        """Save the present state into the arrays of the last save, which is several times as fast as fresh memory."""
        self.fresh, self.before = self.before, None
        begun = () if self.fresh is None or self.booster.bank is None else self.booster.bank.arrays().keys()
        for name, array in self.booster.arrays().items():
            if name in begun:
                continue
            if name not in self.arrays or self.arrays[name].shape != array.shape:
                self.arrays[name] = np.empty_like(array)
            np.copyto(self.arrays[name], array)
        self.streams = {role: state(stream) for role, stream in self.booster.streams.items()}
        self.noise = state(self.rng)
        self.counts = self.booster.rounds, self.booster.phase_rounds

    def restore(self) -> None:
        """Restore the saved state."""
        if self.fresh is not None:
            restore(self.booster.streams["perturbations"], self.fresh)
            self.booster._start_bank(self.booster.features)
        for name, array in self.booster.arrays().items():
            if name in self.arrays:
                array[...] = self.arrays[name]
        for role, stream in self.booster.streams.items():
            restore(stream, self.streams[role])
        restore(self.rng, self.noise)
        self.booster.rounds, self.booster.phase_rounds = self.counts


def _smallest(values: Array) -> float:
    """Return the least absolute value that is not zero; 1 where none is smaller."""
    sizes = np.abs(values)
    least = float(sizes.min(initial=1.0))
    # Choosing takes several times as long.
    return least if least > 0 else float(sizes.min(initial=1.0, where=sizes > 0))


def check_block(booster: Booster, losses: Array, paid: Array) -> None:
    """Raise an error where a block's numbers are not finite, or too large or too small for the compiled loops."""
    smallest = min(map(_smallest, (losses, paid)))
    sound = frozenset[str]() if booster.bank is None else booster.bank.sound
    looked_at = (array for name, array in booster.arrays().items() if name not in sound)
    with np.errstate(over="ignore", invalid="ignore"):
        # A sum is finite only where all of its terms are, so that one fast pass is enough; what is kept in single precision are
        # contexts, which are finite.
        sums = [float(array.sum()) for array in looked_at if array.dtype == np.float64]
    if not (all_finite(losses) and all_finite(paid) and smallest >= TINY and all(map(math.isfinite, sums))):
        raise OverflowingError("losses must be small enough for finite gradients, but the gradients of these overflow.")
