"""Covariance estimation under drift: every round shows the sample covariance of a few vectors."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, between, count, finite, number
from banditboost._core.streams import stream
from banditboost.noise import Noise
from banditboost.spaces import Spectrahedron
from banditboost.spaces.stacks import Factored
from banditboost.worlds.convex import Best
from banditboost.worlds.matrices import Matrices


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
