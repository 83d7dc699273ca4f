"""The base of the worlds whose decisions are matrices: matrix completion, and covariance estimation under drift.

Where the queries are stored as factors (`banditboost.spaces.stacks`), the answers are too, so that no round has as many large
matrices in memory as there are copies.
"""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Ticket
from banditboost.noise import Silent
from banditboost.worlds.convex import Convex


class Matrices(Convex):
    """Base class of the worlds whose decisions are matrices."""

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer as every world does, but add no silent noise, because the sum of factors and an array would be an array."""
        return super().answer(t, ticket, noisy and not isinstance(self.noise, Silent), rng)
