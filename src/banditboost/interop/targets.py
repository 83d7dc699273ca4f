"""The range of predictions of a regressor: given by the user, or found from the labels, after which it only grows.

A booster needs the set of predictions from the start. The rule for all regressors here is:

1. ``target_range=(low, high)``, where it is given, is always that set. Labels may lie outside; predictions do not.
2. Otherwise the set is the range of the first labels, and a tenth of its width more on either side. A single label y, or
   labels that are all equal to y, have the range y ± |y| (±1 where y is zero).
3. A later label outside widens the range to hold it, and a tenth of the new width more beyond it. What was learned is kept.

Boosters work on labels minus the middle of the first range. The middle does not change when the range grows, so that what was
learned keeps its meaning. This needs a loss that depends on prediction minus label alone (`Loss.translation_invariant`); for other
losses ``target_range`` must be given. Labels beyond 1e100 raise a ValueError before anything changes, since their losses overflow.
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
"""Share of the width of the labels' range that is added where the range is found or grows."""
TINY = 1e-100
"""Ranges below this are treated as zero, since squares of differences within them underflow."""
HUGE = 1e100
"""Labels beyond this raise a ValueError, since their squares overflow."""


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
        """Return the range that the user gives, which never grows."""
        try:
            low, high = (number("target_range", end) for end in target_range)
        except (TypeError, ValueError):
            raise ValueError(f"target_range must be two numbers, low and high, got {target_range!r}.") from None
        if not low < high:
            raise ValueError(f"target_range must be two numbers, the lower one first, got {target_range!r}.")
        return cls(low, high, 0.5 * low + 0.5 * high if loss.translation_invariant else 0.0, fixed=True)

    @classmethod
    def found(cls, labels: ArrayLike) -> Self:
        """Return the range of the first labels, with a margin."""
        low, high = float(np.min(labels)), float(np.max(labels))
        margin = MARGIN * (high - low) if high > low else abs(low)
        if margin < TINY:
            margin = 1.0
        return cls(low - margin, high + margin, 0.5 * low + 0.5 * high)

    @classmethod
    def begin(cls, target_range: Any, loss: Loss, labels: ArrayLike) -> Self:
        """Return the range that was given, or the range of the first labels where none was."""
        _sized(labels)
        if target_range is not None:
            return cls.given(target_range, loss)
        if not loss.translation_invariant:
            raise ValueError(
                f"target_range must be given for the loss {type(loss).__name__}, which depends on more than prediction minus label."
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
        """The space of a booster's predictions: the range minus its first middle."""
        return Interval(self.low - self.middle, self.high - self.middle)


def _sized(labels: ArrayLike) -> None:
    largest = np.asarray(labels).flat[int(np.argmax(np.abs(labels)))]
    if abs(largest) > HUGE:
        raise ValueError(f"y must be numbers of at most {HUGE:g} in size, got {float(largest)!r}.")
