"""What is remembered of features: exact counts of what is shared, bounded memory, and files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost.encoder import Encoder, Names, Pairs


def met(encoder: Encoder, count: int, columns: int = 0) -> Names:
    names = Names(encoder)
    for k in range(count):
        names.note(encoder.pairs({"word": str(k), "group": str(k % 7)}), columns)
    return names


@given(st.lists(st.lists(st.integers(0, 60), max_size=6), max_size=25), st.integers(1, 6))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_counts_are_those_of_a_slow_twin_that_keeps_everything(stream: list[list[int]], bits: int) -> None:
    encoder = Encoder(bits=bits)
    names = Names(encoder)
    first: dict[int, int] = {}
    users: dict[int, set[int]] = {}
    values = mixed = 0
    for numbers in stream:
        pairs = encoder.pairs({"bag": [str(k) for k in numbers]})
        names.note(pairs)
        for key in pairs.hashes.tolist():
            index = key % 2**bits
            owner = first.setdefault(index, key)
            users.setdefault(index, set()).add(key)
            values += 1
            mixed += owner != key
    found = names.collisions
    assert found == (len(users), sum(len(keys) > 1 for keys in users.values()), values, mixed)
    explained = names.explained()
    assert {index: len(texts) for index, texts in explained.items()} == {
        index: len(keys) for index, keys in users.items()
    }
    assert all(names.explain(index) == texts for index, texts in explained.items())


def test_sharing_is_noticed_beyond_what_is_remembered_by_name() -> None:
    names = met(Encoder(bits=8, names=10), 1000)
    whole = met(Encoder(bits=8), 1000)
    assert names.collisions == whole.collisions
    assert names.collisions.shared > 200
    assert sum(map(len, names.explained().values())) == 10
    assert str(names.collisions).startswith("249 indices, 234 of them shared; 37.90% of values")


def test_memory_is_bounded() -> None:
    encoder = Encoder(bits=6, names=50)
    names = Names(encoder)
    for k in range(200):
        names.note(encoder.pairs({"x" * 5000 + str(k): "y" * 5000}))
    assert max(map(len, names._named.values())) == 200
    assert len(names._named) == 50
    assert sum(array.nbytes for array in names.arrays().values()) < 50 * 220 + 64 * 20


def test_columns_come_in_order_and_stay() -> None:
    encoder = Encoder()
    names = Names(encoder)
    first, second = encoder.pairs({"a": 1.0}), encoder.pairs({"b": 2.0, "c": 3.0})
    names.note(first, columns=2)
    assert (names.columns, names.columns_with(second)) == (1, 3)
    names.note(second, columns=2)
    assert names.columns == 2  # the third finds no room
    row = names.dense(encoder.pairs({"a": 5.0, "b": 6.0, "c": 7.0}), 4)
    assert row[0] == 5.0
    assert row[1] in (6.0, 7.0)
    assert row[2:].tolist() == [0.0, 0.0]
    assert names.row(second, 1).indices.tolist() == []
    assert names.column_names(1) == ("a",)
    assert names.column_names(4)[2:] == ("x2", "x3")


def test_only_new_names_need_to_be_said_again() -> None:
    encoder = Encoder()
    names, other = met(encoder, 3), met(encoder, 3)
    pairs = encoder.pairs({"word": "1", "group": "new"})
    said = names.fresh(pairs)
    assert sorted(said.texts) == ["", "group=new"]
    names.note(pairs)
    other.note(said)
    assert all(np.array_equal(names.arrays()[name], other.arrays()[name]) for name in names.arrays())


def test_saved_and_restored_bit_for_bit() -> None:
    for names in (met(Encoder(bits=5), 100, columns=9), Names(Encoder()), met(Encoder(bits=5, names=3), 40)):
        again = Names.restored(names.encoder, names.arrays())
        arrays = again.arrays()
        assert all(arrays[name].tobytes() == array.tobytes() for name, array in names.arrays().items())
        pairs = names.encoder.pairs({"word": "fresh"})
        names.note(pairs, 20)
        again.note(pairs, 20)
        assert again.collisions == names.collisions
        assert again.explained() == names.explained()
        assert np.array_equal(again.dense(pairs, 20), names.dense(pairs, 20))


def unused(arrays: dict[str, Any]) -> int:
    """Return an index of a space of 32 that no feature has used."""
    return next(k for k in range(32) if k not in arrays["owners"] % 32)


def spoiled(arrays: dict[str, Any]) -> list[dict[str, Any]]:
    made = []
    for name, array in arrays.items():
        made += [arrays | {name: array.astype(np.float64)}, arrays | {name: array[np.newaxis]}]
        made += [{key: value for key, value in arrays.items() if key != name}]
        if name != "text":
            made += [arrays | {name: np.append(array, array[-1:])}]
        if name in ("shared", "counts", "ends", "columns"):
            made += [arrays | {name: array - 10**12}]
    made += [
        arrays | {"owners": arrays["owners"][::-1]},
        arrays | {"named": np.append(arrays["named"][:-1], unused(arrays))},
        arrays | {"columns": np.append(arrays["columns"][:-1], unused(arrays))},
        arrays | {"text": arrays["text"][:-1]},
        arrays | {"text": np.full_like(arrays["text"], 255)},
        arrays | {"counts": arrays["counts"][::-1]},
        arrays | {"more": arrays["counts"]},
    ]
    return made


def test_damaged_arrays_are_refused() -> None:
    names = met(Encoder(bits=5), 12, columns=5)
    for arrays in spoiled(names.arrays()):
        with pytest.raises(ValueError, match="names that an encoder has met"):
            Names.restored(names.encoder, arrays)


def test_an_index_outside_the_space_is_refused() -> None:
    names = Names(Encoder(bits=3))
    for index in (-1, 8):
        with pytest.raises(ValueError, match="index must lie between 0 and 7"):
            names.explain(index)
    assert names.explain(3) == ()


def test_a_hash_of_zero_is_a_feature_like_any_other() -> None:
    names = Names(Encoder(bits=3))
    names.note(Pairs(np.array([0], dtype=np.int64), np.ones(1), ("zero",)), 4)
    assert names.collisions == (1, 0, 1, 0)
    again = Names.restored(names.encoder, names.arrays())
    assert again.explain(0) == ("zero",)
