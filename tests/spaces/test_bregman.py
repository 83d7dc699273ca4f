"""KL projections: the paper's projection assumption for the loss KL(label, ·), label first (NOTES, item 7)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import kl_div

from banditboost._core.checks import Array
from banditboost.spaces import Birkhoff, Box, CountingSpace, Interval, Simplex, Space
from banditboost.testing.spaces import members
from tests.spaces.common import name

POSITIVE: list[Space] = [
    Simplex(2),
    Simplex(5),
    Simplex(3, 7.0),
    Simplex(4, 1.0, 0.1),
    Simplex(6).shrink(0.9),
    Box((0.5, 1.0), (2.0, 4.0)),
    Box((0.0, 0.0, 0.1), (1.0, 2.0, 0.2)),
    Interval(0.25, 3.0),
    Interval(0.0, 1.0),
    CountingSpace(Simplex(3)),
]
every = pytest.mark.parametrize("space", POSITIVE, ids=name)


def divergence(space: Space, left: Array, right: Array) -> Array:
    """Σ y log(y/z) - y + z."""
    return np.asarray(
        kl_div(left, right).sum(axis=tuple(range(-len(space.shape), 0))) if space.shape else kl_div(left, right)
    )


@every
def test_the_loss_of_a_label_never_rises(space: Space) -> None:
    labels = members(space, np.random.default_rng(0), 200)

    @settings(derandomize=True, max_examples=50, deadline=None, database=None)
    @given(st.integers(0, 10**6), st.floats(-6, 6), st.floats(0, 4))
    def check(seed: int, size: float, spread: float) -> None:
        points = np.exp(size + spread * np.random.default_rng(seed).standard_normal(labels.shape))
        nearest = space.project_kl(points)
        assert space.contains(nearest).all()
        before = divergence(space, labels, points)
        # The inequality itself, stronger than the assumption: what is lost is the distance to the projection.
        after = divergence(space, labels, nearest) + divergence(space, nearest, points)
        assert (after <= before + 1e-9 * (1 + np.abs(before))).all()

    check()


@every
def test_the_nearest_is_a_fixed_point_and_one_by_one(space: Space) -> None:
    rng = np.random.default_rng(1)
    points = np.exp(rng.standard_normal((3, 20, *space.shape)))
    nearest = space.project_kl(points)
    inside = np.maximum(nearest, 1e-300)
    np.testing.assert_allclose(space.project_kl(inside), nearest, rtol=0, atol=1e-12)
    single = np.array([[space.project_kl(point) for point in row] for row in points])
    np.testing.assert_allclose(nearest, single, rtol=0, atol=1e-14)


@every
def test_the_nearest_beats_other_members(space: Space) -> None:
    rng = np.random.default_rng(2)
    others = members(space, rng, 1000)
    for _ in range(20):
        point = np.exp(2 * rng.standard_normal(space.shape))
        best = divergence(space, space.project_kl(point), point)
        assert best <= divergence(space, others, np.broadcast_to(point, others.shape)).min() + 1e-12


def test_the_order_of_arguments_matters() -> None:
    # Notes, item 7: with the label second the loss rises, with the label first it falls.
    label, point = np.array([0.5, 0.5]), np.array([0.4, 0.01])
    nearest = Simplex(2).project_kl(point)
    assert kl_div(nearest, label).sum() > kl_div(point, label).sum()
    assert kl_div(label, nearest).sum() < kl_div(label, point).sum()


def test_a_floor_lifts_small_coordinates_and_scales_the_rest() -> None:
    nearest = Simplex(4, 1.0, 0.1).project_kl(np.array([8.0, 4.0, 2e-9, 1e-300]))
    np.testing.assert_allclose(nearest, [0.8 * 2 / 3, 0.8 / 3, 0.1, 0.1], rtol=1e-12)


@pytest.mark.parametrize(
    ("space", "point", "error", "sentence"),
    [
        (Simplex(2), [1.0, 0.0], ValueError, "points must be positive for a KL projection, got 0."),
        (Box((0.5,), (1.0,)), [-1.0], ValueError, "points must be positive for a KL projection, got -1."),
        (Box((-0.5,), (1.0,)), [1.0], ValueError, "low must not be negative for a KL projection, got -0.5."),
        (Interval(-1.0, 1.0), 0.5, ValueError, "low must not be negative for a KL projection, got -1."),
        (Birkhoff(2), [[1.0, 1.0], [1.0, 1.0]], NotImplementedError, "The space Birkhoff has no KL projection"),
    ],
)
def test_what_has_no_kl_projection_says_so(space: Space, point: object, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        space.project_kl(np.array(point))
