"""`banditboost run --bands`: what it prints and writes about bands is what the library's own run says."""

from __future__ import annotations

from pathlib import Path

import pytest

import banditboost as bb
from banditboost.cli.run import ready
from banditboost.cli.run_report import banded
from banditboost.cli.setting import Setting
from tests.cli.shell import Shell, lines, numbers, write


@pytest.fixture
def small(tmp_path: Path) -> Path:
    a, y = numbers(400)
    return write(tmp_path / "small.csv", lines("a,y", zip(a, y, strict=True)))


def test_the_summary_and_the_report_speak_of_bands_where_they_are_wanted(
    shell: Shell, small: Path, tmp_path: Path
) -> None:
    arguments = ("run", small, "--target", "y", "--noise", "0.1", "--answers", "3", "--quiet")
    shown = shell(*arguments, "--bands", "--json", "-", "--save", tmp_path / "model.bb", "--report", tmp_path)
    _, world, booster = ready(small, "y", "auto", Setting(answers=3, noise=0.1), False, bands=True)
    trace = bb.evaluate.progressive(booster, world)
    found = shown.results["bands"]
    assert (found["coverage"], found["width"]) == pytest.approx((trace.coverage(), trace.band_width()))
    assert found["score"] == pytest.approx(trace.band_score())
    page = (tmp_path / "run.html").read_text()
    assert banded(shown.results) in page
    assert "<figcaption>Bands</figcaption>" in page
    again = bb.Booster.load(tmp_path / "model.bb")
    assert again.predict_loss([0.5]).rounds == 400
    plain = shell(*arguments, "--json", "-", "--report", tmp_path / "plain")
    assert "bands" not in plain.results
    assert "Bands</figcaption>" not in (tmp_path / "plain" / "run.html").read_text()


def test_the_terminal_says_how_often_bands_held(shell: Shell, small: Path) -> None:
    said = " ".join(shell("run", small, "--target", "y", "--bands").out.split())
    assert "Bands made before each round held what was told in" in said
    assert "Bands made" not in shell("run", small, "--target", "y").out


def test_bands_without_a_width_are_said_to_have_none() -> None:
    found = {"level": 0.9, "since": 20, "coverage": 1.0, "width": None, "score": None}
    assert "without bounds" in banded({"bands": found})


@pytest.mark.parametrize("rows", [2, 20])
def test_runs_too_short_for_bands_say_so(shell: Shell, tmp_path: Path, rows: int) -> None:
    a, y = numbers(rows)
    table = write(tmp_path / "short.csv", lines("a,y", zip(a, y, strict=True)))
    shown = shell("run", table, "--target", "y", "--bands", "--report", tmp_path)
    said = "Bands are infinite in the first 20 rounds, so that this run says nothing about them."
    assert said in " ".join(shown.out.split())
    assert said in (tmp_path / "run.html").read_text()
    found = shell("run", table, "--target", "y", "--bands", "--quiet", "--json", "-").results["bands"]
    assert found == {"level": 0.9, "since": 20, "coverage": None, "width": None, "score": None}


def test_bands_need_losses(shell: Shell, small: Path) -> None:
    refused = shell("run", small, "--target", "y", "--bands", "--feedback", "full")
    assert refused.code != 0
    assert "bands must be left out with Exact" in " ".join(refused.err.split())
