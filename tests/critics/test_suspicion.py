"""Whoever tells a critic for sales 1 for "sold" is warned once; whoever tells what was earned never is."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import banditboost as bb

SPACE = bb.spaces.Interval(0, 10)


def sell(booster: bb.Booster, earned: Callable[[float], float], customers: int = 60) -> None:
    """Sell to every second customer."""
    for t in range(customers):
        ticket = booster.ask([0.5])
        booster.tell(ticket, rewards=earned(float(ticket.action)) if t % 2 else 0.0)


def test_one_for_a_sale_is_warned_of_once_and_names_what_to_tell() -> None:
    with pytest.warns(UserWarning, match=r"must be what was earned, .*, got 1 for each of 5 sales") as caught:
        sell(bb.algorithms.pricing(SPACE, copies=3), lambda price: 1.0)
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the warning does not point to the call of tell"


def test_what_was_earned_with_the_wrong_sign_is_warned_of_once() -> None:
    with pytest.warns(
        UserWarning, match=r"got a cost as high as the price for each of 5 sales in a row, .* wrong sign"
    ) as caught:
        sell(bb.algorithms.pricing(SPACE, copies=3), lambda price: -price)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "earned",
    [
        lambda price: price,
        lambda price: price - 9.0,
        lambda price: price - 2.0,
        lambda price: 3.0 * price,
        lambda price: float(np.ceil(price)),
        lambda price: price if price < 5 else 1.0,
    ],
)
def test_what_was_earned_is_never_warned_of(earned: Callable[[float], float]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sell(bb.algorithms.pricing(SPACE, copies=3), earned)


@pytest.mark.parametrize("price", [1.0, 9.0])
def test_the_same_price_for_all_earns_the_same_and_is_not_warned_of(price: float) -> None:
    booster = bb.algorithms.pricing(SPACE, copies=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            ticket = booster.ask([0.5])
            booster.tell(ticket, rewards=[1.0], actions=[price])


def test_a_price_that_is_rounded_without_a_word_is_not_warned_of() -> None:
    booster = bb.algorithms.pricing(bb.spaces.Interval(9.5, 10.5), copies=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sell(booster, lambda price: 9.99)


def test_where_warnings_are_errors_nothing_has_changed() -> None:
    booster = bb.algorithms.pricing(SPACE, copies=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(4):
            booster.tell(booster.ask([0.5]), rewards=1.0)
        ticket = booster.ask([0.5])
        before = booster.digest()
        with pytest.raises(UserWarning, match="got 1 for each"):
            booster.tell(ticket, rewards=1.0)
        assert booster.digest() == before
        booster.tell(ticket, rewards=1.0)
    assert booster.rounds == 5


def test_actions_of_others_are_looked_at_too() -> None:
    booster, prices = bb.algorithms.pricing(SPACE, copies=3), np.random.default_rng(0).uniform(1, 9, 5)
    for price in prices[:4]:
        booster.learn([0.5], price, reward=1.0)
    with pytest.warns(UserWarning, match="got 1 for each"):
        booster.learn([0.5], prices[4], reward=1.0)
