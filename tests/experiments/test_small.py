"""Small tables and noise: ratios and their limits, boosters that are broken on purpose, and a small run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.evaluate import online_ridge, progressive, running_mean
from banditboost.experiments import small, small_report, small_shows
from banditboost.experiments.data import scaled
from banditboost.experiments.peers_settings import ours
from banditboost.experiments.small_shows import REFERENCES, broken_that_pass, shows_of
from banditboost.noise import Uniform
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

LOSSES = {"ours_30": (0.82, 0.80), "ridge": (0.90, 0.85), "ridge_middle": (0.80, 0.75), "mean": (1.0, 1.0)}


def rows_of(table: str, losses: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return rows with these losses over all rounds and from round 200 on."""
    return [{"table": table, "who": who, "loss": loss, "late": late} for who, (loss, late) in losses.items()]


def test_tables_are_compared_with_the_better_of_two_and_noise_with_the_running_mean() -> None:
    (show,) = shows_of(rows_of("wages", LOSSES))
    assert show == {
        "table": "wages",
        "who": "ours_30",
        "ratio": 1.025,
        "limit": 1.03,
        "met": True,
        "plain": 0.911111,
        "plain_met": True,
        "late": 0.8,
        "late_limit": 1.01,
        "late_met": True,
    }
    (show,) = shows_of(rows_of("wages", LOSSES | {"ours_30": (0.85, 0.8)}))
    assert (show["met"], show["plain_met"]) == (False, True), "zero is far from some labels"
    worse = {"ridge": (1.2, 1.2), "ridge_middle": (1.2, 1.2), "ours_30": (1.02, 1.02)}
    (show,) = shows_of(rows_of("wages", LOSSES | worse))
    assert (show["ratio"], show["met"], show["late"], show["late_met"]) == (1.02, True, 1.02, False)
    (show,) = shows_of(rows_of("noise_500", LOSSES | {"ours_30": (1.02, 1.0)}))
    assert (show["ratio"], show["limit"], show["met"], show["late_met"]) == (1.02, 1.01, False, True)
    (show,) = shows_of(rows_of("noise_500", LOSSES | {"ours_30": (1.005, 1.0), "ridge": (0.9, 0.9)}))
    assert show["met"], "on noise the running mean alone counts"


def test_a_broken_booster_that_keeps_the_limits_is_complained_about() -> None:
    table = LOSSES | {"other_rows": (1.01, 1.0), "no_prior": (0.8, 0.8)}
    noise = LOSSES | {"other_rows": (1.0, 1.0), "no_prior": (1.1, 1.0), "ridge": (1.0, 1.0)}
    assert broken_that_pass(shows_of(rows_of("wages", table) + rows_of("noise_500", noise))) == []
    learned = shows_of(rows_of("wages", table | {"other_rows": (0.8, 0.8)}) + rows_of("noise_500", noise))
    assert broken_that_pass(learned) == [
        "The booster 'other_rows', which is broken on purpose, keeps every limit on tables."
    ]
    careful = shows_of(rows_of("wages", table) + rows_of("noise_500", noise | {"no_prior": (1.0, 1.0)}))
    assert broken_that_pass(careful) == [
        "The booster 'no_prior', which is broken on purpose, keeps every limit on noise."
    ]
    assert broken_that_pass(shows_of(rows_of("noise_500", noise))) == [], "without tables nothing is said about them"


def line(rows: int = 400, features: int = 4, signal: float = 1.0, seed: int = 0) -> tuple[Supervised, Interval]:
    """Return a world with a noisy linear signal, or pure noise."""
    rng = np.random.default_rng([seed, 77])
    contexts = rng.random((rows, features))
    labels = signal * 4 * (contexts[:, 0] - contexts[:, 1]) + rng.standard_normal(rows)
    labels /= labels.std()
    return Supervised(contexts, labels, noise=Uniform(0.1)), Interval(float(labels.min()), float(labels.max()))


def test_a_booster_that_is_told_losses_of_other_rows_learns_nothing_about_labels() -> None:
    world, space = line()
    told = float(progressive(ours(space, 30, {}, 0), world).losses.mean())
    wrong = [float(small.told_of_other_rows(ours(space, 30, {}, 0), world, seed).mean()) for seed in range(6)]
    mean = float(running_mean(world).mean())
    assert told < 0.8 * mean
    assert np.mean(wrong) > 0.97 * mean, "in the mean: a single permutation may be close to the truth by chance"


