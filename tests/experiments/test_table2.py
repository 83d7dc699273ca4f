"""Table 2's protocol, on a small grid: tuned on first halves only, reported on second halves, the same for all columns."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

import banditboost as bb
from banditboost.experiments import table2, table2_report, tuning

TINY = table2.Grid(copies=(5,), scales=(1e-2, 1e-1), powers=(0.5,), radii=(10.0,))


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, object]]:
    return table2.reproduce(["abalone"], runs=2, grid=TINY, readings=False)


def test_the_grid_is_the_papers() -> None:
    grid = table2.GRIDS["paper"]
    assert (min(grid.copies), max(grid.copies)) == (5, 30)
    assert (min(grid.scales), max(grid.scales)) == (1e-4, 0.1)
    assert (min(grid.powers), max(grid.powers)) == (0.25, 1.0)
    assert len(list(grid.settings("bandit_boosting"))) == 256
    assert len(list(grid.settings("ogd"))) == 64
    assert table2.DELTA == 0.5


def test_a_cell_is_what_a_user_would_run_by_hand() -> None:
    data = bb.datasets.load("abalone").scaled("minmax")
    world = bb.worlds.Supervised(np.asarray(data.X), data.y, noise=bb.noise.Uniform(0.1)).shuffled(1)
    tuning, testing = world.halves()
    assert (len(tuning), len(testing)) == (2088, 2089)

    def booster(scale: float) -> bb.Booster:
        learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(scale, 0.5))
        space = bb.spaces.Interval(1.0, 29.0)
        return bb.algorithms.bandit_boosting(space, copies=5, delta=0.5, learner=learner, inside=False, seed=1)

    tuned = {scale: bb.evaluate.progressive(booster(scale), tuning).mean for scale in (1e-2, 1e-1)}
    best = min(tuned, key=lambda scale: tuned[scale])
    cell = table2.Run("abalone", "bandit_boosting", 1, TINY).run()
    assert cell["setting"]["scale"] == best
    assert cell["tuning_loss"] == pytest.approx(tuned[best], rel=1e-12)
    assert cell["loss"] == pytest.approx(bb.evaluate.progressive(booster(best), testing).mean, rel=1e-12)


def test_full_information_agrees_with_an_independent_check(results: dict[str, dict[str, object]]) -> None:
    # Outside the project OGD reached 7.09 ± 0.26 on abalone under this protocol.
    loss = results["rows"]["abalone"]["readings"]["paper grid"]["columns"]["ogd"]["mean"]  # type: ignore[index]
    assert loss == pytest.approx(7.09, rel=0.05)


def test_the_table_and_the_report_can_be_read(results: dict[str, dict[str, object]], tmp_path: Path) -> None:
    rows = table2_report.cells_of(results)
    assert [secondary for secondary, _ in rows] == [False, True, True, False]
    assert rows[3][1][:2] == ["slice", "not run: data not reachable"]
    assert rows[2][1][1:5] == ["3.708", "3.71", "12.21", "11.68"]
    text = table2_report.report(results, tmp_path).read_text()
    assert "data:image/png;base64," in text
    assert "http" not in text.replace("http-equiv", ""), "the report needs nothing from elsewhere"
    table, paid = table2_report.terminal_tables(results)
    assert paid.row_count == 3
    assert "What it cost to learn" in text
    assert table.row_count == 4


def test_every_reading_is_run_and_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("wide", "small"):
        monkeypatch.setitem(table2.GRIDS, name, dataclasses.replace(TINY, radii=(3.0 if name == "wide" else 5.0,)))
    results = table2.reproduce(["abalone"], runs=2, grid=TINY)
    row = results["rows"]["abalone"]
    assert list(row["readings"]) == ["paper grid", "wide grid", "weights"]
    ours = row["readings"]["paper grid"]
    losses = [np.array([run["loss"] for run in ours["columns"][c]["runs"]]) for c in ("bandit_boosting", "n_point_fkm")]
    differences = losses[0] - losses[1]
    pair = ours["paired_bandit"]
    # Two runs, one degree of freedom: Student's 97.5 % point is 12.706.
    half = 12.7062 * differences.std(ddof=1) / np.sqrt(2)
    assert pair["mean"] == pytest.approx(differences.mean())
    assert (pair["low"], pair["high"]) == pytest.approx(
        (differences.mean() - half, differences.mean() + half), rel=1e-4
    )
    assert len(ours["columns"]["bandit_boosting"]["runs"][0]["deltas"]) == len(table2.DELTAS)
    text = table2_report.report(results, tmp_path).read_text()
    assert text.count("<img") == 2
    assert "weights" in text
    assert len(table2_report.terminal_tables(results)) == 3


def test_racing_keeps_the_best_and_judges_fresh_models() -> None:
    world = bb.worlds.SyntheticLinear(rounds=600, features=2)
    scales = [10.0**-k for k in range(6)]

    def build(scale: float) -> bb.Booster:
        learner = bb.learners.Linear(rate=bb.rates.Power(scale, 0.5))
        return bb.algorithms.ogd(bb.spaces.Interval(-2, 2), learner=learner)

    everything = tuning.tune(scales, build, world, lambda w: w)
    assert [t.rounds for t in everything] == [600] * 6
    exact = [bb.evaluate.progressive(build(s), world).mean for s in scales]
    assert tuple(everything[-1]) == pytest.approx((int(np.argmin(exact)), min(exact), 600), rel=1e-7)


def test_long_worlds_are_raced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "FULL", 50)
    world = bb.worlds.SyntheticLinear(rounds=600, features=2)
    seen: list[tuple[int, int]] = []

    def view(part: bb.worlds.Supervised) -> bb.worlds.Supervised:
        seen.append((len(part), 0))
        return part

    settings = list(range(1, 33))
    tried = tuning.tune(settings, lambda n: bb.algorithms.ogd(bb.spaces.Interval(-2, 2), seed=n), world, view)
    assert [rounds for rounds, _ in seen] == [38, 150, 600]
    assert [sum(t.rounds == r for t in tried) for r in (38, 150, 600)] == [32, 8, 2]


def test_unknown_and_missing_data_stop_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BANDITBOOST_DATA", raising=False)
    with pytest.raises(ValueError, match="datasets must be one of abalone, adult, census, letter, slice; got 'iris'"):
        table2.reproduce(["iris"])
    with pytest.raises(ValueError, match="at least one data set"):
        table2.reproduce([])
    with pytest.raises(FileNotFoundError, match=r"slice\.parquet"):
        table2.reproduce(["slice"])
