"""Perturbed leaders against brute force over vertices, their regret against its bounds, and no projection anywhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import permutations, product
from typing import Any, Literal, get_args

import numpy as np
import pytest
from scipy import stats

from banditboost import theory
from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.algorithms import projection_free, projection_free_bandit
from banditboost.learners import FPL
from banditboost.spaces import Ball, Birkhoff, Box, CountingSpace, Interval, Paths, Simplex, Space

Perturbation = Literal["gaussian", "laplace", "uniform"]
PERTURBATIONS: tuple[Perturbation, ...] = get_args(Perturbation)
GRID = ((0, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 5), (3, 6), (4, 7), (5, 7), (5, 8), (6, 8), (7, 9), (8, 9))

each_perturbation = pytest.mark.parametrize("perturbation", PERTURBATIONS)


def routes(edges: tuple[tuple[int, int], ...], source: int, sink: int) -> Array:
    """Every path as a row of zeros and ones: all subsets of edges that walk from source to sink."""
    found = []
    waiting: list[tuple[int, tuple[int, ...]]] = [(source, ())]
    while waiting:
        place, taken = waiting.pop()
        if place == sink:
            found.append([1.0 if k in taken else 0.0 for k in range(len(edges))])
        waiting += [(head, (*taken, k)) for k, (tail, head) in enumerate(edges) if tail == place]
    return np.array(found)


# Every polytope with all its vertices, listed without the library's oracles.
POLYTOPES: dict[str, tuple[Space, Array]] = {
    "interval": (Interval(-1.0, 3.0), np.array([-1.0, 3.0])),
    "box": (Box((-1.0, 0.0, 2.0), (1.0, 0.5, 5.0)), np.array(list(product((-1.0, 1.0), (0.0, 0.5), (2.0, 5.0))))),
    "simplex": (Simplex(4), np.eye(4)),
    "simplex with a floor": (Simplex(3, 2.0, 0.25), 0.25 + 1.25 * np.eye(3)),
    "matchings": (Birkhoff(3), np.array([np.eye(3)[list(order)] for order in permutations(range(3))])),
    "paths": (Paths(GRID, 0, 9), routes(GRID, 0, 9)),
}

each_polytope = pytest.mark.parametrize("name", POLYTOPES)


def leader(vertices: Array, loss: Array) -> Array:
    """The vertex of the least loss, one by one."""
    best, least = vertices[0], math.inf
    for vertex in vertices:
        paid = float(np.sum(vertex * loss))
        if paid < least:
            best, least = vertex, paid
    return np.asarray(best)


def redraw(perturbation: Perturbation, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    if perturbation == "gaussian":
        return rng.normal(0.0, 1.0, shape)
    return rng.laplace(0.0, 1.0, shape) if perturbation == "laplace" else rng.random(shape) - 0.5


def best_scale(perturbation: Perturbation, rounds: int, sigma: float, d: int) -> float:
    """The scales in the docstring of `theory.fpl_scale`."""
    if perturbation == "uniform":
        return sigma * math.sqrt(rounds) * math.pow(12, 0.25)
    return sigma * math.sqrt(rounds) / math.pow((2 * math.pi if perturbation == "gaussian" else 8) * d, 0.25)


# What is played.


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "fixed"])
@pytest.mark.parametrize("setting", ["horizon", "anytime", "scale"])
@each_perturbation
@each_polytope
def test_plays_are_brute_force_perturbed_leaders(
    name: str, perturbation: Perturbation, setting: str, fresh: bool
) -> None:
    space, vertices = POLYTOPES[name]
    copies, sigma, rounds = 3, 1.7, 25
    spec = FPL(
        sigma, 40 if setting == "horizon" else None, perturbation, 2.5 if setting == "scale" else None, fresh=fresh
    )
    bank = spec.start(copies, space, 0, np.random.default_rng(31))
    again, rng = np.random.default_rng(31), np.random.default_rng(32)
    told: list[list[Array]] = [[] for _ in range(copies)]
    noise, seen = redraw(perturbation, again, (copies, *space.shape)), set()
    for t in range(1, rounds + 1):
        s = 2.5 if setting == "scale" else best_scale(perturbation, 40 if spec.horizon else t, sigma, space.size)
        plays = bank.play(None)
        assert plays.shape == (copies, *space.shape)
        assert space.contains(plays).all()
        for i in range(copies):
            total = np.zeros(space.shape)
            for g in told[i]:
                total = total + g
            expected = leader(vertices, total + s * noise[i])
            np.testing.assert_allclose(plays[i], expected, atol=1e-12)
            seen.add(expected.tobytes())
        gradients = rng.normal(0.0, 2.0, (copies, *space.shape))
        for i in range(copies):
            told[i].append(gradients[i].copy())
        bank.update(None, gradients, t)
        gradients[...] = np.nan  # what was told is the bank's own from then on
        if fresh:
            noise = redraw(perturbation, again, noise.shape)
    assert len(seen) > 1  # the comparison was about something


@each_perturbation
def test_plays_on_a_ball_lie_opposite_the_perturbed_sum(perturbation: Perturbation) -> None:
    space = Ball(3, 1.5, (1.0, 0.0, -2.0))
    bank = FPL(1.0, 30, perturbation).start(4, space, 0, np.random.default_rng(33))
    again, rng, total = np.random.default_rng(33), np.random.default_rng(34), np.zeros((4, 3))
    for t in range(1, 31):
        loss = total + best_scale(perturbation, 30, 1.0, 3) * redraw(perturbation, again, (4, 3))
        for i, play in enumerate(bank.play(None)):
            np.testing.assert_allclose(play, [1.0, 0.0, -2.0] - 1.5 * loss[i] / math.sqrt(loss[i] @ loss[i]))
        gradients = rng.normal(size=(4, 3))
        total += gradients
        bank.update(None, gradients, t)


@each_perturbation
@pytest.mark.parametrize("d", [1, 4, 30])
def test_the_scale_is_theorys(perturbation: Perturbation, d: int) -> None:
    known, unknown = FPL(3.0, 200, perturbation), FPL(3.0, None, perturbation)
    for t in (1, 2, 77, 200, 1000):
        assert known.size(t, d) == theory.fpl_scale(200, 3.0, d, perturbation)
        assert known.size(t, d) == pytest.approx(best_scale(perturbation, 200, 3.0, d), rel=1e-12)
        assert unknown.size(t, d) == theory.fpl_scale(t, 3.0, d, perturbation)
        assert FPL(3.0, 200, perturbation, scale=0.3).size(t, d) == 0.3
    # The dimension is that of the vectors perturbed, not the rank of the set; the first round's scale is that of t = 1.
    for space in (Simplex(5), Birkhoff(3), Paths(GRID, 0, 9)):
        bank = unknown.start(2, space, 0, np.random.default_rng(0))
        for t in (1, 2, 3):
            assert bank.arrays()["scale"] == theory.fpl_scale(t, 3.0, space.size, perturbation)
            bank.update(None, np.zeros((2, *space.shape)), t)


@pytest.mark.parametrize(
    ("perturbation", "law", "second"),
    [
        ("gaussian", stats.norm(), 1.0),
        ("laplace", stats.laplace(), 2.0),
        ("uniform", stats.uniform(-0.5, 1.0), 1 / 12),
    ],
)
def test_perturbations_follow_their_law_and_are_independent(
    perturbation: Perturbation, law: Any, second: float
) -> None:
    """Across copies, coordinates and rounds: 200 rounds of 5 copies in 4 dimensions."""
    bank = FPL(1.0, 200, perturbation).start(5, Box((0.0,) * 4, (1.0,) * 4), 0, np.random.default_rng(35))
    drawn = []
    for t in range(1, 201):
        drawn.append(bank.arrays()["noise"].copy())
        bank.update(None, np.zeros((5, 4)), t)
    noise = np.array(drawn).reshape(200, 20)
    assert stats.kstest(noise.ravel(), law.cdf).pvalue > 0.01
    assert np.square(noise).mean() == pytest.approx(second, rel=0.12)
    assert np.abs(noise.mean()) < 4 * math.sqrt(second / 4000)
    limit = 4.5 / math.sqrt(200)
    correlation = np.corrcoef(noise.T) - np.eye(20)
    assert np.abs(correlation).max() < limit
    later = np.corrcoef(noise[1:].T, noise[:-1].T)[:20, 20:]
    assert np.abs(later).max() < limit


def test_fixed_perturbations_stay_and_fresh_ones_go() -> None:
    for fresh in (True, False):
        rng = np.random.default_rng(36)
        bank = FPL(1.0, 50, fresh=fresh).start(3, Simplex(4), 0, rng)
        first, after_start = bank.arrays()["noise"].copy(), rng.bit_generator.state
        bank.update(None, np.zeros((3, 4)), 1)
        assert (bank.arrays()["noise"] != first).all() == fresh
        assert (bank.arrays()["noise"] == first).all() != fresh
        assert (rng.bit_generator.state == after_start) != fresh


def test_copies_do_not_see_each_others_losses() -> None:
    space, rng = Birkhoff(3), np.random.default_rng(37)
    one, other = (FPL(1.0, 30).start(3, space, 0, np.random.default_rng(38)) for _ in range(2))
    for t in range(1, 31):
        gradients = rng.normal(size=(3, 3, 3))
        one.update(None, gradients, t)
        gradients[1] *= -5.0
        other.update(None, gradients, t)
        np.testing.assert_array_equal(one.play(None)[[0, 2]], other.play(None)[[0, 2]])
    assert not np.array_equal(one.arrays()["total"][1], other.arrays()["total"][1])


def test_plays_between_two_tells_share_the_perturbation() -> None:
    space = Ball(3)
    bank = FPL(1.0, 50).start(4, space, 0, np.random.default_rng(39))
    booster = projection_free(space, horizon=50, sigma=1.0, copies=4, seed=3)
    for t in range(1, 6):
        before = {name: array.copy() for name, array in bank.arrays().items()}
        first = bank.play(None)
        first_again = first.copy()
        first[...] = 7.0  # a play is the caller's
        np.testing.assert_array_equal(bank.play(None), first_again)
        for name, array in bank.arrays().items():
            np.testing.assert_array_equal(array, before[name])
        bank.update(None, np.zeros((4, 3)), t)
        assert not np.allclose(bank.play(None), first_again)

        tickets = [booster.ask() for _ in range(3)]
        for ticket in tickets:
            assert ticket.path.tobytes() == tickets[0].path.tobytes()
            assert ticket.prediction.tobytes() == booster.predict().tobytes()
        booster.tell(tickets[1], np.zeros((4, 3)))
        assert not np.allclose(booster.predict(), tickets[0].prediction)


def test_a_booster_perturbs_from_its_own_stream() -> None:
    booster = projection_free(Simplex(6), horizon=20, sigma=1.0, copies=5, seed=9)
    again = stream(9, "perturbations")
    for _ in range(20):
        expected = np.argmin(theory.fpl_scale(20, 1.0, 6) * again.standard_normal((5, 6)), axis=1)
        ticket = booster.ask()
        np.testing.assert_array_equal(np.argmax(ticket.plays, axis=1), expected)
        booster.tell(ticket, np.zeros((5, 6)))


# Regret. All copies of one bank are fed the same losses and perturbed independently: as many seeds in one run.

Sequence = Callable[[int, tuple[int, ...]], Array]


def unit(vectors: Array, axes: int) -> Array:
    return np.asarray(vectors / np.sqrt(np.square(vectors).sum(axis=tuple(range(-axes, 0)), keepdims=True)))


def iid(rounds: int, shape: tuple[int, ...]) -> Array:
    return unit(np.random.default_rng(41).normal(size=(rounds, *shape)), len(shape))


def drifted(rounds: int, shape: tuple[int, ...]) -> Array:
    rng = np.random.default_rng(42)
    return unit(rng.normal(size=(rounds, *shape)) + 0.4 * rng.normal(size=shape), len(shape))


def alternating(rounds: int, shape: tuple[int, ...]) -> Array:
    """Half a loss, then whole ones of changing sign: what ruins the leader that is not perturbed."""
    signs = np.where(np.arange(rounds) % 2, -1.0, 1.0)
    signs[0] = 0.5
    direction = unit(np.random.default_rng(43).normal(size=shape), len(shape))
    return np.asarray(signs.reshape(-1, *(1,) * len(shape)) * direction)


def stretches(rounds: int, shape: tuple[int, ...]) -> Array:
    """Rewards along one direction, then as long against it, in stretches of doubling length."""
    direction = unit(np.random.default_rng(44).normal(size=shape), len(shape))
    signs = np.where(np.floor(np.log2(np.arange(rounds) + 1.0)) % 2, -1.0, 1.0)
    return np.asarray(signs.reshape(-1, *(1,) * len(shape)) * direction)


SEQUENCES: tuple[Sequence, ...] = (iid, drifted, alternating, stretches)
GAMES: dict[str, tuple[Space, int, int]] = {
    "simplex": (Simplex(6), 300, 300),
    "ball": (Ball(3, 1.5, (1.0, 0.0, -2.0)), 300, 300),
    "matchings": (Birkhoff(3), 60, 80),
    "paths": (Paths(GRID, 0, 9), 120, 150),
}

each_game = pytest.mark.parametrize("name", GAMES)


def regrets(spec: FPL, space: Space, copies: int, losses: Array, seed: int = 45) -> Array:
    """Regret of every copy after every round, shape (T, copies); the comparator is the linear oracle's."""
    bank = spec.start(copies, space, 0, np.random.default_rng(seed))
    axes = tuple(range(1, 1 + len(space.shape)))
    paid = np.empty((len(losses), copies))
    for t, g in enumerate(losses):
        paid[t] = (bank.play(None) * g).sum(axis=axes)
        bank.update(None, np.broadcast_to(g, (copies, *space.shape)), t + 1)
    totals = np.cumsum(losses, axis=0)
    best = (space.minimize(totals) * totals).sum(axis=axes)
    return np.asarray(np.cumsum(paid, axis=0) - best[:, None])


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "fixed"])
@each_perturbation
@each_game
def test_mean_regret_stays_below_theorys(name: str, perturbation: Perturbation, fresh: bool) -> None:
    space, copies, rounds = GAMES[name]
    bound = theory.fpl_regret(rounds, 1.0, space.diameter, space.size, perturbation)
    sharp = theory.fpl_regret(rounds, 1.0, space.diameter, space.size, perturbation, failure=0.05)
    shares = []
    for sequence in SEQUENCES if fresh else SEQUENCES[2:]:
        losses = sequence(rounds, space.shape)
        final = regrets(FPL(1.0, rounds, perturbation, fresh=fresh), space, copies, losses)[-1]
        error = float(final.std()) / math.sqrt(copies)
        assert final.mean() + 4 * error <= bound
        shares.append(float(final.mean()) / bound)
        # And with high probability, which needs fresh perturbations: at level 5 %, hence in all but a few of the copies.
        if fresh:
            assert (final > sharp).mean() <= 0.05
    assert max(shares) > 0.05


