"""The chain Span in the loop, against Algorithm 1 of Beygelzimer, Hazan, Kale, Luo (2015) written once more: loops over t and i."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import banditboost as bb
from banditboost.chains import Span

Array = NDArray[np.float64]

T, N, P, DELTA, NOISE = 200, 6, 4, 0.3, 0.1
ETA, RADIUS, LEARNING = 0.5, 2.0, 1.0
B, L = 1.0, 4.0


def space_of(d: int) -> bb.spaces.Space:
    """Numbers of size B at most, or points."""
    return bb.spaces.Interval(-B, B) if d == 1 else bb.spaces.Ball(d, B)


def project(y: Array, radius: float) -> Array:
    length = math.sqrt(sum(float(c) ** 2 for c in y))
    return y * (radius / length) if length > radius else y


def loss(y: Array, label: Array) -> float:
    return sum((float(a) - float(b)) ** 2 for a, b in zip(y, label, strict=True))


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "source"])
@pytest.mark.parametrize("feedback", ["exact", "one point"])
@pytest.mark.parametrize(("d", "gamma"), [(1, 1.0), (3, 1.0), (3, 0.8)])
def test_algorithm_1_line_by_line(d: int, gamma: float, feedback: str, adaptive: bool, inside: bool) -> None:
    data = np.random.default_rng(11)
    X, w = data.uniform(-1, 1, (T, P)), data.uniform(-NOISE, NOISE, (T, N))
    labels = X[:, :1] * np.array([0.9, -0.3, 0.3])[:d]  # near the boundary often enough for projections to matter
    # Rates that keep the copies moving: one-point gradients are larger by about d/δ.
    rate = LEARNING if feedback == "exact" else LEARNING / 10
    bound = L if feedback == "exact" else 10 * L  # a bound on the gradients, for the source's α_t = 1/(L B √t)
    space = space_of(d)
    booster = bb.Booster(
        learner=bb.learners.Linear(radius=RADIUS, rate=bb.rates.Power(rate, 0.5), intercept=False),
        copies=N,
        chain=Span(gamma=gamma, step=ETA, rate=None if adaptive else bb.rates.Power(1 / (bound * B), 0.5)),
        gradient=bb.gradients.Exact() if feedback == "exact" else bb.gradients.OnePoint(delta=DELTA),
        space=space,
        inside=inside,
        seed=3,
    )
    # Copies play anywhere; the path is kept where queries are legal.
    reach = B - DELTA if inside and feedback == "one point" else B

    A = [np.zeros((d, P)) for _ in range(N)]
    sigma, squares = [0.0] * N, [0.0] * N
    projected = between = clipped = out = 0
    for t in range(T):
        ticket = booster.ask(X[t])
        path = [np.zeros(d)]
        for i in range(N):
            wished = (1 - sigma[i] * ETA) * path[i] + ETA / gamma * (A[i] @ X[t])
            path.append(project(wished, reach))
            projected += path[-1] is not wished
        shape = (-1, *space.shape)
        np.testing.assert_allclose(ticket.path, np.array(path).reshape(shape), rtol=1e-12, atol=1e-12)
        assert np.array_equal(ticket.prediction, ticket.path[-1])
        np.testing.assert_allclose(booster.chain_memory["shrinkage"], sigma, rtol=1e-12, atol=1e-12)

        gradients = []
        if feedback == "exact":
            np.testing.assert_allclose(ticket.queries, np.array(path[:-1]).reshape(shape), rtol=1e-12, atol=1e-12)
            gradients = [2 * (y - labels[t]) for y in path[:-1]]
            booster.tell(ticket, np.array(gradients).reshape(shape))
        else:
            answers, queries = [], []
            for i in range(N):
                v = ticket.probe.directions[i].reshape(d)
                assert abs(float(v @ v) - 1) < 1e-12
                query = path[i] + DELTA * v
                queries.append(query)
                out += math.sqrt(float(query @ query)) > B + 1e-9
                answers.append(loss(query, labels[t]) + w[t, i])
                gradients.append(d / DELTA * answers[-1] * v)
            np.testing.assert_allclose(ticket.queries, np.array(queries).reshape(shape), rtol=1e-12, atol=1e-12)
            booster.tell(ticket, answers)

        for i in range(N):
            slope = sum(float(a) * float(b) for a, b in zip(gradients[i], path[i], strict=True))
            squares[i] += slope * slope
            alpha = 1 / (bound * B * math.sqrt(t + 1))
            if adaptive:
                alpha = 1 / math.sqrt(2 * squares[i]) if squares[i] > 0 else 0.0
            sigma[i] = min(1.0, max(0.0, sigma[i] + alpha * slope))
            between, clipped = between + (0 < sigma[i] < 1), clipped + (sigma[i] == 1)
            A[i] = A[i] - rate / math.sqrt(t + 1) * np.outer(gradients[i], X[t])
            norm = math.sqrt(float((A[i] ** 2).sum()))
            if norm > RADIUS:
                A[i] = A[i] * (RADIUS / norm)
    # What the comparison is worth: projections acted, shrinkage was learned, and queries left only where they may.
    assert projected > 20
    assert between > 100
    assert clipped > 0 or not adaptive
    assert (out > 0) == (feedback == "one point" and not inside)


def learn(booster: bb.Booster, rounds: int, seed: int) -> list[Array]:
    rng, predictions = np.random.default_rng(seed), []
    for x in rng.uniform(-1, 1, (rounds, P)):
        ticket = booster.step(x, lambda z, x=x: (z - 0.5 * x[0]) ** 2)  # type: ignore[misc]
        predictions.append(ticket.prediction)
    return predictions


def made(**chain: Any) -> bb.Booster:
    return bb.Booster(
        bb.learners.Linear(1.0, bb.rates.Power(0.05, 0.5)),
        N,
        Span(**chain),
        bb.gradients.OnePoint(0.2),
        bb.spaces.Interval(-1.0, 1.0),
    )


@pytest.mark.parametrize("rate", [None, bb.rates.Power(0.1, 0.5)], ids=["adaptive", "source"])
def test_shrinkage_is_saved_and_loaded(tmp_path: Path, rate: bb.rates.Rate | None) -> None:
    booster = made(step=0.5, rate=rate)
    learn(booster, 50, 0)
    booster.save(tmp_path / "span.bb")
    loaded = bb.Booster.load(tmp_path / "span.bb")
    assert loaded.spec == booster.spec
    assert (booster.chain_memory["shrinkage"] > 0).any()
    for name in ("shrinkage", "squares"):
        assert np.array_equal(loaded.chain_memory[name], booster.chain_memory[name])
    assert np.array_equal(learn(loaded, 50, 1), learn(booster, 50, 1))
    assert np.array_equal(loaded.chain_memory["shrinkage"], booster.chain_memory["shrinkage"])
    loaded.chain_memory["shrinkage"][:] = 1.0 - loaded.chain_memory["shrinkage"]
    assert loaded.predict(np.ones(P)) != booster.predict(np.ones(P)), "the shrinkage must matter"


def test_a_ticket_told_late_teaches_about_its_own_path() -> None:
    booster = made(step=0.5)
    learn(booster, 30, 0)
    late = booster.ask(np.ones(P))
    learn(booster, 30, 1)
    before = {name: array.copy() for name, array in booster.chain_memory.items()}
    answers = (late.queries - 0.3) ** 2
    slopes = 1 / 0.2 * answers * late.probe.directions * late.path[:-1]
    booster.tell(late, answers)
    squares = before["squares"] + slopes**2
    # The first copy starts at zero, where nothing can be given up: its slope is nothing, for ever.
    moved = np.divide(slopes, np.sqrt(2 * squares), out=np.zeros(N), where=squares > 0)
    np.testing.assert_allclose(booster.chain_memory["squares"], squares, rtol=1e-12)
    expected = np.clip(before["shrinkage"] + moved, 0, 1)
    np.testing.assert_allclose(booster.chain_memory["shrinkage"], expected, rtol=1e-12)
    assert booster.chain_memory["shrinkage"][0] == booster.chain_memory["squares"][0] == 0


def test_bad_answers_leave_the_shrinkage_alone() -> None:
    booster = made(step=0.5)
    learn(booster, 30, 0)
    before = {name: array.copy() for name, array in booster.chain_memory.items()}
    ticket = booster.ask(np.ones(P))
    for answers in (np.full(N, np.nan), np.ones(N + 1), np.full(N, 1e308)):
        with pytest.raises(ValueError, match="losses must"):
            booster.tell(ticket, answers)
    for name, array in before.items():
        assert np.array_equal(booster.chain_memory[name], array)


def test_the_default_step() -> None:
    for copies in (1, 2, 3, 10, 1000):
        lengths = Span().lengths(copies)
        assert lengths.tolist() == [max(1 / copies, math.log(copies) / copies)] * copies
        Span().check(copies)
        Span(step=1 / copies).check(copies)


def test_nothing_is_projected_where_no_set_is_given() -> None:
    path = Span(step=1.0).path(np.array([3.0, 6.0]), np.array(1.0), {"shrinkage": np.array([0.5, 1.0])})
    assert path.tolist() == [1.0, 3.5, 6.0]


def test_the_path_starts_at_the_centre_where_zero_is_outside() -> None:
    booster = bb.Booster(
        bb.learners.Linear(1.0), 3, Span(), bb.gradients.Exact(), bb.spaces.Interval(2.0, 4.0), features=1
    )
    path = booster.ask([1.0]).path
    assert path[0] == 3.0
    assert bool(booster.spec.space.contains(path).all())


@pytest.mark.parametrize("step", [0.0, -0.1, 1.5, math.nan, "half"])
def test_bad_steps_are_refused(step: Any) -> None:
    with pytest.raises(ValueError, match="step must"):
        Span(step=step)


def test_a_step_below_one_over_the_copies_is_refused() -> None:
    with pytest.raises(ValueError, match=r"step must be at least 1/copies = 0.166667, got 0.1"):
        made(step=0.1)
    with pytest.raises(ValueError, match="copies must be a whole number"):
        Span().check(0)


def test_bad_rates_and_gammas_are_refused() -> None:
    with pytest.raises(ValueError, match=r"rate must be a Rate, such as Power\(0.1, 0.5\), got 0.1"):
        Span(rate=0.1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="gamma must be"):
        Span(gamma=0.0)
