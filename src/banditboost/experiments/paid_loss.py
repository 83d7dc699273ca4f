"""The loss of boxes with unequal sides: the mean over coordinates of squared errors, each measured in units of its side.

A box and the unit cube are then one problem in two units: the same errors relative to the sides cost the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array
from banditboost.extending import implements, slope, value
from banditboost.losses import Constants, Loss
from banditboost.spaces import Space


class SidesForm(NamedTuple):
    """What the compiled loop knows of the loss: one weight a coordinate."""

    weights: Array


@implements(value, SidesForm)
def sides_value(loss: SidesForm, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    """Return Σ w_j (a_j - z_j)²."""
    total = 0.0
    for j in range(d):
        total += loss.weights[j] * (points[i, j] - labels[t, j]) ** 2
    return total


@implements(slope, SidesForm)
def sides_slope(loss: SidesForm, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    """Write 2 w_j (a_j - z_j)."""
    for j in range(d):
        out[i, j] = 2.0 * loss.weights[j] * (points[i, j] - labels[t, j])


@dataclass(frozen=True)
class Sides(Loss, kind="experiments.paid.Sides"):
    """The mean over coordinates of ((a_j - z_j) / side_j)².

    Examples
    --------
    >>> Sides((10.0, 4.0)).value([5.0, 2.0], [0.0, 0.0]).item(), Sides((1.0, 1.0)).value([0.5, 0.5], [0.0, 0.0]).item()
    (0.25, 0.25)
    """

    sides: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.sides or min(self.sides) <= 0:
            raise ValueError(f"sides must be positive, one for each coordinate, got {self.sides!r}.")

    @property
    def weights(self) -> Array:
        """The weight of every squared difference, 1 / (d · side²)."""
        return np.asarray(1 / (len(self.sides) * np.square(self.sides)))

    @property
    def translation_invariant(self) -> bool:
        """True."""
        return True

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return Σ w_j (a_j - z_j)²."""
        return np.asarray((self.weights * np.square(np.subtract(points, label))).sum(axis=-1))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return 2 w_j (a_j - z_j) for every coordinate."""
        return np.asarray(2 * self.weights * np.subtract(points, label))

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = βr, β = 2 max w and M = max w · r², where r is the largest distance of a query from a label."""
        r = min(1.0, 1 / gamma) * space.diameter + abs(1 / gamma - 1) * space.farthest + delta
        largest = float(self.weights.max())
        return Constants(2 * largest * r, 2 * largest, largest * r * r)

    def compiled_form(self) -> Any:
        """Return the weights."""
        return SidesForm(self.weights)