@each_perturbation
@each_game
def test_without_a_horizon_regret_stays_below_one_and_a_half_times_theorys_at_every_t(
    name: str, perturbation: Perturbation
) -> None:
    """Scale s_t = s_1 √t.

    The proof of `theory.fpl_regret` goes through with Σ κσ²/s_t ≤ 2κσ²√T/s_1 for κσ²T/s, and the same D μ s_T/2 for the
    price of smoothing, since that rises with the scale: √(κμT) (1 + 1/2) σD instead of √(κμT) σD.
    """
    space, copies, rounds = GAMES[name]
    bounds = [1.5 * theory.fpl_regret(t, 1.0, space.diameter, space.size, perturbation) for t in range(1, rounds + 1)]
    for sequence in (alternating, stretches):
        measured = regrets(FPL(1.0, None, perturbation), space, copies, sequence(rounds, space.shape))
        errors = measured.std(axis=1) / math.sqrt(copies)
        assert (measured.mean(axis=1) + 4 * errors <= bounds).all()


def test_a_leader_that_is_hardly_perturbed_breaks_the_bound() -> None:
    """The bound has teeth: follow the leader pays on every round of the alternating sequence."""
    space, copies, rounds = GAMES["ball"]
    losses = alternating(rounds, space.shape)
    final = regrets(FPL(1.0, rounds, scale=1e-9), space, copies, losses)[-1]
    assert (final > theory.fpl_regret(rounds, 1.0, space.diameter, space.size, failure=1e-6)).all()
    # As does a perturbation so large that nothing is learned, on losses that are all the same.
    deaf = regrets(FPL(1.0, rounds, scale=1e9), space, copies, np.abs(losses))[-1]
    assert deaf.mean() > theory.fpl_regret(rounds, 1.0, space.diameter, space.size)
    # Theory allows for both, when it is told.
    for scale, paid in ((1e-9, final), (1e9, deaf)):
        assert paid.mean() <= theory.fpl_regret(rounds, 1.0, space.diameter, space.size, scale=scale)


