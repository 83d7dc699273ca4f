"""Small files that would take long or much: each is refused, or read without the work that it asks for."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost import datasets
from banditboost._core import bounded_json
from banditboost._core.spec import from_json
from banditboost._storage import model_file, strict_npz
from banditboost.datasets import own
from banditboost.datasets.blocks import open_blocks
from banditboost.learners.wrapped import LeastSquares


def saved(path: Path, changes: dict[str, Any], **entries: Any) -> Path:
    """A file of a fresh booster whose spec says something else."""
    booster = bb.Booster(copies=3, gradient=bb.gradients.Exact(), space=bb.spaces.Interval(-1, 1))
    header = booster.header() | entries
    model_file.write(path, header | {"spec": header["spec"] | changes}, booster.arrays())
    assert path.stat().st_size < 5000
    return path


def never(*arguments: Any, **options: Any) -> Any:
    raise AssertionError("this takes minutes")


@pytest.mark.parametrize(
    "space",
    [
        {"kind": "spaces.NuclearBall", "rows": 3000, "columns": 3000},
        {"kind": "spaces.Spectrahedron", "n": 2000},
        {"kind": "spaces.Spectrahedron", "n": 2000, "fixed": False},
    ],
    ids=["nuclear", "spectrahedron", "bounded trace"],
)
def test_no_large_matrix_is_decomposed_to_load_a_file(
    tmp_path: Path, space: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("svd", "eigh", "eigvalsh"):
        monkeypatch.setattr(np.linalg, name, never)
    path = saved(tmp_path / "model.bb", {"space": space, "inside": False})
    assert bb.Booster.load(path).spec.space.size >= 2000**2


@pytest.mark.parametrize(("copies", "dimension"), [(1_000_000, 2), (3, 1_000_000)])
def test_no_million_models_are_made_to_find_a_file_damaged(tmp_path: Path, copies: int, dimension: int) -> None:
    path = saved(
        tmp_path / "model.bb",
        {
            "learner": {"kind": "learners.Wrapped", "model": {"function": "make"}},
            "space": {"kind": "spaces.Ball", "dimension": dimension},
            "copies": copies,
        },
        features=1,
    )
    with pytest.raises(ValueError, match=r"is damaged: its spec asks for \d+ numbers, and its arrays hold 0"):
        bb.Booster.load(path, parts={"make": never})


def test_a_small_file_does_not_ask_ten_million_questions_a_round(tmp_path: Path) -> None:
    path = saved(tmp_path / "model.bb", {"gradient": {"kind": "gradients.Remembered", "answers": 10_000_000}})
    with pytest.raises(ValueError, match="its spec asks 10000000 questions a round, and its arrays hold"):
        bb.Booster.load(path)
    bb.algorithms.boosted(bb.spaces.Interval(-1, 1), answers=1000).save(path)
    assert len(bb.Booster.load(path).ask([0.5]).queries) == 1000


def test_a_maker_of_models_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []
    signature = inspect.signature

    def look(model: Any) -> inspect.Signature:
        looked.append(model)
        return signature(model)

    monkeypatch.setattr(inspect, "signature", look)
    bb.Booster(bb.learners.Wrapped(LeastSquares), 5, space=bb.spaces.Ball(2), features=1)
    assert len(looked) == 1


def with_header(path: Path, text: bytes) -> Path:
    """A file with a header of one's own, and the checksum that goes with it."""
    checksum = model_file._checksum(text, {})
    with path.open("wb") as file:
        strict_npz.write(file, {"header": np.frombuffer(text, np.uint8), "checksum": np.frombuffer(checksum, np.uint8)})
    return path


