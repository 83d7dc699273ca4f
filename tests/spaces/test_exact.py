"""Oracles, projections and radii against brute force and against a method that shares nothing with ours."""

from __future__ import annotations

import math

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.spaces import Birkhoff, Box, Hull, L1Ball, Paths, Shrunk, Simplex, Space
from banditboost.testing.spaces import flat
from tests.spaces.common import EXAMPLES, name, nearest_mixtures, vertices_of

LISTED = [space for space in EXAMPLES if vertices_of(space) is not None]
listed = pytest.mark.parametrize("space", LISTED, ids=name)


def every_vertex(space: Space) -> Array:
    vertices = vertices_of(space)
    assert vertices is not None
    return vertices


def random_network(rng: np.random.Generator, nodes: int) -> Paths:
    """A network on 0, 1, ..., where each node has an edge to the next and others come by chance, some of them twice."""
    edges = [(k, k + 1) for k in range(nodes - 1)]
    edges += [(i, j) for i in range(nodes) for j in range(i + 1, nodes) for _ in range(2) if rng.random() < 0.3]
    return Paths(tuple(edges), 0, nodes - 1)


def test_the_listed_spaces_are_there() -> None:
    polytopes = {Simplex, L1Ball, Hull, Birkhoff, Paths}
    assert [space for space in EXAMPLES if type(space) in polytopes] == LISTED
    assert {type(space) for space in LISTED} == polytopes


@listed
def test_the_oracle_finds_the_best_vertex(space: Space) -> None:
    vertices = every_vertex(space)
    rng = np.random.default_rng(1)
    gradients = np.concatenate([rng.standard_normal((200, space.size)), rng.integers(-2, 3, (200, space.size))])
    best = flat(space, space.minimize(gradients.reshape(-1, *space.shape)))
    values = (gradients * best).sum(axis=1)
    np.testing.assert_allclose(values, (gradients @ vertices.T).min(axis=1), rtol=0, atol=1e-12)
    assert (np.abs(best[:, None] - vertices).max(axis=-1).min(axis=1) <= 1e-15).all()


@listed
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_the_projection_agrees_with_least_squares(space: Space, scale: float) -> None:
    vertices = every_vertex(space)
    rng = np.random.default_rng(2)
    points = vertices.mean(axis=0) + scale * rng.standard_normal((50, space.size))
    points[25:] = np.round(points[25:], 1)
    projected = flat(space, space.project(points.reshape(-1, *space.shape)))
    expected = nearest_mixtures(vertices, points)
    np.testing.assert_allclose(projected, expected, rtol=0, atol=1e-9)


@listed
def test_a_shrunk_projection_agrees_with_least_squares(space: Space) -> None:
    center = space.inner_centre.ravel()
    vertices = center + 0.7 * (every_vertex(space) - center)
    points = center + 2 * np.random.default_rng(3).standard_normal((30, space.size))
    expected = nearest_mixtures(vertices, points)
    for shrunk in (space.shrink(0.3), Shrunk(space, 0.3), Shrunk(space, 0.3).shrink(0.0)):
        projected = flat(space, shrunk.project(points.reshape(-1, *space.shape)))
        np.testing.assert_allclose(projected, expected, rtol=0, atol=1e-9)


@listed
def test_rank_and_diameter_are_the_vertices(space: Space) -> None:
    vertices = every_vertex(space)
    assert space.rank == np.linalg.matrix_rank(vertices - vertices.mean(axis=0), tol=1e-9)
    largest = max(np.linalg.norm(vertices - vertex, axis=1).max() for vertex in vertices)
    assert space.diameter == pytest.approx(largest, rel=1e-12)
    assert space.farthest == pytest.approx(np.linalg.norm(vertices, axis=1).max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_random_networks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = random_network(rng, 3 + seed % 5)
    vertices = every_vertex(space)
    costs = rng.standard_normal((50, space.size))
    values = (costs * space.minimize(costs)).sum(axis=1)
    np.testing.assert_allclose(values, (costs @ vertices.T).min(axis=1), rtol=0, atol=1e-12)
    largest = max(np.linalg.norm(vertices - vertex, axis=1).max() for vertex in vertices)
    assert space.diameter == pytest.approx(largest, rel=1e-12)
    assert space.rank == np.linalg.matrix_rank(vertices - vertices.mean(axis=0))
    assert space.contains(space.inner_centre, 1e-12)
    assert space.inner_centre.min() >= 1 / space.size - 1e-15
    assert space.inner_radius >= 1 / space.size
    points = space.inner_centre + rng.standard_normal((20, space.size))
    expected = nearest_mixtures(vertices, points)
    np.testing.assert_allclose(space.project(points), expected, rtol=0, atol=1e-9)
    # A flow is the sum of its routes.
    flow = space.project(points[0])
    routes = space.decompose(flow)
    rebuilt = np.zeros(space.size)
    for route in routes:
        rebuilt[list(route.edges)] += route.weight
    np.testing.assert_allclose(rebuilt, flow, rtol=0, atol=1e-8)
    assert sum(route.weight for route in routes) == pytest.approx(1.0)
    assert all((route.nodes[0], route.nodes[-1]) == (space.source, space.sink) for route in routes)


@pytest.mark.parametrize("n", [2, 5, 12])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3, 1e8])
@pytest.mark.parametrize("digits", [1, 12])
def test_matrices_near_and_far_are_projected_to_the_last_digits(n: int, scale: float, digits: int) -> None:
    # The oracle proves each projection: the largest g·(v - x) over all permutations v must not be positive.
    space = Birkhoff(n)
    rng = np.random.default_rng(n)
    points = scale * np.round(rng.standard_normal((200, n, n)), digits)
    nearest = space.project(points)
    assert space.contains(nearest, 1e-13).all()
    away = points - nearest
    gain = (away * (space.minimize(-away) - nearest)).sum(axis=(1, 2))
    assert gain.max() <= 1e-12 * (1 + scale)


