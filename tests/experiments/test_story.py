"""The story of `make run`: everyone is in the table, the sentences are made from its numbers, and who learns nothing is noticed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import story, story_report
from banditboost.experiments.terminal import Rows


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("story")
    file = folder / "story.json"
    command = ["reproduce", "story", "--datasets", "abalone", "--runs", "1", "--quiet", "--json", str(file)]
    shown = CliRunner().invoke(app, [*command, "--report", str(folder)])
    assert shown.exit_code == 0, shown.output
    assert "With a single loss a round" in shown.output
    page = (folder / "story.html").read_text()
    assert page.count('<svg class="chart" role="img" aria-label="') == 2  # bars and curves of one data set
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def rows_of(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["way"]: row for row in results["rows"]}


def test_everyone_who_looks_at_features_beats_the_running_mean(results: dict[str, Any]) -> None:
    rows = rows_of(results)
    assert set(rows) == set(story.WAYS)
    assert rows["mean"]["explained"] == 0.0
    for way in ("ridge", "told", "thirty", "two", "one"):
        assert rows[way]["explained"] > 0.2, way
    assert rows["thirty"]["loss"] < rows["one"]["loss"] < rows["paper"]["loss"]
    assert all(rows[way]["paid"] > rows[way]["loss"] for way in story.PAYS)
    assert all(rows[way]["paid"] == rows[way]["loss"] for way in story.WAYS if way not in story.PAYS)


def test_sentences_change_with_the_numbers(results: dict[str, Any]) -> None:
    rows = [dict(row) for row in rows_of(results).values()]
    for row in rows:
        if row["way"] == "one":
            row["loss"] = 2.0 * rows[0]["loss"]
    worse = story_report.says(results | {"rows": rows})
    assert "it comes to 200% on abalone" in worse[2]
    assert "200%" not in " ".join(story_report.says(results))


def test_tables_name_what_was_paid_only_where_something_was_tried(results: dict[str, Any]) -> None:
    lines: Rows = story_report.losses_of(results)
    paid = {tuple(texts[:2]): texts[3] for _, texts in lines}
    assert {story.WAYS[way] for way in story.WAYS if paid[story.WAYS[way]] != "the same"} == set(
        map(story.WAYS.__getitem__, story.PAYS)
    )


def test_unknown_data_sets_are_named() -> None:
    with pytest.raises(ValueError, match="datasets must be one of"):
        story.reproduce(["casino"], runs=1)
