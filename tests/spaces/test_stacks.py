"""Stacks: what is described equals what would be stored."""

from __future__ import annotations

import numpy as np
import pytest

from banditboost._core.checks import Array
from banditboost.chains import ConvexHull, Harmonic, Single
from banditboost.spaces.stacks import Entries, Factored, Stack

RNG = np.random.default_rng(0)
LEFT, RIGHT = RNG.standard_normal((4, 5)), RNG.standard_normal((4, 3))
START = RNG.standard_normal((5, 3))
FACTORED = Factored(LEFT, RIGHT, RNG.standard_normal((6, 4)), START, RNG.standard_normal(6))
ENTRIES = Entries((6, 5, 3), np.array([0, 4, 4, 2]), np.array([1, 2, 2, 0]), RNG.standard_normal((6, 4)))
each = pytest.mark.parametrize("stack", [FACTORED, ENTRIES], ids=["factored", "entries"])


def stored(stack: Stack) -> Array:
    """The same, written out."""
    if isinstance(stack, Factored):
        whole = np.einsum("ik,km,kn->imn", stack.weights, stack.left, stack.right)
        return np.asarray(whole + stack.kept[:, None, None] * stack.start)
    assert isinstance(stack, Entries)
    result = np.zeros(stack.shape)
    for i, row in enumerate(stack.values):
        for r, c, value in zip(stack.rows, stack.columns, row, strict=True):
            result[i, r, c] += value
    return result


@each
def test_a_stack_is_the_array_it_describes(stack: Stack) -> None:
    whole = stored(stack)
    assert (len(stack), stack.shape, stack.ndim) == (6, (6, 5, 3), 3)
    np.testing.assert_allclose(np.asarray(stack), whole, atol=1e-14)
    np.testing.assert_allclose(np.array(list(stack)), whole, atol=1e-14)
    np.testing.assert_allclose(stack[-1], whole[-1], atol=1e-14)
    np.testing.assert_allclose(stack[1:4], whole[1:4], atol=1e-14)
    np.testing.assert_allclose(stack[[2, 0]], whole[[2, 0]], atol=1e-14)
    assert isinstance(stack[:-1], Stack)
    assert np.asarray(stack, dtype=np.float32).dtype == np.float32
    with pytest.raises(IndexError):
        stack[6]
    with pytest.raises(ValueError, match="copy must not be False"):
        np.array(stack, copy=False)


@each
def test_arithmetic_is_that_of_arrays(stack: Stack) -> None:
    whole = stored(stack)
    for got, expected in (
        (stack - 1.0, whole - 1.0),
        (2.0 * stack, 2 * whole),
        (whole - stack, np.zeros_like(whole)),
        (stack + stack, 2 * whole),
        (np.square(stack), whole**2),
        (stack / 3, whole / 3),
    ):
        np.testing.assert_allclose(got, expected, atol=1e-13)
    total = np.ones(stack.shape)
    total += stack
    np.testing.assert_allclose(total, 1 + whole, atol=1e-14)
    totals = np.ones(stack.shape)
    stack.add_to(totals)
    np.testing.assert_allclose(totals, 1 + whole, atol=1e-14)


@each
def test_a_stack_is_checked_as_an_array_is(stack: Stack) -> None:
    assert isinstance(stack.checked("losses", (6, 5, 3)), Stack)
    with pytest.raises(ValueError, match=r"^losses must have shape \(2, 5, 3\), got \(6, 5, 3\)\.$"):
        stack.checked("losses", (2, 5, 3))
    bad = Entries((1, 2, 2), np.array([0]), np.array([0]), np.array([[np.nan]]))
    with pytest.raises(ValueError, match=r"^losses must be finite, got NaN or infinity\.$"):
        bad.checked("losses", (1, 2, 2))
    assert not Factored(np.array([[np.inf, 0.0]]), np.ones((1, 2))).finite


def test_entries_of_mixtures_are_read_without_storing_them() -> None:
    rows, columns = np.array([0, 4, 4]), np.array([2, 0, 0])
    np.testing.assert_allclose(FACTORED.entries(rows, columns), stored(FACTORED)[:, rows, columns], atol=1e-14)


def test_adding_factors_to_all() -> None:
    more = FACTORED.plus(LEFT[:2], RIGHT[:2], -0.5)
    np.testing.assert_allclose(more, stored(FACTORED) - 0.5 * LEFT[:2].T @ RIGHT[:2], atol=1e-14)


@pytest.mark.parametrize(
    "chain",
    [ConvexHull(), ConvexHull(steps=Harmonic(1.0, 3.0)), ConvexHull(steps=(0.5, 1.0, 0.3, 0.2)), ConvexHull(gamma=2.0)],
    ids=str,
)
def test_a_chain_of_factors_is_the_chain_of_matrices(chain: ConvexHull) -> None:
    plays = Factored(LEFT, RIGHT)
    path = chain.path(plays.array(), START)
    # A later step of 1 has no closed form: that path is stored.
    assert isinstance(path, Factored) is (chain.steps != (0.5, 1.0, 0.3, 0.2))
    np.testing.assert_allclose(path, chain.path(np.asarray(plays), START), atol=1e-14)
    np.testing.assert_allclose(path[-1], chain.path(np.asarray(plays), START)[-1], atol=1e-14)


def test_a_single_play_of_factors() -> None:
    play = Factored(LEFT[:1], RIGHT[:1])
    np.testing.assert_allclose(Single().path(play.array(), START), [play[0], play[0]])
