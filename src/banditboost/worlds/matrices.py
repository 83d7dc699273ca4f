"""Worlds whose decisions are matrices: online matrix completion, and covariance estimation under drift.

Both answer a chain that is described by factors in kind, so that no round holds as many large matrices as there are copies.
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
ACCURACY = 1e-7


class Matrices(Convex):
    """What worlds of matrices share."""

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer as every world does, but add no zeros: the sum of a description and an array would be stored."""
        return super().answer(t, ticket, noisy and not isinstance(self.noise, Silent), rng)


class MatrixCompletion(Matrices):
    """ℓ_t(X) = 1/(2b) Σ_j (X[i_j, k_j] - y_j)²: every round shows b entries of a matrix.

    Gradients have b entries that are not zero. An entry may be shown more than once.

    Parameters
    ----------
    space
        Where decisions live.
    rows, columns
        Which entries are shown in each round, whole numbers of shape (T, b).
    observed
        What is seen there, shape (T, b).
    noise, seed
        As for every world; `noise` blurs gradients, in all their coordinates.

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
        # How often each round's most frequent entry is shown: the square of the norm of X ↦ (X[i_j, k_j])_j.
        self._repeats = np.array([np.unique(row, return_counts=True)[1].max() for row in codes], dtype=np.float64)
        self._lengths = np.linalg.norm(self.observed, axis=1)

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def batch(self) -> int:
        """How many entries a round shows (b)."""
        return int(self.observed.shape[1])

    @property
    def smoothness(self) -> float:
        """q/b, where q is how often a round shows its most frequent entry."""
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
        """Return the errors over b at the round's entries, zero elsewhere."""
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

        Accelerated projected gradient descent (Beck, Teboulle 2009, FISTA) that restarts where it turns back (O'Donoghue, Candès
        2015, gradient scheme). One full decomposition a step: for matrices of some hundred rows. The gap is Frank and Wolfe's,
        max_Z ∇F(X)·(X - Z) = ∇F(X)·X + r‖∇F(X)‖, with the spectral norm: an upper bound on what is still missing.
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
                momentum = 1.0  # the last step turned back: what was gathered points the wrong way
            grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            ahead = following + (momentum - 1) / grown * (following - here)
            here, momentum = following, grown
        errors = here[self.rows, self.columns] - self.observed
        return Best(here, np.asarray(np.square(errors).mean(axis=1) / 2), max(gap, 0.0))


class Covariance(Matrices):
    """ℓ_t(X) = ½‖X - S_t‖² for sample covariances S_t = F_t' F_t of low rank, which are kept as F_t.

    Parameters
    ----------
    space
        Where decisions and targets live.
    factors
        F_t, shape (T, k, n): k samples a round as rows, scaled so that S_t is a member, that is, that all squares sum to
        the space's trace (or less, where that is only a bound).
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
        """1."""
        return 1.0

    @property
    def lipschitz(self) -> float:
        """The diameter: targets are members."""
        return self.space.diameter

    @property
    def bound(self) -> float:
        """Half the diameter's square."""
        return 0.5 * self.space.diameter**2

    def values(self, t: int, points: Array) -> Array:
        """Return ½‖X - S_t‖², one matrix at a time where they are only described."""
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
        """Return the mean of the targets: exact, since it is a member and the total is a quadratic about it."""
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
    """A table of low rank, of which every round shows a few entries, drawn anew and blurred by at most `spread`.

    Entries of the table have variance 1, and the ball has the table's own nuclear norm for a radius.

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
    """Sample covariances of a few strong directions that turn slowly, and noise in all directions.

    Parameters
    ----------
    n
        How many variables; at least twice the spikes.
    rounds
        T.
    spikes
        How many strong directions; each turns in a plane of its own.
    samples
        How many samples a round.
    signal
        Which part of the variance is along the strong directions.
    turns
        How far they turn over all rounds.
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
        raise ValueError(f"n must be twice the spikes at least, got {n} and {spikes}.")
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
