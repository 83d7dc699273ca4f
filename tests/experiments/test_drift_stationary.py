"""Where nothing changes: ratios are paired, the limit can be missed, and a booster that forgets all rounds misses it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import drift_ours, drift_stationary, drift_stationary_report
from banditboost.experiments.drift_ours import Variant
from banditboost.experiments.drift_stationary import Still, broken_that_pass


def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Add a variant that handles drift by doing nothing, and leave one number of answers."""
    handled = Variant("ours, handling", drift_ours.VARIANTS["memory"].make, without="memory")
    monkeypatch.setitem(drift_ours.VARIANTS, "handled", handled)
    monkeypatch.setattr(drift_ours, "ANSWERS", (30,))


def test_the_command_compares_the_same_shuffles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    careless(monkeypatch)
    file = tmp_path / "s.json"
    command = [
        "reproduce",
        "drift",
        "--stationary",
        "--datasets",
        "abalone",
        "--seeds",
        "2",
        "--rows",
        "1100",
        "--quiet",
    ]
    command += ["--json", str(file), "--report", str(tmp_path), "--resume", str(tmp_path / "cells")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    rows = {row["variant"]: row for row in json.loads(file.read_text())["rows"]}
    assert rows["handled"]["loss_ratio"] == {"mean": 1.0, "low": 1.0, "high": 1.0}, "doing nothing costs nothing"
    assert rows["handled"]["met"]
    assert rows["forgetful"]["loss_ratio"]["mean"] > 1.05
    assert not rows["forgetful"]["met"]
    results = json.loads(file.read_text())
    lines = {text[0]: text for _, text in drift_stationary_report.rows_of(results)}
    assert lines["ours, handling"][1:] == ["30", "1.0000 [1.0000, 1.0000]", "1 of 1"]
    assert lines["ours, handling: paid"][2].startswith("1.0000")
    assert lines["broken: forgets everything every 500 rounds"][-1] == "0 of 1"
    assert "must be above" in (tmp_path / "drift_stationary.html").read_text()
    monkeypatch.setattr(drift_stationary, "LIMIT", 99.0)
    failed = CliRunner().invoke(app, [*command, "--kept"])
    assert failed.exit_code != 0, "a limit that everybody keeps says nothing"
    assert "'forgetful', which is broken on purpose" in str(failed.output) + str(failed.exception)
    more = drift_stationary.reproduce(["abalone"], runs=5, rows=1100, folder=tmp_path / "cells", kept=True)
    assert {row["runs"] for row in more["rows"]} == {2}
    assert "(2)" in drift_stationary_report.rows_of(more)[0][1][2]
    none = drift_stationary.reproduce(["letter", "abalone"], runs=2, rows=1100, folder=tmp_path / "cells", kept=True)
    assert {row["dataset"] for row in none["rows"]} == {"abalone"}
    assert drift_stationary_report.rows_of(none)[0][1][2] == "-"
    with pytest.raises(ValueError, match="kept needs a folder"):
        drift_stationary.reproduce(["abalone"], kept=True)


def test_a_booster_that_forgets_everything_begins_again() -> None:
    rows: dict[str, Any] = {"dataset": "abalone", "answers": 30, "rows": 1001}
    broken, whole = (Still(variant=name, **rows).run() for name in ("forgetful", "memory"))
    short = [Still("abalone", name, 30, 0, 500).run()["loss"] for name in ("forgetful", "memory")]
    assert short[0] == short[1], "up to the first time it is the same"
    assert broken["loss"] > whole["loss"]


def test_only_broken_boosters_are_complained_about() -> None:
    row = {"dataset": "abalone", "answers": 1, "met": True}
    assert broken_that_pass([row | {"variant": "handled"}, row | {"variant": "forgetful", "met": False}]) == []
    assert broken_that_pass([row | {"variant": "forgetful"}]) == [
        "The booster 'forgetful', which is broken on purpose, keeps the limit on abalone with 1 answer(s)."
    ]
