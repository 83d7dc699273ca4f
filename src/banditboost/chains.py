"""How N proposals become one prediction.

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

    2/(i+1) is the paper's (Algorithms 1 and 2), 1/(k+3) that of Meta-Frank-Wolfe, 1/(k+1) that of MORGFW.

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
    """Base of the ways to combine plays."""

    gamma: float = field(default=1.0, kw_only=True)

    projects: ClassVar[bool] = False
    """Whether the path is kept on the ground step by step, so that plays need not lie there."""

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
            What `start` made and `learn` changed; that of the first round when not given.
        ground
            Where chains that sum plays must stay; anywhere when not given.
        """

    @abstractmethod
    def lengths(self, copies: int) -> Array:
        """Return the step lengths η_1 ... η_N."""

    def start(self, copies: int) -> Memory:
        """Return what is remembered before the first round: nothing, for most."""
        return {}

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Learn from the gradients at y^0 ... y^{N-1}; t counts the rounds told, this one included."""

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
        """Raise where the chain cannot serve that many copies."""
        count("copies", copies)


@dataclass(frozen=True)
class ConvexHull(Chain, kind="chains.ConvexHull"):
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
        """The paper's, one for strong learners, one with other steps."""
        return (cls(), cls(gamma=2.0), cls(gamma=0.5), cls(steps=Harmonic(1.0, 3.0)))

    @cached_property
    def _walks(self) -> dict[int, Walk]:
        """Closed forms by the number of copies, worked out once."""
        return {}

    def lengths(self, copies: int) -> Array:
        """Return η_1 ... η_N."""
        return self.steps.lengths(copies) if isinstance(self.steps, Harmonic) else np.array(self.steps)

    def check(self, copies: int) -> None:
        """Explicit steps must be as many as the copies."""
        super().check(copies)
        if isinstance(self.steps, tuple) and len(self.steps) != copies:
            raise ValueError(f"steps must be as many as copies, got {len(self.steps)} steps and {copies} copies.")

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 ... y^N; where the plays are described by factors, so is the path."""
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
    """The closed form of y^i = (1-η_i) y^{i-1} + η_i a_i: y^i = c_i (y^0 + Σ_{k≤i} w_k a_k), y^0 left out where η_1 = 1.

    With c_i = Π_{k≤i} (1-η_k) the recursion reads y^i/c_i = y^{i-1}/c_{i-1} + (η_i/c_i) a_i, so w_k = η_k/c_k. A first step
    of 1 forgets the start, and c_1 = 1 may be taken instead: the paper's steps give w_k = k and c_i = 2/(i(i+1)). A later
    step of 1, or steps so long that c_i falls out of the range of numbers, leave only the recursion.
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
    """Return y^1 ... y^N as one cumulative sum, or step by step where the steps have no closed form; into `path` where given."""
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
    """Return y^0 ... y^N as weights on plays that stay what they are: y^i = Σ_{k≤i} c_i w_k a_k (+ c_i y^0)."""
    mixing = np.tril(np.multiply.outer(steps.scales, steps.weights))
    kept = steps.scales if steps.keeps_start else np.zeros(len(plays))
    return plays.mixed(np.vstack([np.zeros(len(plays)), mixing]), start, np.append(1.0, kept))


@dataclass(frozen=True)
class Single(Chain, kind="chains.Single"):
    """One copy, its play the prediction, feedback asked at the prediction itself: no boosting.

    Examples
    --------
    >>> Single().path(np.array([3.0]), np.array(0.0)).tolist()
    [3.0, 3.0]
    """

    gamma: float = 1.0

    def lengths(self, copies: int) -> Array:
        """One whole step."""
        return np.ones(copies)

    def check(self, copies: int) -> None:
        """One copy only."""
        if count("copies", copies) != 1:
            raise ValueError(f"copies must be 1 with the chain Single, got {copies}.")

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Stay at the play: y^0 = y^1 = a_1/γ, so that feedback is asked where the prediction is."""
        return np.concatenate([plays, plays])

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Lone()


@dataclass(frozen=True)
class Span(Chain, kind="chains.Span"):
    """Steps that add up, with learned shrinkage: y^i = Π((1 - σ_i η) y^{i-1} + η a_i).

    Where the convex hull of the plays is too small, their span may do: predictions are sums of plays, kept in the space by a
    projection. How much of what was reached is given up at step i is learned by gradient descent on its own linear loss:

        σ_i ← clip(σ_i + α ∇ℓ(y^{i-1})·y^{i-1}, 0, 1)

    Parameters
    ----------
    step
        η in [1/N, 1]; when not given, max(1/N, ln N / N), with which the bound's first term falls like
        N^(-1/W), W the norm of what is learned.
    rate
        The source's α_t = 1/(L B √t), for those who know L and B: ``Power(1 / (L * B), 0.5)``. When not given, the adaptive
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
        """The default, and the source's."""
        return (cls(), cls(step=0.5, rate=Power(0.1, 0.5)))

    def check(self, copies: int) -> None:
        """A step below 1/N could never cross the set."""
        super().check(copies)
        if self.step is not None and self.step * copies < 1 - 1e-12:
            raise ValueError(f"step must be at least 1/copies = {1 / copies:g}, got {self.step!r}.")

    def lengths(self, copies: int) -> Array:
        """Return η, N times."""
        step = max(1 / copies, float(np.log(copies)) / copies) if self.step is None else self.step
        return np.full(copies, step)

    def start(self, copies: int) -> Memory:
        """Nothing is given up yet."""
        return {"shrinkage": np.zeros(copies), "squares": np.zeros(copies)}

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy: a projection in between leaves no closed form."""
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
    """Steps that add up, and nothing is given up: y^i = Π(y^{i-1} + η_i a_i), as in gradient boosting offline.

    It suits learners that know when to stop: those that fit what is left over (`Tree`, ``SecondOrder(centre="zero")``), not those
    that run to the end of a ball. It is `Span` without shrinkage; no bound comes with it.

    Parameters
    ----------
    step
        η of every copy but the first: small steps let copies correct one another.
    first
        η of the first copy: 1 where it is one of its own kind that takes the bulk (`learners.Mixed`), else that of the others.

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
        """Equal steps, and a first that is whole."""
        return (cls(), cls(step=0.5, first=1.0))

    def lengths(self, copies: int) -> Array:
        """Return η_1, then η."""
        lengths = np.full(copies, self.step)
        lengths[0] = self.step if self.first is None else self.first
        return lengths

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy: a projection in between leaves no closed form."""
        return added_up(plays, start, self.lengths(len(plays)), np.ones(len(plays)), ground)

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Added(self.lengths(copies), start, ground)
