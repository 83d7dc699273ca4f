"""What a gradient part owes the loop: which points to ask about, and how the answers become gradients."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from banditboost.require import Array
from banditboost.spaces import Space
from banditboost.spec import Spec


class Probe(NamedTuple):
    """The questions of one round."""

    queries: Array
    """Points to ask about, shape (M, *shape)."""
    directions: Array
    """Unit vectors the answers are combined with, shape (M, *shape); empty where none are used."""
    draws: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    """Shape (M,): equal numbers mean that the world must answer with the same random sample."""


@dataclass(frozen=True)
class Gradient(Spec):
    """Turns questions at the anchors y^0 ... y^{N-1} into N gradients."""

    asks: ClassVar[Literal["values", "gradients"]]
    """What the world is asked for: one number per query, or one gradient per query."""
    noisy: ClassVar[bool] = True
    """Whether the answers may be blurred; exact gradients ask for the truth."""

    @property
    def reach(self) -> float:
        """How far from an anchor a query may lie (δ): what the set of plays is shrunk by."""
        return 0.0

    @abstractmethod
    def count(self, copies: int) -> int:
        """Return how many queries (M) a round with that many copies asks."""

    @abstractmethod
    def probe(self, anchors: Array, space: Space, rng: np.random.Generator) -> Probe:
        """Choose the round's queries."""

    @abstractmethod
    def estimate(self, answers: Array, probe: Probe, space: Space, copies: int) -> Array:
        """Turn M answers about a probe into N gradients, shape (N, *shape)."""
