"""Worlds that change: trials see no reported stream, limits can be missed, kept cells make tables, and a small run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import drift, drift_ours, drift_pictures, drift_report, drift_shows, drift_worlds
from banditboost.experiments.drift_shows import back_after, shows_of, wrong_shows
from banditboost.experiments.drift_streams import in_order
from banditboost.experiments.drift_worlds import LONGER, STREAMS, rounds_of, world_of
from banditboost.experiments.peers_settings import TRIALS
from banditboost.gradients import Exact
from banditboost.spaces import Interval
from banditboost.worlds import Supervised


def rows_of(world: Supervised) -> set[bytes]:
    """Return the rows of a world, each with its label."""
    return {row.tobytes() for row in np.column_stack([world.contexts(), world.labels()])}


@pytest.mark.parametrize("stream", ["flip", "gra", "gra_long"])
def test_trials_share_no_row_with_runs(stream: str) -> None:
    cell = drift.trials(stream, "vw", 400)[0]
    tried, _ = world_of(cell.stream, cell.rounds, cell.seed, trial=True)
    for seed in range(3):
        assert not rows_of(tried) & rows_of(world_of(stream, rounds_of(stream, 400), seed)[0])


def test_trials_on_a_table_see_its_first_fifth_and_runs_the_rest() -> None:
    table = in_order("chicks")
    (tried, space), (run, _) = (world_of("chicks", 0, 0, trial) for trial in (True, False))
    assert len(tried) == 116
    np.testing.assert_array_equal(np.concatenate([tried.labels(), run.labels()]), table.labels())
    np.testing.assert_array_equal(np.concatenate([tried.contexts(), run.contexts()]), table.contexts())
    assert (space.low, space.high) == (table.labels().min(), table.labels().max())


def test_nobody_of_ours_is_tuned_and_everybody_else_has_as_many_settings() -> None:
    assert all(drift.trials("flip", who) == [] for who in (*drift_ours.everyone(), "mean"))
    for who in (*drift.PEERS, "ridge", "forgetting_ridge", "forgetting_mean"):
        cells = drift.trials("lea_long", who)
        assert {(cell.stream, cell.rounds, cell.seed) for cell in cells} == {("lea", 5000, 1000)}
        assert len({cell.setting for cell in cells}) == TRIALS


def test_a_trial_that_diverges_is_never_chosen() -> None:
    cells = drift.trials("flip", "vw")
    done: dict[drift.Run, dict[str, Any]] = {cell: {"loss": 2.0, "diverged": False} for cell in cells}
    done |= {cells[3]: {"loss": 1.0, "diverged": False}, cells[4]: {"loss": None, "diverged": True}}
    assert drift.best(cells, done) == cells[3].setting
    assert drift.best(cells[4:5], done) == cells[4].setting


def test_streams_have_their_own_lengths_and_changes_keep_their_places() -> None:
    assert set(STREAMS) == {
        *drift_worlds.LINEAR,
        "friedman",
        "gra",
        "gsg",
        "lea",
        *LONGER,
        "bikes",
        "approval",
        "chicks",
    }
    assert [rounds_of(name) for name in ("flip", "lea", "lea_long", "chicks")] == [10_000, 10_000, 100_000, 0]
    world, _ = world_of("recurring", 400, 0)
    assert getattr(world, "changes") == (100, 200, 300)  # noqa: B009
    assert world.noise is not None


@pytest.mark.parametrize("k", [30, 2, 1])
def test_ours_by_name(k: int) -> None:
    for name, variant in drift_ours.VARIANTS.items():
        spec = variant.make(Interval(0.0, 1.0), k, 3).spec
        assert drift_ours.of(f"{name}_{k}") == (name, k)
        assert f"{name}_{k}" in drift_ours.everyone()
        assert not isinstance(spec.gradient, Exact)
        assert spec.gradient.count(spec.copies) == k
        assert spec.seed == 3
    for variant in (drift_ours.VARIANTS | drift_ours.BROKEN).values():
        assert variant.without is None or variant.without in drift_ours.VARIANTS


def test_how_soon_a_learner_is_back() -> None:
    calm, wild = np.full(1000, 0.5), np.full(60, 5.0)
    assert back_after(np.concatenate([calm, calm]), 1000) == 100, "a window must lie after the flip"
    assert back_after(np.concatenate([calm, wild, calm]), 1000) == 158
    assert back_after(np.concatenate([calm, np.full(400, 0.61)]), 1000) == 400
    assert back_after(np.concatenate([calm, np.full(400, 0.59)]), 1000) == 100
    early = np.concatenate([np.full(500, 50.0), calm, wild, calm])
    assert back_after(early, 1500) == 158, "only the thousand rounds before count"


def row(who: str, loss: float, back: float, tuned: bool = False) -> dict[str, Any]:
    """Return the row of a learner in the flip."""
    about = {"stream": "flip", "who": who, "tuned": tuned, "untuned": not tuned, "seeds": 2}
    return about | {"loss": loss, "back": back, "back_runs": [back - 10, back + 10]}


def test_both_limits_can_be_missed_and_the_running_mean_must_miss_one() -> None:
    good = [
        row("memory_30", 0.12, 250.0),
        row("forgetting_ridge", 0.2, 400.0),
        row("forgetting_ridge", 0.1, 150.0, True),
    ]
    shows = {(show["who"], show["tuned"]): show for show in shows_of([*good, row("mean", 2.0, 100.0)])}
    assert (shows["memory_30", False]["ratio"], shows["memory_30", False]["back_worst"]) == (1.2, 260.0)
    assert (shows["memory_30", False]["ratio_met"], shows["memory_30", False]["back_met"]) == (True, True)
    assert (shows["mean", False]["ratio_met"], shows["mean", False]["back_met"]) == (False, True)
    assert wrong_shows(list(shows.values())) == []
    late = shows_of([*good, row("plain_1", 0.14, 301.0)])[-1]
    assert (late["ratio_met"], late["back_met"]) == (False, False)
    assert wrong_shows(shows_of([*good, row("mean", 0.11, 100.0)])) == [
        "The learner 'mean', which cannot follow a flip, keeps both limits."
    ]
    assert shows_of([row("mean", 2.0, 100.0)]) == [], "without the ridge that forgets there is nothing to measure by"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results, the report and the cells of a small run."""
    folder = tmp_path_factory.mktemp("drift")
    command = [
        "reproduce",
        "drift",
        "--streams",
        "flip,gra,chicks",
        "--peers",
        "river_tree",
        "--seeds",
        "2",
        "--rows",
        "400",
    ]
    command += ["--tuned", "forgetting_ridge", "--quiet", "--resume", str(folder / "cells")]
    done = CliRunner().invoke(app, [*command, "--json", str(folder / "d.json"), "--report", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def test_a_small_run_its_tables_its_picture_and_its_report(small: Path) -> None:
    results = json.loads((small / "d.json").read_text())
    everyone = {*drift_ours.everyone(), "river_tree", *drift.KNOWN}
    assert {row["who"] for row in results["rows"]} == everyone
    assert results["protocol"]["rounds"] == {"flip": 400, "gra": 400, "chicks": 320}
    by = {(row["stream"], row["who"], row["tuned"]): row for row in results["rows"]}
    assert by["flip", "mean", False]["seeds"] == 2
    assert by["chicks", "mean", False]["seeds"] == 1, "there is no chance in it"
    assert len(by["flip", "memory_30", False]["windows"]) == 1
    assert by["flip", "drift_1", False]["paid"] > by["flip", "drift_1", False]["loss"]
    lines = {text[0]: text for _, text in drift_report.losses_of(results, "drift_worlds")}
    assert lines["running mean"][1].startswith(f"{by['flip', 'mean', False]['loss']:.4g} ±")
    assert "ours, the default, 1 answer: paid" in lines
    assert ("forgetting ridge, tuned" in lines) == (("flip", "forgetting_ridge", True) in by)
    assert drift_report.headings_of(results, "drift_tables") == (
        "learner",
        "chicks, 320",
        "over ours, the default, 30 answers",
    )
    tables = {text[0]: text for _, text in drift_report.losses_of(results, "drift_tables")}
    assert tables["running mean"][1].endswith(" (1)")
    flips = {text[0]: text[-1] for _, text in drift_report.flip_of(results)}
    assert flips["running mean"] == "over 1.3"
    assert drift_report.losses_of(results, "drift_long") == []
    assert all(len(text) == 3 for _, text in drift_report.chosen_of(results))
    figure = drift_pictures.by_window(results)
    assert [ax.get_title() for ax in figure.axes] == ["flip", "gra"]
    assert len(figure.axes[0].lines) == len(drift_ours.VARIANTS) + 3
    assert "Friedman" in (small / "drift.html").read_text()


def test_kept_cells_make_the_same_tables_and_missing_ones_are_left_out(small: Path) -> None:
    results = json.loads((small / "d.json").read_text())
    options: dict[str, Any] = {"seeds": 2, "rows": 400, "folder": small / "cells", "kept": True}
    again = drift.reproduce(["flip", "gra", "chicks"], wanted=["river_tree"], tuned=["forgetting_ridge"], **options)
    assert again["rows"] == results["rows"]
    more = drift.reproduce(["flip", "lea"], tuned=["vw", "forgetting_ridge"], **(options | {"seeds": 5}))
    assert {row["stream"] for row in more["rows"]} == {"flip"}
    assert {row["seeds"] for row in more["rows"]} == {2}
    assert "(2)" in drift_report.losses_of(more, "drift_worlds")[0][1][1]
    with pytest.raises(ValueError, match="kept needs a folder"):
        drift.reproduce(["flip"], kept=True)


def test_a_limit_that_everybody_keeps_is_complained_about(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drift_shows, "RATIO_LIMIT", 99.0)
    command = [
        "reproduce",
        "drift",
        "--streams",
        "flip",
        "--peers",
        "",
        "--seeds",
        "2",
        "--rows",
        "400",
        "--kept",
        "--quiet",
    ]
    failed = CliRunner().invoke(app, [*command, "--resume", str(small / "cells")])
    assert failed.exit_code != 0
    assert "'mean', which cannot follow a flip" in str(failed.output) + str(failed.exception)


def test_entries_say_when_runs_diverged_or_are_missing() -> None:
    assert drift_report._entry(None, "loss", 10) == "-"
    assert drift_report._entry({"diverged": 3, "seeds": 3}, "loss", 10) == "diverged"
    some = {"diverged": 1, "seeds": 3, "loss": 0.5, "loss_runs": [0.4, 0.6]}
    assert drift_report._entry(some, "loss", 10) == "0.5 ±0.14 (3) (1 diverged)"


def test_what_makes_no_sense_is_named() -> None:
    with pytest.raises(ValueError, match="streams must be one of"):
        drift.reproduce(["nowhere"])
    with pytest.raises(ValueError, match="streams must name at least one stream"):
        drift.reproduce([])
    with pytest.raises(ValueError, match="peers must be one of"):
        drift.wanted_peers("xgboost")
    assert drift.wanted_peers("") == ()
    assert drift.wanted_peers("all", check=False) == tuple(drift.PEERS)
    if importlib.util.find_spec("capymoa") is None:
        with pytest.raises(ImportError, match="CapyMOA SGBR needs the extra 'bench'"):
            drift.wanted_peers("sgbr")
