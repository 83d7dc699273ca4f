"""A guard: some rounds are played by a frozen baseline, and where the learner is worse than that, all are.

Rounds are given to the baseline by chance, with a known probability, so that what both sides lose can be compared whatever contexts
come and however losses change over time. With side means m from earlier rounds, and π the baseline's share, the term of a round
with loss l is

    D = m_learner - m_baseline + (l - m_learner) / (1 - π)   where the learner plays,
    D = m_learner - m_baseline - (l - m_baseline) / π        where the baseline does,

whose conditional mean is the difference of what the two would lose in this round, given the rounds before: *provided that the coin
decides nothing else*, such as whether or when an answer comes. A confidence sequence (`banditboost.evaluate.sequences`) of its
mean may be watched after every round.

References
----------
Robins, Rotnitzky, Zhao (1994), "Estimation of Regression Coefficients When Some Regressors Are Not Always Observed" (the terms);
Howard, Ramdas, McAuliffe, Sekhon (2021), Section 4.2 (confidence sequences for such terms).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from banditboost._core import checks
from banditboost._core.streams import stream
from banditboost.evaluate.sequences import ConfidenceSequence, _ends

FEWEST = 50
"""How many rounds of either side the asymptotic sequence needs before it says anything."""
ON, FALLEN_BACK = "on", "fallen back"


class Side(NamedTuple):
    """Who plays a round."""

    baseline: bool
    share: float
    """With what probability the baseline was to play; 1 where the guard has fallen back, and nothing is compared."""
    period: int
    """The period of the guard: rounds of an earlier one are not compared."""


class Coins:
    """The coins of a seed: the n-th number of its stream, which can be had without those before it.

    Examples
    --------
    >>> coins = Coins(seed=0)
    >>> [round(coins.toss(n), 3) for n in (1, 2, 3)], round(Coins(seed=0).toss(3), 3)
    ([0.381, 0.253, 0.098], 0.098)
    """

    def __init__(self, seed: int) -> None:
        self._seed, self._following = seed, -1
        self._stream: Any = None

    def toss(self, number: int) -> float:
        """Return a number between 0 and 1."""
        if number != self._following:
            self._stream = stream(self._seed, "guard")
            self._stream.bit_generator.advance(number)
        self._following = number + 1
        return float(self._stream.random())


class Guard:
    """Compares a learner with a baseline, and falls back to the baseline where the learner is found to be worse.

    It is found to be worse where the confidence sequence of the mean difference lies above `margin`: that since the guard began, or
    that since the last whole `window` of rounds, so that a learner that has been good for long and turns bad is noticed, too. Where
    the learner is not worse by either mean, the guard falls back *at any time at all* with probability at most 1 - `confidence`
    where the loss is bounded, and nearly so in the long run where it is not.

    Parameters
    ----------
    share
        The share of rounds that the baseline plays.
    bounds
        Between which values losses lie; those beyond are cut to them, and counted. None where that is not known: the sequence is
        then asymptotic.
    confidence
        How often the interval shall hold the difference at all times.
    margin
        By how much more than the baseline the learner may lose a round, in the mean.
    after
        How many rounds are not compared at the start, in which a learner may learn.
    window
        After how many compared rounds the second sequence begins again.

    Examples
    --------
    A learner that loses 0.1 a round more than the baseline does:

    >>> guard, coins, rng = Guard(share=0.2, bounds=(0, 1), after=0), Coins(seed=0), np.random.default_rng(0)
    >>> for n in range(1, 20_001):
    ...     side = guard.side(coins.toss(n))
    ...     loss = rng.uniform(0, 0.8) + (0.0 if side.baseline else 0.1)
    ...     if guard.told(side, loss):
    ...         print(f"round {n}: worse by {guard.whole.mean:.2f}")
    round 435: worse by 0.13
    >>> guard.state, guard.side(coins.toss(20_001)).baseline
    ('fallen back', True)
    """

    def __init__(
        self,
        share: float = 0.1,
        bounds: Sequence[float] | None = None,
        confidence: float = 0.95,
        margin: float = 0.0,
        after: int = 1000,
        window: int = 10_000,
    ) -> None:
        self.share = checks.between("share", share, 0.0, 1.0)
        self.bounds = None if bounds is None else _ends("bounds", bounds)
        self.confidence = checks.between("confidence", confidence, 0.0, 1.0)
        self.margin, self.after = checks.at_least_zero("margin", margin), checks.count("after", after, least=0)
        self.window = checks.count("window", window)
        self.state, self.period = ON, 1
        self.begin()

    @property
    def asymptotic(self) -> bool:
        """Whether the interval holds in the long run only, since the loss is not bounded."""
        return self.bounds is None

    def begin(self) -> None:
        """Compare from now on, and forget what was compared."""
        self.seen = self.cut = self.windows = 0
        """Rounds of this period, losses that were cut to the bounds, and windows that are over."""
        self.counts, self.sums, self.paid = [0, 0], [0.0, 0.0], [0.0, 0.0]
        """Rounds of learner and baseline that were compared, the sums of their losses (cut), and of losses as told."""
        self.deviations = 0.0
        """Squared deviations of all losses from their mean, whoever played."""
        self.whole, self.recent = self._sequence(), self._sequence()

    def _sequence(self) -> ConfidenceSequence:
        if self.bounds is None:
            return ConfidenceSequence(None, self.confidence, fewest=2 * FEWEST)
        length = self.bounds[1] - self.bounds[0]
        reach = length / min(self.share, 1.0 - self.share)
        return ConfidenceSequence((-reach, reach), self.confidence, (-length, length))

    # Rounds.

    def side(self, coin: float) -> Side:
        """Return who plays a round, by a coin that is evenly distributed between 0 and 1."""
        share = self.share if self.state == ON else 1.0
        return Side(coin < share, share, self.period)

    def told(self, side: Side, loss: float) -> bool:
        """Learn what a round has cost; return whether the guard falls back with it."""
        if side.period != self.period or self.state != ON or side.share != self.share:
            return False
        self.seen += 1
        if self.seen <= self.after:
            return False
        self._learn(side.baseline, loss)
        if not self._is_worse():
            if self.recent.n >= self.window:
                self.windows, self.recent = self.windows + 1, self._sequence()
            return False
        self.state = FALLEN_BACK
        return True

    def _learn(self, baseline: bool, loss: float) -> None:
        self.paid[baseline] += loss
        if self.bounds is not None:
            inside = min(max(loss, self.bounds[0]), self.bounds[1])
            self.cut, loss = self.cut + (inside != loss), inside
        middle = 0.0 if self.bounds is None else 0.5 * sum(self.bounds)
        known = sum(self.sums) / max(sum(self.counts), 1) if any(self.counts) else middle
        learner, other = (self.sums[k] / self.counts[k] if self.counts[k] else known for k in (0, 1))
        moved = -(loss - other) / self.share if baseline else (loss - learner) / (1.0 - self.share)
        term, n = learner - other + moved, sum(self.counts)
        if n:
            self.deviations += (loss - known) ** 2 * n / (n + 1)
        self.counts[baseline] += 1
        self.sums[baseline] += loss
        # The baseline has few rounds: what it has not seen yet, such as a rare large loss, the learner may have.
        least = self._least_variance()
        for sequence in (self.whole, self.recent):
            if sequence.bounds is not None:  # rounding may lead a hair beyond
                term = min(max(term, sequence.bounds[0]), sequence.bounds[1])
            sequence.learn(term)
            sequence.least_variance = least

    def _least_variance(self) -> float:
        """Return the variance of a term where both sides' losses are spread like all losses together."""
        return self.deviations / max(sum(self.counts), 1) / (self.share * (1.0 - self.share))

    def _is_worse(self) -> bool:
        if self.asymptotic and min(self.counts) < FEWEST:
            return False
        half, k = (1.0 - self.confidence) / 2.0, self.windows + 1
        return self.whole.above(self.margin, half) or self.recent.above(self.margin, half * 6.0 / (math.pi * k) ** 2)

    # What people decide.

    def resume(self) -> None:
        """Let the learner play again, and begin a new period; what may go wrong counts anew with it."""
        self.state, self.period = ON, self.period + 1
        self.begin()

    def fall_back(self) -> None:
        """Let the baseline play every round."""
        self.state = FALLEN_BACK

    # What is known.

    def interval(self) -> tuple[float, float]:
        """Return between which values the mean difference lies, learner minus baseline, since the period began."""
        if self.asymptotic and min(self.counts) < FEWEST:
            return -math.inf, math.inf
        return self.whole.interval()

    def status(self) -> dict[str, Any]:
        """Return all there is to know, as plain data; None stands for what is not known yet."""
        low, high = self.interval()
        names = ("booster", "baseline")
        return {
            "state": self.state,
            "difference": _known(self.whole.mean),
            "interval": [_known(low), _known(high)],
            "confidence": self.confidence,
            "asymptotic": self.asymptotic,
            "rounds": dict(zip(names, self.counts, strict=True)),
            "mean_loss": {
                name: self.paid[k] / self.counts[k] if self.counts[k] else None for k, name in enumerate(names)
            },
            "regret": self.whole.total,
            "rounds_before_comparing": max(self.after - self.seen, 0),
            "losses_beyond_bounds": self.cut,
            "period": self.period,
        }

    def settings(self) -> dict[str, Any]:
        """Return the arguments of a guard like this one."""
        names = ("share", "bounds", "confidence", "margin", "after", "window")
        found = {name: getattr(self, name) for name in names}
        return found | {"bounds": None if self.bounds is None else list(self.bounds)}

    def to_plain(self) -> dict[str, Any]:
        """Return settings and state as plain data, from which `from_plain` makes the same guard."""
        known = {name: getattr(self, name) for name in ("state", "period", "seen", "cut", "windows", "deviations")}
        known |= {name: list(getattr(self, name)) for name in ("counts", "sums", "paid")}
        return self.settings() | known | {"whole": self.whole.to_plain(), "recent": self.recent.to_plain()}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Guard:
        """Make a guard of what `to_plain` returned."""
        guard = cls(**{name: plain[name] for name in ("share", "bounds", "confidence", "margin", "after", "window")})
        guard.state = checks.one_of("state", plain["state"], (ON, FALLEN_BACK))
        for name in ("period", "seen", "cut", "windows"):
            setattr(guard, name, checks.count(name, plain[name], least=0))
        guard.counts = [checks.count("counts", value, least=0) for value in plain["counts"]]
        guard.sums, guard.paid = (checks.finite(name, plain[name], (2,)).tolist() for name in ("sums", "paid"))
        guard.deviations = checks.at_least_zero("deviations", plain["deviations"])
        for sequence, name in ((guard.whole, "whole"), (guard.recent, "recent")):
            sequence.restore(plain[name])
            sequence.least_variance = guard._least_variance()
        return guard


def _known(value: float) -> float | None:
    return value if np.isfinite(value) else None
