"""Quadratic worlds: every constant bounds what it says, the best decision is the best, and no one sees the future."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import optimize, stats

from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.algorithms import projection_free
from banditboost.booster import Ticket
from banditboost.evaluate import progressive
from banditboost.noise import Noise, Rademacher, TruncatedGaussian, Uniform
from banditboost.spaces import Ball, Birkhoff, Box, Interval, L1Ball, Paths, Simplex, Space
from banditboost.worlds import Adaptive, FiniteSum, Quadratic, drifting, finite_sum, oblivious, stationary

BRIDGE = (("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"))
SPACES: dict[str, Space] = {
    "interval": Interval(-1.0, 3.0),
    "box": Box((-1.0, 0.0, 2.0), (1.0, 0.5, 5.0)),
    "ball": Ball(3, 1.5, (1.0, 0.0, -2.0)),
    "simplex": Simplex(4),
    "simplex with a floor": Simplex(3, 2.0, 0.25),
    "l1 ball": L1Ball(3, 2.0),
    "matchings": Birkhoff(3),
    "paths": Paths(BRIDGE, "s", "t"),
}
ROUNDS = 45

each_space = pytest.mark.parametrize("name", SPACES)


def adapted(space: Space, rounds: int, curvature: float, noise: Noise | None, seed: int) -> Adaptive:
    """An adaptive world after a run against random plays."""
    world = Adaptive(space, rounds, curvature, noise, seed)
    play(world, members(space, np.random.default_rng(seed), rounds))
    return world


def play(world: Adaptive, predictions: Array) -> None:
    world.begin()
    for t, prediction in enumerate(predictions):
        world.observe(t, prediction)


Maker = Callable[[Space, int, float, Noise | None, int], Quadratic]
MAKERS: dict[str, Maker] = {
    "stationary": lambda space, rounds, curvature, noise, seed: stationary(space, rounds, 0.7, curvature, noise, seed),
    "oblivious": oblivious,
    "drifting": lambda space, rounds, curvature, noise, seed: drifting(space, rounds, 1.5, curvature, noise, seed),
    "adaptive": adapted,
    "finite sum": lambda space, rounds, curvature, noise, seed: finite_sum(space, rounds, 4, 0.9, curvature, seed),
}

each_maker = pytest.mark.parametrize("kind", MAKERS)


def corners(space: Space, rng: np.random.Generator, n: int) -> Array:
    """What the linear oracle answers to random gradients in both directions."""
    gradients = rng.standard_normal((n, *space.shape))
    return np.concatenate([space.minimize(gradients), space.minimize(-gradients)])


def members(space: Space, rng: np.random.Generator, n: int) -> Array:
    """Corners, and mixtures of them."""
    pool = corners(space, rng, 20)
    mixed = np.tensordot(rng.dirichlet(np.full(len(pool), 0.1), size=n - n // 3), pool, axes=1)
    return np.concatenate([corners(space, rng, n)[: n // 3], mixed])


def norm(space: Space, vectors: Array) -> Array:
    return np.asarray(np.linalg.norm(vectors.reshape(-1, space.size), axis=1))


def ask(space: Space, queries: Array, draws: list[int], asks: str = "gradients") -> Ticket:
    """A ticket with these questions."""
    ticket = projection_free(space, horizon=1, copies=1).ask()
    probe = ticket.probe._replace(queries=queries, draws=np.array(draws, dtype=np.int64))
    return replace(ticket, probe=probe, asks=asks)


# Losses, gradients, constants.


@each_space
def test_values_and_gradients_are_written_out(name: str) -> None:
    space, rng, beta = SPACES[name], np.random.default_rng(71), 2.5
    targets, points = members(space, rng, 4), members(space, rng, 6)
    world = Quadratic(space, targets, beta)
    assert len(world) == 4
    for t in range(4):
        values, gradients = world.values(t, points), world.gradients(t, points)
        assert values.shape == (6,)
        assert gradients.shape == points.shape
        for k in range(6):
            c, x = targets[t].ravel().tolist(), points[k].ravel().tolist()
            distance = sum((a - b) ** 2 for a, b in zip(x, c, strict=True))
            assert values[k] == pytest.approx(beta / 2 * distance, rel=1e-12, abs=1e-14)
            expected = [beta * (a - b) for a, b in zip(x, c, strict=True)]
            np.testing.assert_allclose(gradients[k].ravel(), expected, atol=1e-14)
            # One point alone, and any leading axes, as well as many.
            assert world.values(t, points[k]) == values[k]
            np.testing.assert_array_equal(world.gradients(t, points[k]), gradients[k])
        twice = points.reshape(2, 3, *space.shape)
        np.testing.assert_array_equal(world.values(t, twice), values.reshape(2, 3))


@each_maker
@each_space
def test_constants_bound_what_they_say(name: str, kind: str) -> None:
    space, beta = SPACES[name], 2.5
    world = MAKERS[kind](space, ROUNDS, beta, None, 5)
    rng = np.random.default_rng(72)
    assert len(world) == ROUNDS
    assert space.contains(world.targets).all()
    points = members(space, rng, 60)
    shift = 1e-5 * rng.standard_normal(space.shape)
    for t in range(ROUNDS):
        values, gradients = world.values(t, points), world.gradients(t, points)
        assert (norm(space, gradients) <= world.lipschitz * (1 + 1e-12)).all()
        assert (np.abs(values) <= world.bound * (1 + 1e-12)).all()
        apart = norm(space, points[1:] - points[:-1])
        turned = norm(space, gradients[1:] - gradients[:-1])
        assert (turned <= world.smoothness * apart + 1e-12).all()
        # The gradient is that of the values.
        slopes = (world.values(t, points + shift) - world.values(t, points - shift)) / 2
        np.testing.assert_allclose(slopes, (gradients * shift).reshape(60, -1).sum(axis=1), atol=1e-11)
    assert (world.smoothness, world.lipschitz) == (beta, beta * space.diameter)
    assert world.bound == pytest.approx(beta * space.diameter**2 / 2, rel=1e-15)


@pytest.mark.parametrize("name", ["interval", "ball", "box", "l1 ball"])
def test_no_smaller_constants_hold(name: str) -> None:
    """Where opposite extreme points are as far apart as any, a jumping target makes every constant tight."""
    space = SPACES[name]
    world = Quadratic(space, corners(space, np.random.default_rng(73), 60), 2.5)
    points = corners(space, np.random.default_rng(73), 60)
    slopes = max(float(norm(space, world.gradients(t, points)).max()) for t in range(len(world)))
    values = max(float(world.values(t, points).max()) for t in range(len(world)))
    assert slopes == pytest.approx(world.lipschitz)
    assert values == pytest.approx(world.bound)


@pytest.mark.parametrize("noise", [Uniform(0.3), Rademacher(0.3), TruncatedGaussian(0.3, 0.2)], ids=repr)
@each_space
def test_sigma_bounds_answered_gradients(name: str, noise: Noise) -> None:
    space, rng, answers = SPACES[name], np.random.default_rng(74), stream(0, "noise")
    world = Quadratic(space, corners(space, rng, 20), 2.0, noise)
    assert world.sigma == pytest.approx(2.0 * space.diameter + 0.3 * math.sqrt(space.size), rel=1e-14)
    queries = corners(space, rng, 10)
    ticket, values = ask(space, queries, list(range(20))), ask(space, queries, list(range(20)), "values")
    for t in range(40):
        blurred = world.answer(t, ticket, True, answers)
        assert (norm(space, blurred) <= world.sigma * (1 + 1e-12)).all()
        assert np.abs(blurred - world.gradients(t, queries)).max() <= 0.3 + 1e-12
        assert np.abs(world.answer(t, values, True, answers)).max() <= world.bound + 0.3 + 1e-12
        np.testing.assert_array_equal(world.answer(t, ticket, False, answers), world.gradients(t, queries))
    # Where noise stands at its bound in every coordinate, σ less the gradient's own bound is all used up.
    if isinstance(noise, Rademacher):
        assert norm(space, blurred - world.gradients(t, queries)) == pytest.approx(world.sigma - world.lipschitz)


# The best fixed decision.


def total(world: Quadratic, point: Array) -> float:
    return sum(float(world.values(t, point)) for t in range(len(world)))


@each_maker
@each_space
def test_the_best_decision_is_the_best(name: str, kind: str) -> None:
    space = SPACES[name]
    world = MAKERS[kind](space, ROUNDS, 2.5, None, 6)
    best = world.best()
    assert best.gap == 0
    assert best.point.shape == space.shape
    assert space.contains(best.point)
    np.testing.assert_allclose(best.losses, [float(world.values(t, best.point)) for t in range(ROUNDS)], rtol=1e-12)
    # Certified: the total's gradient at the best pushes towards no member of the space.
    slope = np.sum([world.gradients(t, best.point) for t in range(ROUNDS)], axis=0)
    assert float((slope * (space.minimize(slope) - best.point)).sum()) >= -1e-8
    for point in members(space, np.random.default_rng(75), 50):
        assert best.losses.sum() <= total(world, point) + 1e-9


@pytest.mark.parametrize("name", ["interval", "box", "ball", "simplex", "simplex with a floor"])
def test_the_best_decision_is_a_solvers(name: str) -> None:
    """Also where the targets' mean lies outside: their constants do not hold then, but the best is the best."""
    space, rng = SPACES[name], np.random.default_rng(76)
    drift = 2 * space.diameter * rng.standard_normal(space.shape)
    targets = space.inner_centre + drift + 0.5 * rng.standard_normal((7, *space.shape))
    world = Quadratic(space, targets)
    assert not space.contains(targets.mean(axis=0))
    best = world.best()
    limits: Any = None
    constraints: Any = ()
    if isinstance(space, Ball):
        constraints = optimize.NonlinearConstraint(
            lambda x: np.square(x - space.inner_centre).sum(), 0, space.radius**2
        )
    elif isinstance(space, Simplex):
        limits = [(space.floor, space.total)] * space.dimension
        constraints = optimize.LinearConstraint(np.ones((1, space.dimension)), space.total, space.total)
    else:
        assert isinstance(space, Interval | Box)
        limits = list(zip(np.atleast_1d(space.low), np.atleast_1d(space.high), strict=True))

    def objective(x: Array) -> float:
        return total(world, x.reshape(space.shape))

    found: Any = optimize.minimize(
        objective,
        np.atleast_1d(space.inner_centre),
        method="SLSQP",
        bounds=limits,
        constraints=constraints,
        options={"ftol": 1e-15, "maxiter": 500},
    )
    np.testing.assert_allclose(np.atleast_1d(best.point), found.x, atol=1e-5)
    assert best.losses.sum() <= found.fun + 1e-9 * abs(found.fun)


