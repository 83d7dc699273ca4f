"""The bounds experiment: small games hold, and its verdicts can fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.experiments import bounds, bounds_games, bounds_report, exponents


@pytest.mark.parametrize(
    "game",
    [
        bounds_games.LinearGame(64, 20, "fpl", "laplace", bb.spaces.Ball(3)),
        bounds_games.LinearGame(64, 1, "ftrl", space=bb.spaces.Simplex(3)),
        bounds_games.ProjectionFreeGame(64, 10, bb.spaces.Simplex(3), "oblivious", "fpl"),
        bounds_games.ProjectionFreeGame(64, 10, bb.spaces.Ball(3), "stationary", "ogd", 4),
        bounds_games.BanditGame(64, 10, bb.spaces.Simplex(3), "oblivious"),
        bounds_games.BoostingGame(64, 10, "squared", 5, 0.5, 0.2),
        bounds_games.BoostingGame(64, 1, "squared", 5, 2.0, None),
        bounds_games.BoostingGame(64, 10, "absolute", 5, 1.0, 0.3),
    ],
    ids=lambda game: f"{type(game).__name__}-{game.digest()[:6]}",
)
def test_small_games_hold(game: bounds_games.Game) -> None:
    result = game.run()
    rows = list(bounds._rows(game, result))
    assert all(row["held"] for row in rows)
    smooth = (
        isinstance(game, bounds_games.ProjectionFreeGame | bounds_games.BanditGame)
        or getattr(game, "loss", "") == "squared"
    )
    assert len(rows) == (3 if smooth else 2)
    assert bounds.describe(game, result)


def test_a_verdict_can_fail() -> None:
    game = bounds_games.Game.__new__(bounds_games.BoostingGame)
    verdict = bounds_games.Game.verdict(
        game, np.array([1.0, 3.0]), expected=1.5, likely=2.0, margins=np.array([0.5, -0.1])
    )
    rows = list(bounds._rows(bounds_games.BoostingGame(), verdict))
    assert [row["held"] for row in rows] == [False, False, False]


def test_the_grid_asks_for_enough_seeds() -> None:
    games = list(bounds.cells())
    random = [g for g in games if g.seeds > 1]
    assert min(g.seeds for g in random) >= 100
    for kind in (bounds_games.ProjectionFreeGame, bounds_games.BanditGame, bounds_games.BoostingGame):
        assert max(g.seeds for g in random if isinstance(g, kind)) >= 1000
    assert {g.gamma for g in games if isinstance(g, bounds_games.BoostingGame)} == {0.5, 1.0, 2.0}


def test_exponents_are_fitted_right() -> None:
    horizons = [100, 200, 400, 800]
    regrets = 3.0 * np.sqrt(np.array(horizons))[:, np.newaxis] * np.array([0.9, 1.0, 1.1])
    slope, low, high = exponents.fit(horizons, regrets)
    assert slope == pytest.approx(0.5, abs=1e-9)
    assert low <= slope + 1e-9
    assert high >= slope - 1e-9


def test_report_shows_violations(tmp_path: Path) -> None:
    fit: dict[str, Any] = {
        "algorithm": "projection_free",
        "space": "Ball",
        "horizons": [10, 20],
        "mean_regret": [1.0, 1.5],
        "regret_per_round": [0.1, 0.075],
        "exponent": 0.58,
        "interval": [0.5, 0.6],
    }
    row = {"theorem": "Algorithm 1", "setting": "s", "horizon": 9, "seeds": 4, "kind": "expected", "measured": 2.0}
    results = {
        "protocol": {"failure": 0.05},
        "rows": [
            {**row, "bound": 1.0, "ratio": 2.0, "held": False},
            {**row, "bound": 4.0, "ratio": 0.5, "held": True},
        ],
        "exponents": [fit | {"world": "stationary", "target": 0.55}, fit | {"world": "adaptive", "target": None}],
    }
    assert bounds_report.summary(results) == [["Algorithm 1", "expected", "2", "8", "2.000", "1/2"]]
    assert "VIOLATED" in bounds_report.report(results, tmp_path).read_text()
    assert [table.row_count for table in bounds_report.terminal_tables(results)] == [1, 2]
