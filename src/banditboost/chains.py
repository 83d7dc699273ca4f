"""How N proposals become one prediction.

A chain turns the plays a_1 ... a_N into a path y^0 ... y^N. Feedback for copy i is asked at y^{i-1}, the point that the copies
before it have reached, and the prediction is y^N.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from banditboost.require import Array, count, finite, number, positive
from banditboost.spec import Spec

__all__ = ["Chain", "ConvexHull", "Harmonic", "Single"]


@dataclass(frozen=True)
class Harmonic(Spec):
    """Step lengths η_i = min(1, numerator / (i + offset)).

    2/(i+1) is the paper's (Algorithms 1 and 2), 1/(k+3) that of Meta-Frank-Wolfe, 1/(k+1) that of MORGFW.

    Examples
    --------
    >>> Harmonic().lengths(3).round(4).tolist()
    [1.0, 0.6667, 0.5]
    """

    numerator: float = 2.0
    offset: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("numerator", self.numerator)
        if number("offset", self.offset) <= -1:
            raise ValueError(f"offset must be above -1, got {self.offset!r}.")

    def lengths(self, copies: int) -> Array:
        """Return η_1 ... η_N."""
        return np.asarray(np.minimum(1.0, self.numerator / (np.arange(1, copies + 1) + self.offset)))


@dataclass(frozen=True)
class Chain(Spec):
    """Base of the ways to combine plays."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gamma", self.gamma)

    @abstractmethod
    def path(self, plays: Array, start: Array) -> Array:
        """Return y^0 ... y^N, shape (N+1, *shape), from plays that are already divided by γ."""

    @abstractmethod
    def lengths(self, copies: int) -> Array:
        """Return the step lengths η_1 ... η_N."""

    def check(self, copies: int) -> None:
        """Raise where the chain cannot serve that many copies."""
        count("copies", copies)


@dataclass(frozen=True)
class ConvexHull(Chain):
    """The paper's chain: y^i = (1-η_i) y^{i-1} + η_i a_i/γ.

    With the paper's steps η_i = 2/(i+1) this is y^i = 2/(i(i+1)) Σ_{k≤i} k a_k/γ: one cumulative sum, no loop over copies.

    Parameters
    ----------
    gamma
        The weak learners' advantage γ > 0; plays are divided by it.
    steps
        Step lengths: a `Harmonic` rule, or one number in (0, 1] per copy. Where the first step is below 1 the start
        enters the prediction.

    References
    ----------
    Brukhim, Hazan (2020), Algorithms 1 and 2; Beygelzimer, Hazan, Kale, Luo (2015), Algorithm 2.

    Examples
    --------
    >>> ConvexHull().path(np.array([3.0, 6.0, 6.0]), start=np.array(0.0)).round(6).tolist()
    [0.0, 3.0, 5.0, 5.5]
    """

    steps: Harmonic | tuple[float, ...] = Harmonic()

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.steps, Harmonic):
            return
        steps = finite("steps", self.steps)
        if steps.ndim != 1 or not steps.size or not ((steps > 0) & (steps <= 1)).all():
            raise ValueError(f"steps must be numbers in (0, 1], one per copy, got {self.steps!r}.")
        object.__setattr__(self, "steps", tuple(steps.tolist()))

    @classmethod
    def examples(cls) -> tuple[ConvexHull, ...]:
        """The paper's, one for strong learners, one with other steps."""
        return (cls(), cls(gamma=2.0), cls(gamma=0.5), cls(steps=Harmonic(1.0, 3.0)))

    @property
    def _keeps_start(self) -> bool:
        first = self.steps.lengths(1)[0] if isinstance(self.steps, Harmonic) else self.steps[0]
        return bool(first < 1)

    def lengths(self, copies: int) -> Array:
        """Return η_1 ... η_N."""
        return self.steps.lengths(copies) if isinstance(self.steps, Harmonic) else np.array(self.steps)

    def check(self, copies: int) -> None:
        """Explicit steps must be as many as the copies."""
        super().check(copies)
        if isinstance(self.steps, tuple) and len(self.steps) != copies:
            raise ValueError(f"steps must be as many as copies, got {len(self.steps)} steps and {copies} copies.")

    def path(self, plays: Array, start: Array) -> Array:
        """Return the path as one cumulative sum, or step by step where the steps have no closed form."""
        form = _closed_form(self, len(plays))
        if form is None:
            return _recursion(plays, start, self.lengths(len(plays)))
        ones = (1,) * (plays.ndim - 1)
        weights, scales = (part.reshape(-1, *ones) for part in form)
        path = np.empty((len(plays) + 1, *plays.shape[1:]))
        path[0] = start
        np.cumsum(weights * plays, axis=0, out=path[1:])
        if self._keeps_start:
            path[1:] += start
        path[1:] *= scales
        return path


@lru_cache(maxsize=256)
def _closed_form(chain: ConvexHull, copies: int) -> tuple[Array, Array] | None:
    """Return weights w_k and scales c_i with y^i = c_i (y^0 + Σ_{k≤i} w_k a_k); y^0 drops out where η_1 = 1.

    With c_i = Π_{k≤i} (1-η_k) the recursion reads y^i/c_i = y^{i-1}/c_{i-1} + (η_i/c_i) a_i. A first step of 1 forgets the start,
    and c_1 = 1 may be taken instead: the paper's steps give w_k = k and c_i = 2/(i(i+1)). A later step of 1, or
    steps so long that c_i falls out of the range of numbers, leave only the recursion.
    """
    lengths = chain.lengths(copies)
    kept = 1 - lengths
    if kept[0] == 0:
        kept[0] = 1.0
    scales = np.asarray(np.cumprod(kept), dtype=np.float64)
    if scales[-1] < 1e-200:
        return None
    return lengths / scales, scales


def _recursion(plays: Array, start: Array, lengths: Array) -> Array:
    """Walk the chain step by step: the definition."""
    path = np.empty((len(plays) + 1, *plays.shape[1:]))
    path[0] = start
    for i, eta in enumerate(lengths):
        path[i + 1] = (1 - eta) * path[i] + eta * plays[i]
    return path


@dataclass(frozen=True)
class Single(Chain):
    """One copy, its play the prediction, feedback asked at the prediction itself: no boosting.

    Examples
    --------
    >>> Single().path(np.array([3.0]), start=np.array(0.0)).tolist()
    [3.0, 3.0]
    """

    def lengths(self, copies: int) -> Array:
        """One whole step."""
        return np.ones(copies)

    def check(self, copies: int) -> None:
        """One copy only."""
        if count("copies", copies) != 1:
            raise ValueError(f"copies must be 1 with the chain Single, got {copies}.")

    def path(self, plays: Array, start: Array) -> Array:
        """Stay at the play: y^0 = y^1 = a_1/γ, so that feedback is asked where the prediction is."""
        return np.concatenate([plays, plays])
