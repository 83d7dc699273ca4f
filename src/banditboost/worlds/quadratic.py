"""Quadratic losses with moving targets: ℓ_t(x) = (β/2)‖x - c_t‖², or the mean of several such.

The best fixed point in hindsight is exact: the projection of the mean target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, count, finite, number, positive
from banditboost._core.streams import stream
from banditboost.booster import Ticket
from banditboost.noise import Noise
from banditboost.spaces import Space
from banditboost.spaces.base import norms
from banditboost.worlds.convex import Best, Convex


class Quadratic(Convex):
    """The losses ℓ_t(x) = (β/2)‖x - c_t‖² for targets c_t in the space.

    Parameters
    ----------
    space
        The set of decisions.
    targets
        c_t, shape (T, *shape). The constants are valid for targets in the space.
    curvature
        β, the curvature of every loss.
    noise, seed
        As for every world.

    Examples
    --------
    >>> from banditboost.spaces import Ball
    >>> world = Quadratic(Ball(2), [[1.0, 0.0], [0.0, 1.0]])
    >>> world.best().point.tolist(), world.values(0, np.zeros(2)).item()
    ([0.5, 0.5], 0.5)
    """

    def __init__(
        self,
        space: Space,
        targets: ArrayLike,
        curvature: float = 1.0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(space, noise, seed)
        self.targets = finite("targets", targets)
        self.curvature = positive("curvature", curvature)
        if self.targets.ndim == 0 or self.targets.shape[1:] != space.shape or len(self.targets) == 0:
            raise ValueError(f"targets must have shape (rounds, *{space.shape}), got {self.targets.shape}.")

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def smoothness(self) -> float:
        """The curvature β."""
        return self.curvature

    @property
    def lipschitz(self) -> float:
        """The constant βD, since no target is farther away than the diameter D."""
        return self.curvature * self.space.diameter

    @property
    def bound(self) -> float:
        """The constant βD²/2 for the diameter D."""
        return 0.5 * self.curvature * self.space.diameter**2

    def values(self, t: int, points: Array) -> Array:
        """Return (β/2)‖x - c_t‖²."""
        axes = tuple(range(-len(self.space.shape), 0))
        return np.asarray(0.5 * self.curvature * np.square(points - self.targets[t]).sum(axis=axes))

    def gradients(self, t: int, points: Array) -> Array:
        """Return β(x - c_t)."""
        return np.asarray(self.curvature * (points - self.targets[t]))

    def best(self) -> Best:
        """Return the projection of the mean target, which is exact, since the total is a quadratic about the mean."""
        point = np.asarray(self.space.project(self.targets.mean(axis=0)))
        away = norms(point - self.targets, len(self.space.shape))
        return Best(point, 0.5 * self.curvature * np.square(away.reshape(len(self))), 0.0)


class FiniteSum(Quadratic):
    """Losses ℓ_t that are means of n quadratics with different targets; a stochastic gradient is that of one quadratic.

    Queries with equal `draws` are answered with the same quadratic, as recursive gradients need.

    Parameters
    ----------
    space
        The set of decisions.
    samples
        The targets, shape (T, n, *shape), which lie in the space.
    curvature, seed
        As for `Quadratic`.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> world = FiniteSum(Interval(-1, 1), [[-1.0, 1.0]])
    >>> world.values(0, np.array([0.0, 1.0])).tolist()
    [0.5, 1.0]
    """

    def __init__(self, space: Space, samples: ArrayLike, curvature: float = 1.0, seed: int = 0) -> None:
        self.samples = finite("samples", samples)
        if self.samples.ndim < 2 or self.samples.shape[2:] != space.shape or self.samples.size == 0:
            raise ValueError(f"samples must have shape (rounds, n, *{space.shape}), got {self.samples.shape}.")
        super().__init__(space, self.samples.mean(axis=1), curvature, None, seed)
        axes = tuple(range(2, self.samples.ndim))
        spread = np.square(self.samples - self.targets[:, np.newaxis]).sum(axis=axes).mean(axis=1)
        self._offsets = 0.5 * self.curvature * spread

    def values(self, t: int, points: Array) -> Array:
        """Return the mean of the n quadratics: the quadratic about their mean target plus a constant for their spread."""
        return np.asarray(super().values(t, points) + self._offsets[t])

    def answer(self, t: int, ticket: Ticket, noisy: bool, rng: np.random.Generator) -> Array:
        """Answer noisy gradients from one quadratic per draw, and values and exact gradients from the mean."""
        if ticket.asks == "values" or not noisy:
            return super().answer(t, ticket, False, rng)
        drawn = rng.integers(self.samples.shape[1], size=int(ticket.draws.max()) + 1)[ticket.draws]
        return np.asarray(self.curvature * (ticket.queries - self.samples[t, drawn]))

    def best(self) -> Best:
        """Return the best point for the mean targets, with the spread added to its losses."""
        best = super().best()
        return best._replace(losses=best.losses + self._offsets)


class Adaptive(Quadratic):
    """An adaptive adversary: the next target lies opposite to the learner's last prediction, as seen from the centre.

    The targets are known only after the learner has played, so `best` is valid after a complete run.

    Parameters
    ----------
    space
        The set of decisions.
    rounds
        T, the number of rounds.
    curvature, noise, seed
        As for `Quadratic`.
    """

    def __init__(
        self, space: Space, rounds: int, curvature: float = 1.0, noise: Noise | None = None, seed: int = 0
    ) -> None:
        rng = stream(count("seed", seed, least=0), "world")
        self.first = np.asarray(space.minimize(rng.standard_normal(space.shape)))
        super().__init__(
            space, np.broadcast_to(self.first, (count("rounds", rounds), *space.shape)), curvature, noise, seed
        )

    def begin(self) -> None:
        """Reset the targets, which followed the predictions of an earlier run."""
        self.targets[...] = self.first

    def observe(self, t: int, prediction: Array) -> None:
        """Choose the next target: the farthest point opposite to the prediction, as seen from the centre."""
        if t + 1 < len(self):
            self.targets[t + 1] = self.space.minimize(prediction - self.space.inner_centre)


def stationary(
    space: Space,
    rounds: int = 1000,
    spread: float = 0.5,
    curvature: float = 1.0,
    noise: Noise | None = None,
    seed: int = 0,
) -> Quadratic:
    """Make quadratic losses whose targets are drawn independently from one distribution.

    Targets lie the fraction `spread` of the way from a fixed point of the space towards random extreme points.

    Examples
    --------
    >>> from banditboost.spaces import Simplex
    >>> world = stationary(Simplex(3), rounds=10)
    >>> bool(world.space.contains(world.targets).all()), world.smoothness
    (True, 1.0)
    """
    return Quadratic(space, _around(space, (count("rounds", rounds),), spread, seed), curvature, noise, seed)


def finite_sum(
    space: Space, rounds: int = 1000, samples: int = 10, spread: float = 0.5, curvature: float = 1.0, seed: int = 0
) -> FiniteSum:
    """Make finite sums of quadratic losses whose targets are drawn independently from one distribution.

    Examples
    --------
    >>> from banditboost.spaces import Ball
    >>> finite_sum(Ball(2), rounds=10, samples=4).samples.shape
    (10, 4, 2)
    """
    shape = (count("rounds", rounds), count("samples", samples))
    return FiniteSum(space, _around(space, shape, spread, seed), curvature, seed)


def oblivious(
    space: Space, rounds: int = 1000, curvature: float = 1.0, noise: Noise | None = None, seed: int = 0
) -> Quadratic:
    """Make quadratic losses whose target alternates between opposite extreme points in stretches of growing length.

    The targets are fixed in advance (an oblivious adversary), and no decision follows them well.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> oblivious(Interval(-1, 1), rounds=8, seed=1).targets.tolist()
    [1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0]
    """
    direction = stream(count("seed", seed, least=0), "world").standard_normal(space.shape)
    ends = np.stack([space.minimize(direction), space.minimize(-direction)])
    # Round t lies in stretch k, of length k+1, where k(k+1)/2 rounds came before.
    stretches = ((np.sqrt(8.0 * np.arange(count("rounds", rounds)) + 1) - 1) / 2).astype(int)
    return Quadratic(space, ends[stretches % 2], curvature, noise, seed)


def drifting(
    space: Space,
    rounds: int = 1000,
    turns: float = 2.0,
    curvature: float = 1.0,
    noise: Noise | None = None,
    seed: int = 0,
) -> Quadratic:
    """Make quadratic losses whose target moves on a closed curve through the space, so that no fixed decision stays good.

    Examples
    --------
    >>> from banditboost.spaces import Ball
    >>> drifting(Ball(2), rounds=4, turns=1.0).targets.shape
    (4, 2)
    """
    rng = stream(count("seed", seed, least=0), "world")
    angles = 2 * np.pi * number("turns", turns) * np.arange(count("rounds", rounds)) / rounds
    one, two = rng.standard_normal((2, *space.shape))
    ones = (1,) * len(space.shape)
    ends = space.minimize(np.cos(angles).reshape(-1, *ones) * one + np.sin(angles).reshape(-1, *ones) * two)
    return Quadratic(space, 0.5 * (space.inner_centre + ends), curvature, noise, seed)


def _around(space: Space, leading: tuple[int, ...], spread: float, seed: int) -> Array:
    """Return random points of the space scattered around a fixed one."""
    if not 0 <= number("spread", spread) <= 1:
        raise ValueError(f"spread must lie in [0, 1], got {spread!r}.")
    rng = stream(count("seed", seed, least=0), "world")
    middle = 0.5 * (space.inner_centre + space.minimize(rng.standard_normal(space.shape)))
    ends = space.minimize(rng.standard_normal((*leading, *space.shape)))
    return np.asarray((1 - spread) * middle + spread * ends)
