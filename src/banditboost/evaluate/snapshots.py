"""What the copies knew, and when: snapshots of their weights along a run."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.booster import Booster
from banditboost.evaluate.callbacks import Callback, Event


class Record(Callback):
    """Snapshots of one of a booster's arrays, taken between rounds; they cost a copy of that array each.

    Take them by hand with `take`, or pass the record to `progressive` as one of its `callbacks`: it then takes one after every
    block of rounds or, where `every` is given, every so many rounds and after the last.

    Parameters
    ----------
    booster
        Whose copies to watch.
    name
        Which of ``booster.arrays()``: one whose first axis is the copy.
    every
        How many rounds of a run lie between two snapshots; None leaves that to the run.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=3)
    >>> record = Record(booster)
    >>> for x in (0.1, 0.2, 0.3, 0.4):
    ...     ticket = booster.step([x], lambda queries: (queries - 1.0) ** 2)
    ...     record.take()
    >>> record.rounds, record.weights.shape, record.norms.shape
    ([1, 2, 3, 4], (4, 3, 2), (4, 3))
    """

    def __init__(self, booster: Booster, name: str = "weights", every: int | None = None) -> None:
        self.booster, self.name = booster, name
        self.every = None if every is None else count("every", every)
        self.rounds: list[int] = []
        """After how many rounds each snapshot was taken."""
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
        """Take a snapshot: what `progressive` calls where this is its `progress`."""
        self.take()

    def start(self, event: Event) -> None:
        """Refuse to watch another booster than the one that runs."""
        if event.booster is not self.booster:
            raise ValueError("booster of a Record must be the one that runs, got another.")

    def block(self, event: Event) -> None:
        """Take a snapshot, where one is due: others may have cut the rounds into shorter blocks."""
        if self.every is None or event.end % self.every == 0 or event.end == event.total:
            self.take()

    @property
    def weights(self) -> Array:
        """All snapshots, shape (S, N, ...)."""
        if not self._taken:
            raise ValueError("record must hold at least one snapshot: call take, or pass it to progressive.")
        return np.stack(self._taken)

    @property
    def norms(self) -> Array:
        """Euclidean norm of each copy's weights, shape (S, N)."""
        weights = self.weights
        return np.asarray(np.sqrt(np.square(weights).reshape(*weights.shape[:2], -1).sum(axis=2)))
