"""Descent on the set against loops written out, and its regret against its bound on every run, adversaries included."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from banditboost import theory
from banditboost._core.checks import Array
from banditboost.learners import OGD
from banditboost.rates import Constant, Power, Rate
from banditboost.spaces import Ball, Birkhoff, Box, Interval, L1Ball, Paths, Simplex, Space

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


# Against loops.


def nearest(space: Space, point: list[float]) -> list[float]:
    """The nearest member, from school: cut, scale, or shift by bisection until the sum is right."""
    if isinstance(space, Interval):
        return [min(max(point[0], space.low), space.high)]
    if isinstance(space, Box):
        return [min(max(z, a), b) for z, a, b in zip(point, space.low, space.high, strict=True)]
    if isinstance(space, Ball):
        away = [z - c for z, c in zip(point, space.inner_centre.tolist(), strict=True)]
        length = math.sqrt(sum(a * a for a in away))
        scale = min(1.0, space.radius / length) if length else 1.0
        return [c + scale * a for c, a in zip(space.inner_centre.tolist(), away, strict=True)]
    assert isinstance(space, Simplex)
    low, high = min(point) - space.total, max(point)
    for _ in range(200):
        middle = (low + high) / 2
        if sum(max(z - middle, space.floor) for z in point) > space.total:
            low = middle
        else:
            high = middle
    return [max(z - low, space.floor) for z in point]


@pytest.mark.parametrize("rate", [None, Constant(0.3), Power(0.7, 0.25)], ids=repr)
@pytest.mark.parametrize("name", ["interval", "box", "ball", "simplex", "simplex with a floor"])
def test_bank_equals_loops(name: str, rate: Rate | None) -> None:
    space, copies, sigma, rng = PLACES[name], 3, 1.3, np.random.default_rng(51)
    bank = OGD(sigma, rate).start(copies, space, 0, np.random.default_rng(0))
    points = [list(np.atleast_1d(space.inner_centre).tolist()) for _ in range(copies)]
    met = 0
    for t in range(1, 61):
        plays = bank.play(None)
        assert plays.shape == (copies, *space.shape)
        np.testing.assert_allclose(plays.reshape(copies, -1), points, rtol=1e-12, atol=1e-12)
        gradients = rng.normal(size=(copies, *space.shape))
        step = space.diameter / (sigma * math.sqrt(t))
        if rate is not None:
            step = 0.3 if isinstance(rate, Constant) else 0.7 / math.pow(t, 0.25)
        for i, flat in enumerate(gradients.reshape(copies, -1)):
            wish = [x - step * float(g) for x, g in zip(points[i], flat, strict=True)]
            points[i] = nearest(space, wish)
            met += points[i] != wish
        bank.update(None, gradients, t)
        gradients[...] = np.nan  # what was told is the bank's own from then on
    assert met > 10  # the border was met


def test_the_step_is_that_of_the_round_told() -> None:
    """Schedules count what the loop counts, not what the bank does."""
    space = Ball(2, 10.0)
    for t in (1, 4, 100):
        bank = OGD(rate=Power(1.0, 0.5)).start(1, space, 0, np.random.default_rng(0))
        bank.update(None, np.array([[0.0, 1.0]]), t)
        assert bank.play(None).tolist() == [[0.0, -1 / math.sqrt(t)]]


def test_copies_do_not_see_each_other_and_plays_are_the_callers() -> None:
    space, rng = Birkhoff(3), np.random.default_rng(52)
    together = OGD().start(3, space, 0, rng)
    alone = [OGD().start(1, space, 0, rng) for _ in range(3)]
    for t in range(1, 21):
        gradients = rng.normal(size=(3, 3, 3))
        together.update(None, gradients, t)
        for i, bank in enumerate(alone):
            bank.update(None, gradients[i : i + 1], t)
            np.testing.assert_allclose(together.play(None)[i], bank.play(None)[0], atol=1e-10)
        together.play(None)[...] = 7.0
    assert space.contains(together.play(None)).all()
    assert together.arrays()["points"] is together.points


# Regret: an adversary sees the plays and all that was told, and answers with gradients of norm 1.

Adversary = Callable[[int, Array, Array, Space], Array]


def lengths(vectors: Array, axes: int) -> Array:
    return np.asarray(np.sqrt(np.square(vectors).sum(axis=tuple(range(-axes, 0)), keepdims=True)))


def unit(vectors: Array, axes: int) -> Array:
    """Scale to norm 1; where there is nothing to scale, anything of norm 1."""
    size = math.prod(vectors.shape[vectors.ndim - axes :])
    norm = lengths(vectors, axes)
    anything = np.full_like(vectors, 1 / math.sqrt(size))
    return np.where(norm > 1e-12, vectors / np.maximum(norm, 1e-12), anything)


def stochastic(t: int, plays: Array, total: Array, space: Space) -> Array:
    rng = np.random.default_rng(t)
    return rng.normal(size=plays.shape) + 0.3


def alternating(t: int, plays: Array, total: Array, space: Space) -> Array:
    direction = np.random.default_rng(53).normal(size=space.shape)
    return np.broadcast_to((-1.0) ** t * direction, plays.shape)


def doubling(t: int, plays: Array, total: Array, space: Space) -> Array:
    direction = np.random.default_rng(54).normal(size=space.shape)
    return np.broadcast_to((-1.0) ** int(math.log2(t)) * direction, plays.shape)


def pushes_outward(t: int, plays: Array, total: Array, space: Space) -> Array:
    return space.inner_centre - plays


def charges_the_play(t: int, plays: Array, total: Array, space: Space) -> Array:
    return plays - space.inner_centre


def follows_the_regret(t: int, plays: Array, total: Array, space: Space) -> Array:
    """Charge the way from the best fixed decision so far to the play."""
    return plays - space.minimize(total)


ADVERSARIES: tuple[Adversary, ...] = (
    stochastic,
    alternating,
    doubling,
    pushes_outward,
    charges_the_play,
    follows_the_regret,
)


def worst_share(spec: OGD, space: Space, adversary: Adversary, rounds: int, sigma: float) -> float:
    """Largest regret over its bound (3/2)σD√t, over all rounds t."""
    axes = len(space.shape)
    bank = spec.start(2, space, 0, np.random.default_rng(0))
    total, paid, share = np.zeros((2, *space.shape)), np.zeros(2), -math.inf
    for t in range(1, rounds + 1):
        plays = bank.play(None)
        assert space.contains(plays).all()
        g = sigma * unit(np.array(adversary(t, plays, total, space)), axes)
        paid += (g * plays).reshape(2, -1).sum(axis=1)
        total += g
        least = (total * space.minimize(total)).reshape(2, -1).sum(axis=1)
        share = max(share, float((paid - least).max()) / theory.ogd_regret(t, sigma, space.diameter))
        bank.update(None, g, t)
    return share


@pytest.mark.parametrize("name", PLACES)
def test_regret_stays_below_the_bound_at_every_round_against_everyone(name: str) -> None:
    space, rounds = PLACES[name], 80 if name in ("matchings", "paths") else 250
    shares = [worst_share(OGD(2.5), space, adversary, rounds, 2.5) for adversary in ADVERSARIES]
    assert max(shares) <= 1 + 1e-9
    assert max(shares) > 0.2  # someone made it suffer


@pytest.mark.parametrize("name", ["ball", "simplex", "interval"])
def test_other_steps_break_the_bound(name: str) -> None:
    space = PLACES[name]
    for rate in (Constant(1e3), Constant(1e-6), Power(10.0, 3.0)):
        assert max(worst_share(OGD(1.0, rate), space, adversary, 200, 1.0) for adversary in ADVERSARIES) > 1
    # And so does a σ that the losses do not keep.
    assert max(worst_share(OGD(1e-4), space, adversary, 200, 1.0) for adversary in ADVERSARIES) > 1


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.inf, math.nan])
def test_a_bad_bound_is_named(sigma: float) -> None:
    with pytest.raises(ValueError, match=r"^sigma must be"):
        OGD(sigma)
