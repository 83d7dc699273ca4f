"""Steps that add up, and then steps towards rivals: whole predictions, each followed as far as it has proven better."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from banditboost._core.checks import Array, at_least_zero, count
from banditboost._core.spec import Memory
from banditboost.chains.span import added_up
from banditboost.chains.trusted import BEFOREHAND, FORGETTING, LEAST, Trusted
from banditboost.spaces import Interval, Space

FULL = 5.0
"""Rounds that full trust in copies that are judged by themselves is worth before anything was seen."""
LATE = (512.0, 64.0)
"""Rounds over which late evidence is gathered, the longer stretch first; it is used from twice as many rounds on."""
SURE = 9.0
"""How many variances late evidence must differ from what the trust foretells, squared, before it overrules that."""


@dataclass(frozen=True)
class Mix(Trusted, kind="chains.Mix"):
    """Steps that add up as in `Trusted`; then the last copies, the rivals, play predictions of their own.

    A rival's play a is followed by a weight ω in (0, 1], y^{i+1} = (1 - ω) y^i + ω a. No label is needed to judge it: with g the
    gradient at y^i of a loss with curvature 2, following it changes the loss by ω g·(a - y^i) + ω² |a - y^i|², which is least for

        ω* = - Σ g·(a - y) / 2 Σ |a - y|²,

    and ω is that ratio over the later part of all rounds, cut to [0.02, 1]. Both sums are unbiased for every number of answers.

    This is follow-the-leader on quadratic functions of one number: where |g| and |a - y| are bounded by G and D and nothing is
    forgotten, its regret against the best fixed ω is at most (G + 2D)² (1 + log T)/ 4 where Σ|a - y|² grows as T.

    On a few hundred rounds such a ratio is noisy, and copies that fit noise cost more than they gain. With `alone` copies after the
    first, the chain therefore starts from the first copy's play, and everything that adds to it is shrunk: with S = Σ|a|² of a
    step's plays, G = -Σ g·a/2 and the variance V of G, as rounds have shown it, the trust is (G - kV/G)/S, cut to [0.02, 1], with
    k = 1 for each of these copies, which step as far as they play, and k = 2 for the later ones together. Where gradients are
    noisy, as they are from one answer, copies that fit noise cost more: `doubts` has other numbers, and one for rivals.

    Where the world changes, half of all rounds is a long time. With `recent` the same sums are kept over about the last 512 and the
    last 64 rounds, too: where G of such a stretch differs from what the trust foretells, τS, by more than three standard
    deviations, the trust is (G - kV/G)/S of that stretch instead. Where nothing changes, that is rarely so.

    Parameters
    ----------
    step, first, units
        As for `Trusted`.
    rivals
        How many of the last copies play predictions of their own.
    alone
        How many copies after the first are judged by themselves; none: nothing but the rivals differs from `Trusted`.
    doubts
        k of copies that are judged by themselves, of the later ones together, and of every rival: how many variances are taken off
        what they have gained. Without copies that are judged by themselves nothing is taken off.
    recent
        Whether late rounds may overrule all rounds, for worlds that change.

    References
    ----------
    Stein (1956) for the shrinkage: kV/G² is what James and Stein (1961), Section 2, take off, with a variance that is estimated.

    Examples
    --------
    >>> chain = Mix(step=0.5, first=1.0, rivals=1)
    >>> memory = chain.start(2)
    >>> for t in range(1, 200):  # the rival is right
    ...     path = chain.path(np.array([1.0, 3.0]), np.array(0.0), memory)
    ...     chain.learn(path, 2 * (path[:-1] - 3.0), memory, t)
    >>> chain.path(np.array([1.0, 3.0]), np.array(0.0), memory).round(1).tolist()
    [0.0, 1.0, 2.8]
    """

    rivals: int = 1
    alone: int = 0
    doubts: tuple[float, float, float] = (1.0, 2.0, 0.0)
    recent: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        count("rivals", self.rivals)
        count("alone", self.alone, least=0)
        if not isinstance(self.doubts, tuple) or len(self.doubts) != 3:
            raise ValueError(f"doubts must be three numbers, got {self.doubts!r}.")
        for doubt in self.doubts:
            at_least_zero("doubts", doubt)
        if not isinstance(self.recent, bool):
            raise ValueError(f"recent must be True or False, got {self.recent!r}.")

    @classmethod
    def examples(cls) -> tuple[Mix, ...]:
        """Give chains with one rival, without and with copies that are judged by themselves, and one that heeds late rounds."""
        return (
            cls(),
            cls(step=0.5, first=1.0),
            cls(step=0.5, first=1.0, alone=1),
            cls(step=0.5, first=1.0, alone=1, recent=True),
        )

    def streams(self, copies: int) -> int:
        """Return how many copies are no rivals."""
        return max(copies - self.rivals, 0)

    def lengths(self, copies: int) -> Array:
        """Return the steps of copies that add up, and 1 for copies that are judged by themselves and for rivals."""
        lengths = super().lengths(copies)
        lengths[1 : 1 + self.alone] = 1.0
        lengths[self.streams(copies) :] = 1.0
        return lengths

    def start(self, copies: int) -> Memory:
        """Return what `Trusted` does; rivals are hardly trusted at first."""
        memory = super().start(copies)
        memory["trust"][self.streams(copies) :] = LEAST
        if self.alone:
            memory["trust"][1 + self.alone :] = LEAST
            memory["variances"] = np.zeros(copies)
        if self.recent:
            memory["late"] = np.zeros((copies, len(LATE), 3))
        return memory

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Step from copy to copy, then towards the rivals."""
        copies = len(plays)
        memory = self.start(copies) if memory is None else memory
        if plays.ndim == 1 and type(ground) is Interval:
            return self._on_a_line(plays, float(start), memory["trust"], ground)
        kept = np.ones(copies)
        kept[self.streams(copies) :] -= memory["trust"][self.streams(copies) :]
        return added_up(plays, start, self.lengths(copies) * memory["trust"], kept, ground)

    def _on_a_line(self, plays: Array, start: float, trust: Array, ground: Interval) -> Array:
        from banditboost._compiled.mixing import walk_on_a_line

        copies, path = len(plays), np.empty(len(plays) + 1)
        steps = _constants(self, copies, 1)[0]
        walk_on_a_line(
            np.ascontiguousarray(plays, dtype=float),
            start,
            steps,
            trust,
            self.streams(copies),
            float(ground.low),
            float(ground.high),
            path,
        )
        return path

    def learn(self, path: Array, gradients: Array, memory: Memory, t: int) -> None:
        """Compare what copies played with what would have been best, those that add up together, and every rival by itself."""
        from banditboost._compiled.mixing import learn

        copies = len(path) - 1
        points = np.array(path, dtype=float).reshape(copies + 1, -1)  # a ticket's own is read-only
        slopes = np.ascontiguousarray(gradients, dtype=float).reshape(copies, -1)
        learn(self._form(copies, points.shape[1], memory), t, points, slopes)

    def _form(self, copies: int, d: int, memory: Memory) -> Any:
        """Return the form of a chain that only learns: neither where it starts nor its ground play a part."""
        from banditboost._compiled.chains import Trusting
        from banditboost._compiled.following import Late
        from banditboost._compiled.mixing import Mixing
        from banditboost._compiled.spaces import Anywhere

        steps, units, rules, shrinkage, stretches = _constants(self, copies, d)
        learned = (memory["gained"], memory["squares"], memory["trust"])
        trusting = Trusting(steps, units, Anywhere(), *learned, rules, units)
        late = Late(memory.get("late", _NONE_LATE), stretches, SURE)
        variances = memory.get("variances", _NONE)
        return Mixing(trusting, self.streams(copies), self.later(copies), variances, shrinkage, late)

    def later(self, copies: int) -> int:
        """Return the first copy that is judged together with those after it."""
        return min(1 + self.alone, self.streams(copies))

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import following, mixing

        trusting = super().compiled_form(start, ground, copies, memory, first, rounds)
        shrinkage = np.array([self.doubts[0], self.doubts[1], FULL, self.doubts[2]])
        late = following.Late(memory.get("late", np.zeros((0, 0, 3))), np.array(LATE), SURE)
        variances = memory.get("variances", np.zeros(0))
        return mixing.Mixing(trusting, self.streams(copies), self.later(copies), variances, shrinkage, late)


_NONE, _NONE_LATE = np.zeros(0), np.zeros((0, 0, 3))


@lru_cache(maxsize=64)
def _constants(chain: Mix, copies: int, d: int) -> tuple[Array, ...]:
    """Return the lengths of steps, units, rules, what is taken off gains, and late stretches."""
    doubts, units = chain.doubts, np.array(np.broadcast_to(np.array(chain.units), (d,)))
    return (
        chain.lengths(copies),
        units,
        np.array([LEAST, BEFOREHAND, FORGETTING, 0.0]),
        np.array([doubts[0], doubts[1], FULL, doubts[2]]),
        np.array(LATE),
    )
