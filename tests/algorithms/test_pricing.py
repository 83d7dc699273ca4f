"""The recipe for prices: it earns more than any single price, at the prices shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.algorithms import boosted, pricing
from banditboost.critics import Sales
from banditboost.gradients import FromCritic

CUSTOMERS = 4000


def sell(booster: bb.Booster, shop: bb.worlds.Shop, begin: int = 0, end: int | None = None) -> np.ndarray:
    """Show a price to every customer, tell what was earned, and return the prices shown."""
    prices = []
    for t in range(begin, len(shop) if end is None else end):
        ticket = booster.ask(shop.context(t))
        prices.append(float(ticket.action))
        booster.tell(ticket, rewards=[prices[-1] if shop.values(t, ticket.queries) < 0 else 0.0])
    return np.array(prices)


def earns_more_than_any_single_price(booster: bb.Booster, shop: bb.worlds.Shop) -> None:
    prices, single = sell(booster, shop), shop.share(shop.best_constant)
    assert shop.share(prices) > single + 0.05, "it does not earn more than a single price"
    assert shop.share(prices, since=3 * CUSTOMERS // 4) > 0.975


@dataclass(frozen=True)
class Deaf(Sales):
    """Broken: never learns."""

    def learn(self, memory: Any, context: Any, point: float, loss: float) -> None:
        return


@pytest.mark.parametrize("seed", [0, 1])
def test_it_earns_more_than_any_single_price(seed: int) -> None:
    shop = bb.worlds.Shop(CUSTOMERS, seed=seed)
    earns_more_than_any_single_price(pricing(shop.space, seed=seed), shop)


def test_a_critic_that_never_learns_is_caught() -> None:
    shop = bb.worlds.Shop(CUSTOMERS, seed=0)
    with pytest.raises(AssertionError, match="does not earn more"):
        earns_more_than_any_single_price(pricing(shop.space, critic=Deaf()), shop)


def test_saved_half_way_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    shop = bb.worlds.Shop(600, seed=2)
    booster = pricing(shop.space, copies=6)
    sell(booster, shop, 0, 300)
    booster.save(tmp_path / "model.bb")
    again = bb.Booster.load(tmp_path / "model.bb")
    assert sell(again, shop, 300).tobytes() == sell(booster, shop, 300).tobytes()
    assert again.digest() == booster.digest()


def limits_do_not_spoil_other_rounds(gradient: FromCritic) -> None:
    """In half of the rounds prices must stay below 3: the other rounds are priced as well as ever."""
    shop, shown = bb.worlds.Shop(CUSTOMERS, seed=3), np.empty(CUSTOMERS)
    booster = boosted(shop.space, gradient=gradient)
    for t in range(CUSTOMERS):
        ticket = booster.ask(shop.context(t), space=(0.0, 3.0) if t % 2 else None)
        shown[t] = ticket.action
        booster.tell(ticket, losses=shop.values(t, ticket.queries))
    earned, best = shop.expected(shown), shop.expected(shop.best_prices)
    assert shown[1::2].max() <= 3.0
    free = np.arange(CUSTOMERS // 2, CUSTOMERS, 2)
    assert earned[free].sum() > 0.97 * best[free].sum(), "free rounds are priced badly"


@dataclass(frozen=True)
class Narrow(FromCritic):
    """Broken: copies learn what is best within the round's limits, and believe it in other rounds."""

    def estimate(self, answers: Any, probe: Any, space: Any, memory: Any) -> Any:
        return super().estimate(answers, probe, bb.spaces.Interval(*probe.law[2:, 0]), memory)


def test_limits_of_some_rounds_do_not_spoil_the_others() -> None:
    limits_do_not_spoil_other_rounds(FromCritic())


def test_copies_that_learn_limits_are_caught() -> None:
    with pytest.raises(AssertionError, match="free rounds are priced badly"):
        limits_do_not_spoil_other_rounds(Narrow())


def test_it_is_boosted_with_a_critic() -> None:
    space, explore = bb.spaces.Interval(0, 20), bb.explore.Explore(most=2.0)
    made = pricing(space, copies=5, explore=explore, seed=4, start=8.0)
    same = boosted(space, copies=5, gradient=FromCritic(Sales(), explore), seed=4, start=8.0, maximize=True)
    assert made.spec == same.spec
    ticket = made.ask([1.0])
    assert float(ticket.prediction) == 8.0
    assert abs(float(ticket.action) - 8.0) <= 2.0


def test_prices_are_numbers_above_zero() -> None:
    for space in (bb.spaces.Interval(-1, 1), bb.spaces.Ball(2, 1.0)):
        with pytest.raises(ValueError, match="space must be an Interval of prices, none of them negative"):
            pricing(space)
