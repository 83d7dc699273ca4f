"""Two kinds of copies in one bank: the first copy of one kind, all others of another.

Idea: boosting may begin with something simple and strong, such as a linear model of the whole context, and go on with many weak
copies that correct it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from banditboost.learners.base import Bank, Learner
from banditboost.learners.fourier import Fourier
from banditboost.learners.second_order import SecondOrder
from banditboost.require import Array
from banditboost.spaces import Space


@dataclass(frozen=True)
class Joined(Learner):
    """A learner for the first copy, and one for the rest.

    Examples
    --------
    >>> from banditboost.learners.linear import Linear
    >>> from banditboost.rates import Constant
    >>> from banditboost.spaces import Interval
    >>> slow, quick = (Linear(rate=Constant(rate), intercept=False) for rate in (0.1, 0.5))
    >>> bank = Joined(slow, quick).start(3, Interval(-1, 1), 1, np.random.default_rng(0))
    >>> bank.update(np.array([1.0]), np.array([-1.0, -1.0, -2.0]), t=1)
    >>> bank.play(np.array([1.0])).tolist()
    [0.1, 0.5, 1.0]
    """

    first: Learner = field(default_factory=SecondOrder)
    rest: Learner = field(default_factory=lambda: Fourier(shared=False, raw=False))

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("first", "rest"):
            part = getattr(self, name)
            if not isinstance(part, Learner) or not part.contextual:
                raise ValueError(f"{name} must be a learner that looks at contexts, got {part!r}.")

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> JoinedBank:
        """Start both; a single copy is of the first kind."""
        first = self.first.start(1, space, features, rng)
        return JoinedBank(first, self.rest.start(copies - 1, space, features, rng) if copies > 1 else None)


class JoinedBank(Bank):
    """A bank of one copy, and a bank of the others where there are any."""

    def __init__(self, first: Bank, rest: Bank | None) -> None:
        self.first, self.rest = first, rest

    def play(self, context: Array | None) -> Array:
        """Return the plays of all copies, in order."""
        first = self.first.play(context)
        return first if self.rest is None else np.concatenate([first, self.rest.play(context)])

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Give every copy its own linear loss."""
        self.first.update(context, gradients[:1], t)
        if self.rest is not None:
            self.rest.update(context, gradients[1:], t)

    def arrays(self) -> dict[str, Array]:
        """Return both states."""
        named = {f"first.{name}": array for name, array in self.first.arrays().items()}
        if self.rest is not None:
            named |= {f"rest.{name}": array for name, array in self.rest.arrays().items()}
        return named
