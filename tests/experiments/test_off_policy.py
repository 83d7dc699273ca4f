"""The experiment on off-policy evaluation: a small run has all rows, and limits that are missed are said."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from banditboost.cli.app import app


def test_a_small_run_has_tables(tmp_path: Path) -> None:
    file = tmp_path / "off_policy.json"
    command = ["reproduce", "off_policy", "--logs", "1", "--quiet", "--json", str(file), "--report", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert file.exists(), shown.output
    assert json.loads(file.read_text())["experiment"] == "off_policy"
    assert "<table>" in (tmp_path / "off_policy.html").read_text()
