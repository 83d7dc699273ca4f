"""Worlds in which learning pays as soon as it can: nearly all targets are one extreme point, and the rest lie anywhere.

Regret that a bound can exceed needs losses that punish whoever learns nothing as much as their constants allow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, finite
from banditboost._core.streams import stream
from banditboost.noise import Noise
from banditboost.spaces import Space
from banditboost.spaces.base import norms
from banditboost.worlds import World

STRAY = 0.05
"""Share of rounds whose target is drawn anew."""


class Distances(World):
    """The losses ℓ_t(y) = ‖y - c_t‖ - 1: convex, 1-Lipschitz and not smooth; in one dimension the absolute loss, less one.

    Taking one off changes no regret, and halves the bound M on a set of radius one.

    Parameters
    ----------
    targets
        c_t, shape (T, *shape).
    contexts
        Shape (T, features), where rounds have contexts.
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = Distances([1.0, -1.0])
    >>> world.values(0, np.array([0.0, 1.0])).tolist(), world.gradients(1, np.array([0.0])).tolist()
    ([0.0, -1.0], [1.0])
    """

    def __init__(
        self, targets: ArrayLike, contexts: ArrayLike | None = None, noise: Noise | None = None, seed: int = 0
    ) -> None:
        super().__init__(noise, seed)
        self.targets = finite("targets", targets)
        self.contexts = None if contexts is None else finite("contexts", contexts)

    def __len__(self) -> int:
        return len(self.targets)

    def context(self, t: int) -> Array | None:
        """Return the context of a round, where there is one."""
        return None if self.contexts is None else self.contexts[t]

    @property
    def features(self) -> int | None:
        """Length of a context."""
        return None if self.contexts is None else self.contexts.shape[1]

    def values(self, t: int, points: Array) -> Array:
        """Return ‖y - c_t‖ - 1."""
        away = points - self.targets[t]
        return np.asarray((np.abs(away) if self.targets.ndim == 1 else np.sqrt(np.square(away).sum(axis=-1))) - 1.0)

    def gradients(self, t: int, points: Array) -> Array:
        """Return the unit vectors from c_t to the points."""
        away = points - self.targets[t]
        if self.targets.ndim == 1:
            return np.asarray(np.sign(away))
        return np.asarray(away / np.maximum(norms(away, 1), 1e-300))


def one_sided(space: Space, rounds: int, seed: int = 0) -> tuple[Array, Array]:
    """Return targets, nearly all of which are one extreme point of a space, and that point.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> targets, point = one_sided(Interval(-1, 1), 1000)
    >>> targets.shape, bool((targets == point).mean() > 0.95)
    ((1000,), True)
    """
    rng = stream(seed, "world")
    point = np.asarray(space.minimize(rng.standard_normal(space.shape)))
    others = np.asarray(space.minimize(rng.standard_normal((rounds, *space.shape))))
    stray = (rng.random(rounds) < STRAY).reshape(-1, *(1,) * len(space.shape))
    return np.where(stray, others, point), point


def one_sided_lines(rounds: int, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return contexts of norm one, labels that are nearly all ±1, and what the unit weights that made them predict.

    Examples
    --------
    >>> contexts, labels, predicted = one_sided_lines(1000)
    >>> contexts.shape, bool(np.allclose(np.linalg.norm(contexts, axis=1), 1)), round(float(abs(predicted).min()), 2)
    ((1000, 2), True, 0.98)
    """
    rng = stream(seed, "world")
    turn, angles = rng.uniform(0.0, 2.0 * np.pi), rng.uniform(-0.2, 0.2, rounds)
    signs = rng.choice([-1.0, 1.0], rounds)
    contexts = signs[:, np.newaxis] * np.stack([np.cos(turn + angles), np.sin(turn + angles)], axis=1)
    predicted = signs * np.cos(angles)
    stray = rng.random(rounds) < STRAY
    return contexts, np.where(stray, rng.uniform(-1.0, 1.0, rounds), predicted), predicted
