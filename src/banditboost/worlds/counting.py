"""A world that counts what is asked of it."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Ticket
from banditboost.worlds.base import World


class CountingWorld(World):
    """Any other world, and how many loss values and gradients it was asked for: what feedback costs.

    Linear-oracle calls and projections are counted by `banditboost.spaces.CountingSpace`.

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
        """As in the world within."""
        return self.world.context(t)

    def values(self, t: int, points: Array) -> Array:
        """As in the world within; looking at true losses is free."""
        return self.world.values(t, points)

    def gradients(self, t: int, points: Array) -> Array:
        """As in the world within."""
        return self.world.gradients(t, points)

    def begin(self) -> None:
        """Pass on."""
        self.world.begin()

    def observe(self, t: int, prediction: Array) -> None:
        """Pass on."""
        self.world.observe(t, prediction)

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Count the queries, then pass them on."""
        if ticket.asks == "values":
            self.value_calls += len(ticket.queries)
        else:
            self.gradient_calls += len(ticket.queries)
        return self.world.answer(t, ticket, noisy, rng)
