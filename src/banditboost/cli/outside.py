"""Whether a model that `banditboost warm` made recommends what the log has never tried."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.logs import Log
from banditboost.spaces import Space

SAMPLE = 2000
"""For so many contexts of the log at most, from all over it, recommendations are compared with actions on record."""
MUCH = 0.05
"""Where a larger share of recommendations lies outside, that is not small."""
NEAR = 0.01
"""What is nearer to the range of the actions than this share of it counts as tried; rounded ranges are no wider than that."""


class Compared(NamedTuple):
    """Between which values a model recommends, and between which the log's actions lie: one for each coordinate."""

    names: tuple[str, ...]
    recommended: tuple[Array, Array]
    tried: tuple[Array, Array]
    outside: float
    """The share of recommendations with a coordinate outside of the range of the actions."""

    def sentences(self, space: Space) -> str:
        """Say how far recommendations go beyond what was tried, and what to do where they do."""
        where = " and ".join(map(_between, self.names, *self.recommended))
        there = " and ".join(map(_between, ["" if len(self.names) == 1 else name for name in self.names], *self.tried))
        share = f"{self.outside:.1%}" if self.outside else "none"
        said = (
            f"On the log's contexts it recommends {where}; the log's actions lie {there}: {share} of its recommendations "
            f"{'lies' if not self.outside else 'lie'} outside of what was ever tried."
        )
        if self.outside <= MUCH:
            return said
        return f"{said} Nobody has seen what happens there: --space {self._narrow(space)} narrows the decisions."

    def _narrow(self, space: Space) -> str:
        """Return bounds that hold all actions of the log, rounded outwards, as the shell takes them."""
        assert space.bounds is not None
        ends = [_rounded(*each) for each in zip(*self.tried, *space.bounds, strict=True)]
        return ",".join(f"{end:.12g}" for pair in ends for end in pair) if all(a < b for a, b in ends) else "low,high"

    def plain(self) -> dict[str, Any]:
        """Return the same as plain data."""
        ends = {"recommended": self.recommended, "tried": self.tried}
        ranges = {
            what: {name: [float(a), float(b)] for name, a, b in zip(self.names, low, high, strict=True)}
            for what, (low, high) in ends.items()
        }
        return ranges | {"outside": self.outside}


def compare(booster: Booster, log: Log) -> Compared | None:
    """Compare what a booster recommends on contexts of a log with the range of the actions there; None for an empty log."""
    step, contexts = max(1, math.ceil(log.rows / SAMPLE)), []
    lows, highs = np.full(log.dimension, math.inf), np.full(log.dimension, -math.inf)
    for block in log.blocks():
        lows, highs = np.minimum(lows, block.actions.min(axis=0)), np.maximum(highs, block.actions.max(axis=0))
        contexts.append(block.contexts[(-block.row) % step :: step])
    if not contexts:
        return None
    found = np.asarray(booster.predict_many(np.concatenate(contexts))).reshape(-1, log.dimension)
    slack = 1.001 * NEAR * (highs - lows) + 1e-9 * np.maximum(np.abs(lows), np.abs(highs))
    beyond: NDArray[np.bool_] = ((found < lows - slack) | (found > highs + slack)).any(axis=1)
    ends = found.min(axis=0), found.max(axis=0)
    return Compared(log.action_names, ends, (lows, highs), float(beyond.mean()))


def _between(name: str, low: float, high: float) -> str:
    ends = f"at {low:.4g}" if low == high else f"between {low:.4g} and {high:.4g}"
    return f"{name} {ends}".strip()


def _rounded(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Return a range rounded outwards, by at most `NEAR` of its length, within the space.

    Examples
    --------
    >>> _rounded(6.4123, 17.9981, 0.0, 17.9999)
    (6.4, 17.9999)
    """
    if not low < high:
        return low, high
    digits = 2 - math.floor(math.log10(high - low))
    unit = 10.0**digits
    ends = round(math.floor(low * unit) / unit, digits), round(math.ceil(high * unit) / unit, digits)
    return max(min(ends[0], low), least), min(max(ends[1], high), most)