@pytest.mark.parametrize("scale", [0.1, 1.0, 1e4])
@pytest.mark.parametrize(("squeeze", "tolerance"), [(1.0, 1e-9), (1e-3, 1e-9), (1e-6, 1e-7)])
@pytest.mark.parametrize(("count", "dimension"), [(6, 5), (30, 3), (40, 8)])
def test_hulls_of_any_form(count: int, dimension: int, squeeze: float, tolerance: float, scale: float) -> None:
    # Flat ones, with repeated points and points that nearly repeat. What is below 1e-6 of the size costs digits.
    rng = np.random.default_rng(count)
    corners = rng.standard_normal((count, dimension))
    corners[:, 0] *= squeeze
    corners = np.concatenate([corners, corners[:2], corners[:2] + 1e-3 * squeeze])
    space = Hull(tuple(map(tuple, corners.tolist())))
    assert space.rank == dimension
    points = scale * rng.standard_normal((100, dimension))
    nearest = space.project(points)
    away = points - nearest
    gain = (away * (space.minimize(-away) - nearest)).sum(axis=1)
    assert gain.max() <= 1e-12 * (1 + scale)
    assert space.contains(nearest, tolerance).all()


def test_radii_and_diameters_in_closed_form() -> None:
    assert Simplex(2).inner_radius == pytest.approx(math.sqrt(0.5))
    assert Simplex(3).inner_radius == pytest.approx(1 / math.sqrt(6))
    assert L1Ball(4, 3.0).inner_radius == pytest.approx(1.5)
    assert Birkhoff(2).inner_radius == pytest.approx(Birkhoff(2).diameter / 2)
    assert Birkhoff(5).diameter == pytest.approx(math.sqrt(10))
    cube = tuple(tuple(float(bit) for bit in f"{k:03b}") for k in range(8))
    assert Hull(cube).inner_radius == pytest.approx(0.5)
    assert Hull(cube).diameter == pytest.approx(math.sqrt(3))
    parallel = Paths(((0, 1),) * 4, 0, 1)
    assert parallel.inner_centre == pytest.approx(Simplex(4).inner_centre)
    assert parallel.inner_radius == pytest.approx(Simplex(4).inner_radius)
    assert parallel.diameter == pytest.approx(Simplex(4).diameter)


def test_a_hull_of_a_boxs_corners_is_the_box() -> None:
    box = Box((0.0, -1.0, 2.0), (1.0, 1.0, 5.0))
    corners = np.stack(np.meshgrid(*zip(box.low, box.high, strict=True)), axis=-1).reshape(-1, 3)
    hull = Hull(tuple(map(tuple, corners.tolist())))
    points = 4 * np.random.default_rng(0).standard_normal((500, 3))
    np.testing.assert_allclose(hull.project(points), box.project(points), rtol=0, atol=1e-12)
    assert (hull.contains(points) == box.contains(points)).all()
    assert (hull.inner_radius, hull.diameter) == pytest.approx((box.inner_radius, box.diameter))


def test_points_far_from_the_simplex_keep_their_digits() -> None:
    nearest = Simplex(3).project(np.array([1e9 + 0.5, 1e9, -1e12]))
    np.testing.assert_allclose(nearest, [0.75, 0.25, 0.0], rtol=0, atol=1e-12)
