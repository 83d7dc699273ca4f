"""Gaussian matrices of which no more is drawn than products with vectors show.

A search for a leader sees a perturbation Z through a few dozen products Zq alone, and a Gaussian matrix has the same law in every
orthonormal basis: what is known after some products says nothing about the rest, so that the rest can wait. With orthonormal q_1,
..., q_k of which the products are known, and a unit vector q that is orthogonal to them, where Z has independent standard normal
entries and p_1, ... are those of which Z'p is known,

    Zq  =  Σ_i p_i (Z'p_i · q)  +  (a standard normal vector, less its parts along all p_i),

and Z'p likewise. The symmetric part S = (Z + Z')/2 has variance 1 on and 1/2 off the diagonal, in every orthonormal basis, hence

    Sq  =  Σ_i q_i (Sq_i · q)  +  (a standard normal vector over √2, less its parts along all q_i; that along q times √2).

A product costs 2k products of vectors and n normal numbers instead of a share in n² of them, and the law is exactly the same,
whatever the q depend on that is known when they are chosen. (Bolthausen 2014, "An iterative construction of solutions of the TAP
equations", conditions on products in the same way.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.spaces.sums import Indices, Sums

SEEN = 1e-7
"""A vector whose part outside all directions known is shorter than this, over its own length, lies within them."""
ORTHOGONAL = 1e-13
"""Shares of a vector that are smaller than this, over its length, are rounding."""
FIRST = 64
"""Directions for which there is room at first."""


class Directions:
    """Orthonormal vectors, and what a matrix made of them."""

    def __init__(self, length: int, images: int) -> None:
        self.count = 0
        self._vectors, self._images = np.empty((FIRST, length)), np.empty((FIRST, images))

    @property
    def vectors(self) -> Array:
        """Shape (k, length)."""
        return self._vectors[: self.count]

    @property
    def images(self) -> Array:
        """Their products, shape (k, images)."""
        return self._images[: self.count]

    def split(self, vector: Array) -> tuple[Array, Array, float]:
        """Return a vector's shares of the directions known, the unit vector of the rest, and the length of that.

        The length is zero where nothing but rounding is left.
        """
        shares, rest, length = np.zeros(self.count), vector, float(np.linalg.norm(vector))
        for _ in range(2):  # once leaves too much where the rest is short
            more = self.vectors @ rest
            if np.abs(more).max(initial=0.0) <= ORTHOGONAL * length:  # as vectors of a Krylov basis are
                break
            shares, rest = shares + more, rest - more @ self.vectors
        left = float(np.linalg.norm(rest))
        return (shares, rest / left, left) if left > SEEN * length else (shares, rest, 0.0)

    def add(self, vector: Array, image: Array) -> None:
        """Take a new direction, with its product, among those known."""
        if self.count == len(self._vectors):
            self._vectors, self._images = (
                np.concatenate([known, np.empty_like(known)]) for known in (self._vectors, self._images)
            )
        self._vectors[self.count], self._images[self.count] = vector, image
        self.count += 1


class Unseen(ABC):
    """A Gaussian matrix, whose entries are drawn when products show them."""

    def __init__(self, shape: tuple[int, ...], rng: np.random.Generator) -> None:
        # A stream of its own: how many numbers a search needs is decided by rounding, too, and must not move other streams.
        self.rng = np.random.Generator(np.random.PCG64(rng.integers(2**64, size=2, dtype=np.uint64)))
        self.shape = shape
        self.right = Directions(shape[1], shape[0])

    def apply(self, vector: Array) -> Array:
        """Return Zv."""
        return self._product(vector, self.right, self._image)

    @abstractmethod
    def apply_transposed(self, vector: Array) -> Array:
        """Return Z'u."""

    @abstractmethod
    def _image(self, unit: Array) -> Array:
        """Draw the product with a unit vector that is orthogonal to all directions known."""

    @staticmethod
    def _product(vector: Array, known: Directions, draw: Any) -> Array:
        shares, unit, length = known.split(vector)
        old = shares @ known.images if shares.any() else 0.0
        if length == 0:
            return np.asarray(old + np.zeros(known.images.shape[1]))
        image = draw(unit)
        known.add(unit, image)
        return np.asarray(old + length * image)


class RectangularUnseen(Unseen):
    """Independent standard normal entries."""

    def __init__(self, shape: tuple[int, ...], rng: np.random.Generator) -> None:
        super().__init__(shape, rng)
        self.left = Directions(*shape)

    def apply_transposed(self, vector: Array) -> Array:
        """Return Z'u."""
        return self._product(vector, self.left, lambda unit: self._drawn(unit, self.right))

    def _image(self, unit: Array) -> Array:
        return self._drawn(unit, self.left)

    def _drawn(self, unit: Array, across: Directions) -> Array:
        """Draw a product, of which the parts along the directions that were known on the other side are known."""
        normal = self.rng.standard_normal(across.vectors.shape[1])
        return np.asarray(normal + (across.images @ unit - across.vectors @ normal) @ across.vectors)


class SymmetricUnseen(Unseen):
    """The symmetric part of such a matrix."""

    def apply_transposed(self, vector: Array) -> Array:
        """Return Z'u, which is Zu."""
        return self.apply(vector)

    def _image(self, unit: Array) -> Array:
        known = self.right
        normal = self.rng.standard_normal(len(unit)) / np.sqrt(2.0)
        normal += (np.sqrt(2.0) - 1.0) * float(unit @ normal) * unit
        return np.asarray(normal + (known.images @ unit - known.vectors @ normal) @ known.vectors)


class Perturbed:
    """One of several sums, with a multiple of a Gaussian matrix added to it that is drawn as far as it is seen."""

    def __init__(self, sums: Sums, scale: float, noise: Unseen) -> None:
        self.sums, self.noise, self.scale = sums, noise, scale / float(sums.unit)

    @property
    def unit(self) -> Array:
        """What products are to be multiplied by."""
        return self.sums.unit

    def apply(self, vectors: Array, which: Indices) -> Array:
        """Return the product of the sum with a vector, shape (1, n): `which` names the sum."""
        return self.sums.apply(vectors, which) + self.scale * self.noise.apply(vectors[0])

    def apply_transposed(self, vectors: Array, which: Indices) -> Array:
        """Return the product of the transposed sum."""
        return self.sums.apply_transposed(vectors, which) + self.scale * self.noise.apply_transposed(vectors[0])

    def matrix(self, i: int) -> Array:
        """Return the sum as an array, for which all that was not drawn yet is drawn."""
        noise = np.array([self.noise.apply(row) for row in np.eye(self.noise.shape[1])]).T
        return np.asarray(self.sums.matrix(i) + float(self.unit) * self.scale * noise)
