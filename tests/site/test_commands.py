"""Blocks of commands and of service calls on pages are run, with files of the kind that the pages speak of."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from tests.cli.shell import Shell
from tests.serve.common import running

ROOT = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^```(?:bash|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def block(page: str, begins: str) -> str:
    """Return the one block of a page that begins like this."""
    (found,) = [text for text in FENCE.findall((ROOT / page).read_text()) if text.startswith(begins)]
    return str(found)


README, LOGS, NAMES, ERASE, KEYS = RUN = [
    (page, block(page, begins))
    for page, begins in (
        ("README.md", "banditboost run sales.csv"),
        ("docs/logs.md", "banditboost warm"),
        ("docs/serve.md", "shop = client.create"),
        ("docs/serve.md", "shop.erase"),
        ("docs/serve.md", "banditboost keys add"),
    )
]
"""The pages and blocks that the tests of this file run."""


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capsys)


def lines(text: str) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in text.splitlines()]


def table(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    area, town = rng.uniform(20, 90, rows).round(), rng.choice(["Rom", "Bonn"], rows)
    return pl.DataFrame({"area": area, "town": town, "price": 3 * area + 40 * (town == "Rom")})


def decisions(rows: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(0)
    age, price = rng.uniform(20, 60, rows), rng.uniform(0, 20, rows)
    return pl.DataFrame({"age": age, "price": price, "cost": (price - age / 4) ** 2, "p": np.full(rows, 0.05)})


def test_the_table_of_the_readme(shell: Shell, tmp_path: Path) -> None:
    table().write_csv(tmp_path / "sales.csv")
    table(5).drop("price").write_csv(tmp_path / "new.csv")
    run, predict = lines(README[1])
    assert shell(*run).code == 0
    assert (tmp_path / "reports" / "run.html").is_file()
    shown = shell(*predict)
    assert len(shown.out.split()) == 6, shown.err
    (tmp_path / "new.csv").write_text("other\n1\n")
    assert "got none of them" in shell(*predict).sentence


def test_the_commands_for_logs(shell: Shell, tmp_path: Path) -> None:
    decisions().write_parquet(tmp_path / "last_month.parquet")
    decisions().write_parquet(tmp_path / "this_month.parquet")
    table().write_csv(tmp_path / "table.csv")
    for words in lines(LOGS[1]):
        shown = shell(*words)
        assert shown.code == 0, (words, shown.err)


def test_the_commands_for_keys(shell: Shell) -> None:
    for words in lines(KEYS[1]):
        if words[-1] == "NAME":
            words[-1] = re.split(
                r"\s+", shell("keys", "list", "--data", "shop-data").out.strip().splitlines()[-1].strip()
            )[0]
        shown = shell(*words)
        assert shown.code == 0, (words, shown.err)


def test_the_calls_of_the_service_by_name(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service, bb.Client(service.url) as client:
        names: dict[str, Any] = {"bb": bb, "client": client}
        for text in (NAMES[1], ERASE[1]):
            for line in text.splitlines():
                call, _, said = line.partition("  # ")
                if said:
                    assert shape(eval(call, names)) == shape(eval(said))
                else:
                    exec(call, names)


def shape(value: Any) -> Any:
    """Return a dictionary with the types of its values."""
    return {name: type(entry) for name, entry in value.items()}
