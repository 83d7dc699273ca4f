"""Tables of experiments show the loss paid; results of earlier runs are read under their old names, and what they lack is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from banditboost.experiments import (
    beyond,
    beyond_report,
    classification_report,
    fair,
    fair_report,
    feedback,
    feedback_report,
    statistics,
    table2_report,
)
from banditboost.experiments.cells import present_names, run_cells

RESULTS = Path(__file__).parent.parent.parent / "results"


def kept(name: str) -> dict[str, Any]:
    found: dict[str, Any] = present_names(json.loads((RESULTS / f"{name}.json").read_text()))
    return found


def without(results: dict[str, Any], *tables: str) -> dict[str, Any]:
    """Return results as versions wrote them that did not keep the loss paid in some tables."""
    less = {name: [{k: v for k, v in row.items() if k != "paid"} for row in results["tables"][name]] for name in tables}
    return results | {"tables": results["tables"] | less}


def test_results_of_an_earlier_run_are_read_under_their_old_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair, "ROWS", 200)
    cell = fair.Run()
    (found,) = run_cells([cell], folder=tmp_path)
    (file,) = tmp_path.glob("*.json")
    old = json.loads(file.read_text())
    old["result"]["asked"] = 123.0
    del old["result"]["paid"]
    file.write_text(json.dumps(old))
    (again,) = run_cells([cell], folder=tmp_path)
    assert again == found | {"paid": 123.0}


def test_runs_of_two_versions_share_what_both_kept() -> None:
    cells = [beyond.Ablation(seed=seed) for seed in (0, 1)]
    done: dict[Any, dict[str, Any]] = {cells[0]: {"loss": 1.0}, cells[1]: {"loss": 3.0, "paid": 5.0}}
    (row,) = beyond._rows(cells, done)
    assert row["loss"] == 2.0
    assert "paid" not in row
    assert statistics.shared([{"a": 1, "b": 2}, {"b": 3}]) == ["b"]


def test_table_2_shows_what_was_paid() -> None:
    results = kept("table2")
    rows = {tuple(line[:2]): line[2:] for _, line in table2_report.paid_of(results)}
    assert len(rows) == 3 * len(results["rows"])
    for name, row in results["rows"].items():
        columns, best = row["readings"]["D"]["columns"], row["best_linear"]["mean"]
        for column in ("n_point_fkm", "bandit_boosting"):
            paid = np.mean([run["paid"] for run in columns[column]["runs"]])
            assert paid > columns[column]["mean"], "so that a column in the wrong place would show"
            expected = [columns[column]["mean"], paid, columns[column]["mean"] - best, paid - best]
            found = [float(text) for text in rows[name, table2_report.TITLES[column]]]
            assert found == pytest.approx(expected, rel=1e-3)
    second = table2_report.terminal_tables(results)[1]
    assert not isinstance(second, str)
    assert second.title == table2_report.PAID_TITLE
    assert second.row_count == len(rows)


def test_ours_is_shown_with_what_it_paid() -> None:
    results = kept("fair")
    for make, loss in ((fair_report.squared_of, "squared"), (fair_report.absolute_of, "absolute")):
        lines = {line[0]: line for _, line in make(results)}
        names = fair_report.headings_of(results)[1:-1]
        for who, answers in (fair.OURS | fair.REMEMBERING).items():
            title = fair_report.OURS[who]
            for k, name in enumerate(names, 1):
                row = fair_report._find(results, name, who, loss, tuned=False)
                assert row is not None
                assert lines[title][k].startswith(f"{row['loss']:.4g} ")
                if answers:
                    assert lines[f"{title}: paid"][k].startswith(f"{row['paid']:.4g} ")
                    assert row["paid"] > row["loss"]


def test_what_was_not_kept_is_said_and_what_was_kept_is_shown() -> None:
    old = without(kept("beyond"), "pays", "ablation")
    for make in (beyond_report.pays_of, beyond_report.ablation_of):
        lines = make(old)
        assert lines[-1][1][0] == "paid: not kept by these runs"
        assert not any(" / " in text for _, line in lines for text in line)
    new = json.loads(json.dumps(old))
    for row in (*new["tables"]["pays"], *new["tables"]["ablation"]):
        row["paid"] = 77.0
    for make, gradient in ((beyond_report.pays_of, 1), (beyond_report.ablation_of, 0)):
        lines = make(new)
        assert len(lines) == len(make(old)) - 1
        for _, line in lines:
            assert any(text.endswith(" / 77") for text in line) == (line[gradient] != "exact"), line


def test_feedback_shows_what_was_paid_by_those_who_ask() -> None:
    results = kept("feedback")
    for secondary, line in feedback_report.price_of(results):
        if secondary:
            assert line[1] == "paid"
            told = [text for way, text in zip(feedback.WAYS, line[2:], strict=False) if way in feedback_report.TOLD]
            assert told == ["-", "-"]
            assert line.count("-") == 2
    abalone = next(row for row in results["tables"]["one answer"] if row["dataset"] == "abalone")
    paid = feedback_report.one_answer_of(results)[1][1]
    assert paid[:3] == ["paid", f"{abalone['mean']:.4g}", f"{abalone['paid']:.4g}"]
    results = without(results, "dimensions")
    assert feedback_report.dimensions_of(results)[-1][1][0] == "paid: not kept by these runs"
    new = json.loads(json.dumps(results))
    for row in new["tables"]["dimensions"]:
        row["paid"] = 77.0
    lines = feedback_report.dimensions_of(new)
    assert len(lines) == len(new["tables"]["dimensions"])
    assert all(line[3].endswith(" / 77") == ("exact" not in line[2]) for _, line in lines)


def test_classes_show_what_was_paid() -> None:
    results = kept("classes")
    at = classification_report.HEADINGS.index("loss paid")
    for row, (_, line) in zip(results["rows"], classification_report.rows_of(results), strict=True):
        assert len(line) == len(classification_report.HEADINGS)
        if "loss" not in row:
            assert line[at] == ""
        elif row["full_information"]:
            assert line[at] == "-"
        else:
            assert float(line[at]) > float(line[at - 1])
            assert line[at] == f"{row['paid']:.3f}"
