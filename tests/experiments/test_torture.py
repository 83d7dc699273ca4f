"""The default under torture: troubles are what they say, numbers are compared at equal rounds told, a small run has tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import torture, torture_report
from banditboost.experiments.torture_games import SPELL, TROUBLES, lasting, named, possible, stream_of

RNG = np.random.default_rng


def test_answers_come_when_they_should() -> None:
    when = {name: trouble.when(1600, RNG(0)) for name, trouble in TROUBLES.items()}
    assert when["none"].tolist() == list(range(1600))
    assert (when["delay_300"] - when["none"] == 300).all()
    assert when["batches"][[0, 499, 500]].tolist() == [499, 499, 999]
    delays = when["order"] - when["none"]
    assert 0 <= delays.min() < 20 < 980 < delays.max() < 1000
    assert 0.45 < (when["lost"] == -1).mean() < 0.55
    assert set((when["lost"] - when["none"])[when["lost"] >= 0]) == {100}
    assert np.flatnonzero(when["unanswered"] == -1).tolist() == list(range(500, 600))
    told = torture.told_after(np.array([2, -1, 2, 9]), 4)
    assert told == [[], [], [0, 2], []]


def test_troubles_pass_or_stay() -> None:
    assert SPELL == (0.3125, 0.375)
    assert lasting(named("flat_round"), 1600) == range(500, 501)
    assert lasting(named("cauchy"), 1600) == range(500, 600)
    assert lasting(named("grown"), 1600) == range(600, 1600)
    assert "delay_1000" not in possible(1600)
    assert set(possible(16_000)) == set(TROUBLES)
    with pytest.raises(ValueError, match="trouble must be one of"):
        named("rain")


@pytest.mark.parametrize(
    ("name", "age", "expected"),
    [
        ("flat_round", 0, [1e-6, 2e-6]),
        ("outlier", 0, [1e40, 2e40]),
        ("saturated", 3, [1.0, 1.0]),
        ("grown", 3, [1e3, 2e3]),
        ("shrunk", 3, [1e-3, 2e-3]),
        ("tenfold", 3, [10.0, 20.0]),
        ("alternating", 3, [100.0, 200.0]),
        ("alternating", 4, [1.0, 2.0]),
    ],
)
def test_losses_are_changed_as_the_title_says(name: str, age: int, expected: list[float]) -> None:
    what = named(name).what
    assert what is not None
    np.testing.assert_allclose(what(np.array([1.0, 2.0]), age, RNG(0)), expected)


def test_noise_has_heavy_tails_and_contexts_grow() -> None:
    what, grow, drift = named("cauchy").what, named("contexts").where, named("drift").where
    assert what is not None
    assert grow is not None
    assert drift is not None
    noise = what(np.zeros(10_000), 0, RNG(0))
    assert 0.009 < np.median(np.abs(noise)) < 0.011
    assert np.abs(noise).max() > 1
    assert grow(np.ones(2), 5).tolist() == [100.0, 100.0]
    assert [float(drift(np.ones(1), age)[0]) for age in (0, 500, 1000, 5000)] == [1.0, 5.5, 10.0, 10.0]


def test_streams_go_through_all_rows_before_any_comes_again() -> None:
    contexts, labels = stream_of("abalone", 9000, seed=0)
    first, again = contexts[:4177], contexts[4177:8354]
    assert not np.array_equal(first, again)
    assert np.array_equal(np.sort(first, axis=0), np.sort(again, axis=0))
    assert (labels.min(), labels.max()) == (0.0, 1.0)


def test_ratios_are_of_shares_at_equal_rounds_told() -> None:
    parts = np.arange(torture.PARTS)
    calm = {"rounds": [100.0] * 32, "loss": np.linspace(4, 1, 32).tolist(), "mean": [5.0] * 32}
    same = torture.compared(calm, calm, late=True)
    assert (same["ratio"], same["soon"]) == (1.0, 1.0)
    # Half as many rounds told, of rows that are twice as hard for both.
    half = {name: np.where(parts < 16, 2.0 if name != "rounds" else 1.0, 0.0) * calm[name] for name in calm}
    found = torture.compared(half, calm, late=True)
    assert found["ratio"] == found["soon"] == 1.0
    assert found["loss"] == pytest.approx(2 * np.array(calm["loss"])[4:16].sum() / 1200, rel=1e-5)
    worse = {**calm, "loss": np.where(parts == 20, 6.0, calm["loss"])}
    assert torture.compared(worse, calm, late=False)["worst"] == 1.2
    early = {**calm, "loss": np.where(parts == 2, 6.0, calm["loss"])}
    assert torture.compared(early, calm, late=False)["ratio"] == 1.0
    assert torture.compared(early, calm, late=True)["soon"] > 1.1
    assert torture.compared(early, calm, late=True)["worst"] == 1.2


def test_a_small_run_its_tables_and_its_command(tmp_path: Path) -> None:
    command = ["reproduce", "torture", "--datasets", "abalone", "--rounds", "64", "--answers", "0,2", "--quiet"]
    command += [
        "--json",
        str(tmp_path / "torture.json"),
        "--report",
        str(tmp_path),
        "--resume",
        str(tmp_path / "cells"),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    results = json.loads((tmp_path / "torture.json").read_text())
    played = {
        (k, by_loss): [row["trouble"] for row in results["rows"] if (row["answers"], row["by_loss"]) == (k, by_loss)]
        for k in (0, 2)
        for by_loss in torture.GAMES
    }
    assert played[2, "squared"] == possible(64)
    assert played[0, "squared"] == played[0, "absolute"] == played[2, "absolute"] == ["none", "delay_1", "delay_10"]
    again = torture.reproduce(["abalone"], rounds=64, answers=(0, 2), folder=tmp_path / "cells")
    assert again["rows"] == results["rows"], "results are kept"
    headings, rows = torture_report.headings_of(results), torture_report.rows_of(results)
    assert headings == ("what happens", "abalone, told", "abalone, 2")
    assert all(len(line) == 3 for _, line in rows)
    assert [line[0] for _, line in rows if line[1] == ""] == [
        trouble.title for name, trouble in TROUBLES.items() if name in possible(64)[3:]
    ]
    assert [line[0] for _, line in torture_report.rows_of(results, "absolute")] == [line[0] for _, line in rows[:3]]
    above = torture_report.above_of(results)
    assert len(above) == sum(row["ratio"] > 1.1 or row["worst"] > 1 for row in results["rows"])
    assert "every answer 10 rounds late" in (tmp_path / "torture.html").read_text()
    refused = CliRunner().invoke(app, ["reproduce", "torture", "--answers", "few"])
    assert refused.exit_code != 0
    assert "answers must be whole numbers" in str(refused.output) + str(refused.exception)


def test_the_games_are_what_their_names_say() -> None:
    labels = sorted(RNG(0).uniform(size=101))
    for game, constant in zip(torture.GAMES.values(), (np.mean(labels), np.median(labels)), strict=True):
        assert game.constant(labels) == pytest.approx(constant)
        away, step = np.array([-0.7, 0.2, 0.9]), 1e-6
        slopes = (game.loss(away + step) - game.loss(away - step)) / (2 * step)
        np.testing.assert_allclose(game.slope(away), slopes, rtol=1e-6)
    with pytest.raises(ValueError, match="by_loss must be one of"):
        torture.Tortured(by_loss="cubic", rounds=32).run()
