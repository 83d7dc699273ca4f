"""Second-order copies against direct solutions, online ridge regression, their regret inequality, and many rounds."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import SecondOrder
from banditboost.spaces import Ball, Interval, Space

PLACES: tuple[Space, ...] = (Interval(-1.0, 1.0), Ball(2, 1.0))


def solved(X: Array, targets: Array, spec: SecondOrder) -> Array:
    """Σ targets xᵀ (λI + c Σ x xᵀ)⁻¹ by a dense solver; X (T, p), targets (T, d)."""
    A = spec.ridge * np.eye(X.shape[1]) + spec.curvature * X.T @ X
    return np.asarray(np.linalg.solve(A, X.T @ targets).T)


@pytest.mark.parametrize("forward", [True, False])
@pytest.mark.parametrize("separate", [True, False])
@pytest.mark.parametrize("space", PLACES, ids=repr)
def test_around_zero_is_ridge_regression(space: Space, separate: bool, forward: bool) -> None:
    rng, copies, p = np.random.default_rng(1), 3, 4
    spec = SecondOrder(0.7, 1.3, "zero", forward, intercept=False)
    bank = spec.start(copies, space, p, rng, separate)
    X, G = rng.normal(size=(60, copies if separate else 1, p)), rng.normal(size=(60, copies, space.size))
    for t in range(60):
        plays = bank.play(X[t] if separate else X[t, 0]).reshape(copies, -1)
        for i in range(copies):
            row = X[: t + 1, i if separate else 0]
            past = solved(row if forward else row[:-1], -np.vstack([G[:t, i], 0 * G[:1, i]])[: t + forward], spec)
            np.testing.assert_allclose(plays[i], past @ row[-1], rtol=1e-9, atol=1e-12)
        bank.update(X[t] if separate else X[t, 0], G[t].reshape(copies, *space.shape), t + 1)


def test_the_leader_minimises_what_it_says() -> None:
    rng = np.random.default_rng(2)
    spec = SecondOrder(0.5, 2.0, "zero", forward=False)
    bank = spec.start(1, PLACES[1], 2, rng)
    X, G = rng.normal(size=(30, 2)), rng.normal(size=(30, 1, 2))
    for t in range(30):
        bank.update(X[t], G[t], t + 1)
    seen = np.column_stack([X, np.ones(30)])

    def objective(W: Array) -> float:
        plays = seen @ W.T
        return float((G[:, 0] * plays).sum() + np.square(plays).sum() + 0.25 * np.square(W).sum())

    least = objective(bank.weights[0])
    for _ in range(200):
        assert objective(bank.weights[0] + 0.1 * rng.normal(size=(2, 3))) > least


def test_around_the_play_with_the_squared_loss_is_online_ridge_regression() -> None:
    world = bb.worlds.SyntheticLinear(rounds=800, features=4)
    for ridge in (0.3, 5.0):
        booster = bb.algorithms.ogd(Interval(-50.0, 50.0), learner=SecondOrder(2 * ridge), inside=False)
        trace = bb.evaluate.progressive(booster, world)
        np.testing.assert_allclose(trace.losses, bb.evaluate.online_ridge(world, ridge), rtol=1e-7, atol=1e-10)


def test_around_the_play_is_the_online_newton_step() -> None:
    rng, spec = np.random.default_rng(3), SecondOrder(0.4, 1.7, "play", forward=False)
    bank = spec.start(2, PLACES[1], 3, rng)
    A, W = 0.4 * np.eye(4), np.zeros((2, 2, 4))
    for t in range(1, 80):
        x, g = rng.normal(size=3), rng.normal(size=(2, 2))
        seen = np.append(x, 1.0)
        np.testing.assert_allclose(bank.play(x), W @ seen, rtol=1e-9, atol=1e-11)
        bank.update(x, g, t)
        A += 1.7 * np.outer(seen, seen)
        W -= g[..., np.newaxis] * np.linalg.solve(A, seen)


def test_regret_inequality_holds_on_every_run() -> None:
    """Σ g·(W_t - U)x ≤ λ‖U‖²/2 + (c/2) Σ ‖(W_t - U)x‖² + Σ ‖g‖² x·A⁻¹x / 2: Hazan, Agarwal, Kale (2007), proof of Theorem 2."""
    rng, spec = np.random.default_rng(4), SecondOrder(1.0, 0.5, forward=False, intercept=False)
    bank = spec.start(2, PLACES[0], 3, rng)
    comparators = rng.normal(size=(20, 3)) * np.logspace(-1, 1, 20)[:, np.newaxis]
    A, left, right = np.eye(3), np.zeros((2, 20)), 0.5 * np.square(comparators).sum(axis=1) * np.ones((2, 1))
    for t in range(1, 500):
        x = rng.normal(size=3)
        plays = bank.play(x)
        g = np.array([rng.normal(), np.sign(plays[1]) if t % 2 else -1.0])
        A += 0.5 * np.outer(x, x)
        away = plays[:, np.newaxis] - comparators @ x
        left += g[:, np.newaxis] * away
        right += 0.25 * np.square(away) + 0.5 * np.square(g)[:, np.newaxis] * (x @ np.linalg.solve(A, x))
        bank.update(x, g, t)
        assert (left <= right + 1e-9).all()
    assert (left > 0.1 * right).any()


def test_its_regret_on_a_known_world_is_logarithmic() -> None:
    paid = []
    for rounds in (1000, 8000):
        world = bb.worlds.SyntheticLinear(rounds=rounds, features=3)
        booster = bb.algorithms.ogd(Interval(-2.0, 2.0), learner=SecondOrder())
        paid.append(float((bb.evaluate.progressive(booster, world).losses - world.best_losses).sum()))
    assert 0 < paid[1] < 2 * paid[0]


def test_shrinking_is_the_best_factor_so_far() -> None:
    rng, copies = np.random.default_rng(5), 3
    shrinking = SecondOrder(2.0, centre="zero", shrinks=True).start(copies, PLACES[1], 4, rng)
    whole = SecondOrder(2.0, centre="zero").start(copies, PLACES[1], 4, rng)
    plays: list[Array] = []
    told: list[Array] = []
    for t in range(1, 60):
        x = rng.normal(size=4)
        # The first copy's losses say something about x, the second's are noise, the third's are none.
        g = np.stack([np.array([x[0], -x[1]]), rng.normal(size=2), np.zeros(2)])
        a = whole.play(x)
        for i in range(copies):
            against = sum(float((g_[i] * a_[i]).sum()) for g_, a_ in zip(told, plays, strict=True))
            size = sum(2.0 * float(np.square(a_[i]).sum()) for a_ in plays)
            best = min(max(-against / size, 0.0), 1.0) if size > 0 else 0.0
            np.testing.assert_allclose(shrinking.play(x)[i], best * a[i], rtol=1e-9, atol=1e-12)
        plays.append(a)
        told.append(g)
        for bank in (shrinking, whole):
            bank.update(x, g, t)
    factors = shrinking.factors()
    assert factors[0] > 0.9
    assert factors[1] < 0.5
    assert factors[2] == 0.0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_many_rounds_leave_the_inverse_sound(scale: float) -> None:
    """After 200,000 rounds of features of very different sizes, UᵀU is still A⁻¹."""
    rng, rounds = np.random.default_rng(6), 200_000
    mixing = scale * rng.normal(size=(4, 4)) * np.array([1.0, 10.0, 0.1, 1.0])
    X = rng.normal(size=(rounds, 4)) @ mixing
    y = np.tanh(X[:, 0] / scale)
    booster = bb.algorithms.ogd(Interval(-1.0, 1.0), learner=SecondOrder(1e-2, intercept=False), inside=False)
    assert bb.evaluate.progressive(booster, bb.worlds.Supervised(X, y)).compiled
    assert booster.bank is not None
    root, weights = booster.bank.arrays()["roots"][0], booster.bank.arrays()["weights"][0]
    A = 1e-2 * np.eye(4) + 2 * X.T @ X
    size = np.sqrt(np.diag(A))  # errors are judged in units of the features
    np.testing.assert_allclose((root.T @ root @ A) * (size[:, np.newaxis] / size), np.eye(4), atol=1e-6)
    np.testing.assert_allclose(weights * size, np.linalg.solve(A, 2 * X.T @ y) * size, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ridge": 0.0}, "ridge must be positive, got 0.0."),
        ({"curvature": -1.0}, "curvature must be positive, got -1.0."),
        ({"curvature": math.inf}, "curvature must be finite, got inf."),
        ({"centre": "here"}, "centre must be one of play, zero; got 'here'."),
        ({"shrinks": True}, "shrinks must be False where centre is 'play', got True."),
    ],
)
def test_bad_fields_are_named(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        SecondOrder(**changes)
