"""Snapshots of the copies' weights along a run."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.booster import Booster
from banditboost.evaluate.callbacks import Callback, Event


class Snapshots(Callback):
    """Snapshots of one of a booster's arrays, taken between rounds; each is a copy of that array.

    Take them with `take`, or pass this object to `progressive` as one of its `callbacks`: a snapshot is then taken after every
    block of rounds or, where `every` is given, every so many rounds and after the last round.

    Parameters
    ----------
    booster
        The booster whose copies are watched.
    name
        Name of one of ``booster.arrays()`` whose first axis is the copy.
    every
        Number of rounds between two snapshots of a run; None takes one after every block of rounds.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=3)
    >>> snapshots = Snapshots(booster)
    >>> for x in (0.1, 0.2, 0.3, 0.4):
    ...     ticket = booster.step([x], lambda queries: (queries - 1.0) ** 2)
    ...     snapshots.take()
    >>> snapshots.rounds, snapshots.weights.shape, snapshots.norms.shape
    ([1, 2, 3, 4], (4, 3, 2), (4, 3))
    """

    def __init__(self, booster: Booster, name: str = "weights", every: int | None = None) -> None:
        self.booster, self.name = booster, name
        self.every = None if every is None else count("every", every)
        self.rounds: list[int] = []
        """Number of rounds after which each snapshot was taken."""
        self._taken: list[Array] = []

    def take(self) -> None:
        """Take a snapshot now; a second one after the same round replaces the first."""
        arrays = self.booster.arrays()
        if self.name not in arrays:
            known = ", ".join(sorted(arrays)) or "none before the first round"
            raise ValueError(f"name must be one of this booster's arrays ({known}), got {self.name!r}.")
        array, copies = arrays[self.name], self.booster.spec.copies
        bank = self.booster.bank
        if (bank is not None and self.name in bank.shared) or array.ndim == 0 or len(array) != copies:
            raise ValueError(f"name must be an array with one row per copy ({copies}), got one of shape {array.shape}.")
        if self.rounds and self.rounds[-1] == self.booster.rounds:
            self._taken.pop()
            self.rounds.pop()
        self._taken.append(np.array(array, dtype=np.float64))
        self.rounds.append(self.booster.rounds)

    def __call__(self, done: int, total: int) -> None:
        """Take a snapshot; `progressive` calls this where the object is passed as its `progress`."""
        self.take()

    def start(self, event: Event) -> None:
        """Raise an error where the run is that of another booster."""
        if event.booster is not self.booster:
            raise ValueError("booster of Snapshots must be the booster of the run, got another one.")

    def block(self, event: Event) -> None:
        """Take a snapshot where one is due; other callbacks may have asked for shorter blocks."""
        if self.every is None or event.end % self.every == 0 or event.end == event.total:
            self.take()

    @property
    def weights(self) -> Array:
        """All snapshots, shape (S, N, ...)."""
        if not self._taken:
            raise ValueError("Snapshots must hold at least one snapshot: call take, or pass the object to progressive.")
        return np.stack(self._taken)

    @property
    def norms(self) -> Array:
        """Euclidean norm of each copy's weights, shape (S, N)."""
        weights = self.weights
        return np.asarray(np.sqrt(np.square(weights).reshape(*weights.shape[:2], -1).sum(axis=2)))
