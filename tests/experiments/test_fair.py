"""Fair peers: everyone has as many settings, nobody sees a label too early, and a run that diverges is called so."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost import algorithms
from banditboost.cli.app import app
from banditboost.datasets import NAMES
from banditboost.experiments import fair, fair_report, peers
from banditboost.experiments.further import FURTHER, HELD_OUT
from banditboost.experiments.peers_settings import RANGES, TRIALS, ours, settings
from banditboost.gradients import Exact
from banditboost.spaces import Interval


@pytest.mark.parametrize("who", RANGES)
def test_everyone_tries_as_many_settings_the_default_among_them(who: str) -> None:
    found = settings(who)
    assert len(found) == TRIALS == 20
    assert found[0] == {}
    assert len({json.dumps(setting) for setting in found}) == TRIALS
    assert found == settings(who), "drawn anew they must be the same"
    for name, choices in RANGES[who].items():
        if isinstance(choices, tuple) and None not in choices:
            assert {setting[name] for setting in found[1:]} <= set(choices) or hasattr(choices, "low")


def test_everyone_who_is_run_has_ranges() -> None:
    assert set(RANGES) == {"ours", "ridge", "forgetting_ridge", "forgetting_mean", *peers.PEERS, *peers.ADAPTIVE}


@pytest.mark.parametrize("answers", [1, 2, 30])
def test_ours_untuned_is_the_default(answers: int) -> None:
    space = Interval(0.0, 2.0)
    assert ours(space, answers, {}, 3).spec == algorithms.boosted(space, answers=answers, seed=3, memory=None).spec
    assert ours(space, answers, {}, 3, fair.MEMORY).spec == algorithms.boosted(space, answers=answers, seed=3).spec
    told = algorithms.boosted(space, gradient=Exact(), seed=3, memory=None).spec
    assert ours(space, 0, {}, 3).spec == told
    changed = ours(space, answers, settings("ours")[1], 3).spec
    assert changed.copies == settings("ours")[1]["copies"]
    assert changed.gradient.count(changed.copies) == answers


def test_trials_and_runs_share_no_row() -> None:
    tuning, testing, space = fair.halves("abalone", "squared", 0)
    assert len(tuning) + len(testing) == 4177
    rows = {tuple(row) for row in np.column_stack([tuning.contexts(), tuning.labels()])}
    shared = sum(tuple(row) in rows for row in np.column_stack([testing.contexts(), testing.labels()]))
    assert shared < 5, "but for rows that occur twice in the data"
    other = fair.halves("abalone", "squared", 1)[1]
    assert sorted(other.labels()) == sorted(testing.labels()), "runs are shuffles of the same half"
    assert not np.array_equal(other.labels(), testing.labels())
    assert (space.low, space.high) == (1.0, 29.0)


@pytest.mark.long
@pytest.mark.parametrize("name", ["histogram", "river_linear"])
def test_no_prediction_knows_its_own_label_or_a_later_one(name: str) -> None:
    rng = np.random.default_rng(0)
    contexts, labels = rng.random((80, 3)), rng.random(80)
    before = peers.play(name, contexts, labels)
    for t in (0, 19, 20, 50):
        changed = labels.copy()
        changed[t:] += 5.0
        after = peers.play(name, contexts, changed)
        assert np.array_equal(before[: t + 1], after[: t + 1])
        assert not np.array_equal(before, after)


def test_refitted_peers_see_all_rows_before_and_are_asked_for_every_row() -> None:
    stretches = list(peers.refits(1000))
    assert stretches[0][0] == peers.FIRST
    assert [end for _, end in stretches[:-1]] == [begin for begin, _ in stretches[1:]]
    assert stretches[-1][1] == 1000
    assert all(end <= np.ceil(1.3 * begin) for begin, end in stretches)


def test_a_run_that_diverges_is_called_so_and_never_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "ROWS", 200)
    wild = fair.Run("abalone", "river_linear", json.dumps({"rate": 30.0}))
    calm = fair.Run("abalone", "river_linear", json.dumps({"rate": 0.003}))
    found = {wild: wild.run(), calm: calm.run()}
    assert found[wild]["diverged"]
    assert not found[calm]["diverged"]
    found[wild]["loss"] = 0.0
    assert fair.best([wild, calm], found) == calm.setting


@pytest.mark.long
def test_a_small_run_its_tables_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "ROWS", 150)
    monkeypatch.setattr(fair, "TUNING", 60)
    arguments = [
        "reproduce",
        "fair",
        "--datasets",
        "abalone,digits",
        "--peers",
        "river_linear,histogram",
        "--runs",
        "2",
    ]
    shown = CliRunner().invoke(
        app, [*arguments, "--quiet", "--json", str(tmp_path / "f.json"), "--report", str(tmp_path)]
    )
    assert shown.exit_code == 0, shown.output
    results = json.loads((tmp_path / "f.json").read_text())
    rows: list[dict[str, Any]] = results["rows"]
    assert {row["dataset"] for row in rows if row["tuned"]} == {"abalone"}, "nobody is tuned on further data sets"
    assert len(results["trials"]) == 20 * len([*fair.OURS, "river_linear", "histogram", "ridge"])
    text = (tmp_path / "fair.html").read_text()
    assert "scikit-learn histogram boosting, refitted, tuned" in text
    assert "no part in any choice" in text
    table = {line[0]: line for _, line in fair_report.squared_of(results)}
    assert table["ours, 30 answers"][-1] == "", "all others are measured by it"
    assert float(table["running mean"][-1]) > 0
    assert table["ours, 1 answer: paid"][1] != "-"
    for row in rows:
        if row["who"] == "river_linear" and row["dataset"] == "abalone":
            row |= {"diverged": 2}
            row.pop("loss", None)
    assert {line[0]: line for _, line in fair_report.squared_of(results)}["River linear"][1] == "diverged"


def test_peers_that_are_not_installed_say_so() -> None:
    if importlib.util.find_spec("capymoa") is not None:
        pytest.skip("CapyMOA is installed")
    with pytest.raises(ImportError, match="CapyMOA SGBR needs the extra 'bench'"):
        fair.wanted_peers("sgbr")
    with pytest.raises(ValueError, match="name must be"):
        fair.wanted_peers("xgboost")
    assert fair.wanted_peers("") == ()


def test_a_data_set_that_is_not_known_is_told_all_that_are() -> None:
    said = CliRunner().invoke(app, ["reproduce", "fair", "--datasets", "nope", "--peers", ""])
    known = [*NAMES, *FURTHER, *HELD_OUT]
    assert said.exit_code != 0
    assert f"datasets must be one of {', '.join(sorted(known))}; got 'nope'" in " ".join(str(said.exception).split())
