"""What a round hands out between asking and being told."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from banditboost.gradients import Probe
from banditboost.require import Array


@dataclass(eq=False, slots=True)
class Ticket:
    """The questions of one round, and all that is needed to learn from the answers whenever they come."""

    prediction: Array
    """What the booster would do, shape (*shape)."""
    path: Array
    """The chain from its start to its end, shape (N+1, *shape)."""
    asks: str
    """What the answers must be: "values" (M numbers) or "gradients" (M arrays of the space's shape)."""
    context: Array | None = field(repr=False)
    raw: Array = field(repr=False)
    plays: Array = field(repr=False)
    probe: Probe = field(repr=False)
    """What was asked, as the gradient made it."""
    number: int = field(repr=False)
    owner: object = field(repr=False)

    @property
    def queries(self) -> Array:
        """The points to ask about, shape (M, *shape); large matrices come as a `Stack` of `spaces.stacks` in place of an array."""
        return self.probe.queries

    @property
    def draws(self) -> NDArray[np.int64]:
        """Shape (M,): queries with equal numbers must be answered with the same random sample."""
        return self.probe.draws
