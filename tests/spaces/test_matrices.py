"""Spaces of matrices: Lanczos against full decompositions, projections against their optimality conditions, closed forms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.spaces import NuclearBall, Space, Spectrahedron, lanczos
from banditboost.spaces.rank_one import FULL_UP_TO, RankOne

# Just large enough for Lanczos: full decompositions to compare with take long where many processes share few cores.
LARGE: list[RankOne] = [
    NuclearBall(90, 70, 2.0),
    NuclearBall(70, 90),
    Spectrahedron(80),
    Spectrahedron(70, 3.0, False),
]
large = pytest.mark.parametrize("space", LARGE, ids=str)


def least(space: RankOne, gradient: Array) -> float:
    """The smallest loss over the set, from all singular or eigenvalues."""
    if isinstance(space, NuclearBall):
        return float(-space.radius * np.linalg.svd(gradient, compute_uv=False)[0])
    assert isinstance(space, Spectrahedron)
    smallest = float(np.linalg.eigvalsh((gradient + gradient.T) / 2)[0])
    return space.trace * (smallest if space.fixed else min(smallest, 0.0))


@cache
def gradients(space: Space) -> dict[str, Array]:
    """Matrices that are hard, easy, or degenerate."""
    rng = np.random.default_rng(7)
    m, n = space.shape
    k = min(m, n)
    left, right = np.linalg.qr(rng.standard_normal((m, k))).Q, np.linalg.qr(rng.standard_normal((n, k))).Q
    repeated = np.ones(k)
    repeated[k // 2 :] = 0.5
    signs = np.where(np.arange(k) % 2, 1.0, -1.0)
    values = {
        "crowded": np.linspace(1, 0.9, k),
        "repeated": repeated * signs,
        "one": np.eye(1, k)[0],
        "minus one": -np.eye(1, k)[0],
        "two equal": np.r_[-1.0, -1.0, np.full(k - 2, 0.3)],
        "nearly two equal": np.r_[-1.0, -1.0 + 1e-9, np.full(k - 2, 0.3)],
    }
    other = left if m == n else right
    result = {name: (left * value) @ other.T for name, value in values.items()}
    noise = rng.standard_normal((m, n))
    return result | {
        "noise": noise,
        "huge": 1e200 * noise,
        "tiny": 1e-200 * noise,
        "one entry": np.eye(m, n, k=3) * (np.arange(m) == 2)[:, np.newaxis],
        "ones": np.ones((m, n)),
        "diagonal": np.eye(m, n),
        "asymmetric": np.triu(np.ones((m, n)), 1),
        "zero": np.zeros((m, n)),
    }


@large
@pytest.mark.parametrize("name", gradients(LARGE[0]))
def test_lanczos_finds_what_a_full_decomposition_finds(space: RankOne, name: str) -> None:
    optimal(space, gradients(space)[name])


@pytest.mark.parametrize("space", [NuclearBall(300, 200), Spectrahedron(250)], ids=str)
def test_lanczos_on_larger_matrices(space: RankOne) -> None:
    gradient = np.random.default_rng(11).standard_normal(space.shape)
    optimal(space, gradient)
    left, right = space.minimize_factored(gradient)
    assert float(left @ gradient @ right) == pytest.approx(least(space, gradient), rel=1e-6)


def optimal(space: RankOne, gradient: Array) -> None:
    left, right = space.minimize_factored(gradient)
    loss, best = float(left @ gradient @ right), least(space, gradient)
    # On the nuclear ball, and where noise decides, this is relative to the best itself.
    scale = abs(best) if isinstance(space, NuclearBall) else space.farthest * np.abs(gradient).sum(axis=1).max()
    assert best - 1e-12 * scale <= loss <= best + 1e-6 * scale
    if isinstance(space, NuclearBall):
        assert np.linalg.norm(left) * np.linalg.norm(right) == pytest.approx(space.radius, rel=1e-12)
    else:
        assert isinstance(space, Spectrahedron)
        assert np.linalg.norm(right) == pytest.approx(1.0, rel=1e-12)
        assert (left == space.trace * right).all() or not (space.fixed or left.any())


@large
def test_the_answer_depends_on_the_question_alone(space: RankOne) -> None:
    stack = np.random.default_rng(1).standard_normal((2, 2, *space.shape))
    left, right = space.minimize_factored(stack)
    assert (left.shape, right.shape) == ((2, 2, space.shape[0]), (2, 2, space.shape[1]))
    np.random.default_rng().standard_normal(5)
    for i, j in np.ndindex(2, 2):
        again = space.minimize_factored(stack[i, j])
        assert (again[0] == left[i, j]).all()
        assert (again[1] == right[i, j]).all()
    assert (space.minimize(stack) == left[..., :, np.newaxis] * right[..., np.newaxis, :]).all()


@large
def test_a_warm_start_saves_steps_and_loses_nothing(space: RankOne, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    search = lanczos.leading_block

    def counted(apply: lanczos.Apply, starts: Array) -> lanczos.Pairs:
        def counting(vectors: Array, which: lanczos.Indices) -> Array:
            nonlocal steps
            steps += 1
            return apply(vectors, which)

        return search(counting, starts)

    monkeypatch.setattr(lanczos, "leading_block", counted)
    rng = np.random.default_rng(2)
    gradient = rng.standard_normal(space.shape)
    right = space.minimize_factored(gradient)[1]
    cold, steps = steps, 0
    moved = gradient + 0.01 * rng.standard_normal(space.shape)
    left, right = space.minimize_factored(moved, start=5 * right)
    assert steps < cold
    assert float(left @ moved @ right) <= (1 - 1e-6) * least(space, moved)


@large
def test_a_start_that_is_orthogonal_to_the_answer_does_no_harm(space: RankOne) -> None:
    # The second direction is an invariant subspace: a search that begins exactly there would never leave it.
    m, n = space.shape
    gradient = np.zeros((m, n))
    gradient[0, 0], gradient[1, 1] = -2.0, -1.0
    left, right = space.minimize_factored(gradient, start=np.eye(n)[1])
    assert float(left @ gradient @ right) == pytest.approx(-2 * space.farthest, rel=1e-6)


def test_a_bounded_trace_may_be_none() -> None:
    for n in (3, 100):
        space = Spectrahedron(n, fixed=False)
        assert not space.minimize(np.eye(n)).any()
        assert space.minimize(-np.eye(n)).trace() == pytest.approx(1.0)


def test_a_single_row_is_a_ball_and_needs_no_search() -> None:
    gradient = np.random.default_rng(0).standard_normal((1, 500))
    space = NuclearBall(1, 500, 3.0)
    assert not space.large
    np.testing.assert_allclose(space.minimize(gradient), -3 * gradient / np.linalg.norm(gradient), atol=1e-12)
    assert not NuclearBall(1000, FULL_UP_TO).large
    assert NuclearBall(1000, FULL_UP_TO + 1).large


def test_many_steps_are_taken_again_from_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanczos, "STEPS", 12)
    monkeypatch.setattr(lanczos, "RESTARTS", 100)
    diagonal = np.linspace(0, 1, 400)
    vector = lanczos.leading(lambda v: diagonal * v, lanczos.random_start(400))
    assert vector @ (diagonal * vector) == pytest.approx(1.0, rel=1e-5)
    assert np.linalg.norm(vector) == pytest.approx(1.0)


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
@pytest.mark.parametrize(
    "space",
    [NuclearBall(12, 7, 3.0), NuclearBall(5, 5), Spectrahedron(8, 2.0), Spectrahedron(8, 2.0, False)],
    ids=str,
)
def test_projections_satisfy_the_optimality_conditions(space: RankOne, scale: float) -> None:
    # The oracle, which is tested by itself, proves each projection: no member lies beyond the plane through it.
    rng = np.random.default_rng(3)
    points = scale * rng.standard_normal((50, *space.shape))
    points[25:] = np.round(points[25:], 1)
    nearest = space.project(points)
    assert space.contains(nearest, 1e-12).all()
    away = points - nearest
    gain = (away * (space.minimize(-away) - nearest)).sum(axis=(1, 2))
    assert gain.max() <= 1e-12 * (1 + scale) ** 2 * 10


def test_a_large_projection_is_proved_by_lanczos() -> None:
    for space in (NuclearBall(90, 70, 5.0), Spectrahedron(80)):
        point = np.random.default_rng(4).standard_normal(space.shape)
        nearest = space.project(point)
        away = point - nearest
        assert float((away * (space.minimize(-away) - nearest)).sum()) <= 1e-9
        assert space.contains(nearest)
        np.testing.assert_allclose(space.project(nearest), nearest, atol=1e-10)


def test_radii_in_closed_form() -> None:
    assert NuclearBall(9, 4, 3.0).inner_radius == pytest.approx(1.5)
    assert Spectrahedron(2).inner_radius == pytest.approx(math.sqrt(0.5))
    assert Spectrahedron(4, 6.0, False).inner_centre[0, 0] == pytest.approx(1.0)
    assert Spectrahedron(4, 6.0, False).inner_radius == pytest.approx(1.0)
    assert (Spectrahedron(5).rank, Spectrahedron(5, 1.0, False).rank) == (14, 15)


def test_the_spectrahedron_of_two_rows_is_a_disc() -> None:
    # [[1/2 + a, b], [b, 1/2 - a]] is positive semidefinite exactly where a² + b² <= 1/4.
    space = Spectrahedron(2)
    a, b = np.random.default_rng(5).uniform(-0.6, 0.6, (2, 500))
    points = np.stack([np.stack([0.5 + a, b], -1), np.stack([b, 0.5 - a], -1)], -2)
    assert (space.contains(points) == (a**2 + b**2 <= 0.25)).all()
    shrink = np.minimum(1, 0.5 / np.hypot(a, b))
    nearest = space.project(points)
    np.testing.assert_allclose(nearest[:, 0, 0] - 0.5, shrink * a, atol=1e-12)
    np.testing.assert_allclose(nearest[:, 0, 1], shrink * b, atol=1e-12)


def test_membership_sees_each_condition() -> None:
    space = Spectrahedron(3)
    assert space.contains(np.eye(3) / 3)
    assert not space.contains(np.eye(3))
    assert not space.contains(np.diag([0.6, 0.6, -0.2]))
    assert not space.contains(np.eye(3) / 3 + np.triu(np.full((3, 3), 0.01), 1))
    assert not space.contains(np.eye(3) / 4)
    assert Spectrahedron(3, fixed=False).contains(np.eye(3) / 4)


BAD: list[tuple[Callable[[], Space], str]] = [
    (lambda: NuclearBall(0, 3), "rows must be a whole number of at least 1, got 0."),
    (lambda: NuclearBall(3, 2.5), "columns must be a whole number of at least 1, got 2.5."),  # type: ignore[arg-type]
    (lambda: NuclearBall(3, 3, 0.0), "radius must be positive, got 0.0."),
    (lambda: Spectrahedron(1), "n must be a whole number of at least 2, got 1."),
    (lambda: Spectrahedron(3, -1.0), "trace must be positive, got -1.0."),
    (lambda: Spectrahedron(3, 1.0, "no"), "fixed must be True or False, got 'no'."),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_bad_arguments_are_told_in_a_sentence(make: Callable[[], Space], sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        make()
