"""The interface of every decision set."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from banditboost._core.checks import Array, number
from banditboost._core.forms import no_loop
from banditboost._core.spec import Spec

SIGN, ONE = np.array([-0.0, 1.0]).view(np.uint64)
"""The bit of a number's sign, and the bits of the number 1."""


@dataclass(frozen=True)
class Space(Spec):
    """A convex, bounded set of decisions.

    Every method is vectorised: points and gradients come as arrays whose last axes are `shape` and whose leading axes are free.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Shape of one decision; `()` for a single number."""

    @property
    @abstractmethod
    def inner_centre(self) -> Array:
        """A point in the relative interior, about which the set is shrunk."""

    @property
    @abstractmethod
    def inner_radius(self) -> float:
        """Radius of the largest ball around the centre within the set, measured in the set's affine hull."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """Largest Euclidean distance between two members (D)."""

    @abstractmethod
    def project(self, points: Array) -> Array:
        """Return the nearest members (Π)."""

    @abstractmethod
    def minimize(self, gradients: Array) -> Array:
        """Return, for each gradient g, a member x that minimises g·x: the linear oracle."""

    def project_kl(self, points: Array) -> Array:
        """Return, for each positive point z, the member y that minimises KL(y, z) = Σ y log(y/z) - y + z.

        By the generalised Pythagorean inequality this projection never raises the loss KL(label, ·) of a label in the set, just
        as the Euclidean projection never raises the squared distance.
        """
        raise NotImplementedError(
            f"The space {type(self).__name__} has no KL projection: use project, or a Simplex or Box."
        )

    @abstractmethod
    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Say for each point whether it is a member, up to the tolerance."""

    @abstractmethod
    def shrink(self, xi: float) -> Space:
        """Return c + (1-ξ)(Y - c) for the centre c, ξ in [0, 1)."""

    @cached_property
    def size(self) -> int:
        """Number of coordinates of one decision."""
        return math.prod(self.shape)

    @property
    def rank(self) -> int:
        """Dimension of the affine hull, which is the d of gradient estimates from a sphere."""
        return self.size

    @property
    def extents(self) -> Array:
        """How long the set is along each coordinate, shape (size,): units in which decisions are alike; the diameter for most."""
        return np.full(self.size, self.diameter)

    @property
    def bounds(self) -> tuple[Array, Array] | None:
        """The least and the greatest value of every coordinate, for sets that are made by those alone; None for others."""
        return None

    @property
    def farthest(self) -> float:
        """An upper bound on the norm of a member."""
        return float(np.linalg.norm(self.inner_centre)) + self.diameter

    @property
    def gaussian_width(self) -> float:
        """An upper bound on the mean of max_x p·x over members x, for p of independent standard normal coordinates.

        This default, D√d/2, holds for every set; the width of matrices of bounded trace is much smaller.
        """
        return self.diameter * math.sqrt(self.size) / 2

    def compiled_form(self) -> Any:
        """Return the typed tuple by which compiled loops know this space (`banditboost.extending`); None where there is none."""
        return None

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can decide in this space, as half a sentence; None where one can."""
        if self.compiled_form() is None:
            return f"there is no compiled loop for the space {type(self).__name__}"
        return no_loop("space", self)

    def tangent(self, vectors: Array) -> Array:
        """Return the parts of vectors that lie in the set's tangent space; a set with interior returns them unchanged."""
        return vectors

    def directions(self, rng: np.random.Generator, n: int) -> Array:
        """Draw n unit vectors uniformly from the unit sphere of the tangent space.

        Drawing n and then m gives the same vectors as drawing n + m, so that a compiled run may draw in blocks.
        """
        if self.size == 1:
            signs = rng.random(n)
            signs -= 0.5  # in place, as the next: fresh memory would take longer than the signs
            bits = signs.view(np.uint64)  # one that keeps the sign: `np.copysign` takes five times as long
            bits &= SIGN
            bits |= ONE
            return signs.reshape(n, *self.shape) if self.shape else signs
        vectors = self.tangent(rng.standard_normal((n, *self.shape)))
        norms = np.sqrt(np.square(vectors).reshape(n, -1).sum(axis=1))
        vectors = np.asarray(vectors / norms.reshape(n, *(1,) * len(self.shape)))
        # A draw that is nearly normal to the set has a short tangent part, and scaling it up scales up its round-off too.
        return self.tangent(vectors) if self.rank < self.size else vectors


def shrinkage(xi: float) -> float:
    """Check ξ, the fraction by which a set is shrunk."""
    xi = number("xi", xi)
    if not 0 <= xi < 1:
        raise ValueError(f"xi must lie in [0, 1), got {xi!r}.")
    return xi


def above_zero(points: Array) -> Array:
    """Check that the points of a KL projection are positive."""
    points = np.asarray(points, dtype=np.float64)
    if not (points > 0).all():
        raise ValueError(f"points must be positive for a KL projection, got {points.min():g}.")
    return points


def dots(left: Array, right: Array, ndim: int) -> Array:
    """Inner products over the last `ndim` axes, which are kept as ones so that the result scales either argument."""
    axes = tuple(range(-ndim, 0))
    return np.asarray((left * right).sum(axis=axes, keepdims=True)) if ndim else np.asarray(left * right)


def norms(points: Array, ndim: int) -> Array:
    """Euclidean norms over the last `ndim` axes, which are kept as ones."""
    return np.sqrt(dots(points, points, ndim))
