"""Which of very many features say something about the loss, from gradients alone: whom `Screened` gives a place.

Idea: a round tells of every feature that is there two *signals*: what the first copy within should have added, -g/2, and where the
loss is least. Values of a feature fall into three groups, low, usual and high ones, by its own mean and standard deviation, and the
signals are summed within each. Where groups differ from the mean of all rounds by more than chance explains, for the number of
features that there are, the feature waits for a place. This sees steps, slopes and bends of single features; features that matter
only together are not seen, and may come in by having been there often.

A feature's evidence is looked at when the rounds in which it was there have doubled, and places are given when all rounds are four
times as many, so that a round costs O(non-zeros). Compiled runs write signals down and gather them when a block is over, which is
where places are given, at the latest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.shown import Shown
from banditboost.spaces import Space

if TYPE_CHECKING:
    from banditboost._compiled import evidence

BY_COUNT = 0.75
"""The share of places that features take by having been there often, the others being for those with evidence."""
AT_ONCE = 8
"""One in so many places may be given at a time."""
FIRST_DUE, GROWTH = 32, 4
"""Places are given after so many rounds, and whenever there are so many times as many: half-way to where trees cut features into
bins anew (`banditboost._compiled.bins`), and before forests of wide contexts are grown."""
WAITING = 64
"""So many features more than there are places may wait for one."""
MOST_ROUNDS = 2**53
LARGEST = 1e300
"""What is not below these in a file was not written by a booster."""


class Gathered:
    """What rounds have said about features, for decisions in a space."""

    def __init__(self, space: Space, features: int, places: int) -> None:
        from banditboost._compiled.evidence import CELLS, Evidence

        d, waiting = space.size, places + WAITING
        self.space, self.places = space, places
        self.state: evidence.Evidence = Evidence(
            clock=np.zeros(2, dtype=np.int64),
            overall=np.zeros((2, 2 * d)),
            met=np.zeros(features, dtype=np.uint8),
            known=np.zeros((features, 3)),
            sums=np.zeros((features, CELLS, 1 + 2 * d)),
            waiting=np.zeros(waiting, dtype=np.int64),
            found=np.zeros(waiting),
        )

    @staticmethod
    def n_floats(space: Space, features: int, places: int) -> int:
        """Return the number of floats."""
        return features * (1 + 3 + 3 * (1 + 2 * space.size)) + 2 * (places + WAITING) + 2 + 4 * space.size

    @staticmethod
    def by_count(places: int) -> int:
        """Return how many places are taken by having been there often."""
        return int(BY_COUNT * places)

    def signals(self, anchor: Array, gradient: Array) -> Array:
        """Return the signals of one round, shape (1, 2d), of the first copy's gradient and of where it was taken."""
        step = -0.5 * np.asarray(gradient).reshape(1, -1)
        return np.concatenate([step, np.asarray(anchor).reshape(1, -1) + step], axis=1)

    def until_due(self) -> int:
        """Return after how many rounds places are given."""
        rounds, due = int(self.state.clock[0]), FIRST_DUE
        while due <= rounds:
            due *= GROWTH
        return due - rounds

    def gather(
        self,
        shown: Shown,
        signals: Array,
        proven: int,
        places: tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Add what rounds say, none of them after the next in which places are due, and give places then."""
        from banditboost._compiled.evidence import gather, give_places

        seen, chosen, taken = places
        table, rows = shown.sparse()
        last = len(rows) == self.until_due()
        gather(table.data, table.indices, table.indptr, rows, signals, seen, proven, self.state)
        if last:
            give_places(seen, chosen, taken, max(1, self.places // AT_ONCE), self.state)

    def stretched(self, features: int) -> Gathered:
        """Return the same for more features, of which nothing is known."""
        larger = Gathered(self.space, features, self.places)
        known: Any = larger.state
        for name, old in self.arrays().items():
            getattr(known, name.removeprefix("evidence."))[: len(old)] = old
        return larger

    def check(self) -> None:
        """Raise a ValueError where counts or features that wait are impossible; what is known of each feature is not looked at."""
        rounds, used = self.state.clock.tolist()
        waiting, overall = self.state.waiting, self.state.overall
        fits = 0 <= rounds < MOST_ROUNDS and 0 <= used <= len(waiting)
        fits = fits and bool(((waiting[:used] >= 0) & (waiting[:used] < len(self.state.known))).all())
        fits = fits and bool((np.abs(overall) < LARGEST).all() and (overall[1] >= 0.0).all())
        fits = fits and bool((self.state.found[:used] >= 0.0).all() and (self.state.found[:used] < LARGEST).all())
        if not fits:
            raise ValueError(
                "The evidence for features is damaged: counts, sums or features that wait for a place are impossible."
            )

    def arrays(self) -> dict[str, Any]:
        """Return the state."""
        return {f"evidence.{name}": array for name, array in self.state._asdict().items()}
