"""Table 1: budgets are kept, equal cost is compared fairly, the report can be read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.experiments import table1, table1_report


def test_grids_stop_at_the_budget() -> None:
    for quick in (True, False):
        races = list(table1.cells(quick))
        for space in table1.SPACES:
            longest = {
                a: max(r.horizon for r in races if (r.space, r.algorithm) == (space, a)) for a in table1.ALGORITHMS
            }
            assert longest["online_frank_wolfe"] >= longest["projection_free"] > longest["morgfw"]
            assert longest["morgfw"] > longest["meta_frank_wolfe"]
    assert all(
        len([r for r in races if (r.space, r.algorithm) == (s, a)]) >= 4
        for s in table1.SPACES
        for a in table1.ALGORITHMS
    )


def test_equal_cost_is_interpolated_between_runs() -> None:
    # Regret per round 1/√cost: the interpolation on logarithmic scales is exact.
    costs = [10.0, 100.0, 1000.0]
    regrets = [cost**-0.5 for cost in costs]
    assert table1._interpolated(costs, regrets, 300.0) == pytest.approx(300.0**-0.5)
    assert table1._interpolated(costs, regrets, 5000.0) == pytest.approx(1000.0**-0.5), "never beyond what was run"


def test_a_small_table_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spaces = (bb.spaces.Simplex(3), bb.spaces.NuclearBall(2, 2))
    monkeypatch.setattr(table1, "SPACES", spaces)
    races = [table1.Race(a, s, T, 2) for s in spaces for a in table1.ALGORITHMS for T in (8, 16)]
    monkeypatch.setattr(table1, "cells", lambda quick: iter(races))
    results = table1.reproduce(quick=True)
    assert len(results["rows"]) == 8
    for row in results["rows"]:
        assert row["oracle_calls"] == row["prescribed_calls"]
        assert row["interval"][0] <= row["exponent"] <= row["interval"][1]
        assert np.isfinite(row["at_equal_calls"]["regret_per_round"])
    assert len(table1_report.lines(results)) == 8
    assert "data:image/png;base64," in table1_report.report(results, tmp_path).read_text()
    (table,) = table1_report.terminal_tables(results)
    assert table.row_count == 8
