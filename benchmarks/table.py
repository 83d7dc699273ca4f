"""What contestants play: one table of rounds, in the form that each of them wants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

import banditboost as bb

Array = NDArray[np.float64]


class Table(NamedTuple):
    """Rows and their labels in [0, 1]."""

    contexts: Array
    labels: Array
    sparse: bool

    @property
    def signs(self) -> list[int]:
        """Two classes out of the labels, for those that learn classes only."""
        return np.where(self.labels > 0.5, 1, -1).tolist()  # type: ignore[no-any-return]

    def world(self) -> bb.worlds.Supervised:
        """The same rows as bandit feedback."""
        contexts = csr_array(self.contexts) if self.sparse else self.contexts
        return bb.worlds.Supervised(contexts, self.labels, noise=bb.noise.Uniform(0.1))

    def dictionaries(self, rounds: int) -> list[dict[str, float]]:
        """Features by name, those that are zero left out."""
        return [{str(j): float(row[j]) for j in np.flatnonzero(row)} for row in self.contexts[:rounds]]


def drawn(rounds: int, features: int, nonzeros: int | None = None) -> Table:
    """Draw a table; with `nonzeros`, that many features of every row are not zero, and it is played as a sparse one."""
    rng = np.random.default_rng(0)
    # Labels lean on the contexts a little, so that there is something to learn.
    contexts = rng.random((rounds, features)) + 1e-3
    if nonzeros is not None:
        kept = np.argpartition(rng.random((rounds, features)), nonzeros - 1, axis=1)[:, :nonzeros]
        mask = np.zeros((rounds, features), dtype=bool)
        np.put_along_axis(mask, kept, True, axis=1)
        contexts *= mask
    leaning = contexts @ rng.standard_normal(features)
    leaning = (leaning - leaning.mean()) / leaning.std()
    labels = np.clip(0.5 + 0.15 * leaning + 0.15 * rng.standard_normal(rounds), 0.0, 1.0)
    return Table(contexts, labels, nonzeros is not None)
