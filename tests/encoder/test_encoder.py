"""The encoder: a function of what a context says, the same everywhere, in whatever order and form it comes."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from itertools import permutations, product
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost._core.spec import from_json
from banditboost.encoder import Encoder, Pairs, Row, chosen, contexts_of
from banditboost.encoder.hashing import LONGEST, Kind, hashed, salt_of
from banditboost.encoder.pairs import DEEPEST, MOST
from tests.encoder.write_vectors import PATH

steady = settings(derandomize=True, deadline=None, max_examples=200)

EXAMPLE = {
    "city": "Rom",
    "age": 41,
    "basket": ["a17", "b03", "a17"],
    "when": "2026-05-01T13:00",
    "member": True,
    "note": None,
    "user": {"id": "u7", "seen": {"days": 3.5}},
}

words = st.text(st.characters(codec="utf-8"), max_size=8)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    words,
    st.floats(-1e30, 1e30) | st.just(float("nan")),
    st.integers(-(10**20), 10**20),
    st.dates(),
    st.datetimes(),
    st.lists(words, max_size=5),
)
contexts = st.dictionaries(words, st.one_of(scalars, st.dictionaries(words, scalars, max_size=3)), max_size=8)


def same(one: Row, other: Row) -> bool:
    return np.array_equal(one.indices, other.indices) and one.values.tobytes() == other.values.tobytes()


def texts(x: Any, **options: Any) -> set[str]:
    return set(Encoder(**options).pairs(x).texts)


def encoded(encoder: Encoder, x: Any) -> Row | str:
    try:
        return encoder.encode(x)
    except ValueError as error:
        return str(error)


def test_hashes_are_those_on_file_and_those_of_the_written_rule() -> None:
    for entry in json.loads(PATH.read_text("utf-8")):
        name, word = entry["name"].encode(), entry["word"].encode()
        assert hashed(salt_of(entry["seed"]), Kind(entry["kind"]), name, word) == entry["hash"]
        text = entry["kind"].encode() + len(name).to_bytes(4, "little") + name + word
        digest = blake2b(text, digest_size=8, salt=entry["seed"].to_bytes(16, "little")).digest()
        assert int.from_bytes(digest, "little") == entry["hash"]


def test_every_kind_of_value_has_the_features_that_it_should() -> None:
    row, pairs = Encoder().encode(EXAMPLE), Encoder().pairs(EXAMPLE)
    found = dict(zip(pairs.texts, pairs.values.tolist(), strict=True))
    assert {name: value for name, value in found.items() if not name.startswith("when")} == {
        "city=Rom": 1.0,
        "age": 41.0,
        "basket=a17": 2.0,
        "basket=b03": 1.0,
        "member=true": 1.0,
        "note is missing": 1.0,
        "user.id=u7": 1.0,
        "user.seen.days": 3.5,
    }
    assert found["when: days"] == 20574 + 13 / 24
    assert found["when: hour, sine"] == pytest.approx(math.sin(2 * math.pi * 13 / 24))
    assert found["when: week, cosine"] == pytest.approx(math.cos(2 * math.pi * (4 + 13 / 24) / 7))  # a Friday
    assert found["when: year, sine"] == pytest.approx(math.sin(2 * math.pi * (120 + 13 / 24) / 365.2425))
    assert len(row.indices) == len(found)


@given(contexts, st.integers(1, 12), st.booleans(), st.randoms(use_true_random=False))
@steady
def test_rows_are_canonical_and_do_not_depend_on_order(x: dict[str, Any], bits: int, signed: bool, random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(name, shuffled(inner)) for name, inner in value.items()]
            random.shuffle(items)
            return dict(items)
        return random.sample(value, len(value)) if isinstance(value, list) else value

    encoder = Encoder(bits=bits, signed=signed)
    row = encoded(encoder, x)
    if isinstance(row, str):  # two paths to one name, such as {"a": {"b": 1}, "a.b": 2}
        assert "twice" in row
        assert isinstance(encoded(encoder, shuffled(x)), str)
        return
    assert (np.diff(row.indices) > 0).all()
    assert ((row.indices >= 0) & (row.indices < 2**bits)).all()
    assert np.isfinite(row.values).all()
    assert (row.values != 0).all()
    assert same(row, encoder.encode(shuffled(x)))


@given(contexts)
@steady
def test_sharing_an_index_adds_up_what_a_larger_space_keeps_apart(x: dict[str, Any]) -> None:
    if isinstance(encoded(Encoder(), x), str):
        return
    wide, small = Encoder(bits=24).encode(x), Encoder(bits=3)
    slow = np.zeros(8)
    np.add.at(slow, wide.indices % 8, wide.values)
    dense = small.table([x]).toarray()[0]
    np.testing.assert_allclose(dense, slow, rtol=1e-9, atol=1e-9 * (1 + np.abs(wide.values).sum()))


def test_two_processes_agree_whatever_their_hash_seed() -> None:
    program = (
        "from banditboost.encoder import Encoder; from tests.encoder.test_encoder import EXAMPLE; "
        "r = Encoder(signed=True).encode(EXAMPLE); print(r.indices.tolist(), r.values.tolist(), set('abcdef'))"
    )
    said = [
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    rows = [text.rpartition("{")[0] for text in said]
    assert rows[0] == rows[1] != ""
    assert said[0] != said[1]  # the seeds did matter
    here = Encoder(signed=True).encode(EXAMPLE)
    assert rows[0].strip() == f"{here.indices.tolist()} {here.values.tolist()}"


def test_signs_make_inner_products_unbiased_and_their_absence_does_not() -> None:
    """All ways to give three features an index of four and a sign have the true inner product as their mean."""
    x, z = np.array([2.0, -1.0, 3.0]), np.array([0.5, 4.0, 1.0])
    truth = float(x @ z)
    signed: list[float] = []
    plain: list[float] = []
    for places in product(range(4), repeat=3):
        for flips in product((0, 1), repeat=3):
            hashes = np.array([place - flip * 2**63 for place, flip in zip(places, flips, strict=True)], dtype=np.int64)
            order = np.argsort(hashes.view(np.uint64))
            for encoder, found in ((Encoder(bits=2, signed=True), signed), (Encoder(bits=2), plain)):
                dense = np.zeros((2, 4))
                for line, values in zip(dense, (x, z), strict=True):
                    row = encoder.row(Pairs(hashes[order], values[order], ("",) * 3))
                    line[row.indices] = row.values
                found.append(float(dense[0] @ dense[1]))
    assert np.mean(signed) == pytest.approx(truth, abs=1e-12)
    bias = sum(float(x[i] * z[j]) for i, j in permutations(range(3), 2)) / 4
    assert np.mean(plain) == pytest.approx(truth + bias, abs=1e-12)
    assert abs(bias) > 1


def test_signs_and_indices_of_real_names_are_balanced() -> None:
    encoder = Encoder(bits=4, signed=True)
    rows = [encoder.encode({"word": str(k)}) for k in range(4000)]
    signs = np.array([row.values[0] for row in rows])
    counts = np.bincount([row.indices[0] for row in rows], minlength=16)
    assert abs(signs.sum()) < 4 * math.sqrt(4000)
    assert ((counts - 250) ** 2 / 250).sum() < 45  # chi-squared with 15 degrees of freedom: one in ten thousand


def test_the_same_context_in_every_form() -> None:
    expected = Encoder().encode({"city": "Rom", "age": 41})
    row = namedtuple("row", ["city", "age"])

    @dataclass
    class Customer:
        city: str
        age: int

    base = sqlite3.connect(":memory:")
    base.row_factory = sqlite3.Row
    forms = [
        OrderedDict(age=41.0, city=" Rom "),
        MappingProxyType({"age": np.float32(41), "city": np.str_("Rom")}),
        {"age": Fraction(41), "city": "Rom"},
        {"age": Decimal(41), "city": "Rom"},
        {"age": np.int8(41), "city": "Rom"},
        {"age": timedelta(days=41), "city": "Rom"},
        {"age": np.timedelta64(41, "D"), "city": "Rom"},
        row("Rom", 41),
        Customer("Rom", 41),
        base.execute("select 'Rom' as city, 41 as age").fetchone(),
    ]
    pandas = pytest.importorskip("pandas")
    forms.append(pandas.Series({"city": "Rom", "age": 41}))
    for form in forms:
        assert same(expected, Encoder().encode(form))
    frame = pl.DataFrame({"city": ["Rom", None], "age": [41, None], "tags": [["a", "a"], []]})
    rows = [{"city": "Rom", "age": 41, "tags": ["a", "a"]}, {"city": None, "age": None, "tags": []}]
    expected_table = Encoder().table(rows).toarray()
    arrow = SimpleNamespace(to_pylist=lambda: rows)  # what an Arrow table has
    for table in (frame, pandas.DataFrame(rows), arrow, iter(rows)):
        assert np.array_equal(Encoder().table(table).toarray(), expected_table)
    assert Encoder().table([]).shape == (0, 2**18)


def test_missing_is_not_absent_and_not_zero() -> None:
    missing = {
        None,
        float("nan"),
        np.float32("nan"),
        np.datetime64("NaT"),
        np.timedelta64("NaT"),
        "",
        "  ",
        Decimal("nan"),
    }
    for value in missing:
        assert texts({"a": value}) == {"a is missing"}
    pandas = pytest.importorskip("pandas")
    for value in (pandas.NA, pandas.NaT):
        assert texts({"a": value}) == {"a is missing"}
    assert texts({}) == set()
    assert len(Encoder().encode({"a": 0}).indices) == 0
    assert texts({"a": []}) == set()
    assert texts({"a": ["x", None, ""]}) == {"a=x", "a is missing"}


def test_dates_in_every_form() -> None:
    moment = datetime(2026, 5, 1, 13, 0)
    expected = Encoder().encode({"when": moment})
    summer = datetime(2026, 5, 1, 13, 0, tzinfo=UTC)
    for value in (
        "2026-05-01T13:00",
        "2026-05-01 13:00:00",
        "2026-05-01T13:00:00.000Z",
        "2026-05-01T13:00:00+02:00",
        summer,
        np.datetime64(moment),
        np.datetime64("2026-05-01T13:00:00.000000000"),
    ):
        assert same(expected, Encoder().encode({"when": value})), value
    day = texts({"when": date(2026, 5, 1)})
    assert day == texts({"when": "2026-05-01"}) == {name for name in texts({"when": moment}) if "hour" not in name}
    assert texts({"when": time(13)}) == {"when: hour, sine", "when: hour, cosine"}
    assert texts({"when": "2026-05-01"}, dates=False) == {"when=2026-05-01"}
    assert texts({"when": "2026-02-30"}) == {"when=2026-02-30"}
    for extreme in (datetime.min, datetime.max, date.min, date.max):
        assert np.isfinite(Encoder().encode({"when": extreme}).values).all()


def test_midnight_lies_beside_the_last_minute_and_new_year_beside_the_last_day() -> None:
    def angles(value: str) -> dict[str, float]:
        pairs = Encoder().pairs({"when": value})
        return {name: number for name, number in zip(pairs.texts, pairs.values, strict=True) if name != "when: days"}

    def distance(one: str, other: str) -> float:
        first, second = angles(one), angles(other)
        return max(abs(first[name] - second[name]) for name in first)

    assert distance("2026-12-31T23:59", "2027-01-01T00:00") < 0.02
    assert distance("2026-12-31T12:00", "2027-01-01T00:00") > 1


HOSTILE: list[tuple[Any, str]] = [
    ([1.0, 2.0], "name its features"),
    (np.zeros(3), "name its features"),
    ("Rom", "name its features"),
    (None, "name its features"),
    (3.0, "name its features"),
    ({"a": math.inf}, "numbers between"),
    ({"a": -1e51}, "numbers between"),
    ({"a": 10**5000}, "numbers between"),
    ({"a": Decimal("1e400")}, "numbers between"),
    ({"a": 1j}, "got complex as 'a'"),
    ({"a": b"bytes"}, "got bytes as 'a'"),
    ({"a": object()}, "got object as 'a'"),
    ({"a": np.zeros((2, 2))}, "got ndarray as 'a'"),
    ({"a": np.array(3.0)}, "got ndarray as 'a'"),
    ({"a": [1, 2]}, "words in lists"),
    ({"a": [["x"]]}, "words in lists"),
    ({"a": [{"x": 1}]}, "words in lists"),
    ({"a": [10**5000]}, "words in lists"),
    ({"a": "x" * (LONGEST + 1)}, "at most 65,536 bytes"),
    ({"é" * LONGEST: 1}, "at most 65,536 bytes"),
    ({"a": "\ud800"}, "UTF-8"),
    ({"\ud800": 1}, "UTF-8"),
    ({1.5: 1}, "names that are words"),
    ({None: 1}, "names that are words"),
    ({True: 1}, "names that are words"),
    ({("a", "b"): 1}, "names that are words"),
    ({10**5000: 1}, "names that are words"),
    ({"a": {"b": 1}, "a.b": 2}, "'a.b' twice"),
    ({1: 1, "1": 2}, "'1' twice"),
    ({f"f{k}": 1 for k in range(MOST + 1)}, "at most 65,536 features"),
    ({"a": [str(k) for k in range(MOST + 1)]}, "at most 65,536 features"),
]


@pytest.mark.parametrize(("x", "said"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_contexts_are_refused_in_a_sentence(x: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        Encoder().encode(x)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_deep_and_endless_nesting_is_refused() -> None:
    deep: dict[str, Any] = {"x": 1}
    for _ in range(DEEPEST - 1):
        deep = {"x": deep}
    assert texts(deep) == {".".join("x" * DEEPEST)}
    endless: dict[str, Any] = {}
    endless["x"] = endless
    for x in ({"x": deep}, endless):
        with pytest.raises(ValueError, match="nested more than 8 deep"):
            Encoder().encode(x)
    wide: dict[str, Any] = {"x": 1}
    for _ in range(DEEPEST - 1):
        wide = {f"x{k}": wide for k in range(20)}
    with pytest.raises(ValueError, match="at most 65,536 features"):
        Encoder().encode(wide)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bits": 0}, "bits"), ({"bits": 25}, "bits"), ({"bits": 2.5}, "bits"), ({"seed": -1}, "seed"), ({"seed": 2**64}, "seed"),
        ({"signed": 1}, "signed"), ({"dates": "no"}, "dates"), ({"separator": ""}, "separator"), ({"separator": "\n"}, "separator"),
        ({"names": -1}, "names"), ({"names": 2**30}, "names"),
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Encoder(**options)


def test_a_spec_is_plain_data() -> None:
    encoder = Encoder(bits=10, seed=3, signed=True, separator="/", names=5)
    assert from_json(encoder.to_json()) == encoder
    assert chosen(True) == Encoder()
    assert chosen(encoder) is encoder
    assert chosen(None) is None
    assert chosen(False) is None
    with pytest.raises(ValueError, match="encoder must be"):
        chosen(18)  # type: ignore[arg-type]


def test_tables_without_rows_of_names_are_refused() -> None:
    for table in ("text", 3, {"a": 1}):
        with pytest.raises(ValueError, match="contexts must be"):
            list(contexts_of(table))
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="twice"):
        list(contexts_of(pandas.DataFrame([[1, 2]], columns=["a", "a"])))
    with pytest.raises(ValueError, match="twice"):
        Encoder().encode(pandas.Series([1, 2], index=["a", "a"]))


def test_numbers_under_names_are_what_a_dictionary_gives_and_repeated_ones_add_up() -> None:
    encoder = Encoder()
    assert same(encoder.row(encoder.numbers([("a", 1.5), ("b", 2.0)])), encoder.encode({"a": 1.5, "b": 2.0}))
    assert same(encoder.row(encoder.numbers([("a", 1.5), ("a", 2.0)])), encoder.encode({"a": 3.5}))
