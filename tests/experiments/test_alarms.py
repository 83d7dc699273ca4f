"""The experiment on alarms: broken detectors are noticed, and a small run has tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.drifts import Detector
from banditboost.experiments import alarms, alarms_report


@pytest.mark.parametrize("name", list(alarms.QUIET))
def test_labels_of_quiet_streams_lie_where_predictions_do(name: str) -> None:
    (world, space), (again, _), (other, _) = (alarms.quiet(name, seed, 500) for seed in (0, 0, 1))
    labels = world.labels()
    assert np.array_equal(labels, again.labels())
    assert not np.array_equal(labels, other.labels())
    assert (np.clip(labels, space.low, space.high) == labels).mean() > 0.999


def test_broken_detectors_alarm_too_often_where_nothing_changes() -> None:
    losses = np.random.default_rng(0).standard_t(3, 20_000) ** 2
    assert alarms.count_raised(Detector(), losses) == 0
    assert alarms.count_raised(alarms.ONE_TEST, losses) > 1
    assert alarms.z_scores(losses) > 1


def test_a_run_cell_finds_the_flip_and_not_in_shuffled_losses() -> None:
    found = alarms.Changing("flip", 2, 0).run()
    assert (found["found"], found["changes"], found["shuffled"]) == (1, 1, 0)
    assert 0 < found["delays"][0] < 40
    assert abs(found["errors"][0]) < 20


def test_the_default_that_remembers_plays_fifty_still_streams_of_every_kind_in_turn() -> None:
    cells = alarms.remembering(50)
    assert all(cell.memory and cell.rounds == alarms.ROUNDS for cell in cells)
    assert len(set(cells)) == 50 * len(alarms.ANSWERS)
    for name in alarms.QUIET:
        assert 12 <= sum(cell.world == name and cell.answers == 1 for cell in cells) <= 13


def row(**changes: Any) -> dict[str, list[dict[str, Any]]]:
    quiet = {"world": "linear", "answers": 1, "ours": 0.1, "one_test": 9.0, "z_scores": 3.0}
    moving = {"world": "flip", "answers": 1, "found": 10, "changes": 10, "shuffled": 0}
    return {
        "quiet": [{name: changes.get(name, value) for name, value in quiet.items()}],
        "changing": [{name: changes.get(name, value) for name, value in moving.items()}],
    }


def test_everything_that_is_not_as_it_must_be_is_said() -> None:
    assert alarms.complaints(row()) == []
    for changes in ({"ours": 1.5}, {"one_test": 0.5}, {"z_scores": 1.0}, {"found": 9}, {"shuffled": 4}):
        assert len(alarms.complaints(row(**changes))) == 1


@pytest.mark.long
def test_a_small_run_has_tables(tmp_path: Path) -> None:
    file = tmp_path / "alarms.json"
    command = ["reproduce", "alarms", "--quick", "--quiet", "--json", str(file), "--report", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    results = json.loads(file.read_text())
    assert results["complaints"] == []
    assert len(alarms_report.quiet_of(results)) == (len(alarms.QUIET) + 2) * len(alarms.ANSWERS)
    assert len(alarms_report.rows_of(results)) == (len(alarms.CHANGING) + 1) * len(alarms.ANSWERS)
    assert sum("with memory" in cells[0] for _, cells in alarms_report.quiet_of(results)) == 2 * len(alarms.ANSWERS)
    assert results["worst"] <= 1
    assert "Alarms where the world has changed" in (tmp_path / "alarms.html").read_text()