@pytest.mark.parametrize("piece", [b"[],", b"{},", b"0,", b'"",'])
@pytest.mark.parametrize("entry", ["extra", "in_flight", "spec"])
def test_a_long_header_of_next_to_nothing_is_not_parsed(
    tmp_path: Path, piece: bytes, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    header = bb.Booster(space=bb.spaces.Interval(-1, 1)).header()
    header |= {"spec": header["spec"] | {"start": "@"}} if entry == "spec" else {entry: "@"}
    text = json.dumps({"format": 3} | header).encode()
    many = (bounded_json.MOST_VALUES + 10) * piece
    path = with_header(tmp_path / "model.bb", text.replace(b'"@"', b"[" + many[:-1] + b"]"))
    monkeypatch.setattr(json, "loads", never)
    with pytest.raises(ValueError, match="is not a banditboost file, or it is damaged"):
        bb.Booster.load(path)


def test_what_could_not_be_read_is_not_written(tmp_path: Path) -> None:
    booster = bb.Booster(space=bb.spaces.Interval(-1, 1))
    booster.extra["lists"] = [[]] * (bounded_json.MOST_LISTS + 1)
    with pytest.raises(ValueError, match="A header cannot be saved that has more than 524288 lists"):
        booster.save(tmp_path / "model.bb")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="text must be shorter, got more than 524288 lists"):
        from_json("[" + "[]," * bounded_json.MOST_LISTS + "[]]")


def test_many_tickets_in_flight_are_no_attack(tmp_path: Path) -> None:
    path, booster = tmp_path / "model.bb", bb.Booster(space=bb.spaces.Interval(-1, 1), features=1)
    booster._asked, booster._pending = 300_000, set(range(1, 300_001))
    booster.in_flight_limit = 300_000
    booster.save(path)
    assert len(bb.Booster.load(path).in_flight) == 300_000


def test_lists_of_numbers_are_read_as_they_were() -> None:
    space = bb.spaces.Hull(((0, 0), (1.5, 0), (0, 10**18)))
    assert from_json(space.to_json()) == space
    for bad in ("1e999", "-1e999", '"a"', "null"):
        with pytest.raises(ValueError, match=r"must|cannot"):
            from_json(space.to_json().replace("1.5", bad))


def zeros(path: Path, rows: int, columns: int) -> Path:
    pl.DataFrame({f"c{k}": pl.zeros(rows, eager=True) for k in range(columns)}).write_parquet(path, compression="zstd")
    return path


def test_a_parquet_file_that_unfolds_beyond_all_measure_is_refused(tmp_path: Path) -> None:
    path = zeros(tmp_path / "bomb.parquet", 4_000_000, 10)  # 320 MB
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"must not unfold to more than 268,435,456 bytes .*, got about 320,000,000"):
        datasets.read_own(path)


def test_words_and_lists_of_a_parquet_file_do_not_unfold_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    frame = pl.DataFrame({"y": np.arange(500.0), "w": ["x" * 5000] * 500, "b": [b"x"] * 500})
    frame.with_columns(l=pl.Series([[0.0] * 10_000] * 500)).write_parquet(path, compression="zstd")
    table = datasets.read_own(path)
    assert table.frame.columns == ["y", "w", "b", "l"]
    assert table.frame["l"].null_count() == 500  # lists are left out, and not even read
    assert table.frame["b"].null_count() == 500
    monkeypatch.setattr(own, "UNFOLDED", 2**20)
    monkeypatch.setattr(own, "MOST_UNFOLDED", 1)
    with pytest.raises(
        ValueError, match=r"must not unfold to more than 1,048,576 bytes for its size, got about 2,500,000"
    ):
        datasets.read_own(path)


def test_a_large_parquet_file_may_unfold_as_much_as_its_size_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own, "UNFOLDED", 100)
    path = tmp_path / "table.parquet"
    pl.DataFrame({"y": np.random.default_rng(0).normal(size=1000)}).write_parquet(path)
    assert datasets.read_own(path).frame.height == 1000


def test_a_parquet_file_that_makes_its_reader_panic_is_refused_in_a_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    path = Path(__file__).parent.parent / "datasets" / "damaged" / "panic.parquet"  # found by the fuzzer
    with pytest.raises(ValueError, match="begins like a Parquet file but cannot be read") as caught:
        datasets.read_own(path)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match=r"must be a whole Parquet file|must hold numbers|must be a column"):
        open_blocks(path, "y").read(0)
    capfd.readouterr()  # the reader says more on standard error
