"""Tables with words, dates and missing values as worlds: the rows of the encoder, a few blocks at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost.datasets import blocks_csv, blocks_named, blocks_parquet
from banditboost.encoder import Encoder
from banditboost.evaluate import progressive
from banditboost.worlds import Supervised

ROWS = 400
ENCODER = Encoder(bits=12)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of a small file."""
    monkeypatch.setattr(blocks_parquet, "NUMBERS", 37 * 6)
    monkeypatch.setattr(blocks_csv, "PIECE", 2000)


def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    town, area = rng.choice(["Rom", "Bonn", "São Paulo"], ROWS), rng.uniform(1, 3, ROWS).round(3)
    days = np.datetime64("2026-01-01") + rng.integers(0, 60, ROWS)
    return pl.DataFrame(
        {
            "town": [None if t % 11 == 0 else str(word) for t, word in enumerate(town)],
            "when": [str(day) for day in days],
            "area": [None if t % 7 == 0 else float(value) for t, value in enumerate(area)],
            "sold": rng.random(ROWS) < 0.5,
            "price": np.where(town == "Rom", 2.0, 0.5) + area,
        }
    )


def write(table: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


def in_memory(**options: Any) -> Supervised:
    table = frame()
    return Supervised(ENCODER.table(table.drop("price")), table["price"].to_numpy(), **options)


def booster() -> bb.Booster:
    return bb.algorithms.boosted(bb.spaces.Interval(0.0, 6.0), copies=4, memory=None)


@pytest.mark.parametrize("name", ["table.csv", "table.parquet"])
@pytest.mark.parametrize("compiled", [False, True])
def test_the_rounds_are_those_of_the_encoded_frame(tmp_path: Path, name: str, compiled: bool) -> None:
    noise = bb.noise.Uniform(0.1)
    world = Supervised.scan(write(frame(), tmp_path / name), "price", encoder=ENCODER, noise=noise)
    assert len(world._blocks.starts) > 5
    assert (world.contexts() != in_memory().contexts()).nnz == 0
    np.testing.assert_array_equal(world.labels(), in_memory().labels())
    found, expected = (progressive(booster(), w, compiled=compiled) for w in (world, in_memory(noise=noise)))
    assert found.compiled == compiled
    np.testing.assert_array_equal(found.losses, expected.losses)


def test_words_and_missing_values_are_learned_from(tmp_path: Path) -> None:
    path, variance = write(frame(), tmp_path / "table.csv"), float(frame()["price"].to_numpy().var())
    whole = progressive(booster(), Supervised.scan(path, "price", encoder=ENCODER)).losses[ROWS // 2 :].mean()
    blind = Supervised.scan(path, "price", features=["when", "area"], encoder=ENCODER)
    assert whole < 0.2 * variance
    assert progressive(booster(), blind).losses[ROWS // 2 :].mean() > 0.5 * variance


def test_a_reader_that_loses_words_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CsvBlocks := blocks_csv.CsvBlocks, "typed", _without_words(CsvBlocks.typed))
    monkeypatch.setattr(blocks_named.NamedBlocks, "_unread", lambda *_: np.zeros((1, 1), dtype=np.bool_))
    world = Supervised.scan(write(frame(), tmp_path / "table.csv"), "price", encoder=ENCODER)
    assert (world.contexts() != in_memory().contexts()).nnz > 0


def _without_words(typed: Any) -> Any:
    return lambda self, block: typed(self, block).with_columns(town=pl.lit(None, dtype=pl.String))


@pytest.mark.parametrize(
    ("column", "value", "sentence"),
    [
        ("area", "large", "column 'area' must hold numbers, got 'large' in row 390"),
        ("area", "inf", "column 'area' must be finite, got inf in row 390"),
        ("price", "", "column 'price' must have no missing values, got one in row 390"),
        ("price", "dear", "column 'price' must hold numbers, got 'dear' in row 390"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, column: str, value: str, sentence: str) -> None:
    table = frame().cast(pl.String)
    table[389, column] = value or None
    world = Supervised.scan(write(table, tmp_path / "table.csv"), "price", encoder=True)
    with pytest.raises(ValueError, match=sentence):
        world.check()


def test_columns_of_parquet_keep_their_kinds(tmp_path: Path) -> None:
    table = frame().with_columns(when=pl.col("when").str.to_date(), bag=pl.lit(["a", "b"], dtype=pl.List(pl.String)))
    world = Supervised.scan(write(table, tmp_path / "table.parquet"), "price", encoder=ENCODER)
    assert (world.contexts() != ENCODER.table(table.drop("price"))).nnz == 0


def test_without_an_encoder_words_are_refused_with_what_to_write(tmp_path: Path) -> None:
    for name in ("table.csv", "table.parquet"):
        with pytest.raises(ValueError, match=r"features can leave it out, and encoder=True takes words"):
            Supervised.scan(write(frame().drop_nulls(), tmp_path / name), "price")
