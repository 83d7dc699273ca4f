"""Confidence sequences hold at all times at once, and what is not one is noticed."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.evaluate import ConfidenceSequence
from banditboost.evaluate.sequences import log_gamma_exponential, log_half_normal, tightest

STREAMS, ROUNDS = 200, 600
Draw = Callable[[np.random.Generator, int], tuple[Array, Array]]


def coins(rng: np.random.Generator, rounds: int) -> tuple[Array, Array]:
    return rng.integers(0, 2, rounds).astype(float), np.full(rounds, 0.5)


def rare(rng: np.random.Generator, rounds: int) -> tuple[Array, Array]:
    return (rng.random(rounds) < 0.02).astype(float), np.full(rounds, 0.02)


def moving(rng: np.random.Generator, rounds: int) -> tuple[Array, Array]:
    """Means that depend on what came before: high after low terms."""
    terms, means, last = np.zeros(rounds), np.zeros(rounds), 0.0
    for i, draw in enumerate(rng.random(rounds)):
        means[i] = 0.2 + 0.5 * (last < 0.5)
        last = terms[i] = float(draw < means[i])
    return terms, means


class FixedTime(ConfidenceSequence):
    """What is wrong: an interval for one look, watched all the time."""

    def _log_mixture(self, s: float) -> float:
        deviation = math.sqrt(self.squares / self.n) if self.squares else 1.0
        z = s / deviation / math.sqrt(self.n)
        return math.inf if z >= 1.96 else -math.inf

    def interval(self) -> tuple[float, float]:
        reach = 1.96 * math.sqrt(self.squares / self.n / self.n) if self.n > 20 else math.inf
        return self.mean - reach, self.mean + reach


def misses(make: Callable[[], ConfidenceSequence], draw: Draw) -> float:
    """The share of streams in which the interval does not hold the mean of the conditional means at some time."""
    missed = 0
    for seed in range(STREAMS):
        terms, means = draw(np.random.default_rng([7, seed]), ROUNDS)
        sequence, truth = make(), np.cumsum(means) / np.arange(1, ROUNDS + 1)
        for t, x in enumerate(terms):
            sequence.learn(x)
            if t % 5 == 0:  # `above` is compared with intervals below
                low, high = sequence.interval()
                if not low <= truth[t] <= high:
                    missed += 1
                    break
    return missed / STREAMS


@pytest.mark.parametrize("draw", [coins, rare, moving])
def test_bounded_terms_are_covered_at_all_times(draw: Draw) -> None:
    assert misses(lambda: ConfidenceSequence((0, 1), 0.9), draw) <= 0.1


def test_an_interval_for_one_look_is_noticed() -> None:
    assert misses(lambda: FixedTime((0, 1), 0.9), coins) > 0.3


def test_the_asymptotic_sequence_covers_where_there_are_many() -> None:
    def heavy(rng: np.random.Generator, rounds: int) -> tuple[Array, Array]:
        return rng.exponential(size=rounds), np.ones(rounds)

    assert misses(lambda: ConfidenceSequence(None, 0.9, fewest=100), heavy) <= 0.1


def test_intervals_shrink_and_are_not_wasteful() -> None:
    rng, bounded, free = np.random.default_rng(0), ConfidenceSequence((0, 1)), ConfidenceSequence(None)
    assert bounded.interval() == (0.0, 1.0)
    assert free.interval() == (-math.inf, math.inf)
    assert math.isnan(free.mean)
    widths = []
    for n in range(1, 20_001):
        x = float(rng.random() < 0.3)
        bounded.learn(x)
        free.learn(x)
        if n in (200, 2000, 20_000):
            one_look = 2 * 1.96 * math.sqrt(0.21 / n)
            widths.append(bounded.interval()[1] - bounded.interval()[0])
            assert one_look < widths[-1] < 3.0 * one_look
            assert one_look < free.interval()[1] - free.interval()[0] < 2.2 * one_look
    assert widths[0] > widths[1] > widths[2]


@pytest.mark.parametrize("bounds", [(0.0, 3.0), None])
def test_what_lies_above_is_what_the_interval_says(bounds: tuple[float, float] | None) -> None:
    rng, sequence = np.random.default_rng(1), ConfidenceSequence(bounds, 0.9)
    for _ in range(400):
        sequence.learn(rng.choice([0.0, 1.0, 3.0]))
    low, _ = sequence.interval()
    assert sequence.above(low - 1e-6)
    assert not sequence.above(low + 1e-6)
    assert not sequence.above(low - 1e-6, alpha=1e-4)
    again = ConfidenceSequence(bounds, 0.9)
    again.restore(sequence.to_plain())
    assert again.interval() == sequence.interval()
    with pytest.raises(ValueError, match="damaged"):
        again.restore([-1.0, 0.0, 0.0])


def test_mixtures_are_supermartingales_of_the_right_size() -> None:
    # The mean of the mixture over a fair coin's tosses stays at one or below, and begins at one.
    for scale in (0.5, 1.0):
        assert log_gamma_exponential(0.0, 0.0, 3.0, scale) == pytest.approx(0.0, abs=1e-12)
        both = [math.exp(log_gamma_exponential(s, 0.25, 3.0, scale)) for s in (0.5, 0.0)]
        assert both[0] > 1.0 > both[1]
    assert log_half_normal(0.0, 0.0, 3.0) == pytest.approx(0.0, abs=1e-12)
    assert tightest(100.0, 0.05) > tightest(100.0, 0.001)


def test_what_is_given_is_checked() -> None:
    for wrong in ({"bounds": (1, 0)}, {"bounds": (0, math.inf)}, {"confidence": 1.0}, {"fewest": 0}):
        with pytest.raises(ValueError, match="must"):
            ConfidenceSequence(**wrong)
    sequence = ConfidenceSequence((0, 1))
    with pytest.raises(ValueError, match="between 0 and 1"):
        sequence.learn(1.5)
    assert sequence.n == 0
