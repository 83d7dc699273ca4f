"""`banditboost run --drifts`: what it prints and writes about changes is what the library's own run says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.cli.run import ready
from banditboost.cli.run_report import changed
from banditboost.cli.setting import Setting
from tests.cli.shell import Shell, lines, write


@pytest.fixture
def flipped(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    a = rng.uniform(-1, 1, 1400)
    y = np.where(np.arange(1400) < 1000, a, -a) + rng.normal(0, 0.05, 1400)
    return write(tmp_path / "flipped.csv", lines("a,y", zip(a.round(4), y.round(4), strict=True)))


def test_the_summary_and_the_report_say_when_the_world_changed(shell: Shell, flipped: Path, tmp_path: Path) -> None:
    arguments = ("run", flipped, "--target", "y", "--answers", "3", "--quiet")
    shown = shell(*arguments, "--drifts", "--json", "-", "--save", tmp_path / "model.bb", "--report", tmp_path)
    _, world, booster = ready(flipped, "y", "auto", Setting(answers=3), False, drifts=True)
    trace = bb.evaluate.progressive(booster, world)
    assert trace.drifts
    assert shown.results["drifts"] == [{"round": alarm.round, "since": alarm.since} for alarm in trace.drifts]
    assert abs(trace.drifts[0].since - 1000) < 20
    page = (tmp_path / "run.html").read_text()
    assert changed(shown.results) in page
    assert page.count('<path class="mark"') == len(trace.drifts)
    assert "The world changed about round 1,0" in page or "The world changed about round 99" in page
    assert bb.Booster.load(tmp_path / "model.bb").drifts == booster.drifts
    plain = shell(*arguments, "--json", "-", "--report", tmp_path / "plain")
    assert "drifts" not in plain.results
    assert "The world changed" not in (tmp_path / "plain" / "run.html").read_text()


def test_the_terminal_says_it_and_that_nothing_changed(shell: Shell, flipped: Path) -> None:
    arguments = ("run", flipped, "--target", "y", "--answers", "3")
    assert "The world changed about round" in " ".join(shell(*arguments, "--drifts").out.split())
    said = " ".join(shell(*arguments, "--drifts", "--shuffle").out.split())
    assert "No change of the world was noticed." in said
    assert "No change" not in shell(*arguments).out


def test_alarms_need_losses(shell: Shell, flipped: Path) -> None:
    refused = shell("run", flipped, "--target", "y", "--drifts", "--feedback", "full")
    assert refused.code != 0
    assert "drifts must be left out with Exact" in " ".join(refused.err.split())
