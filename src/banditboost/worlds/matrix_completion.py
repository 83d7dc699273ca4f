"""Online matrix completion: every round shows a few entries of a matrix of low rank."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, at_least_zero, count, finite
from banditboost._core.streams import stream
from banditboost.noise import Noise
from banditboost.spaces import NuclearBall
from banditboost.spaces.stacks import Entries, Factored
from banditboost.worlds.convex import Best
from banditboost.worlds.matrices import Matrices

ITERATIONS = 5000
"""Largest number of steps in the search for the best fixed matrix; its gap says how exact the result is."""
ACCURACY = 1e-7
"""The search for the best fixed matrix stops at this gap, relative to the loss of the zero matrix."""


class MatrixCompletion(Matrices):
    """The losses ℓ_t(X) = 1/(2b) Σ_j (X[i_j, k_j] - y_j)²: every round concerns b entries of a matrix.

    Gradients have at most b entries that are not zero. An entry may occur more than once in a round.

    Parameters
    ----------
    space
        The set of decisions.
    rows, columns
        Indices of the entries in each round, whole numbers of shape (T, b).
    observed
        Observed values y_j of these entries, shape (T, b).
    noise, seed
        As for every world; `noise` is added to all coordinates of a gradient.

    Examples
    --------
    >>> world = MatrixCompletion(NuclearBall(2, 2, 3.0), [[0, 1]], [[0, 1]], [[2.0, 1.0]])
    >>> world.values(0, np.eye(2)).item(), world.gradients(0, np.eye(2)).tolist()
    (0.25, [[-0.5, 0.0], [0.0, 0.0]])
    >>> best = world.best()
    >>> best.point.round(3).tolist(), bool(best.gap < 1e-6)
    ([[2.0, 0.0], [0.0, 1.0]], True)
    """

    space: NuclearBall

    def __init__(
        self,
        space: NuclearBall,
        rows: ArrayLike,
        columns: ArrayLike,
        observed: ArrayLike,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(space, noise, seed)
        self.observed = finite("observed", observed)
        if self.observed.ndim != 2 or self.observed.size == 0:
            raise ValueError(f"observed must have shape (rounds, entries), got {self.observed.shape}.")
        self.rows = _places("rows", rows, self.observed.shape, space.rows)
        self.columns = _places("columns", columns, self.observed.shape, space.columns)
        codes = np.sort(self.rows * space.columns + self.columns, axis=1)
        # The count of each round's most frequent entry is the squared norm of the map X ↦ (X[i_j, k_j])_j.
        self._repeats = np.array([np.unique(row, return_counts=True)[1].max() for row in codes], dtype=np.float64)
        self._lengths = np.linalg.norm(self.observed, axis=1)

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def batch(self) -> int:
        """Number of entries in a round (b)."""
        return int(self.observed.shape[1])

    @property
    def smoothness(self) -> float:
        """The constant q/b, where q is the largest count of an entry in a round."""
        return float(self._repeats.max() / self.batch)

    @property
    def lipschitz(self) -> float:
        """Largest √q (√q r + ‖y_t‖)/b, since ‖X‖ <= r in the ball."""
        root = np.sqrt(self._repeats)
        return float((root * (root * self.space.radius + self._lengths)).max() / self.batch)

    @property
    def bound(self) -> float:
        """Largest (√q r + ‖y_t‖)²/(2b)."""
        return float(np.square(np.sqrt(self._repeats) * self.space.radius + self._lengths).max() / (2 * self.batch))

    def values(self, t: int, points: Array) -> Array:
        """Return half the mean squared error on the round's entries."""
        return np.asarray(np.square(self._errors(t, points)).mean(axis=-1) / 2)

    def gradients(self, t: int, points: Array) -> Array:
        """Return matrices with the errors divided by b at the round's entries, and zero elsewhere."""
        errors = (self._errors(t, points) / self.batch).reshape(-1, self.batch)
        answers = Entries((len(errors), *self.space.shape), self.rows[t], self.columns[t], errors)
        return answers.array() if isinstance(points, Factored) else np.asarray(answers).reshape(points.shape)

    def _errors(self, t: int, points: Array) -> Array:
        places = self.rows[t], self.columns[t]
        return np.asarray(
            (points.entries(*places) if isinstance(points, Factored) else points[..., *places]) - self.observed[t]
        )

    def best(self) -> Best:
        """Return the best fixed matrix, with a certified gap.

        The method is accelerated projected gradient descent (Beck, Teboulle 2009, FISTA), restarted where the momentum points
        uphill (O'Donoghue, Candès 2015, gradient scheme). Each step needs a full decomposition, which suits matrices of some
        hundred rows. The gap is that of Frank and Wolfe, max_Z ∇F(X)·(X - Z) = ∇F(X)·X + r‖∇F(X)‖ with the spectral norm: an
        upper bound on the distance from the minimum.
        """
        weights, sums = np.zeros(self.space.shape), np.zeros(self.space.shape)
        np.add.at(weights, (self.rows, self.columns), 1 / self.batch)
        np.add.at(sums, (self.rows, self.columns), self.observed / self.batch)
        enough = ACCURACY * float(np.square(self.observed).sum()) / (2 * self.batch)
        rate = 1 / float(weights.max())
        here = ahead = np.zeros(self.space.shape)
        momentum, gap = 1.0, math.inf
        for k in range(ITERATIONS):
            if k % 10 == 0:
                slope = weights * here - sums
                gap = float((slope * here).sum() + self.space.radius * np.linalg.norm(slope, 2))
                if gap <= enough:
                    break
            following = self.space.project(ahead - rate * (weights * ahead - sums))
            if float(((ahead - following) * (following - here)).sum()) > 0:
                momentum = 1.0  # the momentum points uphill, so it is dropped
            grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = following + (momentum - 1) / grown * (following - here)
            here, momentum = following, grown
        errors = here[self.rows, self.columns] - self.observed
        return Best(here, np.asarray(np.square(errors).mean(axis=1) / 2), max(gap, 0.0))


