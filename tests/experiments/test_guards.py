"""The experiment on guards: a broken guard is noticed, and a small run has tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import guards, guards_report


@pytest.mark.parametrize("kind", list(guards.NULL))
def test_losses_lie_within_what_the_guard_is_told(kind: str) -> None:
    values, bounds = guards.losses(kind, 0, 3000), guards.NULL[kind][2]
    assert np.array_equal(values, guards.losses(kind, 0, 3000))
    assert not np.array_equal(values, guards.losses(kind, 1, 3000))
    assert np.unique(values).size > 1
    if bounds is not None:
        assert bounds[0] <= values.min() < values.max() <= bounds[1]


def test_what_is_not_as_it_must_be_is_said() -> None:
    row = {"stream": "uniform", "ours": 0.01, "one_look": 0.4}
    assert guards.complaints({"null": [row]}) == []
    assert "fall back for nothing" in guards.complaints({"null": [row | {"ours": 0.06}]})[0]
    assert "as if once" in guards.complaints({"null": [row | {"one_look": 0.05}]})[0]


@pytest.mark.long
def test_a_small_run_has_tables(tmp_path: Path) -> None:
    file = tmp_path / "guards.json"
    command = ["reproduce", "guards", "--quick", "--quiet", "--json", str(file), "--report", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    results = json.loads(file.read_text())
    assert len(guards_report.null_of(results)) == len(guards.NULL)
    assert all(row["found"] == row["streams"] for row in results["tables"]["worse"])
    assert (tmp_path / "guards.html").exists()
    later = guards.Worse("bounded", 0.3, True, streams=1, rounds=3000)
    assert "better by 10%" in guards_report._cells(guards._worse_row(later, later.run()))[0]
