"""What every space owes, checked on every example of every exported space."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from banditboost import spaces
from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost.spaces import Space
from banditboost.testing.spaces import corners, flat, members
from tests.spaces.common import EXAMPLES, kinds, name

every = pytest.mark.parametrize("space", EXAMPLES, ids=name)
quick = settings(derandomize=True, max_examples=25, deadline=None, database=None)


def points_for(space: Space, n: int, size: float) -> st.SearchStrategy[Array]:
    """Any n points, with the repeats, zeros and borders that hypothesis likes."""
    return arrays(np.float64, (n, *space.shape), elements=st.floats(-size, size, allow_subnormal=False))


def seeded(space: Space) -> np.random.Generator:
    return np.random.default_rng(space.size)


def test_every_space_is_found() -> None:
    assert {type(space) for space in EXAMPLES} == set(kinds())
    exported = {getattr(spaces, name) for name in spaces.__all__}
    assert exported == {*kinds(), Space}


@every
def test_the_projection_is_the_nearest_member(space: Space) -> None:
    rng = seeded(space)
    some = flat(space, np.concatenate([members(space, rng), corners(space, rng)]))

    @quick
    @given(st.data(), st.sampled_from([1.0, 100.0]))
    def check(data: st.DataObject, size: float) -> None:
        points = data.draw(points_for(space, 4, size))
        nearest = space.project(points)
        assert nearest.shape == points.shape
        assert space.contains(nearest).all()
        away = flat(space, points - nearest)
        # The variational inequality: no member lies beyond the plane through the projection.
        beyond = away @ some.T - (away * flat(space, nearest)).sum(axis=1, keepdims=True)
        assert beyond.max() <= 1e-9 * (1 + size)

    check()


@every
def test_projecting_twice_changes_nothing(space: Space) -> None:
    @quick
    @given(st.data(), st.sampled_from([1.0, 100.0]))
    def check(data: st.DataObject, size: float) -> None:
        once = space.project(data.draw(points_for(space, 4, size)))
        np.testing.assert_allclose(space.project(once), once, rtol=0, atol=1e-9)

    check()


@every
def test_members_stay_where_they_are(space: Space) -> None:
    some = members(space, seeded(space))
    assert space.contains(some).all()
    np.testing.assert_allclose(space.project(some), some, rtol=0, atol=1e-9)


@every
def test_the_projection_brings_no_two_points_apart(space: Space) -> None:
    @quick
    @given(st.data())
    def check(data: st.DataObject) -> None:
        points = data.draw(points_for(space, 5, 20.0))
        before = flat(space, points)[:, None] - flat(space, points)
        after = flat(space, space.project(points))
        distances = np.linalg.norm(after[:, None] - after, axis=-1)
        assert (distances <= np.linalg.norm(before, axis=-1) + 1e-9).all()

    check()


@every
def test_no_member_beats_the_oracle(space: Space) -> None:
    some = flat(space, members(space, seeded(space)))

    @quick
    @given(st.data())
    def check(data: st.DataObject) -> None:
        gradients = data.draw(points_for(space, 4, 10.0))
        best = space.minimize(gradients)
        assert best.shape == gradients.shape
        assert space.contains(best).all()
        values = (flat(space, gradients) * flat(space, best)).sum(axis=1, keepdims=True)
        assert (values <= flat(space, gradients) @ some.T + 1e-9).all()

    check()


@every
def test_one_by_one_is_the_same_as_all_at_once(space: Space) -> None:
    rng = seeded(space)
    points = 2 * rng.standard_normal((2, 5, *space.shape))
    points[1, 2:] = space.project(points[1, 2:])
    flattened = points.reshape(10, *space.shape)
    for act in (space.project, space.minimize, space.tangent):
        single = np.array([act(point) for point in flattened]).reshape(points.shape)
        np.testing.assert_allclose(act(points), single, rtol=0, atol=1e-12)
    assert space.contains(points).tolist() == [[bool(space.contains(point)) for point in row] for row in points]
    assert space.project(points[:0]).shape == space.minimize(points[:0]).shape == (0, 5, *space.shape)


@every
def test_the_diameter_is_the_largest_distance(space: Space) -> None:
    rng = seeded(space)
    some = flat(space, np.concatenate([corners(space, rng), members(space, rng, 100)]))
    largest = np.linalg.norm(some[:, None] - some, axis=-1).max()
    assert largest == pytest.approx(space.diameter, rel=1e-9)
    assert np.linalg.norm(some, axis=1).max() <= space.farthest * (1 + 1e-12)


def candidates(space: Space, rng: np.random.Generator) -> Array:
    """Unit tangent vectors among which the normal of the nearest facet should be."""
    axes = np.eye(space.size).reshape(space.size, *space.shape)
    signs = np.sign(rng.standard_normal((200, *space.shape)))
    guesses = space.tangent(np.concatenate([axes, -axes, signs]))
    # Where a point a little outside is pulled back to tells the normal of the facet that it crossed.
    rays = space.directions(rng, 1000)
    for stretch in np.geomspace(4.0, 1.05, 6):
        outside = space.inner_centre + stretch * space.inner_radius * rays
        guesses = np.concatenate([guesses, outside - space.project(outside)])
    lengths = np.linalg.norm(flat(space, guesses), axis=1)
    guesses, lengths = guesses[lengths > 1e-6], lengths[lengths > 1e-6]
    return np.asarray(guesses / lengths.reshape(-1, *(1,) * len(space.shape)))


@every
def test_the_inner_radius_fits_and_is_the_largest(space: Space) -> None:
    rng = seeded(space)
    radius, center = space.inner_radius, space.inner_centre
    assert space.contains(center)
    assert space.contains(center + radius * space.directions(rng, 1000)).all()
    guesses = candidates(space, rng)
    reach = (flat(space, guesses) * flat(space, space.minimize(-guesses) - center)).sum(axis=1)
    worst = guesses[np.argmin(reach)]
    assert reach.min() == pytest.approx(radius, rel=1e-7)
    assert space.contains(center + radius * worst)
    assert not space.contains(center + 1.0001 * radius * worst)


@every
@pytest.mark.parametrize("xi", [0.0, 0.1, 0.9])
def test_a_shrunk_set_leaves_room_for_queries(space: Space, xi: float) -> None:
    rng = seeded(space)
    shrunk = space.shrink(xi)
    some = members(shrunk, rng)
    assert shrunk.contains(some).all()
    assert space.contains(some + xi * space.inner_radius * space.directions(rng, len(some))).all()
    np.testing.assert_allclose(shrunk.inner_centre, space.inner_centre, rtol=0, atol=1e-12)
    assert (shrunk.shape, shrunk.rank) == (space.shape, space.rank)
    assert shrunk.inner_radius == pytest.approx((1 - xi) * space.inner_radius)
    assert shrunk.diameter == pytest.approx((1 - xi) * space.diameter)
    # The oracle of the shrunk set is the shrunk answer of the whole set.
    gradients = rng.standard_normal((20, *space.shape))
    whole = space.inner_centre + (1 - xi) * (space.minimize(gradients) - space.inner_centre)
    np.testing.assert_allclose(shrunk.minimize(gradients), whole, rtol=0, atol=1e-12)


@every
def test_directions_are_unit_and_tangent(space: Space) -> None:
    drawn = space.directions(np.random.default_rng(3), 1000)
    assert drawn.shape == (1000, *space.shape)
    rows = flat(space, drawn)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(space.tangent(drawn), drawn, rtol=0, atol=1e-12)
    assert np.linalg.matrix_rank(rows) == space.rank
    # Members differ in tangent directions only, and all directions are equally likely: E[v v'] = (projector) / rank.
    apart = members(space, seeded(space), 50) - space.inner_centre
    np.testing.assert_allclose(space.tangent(apart), apart, rtol=0, atol=1e-12)
    projector = flat(space, space.tangent(np.eye(space.size).reshape(space.size, *space.shape)))
    np.testing.assert_allclose(rows.T @ rows / 1000, projector / space.rank, atol=0.1)


@every
def test_directions_may_be_drawn_in_blocks(space: Space) -> None:
    blocks, whole = np.random.default_rng(5), np.random.default_rng(5)
    drawn = np.concatenate([space.directions(blocks, n) for n in (1, 2, 7, 30)])
    assert (drawn == space.directions(whole, 40)).all()


def test_directions_on_the_line_are_the_signs_of_uniform_numbers() -> None:
    drawn = spaces.Interval(0, 1).directions(np.random.default_rng(7), 1000)
    np.testing.assert_array_equal(drawn, np.copysign(1.0, np.random.default_rng(7).random(1000) - 0.5))


@every
def test_a_space_survives_json(space: Space) -> None:
    read = spec.from_json(space.to_json(), space.callables())
    assert read == space
    assert hash(read) == hash(space)
    assert read.to_json() == space.to_json()


@every
def test_the_squared_distance_to_a_member_never_rises(space: Space) -> None:
    # The paper's projection assumption, for the loss ‖y - label‖².
    rng = seeded(space)
    labels = members(space, rng, 200)
    for scale in (0.1, 1.0, 30.0):
        points = labels + scale * rng.standard_normal(labels.shape)
        before = np.square(flat(space, points - labels)).sum(axis=1)
        after = np.square(flat(space, space.project(points) - labels)).sum(axis=1)
        assert (after <= before + 1e-9 * (1 + before)).all()


@every
def test_whole_numbers_are_taken_for_what_they_are(space: Space) -> None:
    floats = (np.arange(2 * space.size).reshape(2, *space.shape) % 3).astype(np.float64)
    whole: Any = floats.astype(int)
    for act in (space.project, space.minimize, space.tangent):
        assert (act(whole) == act(floats)).all()
