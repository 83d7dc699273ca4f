"""Files of examples: what Vowpal Wabbit and svmlight write is read, and anything else is refused with its line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost import datasets, evaluate, learners, spaces
from banditboost.booster import Booster
from banditboost.datasets import examples as examples_of
from banditboost.datasets.example_encoding import ExampleEncoding
from banditboost.datasets.example_lines import Line, read_svmlight, read_vw
from banditboost.encoder import Encoder
from banditboost.worlds import Supervised

VW = """\
1 |user age:42 rome |basket a17 b03
-1 2.5 'second|user:0.5 age:17

# a comment
0.25 1 0.5 third|a b:1e-3 c:-2 b
| no label
"""
SVM = "# a header\n+1 1:0.5 3:1.25 # a comment\n-1 qid:7 2:0.75\n\n2.5 3:1 1:-2 3:1\n"


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def same(one: Any, other: Any) -> bool:
    return bool((one != other).nnz == 0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 |a b", Line(1.0, [("a^b", 1.0)])),
        ("1 | b:2", Line(1.0, [("b", 2.0)])),
        ("1 2 |a b", Line(1.0, [("a^b", 1.0)], 2.0)),
        ("1 2 3 'tag|a b", Line(1.0, [("a^b", 1.0)], 2.0)),
        ("1 2 3 'tag |a b", Line(1.0, [("a^b", 1.0)], 2.0)),
        ("1 tag|a b", Line(1.0, [("a^b", 1.0)])),
        ("1|a b", Line(None, [("a^b", 1.0)])),  # what touches the bar is the tag
        ("'tag|a b", Line(None, [("a^b", 1.0)])),
        ("|a b", Line(None, [("a^b", 1.0)])),
        ("1 |a:2 b:3 c |d e", Line(1.0, [("a^b", 6.0), ("a^c", 2.0), ("d^e", 1.0)])),
        ("1 |a |b c |", Line(1.0, [("b^c", 1.0)])),
        ("-.5e1", Line(-5.0, [])),
        ("1 |a b:-1.5e-2\r", Line(1.0, [("a^b", -0.015)])),
        ("1 |ä ß:2", Line(1.0, [("ä^ß", 2.0)])),
    ],
)
def test_lines_of_vowpal_wabbit(text: str, line: Line) -> None:
    assert read_vw(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1 1:2", Line(1.0, [("1", 2.0)])),
        ("+1 qid:3 007:2 9:-1e-3 #: 4:4", Line(1.0, [("7", 2.0), ("9", -0.001)])),
        ("0", Line(0.0, [])),
    ],
)
def test_lines_of_svmlight(text: str, line: Line) -> None:
    assert read_svmlight(text) == line


BAD = [
    (".vw", "a |b c", "a label that is a number"),
    (".vw", "1:2:0.4 |b c", "a label that is a number"),
    (".vw", "nan |b c", "a label that is a number"),
    (".vw", "1 inf |b c", "an importance or a base"),
    (".vw", "1 -2 |b c", "an importance that is not negative"),
    (".vw", "1 2 3 4 |b c", "at most a label, an importance, a base and a tag"),
    (".vw", "1 |b c:d", "a value of a feature that is a number"),
    (".vw", "1 |b c:1:2", "a value of a feature that is a number"),
    (".vw", "1 |b c:", "a value of a feature that is a number"),
    (".vw", "1 |b :3", "a name for a feature"),
    (".vw", "1 |b:x c", "a value of a namespace that is a number"),
    (".vw", "1 |:2 c", "a name for a namespace"),
    (".vw", "1 |b:1e40 c:1e40", "between -1e+50 and 1e+50"),
    (".vw", b"1 |b \xff", "must be written in UTF-8"),
    (".vw", "1 |b " + "x" * 70_000, "at most 65,536 bytes"),
    (".vw", "1 |b " + " ".join(f"f{k}" for k in range(70_000)), "at most 65,536 features"),
    (".svm", "1,2 1:1", "a label that is a number"),
    (".svm", "x 1:1", "a label that is a number"),
    (".svm", "1 a:1", "an index up to 2147483647"),
    (".svm", "1 -1:1", "an index up to 2147483647"),
    (".svm", "1 3000000000:1", "an index up to 2147483647"),
    (".svm", "1 ²:1", "an index up to 2147483647"),
    (".svm", "1 5", "an index up to 2147483647"),
    (".svm", "1 5:1e99", "between -1e+50 and 1e+50"),
    (".svm", "1 5:1 qid:3", "an index up to 2147483647"),
    (".svm", "1 " + " ".join(f"{k}:1" for k in range(70_000)), "at most 65,536 features"),
]


@pytest.mark.parametrize(("suffix", "line", "said"), BAD, ids=range(len(BAD)))
def test_a_malformed_line_is_named(tmp_path: Path, suffix: str, line: str | bytes, said: str) -> None:
    good = b"1 |a b\n" if suffix == ".vw" else b"1 1:1\n"
    bad = line if isinstance(line, bytes) else line.encode()
    path = write(tmp_path, f"file{suffix}", good + b"\n" + good + bad + b"\n" + good)
    for read in (datasets.read_examples, lambda path: Supervised.scan(path).check()):
        with pytest.raises(ValueError, match=re.escape(said)) as caught:
            read(path)
        assert str(caught.value).startswith(f"Line 4 of {path} ")
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500


def test_a_file_of_vowpal_wabbit(tmp_path: Path) -> None:
    examples, reader = datasets.read_examples(write(tmp_path, "clicks.vw", VW))
    encoder = Encoder()
    expected = encoder.table(
        [
            {"user^age": 42, "user^rome": 1, "basket^a17": 1, "basket^b03": 1},
            {"user^age": 8.5},
            {"a^b": 1.001, "a^c": -2},
            {"no": 1, "label": 1},
        ]
    )
    assert same(examples.rows, expected)
    np.testing.assert_array_equal(examples.labels, [1.0, -1.0, 0.25, np.nan])
    assert examples.weighted == 1
    assert reader.names is not None
    index = int(encoder.encode({"user^rome": 1}).indices[0])
    assert reader.names.explain(index) == ("user^rome",)


def test_a_file_of_svmlight(tmp_path: Path) -> None:
    examples, reader = datasets.read_examples(write(tmp_path, "a.svmlight", SVM))
    assert examples.rows.toarray().tolist() == [[0, 0.5, 0, 1.25], [0, 0, 0.75, 0], [0, -2, 0, 2]]
    assert examples.labels.tolist() == [1.0, -1.0, 2.5]
    assert reader.names is None


def test_it_agrees_with_another_reader(tmp_path: Path) -> None:
    sklearn = pytest.importorskip("sklearn.datasets")
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 12)) < 0.3, rng.normal(size=(40, 12)).round(3), 0.0)
    X[0, -1] = 1.0
    y = rng.normal(size=40).round(3)
    sklearn.dump_svmlight_file(X, y, str(tmp_path / "a.svm"), zero_based=True, comment="by another program")
    examples, _ = datasets.read_examples(tmp_path / "a.svm")
    np.testing.assert_array_equal(examples.rows.toarray(), X)
    np.testing.assert_array_equal(examples.labels, y)


finite = st.floats(-1e6, 1e6)
names = st.text(
    st.characters(codec="utf-8", exclude_characters=" :|\t\r\n'#", exclude_categories=["Z", "C"]),
    min_size=1,
    max_size=6,
)


@given(st.lists(st.tuples(finite, st.dictionaries(names, finite, max_size=5)), min_size=1, max_size=6))
@settings(derandomize=True, deadline=None, max_examples=60)
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, stream: list[tuple[float, dict[str, float]]]
) -> None:
    text = "".join(f"{y!r} |s {' '.join(f'{name}:{value!r}' for name, value in x.items())}\n" for y, x in stream)
    examples, _ = datasets.read_examples(write(tmp_path_factory.mktemp("vw"), "a.vw", text))
    expected = Encoder().table([{f"s^{name}": value for name, value in x.items()} for _, x in stream])
    assert same(examples.rows, expected)
    assert examples.labels.tolist() == [y for y, _ in stream]


def many(rows: int, suffix: str) -> str:
    rng = np.random.default_rng(1)
    lines = []
    for k in range(rows):
        chosen = rng.choice(40, size=4, replace=False)
        y = float(chosen.sum()) / 20 - 4
        words = " ".join(f"{j}:{1 + j % 3}" if suffix == ".svm" else f"w{j}:{1 + j % 3}" for j in chosen)
        lines.append(
            f"{y} {'' if suffix == '.svm' else '|a '}{words}" + (" # end" if suffix == ".svm" and k % 5 == 0 else "")
        )
        if k % 7 == 0:
            lines.append("")
    return "\n".join(lines)


@pytest.mark.parametrize("suffix", [".vw", ".svm"])
def test_blocks_are_the_whole_file_and_a_world_of_them_plays_as_one_in_memory(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examples_of, "PIECE", 700)
    path = write(tmp_path, f"many{suffix}", many(300, suffix))
    encoder = Encoder(bits=7) if suffix == ".vw" else None
    examples, _ = datasets.read_examples(path, encoder)
    scanned = Supervised.scan(path, encoder=encoder)
    assert len(scanned._blocks.starts) > 5
    assert (len(scanned), scanned.sparse, scanned.features) == (300, True, examples.rows.shape[1])
    assert same(scanned.contexts(), examples.rows)
    assert np.array_equal(scanned.labels(), examples.labels)
    assert np.array_equal(scanned.context(123), examples.rows.toarray()[123])
    whole = Supervised(examples.rows, examples.labels)
    learner = learners.Coin()
    runs = [
        evaluate.progressive(Booster(learner, 3, space=spaces.Interval(-6, 6)), world, compiled=compiled).losses
        for world in (scanned, whole)
        for compiled in (True, False)
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], atol=1e-9)
    first, second = scanned.halves()
    assert same(second.contexts(0, 5), examples.rows[150:155])
    assert len(first) == 150


def test_a_scan_refuses_what_does_not_fit(tmp_path: Path) -> None:
    path = write(tmp_path, "clicks.vw", VW)
    with pytest.raises(ValueError, match="label in every example, got none in example 4"):
        Supervised.scan(path)
    with pytest.raises(ValueError, match="target must be 'label'"):
        Supervised.scan(path, "price")
    with pytest.raises(ValueError, match="features must be left out"):
        Supervised.scan(path, features=["a"])
    with pytest.raises(ValueError, match="must have at least one example"):
        Supervised.scan(write(tmp_path, "empty.vw", "# nothing\n\n"))
    table = write(tmp_path, "table.csv", "x,label\n1,2\n")
    with pytest.raises(ValueError, match="encoder must be True, False or an Encoder, got 'words'"):
        Supervised.scan(table, encoder="words")  # type: ignore[arg-type]
    world = Supervised.scan(write(tmp_path, "two.vw", "1 |a b\n2 |a c\n"))
    write(tmp_path, "two.vw", "1 |a b\n2 |a c\n3 |a d\n")
    with pytest.raises(ValueError, match="has changed"):
        world.begin()


def test_files_that_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match=r"path must end in \.vw"):
        datasets.read_examples(write(tmp_path, "a.txt", VW))
    with pytest.raises(FileNotFoundError, match="There is no file"):
        datasets.read_examples(tmp_path / "none.vw")
    with pytest.raises(ValueError, match="at least one example"):
        datasets.read_examples(write(tmp_path, "empty.vw", ""))
    monkeypatch.setattr(examples_of, "PIECE", 8)
    monkeypatch.setattr(examples_of, "LONGEST", 16)
    with pytest.raises(ValueError, match="lines of at most 16 bytes"):
        datasets.read_examples(write(tmp_path, "long.vw", "1 |a " + "b " * 20))


def test_features_for_a_run(tmp_path: Path) -> None:
    made = datasets.prepare_examples(write(tmp_path, "clicks.vw", VW))
    assert isinstance(made.encoding, ExampleEncoding)
    assert sorted(made.encoding.features) == ["a^b", "a^c", "basket^a17", "basket^b03", "user^age", "user^rome"]
    assert made.y.tolist() == [1.0, -1.0, 0.25]
    assert made.encoding.label_range == (-1.0, 1.0)
    assert made.notes == (
        "1 of 4 examples have no label and were left out.",
        "1 examples have an importance other than 1, which is not used.",
    )
    column = made.encoding.features.index("user^age")
    dense: Any = made.X
    assert dense.toarray()[:, column].tolist() == [42.0, 8.5, 0.0]
    other, _ = datasets.read_examples(write(tmp_path, "other.vw", "|user age:1 new\n"))
    again = made.encoding.encode_examples(other.rows).toarray()
    assert again[0].tolist() == np.eye(6)[column].tolist()
    classes = datasets.prepare_examples(tmp_path / "clicks.vw", task="classes")
    assert classes.encoding.classes == ("-1", "0.25", "1")
    assert classes.y.tolist() == ["1", "-1", "0.25"]
    with pytest.raises(ValueError, match="two examples or more with a label"):
        datasets.prepare_examples(write(tmp_path, "one.vw", "1 |a b\n|a c\n"))
    with pytest.raises(ValueError, match="a feature that is not zero"):
        datasets.prepare_examples(write(tmp_path, "none.vw", "1 |a b:0\n2 |a\n"))
    with pytest.raises(ValueError, match="labels of 2 to 50 kinds"):
        datasets.prepare_examples(write(tmp_path, "same.vw", "1 |a b\n1 |a\n"), task="classes")


def test_all_features_are_used_or_the_most_frequent_ones(tmp_path: Path) -> None:
    rare = "".join(f"{k % 2} |a r{k} often:{k + 1}\n" for k in range(600))
    file = write(tmp_path, "wide.vw", rare)
    assert len(datasets.prepare_examples(file).encoding.features) == 601 - 2, "two pairs share an index"
    made = datasets.prepare_examples(file, most=512)
    assert len(made.encoding.features) == 512
    assert "a^often" in made.encoding.features
    assert "512 that occur in the most examples are used" in made.columns[1][1]
    with pytest.raises(ValueError, match="most must be"):
        datasets.prepare_examples(file, most=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"used": (3, 1), "names": ("a", "b")},
        {"used": (1, 1), "names": ("a", "b")},
        {"used": (1,), "names": ()},
        {"used": (-1,), "names": ("a",)},
        {"used": (1.5,), "names": ("a",)},
        {"format": "csv"},
        {"encoder": None},
        {"used": (1, 2), "names": ("a", "a")},
    ],
)
def test_an_encoding_from_a_file_is_checked(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        ExampleEncoding(**fields)