@pytest.mark.parametrize("fresh", [True, False], ids=["fresh", "fixed"])
def test_only_fresh_perturbations_withstand_an_adversary_who_has_seen_the_last_one(fresh: bool) -> None:
    """The adversary knows the sums and the last round's perturbation, and charges what they would play now."""
    copies, rounds, space = 200, 400, Simplex(3)
    bank = FPL(1.0, rounds, fresh=fresh).start(copies, space, 0, np.random.default_rng(46))
    paid, guess = np.zeros(copies), bank.arrays()["noise"].copy()
    for t in range(1, rounds + 1):
        state = bank.arrays()
        charged = space.minimize(state["total"] + state["scale"] * guess)
        paid += (charged * bank.play(None)).sum(axis=1)
        guess = state["noise"].copy()
        bank.update(None, charged, t)
    regret = paid - bank.arrays()["total"].min(axis=1)
    bound = theory.fpl_regret(rounds, 1.0, space.diameter, 3, failure=0.05)
    assert ((regret > bound).mean() <= 0.05) == fresh
    if not fresh:
        assert (regret > 2 * bound).all()


# The oracle, and nothing else.


@each_polytope
def test_the_bank_calls_the_oracle_once_a_copy_and_never_projects(name: str) -> None:
    counted = CountingSpace(POLYTOPES[name][0])
    bank = FPL(1.0, 20).start(7, counted, 0, np.random.default_rng(0))
    for t in range(1, 21):
        bank.play(None)
        bank.update(None, np.ones((7, *counted.shape)), t)
    assert (counted.oracle_calls, counted.projections) == (7 * 20, 0)