def test_without_a_prior_noise_is_learned() -> None:
    ratios = []
    for seed in range(2):
        world, space = line(features=20, signal=0.0, seed=seed)
        trace = progressive(small.without_prior(space, seed), world)
        ratios.append(float(trace.losses.mean() / running_mean(world).mean()))
    assert np.mean(ratios) > 1.02, "which is above the limit"


def test_ridge_from_the_middle_does_not_notice_how_far_labels_are_from_zero() -> None:
    world, space = line()
    far = Supervised(world.contexts(), world.labels() + 50.0)
    around = Interval(space.low + 50.0, space.high + 50.0)
    np.testing.assert_allclose(small.ridge_from_middle(far, around), small.ridge_from_middle(world, space), atol=1e-9)
    assert online_ridge(far, space=around).mean() > 1.2 * small.ridge_from_middle(far, around).mean()


def test_noise_is_drawn_anew_for_every_run_and_does_not_depend_on_contexts() -> None:
    world, space = small.world_of("noise_1000", 3)
    other = small.world_of("noise_1000", 4)[0]
    assert (len(world), world.features) == (1000, 30)
    assert (space.low, space.high) == (world.labels().min(), world.labels().max())
    assert set(world.labels().tolist()).isdisjoint(other.labels().tolist())
    seen = np.corrcoef(np.column_stack([world.contexts(), world.labels()]).T)[-1, :-1]
    assert np.abs(seen).max() < 4 / 1000**0.5
    again = small.world_of("noise_1000", 3)[0]
    assert np.array_equal(world.labels(), again.labels())


def test_choices_see_no_row_of_a_second_half() -> None:
    world, _ = small.world_of("letter", 0)
    data = scaled("letter")
    second = Supervised(data.X, data.y).shuffled(0).halves()[1]
    rows = {row.tobytes() for row in second.contexts()}
    assert len(world) == 1000
    shared = sum(row.tobytes() in rows for row in np.ascontiguousarray(world.contexts()))
    assert shared < 100, "but for letters that were drawn alike"
    assert world.labels().std() == pytest.approx(1.0)


def test_a_small_run_its_tables_and_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = ["reproduce", "small", "--datasets", "abalone", "--runs", "2", "--rows", "230", "--quick", "--quiet"]
    command += ["--json", str(tmp_path / "s.json"), "--report", str(tmp_path), "--resume", str(tmp_path / "cells")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    results = json.loads((tmp_path / "s.json").read_text())
    assert {row["who"] for row in results["rows"]} == {"ours_30", "memory_30", *REFERENCES, *small.BROKEN}
    assert results["tables"] == [{"table": "abalone", "rows": 230, "features": 10}]
    assert results["complaints"] == []
    assert all(len(row["late_runs"]) == 2 for row in results["rows"])
    (wrong,) = [show for show in results["shows"] if show["who"] == "other_rows"]
    assert not wrong["met"]
    again = small.reproduce(["abalone"], runs=2, rows=230, quick=True, folder=tmp_path / "cells")
    assert again["rows"] == results["rows"], "results are kept"
    assert small_report.headings_of(results) == ("learner", "abalone, 230 × 10")
    lines = {text[0]: text for _, text in small_report.losses_of(results)}
    assert lines["ours with memory, 30 answers: paid"][1] > "0"
    ratios = {text[0]: text[1:] for _, text in small_report.all_rounds_of(results)}
    assert ratios["broken: told losses of other rows"][0].endswith(" > 1.03")
    assert ratios["broken: told losses of other rows"][1] == "0 of 1"
    assert "running mean" not in ratios
    assert "must be above" in (tmp_path / "small.html").read_text()
    monkeypatch.setattr(small_shows, "TABLE_LIMIT", 99.0)
    failed = CliRunner().invoke(app, command)
    assert failed.exit_code != 0, "a limit that everybody keeps says nothing"
    assert "'other_rows', which is broken on purpose" in str(failed.output) + str(failed.exception)


def test_wrong_names_and_too_few_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="datasets must be one of abalone, adult, cars"):
        small.reproduce(["nowhere"])
    with pytest.raises(ValueError, match="datasets must name at least one table"):
        small.reproduce([])
    with pytest.raises(ValueError, match="rows must be a whole number of at least 201"):
        small.reproduce(["noise_300"], rows=200)
    assert small.NAMES == ("diabetes", "chicks", "cars", "wages", "pima", "noise_300", "noise_500", "noise_1000")
