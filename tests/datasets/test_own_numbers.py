"""Columns of plain numbers are read all at once, and become what they would become one by one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from banditboost.datasets import own_encoding, own_values, prepare_own, read_own
from tests.fuzz.targets import own_tables


def seeds(folder: Path) -> list[Path]:
    """The fuzzer's tables, and one with every kind of column."""
    rng, columns = np.random.default_rng(0), dict[str, list[str]]()
    columns |= {f"n{k}": [f"{value:.3f}" for value in rng.normal(size=40)] for k in range(5)}
    columns |= {"blank": [" 1 ", "2"] * 20, "gone": ["", "3"] * 20, "same": ["1", "1.0"] * 20, "word": ["1", "x"] * 20}
    columns |= {"huge": ["1e300", "2"] * 20, "dates": ["2024-01-31", "2024-02-01"] * 20, "y": ["1", "2", "5", "4"] * 10}
    columns |= {"copy": columns["n0"], "signs": ["+1", "-.5e1"] * 20, "comma": ["1,5", "2"] * 20}
    made = folder / "every.csv"
    pl.DataFrame(columns).write_csv(made)
    files = [made]
    for number, data in enumerate(own_tables(folder)):
        files.append(folder / f"seed{number}.csv")
        files[-1].write_bytes(data)
    return files


def outcome(path: Path) -> Any:
    """What becomes of a table, or why nothing does."""
    try:
        names = read_own(path).frame.columns
        made = prepare_own(path, "y" if "y" in names else names[0])
    except (ValueError, UnicodeError) as error:
        return str(error)
    return made.X.tolist(), made.y.tolist(), made.encoding, made.columns, made.notes


def test_tables_become_what_they_become_one_column_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = seeds(tmp_path)
    at_once = [outcome(path) for path in files]
    read_at_once = own_values.with_plain_numbers(read_own(files[0]).frame)
    kinds = read_at_once.schema
    assert {name for name, kind in kinds.items() if kind == pl.Float64} == {
        *(f"n{k}" for k in range(5)),
        "y",
        "copy",
        "signs",
    }
    monkeypatch.setattr(own_encoding, "with_plain_numbers", lambda frame, among=None: frame)
    assert at_once == [outcome(path) for path in files]
    assert sum(not isinstance(made, str) for made in at_once) >= 5


def test_words_that_look_like_numbers_later_are_still_words(tmp_path: Path) -> None:
    before, later = tmp_path / "before.csv", tmp_path / "later.csv"
    before.write_text("size,y\n1,1\nx,2\ny,3\nz,4\n1,5\n")
    later.write_text("size,y\n1,1\n2,2\n")
    encoding = prepare_own(before, "y").encoding
    assert encoding.features[0] == "size=1"
    assert encoding.encode(read_own(later)).X.tolist() == [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
