"""A world that counts its queries."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Ticket
from banditboost.worlds.base import World


class CountingWorld(World):
    """Another world, with the number of loss values and gradients that it was asked for.

    Calls of the linear oracle and of the projection are counted by `banditboost.spaces.CountingSpace`.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = CountingWorld(bb.worlds.stationary(bb.spaces.Ball(2), rounds=10))
    >>> trace = bb.evaluate.progressive(bb.algorithms.projection_free(bb.spaces.Ball(2), horizon=10, copies=3), world)
    >>> world.gradient_calls, world.value_calls
    (30, 0)
    """

    def __init__(self, world: World) -> None:
        super().__init__(world.noise, world.seed)
        self.world = world
        self.gradient_calls = 0
        self.value_calls = 0

    def __len__(self) -> int:
        return len(self.world)

    def context(self, t: int) -> Array | None:
        """Return the wrapped world's context."""
        return self.world.context(t)

    def values(self, t: int, points: Array) -> Array:
        """Return the wrapped world's true losses, which are not counted."""
        return self.world.values(t, points)

    def gradients(self, t: int, points: Array) -> Array:
        """Return the wrapped world's true gradients, which are not counted."""
        return self.world.gradients(t, points)

    def begin(self) -> None:
        """Prepare the wrapped world for a run."""
        self.world.begin()

    def observe(self, t: int, prediction: Array) -> None:
        """Pass the prediction on to the wrapped world."""
        self.world.observe(t, prediction)

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Count the queries, and let the wrapped world answer them."""
        if ticket.asks == "values":
            self.value_calls += len(ticket.queries)
        else:
            self.gradient_calls += len(ticket.queries)
        return self.world.answer(t, ticket, noisy, rng)