def test_the_best_decision_is_exact_on_simplex_and_ball() -> None:
    # The mean of members is a member, and is where the total is least.
    for world in (stationary(Simplex(5), 1000, seed=3), stationary(Ball(4, 2.0), 1000, seed=3)):
        np.testing.assert_allclose(world.best().point, world.targets.mean(axis=0), rtol=0, atol=1e-14)
    # Outside: along the ray to the centre, and the coordinates above the right threshold.
    best = Quadratic(Ball(2, 1.0, (1.0, 1.0)), [[4.0, 5.0], [4.0, 5.0]]).best()
    np.testing.assert_allclose(best.point, [1.6, 1.8], rtol=1e-15)
    np.testing.assert_allclose(best.losses, [8.0, 8.0], rtol=1e-14)
    best = Quadratic(Simplex(3), [[2.0, 1.0, -3.0], [0.0, 0.2, -3.0]], 2.0).best()
    np.testing.assert_allclose(best.point, [0.7, 0.3, 0.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(best.losses, [1.3**2 + 0.7**2 + 9, 0.7**2 + 0.1**2 + 9], rtol=1e-14)


# Finite sums.


@each_space
def test_a_finite_sum_is_the_mean_of_its_quadratics(name: str) -> None:
    space, rng, beta = SPACES[name], np.random.default_rng(77), 1.5
    samples = members(space, rng, 15).reshape(3, 5, *space.shape)
    world, points = FiniteSum(space, samples, beta), members(space, rng, 6)
    for t in range(3):
        each = [Quadratic(space, samples[t], beta).values(j, points) for j in range(5)]
        np.testing.assert_allclose(world.values(t, points), np.mean(each, axis=0), rtol=1e-12)
        slopes = [beta * (points - samples[t, j]) for j in range(5)]
        np.testing.assert_allclose(world.gradients(t, points), np.mean(slopes, axis=0), atol=1e-13)


def drawn(world: FiniteSum, t: int, ticket: Ticket, answers: Array) -> list[int]:
    """Which sample each answer came from: exactly one fits."""
    found = []
    for query, answer in zip(ticket.queries, answers, strict=True):
        fits = [
            j for j, c in enumerate(world.samples[t]) if np.allclose(answer, world.curvature * (query - c), atol=1e-12)
        ]
        assert len(fits) == 1
        found += fits
    return found


@pytest.mark.parametrize("name", ["interval", "ball", "matchings"])
def test_stochastic_gradients_are_those_of_the_samples_and_unbiased(name: str) -> None:
    """Exactly: answers come from the n samples, all equally likely, and the n answers' mean is the true gradient."""
    space, rng, answers = SPACES[name], np.random.default_rng(78), stream(2, "noise")
    n, copies = 4, 3
    mixtures = members(space, rng, 60)[20:]  # no corners: samples that differ from each other
    world = FiniteSum(space, mixtures[: 2 * n].reshape(2, n, *space.shape), 1.5)
    queries = mixtures[-copies:]
    ticket, counts = ask(space, queries, list(range(copies))), np.zeros((n,) * copies)
    for t in range(2):
        every = [[1.5 * (query - c) for c in world.samples[t]] for query in queries]
        np.testing.assert_allclose(np.mean(every, axis=1), world.gradients(t, queries), atol=1e-13)
        for _ in range(1600):
            told = world.answer(t, ticket, True, answers)
            assert (norm(space, told) <= world.sigma * (1 + 1e-12)).all()
            counts[tuple(drawn(world, t, ticket, told))] += 1
    # All n^copies combinations are equally likely: draws with different numbers are independent.
    assert counts.min() > 0
    assert stats.chisquare(counts.ravel()).pvalue > 0.01
    np.testing.assert_array_equal(world.answer(0, ticket, False, answers), world.gradients(0, queries))


@pytest.mark.parametrize("draws", [[0, 0, 1, 1, 2, 2], [3, 0, 3, 3, 1, 0], [7] * 6, [5, 4, 3, 2, 1, 0]], ids=str)
def test_equal_draws_are_answered_with_the_same_sample(draws: list[int]) -> None:
    space, answers = Ball(2), stream(3, "noise")
    world = finite_sum(space, 20, 6, seed=4)
    ticket, sharing = ask(space, members(space, np.random.default_rng(79), 6), draws), 0
    for t in range(20):
        found = drawn(world, t, ticket, world.answer(t, ticket, True, answers))
        for i in range(6):
            for j in range(i):
                if draws[i] == draws[j]:
                    assert found[i] == found[j]
                else:
                    sharing += found[i] != found[j]
    assert sharing > 0 or len(set(draws)) == 1


def test_finite_sums_answer_values_and_exact_gradients_without_chance() -> None:
    world, rng = finite_sum(Simplex(3), 5, 4), stream(0, "noise")
    queries = members(world.space, np.random.default_rng(80), 6)
    before = rng.bit_generator.state
    np.testing.assert_array_equal(
        world.answer(1, ask(world.space, queries, [0] * 6, "values"), True, rng), world.values(1, queries)
    )
    np.testing.assert_array_equal(
        world.answer(1, ask(world.space, queries, [0] * 6), False, rng), world.gradients(1, queries)
    )
    assert rng.bit_generator.state == before
    assert world.sigma == world.lipschitz


# Adversaries.


@each_space
def test_the_adaptive_target_lies_opposite_the_last_prediction(name: str) -> None:
    space = SPACES[name]
    world, predictions = Adaptive(space, 30, seed=2), members(space, np.random.default_rng(81), 30)
    play(world, predictions)
    pool = corners(space, np.random.default_rng(82), 200)
    for t in range(29):
        away = predictions[t] - space.inner_centre
        reached = float((away * (world.targets[t + 1] - space.inner_centre)).sum())
        assert reached <= 1e-12  # on the other side of the centre, and no corner is farther
        assert (reached <= (away * (pool - space.inner_centre)).reshape(len(pool), -1).sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("change", [0, 7, 28])
def test_the_adaptive_target_depends_on_predictions_before_it_only(change: int) -> None:
    space = SPACES["ball"]
    world, rng = Adaptive(space, 30, seed=2), np.random.default_rng(83)
    predictions = members(space, rng, 30)
    world.begin()
    known = []
    for t in range(30):
        known.append(world.targets[t].copy())  # what round t charges is settled before its prediction is seen
        world.observe(t, predictions[t])
    np.testing.assert_array_equal(known, world.targets)
    predictions[change:] = members(space, rng, 30 - change)
    play(world, predictions)
    np.testing.assert_array_equal(world.targets[: change + 1], known[: change + 1])
    assert (world.targets[change + 1 :] != known[change + 1 :]).any(axis=1).all()


def test_beginning_again_forgets_the_last_run() -> None:
    space = Simplex(4)
    world = Adaptive(space, 150, noise=Uniform(0.1), seed=3)
    traces = [progressive(projection_free(space, horizon=150, sigma=3.0, seed=8), world) for _ in range(2)]
    assert traces[0].losses.tobytes() == traces[1].losses.tobytes()
    assert traces[0].predictions.tobytes() == traces[1].predictions.tobytes()
    assert traces[0].paid.tobytes() == traces[1].paid.tobytes()
    # What was charged is what the targets say, and the best decision is about those.
    for t in range(150):
        assert traces[1].losses[t] == world.values(t, traces[1].predictions[t])
    assert traces[1].losses.sum() > world.best().losses.sum()
    # Another learner meets another adversary; the first, asked again, its own.
    first = world.targets.copy()
    other = progressive(projection_free(space, horizon=150, sigma=3.0, optimizer="ogd", seed=8), world)
    assert (world.targets != first).any()
    assert (world.targets[0] == first[0]).all()
    assert other.losses.tobytes() != traces[0].losses.tobytes()
    again = progressive(projection_free(space, horizon=150, sigma=3.0, seed=8), world)
    assert again.losses.tobytes() == traces[0].losses.tobytes()
    np.testing.assert_array_equal(world.targets, first)
    # Nothing of a run is left behind when the next one begins.
    world.begin()
    np.testing.assert_array_equal(world.targets, Adaptive(space, 150, seed=3).targets)
    assert (world.targets == first[0]).all()


@pytest.mark.parametrize("kind", ["stationary", "oblivious", "drifting", "finite sum"])
def test_other_worlds_do_not_see_the_learner(kind: str) -> None:
    space = Ball(2)
    world = MAKERS[kind](space, ROUNDS, 1.0, Uniform(0.1), 5)
    before = world.targets.tobytes()
    for optimizer, seed in (("fpl", 0), ("ogd", 1)):
        progressive(projection_free(space, horizon=ROUNDS, optimizer=optimizer, seed=seed), world)  # type: ignore[arg-type]
        assert world.targets.tobytes() == before
    # They follow their seed alone.
    assert MAKERS[kind](space, ROUNDS, 2.0, None, 5).targets.tobytes() == before
    assert MAKERS[kind](space, ROUNDS, 1.0, None, 6).targets.tobytes() != before


@each_space
def test_oblivious_targets_jump_between_opposite_ends_in_growing_stretches(name: str) -> None:
    space = SPACES[name]
    world = oblivious(space, 200, seed=7)
    ends = [world.targets[0], world.targets[1]]
    assert not np.allclose(ends[0], ends[1])
    t = 0
    for stretch in range(19):
        for _ in range(stretch + 1):
            np.testing.assert_array_equal(world.targets[t], ends[stretch % 2])
            t += 1
    # Opposite: no two members are farther apart along the direction in which the ends were found.
    direction = stream(7, "world").standard_normal(space.shape)
    width = float((direction * (ends[1] - ends[0])).sum())
    along = (direction * members(space, np.random.default_rng(84), 200)).reshape(200, -1).sum(axis=1)
    assert width >= along.max() - along.min() - 1e-12


def test_a_drifting_target_goes_around_as_often_as_said() -> None:
    world = drifting(Ball(2, 3.0, (1.0, 1.0)), 120, turns=3.0, seed=1)
    away = world.targets - [1.0, 1.0]
    np.testing.assert_allclose(np.linalg.norm(away, axis=1), 1.5, rtol=1e-12)  # half-way to the border
    np.testing.assert_allclose(away[:80], away[40:], atol=1e-12)  # one turn in 40 rounds
    np.testing.assert_allclose(away[:100], -away[20:], atol=1e-12)  # half a turn is the other side
    angles = np.unwrap(np.arctan2(away[:, 1], away[:, 0]))
    assert abs(angles[-1] - angles[0]) == pytest.approx(2 * math.pi * 3, rel=0.03)
    # No fixed decision stays good: the best is hardly better than the centre.
    assert world.best().losses.mean() == pytest.approx(1.5**2 / 2, rel=1e-6)


@each_space
def test_stationary_targets_scatter_about_a_fixed_member(name: str) -> None:
    space = SPACES[name]
    fixed = stationary(space, 30, spread=0.0, seed=2).targets
    assert (fixed == fixed[0]).all()
    whole, half = stationary(space, 30, spread=1.0, seed=2).targets, stationary(space, 30, spread=0.5, seed=2).targets
    np.testing.assert_allclose(half, (fixed + whole) / 2, atol=1e-12)
    # Extreme points: each is the oracle's answer to something.
    for corner in whole:
        np.testing.assert_allclose(space.minimize(-(corner - space.inner_centre)), corner, atol=1e-9)
    # Independent rounds of one distribution: two halves have one mean.
    targets = stationary(space, 4000, seed=3).targets.reshape(4000, -1)
    error = targets.std(axis=0) / math.sqrt(1000)
    assert (np.abs(targets[:2000].mean(axis=0) - targets[2000:].mean(axis=0)) <= 4 * error + 1e-12).all()
    lagged = [abs(np.corrcoef(x[1:], x[:-1])[0, 1]) for x in targets.T if x.std() > 1e-12]
    assert max(lagged) < 4 / math.sqrt(4000)


# Refusals.


@pytest.mark.parametrize("targets", [0.5, [], [[1.0, 2.0], [0.0, 0.0]]], ids=str)
def test_targets_that_do_not_fit_are_refused(targets: Any) -> None:
    with pytest.raises(ValueError, match=r"^targets must have shape \(rounds, \*\(\)\), got \(.*\)\.$"):
        Quadratic(Interval(), targets)
    with pytest.raises(ValueError, match=r"^targets must have shape \(rounds, \*\(3,\)\), got \(.*\)\.$"):
        Quadratic(Ball(3), targets)


@pytest.mark.parametrize("shape", [(), (2,), (3, 2), (0, 3, 2), (3, 0, 2), (3, 2, 3), (3, 2, 2, 2)], ids=str)
def test_samples_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^samples must have shape \(rounds, n, \*\(2,\)\), got \(.*\)\.$"):
        FiniteSum(Ball(2), np.zeros(shape))


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True])
def test_bad_seeds_are_named(seed: Any) -> None:
    space = Ball(2)
    makers: list[Callable[[], Quadratic]] = [
        lambda: Quadratic(space, [[0.0, 0.0]], seed=seed),
        lambda: Adaptive(space, 3, seed=seed),
        lambda: stationary(space, 3, seed=seed),
        lambda: finite_sum(space, 3, seed=seed),
        lambda: oblivious(space, 3, seed=seed),
        lambda: drifting(space, 3, seed=seed),
    ]
    for make in makers:
        with pytest.raises(ValueError, match=r"^seed must be a whole number of at least 0, got .*\.$"):
            make()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Quadratic(Ball(2), [[0.0, math.nan]]), "targets must be finite, got NaN or infinity."),
        (lambda: Quadratic(Ball(2), [[0.0, 0.0]], 0.0), "curvature must be positive, got 0.0."),
        (lambda: stationary(Ball(2), 0), "rounds must be a whole number of at least 1, got 0."),
        (lambda: stationary(Ball(2), 3, spread=1.5), "spread must lie in [0, 1], got 1.5."),
        (lambda: finite_sum(Ball(2), 3, 0), "samples must be a whole number of at least 1, got 0."),
        (lambda: oblivious(Ball(2), 2.5), "rounds must be a whole number of at least 1, got 2.5."),  # type: ignore[arg-type]
        (lambda: drifting(Ball(2), 3, math.inf), "turns must be finite, got inf."),
        (lambda: Adaptive(Ball(2), 0), "rounds must be a whole number of at least 1, got 0."),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(make: Callable[[], Quadratic], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^\w+ must") as error:
        make()
    assert str(error.value) == sentence
