"""Labelled data as bandit feedback: contexts are shown, labels never are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditboost.losses import Loss, Squared
from banditboost.noise import Noise
from banditboost.require import Array, count, finite
from banditboost.streams import stream
from banditboost.worlds.base import World


class Supervised(World):
    """Round t shows context x_t and charges ℓ(ŷ, y_t) for a label that is never told.

    Parameters
    ----------
    contexts
        Shape (T, features).
    labels
        Shape (T,) or (T, *shape).
    loss
        What a prediction costs; the squared loss when not given.
    noise, seed
        As for every world.

    Examples
    --------
    >>> from banditboost.noise import Uniform
    >>> world = Supervised([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 4.0, 9.0], noise=Uniform(0.1))
    >>> tuning, testing = world.shuffled(seed=0).halves()
    >>> len(tuning), len(testing), world.values(2, np.array([3.0, 4.0])).tolist()
    (2, 2, [1.0, 0.0])
    """

    def __init__(
        self,
        contexts: ArrayLike,
        labels: ArrayLike,
        loss: Loss | None = None,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__(noise, seed)
        self.loss = Squared() if loss is None else loss
        self._contexts = finite("contexts", contexts, copy=False)
        self._labels = finite("labels", labels, copy=False)
        if self._contexts.ndim != 2:
            raise ValueError(f"contexts must have shape (rounds, features), got {self._contexts.shape}.")
        if len(self._contexts) == 0:
            raise ValueError("contexts must have at least one row, got none.")
        if self._labels.ndim == 0 or len(self._labels) != len(self._contexts):
            raise ValueError(
                f"labels must be as many as contexts, got {self._labels.shape} for {len(self._contexts)} contexts."
            )
        self._order: NDArray[np.intp] = np.arange(len(self._contexts))

    def __len__(self) -> int:
        return len(self._order)

    @property
    def features(self) -> int:
        """Length of a context."""
        return int(self._contexts.shape[1])

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a label."""
        return self._labels.shape[1:]

    def contexts(self, begin: int = 0, end: int | None = None) -> Array:
        """Return the contexts of rounds begin ... end-1 as one array."""
        return self._contexts[self._order[begin:end]]

    def labels(self, begin: int = 0, end: int | None = None) -> Array:
        """Return the labels of rounds begin ... end-1 as one array: for comparators, not for learners."""
        return self._labels[self._order[begin:end]]

    def context(self, t: int) -> Array:
        """Return x_t."""
        return np.asarray(self._contexts[self._order[t]])

    def values(self, t: int, points: Array) -> Array:
        """Return ℓ(point, y_t)."""
        return self.loss.value(points, self._labels[self._order[t]])

    def gradients(self, t: int, points: Array) -> Array:
        """Return ∇ℓ(point, y_t)."""
        return self.loss.gradient(points, self._labels[self._order[t]])

    def shuffled(self, seed: int) -> Supervised:
        """Return the same rounds in an order drawn from the seed, which also seeds the noise. No data is copied."""
        seed = count("seed", seed, least=0)
        return self._reordered(stream(seed, "shuffling").permutation(self._order), seed)

    def halves(self) -> tuple[Supervised, Supervised]:
        """Return the first half and the rest: one to tune on, one to report."""
        if len(self) < 2:
            raise ValueError(f"the world must have at least two rounds to be halved, got {len(self)}.")
        middle = len(self) // 2
        # Every half has noise of its own, and no two halves of differently seeded worlds share it.
        return (
            self._reordered(self._order[:middle], 2 * self.seed),
            self._reordered(self._order[middle:], 2 * self.seed + 1),
        )

    def head(self, rounds: int) -> Supervised:
        """Return the first `rounds` rounds (all of them, where there are fewer)."""
        return self._reordered(self._order[: count("rounds", rounds, least=0)], self.seed)

    def _reordered(self, order: NDArray[np.intp], seed: int) -> Supervised:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, _order=order, seed=seed)
        return copy
