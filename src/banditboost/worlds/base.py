"""What a world owes a run: contexts, true losses, and blurred answers."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.booster import Ticket
from banditboost.noise import Noise, Silent


class World(ABC):
    """A sequence of rounds, each with a context (or none) and a convex loss that only the world sees.

    Parameters
    ----------
    noise
        What blurs each answered number (each coordinate of an answered gradient).
    seed
        Makes the world's own randomness reproducible; every run starts its streams anew.
    """

    def __init__(self, noise: Noise | None = None, seed: int = 0) -> None:
        self.noise = Silent() if noise is None else noise
        self.seed = count("seed", seed, least=0)

    @abstractmethod
    def __len__(self) -> int:
        """How many rounds there are."""

    @abstractmethod
    def context(self, t: int) -> Array | None:
        """Return the context of round t = 0, 1, ...; None where there is none."""

    @abstractmethod
    def values(self, t: int, points: Array) -> Array:
        """Return the true losses of points in round t."""

    @abstractmethod
    def gradients(self, t: int, points: Array) -> Array:
        """Return the true gradients at points in round t."""

    def begin(self) -> None:
        """Start a run: a world that adapts forgets what it saw in the last one."""
        return

    def observe(self, t: int, prediction: Array) -> None:
        """See what was predicted in round t: a world may adapt to it from round t+1 on. Most do not."""
        return

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer a ticket as it asks: values or gradients, blurred where the question allows it."""
        truth = self.values(t, ticket.queries) if ticket.asks == "values" else self.gradients(t, ticket.queries)
        return truth + self.noise.sample(rng, truth.shape) if noisy else truth
