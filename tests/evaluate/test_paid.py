"""The loss paid: what the points asked cost, never mistaken for what the predictions would have cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.streams import stream
from banditboost.evaluate import Trace, progressive, sweep
from banditboost.gradients import Budget, Exact, OnePoint, Remembered, Stochastic, Surrogate, TwoPoint

SPACE = bb.spaces.Interval(-2, 2)
VALUES = [
    OnePoint(0.5),
    TwoPoint(0.3),
    Surrogate(0.4),
    Budget(OnePoint(0.5), 1, exactly=True),
    Budget(OnePoint(0.5), 2),
    Remembered(1),
    Remembered(2),
    Remembered(5),
]


def world(rounds: int = 300) -> bb.worlds.SyntheticLinear:
    return bb.worlds.SyntheticLinear(rounds=rounds, features=3, noise=bb.noise.Uniform(0.1), seed=3)


def booster(gradient: bb.gradients.Gradient) -> bb.Booster:
    return bb.algorithms.bandit_boosting(SPACE, copies=6, gradient=gradient, seed=1)


def by_hand(gradient: bb.gradients.Gradient) -> tuple[np.ndarray, np.ndarray]:
    """Return the losses of predictions and those of queries, from tickets told one by one."""
    asked, place = booster(gradient), world()
    rng = stream(place.seed, "noise")
    predicted, paid = np.empty(len(place)), np.empty(len(place))
    for t in range(len(place)):
        ticket = asked.ask(place.context(t))
        label = float(place.labels()[t])
        predicted[t] = (float(ticket.prediction) - label) ** 2
        points = ticket.queries if len(ticket.queries) else ticket.prediction[np.newaxis]
        paid[t] = np.mean([(float(point) - label) ** 2 for point in points])
        asked.tell(ticket, place.answer(t, ticket, gradient.noisy, rng))
    return predicted, paid


def is_right(trace: Trace, predicted: np.ndarray, paid: np.ndarray) -> bool:
    """Whether a trace's numbers, of both kinds, are those found by hand."""
    trace.compare("zero", np.zeros(len(trace)))
    total, total_paid, rounds = np.cumsum(predicted), np.cumsum(paid), np.arange(1, len(predicted) + 1)
    pairs: list[tuple[Any, Any]] = [
        (trace.mean, predicted.mean()),
        (trace.mean_paid, paid.mean()),
        (trace.running, total / rounds),
        (trace.running_paid, total_paid / rounds),
        (trace.cumulative, total),
        (trace.cumulative_paid, total_paid),
        (trace.regret("zero"), total),
        (trace.regret("zero", paid=True), total_paid),
    ]
    return all(np.allclose(one, two, rtol=1e-7) for one, two in pairs)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("gradient", VALUES, ids=lambda g: type(g).__name__)
def test_paid_is_what_the_points_asked_cost(gradient: bb.gradients.Gradient, compiled: bool) -> None:
    predicted, paid = by_hand(gradient)
    assert paid.mean() > 1.05 * predicted.mean()
    trace = progressive(booster(gradient), world(), compiled=compiled)
    assert not trace.told
    assert is_right(trace, predicted, paid)
    swapped = Trace(trace.paid, trace.losses, trace.predictions)
    assert not is_right(swapped, predicted, paid), "a trace with both losses in the wrong place must be noticed"


def test_means_over_blocks_are_means_of_both() -> None:
    full = progressive(booster(OnePoint(0.5)), world())
    means = progressive(booster(OnePoint(0.5)), world(), keep="means")
    for trace in (full, means):
        trace.compare("half", np.full(300, 0.5))
    assert means.ends is not None
    at = means.ends - 1
    assert means.mean_paid == pytest.approx(full.mean_paid, rel=1e-12)
    np.testing.assert_allclose(means.running_paid, full.running_paid[at], rtol=1e-12)
    np.testing.assert_allclose(means.regret("half", paid=True), full.regret("half", paid=True)[at], rtol=1e-9)


@pytest.mark.parametrize("keep", ["all", "losses", "means"])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("gradient", [Exact(), Stochastic()], ids=["exact", "stochastic"])
def test_where_gradients_are_told_the_prediction_is_played(
    gradient: bb.gradients.Gradient, compiled: bool, keep: bb.evaluate.trace.Keep
) -> None:
    trace = progressive(booster(gradient), world(), compiled=compiled, keep=keep)
    assert trace.told
    np.testing.assert_array_equal(trace.paid, trace.losses)


def test_a_sweep_knows_who_was_told_gradients() -> None:
    linear = [bb.learners.Linear(radius=3.0, rate=bb.rates.Power(scale, 0.5)) for scale in (0.01, 0.1)]
    told = [bb.algorithms.gradient_boosting(SPACE, learner=learner, copies=4) for learner in linear]
    asking = [bb.algorithms.bandit_boosting(SPACE, learner=learner, copies=4) for learner in linear]
    found = sweep([*told, *asking], world())
    assert [trace.told for trace in found] == [True, True, False, False]
    for trace in found:
        assert np.array_equal(trace.paid, trace.losses) == trace.told


def test_a_run_that_was_cut_still_knows() -> None:
    class Stop(bb.evaluate.Callback):
        every = 100

        def block(self, event: bb.evaluate.Event) -> bool:
            np.testing.assert_array_equal(event.paid, event.trace.paid[event.begin : event.end])
            return event.end >= 100

    trace = progressive(booster(Exact()), world(), callbacks=[Stop()])
    assert (len(trace), trace.told) == (100, True)
    trace = progressive(booster(OnePoint(0.5)), world(), callbacks=[Stop()])
    assert (len(trace), trace.told) == (100, False)


def test_a_comparator_that_was_not_added_is_refused_for_both() -> None:
    trace = progressive(booster(OnePoint(0.5)), world(20))
    with pytest.raises(ValueError, match="comparator must be one that was added"):
        trace.regret("nobody", paid=True)
