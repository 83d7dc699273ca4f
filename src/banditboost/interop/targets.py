"""Where labels are taken to lie, when nobody says: a range that is found from them and only ever grows.

A booster needs a set of predictions from the start. The rule, for all regressors here:

1. ``target_range=(low, high)``, where it is given, is that set, always. Labels outside cost what they cost; predictions stay
   inside.
2. Otherwise the range of the first labels, and a tenth of its width more on either side. One label y alone, or
   many that are equal, has the range y ± |y| (±1 where it is zero).
3. A later label outside makes the range grow to hold it, and a tenth of the new width more beyond it. Nothing learned is lost.

Boosters work on labels minus the first range's middle, which stays what it is, so that what was learned means the same after
growing. That takes a loss of the difference of prediction and label; for others ``target_range`` must be given. Labels beyond 1e100
are refused before anything has changed: what they cost is no number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import number
from banditboost.losses import Loss
from banditboost.spaces import Interval

MARGIN = 0.1
TINY = 1e-100
"""A range of less is none: squares of differences within it are no numbers."""
HUGE = 1e100
"""Nor are those of larger labels."""


@dataclass(frozen=True)
class Targets:
    """A range of labels and the point that is subtracted from them.

    Examples
    --------
    >>> first = Targets.found([10.0, 20.0])
    >>> first.low, first.high, first.space
    (9.0, 21.0, Interval(low=-6.0, high=6.0))
    >>> later = first.holding([29.0])
    >>> later.low, later.high, later.middle, later.space
    (9.0, 31.0, 15.0, Interval(low=-6.0, high=16.0))
    """

    low: float
    high: float
    middle: float
    fixed: bool = False

    @classmethod
    def given(cls, target_range: Any, loss: Loss) -> Self:
        """Take the user's word for it."""
        try:
            low, high = (number("target_range", end) for end in target_range)
        except (TypeError, ValueError):
            raise ValueError(f"target_range must be two numbers, low and high, got {target_range!r}.") from None
        if not low < high:
            raise ValueError(f"target_range must be two numbers, the lower one first, got {target_range!r}.")
        return cls(low, high, 0.5 * low + 0.5 * high if loss.translation_invariant else 0.0, fixed=True)

    @classmethod
    def found(cls, labels: ArrayLike) -> Self:
        """Look at the first labels."""
        low, high = float(np.min(labels)), float(np.max(labels))
        margin = MARGIN * (high - low) if high > low else abs(low)
        if margin < TINY:
            margin = 1.0
        return cls(low - margin, high + margin, 0.5 * low + 0.5 * high)

    @classmethod
    def begin(cls, target_range: Any, loss: Loss, labels: ArrayLike) -> Self:
        """Return the range that was given, or that of the first labels."""
        _sized(labels)
        if target_range is not None:
            return cls.given(target_range, loss)
        if not loss.translation_invariant:
            raise ValueError(
                f"target_range must be given for the loss {type(loss).__name__}, which labels cannot be shifted in."
            )
        return cls.found(labels)

    def holding(self, labels: ArrayLike) -> Self:
        """Return this range, or a wider one that holds the labels."""
        _sized(labels)
        low, high = min(self.low, float(np.min(labels))), max(self.high, float(np.max(labels)))
        if self.fixed or (low == self.low and high == self.high):
            return self
        margin = MARGIN * (high - low)
        return replace(
            self,
            low=low - margin if low < self.low else low,
            high=high + margin if high > self.high else high,
        )

    @property
    def space(self) -> Interval:
        """Where a booster's predictions lie: the range minus its first middle."""
        return Interval(self.low - self.middle, self.high - self.middle)


def _sized(labels: ArrayLike) -> None:
    largest = np.asarray(labels).flat[int(np.argmax(np.abs(labels)))]
    if abs(largest) > HUGE:
        raise ValueError(f"y must be numbers of at most {HUGE:g} in size, got {float(largest)!r}.")
