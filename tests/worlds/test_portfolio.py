"""Portfolios: gradients by differences, constants by samples, the best rebalanced portfolio with its certificate."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.algorithms import projection_free
from banditboost.evaluate import progressive
from banditboost.noise import Rademacher
from banditboost.worlds import Portfolio, market


def wild(rounds: int, assets: int, seed: int, size: float = 1.0) -> Portfolio:
    """A market in which prices may double or more in a day."""
    return Portfolio(np.exp(size * np.random.default_rng(seed).normal(size=(rounds, assets))))


WORLDS: dict[str, Portfolio] = {
    "calm": market(60, 4, seed=1),
    "two assets": market(60, 2, seed=2),
    "wild": wild(25, 5, 3),
    "one day": wild(1, 3, 4),
    "hardly anything moves": wild(30, 4, 5, 1e-4),
    "one asset is best every day": Portfolio(wild(20, 3, 6).relatives * [1.0, 1e3, 1.0]),
    "two assets are the same": Portfolio(wild(20, 3, 7).relatives[:, [0, 1, 1, 2]]),
}

each_world = pytest.mark.parametrize("name", WORLDS)


def splits(world: Portfolio, n: int, seed: int = 91) -> Array:
    """Members of the simplex: corners, sparse ones, mixed ones."""
    rng, d = np.random.default_rng(seed), world.space.size
    return np.concatenate([np.eye(d), rng.dirichlet(np.full(d, 0.1), n), rng.dirichlet(np.ones(d), n)])


def total(world: Portfolio, x: Array) -> float:
    return -sum(math.log(sum(float(r) * float(p) for r, p in zip(day, x, strict=True))) for day in world.relatives)


# Losses, gradients, constants.


@each_world
def test_the_loss_is_the_negative_growth_rate(name: str) -> None:
    world, fortune = WORLDS[name], 1.0
    x = splits(world, 1)[-1]
    for t in range(len(world)):
        holdings = [fortune * float(p) * float(r) for p, r in zip(x, world.relatives[t], strict=True)]
        assert world.values(t, x) == pytest.approx(-math.log(sum(holdings) / fortune), rel=1e-9, abs=1e-14)
        fortune = sum(holdings)
    assert sum(float(world.values(t, x)) for t in range(len(world))) == pytest.approx(-math.log(fortune), abs=1e-12)


@each_world
def test_gradients_are_those_of_the_values(name: str) -> None:
    world = WORLDS[name]
    points, d = splits(world, 4), world.space.size
    for t in range(len(world)):
        gradients = world.gradients(t, points)
        assert gradients.shape == points.shape
        for j in range(d):
            # Steps that change the fortune by a millionth of itself at most.
            h = 1e-6 * (points @ world.relatives[t]) / world.relatives[t, j]
            step = h[:, np.newaxis] * np.eye(d)[j]
            slopes = (world.values(t, points + step) - world.values(t, points - step)) / (2 * h)
            np.testing.assert_allclose(gradients[:, j], slopes, rtol=1e-6)
        # One point alone, and any leading axes, as well as many.
        np.testing.assert_array_equal(world.gradients(t, points[0]), gradients[0])
        assert world.values(t, points[0]) == world.values(t, points)[0]
        twice = np.stack([points, points])
        np.testing.assert_array_equal(world.gradients(t, twice), np.stack([gradients, gradients]))
        assert world.values(t, twice).shape == twice.shape[:-1]


@each_world
def test_constants_bound_what_they_say_and_no_smaller_ones_do(name: str) -> None:
    world = WORLDS[name]
    points = splits(world, 40)
    rng = np.random.default_rng(92)
    slopes, values, curvature = 0.0, 0.0, 0.0
    for t in range(len(world)):
        gradients = world.gradients(t, points)
        slopes = max(slopes, float(np.linalg.norm(gradients, axis=1).max()))
        values = max(values, float(np.abs(world.values(t, points)).max()))
        one, two = points[rng.permutation(len(points))], points
        apart = np.linalg.norm(one - two, axis=1)
        turned = np.linalg.norm(world.gradients(t, one) - world.gradients(t, two), axis=1)
        assert (turned <= world.smoothness * apart * (1 + 1e-9) + 1e-12).all()
        # The Hessian r rᵀ/(r·x)² has the one eigenvalue ‖r‖²/(r·x)², largest at the corner of the least r.
        r = world.relatives[t]
        step = 1e-7 * r / np.linalg.norm(r)
        corner = np.eye(len(r))[np.argmin(r)]
        change = np.linalg.norm(world.gradients(t, corner + step) - world.gradients(t, corner - step)) / 2e-7
        curvature = max(curvature, float(change))
    assert slopes == pytest.approx(world.lipschitz, rel=1e-12)  # corners are among the samples
    assert slopes <= world.lipschitz * (1 + 1e-12)
    assert values == pytest.approx(world.bound, rel=1e-12)
    assert curvature == pytest.approx(world.smoothness, rel=1e-3)


def test_sigma_bounds_answered_gradients() -> None:
    noise = Rademacher(0.2)
    world = Portfolio(WORLDS["wild"].relatives, noise, seed=4)
    assert world.sigma == pytest.approx(world.lipschitz + 0.2 * math.sqrt(5), rel=1e-14)
    booster, rng = projection_free(world.space, horizon=25, sigma=world.sigma, copies=6), stream(4, "noise")
    for t in range(25):
        ticket = booster.ask()
        answers = world.answer(t, ticket, True, rng)
        assert (np.linalg.norm(answers, axis=1) <= world.sigma).all()
        np.testing.assert_allclose(np.abs(answers - world.gradients(t, ticket.queries)), 0.2, rtol=1e-9)
        booster.tell(ticket, answers)


# The best constantly rebalanced portfolio.


def solved(world: Portfolio) -> tuple[float, Array]:
    """The least total a solver finds from a few starts."""
    d = world.space.size
    best, where = math.inf, np.full(d, 1 / d)

    def objective(x: Array) -> float:
        return -float(np.log(world.relatives @ x).sum())

    def slope(x: Array) -> Array:
        return np.asarray(-(world.relatives / (world.relatives @ x)[:, np.newaxis]).sum(axis=0))

    for start in (np.full(d, 1 / d), *splits(world, 2, seed=93)[-2:]):
        found: Any = optimize.minimize(
            objective,
            start,
            jac=slope,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * d,
            constraints=optimize.LinearConstraint(np.ones((1, d)), 1.0, 1.0),
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        x = np.maximum(np.asarray(found.x), 0.0)
        x = x / x.sum()
        if total(world, x) < best:
            best, where = total(world, x), x
    return best, where


@each_world
def test_the_best_portfolio_is_within_its_gap_of_a_solvers(name: str) -> None:
    world = WORLDS[name]
    best = world.best()
    assert world.space.contains(best.point)
    np.testing.assert_allclose(best.losses, [float(world.values(t, best.point)) for t in range(len(world))], atol=1e-14)
    paid = total(world, best.point)
    assert best.losses.sum() == pytest.approx(paid, abs=1e-11)
    least, _ = solved(world)
    assert best.gap >= 0
    assert paid - least <= best.gap + 1e-12 * len(world)
    # Where prices hardly move the updates hardly do: they stop early there, and the gap says so.
    if name != "hardly anything moves":
        assert best.gap <= 1e-7 * len(world)
    for x in splits(world, 300):
        assert paid <= total(world, x) + best.gap + 1e-12 * len(world)


@pytest.mark.parametrize("name", ["wild", "calm"])
def test_the_gap_is_what_convexity_certifies(name: str) -> None:
    """No member lies below the tangent plane at the point, and over the simplex that is least at a corner."""
    world = WORLDS[name]
    best = world.best()
    slope = sum((world.gradients(t, best.point) for t in range(len(world))), np.zeros(world.space.size))
    certified = float(slope @ best.point - slope.min())
    assert best.gap == pytest.approx(certified, rel=1e-6, abs=1e-11)


def test_known_best_portfolios() -> None:
    # Shannon's demon: cash, and a stock that doubles or halves; half of each grows by 9/8 in two days.
    best = Portfolio([[1.0, 2.0], [1.0, 0.5]] * 10).best()
    np.testing.assert_allclose(best.point, [0.5, 0.5], atol=1e-9)
    assert best.losses.sum() == pytest.approx(-10 * math.log(9 / 8), rel=1e-12)
    # Kelly: a fair coin that pays u or d against cash. x = -(u+d)/(2ud) for returns u = 1, d = -0.6.
    best = Portfolio([[1.0, 2.0], [1.0, 0.4]]).best()
    np.testing.assert_allclose(best.point, [2 / 3, 1 / 3], atol=1e-3)
    assert best.losses.sum() == pytest.approx(-math.log(4 / 3 * 0.8), abs=best.gap + 1e-12)
    # One asset beats all others every day: all of it, and the gap says how nearly.
    world = WORLDS["one asset is best every day"]
    best = world.best()
    assert best.losses.sum() + np.log(world.relatives[:, 1]).sum() <= best.gap + 1e-12
    assert best.point[1] == pytest.approx(1.0, abs=1e-6)


def test_losses_of_a_run_keep_the_bound_and_the_best_beats_the_uniform_split() -> None:
    world = market(400, 4, seed=9)
    trace = progressive(
        projection_free(world.space, horizon=400, smoothness=world.smoothness, sigma=world.sigma), world
    )
    uniform = np.array([float(world.values(t, world.space.inner_centre)) for t in range(400)])
    best = world.best()
    assert best.losses.sum() - best.gap <= uniform.sum()
    assert np.abs(trace.losses).max() <= world.bound


# The synthetic market.


@pytest.mark.parametrize("assets", [2, 7])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_market_is_bounded_and_follows_its_seed(assets: int, seed: int) -> None:
    world = market(300, assets, seed)
    assert world.relatives.shape == (300, assets)
    assert len(world) == 300
    assert world.space.size == assets
    assert (np.abs(np.log(world.relatives)) <= 0.2 + 1e-12).all()
    assert world.bound <= 0.2 + 1e-12
    assert world.lipschitz <= math.sqrt(assets) * math.exp(0.4)
    assert world.seed == seed
    np.testing.assert_array_equal(market(300, assets, seed).relatives, world.relatives)
    assert (market(300, assets, seed + 1).relatives != world.relatives).all()


def test_the_markets_returns_are_cut_at_a_fifth() -> None:
    assert market(100_000, 20, seed=7).bound == pytest.approx(0.2, rel=1e-12)


def test_some_assets_of_the_market_move_against_each_other() -> None:
    returns = np.log(market(2000, 8, seed=3).relatives)
    correlations = np.corrcoef(returns.T)[np.triu_indices(8, 1)]
    assert correlations.min() < -0.2
    assert correlations.max() > 0.2
    assert (returns.std(axis=0) > 0.004).all()


# Refusals.


@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (3, 1), (3, 0), (2, 2, 2)], ids=str)
def test_relatives_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    sentence = r"^relatives must have shape \(rounds, assets\) with two assets or more, got \(.*\)\.$"
    with pytest.raises(ValueError, match=sentence):
        Portfolio(np.ones(shape))


@pytest.mark.parametrize(
    ("relatives", "sentence"),
    [
        ([[1.0, 0.0]], r"relatives must be positive, got 0\."),
        ([[1.0, -0.5]], r"relatives must be positive, got -0\.5\."),
        ([[1.0, math.nan]], r"relatives must be finite, got NaN or infinity\."),
        ([[1.0, math.inf]], r"relatives must be finite, got NaN or infinity\."),
        ([[1.0, 2.0], [1.0]], r"relatives must be numbers in a regular array, got list\."),
    ],
)
def test_bad_relatives_raise_one_sentence(relatives: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Portfolio(relatives)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_bad_seeds_are_named(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"^seed must be a whole number of at least 0, got .*\.$"):
        market(3, seed=seed)
    with pytest.raises(ValueError, match=r"^seed must be a whole number of at least 0, got .*\.$"):
        Portfolio([[1.0, 2.0]], seed=seed)


@pytest.mark.parametrize(
    ("rounds", "assets", "sentence"),
    [
        (0, 5, "rounds must be a whole number of at least 1, got 0."),
        (5, 1, "assets must be a whole number of at least 2, got 1."),
        (2.5, 5, "rounds must be a whole number of at least 1, got 2.5."),
    ],
)
def test_bad_markets_are_named_in_one_sentence(rounds: Any, assets: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^\w+ must be") as error:
        market(rounds, assets)
    assert str(error.value) == sentence
