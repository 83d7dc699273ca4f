"""The loop against Algorithm 2, written once more straight from the paper: loops over t and i, no shared code."""

from __future__ import annotations

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import streams


@pytest.mark.parametrize("gamma", [2.0, 0.5])
def test_algorithm_2_line_by_line(gamma: float) -> None:
    d, p, N, T, delta, radius = 3, 4, 6, 200, 0.3, 2.0
    data = np.random.default_rng(7)
    X, labels = data.uniform(-1, 1, (T, p)), data.uniform(-0.5, 0.5, (T, d))
    w = data.uniform(-0.1, 0.1, (T, N))  # the noise of the feedback

    booster = bb.Booster(
        learner=bb.learners.Linear(radius=radius, rate=bb.rates.Power(0.2, 0.5), intercept=False),
        copies=N,
        chain=bb.chains.ConvexHull(gamma=gamma),
        gradient=bb.gradients.OnePoint(delta=delta),
        space=bb.spaces.Ball(3, radius=1.0),
        inside=False,
        seed=3,
    )
    directions = streams.stream(3, "directions")

    A = [np.zeros((d, p)) for _ in range(N)]  # the weak learners: linear, projected online gradient descent
    left = moved = False
    for t in range(T):
        ticket = booster.ask(X[t])
        losses = ((ticket.queries - labels[t]) ** 2).sum(axis=1) + w[t]

        y = np.zeros(d)
        updates = []
        for i in range(N):
            eta = 2 / (i + 2)  # i counts from 0 here
            v = directions.standard_normal(d)
            v = v / np.sqrt(v @ v)
            query = y + delta * v
            np.testing.assert_allclose(ticket.queries[i], query, rtol=1e-12, atol=1e-12)
            feedback = float(((query - labels[t]) ** 2).sum()) + w[t, i]
            updates.append((d / delta) * feedback * v)
            y = (1 - eta) * y + eta * (1 / gamma) * (A[i] @ X[t])
        length = np.sqrt(y @ y)
        left |= bool(length > 1)
        prediction = y / length if length > 1 else y
        np.testing.assert_allclose(ticket.prediction, prediction, rtol=1e-12, atol=1e-12)

        booster.tell(ticket, losses)
        for i in range(N):
            A[i] = A[i] - 0.2 * (t + 1) ** -0.5 * np.outer(updates[i], X[t])
            norm = np.sqrt((A[i] ** 2).sum())
            moved |= bool(norm > radius)
            if norm > radius:
                A[i] = A[i] * (radius / norm)
        assert isinstance(booster.bank, bb.learners.linear.LinearBank)
        np.testing.assert_allclose(booster.bank.weights, np.array(A), rtol=1e-12, atol=1e-12)
    assert moved, "the projection of the weights must have been exercised"
    assert left or gamma > 1, "with γ < 1 the path must have left the space: there Π matters"
