"""Regularised leaders: they solve their own argmin, the entropic ones are exponential weights, and their regret keeps its bound."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from scipy import optimize

import banditboost as bb
from banditboost import theory
from banditboost._core.checks import Array
from banditboost.learners import FTRL
from banditboost.rates import Constant, Power, Rate
from banditboost.spaces import Ball, Birkhoff, Box, CountingSpace, Interval, L1Ball, Paths, Shrunk, Simplex, Space

BRIDGE = (("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"))
PLACES: dict[str, Space] = {
    "interval": Interval(-1.0, 3.0),
    "box": Box((-1.0, 0.0, 2.0), (1.0, 0.5, 5.0)),
    "ball": Ball(3, 1.5, (1.0, 0.0, -2.0)),
    "simplex": Simplex(4),
    "simplex with a floor": Simplex(3, 2.0, 0.25),
    "l1 ball": L1Ball(3, 2.0),
    "matchings": Birkhoff(3),
    "paths": Paths(BRIDGE, "s", "t"),
}
SIMPLICES: dict[str, Simplex] = {
    "two": Simplex(2),
    "probabilities": Simplex(5),
    "a budget": Simplex(3, 5.0),
    "a small one": Simplex(4, 0.1),
    "with a floor": Simplex(3, 2.0, 0.25),
    "shrunk": Simplex(4).shrink(0.5),
}

each_place = pytest.mark.parametrize("name", PLACES)
each_simplex = pytest.mark.parametrize("name", SIMPLICES)


def eta(spec: FTRL, t: int, sigma: float, spread: float) -> float:
    """The rate of round t by the docstring: √(2B/T)/σ, or with t for T."""
    if spec.rate is not None:
        return float(spec.rate.at(t))
    return math.sqrt(2 * spread / (spec.horizon or t)) / sigma


# The Euclidean leader.


@pytest.mark.parametrize("rate", [None, Power(0.7, 0.25)], ids=repr)
@pytest.mark.parametrize("horizon", [None, 40])
@each_place
def test_euclidean_plays_solve_their_argmin(name: str, horizon: int | None, rate: Rate | None) -> None:
    """x minimises ηG·x + ‖x-c‖²/2 exactly when its gradient ηG + x - c pushes towards no member v of the set."""
    space, copies, sigma, rng = PLACES[name], 3, 1.3, np.random.default_rng(61)
    spec = FTRL(sigma, horizon, "euclidean", rate)
    bank = spec.start(copies, space, 0, np.random.default_rng(0))
    total, moved = np.zeros((copies, *space.shape)), False
    for t in range(1, 21):
        plays = bank.play(None)
        assert plays.shape == (copies, *space.shape)
        assert space.contains(plays).all()
        slope = eta(spec, t, sigma, space.diameter**2 / 2) * total + plays - space.inner_centre
        slack = (slope * (space.minimize(slope) - plays)).reshape(copies, -1).sum(axis=1)
        assert (slack >= -1e-8 * (1 + np.abs(slope).max())).all()
        moved = moved or bool(np.abs(slope).max() > 0.1)  # some plays lie on the border, where the slope is not zero
        gradients = rng.normal(0.0, sigma, (copies, *space.shape))
        for i in range(copies):
            total[i] = total[i] + gradients[i]
        bank.update(None, gradients, t)
        gradients[...] = np.nan  # what was told is the bank's own from then on
    assert moved


@pytest.mark.parametrize("horizon", [None, 40])
def test_euclidean_bank_equals_loops_on_box_and_ball(horizon: int | None) -> None:
    box, ball, sigma, rng = PLACES["box"], PLACES["ball"], 0.8, np.random.default_rng(62)
    assert isinstance(box, Box)
    assert isinstance(ball, Ball)
    banks = [FTRL(sigma, horizon).start(1, space, 0, rng) for space in (box, ball)]
    total = [0.0, 0.0, 0.0]
    for t in range(1, 41):
        rates = [space.diameter / (sigma * math.sqrt(horizon or t)) for space in (box, ball)]
        middle = [(a + b) / 2 for a, b in zip(box.low, box.high, strict=True)]
        wish = [c - rates[0] * G for c, G in zip(middle, total, strict=True)]
        cut = [min(max(z, a), b) for z, a, b in zip(wish, box.low, box.high, strict=True)]
        np.testing.assert_allclose(banks[0].play(None)[0], cut, rtol=1e-12, atol=1e-12)
        away = [-rates[1] * G for G in total]
        scale = min(1.0, 1.5 / max(math.sqrt(sum(a * a for a in away)), 1e-300))
        moved = [c + scale * a for c, a in zip((1.0, 0.0, -2.0), away, strict=True)]
        np.testing.assert_allclose(banks[1].play(None)[0], moved, rtol=1e-12, atol=1e-12)
        g = rng.normal(0.0, 0.1, 3)
        total = [G + float(x) for G, x in zip(total, g, strict=True)]
        for bank in banks:
            bank.update(None, g[np.newaxis], t)


# The entropic leader.


@pytest.mark.parametrize("rate", [None, Constant(0.4), Power(0.7, 0.25)], ids=repr)
@pytest.mark.parametrize("horizon", [None, 40])
@each_simplex
def test_entropic_plays_are_exponential_weights(name: str, horizon: int | None, rate: Rate | None) -> None:
    space, copies, sigma, rng = SIMPLICES[name], 2, 1.3, np.random.default_rng(63)
    spec = FTRL(sigma, horizon, "entropic", rate)
    bank = spec.start(copies, space, 0, np.random.default_rng(0))
    d, left = space.dimension, space.total - space.dimension * space.floor
    told: list[list[list[float]]] = [[] for _ in range(copies)]
    for t in range(1, 31):
        step = eta(spec, t, sigma * left, math.log(d))
        plays = bank.play(None)
        assert space.contains(plays).all()
        for i in range(copies):
            weights = [math.exp(-step * left * sum(g[j] for g in told[i])) for j in range(d)]
            expected = [space.floor + left * w / sum(weights) for w in weights]
            np.testing.assert_allclose(plays[i], expected, rtol=1e-11)
        gradients = rng.uniform(-sigma, sigma, (copies, d))
        for i in range(copies):
            told[i].append(gradients[i].tolist())
        bank.update(None, gradients, t)
        gradients[...] = np.nan


def test_a_constant_rate_is_the_multiplicative_update() -> None:
    """Hedge, as it is usually written: w_j ← w_j exp(-η g_j), played in proportion."""
    bank = FTRL(regularizer="entropic", rate=Constant(0.3)).start(1, Simplex(4), 0, np.random.default_rng(0))
    rng, weights = np.random.default_rng(64), np.ones(4)
    for t in range(1, 101):
        np.testing.assert_allclose(bank.play(None)[0], weights / weights.sum(), rtol=1e-11)
        g = rng.uniform(-1, 1, 4)
        weights = weights * np.exp(-0.3 * g)
        bank.update(None, g[np.newaxis], t)


def solved(space: Simplex, loss: Array) -> tuple[Callable[[Array], float], Array, float]:
    """Minimise loss·x + Σ p log p for x = floor + left·p by a solver that knows no softmax."""
    d, left = space.dimension, space.total - space.dimension * space.floor

    def objective(p: Array) -> float:
        return float(loss @ (space.floor + left * p) + np.sum(p * np.log(p)))

    found = optimize.minimize(
        objective,
        np.full(d, 1 / d),
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * d,
        constraints=optimize.LinearConstraint(np.ones((1, d)), 1.0, 1.0),
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return objective, np.asarray(found.x), float(found.fun)


@each_simplex
def test_entropic_plays_solve_their_argmin(name: str) -> None:
    space, sigma, rng = SIMPLICES[name], 1.3, np.random.default_rng(65)
    spec = FTRL(sigma, 10, "entropic")
    bank = spec.start(1, space, 0, rng)
    d, left = space.dimension, space.total - space.dimension * space.floor
    total, step = np.zeros(d), eta(spec, 10, sigma * left, math.log(d))
    for t in range(1, 7):
        g = rng.uniform(-sigma, sigma, d)
        total = total + g
        bank.update(None, g[np.newaxis], t)
        objective, where, least = solved(space, step * total)
        p = (bank.play(None)[0] - space.floor) / left
        assert p.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(p, where, atol=2e-5)
        assert objective(p) <= least + 1e-12
        for other in rng.dirichlet(np.ones(d), 100):
            assert objective(p) <= objective(other)


def test_huge_sums_neither_overflow_nor_leave_the_simplex() -> None:
    for space in SIMPLICES.values():
        bank = FTRL(regularizer="entropic").start(2, space, 0, np.random.default_rng(0))
        g = np.zeros((2, space.dimension))
        g[0, 0], g[1] = 1e9, np.arange(space.dimension) * -1e12
        for t in range(1, 4):
            bank.update(None, g, t)
            assert space.contains(bank.play(None)).all()
        assert bank.play(None)[0, 0] == space.floor
        np.testing.assert_allclose(bank.play(None)[1], space.minimize(g[1]), rtol=1e-12)


@pytest.mark.parametrize(
    "space",
    [Interval(0.0, 1.0), Box((0.0, 0.0), (1.0, 1.0)), Ball(2), L1Ball(2), Birkhoff(2), Shrunk(Simplex(3), 0.1)],
    ids=repr,
)
def test_the_entropy_needs_a_simplex(space: Space) -> None:
    sentence = f"regularizer must be euclidean on a {type(space).__name__}: the entropy needs a Simplex."
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        FTRL(regularizer="entropic").start(2, space, 0, np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        bb.Booster(FTRL(regularizer="entropic"), 2, gradient=bb.gradients.Stochastic(), space=space)


def test_entropic_copies_play_inside_what_queries_leave_them() -> None:
    """Asked for values around its points, the loop plays on a smaller simplex: one with a floor."""
    space, delta = Simplex(4), 0.1
    booster = bb.Booster(FTRL(2.0, 50, "entropic"), 5, gradient=bb.gradients.OnePoint(delta), space=space, seed=1)
    floor = delta / space.inner_radius / 4
    for _ in range(50):
        ticket = booster.ask()
        assert space.contains(ticket.queries).all()
        assert (ticket.plays >= floor - 1e-12).all()
        booster.tell(ticket, 100 * ticket.queries[:, 0])
    assert ticket.plays.min() < floor + 1e-3


# Regret: FTRL is deterministic, so its bound holds on every run, against adversaries who see all.

Adversary = Callable[[int, Array, Array, Space], Array]


def stochastic(t: int, plays: Array, total: Array, space: Space) -> Array:
    return np.random.default_rng(t).normal(size=plays.shape) + 0.3


def alternating(t: int, plays: Array, total: Array, space: Space) -> Array:
    direction = np.random.default_rng(66).normal(size=space.shape)
    return np.broadcast_to((-1.0) ** t * direction, plays.shape)


def doubling(t: int, plays: Array, total: Array, space: Space) -> Array:
    direction = np.random.default_rng(67).normal(size=space.shape)
    return np.broadcast_to((-1.0) ** int(math.log2(t)) * direction, plays.shape)


def same(t: int, plays: Array, total: Array, space: Space) -> Array:
    return np.broadcast_to(np.random.default_rng(68).normal(size=space.shape), plays.shape)


def charges_the_play(t: int, plays: Array, total: Array, space: Space) -> Array:
    return plays - space.inner_centre


def follows_the_regret(t: int, plays: Array, total: Array, space: Space) -> Array:
    return plays - space.minimize(total)


ADVERSARIES: tuple[Adversary, ...] = (
    stochastic,
    alternating,
    doubling,
    same,
    charges_the_play,
    follows_the_regret,
)


def regrets(
    spec: FTRL, space: Space, adversary: Adversary, rounds: int, sigma: float, order: Literal["two", "max"]
) -> Array:
    """Regret after every round against losses of norm σ: Euclidean, or the largest entry's."""
    bank = spec.start(1, space, 0, np.random.default_rng(0))
    total, paid, regret = np.zeros((1, *space.shape)), 0.0, np.empty(rounds)
    for t in range(1, rounds + 1):
        plays = bank.play(None)
        assert space.contains(plays).all()
        g = np.array(adversary(t, plays, total, space))
        norm = float(np.abs(g).max() if order == "max" else math.sqrt(np.square(g).sum()))
        g = sigma * g / norm if norm > 1e-12 else np.full_like(g, sigma / (1 if order == "max" else math.sqrt(g.size)))
        paid += float((g * plays).sum())
        total += g
        regret[t - 1] = paid - float((total * space.minimize(total)).sum())
        bank.update(None, g, t)
    return regret