def ratings(
    rounds: int = 1000,
    rows: int = 60,
    columns: int = 40,
    rank: int = 3,
    batch: int = 50,
    spread: float = 0.1,
    noise: Noise | None = None,
    seed: int = 0,
) -> MatrixCompletion:
    """Make a table of low rank, of which every round shows a few random entries with noise of at most `spread`.

    Entries of the table have variance 1, and the radius of the ball is the table's own nuclear norm.

    Examples
    --------
    >>> world = ratings(rounds=10, rows=8, columns=5, rank=2, batch=4)
    >>> world.observed.shape, world.space.shape
    ((10, 4), (8, 5))
    """
    rng = stream(seed, "world")
    shape = (count("rounds", rounds), count("batch", batch))
    left = rng.standard_normal((count("rows", rows), count("rank", rank))) / math.sqrt(rank)
    right = rng.standard_normal((count("columns", columns), rank))
    # The singular values of L R' are those of the small product of triangles.
    radius = float(np.linalg.norm(np.linalg.qr(left).R @ np.linalg.qr(right).R.T, "nuc"))
    places = rng.integers(rows, size=shape), rng.integers(columns, size=shape)
    truth = (left[places[0]] * right[places[1]]).sum(axis=-1)
    observed = truth + at_least_zero("spread", spread) * rng.uniform(-1, 1, shape)
    return MatrixCompletion(NuclearBall(rows, columns, radius), *places, observed, noise, seed)


def _places(
    name: str, values: ArrayLike, shape: tuple[int, ...], below: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    places = finite(name, values, shape)
    wrong = places[(places != np.floor(places)) | (places < 0) | (places >= below)]
    if wrong.size:
        raise ValueError(f"{name} must be whole numbers from 0 to {below - 1}, got {wrong[0]:g}.")
    return places.astype(np.intp)
