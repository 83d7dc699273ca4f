"""The price of bandit feedback: cells are what they say, a small run has every table and a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from banditboost.chains import ConvexHull, Single
from banditboost.experiments import feedback, feedback_report
from banditboost.gradients import Budget, Exact, OnePoint, Surrogate, TwoPoint
from banditboost.spaces import Interval


@pytest.mark.parametrize("way", [*feedback.WAYS, *feedback.ONE_ANSWER])
def test_everybody_asks_as_much_as_everybody_else(way: str) -> None:
    answers = 1 if way in feedback.ONE_ANSWER else 30
    copies, _, gradient = feedback.parts(way, answers, 0.5, 5)
    if isinstance(gradient, Exact):
        assert copies == (30 if way == "exact" else 1)
    else:
        assert gradient.count(copies) == answers
        gradient.check(copies, Interval(0, 1))


def test_a_smaller_budget_is_shared_among_the_same_copies() -> None:
    assert feedback.parts("surrogate", 5, 0.1, 0) == (30, ConvexHull(), Budget(Surrogate(0.1), 5))
    assert feedback.parts("two_point", 10, 0.1, 0) == (15, ConvexHull(), Budget(TwoPoint(0.1), 10))
    assert feedback.parts("n_fkm", 5, 0.1, 0) == (1, Single(), OnePoint(0.1, queries=5))


def test_grids_are_alike() -> None:
    sizes = {way: len(feedback.FULL.settings(way)) for way in feedback.WAYS}
    assert len({sizes[way] for way in sizes if way not in ("exact", "ogd")}) == 1
    assert sizes["exact"] == sizes["ogd"] == sizes["surrogate"] // len(feedback.FULL.deltas)


def test_surrogate_is_at_the_price_of_gradients_told() -> None:
    grid = feedback.Grid(deltas=(0.5,), scales=(0.1,), radii=(10.0,))
    losses = {w: feedback.Run("abalone", way=w, grid=grid).run() for w in ("exact", "surrogate", "one_point")}
    assert losses["surrogate"]["loss"] < 1.02 * losses["exact"]["loss"]
    assert losses["one_point"]["loss"] > 1.2 * losses["exact"]["loss"]
    assert losses["surrogate"]["paid"] > losses["surrogate"]["loss"]


@pytest.mark.long
def test_gradients_in_five_dimensions() -> None:
    cells = {w: feedback.Dimension(5, "absolute", w, rounds=300).run() for w in ("surrogate", "one_point", "two_point")}
    assert cells["surrogate"]["error"] < 0.05 * cells["one_point"]["error"]
    assert cells["surrogate"]["loss"] < cells["one_point"]["loss"]
    assert all(np.isfinite(cell["variance"]) for cell in cells.values())


@pytest.mark.long
def test_a_small_run_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = feedback.Grid(deltas=(0.5,), scales=(0.1,), radii=(10.0,), copies=(2,))
    monkeypatch.setattr(feedback, "QUICK", tiny)
    results = feedback.reproduce(["abalone"], runs=2, quick=True, folder=tmp_path / "cells")
    assert {question: len(rows) for question, rows in results["tables"].items()} == {
        "price": 10,
        "one answer": 5,
        "budget": 15,
        "noise": 12,
        "dimensions": 0,
    }
    assert results == feedback.reproduce(["abalone"], runs=2, quick=True, folder=tmp_path / "cells")
    for row in results["tables"]["price"]:
        assert len(row["runs"]) == 2
        assert row["value"] == pytest.approx(np.mean(row["runs"]), rel=1e-4)
    assert len(feedback_report.terminal_tables(results)) == 2
    text = feedback_report.report(results, tmp_path).read_text()
    assert text.count("data:image/png;base64,") == 2
    assert "running mean of labels" in text


def test_unknown_data_is_refused_before_any_work() -> None:
    with pytest.raises(ValueError, match="datasets must be one of"):
        feedback.reproduce(["iris"])
    with pytest.raises(ValueError, match="datasets must name"):
        feedback.reproduce([])
