"""Two-point, baseline, residual and budget: directions, memory, who asks, and what is refused."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.gradients import Baseline, Budget, OnePoint, Residual, Surrogate, TwoPoint
from banditboost.spaces import Ball, Interval, Simplex


def test_directions_of_the_l1_ball_are_uniform_on_its_surface() -> None:
    n, gradient = 200_000, TwoPoint(0.5, ball="l1")
    vectors = gradient.directions(Ball(3), np.random.default_rng(0), n)
    np.testing.assert_allclose(np.abs(vectors).sum(axis=1), 1.0)
    # On that surface (|v_1|, |v_2|, |v_3|) is uniform on the simplex: mean 1/3, second moment 1/6; signs are fair coins.
    np.testing.assert_allclose(np.abs(vectors).mean(axis=0), 1 / 3, atol=0.003)
    np.testing.assert_allclose((vectors**2).mean(axis=0), 1 / 6, atol=0.003)
    np.testing.assert_allclose(np.sign(vectors).mean(axis=0), 0.0, atol=0.01)


def test_l1_two_point_is_unbiased_for_the_average_over_the_l1_ball() -> None:
    # For a quadratic that average is the loss and a constant, so the mean must be the exact gradient.
    n, space, gradient = 200_000, Ball(3, 9.0), TwoPoint(0.4, ball="l1")
    y, label = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.0, -0.5])
    probe = gradient.probe(np.tile(y, (n, 1)), space, {"directions": np.random.default_rng(1)})
    estimates = gradient.estimate(bb.losses.Squared().value(probe.queries, label), probe, space, {})
    error = estimates.std(axis=0) / np.sqrt(n)
    assert (np.abs(estimates.mean(axis=0) - 2 * (y - label)) < 5 * error).all()
    assert error.max() < 0.02


def test_two_point_asks_on_both_sides() -> None:
    gradient, anchors = TwoPoint(0.3, queries=2), np.array([[0.0, 0.0], [4.0, 4.0]])
    probe = gradient.probe(anchors, Ball(2, 9.0), {"directions": np.random.default_rng(0)})
    assert len(probe.queries) == gradient.count(2) == 8
    middles = (probe.queries[::2] + probe.queries[1::2]) / 2
    np.testing.assert_allclose(middles, np.repeat(anchors, 2, axis=0), atol=1e-12)


def test_l1_is_refused_where_there_is_no_room() -> None:
    with pytest.raises(ValueError, match="ball must be 'l2' on Simplex"):
        bb.Booster(learner=bb.learners.FPL(), gradient=TwoPoint(0.01, ball="l1"), space=Simplex(4), copies=3)


def test_baseline_is_a_running_mean_that_forgets() -> None:
    gradient, space = Baseline(0.5, window=3), Interval(-9, 9)
    memory, told = gradient.start(2, space), [4.0, 8.0, 0.0, 6.0, 2.0]
    probe = gradient.probe(np.zeros(2), space, {"directions": np.random.default_rng(0)})
    mean = 0.0
    for t, value in enumerate(told, start=1):
        gradient.learn(np.array([value - 1, value + 1]), probe, space, memory)
        mean += (value - mean) / min(t, 3)
    assert memory["baseline"].tolist() == pytest.approx([5.0, mean])
    gradient.learn(np.empty(0), probe, space, memory)
    assert memory["baseline"][0] == 5.0, "a round without answers does not count"


def test_residual_keeps_the_last_answer_of_those_who_asked() -> None:
    inner, space = Residual(0.5), Interval(-9, 9)
    gradient = Budget(inner, 2)
    memory = gradient.start(3, space)
    probe = inner.ask(np.zeros(3), np.ones(3), np.array([True, False, True]))
    gradient.learn(np.array([5.0, 7.0]), probe, space, memory)
    assert memory["last"].tolist() == [5.0, 0.0, 7.0]


@pytest.mark.parametrize("exactly", [True, False])
def test_budgets_are_kept(exactly: bool) -> None:
    gradient = Budget(OnePoint(0.1, queries=2), 3, exactly)
    chosen = gradient.choose(40_000, 5, np.random.default_rng(3))
    asked = chosen.sum(axis=1)
    assert (asked == 3).all() if exactly else (np.unique(asked).size > 5)
    # Everybody is asked about equally often, whichever way it is drawn.
    np.testing.assert_allclose(chosen.mean(axis=0), 0.3, atol=0.012)


def test_choosing_in_blocks_is_choosing_round_by_round() -> None:
    for exactly in (True, False):
        gradient, (one, two) = Budget(OnePoint(0.1), 2, exactly), (np.random.default_rng(1), np.random.default_rng(1))
        rounds = [gradient.choose(1, 6, one)[0] for _ in range(50)]
        assert (np.array(rounds) == gradient.choose(50, 6, two)).all()


def test_one_answer_a_round_is_enough_to_learn() -> None:
    # The world charges for what is played, and answers that one number: the query itself is played.
    gradient = Budget(Baseline(0.3), queries=1, exactly=True)
    learner = bb.learners.Linear(radius=5.0, rate=bb.rates.Power(0.1, 0.5))
    booster = bb.Booster(learner, 1, bb.chains.Single(), gradient, Interval(-4, 4), seed=1)
    rng = np.random.default_rng(2)
    for x in rng.uniform(-1, 1, (4000, 2)):
        ticket = booster.ask(x)
        assert len(ticket.queries) == 1
        booster.tell(ticket, (ticket.queries - (x @ [2.0, -1.0])) ** 2)
    assert float(booster.predict([1.0, 0.0])) == pytest.approx(2.0, abs=0.3)
    assert float(booster.predict([0.0, 1.0])) == pytest.approx(-1.0, abs=0.3)


def test_a_round_may_ask_nothing() -> None:
    booster = bb.Booster(copies=3, gradient=Budget(Surrogate(0.2), 1), space=Interval(-1, 1), seed=0)
    counts = []
    for _ in range(60):
        ticket = booster.ask([1.0])
        booster.tell(ticket, ticket.queries**2)
        counts.append(len(ticket.queries))
    assert min(counts) == 0 < max(counts)
    assert booster.rounds == 60
    world = bb.worlds.SyntheticLinear(rounds=40, features=1)
    trace = bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), world, compiled=False)
    silent = [t for t in range(40) if trace.paid[t] == trace.losses[t]]
    assert silent, "where nothing is asked, the prediction is what is charged"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Budget(OnePoint(), 0), "queries must be"),
        (lambda: Budget(bb.gradients.Exact(), 1), "gradient must be one that asks for values"),  # type: ignore[arg-type]
        (lambda: Budget(TwoPoint(), 3), "queries must be even"),
        (
            lambda: bb.Booster(copies=3, gradient=Budget(OnePoint(0.1), 4), space=Interval(-1, 1)),
            "queries must be at most",
        ),
        (lambda: Baseline(window=0.5), "window must be at least 1"),
        (lambda: TwoPoint(ball="l3"), "ball must be"),  # type: ignore[arg-type]
        (lambda: Surrogate(model="cubic"), "model must be"),  # type: ignore[arg-type]
        (lambda: Surrogate(limit=0.0), "limit must be"),
    ],
)
def test_what_makes_no_sense_is_refused(make: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        make()  # type: ignore[operator]


def test_the_model_grows_with_the_answers() -> None:
    gradient = Surrogate()
    shapes = [gradient.model_kind(answers, 5) for answers in (2.0, 7.0, 9.0)]
    assert shapes == ["level", "linear", "isotropic"]
    assert [gradient.model_kind(n, 1) for n in (2, 3, 5)] == ["level", "linear", "isotropic"]


@pytest.mark.long
def test_every_way_learns_a_line() -> None:
    ways = [OnePoint(0.3), TwoPoint(0.3), Baseline(0.3), Residual(0.3), Surrogate(0.3), Budget(Surrogate(0.3), 8)]
    world = bb.worlds.SyntheticLinear(rounds=3000, features=3, noise=bb.noise.Uniform(0.1))
    final = {}
    for way, chain in itertools.product(ways, (bb.chains.ConvexHull(), bb.chains.Span())):
        booster = bb.Booster(copies=15, chain=chain, gradient=way, space=Interval(-3, 3), seed=4)
        final[str(way), chain] = bb.evaluate.progressive(booster, world).losses[-1000:].mean()
    nothing = float((world.labels() ** 2).mean())
    assert max(final.values()) < 0.2 * nothing


def test_a_budget_chooses_one_model_whoever_asks() -> None:
    # 5/77 of 77 is a little less than 5 in floating point; the number of answers itself decides.
    world = bb.worlds.SyntheticLinear(rounds=100, features=3)
    booster = bb.algorithms.boosted(Interval(-1, 1), copies=77, answers=5)
    traces = [
        bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), world, compiled=compiled)
        for compiled in (True, False)
    ]
    np.testing.assert_allclose(traces[0].predictions, traces[1].predictions, atol=1e-6)


@pytest.mark.parametrize(
    "kind",
    [bb.gradients.Baseline, bb.gradients.Residual, bb.gradients.TwoPoint, bb.gradients.Surrogate, bb.gradients.Fitted],
)
@pytest.mark.parametrize("bad", [{"delta": -1.0}, {"delta": 0.0}, {"queries": 0}])
def test_every_gradient_from_values_checks_what_all_have(kind: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=rf"{next(iter(bad))} must be"):
        kind(**bad)


def test_the_usual_window() -> None:
    assert bb.gradients.Baseline().window == 100.0


def test_what_is_taken_when_nothing_is_said() -> None:
    one, budget, fitted = bb.gradients.OnePoint(), bb.gradients.Budget(), bb.gradients.Fitted()
    assert (one.delta, one.queries) == (0.5, 1)
    assert (budget.queries, budget.exactly) == (1, False)
    assert (fitted.queries, fitted.scaled) == (1, False)