@pytest.mark.parametrize("horizon", [None, 60])
def test_boosters_of_perturbed_leaders_never_project(horizon: int | None) -> None:
    for build in (partial(projection_free, sigma=1.0), projection_free_bandit):
        counted = CountingSpace(Birkhoff(3))
        booster = build(counted, horizon=horizon, copies=3)
        for _ in range(60):
            ticket = booster.ask()
            booster.tell(ticket, np.ones((3,) if ticket.asks == "values" else (3, 3, 3)))
        booster.predict()
        assert counted.projections == 0
        assert counted.oracle_calls == 3 * 61


# Refusals.


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sigma": 0.0}, "sigma must be positive, got 0.0."),
        ({"sigma": math.nan}, "sigma must be finite, got nan."),
        ({"sigma": "1"}, "sigma must be a number, got '1'."),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0."),
        ({"horizon": 10.5}, "horizon must be a whole number of at least 1, got 10.5."),
        ({"scale": -1.0}, "scale must be positive, got -1.0."),
        ({"scale": math.inf}, "scale must be finite, got inf."),
        ({"perturbation": "cauchy"}, "perturbation must be one of gaussian, laplace, uniform; got 'cauchy'."),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^\w+ must be") as error:
        FPL(**changes)
    assert str(error.value) == sentence
