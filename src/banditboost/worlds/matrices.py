"""Worlds whose decisions are matrices: online matrix completion, and covariance estimation under drift.

Where the queries are stored as factors (`banditboost.spaces.stacks`), the answers are too, so that no round has as many large
matrices in memory as there are copies.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, at_least_zero, between, count, finite, number
from banditboost._core.streams import stream
from banditboost.booster import Ticket
from banditboost.noise import Noise, Silent
from banditboost.spaces import NuclearBall, Spectrahedron
from banditboost.spaces.stacks import Entries, Factored
from banditboost.worlds.convex import Best, Convex

ITERATIONS = 5000
"""Largest number of steps in the search for the best fixed matrix; its gap says how exact the result is."""
ACCURACY = 1e-7
"""The search for the best fixed matrix stops at this gap, relative to the loss of the zero matrix."""


class Matrices(Convex):
    """Base class of the worlds whose decisions are matrices."""

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer as every world does, but add no silent noise, because the sum of factors and an array would be an array."""
        return super().answer(t, ticket, noisy and not isinstance(self.noise, Silent), rng)


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


class Covariance(Matrices):
    """The losses ℓ_t(X) = ½‖X - S_t‖² for sample covariances S_t = F_t' F_t of low rank, which are stored as F_t.

    Parameters
    ----------
    space
        The set of decisions, which also contains the targets S_t.
    factors
        F_t, shape (T, k, n): k samples per round as rows, scaled so that S_t is in the set, that is, that all squares sum to
        the set's trace (or less, where the trace is only bounded).
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = Covariance(Spectrahedron(2), [[[1.0, 0.0]], [[0.6, 0.8]]])
    >>> world.best().point.round(3).tolist(), world.values(0, np.eye(2) / 2).item()
    ([[0.68, 0.24], [0.24, 0.32]], 0.25)
    """

    space: Spectrahedron

    def __init__(self, space: Spectrahedron, factors: ArrayLike, noise: Noise | None = None, seed: int = 0) -> None:
        super().__init__(space, noise, seed)
        self.factors = finite("factors", factors)
        if self.factors.ndim != 3 or self.factors.shape[2] != space.n or self.factors.size == 0:
            raise ValueError(f"factors must have shape (rounds, samples, {space.n}), got {self.factors.shape}.")
        above = np.square(self.factors).sum(axis=(1, 2)) - space.trace
        if ((np.abs(above) if space.fixed else above) > 1e-9 * space.trace).any():
            raise ValueError(
                f"factors must have squares that sum to {'' if space.fixed else 'at most '}{space.trace:g} in every round, "
                f"got {space.trace + above[np.argmax(np.abs(above))]:g}."
            )

    def __len__(self) -> int:
        return len(self.factors)

    @property
    def smoothness(self) -> float:
        """The constant 1."""
        return 1.0

    @property
    def lipschitz(self) -> float:
        """The diameter of the set, since the targets are in the set."""
        return self.space.diameter

    @property
    def bound(self) -> float:
        """Half the square of the diameter."""
        return 0.5 * self.space.diameter**2

    def values(self, t: int, points: Array) -> Array:
        """Return ½‖X - S_t‖², one matrix at a time where they are stored as factors."""
        away = self.gradients(t, points)
        if isinstance(away, Factored):
            return np.array([0.5 * np.vdot(matrix, matrix) for matrix in away])
        return np.asarray(0.5 * np.square(away).sum(axis=(-2, -1)))

    def gradients(self, t: int, points: Array) -> Array:
        """Return X - S_t."""
        factor = self.factors[t]
        if isinstance(points, Factored):
            return points.plus(factor, factor, -1.0).array()
        return np.asarray(points - factor.T @ factor)

    def best(self) -> Best:
        """Return the mean of the targets, which is exact, since it is in the set and minimises the quadratic total."""
        samples = self.factors.reshape(-1, self.space.n)
        point = samples.T @ samples / len(self)
        point = (point + point.T) / 2
        return Best(point, np.array([self.values(t, point).item() for t in range(len(self))]), 0.0)


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


def drifting_covariance(
    n: int = 50,
    rounds: int = 1000,
    spikes: int = 3,
    samples: int = 5,
    signal: float = 0.8,
    turns: float = 0.25,
    noise: Noise | None = None,
    seed: int = 0,
) -> Covariance:
    """Make sample covariances of a few strong directions that turn slowly, with noise in all directions.

    Parameters
    ----------
    n
        Number of variables, at least twice the number of spikes.
    rounds
        T, the number of rounds.
    spikes
        Number of strong directions, each of which turns in a plane of its own.
    samples
        Number of samples in a round.
    signal
        Fraction of the variance along the strong directions.
    turns
        Number of full turns of each strong direction over all rounds.
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = drifting_covariance(n=8, rounds=5)
    >>> target = world.factors[0].T @ world.factors[0]
    >>> bool(world.space.contains(target)), target.trace().round(6).item()
    (True, 1.0)
    """
    rng = stream(seed, "world")
    shape = (count("rounds", rounds), count("samples", samples))
    spikes = count("spikes", spikes)
    if count("n", n) < 2 * spikes:
        raise ValueError(f"n must be at least twice the number of spikes, got {n} and {spikes}.")
    planes = np.linalg.qr(rng.standard_normal((n, 2 * spikes))).Q.T.reshape(2, spikes, n)
    angles = (2 * np.pi * number("turns", turns) * np.arange(rounds) / rounds)[:, np.newaxis, np.newaxis]
    directions = np.cos(angles) * planes[0] + np.sin(angles) * planes[1]
    share = between("signal", signal, 0.0, 1.0)
    factors = rng.standard_normal((*shape, spikes)) @ directions * math.sqrt(share / spikes)
    factors += math.sqrt((1 - share) / n) * rng.standard_normal((*shape, n))
    factors /= np.sqrt(np.square(factors).sum(axis=(1, 2), keepdims=True))
    return Covariance(Spectrahedron(n), factors, noise, seed)


def _places(
    name: str, values: ArrayLike, shape: tuple[int, ...], below: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    places = finite(name, values, shape)
    wrong = places[(places != np.floor(places)) | (places < 0) | (places >= below)]
    if wrong.size:
        raise ValueError(f"{name} must be whole numbers from 0 to {below - 1}, got {wrong[0]:g}.")
    return places.astype(np.intp)
