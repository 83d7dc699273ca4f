"""Spaces around spaces, a user's own oracle, and what is said about bad arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost.spaces import (
    Ball,
    Birkhoff,
    Box,
    CountingSpace,
    Hull,
    Interval,
    L1Ball,
    Oracle,
    Paths,
    Shrunk,
    Simplex,
    Space,
)


def test_counting_counts_points_and_not_calls() -> None:
    space = CountingSpace(Birkhoff(3))
    space.minimize(np.ones((4, 5, 3, 3)))
    space.minimize(np.ones((3, 3)))
    space.project(np.ones((7, 3, 3)))
    space.contains(np.ones((9, 3, 3)))
    assert (space.oracle_calls, space.projections) == (21, 7)


def test_counting_goes_on_in_shrunk_sets() -> None:
    space = CountingSpace(Interval(0.0, 1.0))
    shrunk = space.shrink(0.5).shrink(0.5)
    shrunk.project(np.zeros(3))
    shrunk.project_kl(np.ones(2))
    shrunk.minimize(np.asarray(1.0))
    assert (space.oracle_calls, space.projections) == (1, 5)
    space.reset()
    assert (shrunk.oracle_calls, shrunk.projections) == (0, 0)


def test_counts_are_no_part_of_the_spec() -> None:
    space = CountingSpace(Simplex(3))
    space.minimize(np.ones((4, 3)))
    assert space == CountingSpace(Simplex(3))
    assert space.to_json() == CountingSpace(Simplex(3)).to_json()
    assert spec.from_json(space.to_json()).oracle_calls == 0
    assert replace(space).oracle_calls == 0


def test_a_refused_request_is_not_counted() -> None:
    space = CountingSpace(Birkhoff(2))
    with pytest.raises(NotImplementedError):
        space.project_kl(np.ones((2, 2)))
    assert space.projections == 0


def test_shrinking_twice_is_shrinking_once() -> None:
    once, twice = Birkhoff(3).shrink(0.5), Birkhoff(3).shrink(0.2).shrink(0.375)
    assert isinstance(twice, Shrunk)
    assert twice.space == Birkhoff(3)
    assert twice.xi == pytest.approx(once.xi)
    floors = [Simplex(4).shrink(0.2).shrink(0.375).floor, Simplex(4).shrink(0.5).floor]
    assert floors[0] == pytest.approx(floors[1])


def cube(gradients: Array) -> Array:
    return np.where(gradients > 0, -1.0, 1.0)


def test_an_oracle_needs_no_more_than_it_is_asked_for() -> None:
    space = Oracle(cube, centre=((0, 0), (0, 0)), inner_radius=1, diameter=4)
    assert (space.shape, space.rank, space.centre) == ((2, 2), 4, ((0.0, 0.0), (0.0, 0.0)))
    assert space.minimize(np.ones((3, 5, 2, 2))).shape == (3, 5, 2, 2)
    assert spec.from_json(space.to_json(), {f"{__name__}:cube": cube}) == space
    with pytest.raises(NotImplementedError, match=r"^This Oracle has no projection: pass projection="):
        space.project(np.ones((2, 2)))
    with pytest.raises(NotImplementedError, match=r"^This Oracle cannot test membership: pass membership="):
        space.contains(np.ones((2, 2)))
    with pytest.raises(NotImplementedError, match=r"^This Oracle has no projection"):
        space.shrink(0.5).project(np.ones((2, 2)))
    assert space.shrink(0.5).minimize(np.ones((2, 2))).tolist() == [[-0.5, -0.5], [-0.5, -0.5]]


def test_an_oracle_of_numbers() -> None:
    space = Oracle(cube, centre=0, inner_radius=1, diameter=2, projection=lambda points: np.clip(points, -1, 1))
    assert space.shape == ()
    assert space.minimize(np.array([3.0, -1.0])).tolist() == [-1.0, 1.0]
    assert space.contains(np.array([0.5, 1.5])).tolist() == [True, False]
    assert space.contains(np.asarray(0.5))
    with pytest.raises(TypeError, match="cannot be saved"):
        space.to_json()


def test_what_an_oracle_returns_is_checked() -> None:
    space = Oracle(lambda gradients: gradients[0], centre=(0.0, 0.0), inner_radius=1.0, diameter=2.0)
    with pytest.raises(ValueError, match=re.escape("What oracle returns must have shape (3, 2), got (2,).")):
        space.minimize(np.ones((3, 2)))
    space = Oracle(lambda gradients: gradients * np.nan, centre=(0.0, 0.0), inner_radius=1.0, diameter=2.0)
    with pytest.raises(ValueError, match=r"What oracle returns must be finite, got NaN or infinity\."):
        space.minimize(np.ones((3, 2)))


def test_normals_may_depend_on_each_other() -> None:
    normals = ((1.0, 1.0, 0.0, 0.0), (2.0, 2.0, 0.0, 0.0), (0.0, 1.0, 1.0, 0.0))
    space = Oracle(cube, centre=(0.0,) * 4, inner_radius=1.0, diameter=2.0, normals=normals)
    assert space.rank == 2
    np.testing.assert_allclose(space.directions(np.random.default_rng(0), 50) @ np.array(normals).T, 0.0, atol=1e-12)


BAD: list[tuple[Callable[[], Space], str]] = [
    (lambda: Simplex(1), "dimension must be a whole number of at least 2, got 1."),
    (lambda: Simplex(3, 0.0), "total must be positive, got 0.0."),
    (lambda: Simplex(4, 1.0, 0.25), "floor must be below total / dimension = 0.25, got 0.25."),
    (lambda: L1Ball(0), "dimension must be a whole number of at least 1, got 0."),
    (lambda: L1Ball(2, float("nan")), "radius must be finite, got nan."),
    (lambda: Hull(()), "points must be a list of equally long vectors, got an array of shape (0,)."),
    (lambda: Hull(((1.0, 2.0), (1.0,))), "points must be numbers in a regular array, got tuple."),
    (lambda: Hull(((1.0, 2.0),)), "points must hold at least two different points, got 1 and all of them equal."),
    (lambda: Birkhoff(1), "n must be a whole number of at least 2, got 1."),
    (lambda: Paths((), 0, 1), "edges must be pairs of nodes, got ()."),
    (lambda: Paths(((0, 1, 2),), 0, 1), "edges must be pairs of nodes, got ((0, 1, 2),)."),  # type: ignore[arg-type]
    (lambda: Paths(((0, 1), (0, 2)), 0, 1), "edges must lie on paths from 0 to 1, got (0, 2)."),
    (lambda: Paths(((0, 1), (2, 1)), 0, 1), "edges must lie on paths from 0 to 1, got (2, 1)."),
    (lambda: Paths((("s", "a"), ("a", "s"), ("a", "t")), "s", "t"), "edges must not form a cycle, got "),
    (lambda: Paths(((0, 1), (1, 2)), 0, 2), "edges must form at least two paths from source to sink, got "),
    (lambda: Paths(((0, 1.5),), 0, 1), "edges, source and sink must name nodes by whole numbers or strings, got 1.5."),  # type: ignore[arg-type]
    (lambda: Oracle(3, (0.0,), 1.0, 2.0), "oracle must be a function, got 3."),  # type: ignore[arg-type]
    (lambda: Oracle(cube, (), 1.0, 2.0), "centre must be a point in the set, got ()."),
    (lambda: Oracle(cube, (0.0,)), "inner_radius must be positive, got 0.0."),
    (lambda: Oracle(cube, (0.0,), 1.0), "diameter must be positive, got 0.0."),
    (lambda: Oracle(cube, (0.0,), 2.0, 3.0), "diameter must be at least twice the inner_radius, got 3.0."),
    (lambda: Oracle(cube, (0.0, 0.0), 1.0, 2.0, normals=((1.0,),)), "normals must have shape (1, 2), got (1, 1)."),
    (
        lambda: Oracle(cube, (0.0,), 1.0, 2.0, normals=((1.0,),)),
        "normals must leave a direction to move in, got 1 that",
    ),
    (lambda: Shrunk(3), "space must be a Space, got int."),  # type: ignore[arg-type]
    (lambda: Shrunk(Ball(2), 1.0), "xi must lie in [0, 1), got 1.0."),
    (lambda: Birkhoff(2).shrink(-0.1), "xi must lie in [0, 1), got -0.1."),
    (lambda: Simplex(2).shrink(1.0), "xi must lie in [0, 1), got 1.0."),
    (lambda: CountingSpace("ball"), "space must be a Space, got str."),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_arguments_are_told_in_a_sentence(make: Callable[[], Space], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()


def test_a_flow_that_is_none_is_not_read_as_paths() -> None:
    space = Paths(((0, 1), (0, 1)), 0, 1)
    with pytest.raises(ValueError, match=r"^flow must be a unit flow from source to sink"):
        space.decompose(np.array([0.7, 0.7]))
    assert [route.weight for route in space.decompose(np.array([0.25, 0.75]))] == [0.75, 0.25]


def test_equal_sets_are_equal_specs() -> None:
    assert Simplex(3, 2) == Simplex(np.int64(3), 2.0)  # type: ignore[arg-type]
    points = np.array([[0, 0], [1, 0], [0, 1]])
    assert Hull(points) == Hull(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)))  # type: ignore[arg-type]
    assert Hull(points).to_json() == Hull(((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))).to_json()  # type: ignore[arg-type]
    assert Interval(np.float64(0), 1).to_json() == Interval(0.0, 1.0).to_json()


def test_large_sets_recognise_their_own_points() -> None:
    rng = np.random.default_rng(0)
    large: tuple[Space, ...] = (Ball(3, 1e8), Simplex(3, 1e8), L1Ball(3, 1e8), Box((-1e8,) * 3, (1e8,) * 3))
    for space in large:
        assert space.contains(space.project(1e9 * rng.standard_normal((1000, 3)))).all()


def test_a_shrunk_set_keeps_its_tolerance() -> None:
    square = Shrunk(Box((-1.0, -1.0), (1.0, 1.0)), 0.5)
    assert square.contains(np.array([0.5 + 0.9e-3, 0.0]), tolerance=1e-3)
    assert not square.contains(np.array([0.5 + 1.1e-3, 0.0]), tolerance=1e-3)


def test_ends_are_kept_as_tuples_and_nothing_is_shrunk_unasked() -> None:
    box = Box([0, 0], np.array([1, 2]))  # type: ignore[arg-type]
    assert (box.low, box.high) == ((0.0, 0.0), (1.0, 2.0))
    assert hash(box) == hash(Box((0.0, 0.0), (1.0, 2.0)))
    assert Shrunk(box).xi == 0.0
