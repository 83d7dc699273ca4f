"""Worlds without contexts: a convex loss in every round, with known constants and a computed best fixed decision."""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.noise import Noise
from banditboost.spaces import Space
from banditboost.worlds.base import World


class Best(NamedTuple):
    """The best fixed decision in hindsight."""

    point: Array
    """The decision."""
    losses: Array
    """Its loss in every round."""
    gap: float
    """Largest possible distance of the total loss above its true minimum; 0 where the decision is exact."""


class Convex(World):
    """A sequence of convex losses on a space.

    Parameters
    ----------
    space
        The set of decisions.
    noise, seed
        As for every world.
    """

    def __init__(self, space: Space, noise: Noise | None = None, seed: int = 0) -> None:
        super().__init__(noise, seed)
        self.space = space

    def context(self, t: int) -> None:
        """Return None: these rounds have no context."""
        return

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Lipschitz constant of the gradients (β)."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """Bound on the norm of true gradients over the space (L = G)."""

    @property
    @abstractmethod
    def bound(self) -> float:
        """Bound on the absolute value of a loss over the space (M)."""

    @property
    def sigma(self) -> float:
        """Bound on the norm of an answered gradient (σ): the true gradient plus noise in every coordinate."""
        return self.lipschitz + self.noise.bound * float(np.sqrt(self.space.size))

    @abstractmethod
    def best(self) -> Best:
        """Return the best fixed decision for the losses of all rounds."""
