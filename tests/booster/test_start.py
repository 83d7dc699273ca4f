"""Where a chain starts: at the point that was given, in the space, and where every query stays legal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.spec import from_dict
from banditboost.booster.geometry import Geometry

STARTS: list[tuple[bb.spaces.Space, Any]] = [
    (bb.spaces.Interval(-5.0, 5.0), 3.0),
    (bb.spaces.Interval(-5.0, 5.0), np.float64(-5.0)),
    (bb.spaces.Box((0.0, 0.0), (10.0, 2.0)), (9.0, 0.5)),
    (bb.spaces.Ball(2, 1.0), [0.6, -0.8]),
    (bb.spaces.Simplex(3), np.array([0.2, 0.2, 0.6])),
    (bb.spaces.Birkhoff(2), [[1.0, 0.0], [0.0, 1.0]]),
]


@pytest.mark.parametrize(("space", "start"), STARTS)
@pytest.mark.parametrize("chain", [bb.chains.Additive(), bb.chains.Span()])
def test_the_start_is_predicted_before_anything_is_learned(
    space: bb.spaces.Space, start: Any, chain: bb.chains.Chain
) -> None:
    booster = bb.Booster(copies=3, chain=chain, gradient=bb.gradients.Exact(), space=space, start=start)
    assert np.array_equal(booster.predict([0.3, 0.1]), start)
    ticket = booster.ask([0.3, 0.1])
    assert np.array_equal(ticket.path[0], start)
    assert np.array_equal(ticket.prediction, start)


@pytest.mark.parametrize(("space", "start"), STARTS)
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_queries_about_the_start_stay_in_the_space(space: bb.spaces.Space, start: Any, share: float) -> None:
    gradient = bb.gradients.OnePoint(0.3 * space.inner_radius)
    for chain in (bb.chains.ConvexHull(gamma=0.7), bb.chains.Additive()):
        booster = bb.Booster(copies=4, chain=chain, gradient=gradient, space=space, start=start)
        for _ in range(20):
            assert space.contains(booster.ask([share, 0.0]).queries).all()


def test_a_start_that_is_far_enough_inside_stays() -> None:
    space, gradient = bb.spaces.Interval(-5.0, 5.0), bb.gradients.OnePoint(0.5)
    for start, wanted in ((3.0, 3.0), (-4.5, -4.5), (5.0, 4.5)):
        spec = bb.BoosterSpec(gradient=gradient, space=space, start=start)
        assert float(Geometry.of(spec).chain_start) == pytest.approx(wanted, abs=1e-12)


def test_without_a_start_all_is_as_it_was() -> None:
    assert float(Geometry.of(bb.BoosterSpec(space=bb.spaces.Interval(-1.0, 5.0))).chain_start) == 0.0
    assert float(Geometry.of(bb.BoosterSpec(space=bb.spaces.Interval(3.0, 5.5))).chain_start) == 4.25


def test_boosted_starts_at_the_centre_or_where_it_is_told() -> None:
    space = bb.spaces.Box((0.0, -1.0), (10.0, 3.0))
    assert bb.algorithms.boosted(space, answers=1).predict([0.5]).tolist() == [5.0, 1.0]
    assert bb.algorithms.boosted(space, answers=1, start=(1, 2)).predict([0.5]).tolist() == [1.0, 2.0]
    assert float(bb.algorithms.boosted(bb.spaces.Interval(0, 10)).predict([0.5])) == 5.0
    memories: tuple[Any, ...] = (np.int64(2**20), bb.learners.Grown(memory=2**20))
    for memory in memories:
        started = bb.algorithms.boosted(bb.spaces.Interval(0, 10), start=3.0, memory=memory)
        assert float(started.predict([0.5])) == 3.0


@pytest.mark.parametrize("start", [(1.0, 2.0, 3.0), float("nan"), "here", (20.0, 0.0)])
def test_a_start_that_does_not_fit_is_refused_with_and_without_memory(start: Any) -> None:
    space = bb.spaces.Box((0.0, -1.0), (10.0, 3.0))
    for memory in (None, 2**20):
        with pytest.raises(ValueError, match=r"^start must"):
            bb.algorithms.boosted(space, start=start, memory=memory)


@pytest.mark.parametrize(
    ("space", "start", "message"),
    [
        (bb.spaces.Interval(0, 1), 1.5, r"start must lie in the space Interval\(low=0.0, high=1.0\), got 1.5"),
        (bb.spaces.Interval(0, 1), (0.5,), r"start must have shape \(\), got \(1,\)"),
        (bb.spaces.Ball(2, 1.0), (0.9, 0.9), r"start must lie in the space Ball"),
        (bb.spaces.Ball(2, 1.0), 0.0, r"start must have shape \(2,\), got \(\)"),
        (bb.spaces.Ball(2, 1.0), ((0.0,), (0.0, 1.0)), "start must be numbers"),
        (bb.spaces.Interval(0, 1), float("nan"), "start must be finite"),
        (bb.spaces.Interval(0, 1), "middle", "start must be numbers"),
    ],
)
def test_bad_starts_are_refused(space: bb.spaces.Space, start: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bb.Booster(gradient=bb.gradients.Exact(), space=space, start=start)


def test_a_start_is_kept_in_files_and_files_without_one_are_read(tmp_path: Path) -> None:
    for space, start in STARTS:
        booster = bb.Booster(gradient=bb.gradients.Exact(), space=space, start=start, features=2)
        booster.save(tmp_path / "model.bb")
        loaded = bb.Booster.load(tmp_path / "model.bb")
        assert loaded.spec == booster.spec
        assert hash(loaded.spec) == hash(booster.spec)
        assert np.array_equal(loaded.geometry.chain_start, start)
    written = bb.BoosterSpec().to_dict()
    del written["start"], written["maximize"]
    assert from_dict(written) == bb.BoosterSpec()
    with pytest.raises(ValueError, match="start"):
        from_dict(bb.BoosterSpec().to_dict() | {"start": "here"})


def test_a_set_known_by_its_oracle_alone_believes_the_caller() -> None:
    space = bb.spaces.Oracle(bb.spaces.oracle._disc_oracle, centre=(0.0, 0.0), inner_radius=1.0, diameter=2.0)
    spec = bb.BoosterSpec(bb.learners.FPL(), gradient=bb.gradients.OnePoint(0.2), space=space, start=(0.5, 0.5))
    assert Geometry.of(spec).chain_start.tolist() == [0.4, 0.4]  # pulled inside, as it cannot be looked at


def test_the_compiled_loop_starts_there_too() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (200, 2))
    world = bb.worlds.Supervised(X, 4.0 + X[:, 0], noise=bb.noise.Uniform(0.1))
    fast, plain = (
        bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(0, 10), start=3.0), world, compiled=compiled)
        for compiled in (True, False)
    )
    assert fast.predictions[0] == 3.0
    np.testing.assert_allclose(fast.predictions, plain.predictions, rtol=1e-9)
