"""A sweep gives every booster the run that it would have had alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost.learners.wrapped import least_squares

pytestmark = pytest.mark.long

SPACE = bb.spaces.Interval(0.0, 1.0)
GRADIENTS: list[tuple[Callable[[float], bb.gradients.Gradient], bb.chains.Chain, int]] = [
    (lambda delta: bb.gradients.OnePoint(delta), bb.chains.ConvexHull(gamma=0.8), 5),
    (lambda delta: bb.gradients.OnePoint(delta, queries=3), bb.chains.Single(), 1),
    (lambda delta: bb.gradients.Exact(), bb.chains.ConvexHull(steps=bb.chains.Harmonic(1.0, 3.0)), 4),
    (lambda delta: bb.gradients.Stochastic(), bb.chains.ConvexHull(), 4),
]


def world(features: int, sparse: bool = False, loss: bb.losses.Loss | None = None, rounds: int = 700) -> Any:
    rng = np.random.default_rng(features)
    X = rng.normal(size=(rounds, features))
    if sparse:
        X *= rng.random(X.shape) < 0.3
    labels = np.clip(0.5 + 0.2 * X[:, 0] + 0.1 * rng.normal(size=rounds), 0.0, 1.0)
    return bb.worlds.Supervised(csr_array(X) if sparse else X, labels, loss, bb.noise.Uniform(0.1), seed=3)


def replicas(case: int, inside: bool, number: int = 9) -> list[bb.Booster]:
    """Boosters that differ in rate, radius, δ, a factor, and seed."""
    gradient, chain, copies = GRADIENTS[case]
    boosters = []
    for k in range(number):
        learner: bb.learners.Learner = bb.learners.Linear(
            radius=(0.3, 1.0, 10.0, 30.0)[k % 4], rate=bb.rates.Power((0.3, 0.1, 0.01)[k % 3], 0.5)
        )
        if k % 5 == 4:
            learner = bb.learners.Scaled(learner, 0.7)
        boosters.append(
            bb.Booster(learner, copies, chain, gradient(0.05 + 0.02 * k), SPACE, inside=inside, seed=k // 6)
        )
    return boosters


def agree(together: list[bb.Booster], alone: list[bb.Booster], where: Any, tolerance: float = 1e-7) -> None:
    swept = bb.evaluate.sweep(together, where)
    for one, two, booster in zip(together, swept, alone, strict=True):
        trace = bb.evaluate.progressive(booster, where)
        for name in ("predictions", "losses", "paid"):
            np.testing.assert_allclose(getattr(two, name), getattr(trace, name), rtol=tolerance, atol=tolerance)
        assert one.rounds == booster.rounds == len(where)
        for name, array in booster.arrays().items():
            np.testing.assert_allclose(one.arrays()[name], array, rtol=tolerance, atol=tolerance)
        for role, rng in booster.streams.items():
            assert one.streams[role].bit_generator.state == rng.bit_generator.state


@pytest.mark.parametrize("features", [3, 60])
@pytest.mark.parametrize("sparse", [False, True])
def test_as_alone(features: int, sparse: bool) -> None:
    """Every gradient and chain; losses, and whether queries stay inside, in turn."""
    losses = [bb.losses.Squared(), bb.losses.Absolute(), bb.losses.Quantile(0.3)]
    for case in range(len(GRADIENTS)):
        inside, loss = bool((case + sparse) % 2), losses[(case + features // 60) % 3]
        agree(replicas(case, inside), replicas(case, inside), world(features, sparse, loss))


def test_boosters_of_other_kinds_run_block_by_block() -> None:
    def others() -> list[bb.Booster]:
        kinds = [bb.Booster(copies=3, gradient=bb.gradients.Surrogate(delta), space=SPACE) for delta in (0.1, 0.2, 0.3)]
        kinds += [
            bb.Booster(copies=4, gradient=bb.gradients.Budget(bb.gradients.OnePoint(0.1), n), space=SPACE)
            for n in (2, 2, 3)
        ]
        return [*kinds, bb.Booster(bb.learners.Coin(), 4, gradient=bb.gradients.OnePoint(0.1), space=SPACE)]

    agree(others(), others(), world(4))


def test_no_compiled_loop_at_all() -> None:
    def plain() -> list[bb.Booster]:
        return [bb.Booster(bb.learners.Wrapped(least_squares), 2, space=SPACE, gradient=bb.gradients.OnePoint(0.2))]

    assert bb.evaluate.compiled.why_not_compiled(plain()[0], world(3, rounds=40)) is not None

    agree(plain(), plain(), world(3, rounds=40), 0.0)


def test_decisions_that_are_weight_vectors() -> None:
    def in_weights() -> list[bb.Booster]:
        return [
            bb.Booster(
                bb.learners.OGD(rate=bb.rates.Power(scale, 0.5)),
                3,
                gradient=bb.gradients.OnePoint(0.5),
                space=bb.spaces.Ball(5, 2.0),
                inside=False,
            )
            for scale in (0.001, 0.01)
        ]

    agree(in_weights(), in_weights(), bb.worlds.WeightSpace(world(4)), 1e-12)


def test_several_blocks_and_boosters_that_go_on() -> None:
    where = world(50, rounds=5000)
    together, alone = replicas(0, True, 4), replicas(0, True, 4)
    agree(together, alone, where)
    again = where.head(300)
    swept = bb.evaluate.sweep(together, again)
    traces = [bb.evaluate.progressive(booster, again) for booster in alone]
    for one, two in zip(swept, traces, strict=True):
        np.testing.assert_allclose(one.losses, two.losses, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("features", [3, 60])
def test_scales_that_shrink_without_end(features: int) -> None:
    """Steps a million times the ball: each projection divides the scale by a million."""

    def wild() -> list[bb.Booster]:
        learners = [bb.learners.Linear(radius=1e-6, rate=bb.rates.Constant(scale)) for scale in (1.0, 3.0)]
        return [
            bb.Booster(learner, 3, gradient=bb.gradients.OnePoint(0.2), space=SPACE, inside=False)
            for learner in learners
        ]

    agree(wild(), wild(), world(features))


def test_numbers_that_run_away_stop_no_one_else() -> None:
    def boosters() -> list[bb.Booster]:
        rates = (bb.rates.Constant(0.1), bb.rates.Constant(1e200))
        return [
            bb.Booster(bb.learners.Linear(None, rate), 2, gradient=bb.gradients.Exact(), space=SPACE, inside=False)
            for rate in rates
        ]

    where = world(3)
    calm, wild = bb.evaluate.sweep(boosters(), where)
    assert np.isfinite(calm.losses).all()
    assert wild.mean == np.inf
    np.testing.assert_allclose(calm.losses, bb.evaluate.progressive(boosters()[0], where).losses, rtol=1e-9)


def test_single_precision_is_close() -> None:
    where = world(60)
    double = bb.evaluate.sweep(replicas(3, True), where)
    single = bb.evaluate.sweep(replicas(3, True), where, precision="single")
    assert [trace.mean for trace in single] == pytest.approx([trace.mean for trace in double], rel=1e-3)
    assert any((one.losses != two.losses).any() for one, two in zip(single, double, strict=True))


def test_progress_counts_all_rounds() -> None:
    seen: list[tuple[int, int]] = []
    bb.evaluate.sweep(replicas(0, True, 3), world(3), progress=lambda *at: seen.append(at))
    assert seen[-1] == (2100, 2100)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_what_is_refused() -> None:
    booster = replicas(0, True, 1)[0]
    with pytest.raises(ValueError, match="precision must be one of double, single; got 'half'"):
        bb.evaluate.sweep([booster], world(3), precision="half")
    with pytest.raises(ValueError, match="boosters must be different objects"):
        bb.evaluate.sweep([booster, booster], world(3))
    assert bb.evaluate.sweep([], world(3)) == []


def test_all_may_run_away() -> None:
    """Also in the first of several blocks; what follows is infinite, and no number stands for a prediction."""
    learners = [bb.learners.Linear(None, bb.rates.Constant(rate)) for rate in (1e200, 1e201)]
    for gradient, keep in itertools.product((bb.gradients.Exact(), bb.gradients.Surrogate(0.1)), ("all", "means")):
        boosters = [bb.Booster(learner, 2, gradient=gradient, space=SPACE, inside=False) for learner in learners]
        for trace in bb.evaluate.sweep(boosters, world(3, rounds=5000), keep=keep):  # type: ignore[arg-type]
            assert np.isinf(trace.losses).all()
            assert np.isinf(trace.paid).all()
            assert np.isnan(trace.predictions).all()
            assert len(trace) == 5000


def test_directions_of_another_ball_are_not_shared() -> None:
    def boosters() -> list[bb.Booster]:
        gradients = [bb.gradients.TwoPoint(delta, ball=ball) for ball in ("l2", "l1") for delta in (0.1, 0.2)]
        return [bb.Booster(copies=2, gradient=gradient, space=bb.spaces.Ball(3, 2.0)) for gradient in gradients]

    rng = np.random.default_rng(0)
    where = bb.worlds.Supervised(rng.normal(size=(200, 2)), rng.uniform(size=(200, 3)), None, bb.noise.Uniform(0.1))
    agree(boosters(), boosters(), where)


@pytest.mark.parametrize("keep", ["losses", "means"])
def test_what_traces_keep(keep: Any) -> None:
    where = world(3, rounds=5000)
    mixed = [*replicas(0, True, 3), bb.Booster(copies=3, gradient=bb.gradients.Surrogate(0.1), space=SPACE)]
    again = [*replicas(0, True, 3), bb.Booster(copies=3, gradient=bb.gradients.Surrogate(0.1), space=SPACE)]
    for swept, booster in zip(bb.evaluate.sweep(mixed, where, keep=keep), again, strict=True):
        alone = bb.evaluate.progressive(booster, where, keep=keep)
        assert swept.predictions.shape == alone.predictions.shape == (0,)
        np.testing.assert_allclose(swept.losses, alone.losses, rtol=1e-7, atol=1e-7)
        np.testing.assert_array_equal(swept.rounds, alone.rounds)


def test_progress_that_raises_leaves_boosters_after_whole_blocks() -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    together, alone, where = replicas(0, True, 3), replicas(0, True, 3), world(3, rounds=5000)
    with pytest.raises(KeyboardInterrupt):
        bb.evaluate.sweep(together, where, progress=stop)
    for one, two in zip(together, alone, strict=True):
        bb.evaluate.progressive(two, where.head(one.rounds))
        assert one.rounds == 4096
        for role, rng in two.streams.items():
            assert one.streams[role].bit_generator.state == rng.bit_generator.state
        np.testing.assert_allclose(one.arrays()["weights"], two.arrays()["weights"], rtol=1e-7, atol=1e-7)
