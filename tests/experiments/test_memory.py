"""What each part of the booster that remembers is worth: every variant lacks what its title says, and the table shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import memory, memory_report
from banditboost.learners import ByWidth, Grown, Level, Mixed, Tree
from banditboost.spaces import Interval


def parts_of(variant: str) -> dict[type, tuple[Any, float]]:
    """Return the parts of a variant's learner by their class, each with its number of copies."""
    learner: Any = memory.VARIANTS[variant][1](Interval(0, 1), 2, 0).spec.learner
    steady: Any = learner.learner if isinstance(learner, ByWidth) else learner
    mixed = steady.learner
    assert isinstance(mixed, Mixed)
    return {type(part): (part, count) for part, count in zip(mixed.parts, mixed.counts, strict=True)}


def test_every_variant_lacks_what_its_title_says() -> None:
    whole = parts_of("whole")
    assert (whole[Level][1], whole[Tree][1], whole[Grown][1]) == (1, 27, 1)
    assert Grown not in parts_of("no_forest")
    assert parts_of("no_trees")[Tree][1] == 1
    assert Level not in parts_of("no_shrinkage")
    assert parts_of("rarely")[Grown][0].growth == 2.0
    assert parts_of("few")[Grown][0].trees == 20
    assert parts_of("forgetful")[Grown][0].memory == 2**16


@pytest.mark.long
def test_the_command_writes_losses_and_ratios_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "ANSWERS", (2,))
    monkeypatch.setattr(memory_report, "ANSWERS", (2,))
    file = tmp_path / "memory.json"
    options = ["--datasets", "abalone", "--runs", "1", "--json", str(file), "--report", str(tmp_path), "--quiet"]
    outcome = CliRunner().invoke(app, ["reproduce", "memory", *options])
    assert outcome.exit_code == 0, outcome.output
    results = json.loads(file.read_text())
    losses = {row["variant"]: row["loss"] for row in results["rows"]}
    assert list(losses) == list(memory.VARIANTS)
    rows = memory_report.rows_of(results)
    assert "(" not in rows[0][1][-1]
    for (title, _), (_, cells) in zip(memory.VARIANTS.values(), rows, strict=True):
        assert cells[0] == title
    assert rows[1][1][-1].endswith(f"({losses['no_forest'] / losses['whole']:.3f})")
    assert (tmp_path / "memory.html").is_file()