@each_place
def test_euclidean_regret_stays_below_theorys_at_every_round(name: str) -> None:
    """For a fixed rate at every t ≤ T; without a horizon at 3/2 of the bound.

    For falling rates the price of the regulariser is B/η_t, that of moving Σ η_τ σ²/2 ≤ η_1 σ² √t: σ√(2Bt)(1/2 + 1).
    """
    space, sigma = PLACES[name], 1.7
    rounds = 60 if name in ("matchings", "paths") else 200
    spread = theory.euclidean_range(space.diameter)
    rate = theory.ftrl_rate(rounds, sigma, spread)
    ends = []
    for adversary in ADVERSARIES:
        known = regrets(FTRL(sigma, rounds), space, adversary, rounds, sigma, "two")
        assert (known <= [theory.ftrl_regret(t, sigma, spread, rate) + 1e-9 for t in range(1, rounds + 1)]).all()
        assert known[-1] <= theory.ftrl_regret(rounds, sigma, spread) + 1e-9
        ends.append(known[-1] / theory.ftrl_regret(rounds, sigma, spread))
        unknown = regrets(FTRL(sigma), space, adversary, rounds, sigma, "two")
        assert (unknown <= [1.5 * theory.ftrl_regret(t, sigma, spread) + 1e-9 for t in range(1, rounds + 1)]).all()
    assert max(ends) > 0.2


