"""Steps that add up, with learned shrinkage: predictions from the span of the plays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from banditboost._core.checks import Array, number
from banditboost._core.spec import Memory
from banditboost.chains.base import Chain
from banditboost.rates import Power, Rate
from banditboost.spaces import Interval, Space
from banditboost.spaces.base import dots


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
    if plays.ndim == 1 and type(ground) is Interval:
        return _on_a_line(plays.tolist(), float(start), lengths.tolist(), kept.tolist(), ground)
    path = np.empty((len(plays) + 1, *plays.shape[1:]))
    path[0] = start
    for i in range(len(plays)):
        moved = kept[i] * path[i] + lengths[i] * plays[i]
        path[i + 1] = moved if ground is None else ground.project(moved)
    return path


def _on_a_line(plays: list[float], start: float, lengths: list[float], kept: list[float], ground: Interval) -> Array:
    """Do the same with single numbers, which take a twentieth of the time that arrays of one number take."""
    low, high, at, path = float(ground.low), float(ground.high), start, [start]
    for play, length, share in zip(plays, lengths, kept, strict=True):
        at = share * at + length * play
        at = low if at < low else high if at > high else at
        path.append(at)
    return np.array(path)
