"""A guard falls back where the learner is worse, hardly ever where it is not, and says the same after it was written down."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from banditboost.evaluate import Coins, Guard

Loss = Callable[[np.random.Generator, bool, int], float]


def fallen(make: Callable[[], Guard], loss: Loss, seed: int, rounds: int) -> int:
    """The round in which a guard falls back; zero where it does not."""
    guard, coins, rng = make(), Coins(seed), np.random.default_rng([3, seed])
    for n in range(1, rounds + 1):
        side = guard.side(coins.toss(n))
        if guard.told(side, loss(rng, side.baseline, n)):
            return n
    return 0


def same(rng: np.random.Generator, baseline: bool, n: int) -> float:
    return float(rng.random())


def rare(rng: np.random.Generator, baseline: bool, n: int) -> float:
    """Large losses that the few rounds of the baseline have hardly seen."""
    return 30.0 * (rng.random() < 0.02)


def worse(rng: np.random.Generator, baseline: bool, n: int) -> float:
    return float(rng.random()) + (0.0 if baseline else 0.2)


def worse_later(rng: np.random.Generator, baseline: bool, n: int) -> float:
    """Better for long, and then worse by less than it has gained."""
    return 1.0 + float(rng.random()) + (0.0 if baseline else -0.4 if n <= 4000 else 0.3)


def bounded(**more: Any) -> Guard:
    return Guard(**{"share": 0.2, "bounds": (0, 2.3), "confidence": 0.9, "after": 0, **more})


def test_nobody_falls_back_from_a_learner_that_is_as_good() -> None:
    for make in (bounded, lambda: bounded(bounds=None)):
        assert sum(fallen(make, same, seed, 1000) > 0 for seed in range(40)) <= 4


def test_a_guard_that_looks_as_if_once_falls_back_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def once(guard: Guard) -> bool:
        sequence = guard.whole
        return sequence.n > 50 and sequence.mean > 1.645 * math.sqrt(sequence.squares) / sequence.n

    monkeypatch.setattr(Guard, "_is_worse", once)
    assert sum(fallen(bounded, same, seed, 1000) > 0 for seed in range(40)) > 8


def test_rare_losses_that_the_baseline_has_not_seen_yet_are_reckoned_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def make() -> Guard:
        return bounded(bounds=None, share=0.1)

    assert sum(fallen(make, rare, seed, 1500) > 0 for seed in range(30)) <= 3
    monkeypatch.setattr(Guard, "_least_variance", lambda guard: 0.0)
    assert sum(fallen(make, rare, seed, 1500) > 0 for seed in range(30)) > 5


@pytest.mark.parametrize("bounds", [(0, 2.3), None])
def test_a_learner_that_is_worse_is_left(bounds: Any) -> None:
    found = [fallen(lambda: bounded(bounds=bounds), worse, seed, 5000) for seed in range(5)]
    assert all(0 < n < 3000 for n in found)
    assert [fallen(lambda: bounded(bounds=bounds, margin=0.5), worse, seed, 3000) for seed in range(5)] == [0] * 5
    assert all(n > 500 for n in (fallen(lambda: bounded(bounds=bounds, after=500), worse, s, 5000) for s in range(5)))


def test_a_learner_that_turns_bad_is_left_soon() -> None:
    # Over all rounds it is still the better one: the window notices.
    found = fallen(lambda: bounded(window=1500), worse_later, 0, 7000)
    assert 4000 < found < 6500
    assert fallen(lambda: bounded(window=10**9), worse_later, 0, 7000) == 0


def test_what_is_compared() -> None:
    guard = Guard(share=0.25, bounds=(0, 10), after=2)
    coins = iter([0.9, 0.1, 0.9, 0.1, 0.9])
    sides = [guard.side(next(coins)) for _ in range(5)]
    assert [side.baseline for side in sides] == [False, True, False, True, False]
    for side, loss in zip(sides, (1.0, 2.0, 4.0, 6.0, 12.0), strict=True):
        assert not guard.told(side, loss)
    assert (guard.counts, guard.paid, guard.cut) == ([2, 1], [16.0, 6.0], 1)
    # By hand: 5 is believed of both at first, then 4 of both, then 4 and 6 of learner and baseline.
    terms = [(4 - 5) / 0.75, -(6 - 4) / 0.25, 4 - 6 + (10 - 4) / 0.75]
    assert guard.whole.mean == pytest.approx(np.mean(terms))
    status = guard.status()
    assert status["rounds"] == {"booster": 2, "baseline": 1}
    assert status["losses_beyond_bounds"] == 1
    assert status["rounds_before_comparing"] == 0
    json.dumps(status, allow_nan=False)


def test_the_terms_are_unbiased_whatever_the_losses_do() -> None:
    # Losses change over time and with the side; every coin is averaged over by its probability.
    rng, share = np.random.default_rng(0), 0.3
    guard, errors = Guard(share=share, bounds=(0, 4), after=0), []
    for n in range(60):
        learner, baseline = 1 + math.sin(n), 2 + math.cos(n)
        ends = []
        for side, loss in ((guard.side(0.9), learner), (guard.side(0.1), baseline)):
            trial = Guard.from_plain(guard.to_plain())
            trial.told(side, loss)
            ends.append(trial.whole.total - guard.whole.total)
        errors.append((1 - share) * ends[0] + share * ends[1] - (learner - baseline))
        side = guard.side(rng.random())
        guard.told(side, baseline if side.baseline else learner)
    np.testing.assert_allclose(errors, 0.0, atol=1e-12)


@pytest.mark.parametrize("bounds", [(0, 2), None])
def test_what_was_written_down_goes_on_the_same(bounds: Any) -> None:
    guard, rng, coins = Guard(0.3, bounds, after=5, window=20), np.random.default_rng(0), Coins(1)
    for n in range(1, 400):
        side = guard.side(coins.toss(n))
        guard.told(side, rng.random())
        if n % 50 == 0:
            again = Guard.from_plain(json.loads(json.dumps(guard.to_plain())))
            assert again.to_plain() == guard.to_plain()
            assert again.status() == guard.status()
            guard = again
    assert guard.windows >= 15
    for name, wrong in (("state", "lost"), ("counts", [-1, 0]), ("deviations", -1.0), ("whole", [1.5, 0, 0])):
        with pytest.raises(ValueError, match=r"\.$"):
            Guard.from_plain(guard.to_plain() | {name: wrong})


def test_people_decide() -> None:
    guard = Guard(after=0)
    early = guard.side(0.01)
    guard.fall_back()
    assert guard.side(0.999).baseline
    assert not guard.told(early, 1.0)
    guard.resume()
    assert not guard.side(0.999).baseline
    assert not guard.told(early, 1.0)  # of an earlier period
    assert (guard.period, guard.whole.n, guard.state) == (2, 0, "on")


def test_coins_are_the_same_in_any_order() -> None:
    in_order = [Coins(3).toss(n) for n in range(5)]
    coins = Coins(3)
    assert [coins.toss(n) for n in (4, 0, 1, 3, 2)] == [in_order[n] for n in (4, 0, 1, 3, 2)]
    assert Coins(4).toss(0) != in_order[0]


def test_settings_are_checked() -> None:
    for wrong in (
        {"share": 0.0}, {"share": 1.0}, {"bounds": [2, 1]}, {"confidence": 1.0}, {"margin": -1}, {"after": -1}, {"window": 0}
    ):  # fmt: skip
        with pytest.raises(ValueError, match="must"):
            Guard(**wrong)
