"""Classes from bandit feedback: cells are what they say, a small run has a table, peers are asked for by name."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from banditboost import algorithms
from banditboost.experiments import classification, classification_report
from banditboost.gradients import Exact
from banditboost.spaces import Simplex

VALUES = ("values_10", "values_30", "values_30_of_60")


@pytest.mark.parametrize("way", classification.OURS)
def test_nobody_asks_more_than_thirty_values(way: str) -> None:
    spec = algorithms.boosted(Simplex(26), **classification.OURS[way][1]).spec
    assert isinstance(spec.gradient, Exact) == (way not in VALUES)
    if way in VALUES:
        assert spec.gradient.count(spec.copies) <= 30


def test_letters_are_learned_from_values_alone() -> None:
    found = {way: classification.Run(way=way, rows=2000).run() for way in ("values_30", "exact")}
    assert found["values_30"]["late"] > 0.5  # guessing gets 1 in 25
    assert found["exact"]["late"] > found["values_30"]["late"]
    assert found["values_30"]["loss"] < found["values_30"]["paid"]


@pytest.mark.long
def test_a_small_run_and_its_table(tmp_path: Path) -> None:
    ways = ("values_30", "exact")
    results = classification.reproduce(ways, runs=2, rows=100, folder=tmp_path)
    assert results == classification.reproduce(ways, runs=2, rows=100, folder=tmp_path), "results are kept"
    rows = classification_report.rows_of(results)
    assert [secondary for secondary, _ in rows] == [False, True, False, True]
    assert [line[:2] for _, line in rows] == [
        ["boosted, 30 noisy values a round", "values, squared loss"],
        ["boosted, exact gradients", "gradients, squared loss"],
        ["boosted, 30 noisy values a round", "values, log loss"],
        ["boosted, exact gradients", "gradients, log loss"],
    ]
    assert all(len(line) == len(classification_report.HEADINGS) for _, line in rows)
    (table,) = classification_report.terminal_tables(results)
    assert table.row_count == len(rows)
    assert "values, log loss" in classification_report.report(results, tmp_path).read_text()


def test_unknown_ways_are_refused() -> None:
    with pytest.raises(ValueError, match="ways must be one of"):
        classification.reproduce(["guessing"])
    with pytest.raises(ValueError, match="ways must name at least one"):
        classification.reproduce([])


@pytest.mark.parametrize(("way", "module"), [("river_tree", "river"), ("vw", "vowpalwabbit")])
def test_peers_say_which_extra_they_need(way: str, module: str) -> None:
    if importlib.util.find_spec(module) is not None:
        found = classification.Run(way=way, rows=200).run()
        assert 0 <= found["accuracy"] < 1
        assert "loss" not in found
        return
    with pytest.raises(ImportError, match=r"banditboost\[bench\]"):
        classification.reproduce([way])
