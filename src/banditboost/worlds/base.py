"""The interface of every world: contexts, true losses, and noisy answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.forms import no_loop
from banditboost._core.shown import Shown
from banditboost.booster import Ticket
from banditboost.noise import Noise, Silent
from banditboost.spaces import Space


class WorldBlock(NamedTuple):
    """A block of T rounds, as the compiled loop reads it."""

    shown: Shown
    """The contexts."""
    labels: Array
    """What the loss compares with, shape (T, numbers of a label)."""
    loss: Any
    """The form of the loss."""


class World(ABC):
    """A sequence of rounds, each with a context (or none) and a convex loss that only the world knows.

    Parameters
    ----------
    noise
        Noise added to each answered number (each coordinate of an answered gradient); none by default.
    seed
        Seed of the world's own randomness; every run starts its random streams anew.
    """

    def __init__(self, noise: Noise | None = None, seed: int = 0) -> None:
        self.noise = Silent() if noise is None else noise
        self.seed = count("seed", seed, least=0)

    @abstractmethod
    def __len__(self) -> int:
        """Number of rounds."""

    @abstractmethod
    def context(self, t: int) -> Array | None:
        """Return the context of round t = 0, 1, ...; None where there is none."""

    @abstractmethod
    def values(self, t: int, points: Array) -> Array:
        """Return the true losses of points in round t."""

    @abstractmethod
    def gradients(self, t: int, points: Array) -> Array:
        """Return the true gradients at points in round t."""

    @property
    def features(self) -> int | None:
        """Length of a context; None where there is none."""
        return None

    def compiled_block(self, begin: int, end: int) -> WorldBlock:
        """Return what the compiled loop needs of rounds begin ... end-1."""
        raise TypeError(f"The world {type(self).__name__} has no compiled form.")

    def why_not_compiled(self, space: Space) -> str | None:
        """Return why no compiled loop can play this world with decisions in a space, as half a sentence; None where one can."""
        if type(self).compiled_block is World.compiled_block:
            return f"there is no compiled loop for the world {type(self).__name__}"
        return no_loop("world", self, "compiled_block")

    def begin(self) -> None:
        """Prepare for a run; a world that adapts to predictions forgets those of the last run."""
        return

    def observe(self, t: int, prediction: Array) -> None:
        """Receive the prediction of round t, to which a world may adapt from round t+1 on; most worlds do nothing."""
        return

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer the queries of a ticket with loss values or gradients, with noise where `noisy` is true."""
        truth = self.values(t, ticket.queries) if ticket.asks == "values" else self.gradients(t, ticket.queries)
        return truth + self.noise.sample(rng, truth.shape) if noisy else truth
