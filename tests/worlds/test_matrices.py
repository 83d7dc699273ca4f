"""Worlds of matrices: constants bound what happens, gradients are slopes, the best is proved; and the loop on large ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.spaces import NuclearBall, Spectrahedron
from banditboost.spaces.stacks import Entries, Factored
from banditboost.worlds import Convex, Covariance, MatrixCompletion, drifting_covariance, ratings

WORLDS: list[Convex] = [
    ratings(rounds=30, rows=9, columns=6, rank=2, batch=8),
    ratings(rounds=30, rows=4, columns=12, rank=1, batch=30, spread=0.5, seed=3),
    MatrixCompletion(NuclearBall(1, 2, 0.5), [[0, 0, 0]], [[1, 1, 0]], [[3.0, -1.0, 0.2]]),
    drifting_covariance(n=8, rounds=30),
    Covariance(Spectrahedron(2, 4.0, False), [[[1.0, 0.0]], [[0.0, 2.0]], [[0.0, 0.0]]]),
]
each = pytest.mark.parametrize(
    "world", WORLDS, ids=["ratings", "repeats", "one row", "drifting covariance", "bounded trace"]
)


def members(space: bb.spaces.Space, n: int = 40) -> Array:
    """Extreme points and mixtures of two."""
    corners = space.minimize(np.random.default_rng(1).standard_normal((n, *space.shape)))
    return np.concatenate([corners, (corners + corners[::-1]) / 2, space.inner_centre[np.newaxis]])


@each
def test_constants_bound_what_happens(world: Convex) -> None:
    points = members(world.space)
    for t in range(len(world)):
        values, slopes = world.values(t, points), world.gradients(t, points).reshape(len(points), -1)
        assert values.shape == (len(points),)
        assert np.abs(values).max() <= world.bound * (1 + 1e-12)
        assert np.linalg.norm(slopes, axis=1).max() <= world.lipschitz * (1 + 1e-12)
        turned = np.linalg.norm(slopes - slopes[::-1], axis=1)
        apart = np.linalg.norm((points - points[::-1]).reshape(len(points), -1), axis=1)
        assert (turned <= world.smoothness * apart + 1e-12).all()
    assert world.sigma == world.lipschitz


def test_the_constants_of_completion_are_reached() -> None:
    # One entry, shown twice, at the border of the ball and opposite to what is seen.
    world = MatrixCompletion(NuclearBall(2, 2, 3.0), [[0, 0]], [[1, 1]], [[-2.0, -2.0]])
    point = np.array([[0.0, 3.0], [0.0, 0.0]])
    assert world.values(0, point) == pytest.approx(world.bound)
    assert np.linalg.norm(world.gradients(0, point)) == pytest.approx(world.lipschitz)
    assert world.gradients(0, point)[0, 1] - world.gradients(0, 0 * point)[0, 1] == pytest.approx(3 * world.smoothness)


@each
def test_gradients_are_slopes(world: Convex) -> None:
    rng = np.random.default_rng(2)
    for point in members(world.space, 3):
        for t in (0, len(world) - 1):
            direction = rng.standard_normal(world.space.shape)
            ahead, behind = world.values(t, np.stack([point + 1e-4 * direction, point - 1e-4 * direction]))
            slope = float((world.gradients(t, point) * direction).sum())
            assert (ahead - behind) / 2e-4 == pytest.approx(slope, rel=1e-6, abs=1e-8)


@each
def test_the_best_is_proved_and_no_member_beats_it(world: Convex) -> None:
    best, space = world.best(), world.space
    assert space.contains(best.point)
    np.testing.assert_allclose(best.losses, [float(world.values(t, best.point)) for t in range(len(world))], atol=1e-12)
    slope = np.sum([world.gradients(t, best.point) for t in range(len(world))], axis=0)
    certificate = float((slope * (best.point - space.minimize(slope))).sum())
    assert certificate <= best.gap + 1e-9
    assert best.gap <= 1e-6 * world.bound * len(world)
    points = members(space)
    totals = np.sum([world.values(t, points) for t in range(len(world))], axis=0)
    assert best.losses.sum() - best.gap <= totals.min() + 1e-9


def test_the_best_completion_finds_the_table() -> None:
    # 9,000 looks at 2,400 entries without noise leave one matrix in the ball, which is the border's.
    world = ratings(rounds=300, rows=40, columns=60, rank=2, batch=30, spread=0.0)
    best = world.best()
    assert best.losses.mean() < 1e-5
    assert np.linalg.norm(best.point, "nuc") == pytest.approx(world.space.radius, rel=1e-3)
    values = np.linalg.svd(best.point, compute_uv=False)
    assert values[2] < 0.01 * values[1]


@each
def test_described_points_are_answered_as_stored_ones(world: Convex) -> None:
    m, n = world.space.shape
    rng = np.random.default_rng(3)
    points = Factored(
        rng.standard_normal((4, m)),
        rng.standard_normal((4, n)),
        rng.random((3, 4)),
        world.space.inner_centre,
        rng.random(3),
    )
    whole = np.asarray(points)
    np.testing.assert_allclose(world.values(0, points.array()), world.values(0, whole), atol=1e-12)
    described = world.gradients(0, points.array())
    assert isinstance(described, Entries | Factored)
    np.testing.assert_allclose(described, world.gradients(0, whole), atol=1e-12)


def test_noise_is_added_to_what_is_described() -> None:
    world = ratings(rounds=2, rows=70, columns=66, batch=5, noise=bb.noise.Uniform(0.1))
    booster = perturbed(world, copies=2)
    ticket = booster.ask()
    rng = np.random.default_rng(0)
    blurred, true = world.answer(0, ticket, True, rng), world.answer(0, ticket, False, rng)
    assert isinstance(true, Entries)
    assert 0.09 < np.abs(blurred - np.asarray(true)).max() <= 0.1
    assert world.sigma == pytest.approx(world.lipschitz + 0.1 * np.sqrt(70 * 66))
    booster.tell(ticket, blurred)


def test_drift_drifts() -> None:
    world = drifting_covariance(n=20, rounds=400, spikes=1, signal=0.95, turns=0.25)
    first, last = (np.linalg.eigh(part)[1][:, -1] for part in (_mean(world, 0, 40), _mean(world, 360, 400)))
    assert abs(first @ last) < 0.3
    still = drifting_covariance(n=20, rounds=400, spikes=1, signal=0.95, turns=0.0)
    first, last = (np.linalg.eigh(part)[1][:, -1] for part in (_mean(still, 0, 40), _mean(still, 360, 400)))
    assert abs(first @ last) > 0.99


def _mean(world: Covariance, begin: int, end: int) -> Array:
    factors = world.factors[begin:end].reshape(-1, world.space.n)
    return np.asarray(factors.T @ factors)


# The loop on matrices that are large enough for Lanczos.


HOW: list[dict[str, Any]] = [{}, {"fresh": False}, {"fresh": False, "horizon": None}, {"scale": "adaptive"}]
each_way = pytest.mark.parametrize("how", HOW, ids=["fresh", "once", "growing", "adaptive"])


def perturbed(world: Convex, copies: int = 4, seed: int = 0, how: dict[str, Any] = HOW[0]) -> bb.Booster:
    learner = bb.learners.FPL(**{"sigma": world.sigma / 10, "horizon": len(world)} | how)
    return bb.Booster(learner=learner, copies=copies, gradient=bb.gradients.Stochastic(), space=world.space, seed=seed)


def play(booster: bb.Booster, world: Convex, begin: int, end: int) -> list[bytes]:
    seen = []
    for t in range(begin, end):
        ticket = booster.ask()
        seen += [ticket.prediction.tobytes(), np.asarray(ticket.queries).tobytes()]
        booster.tell(ticket, world.answer(t, ticket, True, np.random.default_rng(t)))
    return seen


BIG: list[Convex] = [ratings(rounds=40, rows=80, columns=70, batch=100), drifting_covariance(n=70, rounds=40)]
big = pytest.mark.parametrize("world", BIG, ids=["ratings", "covariance"])


@big
@each_way
def test_a_factored_run_is_reproducible_saved_and_pure(world: Convex, how: dict[str, Any], tmp_path: Path) -> None:
    booster = perturbed(world, how=how)
    first = play(booster, world, 0, 6)
    assert first == play(perturbed(world, how=how), world, 0, 6)
    assert first != play(perturbed(world, how=how, seed=1), world, 0, 6)
    predicted = booster.predict()
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert (booster.predict() == predicted).all()
    assert play(booster, world, 6, 12) == play(loaded, world, 6, 12)


@big
def test_a_factored_ticket_told_late_is_told_as_it_was(world: Convex) -> None:
    booster, other = perturbed(world), perturbed(world)
    late = booster.ask()
    kept = np.asarray(late.queries).copy()
    booster.tell(soon := booster.ask(), world.gradients(1, soon.queries))
    assert (np.asarray(late.queries) == kept).all()
    booster.tell(late, world.gradients(0, late.queries))
    # BoosterState gradients teach the same as described ones.
    late, soon = other.ask(), other.ask()
    other.tell(soon, world.gradients(1, np.asarray(soon.queries)))
    other.tell(late, world.gradients(0, np.asarray(late.queries)))
    np.testing.assert_allclose(booster.predict(), other.predict(), atol=1e-5 * float(np.abs(other.predict()).max()))


@big
def test_bad_answers_change_nothing(world: Convex) -> None:
    booster = perturbed(world)
    ticket = booster.ask()
    good = world.gradients(0, ticket.queries)
    before = booster.predict()
    with pytest.raises(ValueError, match=r"^losses must have shape"):
        booster.tell(ticket, good[:-1])
    m, n = world.space.shape
    with pytest.raises(ValueError, match=r"^losses must be finite"):
        booster.tell(ticket, Entries((4, m, n), [0], [0], np.full((4, 1), np.nan)).array())
    assert (booster.predict() == before).all()
    booster.tell(ticket, good)


@pytest.mark.parametrize(
    ("world", "sigma"),
    [(ratings(rounds=200, rows=80, columns=70, batch=100), 0.01), (drifting_covariance(n=70, rounds=200), 0.1)],
    ids=["ratings", "covariance"],
)
def test_it_learns_without_projections(world: Convex, sigma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(world.space), "project", None)
    learner = bb.learners.FPL(sigma=sigma, horizon=200)
    booster = bb.Booster(learner=learner, copies=15, gradient=bb.gradients.Stochastic(), space=world.space)
    trace = bb.evaluate.progressive(booster, world)
    start = np.array([world.values(t, world.space.inner_centre) for t in range(len(world))])
    assert trace.losses[-100:].mean() < 0.75 * start[-100:].mean()
    assert trace.paid.shape == (200,)


@pytest.mark.parametrize("recipe", [bb.algorithms.meta_frank_wolfe, bb.algorithms.morgfw])
def test_gradients_that_average_take_described_answers(recipe: Callable[..., bb.Booster]) -> None:
    world = BIG[0]
    booster = recipe(world.space, horizon=2, sigma=world.sigma)
    for t in range(2):
        ticket = booster.ask()
        booster.tell(ticket, world.answer(t, ticket, True, np.random.default_rng(t)))
    assert np.isfinite(booster.predict()).all()


def test_a_gamma_other_than_one_stores_and_projects() -> None:
    world = BIG[0]
    booster = bb.Booster(
        learner=bb.learners.FPL(sigma=world.sigma, horizon=5),
        copies=2,
        chain=bb.chains.ConvexHull(gamma=0.5),
        gradient=bb.gradients.Stochastic(),
        space=world.space,
    )
    for t in range(2):
        ticket = booster.ask()
        assert isinstance(ticket.queries, np.ndarray)
        booster.tell(ticket, world.gradients(t, ticket.queries))
    assert world.space.contains(booster.predict())


BAD: list[tuple[Callable[[], Convex], str]] = [
    (
        lambda: MatrixCompletion(NuclearBall(2, 2), [[0]], [[0]], [1.0]),
        "observed must have shape (rounds, entries), got (1,).",
    ),
    (
        lambda: MatrixCompletion(NuclearBall(2, 2), [[2]], [[0]], [[1.0]]),
        "rows must be whole numbers from 0 to 1, got 2.",
    ),
    (
        lambda: MatrixCompletion(NuclearBall(2, 2), [[0]], [[0.5]], [[1.0]]),
        "columns must be whole numbers from 0 to 1, got 0.5.",
    ),
    (lambda: MatrixCompletion(NuclearBall(2, 2), [[0, 1]], [[0]], [[1.0]]), "rows must have shape (1, 1), got (1, 2)."),
    (lambda: Covariance(Spectrahedron(2), [[1.0, 0.0]]), "factors must have shape (rounds, samples, 2), got (1, 2)."),
    (
        lambda: Covariance(Spectrahedron(2), [[[2.0, 0.0]]]),
        "factors must have squares that sum to 1 in every round, got 4.",
    ),
    (
        lambda: Covariance(Spectrahedron(2, 1.0, False), [[[2.0, 0.0]]]),
        "factors must have squares that sum to at most 1 in every round, got 4.",
    ),
    (lambda: drifting_covariance(n=5, spikes=3), "n must be at least twice the number of spikes, got 5 and 3."),
    (lambda: drifting_covariance(signal=1.0), "signal must lie strictly between 0 and 1, got 1.0."),
    (lambda: ratings(spread=-1.0), "spread must not be negative, got -1.0."),
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_arguments_are_told_in_a_sentence(make: Callable[[], Convex], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()
