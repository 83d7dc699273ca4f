"""Beyond the paper: cells are what they say, peers say what they lack, a small run has its tables and a report."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from banditboost.experiments import beyond, beyond_report, peers


def test_the_default_beats_the_best_line_without_a_label() -> None:
    found = beyond.Ours("letter").run()
    reference = beyond.Reference("letter").run()
    assert found["loss"] < 0.6 * reference["best_linear"]
    assert found["paid"] > found["loss"]
    assert reference["best_linear"] < reference["online_ridge"] < reference["running_mean"]


def test_no_cell_sees_the_wrong_half() -> None:
    tuning, testing = beyond._halves("abalone", "squared", 0)
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


def test_peers_that_are_not_installed_say_so() -> None:
    if importlib.util.find_spec("capymoa") is not None:
        pytest.skip("CapyMOA is installed")
    with pytest.raises(ImportError, match="CapyMOA SGBR needs the extra 'bench'"):
        beyond.wanted_peers("sgbr")
    with pytest.raises(ValueError, match="name must be"):
        beyond.wanted_peers("xgboost")
    assert beyond.wanted_peers("") == ()


def test_a_peer_is_asked_before_it_is_told() -> None:
    labels = np.array([5.0, 5.0, 5.0])
    played = peers.play("river_linear", np.zeros((3, 1)), labels, "squared", 0)
    assert played.predictions[0] == 0.0


def test_a_small_run_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beyond, "ROWS", 300)
    results = beyond.reproduce(["abalone"], runs=2, wanted=(), quick=True)
    assert {name: len(rows) for name, rows in results["tables"].items()} == {
        "ours": 4,
        "peers": 0,
        "references": 1,
        "ablation": 36,
        "pays": 0,
        "rates": 1,
    }
    # A peer's row, as one that was run would give, to see the tables whole.
    results["tables"]["peers"] = [
        {
            "dataset": "abalone",
            "peer": "sgbr",
            **dict.fromkeys(("loss", "absolute", "microseconds"), 7.0),
            **{f"{key}_runs": [6.0, 8.0] for key in ("loss", "absolute", "microseconds")},
        }
    ]
    titles = [table.title for table in beyond_report.terminal_tables(results)]
    assert len(titles) == 5
    text = beyond_report.report(results, tmp_path).read_text()
    assert "CapyMOA SGBR" in text
    assert "7 ±1.4" in text
    ranked = beyond_report.ablation_of(results)
    assert [secondary for secondary, _ in ranked].count(True) == 1, "the default stands out"
