"""Ratios to refitted models and online peers: what counts, what is left out, and that a learner of nothing keeps no limit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import fair, fair_ratios, fair_report
from banditboost.experiments.further import HELD_OUT

LOSSES: dict[str, float | None] = {
    "memory_30": 0.42,
    "memory_2": 0.5,
    "lightgbm": 0.4,
    "histogram": 0.5,
    "vw": 0.6,
    "ridge": 0.4,
    "mean": 1.0,
}


def results_of(by_dataset: dict[str, dict[str, float | None]]) -> dict[str, Any]:
    """Return results with these losses; None where all runs diverged."""
    rows: list[dict[str, Any]] = []
    for name, losses in by_dataset.items():
        for who, loss in losses.items():
            row: dict[str, Any] = {"dataset": name, "who": who, "by_loss": "squared", "untuned": True, "tuned": False}
            rows.append(row | ({"diverged": 2} if loss is None else {"diverged": 0, "loss": loss}))
    return {"rows": rows}


def ratio(results: dict[str, Any], who: str, against: str) -> dict[str, Any]:
    """Return one row of ratios."""
    (row,) = [row for row in fair_ratios.ratios_of(results) if (row["who"], row["against"]) == (who, against)]
    return row


def test_the_better_refitted_model_counts_on_each_data_set_and_the_plain_mean_decides() -> None:
    results = results_of({"spam": LOSSES, "pens": LOSSES | {"lightgbm": 0.5, "histogram": 0.21}})
    row = ratio(results, "memory_30", "refitted")
    assert row["ratios"] == {"spam": 1.05, "pens": 2.0}
    assert row["mean"] == 1.525
    assert row["geometric"] == pytest.approx(2.1**0.5, rel=1e-5)
    assert row["met"] is False
    assert ratio(results_of({"spam": LOSSES}), "memory_30", "refitted")["met"] is True
    assert ratio(results, "memory_30", "vw")["met"] is True
    assert ratio(results, "memory_2", "vw")["met"] is None, "limits are for thirty answers"
    assert ratio(results, "memory_30", "ridge")["met"] is None


@pytest.mark.parametrize("broken", ["mean", "vw"])
def test_who_has_learned_nothing_or_little_keeps_no_limit(broken: str) -> None:
    losses = LOSSES | {"memory_30": LOSSES[broken]}
    results = results_of({"spam": losses, "pens": losses})
    assert ratio(results, "memory_30", "refitted")["met"] is False
    assert ratio(results, "memory_30", "vw")["met"] is False
    assert ratio(results, "mean", "refitted")["met"] is False
    assert ratio(results, "mean", "vw")["met"] is False


def test_where_a_peer_diverged_there_is_no_ratio_and_where_it_was_not_run_no_mean() -> None:
    diverged = results_of({"spam": LOSSES | {"vw": None}, "pens": LOSSES})
    assert ratio(diverged, "memory_30", "vw")["ratios"] == {"spam": None, "pens": 0.7}
    assert ratio(diverged, "memory_30", "vw")["mean"] == 0.7
    without = {who: loss for who, loss in LOSSES.items() if who != "vw"}
    missing = ratio(results_of({"spam": without, "pens": LOSSES}), "memory_30", "vw")
    assert (missing["mean"], missing["met"]) == (None, None)
    ours = ratio(results_of({"spam": LOSSES | {"memory_30": None}, "pens": LOSSES}), "memory_30", "vw")
    assert (ours["mean"], ours["met"]) == (None, None), "ours leaves no data set out"


def test_tuned_rows_the_absolute_loss_and_the_papers_data_sets_have_no_part() -> None:
    results = results_of({"spam": LOSSES, "letter": LOSSES})
    expected = fair_ratios.ratios_of(results_of({"spam": LOSSES}))
    results["rows"] += [row | {"by_loss": "absolute", "loss": 9.0} for row in results["rows"]]
    results["rows"] += [row | {"untuned": False, "loss": 9.0} for row in results["rows"]]
    assert fair_ratios.ratios_of(results) == expected


def test_lines_say_what_is_kept() -> None:
    results = results_of({"spam": LOSSES, "pens": LOSSES})
    lines = {line[0]: line[1:] for _, line in fair_report.refitted_of(results)}
    assert lines["ours with memory, 30 answers / the better refitted model"][-2:] == ["1.050", "at most 1.05: met"]
    assert lines["ours with memory, 2 answers / the better refitted model"][-1] == ""
    assert lines["running mean / the better refitted model"] == ["2.500"] * 4 + ["at most 1.05: missed"]
    online = {line[0]: line[1:] for _, line in fair_report.online_of(results)}
    assert online["ours with memory, 30 answers / Vowpal Wabbit"] == ["0.700"] * 4 + ["below 0.90: met"]
    assert online["running mean / Vowpal Wabbit"][-1] == "below 0.90: missed"
    assert fair_report.ratio_headings(results)[1:3] == ("spam", "pens")


def test_held_out_data_sets_are_run_as_further_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a data set that had a part in choices already: those held out are left to be."""
    from banditboost.experiments.further import FURTHER

    monkeypatch.setattr(fair, "ROWS", 100)
    for name in list(HELD_OUT):
        monkeypatch.delitem(HELD_OUT, name)
    monkeypatch.setitem(HELD_OUT, "digits", FURTHER["digits"])
    command = ["reproduce", "fair", "--datasets", "held-out", "--peers", "river_linear,histogram", "--runs", "2"]
    command += ["--quiet", "--json", str(tmp_path / "held_out.json"), "--report", str(tmp_path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    results = json.loads((tmp_path / "held_out.json").read_text())
    assert {row["dataset"] for row in results["rows"]} == {"digits"}
    assert not results["trials"]
    assert {row["by_loss"] for row in results["rows"]} == {"squared"}
    assert results["ratios"] == fair_ratios.ratios_of(results)
    assert {row["against"] for row in results["ratios"]} == {"refitted", "river_linear", "ridge"}
    text = (tmp_path / "fair.html").read_text()
    assert "Ours with memory over refitted models" in text
    assert "Settings chosen" not in text
