"""The interface of every critic: a model of the loss as a function of context and decision, learned from earlier rounds.

A critic is a spec, and what it has learned is a memory of arrays that it changes in place. Decisions are numbers on an interval.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import ArrayLike

from banditboost._core.checks import Array
from banditboost._core.spec import Memory, Spec
from banditboost.critics.suspicion import Suspicion
from banditboost.losses import Loss
from banditboost.spaces import Interval, Space


@dataclass(frozen=True)
class Critic(Spec):
    """Learns what decisions cost in a context, and says which is best and how sure it is.

    Looking changes nothing: `learn` alone changes a memory. A context is None where there are none.
    """

    loss: ClassVar[Loss]
    """A loss that this critic understands, for the generic checks, which play a round with it."""

    def check(self, space: Space) -> None:
        """Raise an error where decisions in a space are not what this critic is about."""
        if not isinstance(space, Interval):
            raise ValueError(f"space must be an Interval for the critic {type(self).__name__}, got {space!r:.200}.")

    def suspicion(self) -> Suspicion | None:
        """Return what looks out for losses that cannot be what this critic is about; None where any may be."""
        return None

    @abstractmethod
    def n_floats(self, features: int) -> int:
        """Return how many numbers the memory has, before it is made."""

    @abstractmethod
    def start(self, features: int, space: Space) -> Memory:
        """Return the memory before the first round."""

    @abstractmethod
    def curve(self, memory: Memory, context: Array | None, points: ArrayLike) -> Array:
        """Return the expected loss of each decision."""

    @abstractmethod
    def slope(self, memory: Memory, context: Array | None, points: ArrayLike) -> Array:
        """Return the derivative of the expected loss at each decision."""

    @abstractmethod
    def best(self, memory: Memory, context: Array | None, space: Interval) -> float:
        """Return the decision of the least expected loss in a space."""

    @abstractmethod
    def uncertainty(self, memory: Memory, context: Array | None, space: Interval) -> float:
        """Return the standard deviation of the best decision in a space, as far as the critic doubts it."""

    @abstractmethod
    def scale(self, memory: Memory, context: Array | None) -> float:
        """Return a change of the decision that changes what happens by a noticeable part: the unit of careful steps."""

    @abstractmethod
    def learn(self, memory: Memory, context: Array | None, point: float, loss: float) -> None:
        """Learn from the loss of one decision."""
