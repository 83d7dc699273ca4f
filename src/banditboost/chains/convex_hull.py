"""The chain of the paper: steps towards one play after the other, so that the prediction is a weighted mean of the plays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from banditboost._core.checks import Array, finite, number, positive
from banditboost._core.spec import Memory, Spec
from banditboost.chains.base import Chain
from banditboost.spaces import Space
from banditboost.spaces.stacks import Factored


@dataclass(frozen=True)
class Harmonic(Spec, kind="chains.Harmonic"):
    """Step lengths η_i = min(1, numerator / (i + offset)^power).

    Algorithms 1 and 2 of Brukhim, Hazan (2020) use 2/(i+1), Meta-Frank-Wolfe uses 1/(i+3), and MORGFW uses 1/(i+1).

    Examples
    --------
    >>> Harmonic().lengths(3).round(4).tolist()
    [1.0, 0.6667, 0.5]
    """

    numerator: float = 2.0
    offset: float = 1.0
    power: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("numerator", self.numerator)
        positive("power", self.power)
        if number("offset", self.offset) <= -1:
            raise ValueError(f"offset must be above -1, got {self.offset!r}.")

    def lengths(self, copies: int) -> Array:
        """Return η_1 ... η_N."""
        return np.asarray(np.minimum(1.0, self.numerator / (np.arange(1, copies + 1) + self.offset) ** self.power))


@dataclass(frozen=True)
class ConvexHull(Chain, kind="chains.ConvexHull"):
    """The chain of Algorithms 1 and 2: y^i = (1-η_i) y^{i-1} + η_i a_i/γ.

    With the paper's steps η_i = 2/(i+1) this is y^i = 2/(i(i+1)) Σ_{k≤i} k a_k/γ: one cumulative sum without a loop over copies.

    Parameters
    ----------
    gamma
        The weak learners' advantage γ > 0; plays are divided by it.
    steps
        Step lengths: a `Harmonic` rule, or one number in (0, 1] per copy. If the first step is below 1, the start y^0 is part of
        the prediction.

    References
    ----------
    Brukhim, Hazan (2020), Algorithms 1 and 2; Beygelzimer, Hazan, Kale, Luo (2015), Algorithm 2.

    Examples
    --------
    >>> ConvexHull().path(np.array([3.0, 6.0, 6.0]), np.array(0.0)).round(6).tolist()
    [0.0, 3.0, 5.0, 5.5]
    """

    gamma: float = 1.0
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
        """Give the paper's chain, two with other advantages γ, and one with other steps."""
        return (cls(), cls(gamma=2.0), cls(gamma=0.5), cls(steps=Harmonic(1.0, 3.0)))

    @cached_property
    def _walks(self) -> dict[int, Walk]:
        """Closed forms by the number of copies, computed once."""
        return {}

    def lengths(self, copies: int) -> Array:
        """Return η_1 ... η_N."""
        return self.steps.lengths(copies) if isinstance(self.steps, Harmonic) else np.array(self.steps)

    def check(self, copies: int) -> None:
        """Raise an error where explicit steps are not as many as the copies."""
        super().check(copies)
        if isinstance(self.steps, tuple) and len(self.steps) != copies:
            raise ValueError(f"steps must be as many as copies, got {len(self.steps)} steps and {copies} copies.")

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 ... y^N; where the plays are stored as factors, the path is too."""
        steps = self._walk(len(plays))
        if type(plays) is not np.ndarray and isinstance(plays, Factored) and steps.closed:
            return described(plays, start, steps).array()
        path = np.empty((len(plays) + 1, *plays.shape[1:]))
        path[0] = start
        walk(plays, start, steps, path[1:])
        return path

    def _walk(self, copies: int) -> Walk:
        found = self._walks.get(copies)
        if found is None:
            found = self._walks[copies] = Walk(self.lengths(copies))
        return found

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Convex(self.lengths(copies), start, *self._walk(copies).padded)


class Walk:
    """The closed form of y^i = (1-η_i) y^{i-1} + η_i a_i: y^i = c_i (y^0 + Σ_{k≤i} w_k a_k), without y^0 where η_1 = 1.

    With c_i = Π_{k≤i} (1-η_k) the recursion reads y^i/c_i = y^{i-1}/c_{i-1} + (η_i/c_i) a_i, so w_k = η_k/c_k. A first step
    of 1 removes the start from the path, and c_1 = 1 may be used instead: the paper's steps then give w_k = k and
    c_i = 2/(i(i+1)). Where a later step is 1, or c_i underflows, the recursion is used step by step.
    """

    def __init__(self, lengths: Array) -> None:
        self.lengths = lengths
        kept = 1 - lengths
        self.keeps_start = bool(kept[0] > 0)
        if not self.keeps_start:
            kept[0] = 1.0
        self.scales = np.asarray(np.cumprod(kept), dtype=np.float64)
        self.closed = bool(self.scales[-1] > 1e-200)
        self.weights = lengths / self.scales if self.closed else lengths

    @cached_property
    def padded(self) -> tuple[Array, Array, Array]:
        """The weights, and how much y^{i-1} has of the start and of the sum, for compiled loops; empty without a closed form."""
        from banditboost._compiled.lanes import ABREAST, room

        copies = len(self.lengths)
        weights, kept, scales = room(ABREAST, 3, copies) if self.closed else np.empty((3, 0))
        if self.closed:
            weights[:copies], scales[1:copies], kept[0] = self.weights, self.scales[:-1], 1.0
            kept[1:copies] = self.scales[:-1] * self.keeps_start
        return weights, kept, scales


def walk(plays: Array, start: Array, steps: Walk, path: Array | None = None) -> Array:
    """Return y^1 ... y^N as one cumulative sum, or step by step where there is no closed form; write into `path` if given."""
    path = np.empty_like(plays) if path is None else path
    if not steps.closed:
        here = start
        for i, eta in enumerate(steps.lengths):
            here = (1 - eta) * here + eta * plays[i]
            path[i] = here
        return path
    weights, scales = steps.weights, steps.scales
    if plays.ndim > 1:
        ones = (1,) * (plays.ndim - 1)
        weights, scales = weights.reshape(-1, *ones), scales.reshape(-1, *ones)
    np.add.accumulate(weights * plays, axis=0, out=path)
    if steps.keeps_start:
        path += start
    path *= scales
    return path


def described(plays: Factored, start: Array, steps: Walk) -> Factored:
    """Return y^0 ... y^N as weights on the plays' factors: y^i = Σ_{k≤i} c_i w_k a_k (+ c_i y^0)."""
    mixing = np.tril(np.multiply.outer(steps.scales, steps.weights))
    kept = steps.scales if steps.keeps_start else np.zeros(len(plays))
    return plays.mixed(np.vstack([np.zeros(len(plays)), mixing]), start, np.append(1.0, kept))
