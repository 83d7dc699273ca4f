"""The critic for sales: its update against slow fits, its prices against grids, its doubts against simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize

import banditboost as bb
from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.critics import Sales, sales
from banditboost.spaces import Interval
from banditboost.worlds import Shop

SPACE = Interval(2.0, 12.0)


def trained(critic: Sales, rounds: int, space: Interval = SPACE, features: int = 3, seed: int = 0) -> Memory:
    """A memory of uniform prices in a small market."""
    rng = np.random.default_rng(seed)
    memory = critic.start(features, space)
    for _ in range(rounds):
        x, price = rng.normal(1.0, 2.0, features), rng.uniform(space.low, space.high)
        worth = 7.0 + 0.5 * x.sum() + rng.logistic()
        critic.learn(memory, x, price, -price if price <= worth else 0.0)
    return memory


def design(critic: Sales, memory: Memory, x: Array, price: float) -> Array:
    """What the weights are multiplied by, made anew from the scaled features."""
    z = (x - memory["mean"]) / np.sqrt(memory["squares"] / memory["rounds"])
    pairs = [
        (z[i] * z[j] - (i == j)) / (math.sqrt(2) if i == j else 1.0) for i in range(len(z)) for j in range(i, len(z))
    ]
    u = (price - SPACE.low) / (SPACE.high - SPACE.low) - 0.5
    return np.array([1.0, *z, *(pairs if len(z) <= critic.products_up_to else []), u, *(u * z)])


def slow_posterior(theta: Array, covariance: Array, F: Array, y: Array) -> tuple[Array, Array]:
    """Maximum and inverse curvature of a normal prior times the likelihood of sales."""
    inverse = np.linalg.inv(covariance)

    def objective(w: Array) -> tuple[float, Array]:
        log_odds, away = F @ w, w - theta
        chances = 1 / (1 + np.exp(-log_odds))
        value = np.logaddexp(0, log_odds).sum() - y @ log_odds + 0.5 * away @ inverse @ away
        return float(value), F.T @ (chances - y) + inverse @ away

    found = minimize(objective, theta, jac=True, method="BFGS", options={"gtol": 1e-10}).x
    chances = 1 / (1 + np.exp(-F @ found))
    return found, np.asarray(np.linalg.inv(inverse + (F.T * (chances * (1 - chances))) @ F), dtype=np.float64)


def one_round_is_exact(rounds: int, sold: float, products_up_to: int) -> None:
    critic = Sales(products_up_to)
    memory = trained(critic, rounds)
    x, price = np.array([0.5, 3.0, -1.0]), 9.0
    before = {name: array.copy() for name, array in memory.items()}
    critic.learn(memory, x, price, -price * sold)
    f = design(critic, memory, x, price)  # by then the statistics hold this context, as they must
    weights, covariance = slow_posterior(before["weights"], before["covariance"], f[None], np.array([sold]))
    np.testing.assert_allclose(memory["weights"], weights, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(memory["covariance"], covariance, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("sold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("rounds", "products_up_to"), [(2, 12), (60, 12), (60, 2)])
def test_one_round_is_the_exact_maximum(rounds: int, sold: float, products_up_to: int) -> None:
    one_round_is_exact(rounds, sold, products_up_to)


def newton(log_odds: float, variance: float, y: float) -> float:
    """Broken: the curvature of the old log-odds instead of the new ones."""
    chance = sales._chance(log_odds)
    return (y - chance) / (1 + chance * (1 - chance) * variance)


def test_newtons_step_from_the_old_log_odds_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sales, "_step", newton)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        one_round_is_exact(60, 1.0, 12)


def test_many_rounds_come_close_to_the_fit_of_all() -> None:
    critic, rng, n = Sales(), np.random.default_rng(3), 2000
    memory = critic.start(2, SPACE)
    X, prices = rng.normal(1.0, 2.0, (n, 2)), rng.uniform(2.0, 12.0, n)
    sold = (prices <= 7.0 + X @ [0.5, -0.4] + 0.3 * X[:, 0] * X[:, 1] + rng.logistic(size=n)).astype(float)
    start = {name: array.copy() for name, array in memory.items()}
    for x, price, y in zip(X, prices, sold, strict=True):
        critic.learn(memory, x, price, -price * y)
    F = np.array([design(critic, memory, x, price) for x, price in zip(X, prices, strict=True)])
    weights, covariance = slow_posterior(start["weights"], start["covariance"], F, sold)
    slow = 1 / (1 + np.exp(-F @ weights))
    quick = np.array([critic.chances(memory, x, price) for x, price in zip(X, prices, strict=True)])
    assert np.abs(quick - slow).mean() < 0.01
    ratio = np.sqrt(np.diag(memory["covariance"]) / np.diag(covariance))
    assert 0.8 < ratio.min() <= ratio.max() < 1.25


def test_curve_and_slope_are_value_and_derivative() -> None:
    critic = Sales()
    memory, x, h = trained(critic, 200), np.array([0.0, 2.0, 1.0]), 1e-5
    prices = np.linspace(2.0, 12.0, 11)
    curve = critic.curve(memory, x, prices)
    np.testing.assert_allclose(curve, -prices * critic.chances(memory, x, prices))
    differences = (critic.curve(memory, x, prices + h) - critic.curve(memory, x, prices - h)) / (2 * h)
    np.testing.assert_allclose(critic.slope(memory, x, prices), differences, atol=1e-7)
    assert critic.curve(memory, x, 5.0).shape == ()
    assert np.ptp(curve) > 1


@pytest.mark.parametrize("limits", [SPACE, Interval(2.0, 4.0), Interval(9.0, 9.5)], ids=str)
def test_the_best_price_is_that_of_a_grid(limits: Interval) -> None:
    critic, rng = Sales(), np.random.default_rng(1)
    memory, grid = trained(critic, 300), np.linspace(limits.low, limits.high, 4001)
    for _ in range(20):
        x = rng.normal(1.0, 2.0, 3)
        best = critic.best(memory, x, limits)
        assert best == pytest.approx(grid[np.argmin(critic.curve(memory, x, grid))], abs=0.0026)


def test_where_sales_do_not_fall_with_the_price_the_highest_is_best() -> None:
    critic = Sales()
    memory = critic.start(0, SPACE)
    assert critic.best(memory, None, Interval(0.0, 100.0)) < 100
    memory["weights"][-1] = 0.5
    assert critic.best(memory, None, SPACE) == 12.0
    assert critic.uncertainty(memory, None, SPACE) == 5.0
    assert critic.scale(memory, None) == 5.0


def doubts_are_those_of_the_posterior(limits: Interval) -> None:
    critic, rng = Sales(), np.random.default_rng(2)
    memory = trained(critic, 3000)
    for _ in range(5):
        x = rng.normal(1.0, 1.0, 3)
        stated = critic.uncertainty(memory, x, limits)
        drawn = rng.multivariate_normal(memory["weights"], memory["covariance"], 4000)
        prices = [critic.best({**memory, "weights": weights}, x, limits) for weights in drawn]
        assert stated == pytest.approx(np.std(prices), rel=0.12, abs=1e-3)


@pytest.mark.parametrize("limits", [SPACE, Interval(5.0, 5.8), Interval(11.0, 12.0)], ids=str)
def test_the_doubt_about_a_price_is_that_of_the_posterior(limits: Interval) -> None:
    doubts_are_those_of_the_posterior(limits)


def test_doubts_about_the_level_alone_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right: Callable[[Memory, sales.Line], tuple[float, float, float]] = sales._peak
    monkeypatch.setattr(sales, "_peak", lambda memory, line: (*right(memory, line)[:2], 0.0))
    with pytest.raises(AssertionError):
        doubts_are_those_of_the_posterior(SPACE)


@pytest.mark.parametrize(
    ("mean", "spread"), [(5.0, 0.1), (5.0, 3.0), (2.0, 1.0), (14.0, 2.0), (-40.0, 1.0), (7.0, 500.0)]
)
def test_the_spread_of_a_number_that_is_cut_off(mean: float, spread: float) -> None:
    drawn = SPACE.project(np.random.default_rng(0).normal(mean, spread, 200_000))
    assert sales._cut_off_spread(mean, spread, SPACE) == pytest.approx(drawn.std(), rel=0.01, abs=1e-9)


def test_at_first_any_price_may_be_best() -> None:
    critic = Sales()
    memory = critic.start(5, Interval(0.0, 10.0))
    x = np.ones(5)
    assert critic.best(memory, x, Interval(0.0, 10.0)) == pytest.approx(5.0)
    assert critic.uncertainty(memory, x, Interval(0.0, 10.0)) > 0.25 * 10
    assert critic.chances(memory, x, [0.0, 5.0, 10.0]) == pytest.approx([0.8808, 0.5, 0.1192], abs=1e-4)


def test_a_surprise_does_not_throw_log_odds_far_away() -> None:
    """A sale where log-odds were -14 in a direction of which little is known."""
    log_odds, variance = -14.0, 400.0
    k = sales._step(log_odds, variance, 1.0)
    assert k == pytest.approx(1 - 1 / (1 + math.exp(-(log_odds + variance * k))), abs=1e-12)
    assert 0 < log_odds + variance * k < 5
    assert log_odds + variance * newton(log_odds, variance, 1.0) > 300


@pytest.mark.parametrize("y", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("variance", [0.0, 1e-9, 1.0, 1e6])
@pytest.mark.parametrize("log_odds", [-800.0, -3.0, 0.0, 40.0])
def test_every_step_solves_its_equation(y: float, variance: float, log_odds: float) -> None:
    k = sales._step(log_odds, variance, y)
    assert k == pytest.approx(y - sales._chance(log_odds + variance * k), abs=1e-8)


def test_money_may_have_any_unit() -> None:
    critic = Sales()
    rng, cents, euros = (
        np.random.default_rng(4),
        critic.start(2, Interval(100.0, 900.0)),
        critic.start(2, Interval(1.0, 9.0)),
    )
    for _ in range(200):
        x, price, sold = rng.normal(size=2), rng.uniform(1.0, 9.0), rng.random() < 0.5
        critic.learn(euros, x, price, -price * sold)
        critic.learn(cents, x, 100 * price, -100 * price * sold)
    for ask in (critic.best, critic.uncertainty):
        assert ask(cents, x, Interval(100.0, 900.0)) == pytest.approx(100 * ask(euros, x, Interval(1.0, 9.0)))
    assert critic.scale(cents, x) == pytest.approx(100 * critic.scale(euros, x))


def test_looking_changes_nothing_and_free_goods_teach_nothing_about_sales() -> None:
    critic, space = Sales(), Interval(0.0, 10.0)
    memory = trained(critic, 20, space)
    before, x = {name: array.copy() for name, array in memory.items()}, np.ones(3)
    critic.curve(memory, x, 3.0), critic.slope(memory, x, 3.0), critic.best(memory, x, space)
    critic.uncertainty(memory, x, space), critic.scale(memory, x)
    assert all((memory[name] == before[name]).all() for name in before)
    critic.learn(memory, x, 0.0, 0.0)
    assert (memory["weights"] == before["weights"]).all()
    assert (memory["covariance"] == before["covariance"]).all()
    assert memory["rounds"] == 21


def test_many_features_are_linear() -> None:
    assert len(Sales().start(12, SPACE)["weights"]) == 1 + 12 + 78 + 13
    assert len(Sales().start(13, SPACE)["weights"]) == 1 + 13 + 14
    memory = trained(Sales(), 50, features=13)
    assert 2.0 <= Sales().best(memory, np.ones(13), SPACE) <= 12.0


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_shop_that_explores_as_far_as_it_doubts_earns_nearly_everything(seed: int) -> None:
    shop, critic, rng = Shop(customers=3000, seed=seed), Sales(), np.random.default_rng(seed)
    memory, space, prices = critic.start(shop.features, shop.space), shop.space, np.zeros(3000)
    for t in range(3000):
        x = shop.context(t)
        centre, reach = critic.best(memory, x, space), math.sqrt(3) * critic.uncertainty(memory, x, space)
        prices[t] = rng.uniform(max(centre - reach, space.low), min(centre + reach, space.high))
        critic.learn(memory, x, prices[t], float(shop.values(t, prices[t])))
    assert shop.share(prices) > 0.96
    assert shop.share(prices, since=2000) > 0.98
    assert np.linalg.eigvalsh(memory["covariance"]).min() > 0
    np.testing.assert_allclose(memory["covariance"], memory["covariance"].T, atol=1e-12)


def test_a_spec_like_any_other() -> None:
    bb.testing.check_spec(Sales())
    with pytest.raises(ValueError, match=r"^products_up_to must be a whole number of at least 0, got -1"):
        Sales(products_up_to=-1)
    for space in (Interval(-1.0, 1.0), bb.spaces.Ball(2)):
        with pytest.raises(ValueError, match=r"^space must be an Interval of prices, none of them negative, got "):
            Sales().start(3, space)
