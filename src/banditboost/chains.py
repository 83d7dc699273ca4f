"""Chains: how the plays of N copies become one prediction.

A chain turns the plays a_1 ... a_N into a path y^0 ... y^N. Feedback for copy i is asked at y^{i-1}, the point that the copies
before it have reached, and the prediction is y^N.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from banditboost._core.checks import Array, count, finite, number, positive
from banditboost._core.forms import no_loop
from banditboost._core.spec import Memory, Spec
from banditboost.rates import Power, Rate
from banditboost.spaces import Space
from banditboost.spaces.base import dots
from banditboost.spaces.stacks import Factored

__all__ = ["Additive", "Chain", "ConvexHull", "Harmonic", "Single", "Span"]


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
class Chain(Spec):
    """Base class of the ways to combine the plays of N copies."""

    gamma: float = field(default=1.0, kw_only=True)

    projects: ClassVar[bool] = False
    """True: every step of the path is projected on the space, so that plays may lie outside it."""

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("gamma", self.gamma)

    @abstractmethod
    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 ... y^N, shape (N+1, *shape), from plays that are already divided by γ.

        Parameters
        ----------
        plays
            a_1/γ ... a_N/γ.
        start
            y^0.
        memory
            The chain's memory, made by `start` and changed by `learn`; left out, it is that of the first round.
        ground
            The set on which chains that add up plays project every step; left out, nothing is projected.
        """

    @abstractmethod
    def lengths(self, copies: int) -> Array:
        """Return the step lengths η_1 ... η_N."""

    def start(self, copies: int) -> Memory:
        """Return the memory before the first round, which is empty for most chains."""
        return {}

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Learn from the gradients at y^0 ... y^{N-1}; t is the number of rounds learned from, including this one."""

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the typed tuple by which compiled loops know this chain (`banditboost.extending`); None where there is none.

        Parameters
        ----------
        start
            y^0, as one row of numbers.
        ground
            The form of the set in which chains that sum plays must stay.
        copies
            N.
        memory
            What the chain remembers, to be changed in place.
        first, rounds
            The number of the first round to be played, counted as for `learn`, and how many there are.
        """
        return None

    def why_not_compiled(self, space: Space) -> str | None:
        """Return why no compiled loop can play this chain on a space, as half a sentence; None where one can."""
        if type(self).compiled_form is Chain.compiled_form:
            return f"there is no compiled loop for the chain {type(self).__name__}"
        return no_loop("chain", self)

    def check(self, copies: int) -> None:
        """Raise an error where the chain cannot combine that many copies."""
        count("copies", copies)


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
        steps = self._walks.get(len(plays))
        if steps is None:
            steps = self._walks[len(plays)] = Walk(self.lengths(len(plays)))
        if type(plays) is not np.ndarray and isinstance(plays, Factored) and steps.closed:
            return described(plays, start, steps).array()
        path = np.empty((len(plays) + 1, *plays.shape[1:]))
        path[0] = start
        walk(plays, start, steps, path[1:])
        return path

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Convex(self.lengths(copies), start)


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


