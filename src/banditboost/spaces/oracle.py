"""A user's own set, defined by a function that minimises linear losses over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from banditboost._core.checks import Array, finite, positive
from banditboost.spaces.base import Space, norms
from banditboost.spaces.shrunk import Shrunk


@dataclass(frozen=True)
class Oracle(Space, kind="spaces.Oracle"):
    """The set over which `oracle` minimises; projection-free algorithms need nothing else.

    The functions take and return arrays of shape (n, *shape), n decisions at a time. A spec can be saved if its functions are
    defined at the top of a module; a lambda works, but cannot be saved.

    Parameters
    ----------
    oracle
        Maps gradients (n, *shape) to members (n, *shape), each of which minimises g·x.
    centre
        A point in the relative interior, which also defines the shape of decisions.
    inner_radius
        Radius of a ball about the centre, within the set's affine hull, that lies in the set.
    diameter
        Largest distance of two members, or an upper bound on it.
    projection
        Maps points to the nearest members, both of shape (n, *shape). Without it `project` raises an error.
    membership
        Maps points (n, *shape) and a tolerance to booleans (n,). Without it a point is a member if its projection is near.
    normals
        Vectors along which no two members differ, shape (k, *shape); they span the complement of the tangent space. A set with
        interior has none.

    Examples
    --------
    >>> def cube(gradients):
    ...     return np.where(gradients > 0, 0.0, 1.0)
    >>> space = Oracle(cube, centre=(0.5, 0.5), inner_radius=0.5, diameter=2**0.5)
    >>> space.minimize(np.array([3.0, -2.0])).tolist()
    [0.0, 1.0]
    >>> space.project(np.array([3.0, -2.0]))
    Traceback (most recent call last):
        ...
    NotImplementedError: This Oracle has no projection: pass projection=..., or use an algorithm that needs none.
    """

    oracle: Callable[[Array], Array]
    centre: float | tuple[Any, ...] = ()
    inner_radius: float = 0.0
    diameter: float = 0.0
    projection: Callable[[Array], Array] | None = None
    membership: Callable[[Array, float], Any] | None = None
    normals: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        for name in ("oracle", "projection", "membership"):
            value = getattr(self, name)
            if not callable(value) and (value is not None or name == "oracle"):
                raise ValueError(f"{name} must be a function, got {value!r}.")
        centre = finite("centre", self.centre)
        if centre.size == 0:
            raise ValueError(f"centre must be a point in the set, got {self.centre!r}.")
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "inner_radius", positive("inner_radius", self.inner_radius))
        object.__setattr__(self, "diameter", positive("diameter", self.diameter))
        if self.diameter < 2 * self.inner_radius * (1 - 1e-9):
            raise ValueError(f"diameter must be at least twice the inner_radius, got {self.diameter!r}.")
        normals = finite("normals", self.normals, (len(self.normals), *centre.shape) if len(self.normals) else None)
        object.__setattr__(self, "normals", normals)
        super().__post_init__()
        if self.rank < 1:
            raise ValueError(
                f"normals must leave a direction to move in, got {len(self.normals)} that span everything."
            )

    @classmethod
    def examples(cls) -> tuple[Oracle, ...]:
        """Give a disc with all functions, and a triangle in space with an oracle and a projection only."""
        disc = cls(_disc_oracle, (0.0, 0.0), 1.0, 2.0, _disc_projection, _disc_membership)
        third = 1 / 3
        triangle = cls(
            _triangle_oracle,
            (third, third, third),
            6**-0.5,
            2**0.5,
            _triangle_projection,
            normals=((1.0, 1.0, 1.0),),
        )
        return (disc, triangle)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the centre."""
        return np.shape(self.centre)

    @property
    def rank(self) -> int:
        """The number of coordinates minus the number of independent normals."""
        return self.size - len(self._complement)

    @property
    def inner_centre(self) -> Array:
        """The centre that was given."""
        return np.array(self.centre, dtype=np.float64)

    def tangent(self, vectors: Array) -> Array:
        """Remove the parts along the normals."""
        vectors = np.asarray(vectors, dtype=np.float64)
        # One normal at a time, element by element, so that round-off does not depend on how many vectors are drawn at once.
        for normal in self._complement:
            axes = tuple(range(-normal.ndim, 0))
            vectors = vectors - (vectors * normal).sum(axis=axes, keepdims=True) * normal
        return vectors

    def project(self, points: Array) -> Array:
        """Call the given projection; the result is as exact as that function."""
        if self.projection is None:
            raise NotImplementedError(
                "This Oracle has no projection: pass projection=..., or use an algorithm that needs none."
            )
        return self._ask("projection", self.projection, points)

    def minimize(self, gradients: Array) -> Array:
        """Call the given oracle."""
        return self._ask("oracle", self.oracle, gradients)

    def contains(self, points: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Call the membership function, or test whether the projection moves a point by at most the tolerance."""
        points = np.asarray(points, dtype=np.float64)
        leading = points.shape[: points.ndim - len(self.shape)]
        if self.membership is not None:
            answers = np.asarray(self.membership(points.reshape(-1, *self.shape), tolerance), dtype=bool)
            return answers.reshape(leading)
        if self.projection is None:
            raise NotImplementedError("This Oracle cannot test membership: pass membership=... or projection=....")
        return np.asarray(norms(self.project(points) - points, len(self.shape)).reshape(leading) <= tolerance)

    def shrink(self, xi: float) -> Shrunk:
        """Return the set shrunk about its centre."""
        return Shrunk(self, xi)

    @cached_property
    def _complement(self) -> Array:
        """Orthonormal vectors, of decision shape, that span the normals."""
        rows = np.array(self.normals, dtype=np.float64).reshape(len(self.normals), self.size)
        if not len(rows):
            return rows.reshape(0, *self.shape)
        _, lengths, basis = np.linalg.svd(rows, full_matrices=False)
        return np.asarray(basis[lengths > 1e-10 * lengths[0]]).reshape(-1, *self.shape)

    def _ask(self, name: str, function: Callable[[Array], Array], points: Array) -> Array:
        points = np.asarray(points, dtype=np.float64)
        rows = points.reshape(-1, *self.shape)
        return finite(f"What {name} returns", function(rows), rows.shape).reshape(points.shape)


def _disc_oracle(gradients: Array) -> Array:
    lengths = norms(gradients, 1)
    return -np.divide(gradients, lengths, out=np.zeros_like(gradients), where=lengths > 0)


def _disc_projection(points: Array) -> Array:
    return points / np.maximum(norms(points, 1), 1.0)


def _disc_membership(points: Array, tolerance: float) -> Any:
    return norms(points, 1)[:, 0] <= 1 + tolerance


def _triangle_oracle(gradients: Array) -> Array:
    return np.asarray(np.eye(3)[np.argmin(gradients, axis=1)])


def _triangle_projection(points: Array) -> Array:
    from banditboost.spaces.simplex import Simplex

    return Simplex(3).project(points)
