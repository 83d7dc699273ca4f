"""Table 2's protocol, on a small grid: tuned on first halves only, reported on second halves, the same for all columns."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.experiments import table2, table2_readings, table2_report, table2_says, tuning

ROOT = Path(__file__).parent.parent.parent
TINY = table2_readings.Grid(copies=(5,), scales=(1e-2, 1e-1), powers=(0.5,), radii=(10.0,))


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    return table2.reproduce(["abalone"], runs=2, grid=TINY)


def test_a_cell_is_what_a_user_would_run_by_hand() -> None:
    data = bb.datasets.load("abalone").scaled("minmax")
    world = bb.worlds.Supervised(np.asarray(data.X), data.y, noise=bb.noise.Uniform(0.1)).shuffled(1)
    tuning, testing = world.halves()
    assert (len(tuning), len(testing)) == (2088, 2089)

    def by_hand(scale: float) -> bb.Booster:
        learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(scale, 0.5))
        space = bb.spaces.Interval(1.0, 29.0)
        return bb.algorithms.bandit_boosting(space, copies=5, delta=0.5, learner=learner, inside=False, seed=1)

    tuned = {scale: bb.evaluate.progressive(by_hand(scale), tuning).mean for scale in (1e-2, 1e-1)}
    best = min(tuned, key=lambda scale: tuned[scale])
    cell = table2.Run("abalone", "bandit_boosting", 1, TINY, "free").run()
    assert cell["setting"]["scale"] == best
    assert cell["tuning_loss"] == pytest.approx(tuned[best], rel=1e-12)
    assert cell["loss"] == pytest.approx(bb.evaluate.progressive(by_hand(best), testing).mean, rel=1e-12)


def test_full_information_agrees_with_an_independent_check(results: dict[str, Any]) -> None:
    # Outside the project OGD reached 7.09 ± 0.26 on abalone under this protocol.
    for key in ("C", "free"):
        loss = results["rows"]["abalone"]["readings"][key]["columns"]["ogd"]["mean"]
        assert loss == pytest.approx(7.09, rel=0.05)


def test_the_table_and_the_report_can_be_read(results: dict[str, Any], tmp_path: Path) -> None:
    rows = table2_report.cells_of(results)
    assert [secondary for secondary, _ in rows] == [False, True, True, False]
    assert rows[3][1][:2] == ["slice", "not run: data not reachable"]
    assert rows[2][1][1:7] == ["3.708", "3.71", "-0.05%", "12.21", "11.68", "+4.3%"]
    assert table2_report.headings_of(results)[1:7] == [
        *("full OGD", "full boosting", "decrease, C"),
        *("bandit N-FKM", "bandit boosting", "decrease, D"),
    ]
    text = table2_report.report(results, tmp_path).read_text()
    assert "data:image/png;base64," in text
    assert "http" not in text.replace("http-equiv", ""), "the report needs nothing from elsewhere"
    assert text.count("<img") == 2
    assert "What it cost to learn" in text
    table, paid, decreases, *sentences = table2_report.terminal_tables(results)
    assert not isinstance(table, str)
    assert not isinstance(paid, str)
    assert not isinstance(decreases, str)
    assert (table.row_count, paid.row_count, decreases.row_count) == (4, 3, 9 + 1 + 4 + 1)
    assert all(isinstance(sentence, str) for sentence in sentences)


def test_every_reading_is_run_and_compared_run_by_run(results: dict[str, Any]) -> None:
    row = results["rows"]["abalone"]
    assert list(row["readings"]) == list(table2_readings.READINGS)
    for key, reading in row["readings"].items():
        for half, columns in table2_report.HALVES.items():
            assert (half in reading) == (columns[0] in table2_readings.READINGS[key].columns)
            if half not in reading:
                continue
            usual, ours = (np.array([run["loss"] for run in reading["columns"][c]["runs"]]) for c in columns)
            # Two runs, one degree of freedom: Student's 97.5 % point is 12.706.
            saved = usual - ours
            ends = saved.mean() + 12.7062 * saved.std(ddof=1) / np.sqrt(2) * np.array([-1, 1])
            decrease = reading[half]["decrease"]
            assert (decrease["low"], decrease["high"]) == pytest.approx(tuple(ends / usual.mean()), rel=1e-4)
            assert decrease["mean"] == pytest.approx(1 - ours.mean() / usual.mean())
            assert reading[half]["difference"]["mean"] == pytest.approx(-saved.mean())
            assert reading[half]["ahead"] == (saved > 0).sum()
    mixed, a, free = (row["readings"][key]["columns"] for key in ("A-free", "A", "free"))
    assert mixed["bandit_boosting"]["mean"] == a["bandit_boosting"]["mean"]
    assert mixed["n_point_fkm"]["mean"] == free["n_point_fkm"]["mean"]


def told(**decreases: tuple[float, float]) -> dict[str, Any]:
    """Results of reading D that say so much only."""
    rows = {
        name: {"readings": {"D": {"bandit": {"decrease": {"mean": (low + high) / 2, "low": low, "high": high}}}}}
        for name, (low, high) in decreases.items()
    }
    return {"protocol": {"readings": {"D": {"title": "its title"}}}, "rows": rows}


def test_sentences_say_what_the_intervals_say() -> None:
    found, easy = table2_says.says(told(abalone=(0.1, 0.3), adult=(-0.3, -0.1), census=(-0.1, 0.2), letter=(0.2, 0.4)))
    assert found == (
        "Under D (its title) boosting's loss is below N-FKM's on abalone by 20.0% (10.0% .. 30.0%) and "
        "on letter by 30.0% (20.0% .. 40.0%); above N-FKM's on adult by 20.0% (10.0% .. 30.0%); "
        "not told apart from it on census."
    )
    assert easy == table2_says.EASY
    assert "all its weights" in easy


def loose_claims(text: str) -> list[str]:
    """Return sentences that claim that Table 2 reproduces without saying under which reading."""
    sentences = re.split(r"(?<=[.!?*:])\s+", re.sub(r"`[^`]*`", "", text))
    return [s for s in sentences if re.search(r"(?<!not )\breproduc", s) and "Table 2" in s and "under D" not in s]


def test_no_page_says_that_table_2_reproduces_without_saying_under_which_reading() -> None:
    assert loose_claims("**Table 2 reproduces.** It does.") == ["**Table 2 reproduces.**"]
    assert loose_claims("Table 2 reproduces under D. `banditboost reproduce table2` shows Table 2.") == []
    pages = (ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"))
    assert {page.name: loose_claims(page.read_text()) for page in pages} == {page.name: [] for page in pages}


KEPT = {
    "D": {"below"},
    "A": {"above"},
    "free": {"above"},
    "free-wide": {"above"},
    "free-weights": {"above"},
}
"""What README and docs/table2.md say in words about the bandit half, on all data sets alike."""


def test_the_kept_results_are_what_the_pages_say_in_words() -> None:
    rows = json.loads((ROOT / "results" / "table2.json").read_text())["rows"]
    verdicts = {
        key: {table2_says.verdict(row["readings"][key]["bandit"]["decrease"]) for row in rows.values()} for key in KEPT
    }
    assert verdicts == KEPT
    for row in rows.values():
        d, a = (row["readings"][key]["columns"]["bandit_boosting"]["runs"] for key in "DA")
        assert [run["loss"] for run in d] == [run["loss"] for run in a], "boosting's runs are the same in D and in A"
        paid = {
            column: np.mean([run["paid"] for run in row["readings"]["D"]["columns"][column]["runs"]])
            for column in table2_readings.BANDIT
        }
        assert paid["bandit_boosting"] > max(paid["n_point_fkm"], row["running_mean"]["mean"])
        assert abs(row["readings"]["C"]["full"]["decrease"]["mean"]) < 0.005, "next to equal"
        assert all(
            reading["full"]["decrease"]["mean"] < 0.1 for reading in row["readings"].values() if "full" in reading
        )
    assert table2_says.verdict(rows["letter"]["readings"]["B"]["bandit"]["decrease"]) == "below"
    runs = [run for row in rows.values() for run in row["readings"]["F"]["columns"]["n_point_fkm"]["runs"]]
    assert sum(run["setting"]["radius"] < 1.0 for run in runs) == 1, "one run chooses a smaller ball"
    for key in "EF":
        found = {name: table2_says.verdict(row["readings"][key]["bandit"]["decrease"]) for name, row in rows.items()}
        assert found.pop("abalone") == "not told apart"
        assert set(found.values()) == {"below"}


def test_the_kept_results_are_20_runs_with_equal_rows_and_settings_on_both_sides() -> None:
    kept = json.loads((ROOT / "results" / "table2.json").read_text())
    for name, row in kept["rows"].items():
        for key, reading in row["readings"].items():
            columns = reading["columns"].values()
            assert {len(column["runs"]) for column in columns} == {20}, (name, key)
            assert len({run["rounds"] for column in columns for run in column["runs"]}) == 1
            if not kept["protocol"]["readings"][key]["free"]:
                numbers_tried = {run["settings"] for column in columns for run in column["runs"]}
                assert numbers_tried == ({96, 144} if key == "F" else {max(numbers_tried)})
                if key != "C":
                    numbers = [[run["setting"]["copies"] for run in column["runs"]] for column in columns]
                    assert numbers[0] == numbers[1]
    for key, told in kept["protocol"]["readings"].items():
        assert told["grid"] == table2_readings.READINGS[key].grid.to_dict(), (
            "the grids that were committed before the run"
        )


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
    with pytest.raises(ValueError, match=r"reading must be one of A, A-free, B, .*; got 'G'"):
        table2.reproduce(["abalone"], readings=["G"])
    with pytest.raises(ValueError, match="reading must name at least one reading"):
        table2.reproduce(["abalone"], readings=[])
