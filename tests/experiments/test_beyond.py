"""Beyond the paper: cells are what they say, a small run has its tables and a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from banditboost.experiments import beyond, beyond_report


def test_no_cell_sees_the_wrong_half() -> None:
    tuning, testing = beyond._halves("abalone", 0)
    assert len(tuning) + len(testing) == 4177
    rows = {tuple(row) for row in np.column_stack([tuning.contexts(), tuning.labels()])}
    shared = sum(tuple(row) in rows for row in np.column_stack([testing.contexts(), testing.labels()]))
    assert shared < 5, "but for rows that occur twice in the data"


@pytest.mark.parametrize("learner", ["trees", "Fourier", "linear"])
def test_one_copy_and_many_are_tuned_alike_and_ask_alike(learner: str) -> None:
    one, many = beyond.Pays("abalone", learner, "fitted", 1, "single"), beyond.Pays("abalone", learner, "fitted", 30)
    assert len(many._settings()) == 3 * len(one._settings())
    for cell in (one, many):
        booster = cell._build(cell._settings()[0])
        assert booster.spec.gradient.count(booster.spec.copies) == 30


@pytest.mark.long
def test_a_small_run_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "ROWS", 300)
    results = beyond.reproduce(["abalone"], runs=2, quick=True)
    assert {name: len(rows) for name, rows in results["tables"].items()} == {"ablation": 36, "pays": 0, "rates": 1}
    assert len(beyond_report.terminal_tables(results)) == 2
    assert "Every combination of parts" in beyond_report.report(results, tmp_path).read_text()
    ranked = beyond_report.ablation_of(results)
    assert [secondary for secondary, _ in ranked].count(True) == 1, "the default stands out"
