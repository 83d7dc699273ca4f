"""Warm starts: logs are what they say, and the command judges what it has measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import warm, warm_report
from banditboost.worlds import Shop


def test_logs_are_what_they_say() -> None:
    shop = Shop(customers=warm.SURVEYED + warm.LOGGED + 10, seed=4)
    logs = {name: warm.logged(shop, name) for name in warm.LOGS if name != "none"}
    ridge, begin = logs["ridge"], warm.SURVEYED
    end = begin + warm.LOGGED
    prices, best = np.zeros(len(shop)), shop.expected(shop.best_prices)[begin:end].sum()

    def share(name: str) -> float:
        prices[begin:end] = logs[name].actions[:, 0]
        return float(shop.expected(prices)[begin:end].sum() / best)

    assert share("ridge") > 0.9
    assert share("bad") < 0.5
    assert np.array_equal(ridge.actions, logs["no_density"].actions)
    assert logs["no_density"].densities is None
    assert ridge.densities is not None
    assert np.allclose(ridge.densities, 1.0)
    assert np.array_equal(np.sort(logs["shuffled"].losses), np.sort(ridge.losses))
    assert not np.array_equal(logs["shuffled"].losses, ridge.losses)
    sold = ridge.losses < 0
    assert np.allclose(ridge.losses[sold], -ridge.actions[sold, 0])


def test_the_command_writes_what_was_saved_and_says_what_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "LOGGED", 150)
    monkeypatch.setattr(warm, "SOLD", 100)
    monkeypatch.setattr(warm, "WAYS", {"pricing": warm.WAYS["pricing"]})
    file = tmp_path / "warm.json"
    options = ["--runs", "1", "--json", str(file), "--report", str(tmp_path), "--quiet"]
    outcome = CliRunner().invoke(app, ["reproduce", "warm", *options])
    assert outcome.exit_code == 0, outcome.output
    results = json.loads(file.read_text())
    rows = {row["log"]: row for row in results["rows"]}
    assert list(rows) == list(warm.LOGS)
    assert rows["ridge"]["saved"] == pytest.approx(1 - rows["ridge"]["regret"] / rows["none"]["regret"], abs=1e-5)
    assert rows["none"]["saved"] == 0.0
    assert len(warm_report.rows_of(results)) == len(warm.LOGS)
    assert (tmp_path / "warm.html").is_file()
    rows["ridge"]["saved"], rows["bad"]["end"], rows["no_density"]["end"] = 0.4, -0.03, -0.01
    assert [sentence.split(":")[0] for sentence in warm.failures(results)] == [
        "pricing, a ridge policy",
        "pricing, a bad policy",
    ]
