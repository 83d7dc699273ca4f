"""`Mix` in plain NumPy: what its compiled functions must agree with."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.chains import Mix
from banditboost.chains.mix import FULL, LATE, SURE
from banditboost.chains.span import added_up
from banditboost.chains.trusted import BEFOREHAND, FORGETTING, LEAST
from banditboost.spaces import Space

FADED = np.array([(kept, kept, kept * kept) for kept in (1 - 1 / rounds for rounds in LATE)])
"""What a round leaves of the sums of gains, of squares and of squared surprises over such stretches."""


class SlowMix:
    """The same chain, one array operation after the other."""

    def __init__(self, chain: Mix) -> None:
        self._chain = chain

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chain, name)

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy, then towards the rivals."""
        memory = self.start(len(plays)) if memory is None else memory
        kept = np.ones(len(plays))
        kept[self.streams(len(plays)) :] -= memory["trust"][self.streams(len(plays)) :]
        return added_up(plays, start, self.lengths(len(plays)) * memory["trust"], kept, ground)

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Compare what copies played with what would have been best, those that add up together, and every rival by itself."""
        copies = len(path) - 1
        streams, lengths = self.streams(copies), self.lengths(copies)
        moves = (path[1:] - path[:-1]).reshape(copies, -1) / (lengths * memory["trust"])[:, np.newaxis] / self.units
        slopes = np.asarray(gradients).reshape(copies, -1) / self.units
        kept = 1 - FORGETTING / (t + 20 * FORGETTING)
        gains, sizes = -0.5 * (slopes * moves).sum(axis=1) / lengths, np.square(moves).sum(axis=1)
        gained, squares, trust = memory["gained"], memory["squares"], memory["trust"]
        gained[:] = kept * gained + gains
        squares[:] = kept * squares + sizes
        surprises = gains - trust * sizes
        if self.alone:
            self._shrink(surprises, kept, memory, t)
        else:
            before, total = BEFOREHAND / t, squares[1:streams].sum()
            if total > 0:
                trust[1:streams] = cut((gained[1:streams].sum() / total + before) / (1 + before))
        for i in range(streams, copies):
            if squares[i] > 0:
                ratio = gained[i] / squares[i]
                if self.alone and self.doubts[2] > 0:
                    ratio = shrunk(gained[i], squares[i], memory["variances"][i], self.doubts[2])
                trust[i] = cut(ratio / (1 + BEFOREHAND / t))
        if self.recent:
            self._heed(np.array((gains, sizes, surprises)), memory, t)

    def _shrink(self, surprises: Array, kept: float, memory: Memory, t: int) -> None:
        """Trust copies that add up as far as they have gained more than noise; the first variance is that of the later ones."""
        gained, squares, trust, variances = (memory[name] for name in ("gained", "squares", "trust", "variances"))
        streams, later = self.streams(len(trust)), self.later(len(trust))
        if self.doubts[2] > 0:
            variances[streams:] = kept * kept * variances[streams:] + np.square(surprises[streams:])
        together = surprises[later:streams].sum()
        variances[:later] = kept * kept * variances[:later] + np.square([together, *surprises[1:later]])
        before = FULL / t
        for i in range(1, later):
            trust[i] = cut((shrunk(gained[i], squares[i], variances[i], self.doubts[0]) + before) / (1 + before))
        found = shrunk(gained[later:streams].sum(), squares[later:streams].sum(), variances[0], self.doubts[1])
        trust[later:streams] = cut(found)

    def _heed(self, seen: Array, memory: Memory, t: int) -> None:
        """Let late rounds overrule the trust; the first row of what they have shown is that of the later copies together."""
        late, trust = memory["late"], memory["trust"]
        streams, later = self.streams(len(trust)), self.later(len(trust))
        seen[:, 0] = seen[:, later:streams].sum(axis=1)
        seen[:, later:streams] = 0.0  # what each has shown by itself is not used
        np.square(seen[2], out=seen[2])
        late *= FADED
        late += seen.T[:, np.newaxis]
        alone, together, rival = self.doubts
        for i in range(1, later):
            trust[i] = overruled(float(trust[i]), late[i], alone, t)
        for i in range(streams, len(trust)):
            trust[i] = overruled(float(trust[i]), late[i], max(alone, rival), t)
        if later < streams:
            trust[later:streams] = overruled(float(trust[later]), late[0], together, t)


def shrunk(gained: float, squares: float, variance: float, doubt: float) -> float:
    """Return how far to follow plays whose sums of gains and of squares are these; zero where they have gained nothing."""
    return (gained - doubt * variance / gained) / squares if gained > 0 and squares > 0 else 0.0


def cut(trust: float, least: float = LEAST) -> float:
    """Return a trust that is neither below the least nor above 1."""
    return min(max(trust, least), 1.0)


def overruled(trust: float, late: Array, doubt: float, t: int, least: float = LEAST) -> float:
    """Return the trust, or that of late rounds where they contradict it; rows of `late` are G, S and V, longer stretches first."""
    for rounds, (gained, squares, variance) in zip(LATE, late.tolist(), strict=True):
        if t > 2 * rounds and (gained - trust * squares) ** 2 > SURE * variance:
            trust = cut(shrunk(gained, squares, variance, doubt), least)
    return trust
