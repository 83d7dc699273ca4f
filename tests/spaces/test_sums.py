"""Sums of large matrices in single precision, with factors that wait, against sums that are written out in double precision."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost._core.checks import Array
from banditboost.learners import FPL
from banditboost.spaces import NuclearBall, Spectrahedron
from banditboost.spaces.rank_one import RankOne
from banditboost.spaces.stacks import Entries, Factored
from banditboost.spaces.sums import Sums, SymmetricSums

SPACES: list[RankOne] = [NuclearBall(90, 70), Spectrahedron(150)]
each = pytest.mark.parametrize("space", SPACES, ids=["rectangular", "symmetric"])
KINDS = ("factored", "symmetric factors", "with a start", "dense", "entries", "multiply", "clear", "flush", "one")


def symmetric(space: RankOne, matrix: Array) -> Array:
    return (matrix + matrix.swapaxes(-1, -2)) / 2 if isinstance(space, Spectrahedron) else matrix


def change(kind: str, space: RankOne, sums: Sums, whole: Array, rng: np.random.Generator, size: float) -> Array:
    """Change the sums, and return what they are then."""
    copies, (m, n) = len(whole), space.shape
    left, right, weights = rng.normal(size=(7, m)), rng.normal(size=(7, n)), size * rng.normal(size=(copies, 7))
    weights[0, :3] = 0.0
    i = int(rng.integers(copies))
    if kind in ("factored", "symmetric factors", "with a start"):
        right = left if kind == "symmetric factors" and m == n else right
        start, kept = None, None
        if kind == "with a start":
            start, kept = size * rng.normal(size=(m, n)), np.eye(1, copies)[0]
        added = Factored(left, right, weights, start, kept)
    elif kind == "dense":
        sums.add(dense := size * rng.normal(size=whole.shape))
        return np.asarray(whole + symmetric(space, dense))
    elif kind == "entries":
        rows, columns = rng.integers(m, size=5), rng.integers(n, size=5)
        entries = Entries(whole.shape, rows, columns, size * rng.normal(size=(copies, 5)))
        sums.add(entries.array())
        return np.asarray(whole + symmetric(space, np.asarray(entries)))
    else:
        whole = whole.copy()
        if kind == "multiply":
            sums.multiply(i, 0.3)
            whole[i] *= 0.3
        elif kind == "clear":
            sums.clear(i)
            whole[i] = 0.0
        elif kind == "one":
            sums.add_to(i, dense := size * rng.normal(size=(m, n)))
            whole[i] += symmetric(space, dense)
        else:
            sums.flush()
        return whole
    sums.add(added.array())
    return np.asarray(whole + symmetric(space, np.asarray(added)))


def agree(space: RankOne, sums: Sums, whole: Array, seen: float, rng: np.random.Generator) -> None:
    every, (m, n) = np.arange(len(whole)), space.shape
    tolerance = 3e-6 * max(seen, 1e-300)
    for i in every:
        np.testing.assert_allclose(sums.matrix(int(i)), whole[i], rtol=0, atol=tolerance)
    some = every[::2]
    vectors, others = rng.normal(size=(len(some), n)), rng.normal(size=(len(some), m))
    unit = float(sums.unit)
    for got, expected in (
        (sums.apply(vectors, some), np.einsum("imn,in->im", whole[some] / unit, vectors)),
        (sums.apply_transposed(others, some), np.einsum("imn,im->in", whole[some] / unit, others)),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * 50 / unit)


@each
@given(
    kinds=st.lists(st.sampled_from(KINDS), min_size=1, max_size=14), copies=st.integers(1, 3), seed=st.integers(0, 99)
)
@settings(max_examples=25, deadline=None)
def test_sums_are_those_of_double_precision(space: RankOne, kinds: list[str], copies: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums, whole, seen = space.sums(copies), np.zeros((copies, *space.shape)), 0.0
    for kind in kinds:
        whole = change(kind, space, sums, whole, rng, 1.0)
        seen = max(seen, float(np.abs(whole).max()))
    agree(space, sums, whole, seen, rng)


@each
@pytest.mark.parametrize("sizes", [(1e-200, 1.0, 1e200), (1e200, 1.0), (1e30, 1e-30), (1e12, 1e25)], ids=str)
def test_magnitudes_that_single_precision_does_not_have(space: RankOne, sizes: tuple[float, ...]) -> None:
    rng = np.random.default_rng(4)
    sums, whole, seen = space.sums(3), np.zeros((3, *space.shape)), 0.0
    sums.unit[...] = sizes[0]
    for size in sizes:
        for kind in ("factored", "dense", "flush", "one", "entries"):
            whole = change(kind, space, sums, whole, rng, size)
            seen = max(seen, float(np.abs(whole).max()))
            agree(space, sums, whole, seen, rng)


@each
def test_many_factors_are_multiplied_out_and_few_wait(space: RankOne) -> None:
    rng = np.random.default_rng(5)
    sums, whole, waited = space.sums(3), np.zeros((3, *space.shape)), []
    for _ in range(30):
        whole = change("factored", space, sums, whole, rng, 1.0)
        waited.append(int(sums.waiting))
        agree(space, sums, whole, 40.0, rng)
    assert waited[0] == 7 * sums.PACKED
    assert max(waited) <= min(space.shape) / 2
    assert any(later < earlier for earlier, later in pairwise(waited))


@each
def test_a_sum_of_its_own_is_a_copy(space: RankOne) -> None:
    rng = np.random.default_rng(6)
    sums, whole = space.sums(3), np.zeros((3, *space.shape))
    whole = change("dense", space, sums, change("factored", space, sums, whole, rng, 1.0), rng, 1.0)
    for i in range(3):
        alone, there = sums.alone(i)
        np.testing.assert_array_equal(alone.matrix(there), sums.matrix(int(i)))
        alone.perturb(there, 1e40, rng.standard_normal, True)
        assert np.abs(alone.matrix(there)).max() > 1e40
        agree(space, sums, whole, 10.0, rng)


@pytest.mark.parametrize("law", ["gaussian", "uniform", "laplace"])
@each
def test_perturbations_have_the_law_of_symmetric_parts(space: RankOne, law: str) -> None:
    """The symmetric part of independent entries of variance v has the variance v/2 beside the diagonal and v on it."""
    rng, sums = np.random.default_rng(7), space.sums(2)
    draw = FPL(perturbation=law).draw  # type: ignore[arg-type]
    variance = {"gaussian": 1.0, "uniform": 1 / 12, "laplace": 2.0}[law]
    on: list[float] = []
    off: list[float] = []
    for _ in range(40):
        sums.clear(1)
        sums.perturb(1, 3.0, lambda shape: draw(rng, shape), law == "gaussian")
        matrix = sums.matrix(1) / 3
        on += np.diag(matrix).tolist()
        off += matrix[np.eye(len(matrix), len(matrix[0])) == 0].tolist()
    half = 0.5 if isinstance(sums, SymmetricSums) else 1.0
    assert np.var(off) == pytest.approx(half * variance, rel=0.03)
    assert np.var(on) == pytest.approx(variance, rel=0.15)
    assert abs(np.mean(off)) < 5 * np.sqrt(variance / len(off))
    assert not sums.matrix(0).any()


def test_a_damaged_state_is_refused() -> None:
    for name, value in (("waiting", 10**6), ("waiting", -1), ("unit", 0.0)):
        sums = SPACES[0].sums(1)
        getattr(sums, name)[...] = value
        with pytest.raises(ValueError, match="The sums of matrices are damaged"):
            sums.check()


@each
def test_leaders_of_sums_are_those_of_full_decompositions(space: RankOne) -> None:
    rng = np.random.default_rng(8)
    sums, which = space.sums(30), np.arange(30)  # more than are searched together
    sums.add(rng.normal(size=(30, *space.shape)))
    sums.add(Factored(0.2 * rng.normal(size=(30, space.shape[0])), rng.normal(size=(30, space.shape[1]))).array())
    found = space.lead(sums, which, np.zeros((30, space.shape[1])))
    best = np.array([least(space, sums.matrix(int(i))) for i in which])
    losses = np.array([found.left[i] @ sums.matrix(int(i)) @ found.right[i] for i in which])
    np.testing.assert_allclose(losses, best, rtol=3e-6)
    np.testing.assert_allclose(found.losses, losses, rtol=1e-5)
    # A search from the last answers that may leave a share of what it saves leaves little more, by its own estimate.
    sums.add(0.2 * rng.normal(size=(30, *space.shape)))
    now = [sums.matrix(int(i)) for i in which]
    before = np.array([found.left[i] @ now[i] @ found.right[i] for i in which])
    best = np.array([least(space, matrix) for matrix in now])
    for share in (0.3, 0.01):
        coarse = space.lead(sums, which, found.starts, before, share)
        left = np.array([coarse.left[i] @ now[i] @ coarse.right[i] for i in which]) - best
        assert left.mean() <= 2 * share * (before - coarse.losses).mean()
        assert left.max() > 1e-4 * share


def least(space: RankOne, gradient: Array) -> float:
    if isinstance(space, NuclearBall):
        return float(-space.radius * np.linalg.svd(gradient, compute_uv=False)[0])
    return float(np.linalg.eigvalsh(gradient)[0])


@each
def test_widths_are_those_of_gaussian_matrices(space: RankOne) -> None:
    rng = np.random.default_rng(9)
    widths = [-least(space, symmetric(space, rng.normal(size=space.shape))) for _ in range(30)]
    assert 0.85 * space.gaussian_width < np.mean(widths) < space.gaussian_width < space.diameter * space.size**0.5 / 2
