"""Sparse contexts at the door: what is kept, what is shared, what is refused, and rows given to a booster by hand."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import banditboost as bb
from banditboost.worlds import Supervised
from tests.checks.discovery import state

DENSE = np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.0, 0.0], [4.0, 5.0, 6.0, 7.0]])
LABELS = np.arange(4.0)
FORMATS = ("bsr", "coo", "csc", "csr", "dia", "dok", "lil")


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.bool_], ids=lambda dtype: dtype.__name__)
def test_any_sparse_format_is_kept_as_rows(format: Any, kind: str, dtype: Any) -> None:
    dense: Any = DENSE.astype(dtype)
    given = getattr(sparse, f"csr_{kind}")(dense).asformat(format)
    world = Supervised(given, LABELS)
    kept = world.contexts()
    assert world.sparse
    assert type(kept) is sparse.csr_array
    assert [array.dtype.name for array in (kept.data, kept.indices, kept.indptr)] == ["float64", "int32", "int32"]
    np.testing.assert_array_equal(kept.toarray(), dense.astype(np.float64))
    assert (world.features, world.shape, len(world)) == (4, (), 4)
    for t in range(4):
        assert world.context(t).tobytes() == Supervised(dense, LABELS).context(t).tobytes()


def test_rows_are_those_of_the_dense_world_in_any_order() -> None:
    kept, dense = Supervised(sparse.csr_array(DENSE), LABELS), Supervised(DENSE, LABELS)
    pairs = [
        (kept, dense),
        (kept.shuffled(1), dense.shuffled(1)),
        (kept.head(2), dense.head(2)),
        (kept.head(0), dense.head(0)),
    ]
    pairs += zip(kept.shuffled(2).halves(), dense.shuffled(2).halves(), strict=True)
    for one, other in pairs:
        assert len(one) == len(other)
        np.testing.assert_array_equal(one.contexts().toarray(), other.contexts())
        np.testing.assert_array_equal(one.contexts(1, 3).toarray(), other.contexts(1, 3))
        np.testing.assert_array_equal(one.labels(), other.labels())
        for t in range(len(one)):
            np.testing.assert_array_equal(one.context(t), other.context(t))


def test_nothing_is_copied() -> None:
    given = sparse.csr_array(DENSE)
    world = Supervised(given, LABELS)
    for view in (world, world.shuffled(1), world.halves()[1], world.head(2)):
        stored, rows = view.stored()
        assert isinstance(stored, sparse.csr_array)
        assert np.shares_memory(stored.data, given.data)
        assert np.shares_memory(stored.indices, given.indices)
        np.testing.assert_array_equal(stored.toarray()[rows], view.contexts().toarray())
    x = world.context(0)
    x[:] = 9.0  # a row is the caller's own
    assert world.context(0).tolist() == DENSE[0].tolist()


def test_entries_given_twice_add_up_and_the_caller_keeps_his() -> None:
    data, indices, starts = np.array([1.0, 2.0, 3.0, -3.0, 4.0]), np.array([3, 0, 3, 1, 1]), np.array([0, 3, 5])
    given = sparse.csr_array((data, indices, starts), shape=(2, 4))
    world = Supervised(given, [0.0, 0.0])
    assert world.contexts().toarray().tolist() == [[2.0, 0.0, 0.0, 4.0], [0.0, 1.0, 0.0, 0.0]]
    assert world.contexts().has_canonical_format
    assert given.data.tolist() == [1.0, 2.0, 3.0, -3.0, 4.0]
    assert given.indices.tolist() == [3, 0, 3, 1, 1]


def broken(**changes: Any) -> sparse.csr_array:
    """CSR whose arrays were changed after the constructor had looked at them."""
    rows = sparse.csr_array(DENSE)
    for name, value in changes.items():
        setattr(rows, name, np.array(value, dtype=getattr(rows, name).dtype))
    return rows


@pytest.mark.parametrize(
    ("contexts", "labels", "sentence"),
    [
        (sparse.csr_array([[1.0, math.nan]]), [1.0], r"contexts must be finite, got NaN or infinity\."),
        (sparse.csr_array([[1.0, -math.inf]]), [1.0], r"contexts must be finite, got NaN or infinity\."),
        (
            sparse.coo_array(([1e308, 1e308], ([0, 0], [1, 1])), shape=(1, 2)),
            [1.0],
            r"contexts must be finite, got NaN or infinity\.",
        ),
        (sparse.csr_array((0, 3)), [], r"contexts must have at least one row, got none\."),
        (sparse.coo_array([1.0, 2.0]), [1.0, 2.0], r"contexts must have shape \(rounds, features\), got \(2,\)\."),
        (sparse.csr_array(DENSE), [1.0], r"labels must be as many as contexts, got \(1,\) for 4 contexts\."),
        (sparse.csr_array(DENSE), 1.0, r"labels must be as many as contexts, got \(\) for 4 contexts\."),
        (sparse.csr_array(DENSE), [1.0, 2.0, math.nan, 0.0], r"labels must be finite, got NaN or infinity\."),
        (
            broken(indices=[1, 3, 0, 0, 1, 2, 4]),
            LABELS,
            r"contexts must be a well-formed sparse array, got one in which .*",
        ),
        (
            broken(indices=[1, -1, 0, 0, 1, 2, 3]),
            LABELS,
            r"contexts must be a well-formed sparse array, got one in which .*",
        ),
        (broken(indptr=[0, 5, 2, 3, 7]), LABELS, r"contexts must be a well-formed sparse array, got one in which .*"),
    ],
)
def test_bad_data_raises_one_sentence(contexts: Any, labels: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Supervised(contexts, labels)


# Rows by hand.


def booster() -> bb.Booster:
    return bb.Booster(copies=3, gradient=bb.gradients.OnePoint(0.2), space=bb.spaces.Interval(-1.0, 1.0), seed=3)


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "coo_array", "csc_array", "one axis"])
def test_a_sparse_row_is_its_dense_row(kind: str) -> None:
    def row(x: Any) -> Any:
        return sparse.coo_array(x) if kind == "one axis" else getattr(sparse, kind)(x[np.newaxis])

    one, other = booster(), booster()
    assert one.predict(row(DENSE[0])).tobytes() == other.predict(DENSE[0]).tobytes()
    for x in DENSE:
        tickets = one.ask(row(x)), other.ask(x)
        assert tickets[0].queries.tobytes() == tickets[1].queries.tobytes()
        for learner, ticket in zip((one, other), tickets, strict=True):
            learner.tell(ticket, np.square(ticket.queries - 0.5))
        assert one.predict(row(x)).tobytes() == other.predict(x).tobytes()
    one.step(row(DENSE[3]), np.square)
    other.step(DENSE[3], np.square)
    assert state(one) == state(other)


def test_bad_rows_raise_one_sentence_and_change_nothing() -> None:
    learner = booster()
    learner.step(DENSE[0], np.square)
    before = copy.deepcopy(state(learner))
    given: list[tuple[Any, str]] = [
        (sparse.csr_array(DENSE), r"x must be one context, got a sparse array of shape \(4, 4\)\."),
        (sparse.csr_array((0, 4)), r"x must be one context, got a sparse array of shape \(0, 4\)\."),
        (sparse.csr_array([[1.0, 2.0]]), r"x must have 4 features, got 2\."),
        (sparse.csr_array([[1.0, math.nan, 0.0, 0.0]]), r"x must be finite, got NaN or infinity\."),
    ]
    for x, sentence in given:
        for call in (learner.ask, learner.predict):
            with pytest.raises(ValueError, match=f"^{sentence}$"):
                call(x)
    assert state(learner) == before
    without = bb.algorithms.projection_free(bb.spaces.Ball(2, 1.0))
    with pytest.raises(ValueError, match=r"^x must be left out: this learner takes no context\.$"):
        without.ask(sparse.csr_array(DENSE[:1]))
