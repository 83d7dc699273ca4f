"""Step-size schedules, as functions of the number of rounds whose answers have been learned from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, at_least_zero, positive
from banditboost._core.spec import Spec

__all__ = ["Constant", "Power", "Rate", "Theory"]


@dataclass(frozen=True)
class Rate(Spec):
    """A schedule: `rate.at(t)` is the step of round t = 1, 2, ...; t may be an array."""

    @abstractmethod
    def at(self, t: Array | float) -> Array:
        """Return the step sizes of rounds t."""

    def step(self, t: int) -> float:
        """Return the step size of one round."""
        return float(self.at(t))


@dataclass(frozen=True)
class Constant(Rate, kind="rates.Constant"):
    """The same step every round.

    Examples
    --------
    >>> Constant(0.5).at(np.arange(1.0, 4.0)).tolist()
    [0.5, 0.5, 0.5]
    """

    scale: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("scale", self.scale)

    def at(self, t: Array | float) -> Array:
        """Return the same step size for every round."""
        return np.full(np.shape(t), self.scale)


@dataclass(frozen=True)
class Power(Rate, kind="rates.Power"):
    """The step `scale` · t^-`power` in round t; the paper's experiments tune both numbers (lr and c).

    Examples
    --------
    >>> Power(0.1, 0.5).at(np.array([1.0, 4.0, 100.0])).round(6).tolist()
    [0.1, 0.05, 0.01]
    """

    scale: float = 0.1
    power: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("scale", self.scale)
        at_least_zero("power", self.power)

    def at(self, t: Array | float) -> Array:
        """Return scale · t^-power."""
        return self.scale * np.power(t, -self.power, dtype=np.float64)

    def step(self, t: int) -> float:
        """Return scale · t^-power in Python's own arithmetic, which is faster for one number."""
        return float(self.scale * t**-self.power)


@dataclass(frozen=True)
class Theory(Rate, kind="rates.Theory"):
    """The step D / (G √t) in round t, for which online gradient descent has regret at most (3/2) G D √T at every T.

    `diameter` (D) is that of the set of weights, which is 2R for a ball of radius R. `gradient_bound` (G) bounds the norm of the
    gradients with respect to the weights: the bound σ on the linear losses times the largest norm of a context.

    References
    ----------
    Zinkevich (2003), Theorem 1; Hazan, *Introduction to Online Convex Optimization*, Theorem 3.1.

    Examples
    --------
    >>> Theory(diameter=2.0, gradient_bound=4.0).at(4.0).item()
    0.25
    """

    diameter: float = 2.0
    gradient_bound: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("diameter", self.diameter)
        positive("gradient_bound", self.gradient_bound)

    def at(self, t: Array | float) -> Array:
        """Return D / (G √t)."""
        return self.diameter / (self.gradient_bound * np.sqrt(np.asarray(t, dtype=np.float64)))
