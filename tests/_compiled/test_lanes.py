"""Copies side by side in lanes: what lies behind the last copy counts nothing, and every width plays the same rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import banditboost as bb
from banditboost._compiled import lanes, linear_lanes, weight_balls
from banditboost._compiled.jit import loop
from banditboost._core.checks import Array
from banditboost.chains import Harmonic

ROUNDS = 60


def played(spec: bb.BoosterSpec, contexts: Any, labels: Array, compiled: bool) -> tuple[Array, Array]:
    """Return the predictions of a run and all weights at its end."""
    booster = bb.Booster.from_spec(spec)
    world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.1))
    trace = bb.evaluate.progressive(booster, world, compiled=compiled)
    return trace.predictions, np.concatenate([np.ravel(array) for array in booster.arrays().values()])


def check(
    learner: bb.learners.Learner, copies: int, features: int = 5, d: int = 1, thin: Any = None, **parts: Any
) -> None:
    """Play the compiled loop beside the plain one, with steps so long that weights are projected in most rounds."""
    rng = np.random.default_rng(copies)
    space = bb.spaces.Interval(-1, 1) if d == 1 else bb.spaces.Box((-1.0,) * d, (1.0,) * d)
    contexts = rng.uniform(-1, 1, (ROUNDS, features)) * (rng.random((ROUNDS, features)) < 0.6)
    labels = rng.uniform(-1, 1, ROUNDS if d == 1 else (ROUNDS, d))
    spec = bb.BoosterSpec(learner, copies, gradient=bb.gradients.OnePoint(0.3), space=space, inside=False, **parts)
    found = played(spec, contexts if thin is None else thin(contexts), labels, compiled=True)
    for one, two in zip(found, played(spec, contexts, labels, compiled=False), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-9)


@pytest.mark.long
@pytest.mark.parametrize("copies", [1, 2, 3, 4, 5, 8, 9, 10, 16, 17, 25])
@pytest.mark.parametrize("thin", [None, sparse.csr_array], ids=["dense", "sparse"])
def test_every_number_of_copies_plays_as_the_plain_path(copies: int, thin: Any) -> None:
    check(bb.learners.Linear(1.0, bb.rates.Power(1.0, 0.0)), copies, thin=thin)


@pytest.mark.long
@pytest.mark.parametrize(("copies", "d"), [(1, 4), (2, 3), (3, 5)])
@pytest.mark.parametrize("thin", [None, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("radius", [1.0, None])
def test_several_coordinates(copies: int, d: int, thin: Any, radius: float | None) -> None:
    check(bb.learners.Linear(radius, bb.rates.Power(0.01 if radius is None else 0.3, 0.0)), copies, d=d, thin=thin)


@pytest.mark.parametrize("features", [1, 2, 3, linear_lanes.FEATURES - 1, linear_lanes.FEATURES])
@pytest.mark.parametrize("intercept", [True, False])
def test_odd_and_even_numbers_of_features(features: int, intercept: bool) -> None:
    check(bb.learners.Linear(1.0, bb.rates.Power(0.3, 0.5), intercept), 10, features)


def test_copies_of_others_behind_the_last_count_nothing() -> None:
    linear = bb.learners.Linear(1.0, bb.rates.Power(1.0, 0.0))
    check(bb.learners.Mixed((linear, bb.learners.Coin(), linear), (10, 3, 10)), 23)


@pytest.mark.parametrize("copies", [1, 15, 16, 17, 40])
@pytest.mark.parametrize(
    ("gamma", "steps"),
    [(1.0, Harmonic(1.0, 3.0)), (2.0, Harmonic()), (0.5, (0.5,)), (1.0, (0.5, 1.0)), (1.0, (0.99999,))],
    ids=["keeps the start", "scaled", "constant", "with whole steps", "without a closed form"],
)
def test_every_walk_on_the_line(copies: int, gamma: float, steps: Any) -> None:
    if isinstance(steps, tuple):
        steps = tuple(steps[i % len(steps)] for i in range(copies))
    chain = bb.chains.ConvexHull(gamma, steps)
    check(bb.learners.Linear(1.0, bb.rates.Power(1.0, 0.0)), copies, chain=chain)


@pytest.mark.parametrize("width", lanes.WIDTHS)
def test_sums_over_lanes_before(width: type[Any]) -> None:
    many = np.arange(1.0, 1.0 + lanes.WIDTHS[width])
    sums, final = np.empty_like(many), np.empty(1)
    _sum_up(width(), many, sums, final)
    np.testing.assert_array_equal(sums, np.cumsum(many) - many)
    assert final[0] == sums[-1]


@loop
def _sum_up(form: Any, many: Array, sums: Array, final: Array) -> None:
    before = lanes.sums_before(lanes.load(form, many, 0))
    lanes.store(sums, 0, before)
    final[0] = lanes.last(before)


def test_each_lane_is_chosen_by_itself() -> None:
    left, right = np.array([1.0, 4.0, np.nan, 9.0]), np.array([1.0, 2.0, 0.0, np.inf])
    chosen = np.empty(4)
    _choose(lanes.Four(), left, right, chosen)
    np.testing.assert_array_equal(chosen, [1.0, 2.0, 0.0, 0.0])


@loop
def _choose(form: Any, left: Array, right: Array, chosen: Array) -> None:
    """Write left's root where left is above right, and right over left elsewhere; zero where that is not a number or infinite."""
    one, two = lanes.load(form, left, 0), lanes.load(form, right, 0)
    found = lanes.where_above(one, two, lanes.root(one), lanes.over(two, one))
    sound = lanes.where_above(lanes.spread(form, 1e9), found, found, lanes.spread(form, 0.0))
    lanes.store(chosen, 0, sound)


def test_indices_of_eight_bytes() -> None:
    def wide(contexts: Array) -> sparse.csr_array:
        table = sparse.csr_array(contexts)
        table.indices, table.indptr = table.indices.astype(np.int64), table.indptr.astype(np.int64)
        return table

    check(bb.learners.Linear(1.0, bb.rates.Power(1.0, 0.0)), 10, thin=wide)


def test_small_scales_are_multiplied_into_weights() -> None:
    folded = weight_balls.balls(np.full((2, 1, 3), 4.0), 1e-3)
    folded.bounds[:2] = 0.0  # both are outside
    folded.scales[:2] = 1e-20
    folded.squares[:2] = 1e60
    _pull_in(folded)
    np.testing.assert_allclose(folded.V[:, :2], 4.0 * 1e-33)
    assert folded.scales[:2].tolist() == folded.shrinks[:2].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(folded.bounds[:2], 1e-6)
    np.testing.assert_allclose(folded.squares[:2], 3 * 16e-66)


@loop
def _pull_in(it: Any) -> None:
    weight_balls.pull_in(it)


def test_rows_do_not_begin_at_the_same_place_of_a_cache() -> None:
    for columns in (256, 512, 1000, 1020):
        assert lanes.room(lanes.lanes_for(columns), 2, columns).strides[0] % 2048 != 0


@pytest.mark.parametrize("columns", range(1, 70))
def test_few_lanes_are_left_empty(columns: int) -> None:
    width = lanes.WIDTHS[type(lanes.lanes_for(columns))]
    assert columns <= lanes.padded(columns, width) <= max(columns + 7, 2 * columns - 1 if columns < 8 else 0)
    room = lanes.room(lanes.lanes_for(columns), 3, columns)
    assert room.flags.c_contiguous
    assert not room.any()
    assert room.ctypes.data % (8 * lanes.LINE) == 0
