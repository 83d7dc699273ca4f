"""Steps that add up, as in gradient boosting on a fixed data set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from banditboost._core.checks import Array, number
from banditboost._core.spec import Memory
from banditboost.chains.base import Chain
from banditboost.chains.span import added_up
from banditboost.spaces import Space


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