@each_simplex
def test_entropic_regret_stays_below_theorys_at_every_round(name: str) -> None:
    """In units of what is left to distribute: g·x is a constant plus (left·g)·p for probabilities p."""
    space, sigma, rounds = SIMPLICES[name], 1.7, 250
    spread, scaled = theory.entropic_range(space.dimension), sigma * (space.total - space.dimension * space.floor)
    rate = theory.ftrl_rate(rounds, scaled, spread)
    ends = []
    for adversary in ADVERSARIES:
        known = regrets(FTRL(sigma, rounds, "entropic"), space, adversary, rounds, sigma, "max")
        assert (known <= [theory.ftrl_regret(t, scaled, spread, rate) + 1e-9 for t in range(1, rounds + 1)]).all()
        ends.append(known[-1] / theory.ftrl_regret(rounds, scaled, spread))
        unknown = regrets(FTRL(sigma, None, "entropic"), space, adversary, rounds, sigma, "max")
        assert (unknown <= [1.5 * theory.ftrl_regret(t, scaled, spread) + 1e-9 for t in range(1, rounds + 1)]).all()
    assert 0.2 < max(ends) <= 1


def test_other_rates_break_the_bound() -> None:
    rounds = 200
    cases: tuple[tuple[Space, Literal["euclidean", "entropic"], Literal["two", "max"], float], ...] = (
        (PLACES["ball"], "euclidean", "two", theory.euclidean_range(3.0)),
        (SIMPLICES["probabilities"], "entropic", "max", theory.entropic_range(5)),
    )
    for space, regularizer, order, spread in cases:
        bound = theory.ftrl_regret(rounds, 1.0, spread)
        for rate in (1e-6, 1e3):
            spec = FTRL(1.0, rounds, regularizer, Constant(rate))
            assert max(regrets(spec, space, a, rounds, 1.0, order)[-1] for a in ADVERSARIES) > bound
            assert all(
                regrets(spec, space, a, rounds, 1.0, order)[-1] <= theory.ftrl_regret(rounds, 1.0, spread, rate)
                for a in ADVERSARIES
            )


def test_the_euclidean_leader_projects_once_a_play() -> None:
    counted = CountingSpace(Ball(3))
    bank = FTRL(1.0, 10).start(4, counted, 0, np.random.default_rng(0))
    for t in range(1, 11):
        bank.play(None)
        bank.update(None, np.ones((4, 3)), t)
    assert (counted.projections, counted.oracle_calls) == (40, 0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sigma": 0.0}, "sigma must be positive, got 0.0."),
        ({"sigma": math.nan}, "sigma must be finite, got nan."),
        ({"horizon": 0}, "horizon must be a whole number of at least 1, got 0."),
        ({"regularizer": "barrier"}, "regularizer must be one of entropic, euclidean; got 'barrier'."),
    ],
)
def test_bad_arguments_are_named_in_one_sentence(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=r"^\w+ must be") as error:
        FTRL(**changes)
    assert str(error.value) == sentence
