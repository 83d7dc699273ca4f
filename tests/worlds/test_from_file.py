"""Files as worlds: the same rounds as in memory to the bit, a few blocks at a time, and one sentence for what cannot be read."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost.datasets import blocks_csv, blocks_parquet
from banditboost.evaluate import progressive
from banditboost.worlds import FromFile, Supervised, WeightSpace

ROWS = 500
NOISE = bb.noise.Uniform(0.1)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of a small file: about 37 rows each."""
    monkeypatch.setattr(blocks_parquet, "NUMBERS", 37 * 4)
    monkeypatch.setattr(blocks_csv, "PIECE", 2000)


def frame(rows: int = ROWS) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"a": rng.random(rows), "b": rng.integers(-3, 9, rows), "on": rng.random(rows) < 0.5})
    return table.with_columns(y=(pl.col("a") + pl.col("b") / 9 + pl.col("on").cast(pl.Float64)) / 3)


def write(table: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path, row_group_size=60)
    return path


@pytest.fixture(params=["table.parquet", "table.csv"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(frame(), tmp_path / request.param)


def in_memory(features: tuple[str, ...] = ("a", "b", "on"), **options: Any) -> Supervised:
    table = frame().cast(pl.Float64)
    return Supervised(table.select(features).to_numpy(), table["y"].to_numpy(), **options)


def booster(**options: Any) -> bb.Booster:
    return bb.algorithms.bandit_boosting(bb.spaces.Interval(0.0, 1.0), copies=4, seed=3, **options)


def assert_same(one: bb.evaluate.Trace, other: bb.evaluate.Trace) -> None:
    assert one.compiled == other.compiled
    for name in ("losses", "paid", "predictions"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("compiled", [True, False])
def test_runs_are_those_in_memory_to_the_bit(path: Path, compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules[progressive.__module__], "BLOCK", 50)  # blocks of rounds and of rows cut each other
    scanned = Supervised.scan(path, target="y", noise=NOISE, seed=5)
    kept = in_memory(noise=NOISE, seed=5)
    assert type(scanned) is FromFile
    assert len(scanned._blocks.starts) > 10
    one, other = booster(), booster()
    first = progressive(one, scanned, compiled=compiled)
    assert_same(first, progressive(other, kept, compiled=compiled))
    np.testing.assert_array_equal(one.predict(kept.context(0)), other.predict(kept.context(0)))
    assert_same(first, progressive(booster(), scanned, compiled=compiled))  # a second pass gives the same rounds


@pytest.mark.long
@pytest.mark.parametrize("compiled", [True, False])
def test_losses_gradients_and_trees_too(path: Path, compiled: bool) -> None:
    options: dict[str, Any] = {"loss": bb.losses.Absolute(), "noise": NOISE}
    for make in (bb.algorithms.boosted, bb.algorithms.gradient_boosting):
        one, other = (make(bb.spaces.Interval(0.0, 1.0), seed=1) for _ in range(2))
        first = progressive(one, Supervised.scan(path, "y", ["on", "a"], **options).head(150), compiled=compiled)
        assert_same(first, progressive(other, in_memory(("on", "a"), **options).head(150), compiled=compiled))


@pytest.mark.parametrize("compiled", [True, False])
def test_weights_can_be_decided_on(path: Path, compiled: bool) -> None:
    def decided() -> bb.Booster:
        return bb.Booster(
            learner=bb.learners.OGD(),
            copies=3,
            gradient=bb.gradients.OnePoint(0.5),
            space=bb.spaces.Ball(4, 2.0),
            inside=False,
        )

    first = progressive(decided(), WeightSpace(Supervised.scan(path, "y", noise=NOISE).head(200)), compiled=compiled)
    assert_same(first, progressive(decided(), WeightSpace(in_memory(noise=NOISE).head(200)), compiled=compiled))


def test_any_round_at_any_time(path: Path) -> None:
    scanned, kept = Supervised.scan(path, "y"), in_memory()
    points = np.array([0.0, 0.7])
    for t in [*np.random.default_rng(1).integers(0, ROWS, 60), *range(80, 70, -1), 0, ROWS - 1, -1]:
        np.testing.assert_array_equal(scanned.context(t), kept.context(t))
        np.testing.assert_array_equal(scanned.values(t, points), kept.values(t, points))
        np.testing.assert_array_equal(scanned.gradients(t, points), kept.gradients(t, points))
    for part in [(0, None), (30, 41), (36, 38), (490, 600), (-20, None), (-20, -3), (7, 7), (9, 3), (ROWS, None)]:
        np.testing.assert_array_equal(scanned.contexts(*part), kept.contexts(*part))
        np.testing.assert_array_equal(scanned.labels(*part), kept.labels(*part))
        contexts, rows = scanned.stored(*part)
        np.testing.assert_array_equal(contexts[rows], kept.contexts(*part))
        assert contexts.flags.c_contiguous
        assert rows.dtype == kept.stored(*part)[1].dtype
    with pytest.raises(IndexError):
        scanned.context(ROWS)
    assert (scanned.features, scanned.shape, scanned.sparse, len(scanned)) == (3, (), False, ROWS)


def test_parts_are_those_in_memory(path: Path) -> None:
    scanned, kept = Supervised.scan(path, "y", noise=NOISE, seed=4), in_memory(noise=NOISE, seed=4)
    pairs = [*zip(scanned.halves(), kept.halves(), strict=True), (scanned.head(77), kept.head(77))]
    pairs += [(scanned.halves()[1].halves()[0].head(50), kept.halves()[1].halves()[0].head(50))]
    for one, other in pairs:
        assert (len(one), one.seed) == (len(other), other.seed)
        np.testing.assert_array_equal(one.contexts(), other.contexts())
        np.testing.assert_array_equal(one.labels(), other.labels())
        assert_same(progressive(booster(), one), progressive(booster(), other))
    assert len(scanned.head(0)) == 0
    assert scanned.head(0).contexts().shape == (0, 3)
    with pytest.raises(ValueError, match="at least two rounds to be halved, got 1"):
        scanned.head(1).halves()


def test_at_most_two_blocks_are_held(path: Path) -> None:
    scanned = Supervised.scan(path, "y")
    progressive(booster(), scanned, keep="means")
    held = scanned._read.cache_info()
    assert held.currsize == 2
    # Forward, every block is read once, but for the first and last of the rounds played at a time.
    assert held.misses <= 2 * len(scanned._blocks.starts)


def test_comparators_and_copies_work(path: Path) -> None:
    scanned, kept = Supervised.scan(path, "y"), in_memory()
    np.testing.assert_allclose(bb.evaluate.best_linear(scanned), bb.evaluate.best_linear(kept))
    np.testing.assert_array_equal(bb.evaluate.running_mean(scanned), bb.evaluate.running_mean(kept))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(scanned)).labels(), kept.labels())


def test_no_shuffling(path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"^shuffled needs all rows in memory, .*: write a shuffled file once and scan"
    ):
        Supervised.scan(path, "y").shuffled(0)
    with pytest.raises(ValueError, match=r"^scan must be called on Supervised, got Classification\.$"):
        bb.worlds.Classification.scan(path, "y")


def test_all_kinds_of_numbers(tmp_path: Path) -> None:
    kinds: list[Any] = [pl.Int8, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean, pl.Decimal(10, 2)]
    table = pl.DataFrame(
        {f"x{i}": pl.Series([1, 0, 1]).cast(kind) for i, kind in enumerate(kinds)} | {"y": [0.1, 2, 3]}
    )
    world = Supervised.scan(write(table, tmp_path / "kinds.parquet"), "y")
    assert world.contexts().tolist() == [[1.0] * 6, [0.0] * 6, [1.0] * 6]
    narrow = pl.DataFrame({"x": pl.Series([0.1], dtype=pl.Float32), "y": [2**53 + 1]})
    world = Supervised.scan(write(narrow, tmp_path / "narrow.parquet"), "y")
    assert world.context(0)[0] == np.float64(np.float32(0.1))
    assert world.labels()[0] == float(2**53 + 1)


@pytest.mark.parametrize("piece", [1, 7, 30, 10_000])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_text_is_cut_between_rows_only(tmp_path: Path, piece: int, eol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_csv, "PIECE", piece)
    notes = ["plain", '"a, b"', f'"two{eol}lines"', '"says ""hi"""', "", f'"{eol}"'] * 3
    lines = ['"the, x",note,y', *(f"{i},{note},{i}.25" for i, note in enumerate(notes))]
    path = tmp_path / "notes.csv"
    for end in (eol, ""):
        path.write_bytes((eol.join(lines) + end).encode())
        world = Supervised.scan(path, "y", ["the, x"])
        assert world.contexts()[:, 0].tolist() == list(range(18))
        assert world.labels().tolist() == [i + 0.25 for i in range(18)]


def test_whole_numbers_may_become_decimals_later(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_text("x,y\n" + "1,2\n" * 3000 + "1.5,2e-3\n")
    world = Supervised.scan(path, "y")
    assert world.context(-1).tolist() == [1.5]
    assert world.labels()[-1] == 0.002


def late(entry: str) -> str:
    return "x,flag,y\n" + "1,true,2\n" * 900 + f"{entry}\n" + "1,true,2\n" * 5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", r"must have a row that names its columns, got none\."),
        ("x,flag,y\n", r"must have at least one row, got none\."),
        (
            "x,flag,y\n1,a,2\n",
            r"column 'flag' must hold numbers, got 'a' in row 1: .*encoder=True .*\.",
        ),
        (
            "x,flag,y\n1,2,3\n1,,2\n",
            r"column 'flag' must have no missing values, got one in row 2: .*encoder=True .*\.",
        ),
        ("x,flag,y\n1,2\n", r"column 'y' must have no missing values, got one in row 1\."),
        ("x,flag,y\n1,2,nan\n", r"column 'y' must be finite, got nan in row 1\."),
        ("x,flag,y\n1,2,3\n-inf,3,4\n", r"column 'x' must be finite, got -inf in row 2\."),
        (
            "x,flag,y\n1,2,3,4\n",
            r"must have as many values in every row as columns, but reading it fails: found more fields.*\.",
        ),
        (
            'x,flag,y\n1,2,"3\n4,5,6\n',
            r"must have as many values in every row as columns, but reading it fails: could not .*\.",
        ),
        ("x,flag\n1,2\n", r"target must be a column of .* \(x, flag\), got 'y'\."),
        (late("a,true,2"), r"column 'x' must hold numbers, got 'a' in row 901: .*\."),
        (
            late("1,,2"),
            r"column 'flag' must have no missing values, got one in row 901: .*encoder=True .*\.",
        ),
        (late("1,7,2"), r"column 'flag' must hold true or false, got '7' in row 901: .*\."),
        (late("1,true,NaN"), r"column 'y' must be finite, got nan in row 901\."),
        (
            late(""),
            r"column 'x' must have no missing values, got one in row 901: .*encoder=True .*\.",
        ),
    ],
)
def test_bad_text_gives_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)

    with pytest.raises(ValueError, match=rf"(?s)^({path} )?{sentence}$"):
        Supervised.scan(path, "y").check()


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        ({"x": [1.0], "y": ["a"]}, r"column 'y' must hold numbers, got String\."),
        (
            {"x": ["a"], "y": [1.0]},
            r"column 'x' must hold numbers, got String: .*encoder=True .*\.",
        ),
        ({"x": [1.0], "z": [1.0]}, r"target must be a column of .* \(x, z\), got 'y'\."),
        ({"x": [], "y": []}, r".* must have at least one row, got none\."),
        ({"y": [1.0]}, r"features must name at least one column, and none twice, got \[\]\."),
        (
            {"x": [1.0] * 150 + [None], "y": [1.0] * 151},
            r"column 'x' must have no missing values, got one in row 151: .*encoder=True .*\.",
        ),
        (
            {"x": [1] * 150 + [None], "y": [1.0] * 151},
            r"column 'x' must have no missing values, got one in row 151: .*encoder=True .*\.",
        ),
        ({"x": [1.0] * 200, "y": [1.0] * 199 + [np.nan]}, r"column 'y' must be finite, got nan in row 200\."),
        ({"x": [1.0] * 80 + [np.inf], "y": [1.0] * 81}, r"column 'x' must be finite, got inf in row 81\."),
    ],
)
def test_bad_parquet_gives_one_sentence(tmp_path: Path, columns: dict[str, Any], sentence: str) -> None:
    table = pl.DataFrame(columns, schema={n: None if v else pl.Float64 for n, v in columns.items()}, strict=False)
    path = write(table, tmp_path / "bad.parquet")

    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Supervised.scan(path, "y").check()


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (["a", "z"], r"features must be columns of .* \(a, b, on, y\), got 'z'\."),
        (["a", "y"], r"features must not contain the target, got 'y'\."),
        (["a", "a"], r"features must name at least one column, and none twice, got \['a', 'a'\]\."),
        ([], r"features must name at least one column, and none twice, got \[\]\."),
        ("a", r"features must be a list of columns, got 'a'\."),
    ],
)
def test_bad_features_are_named(path: Path, features: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Supervised.scan(path, "y", features)


def test_other_files_are_refused(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"^path must be an existing file, got .*none\.parquet\.$"):
        Supervised.scan(tmp_path / "none.parquet", "y")
    with pytest.raises(FileNotFoundError, match="path must be an existing file"):
        Supervised.scan(tmp_path, "y")
    (tmp_path / "table.txt").write_text("a,y\n1,2\n")
    with pytest.raises(ValueError, match=r"^path must be a Parquet file, or text whose name ends in \.csv, got"):
        Supervised.scan(tmp_path / "table.txt", "y")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(ValueError, match=r"^.*cut\.parquet must be a whole Parquet file, but reading it fails: .*\.$"):
        Supervised.scan(tmp_path / "cut.parquet", "y")
    with pytest.raises(ValueError, match="seed must be a whole number"):
        Supervised.scan(path, "y", seed=-1)


def changes(path: Path) -> list[Callable[[], object]]:
    return [lambda: write(frame(ROWS + 1), path), path.unlink, lambda: os.utime(path, ns=(1, 1))]


@pytest.mark.parametrize("way", range(3))
@pytest.mark.parametrize("compiled", [True, False])
def test_a_file_that_changes_ends_the_run(
    path: Path, way: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[progressive.__module__], "BLOCK", 50)
    scanned, learner = Supervised.scan(path, "y", noise=NOISE), booster()

    def progress(done: int, total: int) -> None:
        if done == 100:
            changes(path)[way]()

    sentence = f"^{path} must stay as it was when it was scanned, but it has changed: scan it again\\.$"
    with pytest.raises(ValueError, match=sentence):
        progressive(learner, scanned, compiled=compiled, progress=progress)
    if compiled:  # as after the last whole block
        other = booster()
        progressive(other, in_memory(noise=NOISE).head(100))
        np.testing.assert_array_equal(learner.predict(np.ones(3)), other.predict(np.ones(3)))
    with pytest.raises(ValueError, match=sentence):
        progressive(booster(), scanned)


def test_without_polars_a_sentence_says_what_to_install(path: Path) -> None:
    code = f"""
import sys
sys.modules["polars"] = None
import banditboost as bb
try:
    bb.worlds.Supervised.scan({str(path)!r}, target="y")
except ImportError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == f"Scanning {path} needs polars: pip install 'banditboost[cli]'."


MEMORY = """
import sys
from pathlib import Path
import banditboost as bb
world = bb.worlds.Supervised.scan(sys.argv[1], target="y", noise=bb.noise.Uniform(0.1))
peaks = []
for rounds in (world.head(400_000), world):
    booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(0.0, 1.0), copies=2)
    trace = bb.evaluate.progressive(booster, rounds, compiled=True, keep="means")
    # Not getrusage: its peak of a new process is at least that of the process which started it.
    status = Path("/proc/self/status").read_text().split()
    peaks.append(int(status[status.index("VmHWM:") + 1]) / 1024)
print(len(trace), peaks[1] - peaks[0])
"""


@pytest.mark.load
@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
@pytest.mark.parametrize("name", ["long.parquet", "long.csv"])
def test_memory_is_flat(tmp_path: Path, name: str) -> None:
    rng, rows = np.random.default_rng(0), 2_000_000
    table = pl.DataFrame({name: rng.random(rows) for name in "abcdefghiy"})  # 160 MB, as text 380
    path = tmp_path / name
    if path.suffix == ".csv":
        table.with_columns(pl.all().round(3)).write_csv(path)
    else:
        table.write_parquet(path, row_group_size=200_000)
    shown = subprocess.run([sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, check=True)
    played, growth = shown.stdout.split()
    assert int(played) == rows
    assert float(growth) < 50
