"""The shop: sales and expected revenue by hand, the best prices by brute force, and the compiled loop."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost.worlds import Shop


@pytest.fixture(scope="module")
def shop() -> Shop:
    return Shop(customers=4000, seed=2)


def test_a_sale_is_a_price_up_to_the_willingness_to_pay(shop: Shop) -> None:
    for t in range(50):
        w = float(shop.labels()[t])
        prices = np.array([0.0, 0.5 * w, w, np.nextafter(w, 100.0), 10.0])
        assert shop.values(t, prices).tolist() == [0.0, -0.5 * w, -w, 0.0, 0.0 if w < 10 else -10.0]
        assert shop.values(t, prices).tolist() == shop.values(t, prices).tolist()


def test_sales_are_as_frequent_as_the_chances_say(shop: Shop) -> None:
    for price in (2.0, 3.0, 4.0, 5.0, 6.0):
        sold = np.array([-float(shop.values(t, np.asarray(price))) for t in range(len(shop))])
        chances = shop.chances(price)
        far = 4 * price * np.sqrt((chances * (1 - chances)).sum())
        assert abs(sold.sum() - shop.expected(price).sum()) < far
        np.testing.assert_allclose(shop.expected(price), price * chances)
        # Customers who are likelier to buy do buy more often.
        likely = chances > np.median(chances)
        assert sold[likely].mean() > sold[~likely].mean()


def test_chances_are_logistic_in_the_price(shop: Shop) -> None:
    def log_odds(price: float) -> np.ndarray:
        chances = shop.chances(price)
        return np.asarray(np.log(chances / (1 - chances)))

    np.testing.assert_allclose(log_odds(4.0) - log_odds(4.8), 1.0, rtol=1e-9)  # the scale is 0.08 of the highest price
    # The mean willingness to pay has the mean and the standard deviation that were asked for, and is nearly linear.
    means = 4.0 + 0.8 * log_odds(4.0)
    assert means.mean() == pytest.approx(5.0, abs=0.06)
    assert means.std() == pytest.approx(1.2, rel=0.03)
    features = np.column_stack([shop.contexts(), np.ones(len(shop))])
    residuals = means - features @ np.linalg.lstsq(features, means)[0]
    assert residuals.std() / means.std() == pytest.approx(0.3, abs=0.03)


def test_best_prices_beat_every_price_on_a_grid(shop: Shop) -> None:
    best = shop.expected(shop.best_prices)
    grid = np.linspace(0.0, 10.0, 2001)
    table = np.array([shop.expected(price) for price in grid])
    assert (table <= best * (1 + 1e-12)).all()
    np.testing.assert_allclose(grid[table.argmax(axis=0)], shop.best_prices, atol=0.0026)
    totals = table.sum(axis=1)
    assert shop.best_constant == pytest.approx(grid[totals.argmax()], abs=0.0026)
    assert shop.expected(shop.best_constant).sum() >= totals.max() * (1 - 1e-9)


def test_best_prices_stay_in_the_space() -> None:
    greedy = Shop(customers=500, spread=0.6, doubt=0.02, seed=1)
    prices = greedy.best_prices
    assert prices.max() == 10.0
    assert greedy.space.contains(prices).all()
    nudged = np.clip(prices - 0.01, 0.0, 10.0)
    assert (greedy.expected(nudged) <= greedy.expected(prices)).all()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_best_single_price_earns_about_nine_tenths(seed: int) -> None:
    shop = Shop(seed=seed)
    assert len(shop) == 20_000
    assert shop.features == 5
    assert 0.89 < shop.share(np.full(20_000, shop.best_constant)) < 0.91
    assert shop.share(shop.best_prices) == 1.0
    assert shop.share(shop.best_constant, since=18_000) == pytest.approx(shop.share(shop.best_constant), abs=0.02)


def test_the_share_of_the_last_rounds_counts_those_alone(shop: Shop) -> None:
    prices = shop.best_prices.copy()
    prices[:3000] = 0.0
    assert shop.share(prices, since=3000) == 1.0
    assert shop.share(prices) < 0.3


def test_money_may_have_any_unit() -> None:
    cents, euros = Shop(customers=300, highest=1000.0, seed=3), Shop(customers=300, highest=10.0, seed=3)
    np.testing.assert_allclose(cents.labels(), 100 * euros.labels())
    np.testing.assert_allclose(cents.best_prices, 100 * euros.best_prices)
    assert cents.share(300.0) == pytest.approx(euros.share(3.0))


def test_reordered_shops_keep_their_customers(shop: Shop) -> None:
    shuffled = shop.shuffled(7)
    assert isinstance(shuffled, Shop)
    assert not np.array_equal(shuffled.best_prices, shop.best_prices)
    np.testing.assert_array_equal(np.sort(shuffled.best_prices), np.sort(shop.best_prices))
    first, rest = shop.halves()
    whole = shop.expected(4.0)
    np.testing.assert_array_equal(np.concatenate([first.expected(4.0), rest.expected(4.0)]), whole)
    assert shop.head(10).best_prices.tolist() == shop.best_prices[:10].tolist()


def test_seeds_make_shops() -> None:
    one, same, other = (Shop(customers=20, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.labels(), same.labels())
    assert not np.array_equal(one.labels(), other.labels())


@pytest.mark.long
@pytest.mark.parametrize(
    "gradient", [bb.gradients.OnePoint(0.5), bb.gradients.Fitted(1.0), bb.gradients.Exact()], ids=str
)
def test_the_compiled_loop_sells_the_same(gradient: bb.gradients.Gradient) -> None:
    shop = Shop(customers=300, seed=1)
    spec = bb.Booster(copies=5, gradient=gradient, space=shop.space, seed=2).spec
    one, two = (bb.evaluate.progressive(bb.Booster.from_spec(spec), shop, compiled=kind) for kind in (True, False))
    assert one.compiled
    assert not two.compiled
    np.testing.assert_allclose(one.predictions, two.predictions, rtol=1e-9)
    np.testing.assert_allclose(one.paid, two.paid, rtol=0, atol=1e-9)
    assert one.losses.min() < -1


def test_bad_arguments_are_named(shop: Shop) -> None:
    with pytest.raises(ValueError, match=r"^customers must be a whole number of at least 1, got 0"):
        Shop(customers=0)
    with pytest.raises(ValueError, match=r"^doubt must be positive"):
        Shop(doubt=0.0)
    with pytest.raises(ValueError, match=r"^bend must "):
        Shop(bend=1.5)
    with pytest.raises(ValueError, match=r"^prices must be one number or have shape \(4000,\), got \(3,\)"):
        shop.expected([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"^since must be below the 4000 rounds"):
        shop.share(1.0, since=4000)
