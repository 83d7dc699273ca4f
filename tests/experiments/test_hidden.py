"""Games that hide the label do hide it; labels can be computed where they do not; coverage is counted; a small run has tables."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import banditboost as bb
from banditboost.cli.app import app
from banditboost.experiments import hidden, hidden_report
from banditboost.experiments.hidden_games import Game, Reserve, geometric_median, running_centres


def test_a_reserve_that_is_large_enough_shows_nothing_of_the_demand() -> None:
    loss = Reserve(0.1)
    assert loss.value(8.0, 3.0) == loss.value(8.0, 7.0) == pytest.approx(0.8)
    assert loss.gradient([2.0, 8.0], 5.0).round(6).tolist() == [-0.9, 0.1]
    with pytest.raises(ValueError, match="cost must lie strictly between 0 and 1"):
        Reserve(1.5)


def test_the_least_reserve_is_a_quantile() -> None:
    demands = np.random.default_rng(0).uniform(0, 1, 20_000)
    points = np.linspace(0, 1, 101)
    costs = [float(Reserve(0.1).value(point, demands).mean()) for point in points]
    assert points[int(np.argmin(costs))] == pytest.approx(0.9, abs=0.02)


def test_the_compiled_reserve_costs_the_same() -> None:
    game, traces = Game("reserve", rounds=60), []
    for compiled in (False, True):
        booster = bb.Booster(copies=2, gradient=bb.gradients.Exact(), space=game.space())
        traces.append(bb.evaluate.progressive(booster, game.world(), compiled=compiled).losses)
    np.testing.assert_allclose(traces[0], traces[1], rtol=1e-9)


def test_the_constant_knows_earlier_rounds_only() -> None:
    game = Game("reserve", rounds=50)
    labels, losses = game.world().labels(), game.constants()
    grid = np.linspace(1.0, 29.0, 201)
    for t in (1, 7, 49):
        past = [float(Reserve().value(point, labels[:t]).sum()) for point in grid]
        assert losses[t] == pytest.approx(float(Reserve().value(grid[int(np.argmin(past))], labels[t])))
    points = np.random.default_rng(1).normal(size=(40, 3))
    np.testing.assert_allclose(running_centres(points, plain=True)[20], points[:20].mean(axis=0))
    median = geometric_median(points)
    pulls = (points - median) / np.linalg.norm(points - median, axis=1, keepdims=True)
    np.testing.assert_allclose(pulls.sum(axis=0), 0.0, atol=1e-2)


def test_what_is_missed_in_the_shop_is_nothing_at_the_best_prices() -> None:
    game = Game("shop", rounds=20_000)
    shop = game.world()
    assert isinstance(shop, bb.worlds.Shop)
    sold = shop.loss.value(shop.best_prices, shop.labels(), 0)
    assert abs(float((sold + game.beside()).mean())) < 0.05
    assert float((game.constants() + game.beside()).mean()) > 0.2


@pytest.mark.parametrize("answers", [2, 30])
def test_labels_can_be_computed_from_squared_losses(answers: int) -> None:
    found = hidden.Decoded(answers, rounds=60).run()
    assert found["error"] < 0.05 * found["deviation"]


def test_labels_cannot_be_computed_from_reserves() -> None:
    rng = np.random.default_rng(2)
    points, demand = rng.uniform(6, 9, 30), 5.0
    told = Reserve().value(points, demand)
    assert np.array_equal(told, Reserve().value(points, 1.0))


def test_a_small_run_has_tables(tmp_path: Path) -> None:
    file = tmp_path / "hidden.json"
    command = ["reproduce", "hidden", "--games", "reserve", "--quick", "--runs", "2", "--rounds", "200"]
    shown = CliRunner().invoke(app, [*command, "--json", str(file), "--report", str(tmp_path), "--quiet"])
    assert shown.exit_code == 0, shown.output
    results = json.loads(file.read_text())
    assert {row["who"] for row in results["tables"]["games"]} == {"ours", "constant"}
    for row in results["tables"]["games"]:
        assert row["paid"] == pytest.approx(np.mean(row["paid_runs"]), rel=1e-5)
        assert (row["paid"] == row["predicted"]) == (row["answers"] == 0)
    (coverage,) = results["tables"]["coverage"]
    assert (coverage["level"], coverage["way"]) == (0.9, "fitted")
    assert hidden_report.headings_of(results) == ("paid (at predictions)", "reserve")
    titles = [row[0] for _, row in hidden_report.games_of(results)]
    assert titles == ["ours, 1 answer", "ours, gradients told", "best constant of earlier rounds, told labels"]
    assert "Where answers do not give the label away" in (tmp_path / "hidden.html").read_text()


def test_the_bias_of_fitted_for_quantiles_is_counted() -> None:
    """Fitted was measured to put far more than nine tenths of the labels below the 0.9-quantile; gradients told do not."""
    shares = {way: hidden.Coverage(0.9, way, rounds=900).run()["coverage"] for way in ("told", "fitted")}
    assert abs(shares["told"] - 0.9) < 0.03
    assert shares["fitted"] > 0.94


def test_unknown_games_are_named() -> None:
    with pytest.raises(ValueError, match="name must be one of"):
        hidden.reproduce(["casino"], quick=True)