@dataclass(frozen=True)
class Single(Chain, kind="chains.Single"):
    """One copy without boosting: its play is the prediction, and feedback is asked at the prediction itself.

    Examples
    --------
    >>> Single().path(np.array([3.0]), np.array(0.0)).tolist()
    [3.0, 3.0]
    """

    gamma: float = 1.0

    def lengths(self, copies: int) -> Array:
        """Return one step of length 1."""
        return np.ones(copies)

    def check(self, copies: int) -> None:
        """Raise an error unless there is exactly one copy."""
        if count("copies", copies) != 1:
            raise ValueError(f"copies must be 1 with the chain Single, got {copies}.")

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 = y^1 = a_1/γ, so that feedback is asked at the prediction."""
        return np.concatenate([plays, plays])

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Lone()


@dataclass(frozen=True)
class Span(Chain, kind="chains.Span"):
    """Steps that add up, with learned shrinkage: y^i = Π((1 - σ_i η) y^{i-1} + η a_i).

    Predictions are sums of plays, kept in the space by a projection, so that they reach the span of the plays where their convex
    hull is too small. The shrinkage σ_i of step i is learned by gradient descent on its own linear loss:

        σ_i ← clip(σ_i + α ∇ℓ(y^{i-1})·y^{i-1}, 0, 1)

    Parameters
    ----------
    step
        η in [1/N, 1]; left out, it is max(1/N, ln N / N), for which the first term of the regret bound falls like
        N^(-1/W), where W bounds the sum of the comparator's absolute weights.
    rate
        The source's α_t = 1/(L B √t), where L and B are known: ``Power(1 / (L * B), 0.5)``. Left out, it is the adaptive
        α_t = 1/√(2 Σ_{s≤t} c_s²) with c = ∇ℓ(y^{i-1})·y^{i-1}, which needs neither and has regret at most √2 √(Σ c²) on [0, 1].

    References
    ----------
    Beygelzimer, Hazan, Kale, Luo (2015), "Online gradient boosting", Algorithm 1; the adaptive rate is that of Streeter,
    McMahan (2010), "Less regret via online conditioning", Section 2.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> Span(step=0.5).path(np.array([3.0, 6.0]), np.array(0.0), ground=Interval(0, 4)).tolist()
    [0.0, 1.5, 4.0]
    """

    step: float | None = None
    rate: Rate | None = None

    projects: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.step is not None and not 0 < number("step", self.step) <= 1:
            raise ValueError(f"step must lie in (0, 1], got {self.step!r}.")
        if self.rate is not None and not isinstance(self.rate, Rate):
            raise ValueError(f"rate must be a Rate, such as Power(0.1, 0.5), got {self.rate!r}.")

    @classmethod
    def examples(cls) -> tuple[Span, ...]:
        """Give the default, and a chain with the source's rate."""
        return (cls(), cls(step=0.5, rate=Power(0.1, 0.5)))

    def check(self, copies: int) -> None:
        """Raise an error for a step below 1/N, with which the chain could not cross the set."""
        super().check(copies)
        if self.step is not None and self.step * copies < 1 - 1e-12:
            raise ValueError(f"step must be at least 1/copies = {1 / copies:g}, got {self.step!r}.")

    def lengths(self, copies: int) -> Array:
        """Return the same step η for every copy."""
        step = max(1 / copies, float(np.log(copies)) / copies) if self.step is None else self.step
        return np.full(copies, step)

    def start(self, copies: int) -> Memory:
        """Return shrinkage 0 for every copy, and sums of squared slopes of 0."""
        return {"shrinkage": np.zeros(copies), "squares": np.zeros(copies)}

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy, because the projections in between leave no closed form."""
        lengths = self.lengths(len(plays))
        kept = 1 - lengths * (self.start(len(plays)) if memory is None else memory)["shrinkage"]
        return added_up(plays, start, lengths, kept, ground)

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Move each σ_i against its linear loss -∇ℓ(y^{i-1})·y^{i-1} σ_i."""
        slopes = dots(gradients, path[:-1], path.ndim - 1).reshape(-1)
        memory["squares"] += slopes**2
        if self.rate is None:
            root = np.sqrt(2 * memory["squares"])
            moved = np.divide(slopes, root, out=np.zeros_like(slopes), where=root > 0)
        else:
            moved = self.rate.step(t) * slopes
        memory["shrinkage"][:] = np.clip(memory["shrinkage"] + moved, 0.0, 1.0)

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        rates = np.empty(0) if self.rate is None else self.rate.at(np.arange(first, first + rounds, dtype=np.float64))
        return chains.Shrinking(self.lengths(copies), start, ground, memory["shrinkage"], memory["squares"], rates)

    def why_not_compiled(self, space: Space) -> str | None:
        """Return that flat spaces need a rate: there the first slope is zero but for rounding, whose sign would be followed."""
        if self.rate is None and space.rank < space.size:
            return (
                f"there is no compiled loop for the chain Span on a {type(space).__name__}, unless it is given a rate"
            )
        return super().why_not_compiled(space)


def added_up(plays: Array, start: Array, lengths: Array, kept: Array, ground: Space | None) -> Array:
    """Return y^0 ... y^N with y^i = Π(kept_i y^{i-1} + η_i a_i)."""
    path = np.empty((len(plays) + 1, *plays.shape[1:]))
    path[0] = start
    for i in range(len(plays)):
        moved = kept[i] * path[i] + lengths[i] * plays[i]
        path[i + 1] = moved if ground is None else ground.project(moved)
    return path


@dataclass(frozen=True)
class Additive(Chain, kind="chains.Additive"):
    """Steps that add up without shrinkage: y^i = Π(y^{i-1} + η_i a_i), as in offline gradient boosting.

    This chain suits learners that fit the residual of the copies before them (`Tree`, ``SecondOrder(centre="zero")``), not learners
    whose plays go to the border of a ball. It is `Span` without shrinkage, and no regret bound is known for it.

    Parameters
    ----------
    step
        η of every copy but the first; with small steps later copies correct earlier ones.
    first
        η of the first copy; left out, it is that of the others. Use 1 where the first copy is a learner of another kind that
        explains most of the loss (`learners.Mixed`).

    References
    ----------
    Friedman (2001), "Greedy function approximation: a gradient boosting machine", Algorithm 1, with the shrinkage of Section 5.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> Additive(step=0.5, first=1.0).path(np.array([3.0, 1.0, 2.0]), np.array(0.0), ground=Interval(0, 4)).tolist()
    [0.0, 3.0, 3.5, 4.0]
    """

    step: float = 0.2
    first: float | None = None

    projects: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, step in (("step", self.step), ("first", self.step if self.first is None else self.first)):
            if not 0 < number(name, step) <= 1:
                raise ValueError(f"{name} must lie in (0, 1], got {step!r}.")

    @classmethod
    def examples(cls) -> tuple[Additive, ...]:
        """Give a chain with equal steps, and one whose first step is 1."""
        return (cls(), cls(step=0.5, first=1.0))

    def lengths(self, copies: int) -> Array:
        """Return η_1 of the first copy, then η of the others."""
        lengths = np.full(copies, self.step)
        lengths[0] = self.step if self.first is None else self.first
        return lengths

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy, because the projections in between leave no closed form."""
        return added_up(plays, start, self.lengths(len(plays)), np.ones(len(plays)), ground)

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Added(self.lengths(copies), start, ground)
