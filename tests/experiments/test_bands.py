"""The experiment on bands: hindsight is right by construction, broken bands are noticed, and a small run has tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import bands, bands_report

RNG = np.random.default_rng(0)
CONTEXTS = RNG.uniform(size=(3000, 2))
LOSSES = (1 + CONTEXTS[:, 0]) * RNG.exponential(size=3000)


def test_bands_in_hindsight_cover_exactly_what_they_should() -> None:
    found = bands.judged(LOSSES, bands.in_hindsight(CONTEXTS, LOSSES))
    assert found["coverage"] == pytest.approx(0.9, abs=1e-3)
    ours = bands.judged(LOSSES, bands.ways("adaptive", CONTEXTS, LOSSES))
    assert 0.88 < ours["coverage"] < 0.92
    assert 0.9 < ours["score"] / found["score"] < 1.1


@pytest.mark.parametrize("way", [way for way in bands.WAYS if way != "fixed"])
def test_the_score_and_the_coverage_notice_broken_bands(way: str) -> None:
    losses = np.where(np.arange(3000) < 1500, 1.0, 2.0) * LOSSES
    ours, other = (bands.judged(losses, bands.ways(name, CONTEXTS, losses)) for name in ("adaptive", way))
    if way == "adaptive":
        assert 0.88 < other["coverage"] < 0.92
    else:
        assert not 0.88 < other["coverage"] < 0.92
        assert other["score"] > 1.05 * ours["score"]


def test_levels_that_do_not_adapt_are_noticed_where_losses_rise() -> None:
    rising = LOSSES + np.arange(3000) / 30
    fixed, adaptive = (bands.judged(rising, bands.ways(way, CONTEXTS, rising)) for way in ("fixed", "adaptive"))
    assert 0.88 < adaptive["coverage"] < 0.92 < fixed["coverage"]
    assert fixed["score"] > 1.2 * adaptive["score"]


def test_a_small_run_has_tables(tmp_path: Path) -> None:
    file = tmp_path / "bands.json"
    command = ["reproduce", "bands", "--datasets", "abalone", "--runs", "1", "--quiet"]
    shown = CliRunner().invoke(app, [*command, "--json", str(file), "--report", str(tmp_path)])
    assert shown.exit_code == 0, shown.output
    results = json.loads(file.read_text())
    assert [row["answers"] for row in results["tables"]["bands"]] == list(bands.ANSWERS)
    for row in results["tables"]["bands"]:
        assert 0.88 < row["coverage"] < 0.92
        assert row["ratio"] == pytest.approx(row["score"] / row["hindsight"], rel=1e-4)
        assert row["ratio"] < 1.1
    assert [row[0] for _, row in bands_report.doubled_of(results)] == list(bands.WAYS.values())
    assert "Bands for what will be paid" in (tmp_path / "bands.html").read_text()


def test_unknown_data_sets_are_named() -> None:
    with pytest.raises(ValueError, match="datasets must be one of"):
        bands.reproduce(["casino"], runs=1)
