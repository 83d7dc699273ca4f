"""The bounds experiment: its rows are evidence, broken boosters fail them, and what cannot fail is said not to count."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost.cli.app import app
from banditboost.experiments import bounds, bounds_report, exponents
from banditboost.experiments.bounds_boosting import BoostingGame
from banditboost.experiments.bounds_broken import BLIND, BROKEN, STILL_LEARNING
from banditboost.experiments.bounds_games import FAILURE, BanditGame, Game, LinearGame, ProjectionFreeGame
from banditboost.spaces import Ball, Simplex

RESULTS = Path(__file__).parents[2] / "results" / "bounds.json"


def rows(game: Game) -> list[dict[str, Any]]:
    cells = [game, *bounds.variants(game).values()]
    return list(bounds.rows_of(game, {cell: cell.run() for cell in cells}))


@pytest.mark.parametrize(
    "game",
    [
        LinearGame(256, 30, perturbation="laplace", space=Ball(3)),
        LinearGame(256, 1, optimizer="ftrl", space=Simplex(3)),
        ProjectionFreeGame(2048, 10, space=Ball(2)),
        BanditGame(2048, 10, copies=150, delta=0.2),
        BoostingGame(4096, 10, copies=300),
    ],
    ids=lambda game: type(game).__name__,
)
def test_an_informative_row_holds_and_notices_whoever_learns_nothing(game: Game) -> None:
    first = rows(game)[0]
    assert first["informative"]
    assert first["held"]
    for name in set(BLIND) & set(game.variants):
        assert first["broken"][name]["caught"], name
    # Boosters that are wrong and learn all the same are below the bound: that is what the identity is for.
    assert not any(first["broken"][name]["caught"] for name in STILL_LEARNING if name in first["broken"])


@pytest.mark.parametrize("game", list(bounds.identities()), ids=lambda game: f"{type(game).__name__}-{game.describe()}")
def test_the_identity_holds_and_notices_every_broken_booster(game: Game) -> None:
    # Estimates from values need the whole horizon to tell a wrong γ from noise.
    (row,) = rows(game if isinstance(game, BanditGame) else replace(game, horizon=512))
    assert row["held"]
    assert {name for name, verdict in row["broken"].items() if verdict["caught"]} == set(game.variants)
    if getattr(game, "exact", False):
        assert abs(row["measured"]) < 1e-9


def test_a_row_that_cannot_fail_is_no_evidence() -> None:
    game = BanditGame(256, 10)
    expected, likely = rows(game)
    for row, failure in ((expected, None), (likely, FAILURE)):
        assert not row["informative"]
        assert not any(verdict["caught"] for verdict in row["broken"].values())
        first, rate = row["informative_from"], row["nothing"] / game.horizon
        at, before = game.bound(first, failure), game.bound(first // 2, failure)
        assert at < rate * first
        assert before >= rate * (first // 2)
    assert likely["informative_from"] > expected["informative_from"]
    # With N and δ given, the first and the last term of the bound grow with T as regret does.
    assert rows(BoostingGame(64, 2, copies=3))[0]["informative_from"] is None


def result(**changes: Any) -> dict[str, Any]:
    return {"seeds": 30, "mean": 10.0, "error": 1.0, "largest": 12.0, "exceeding": 0} | changes


def test_verdicts_can_fail() -> None:
    assert bounds.held(result(), 12.0, None)
    assert not bounds.held(result(), 11.0, None)  # the mean is below, its upper limit is not
    assert bounds.held(result(), 12.0, 0.05)
    assert not bounds.held(result(exceeding=1), 12.0, 0.05)
    assert not bounds.held(result(seeds=28), 12.0, 0.05)  # too few to say
    assert not bounds.caught(result(), 9.0, None)
    assert bounds.caught(result(), 8.0, None)
    assert not bounds.caught(result(seeds=8, exceeding=1), 8.0, 0.05)
    assert bounds.caught(result(seeds=8, exceeding=8), 8.0, 0.05)


def test_the_grid_asks_for_enough_seeds() -> None:
    games = list(bounds.games())
    assert bounds.SEEDS >= 30
    for game in games:
        deterministic = isinstance(game, LinearGame) and game.optimizer != "fpl"
        assert game.seeds >= bounds.SEEDS or deterministic
    assert {game.gamma for game in games if isinstance(game, BoostingGame)} == {0.5, 1.0}
    assert len({game.digest() for game in games}) == len(games)


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text())
    return found


def test_the_committed_results_are_evidence_for_every_theorem(committed: dict[str, Any]) -> None:
    assert not committed["protocol"]["quick"]
    assert committed["complaints"] == []
    assert bounds.complaints(committed) == []
    settings = [(game.describe(), game.horizon) for game in bounds.games()]
    assert list(dict.fromkeys((row["setting"], row["horizon"]) for row in committed["rows"])) == settings


@pytest.mark.parametrize("theorem", bounds.PROVED)
def test_missing_evidence_is_complained_of(committed: dict[str, Any], theorem: str) -> None:
    blunt = copy.deepcopy(committed)
    for row in blunt["rows"]:
        if theorem in row["theorems"] and row["kind"] != bounds.IDENTITY:
            row["informative"] = False
    assert f"{theorem} has no informative row." in bounds.complaints(blunt)
    passing = copy.deepcopy(committed)
    for row in passing["rows"]:
        row["broken"] = {name: verdict | {"caught": False} for name, verdict in row["broken"].items()}
    found = bounds.complaints(passing)
    for name in BLIND:
        expected = name != "neighbour's values" or theorem in bounds.FROM_VALUES
        assert (f"{theorem} does not notice the variant {name}." in found) is expected
    assert {f"The identity of {theorem} does not notice the variant {name}." for name in STILL_LEARNING} <= set(found)
    violated = copy.deepcopy(committed)
    for row in violated["rows"]:
        row["held"] = theorem not in row["theorems"]
    assert any(sentence.startswith(f"{theorem} is violated") for sentence in bounds.complaints(violated))


def test_the_command_fails_with_the_complaints(monkeypatch: pytest.MonkeyPatch, committed: dict[str, Any]) -> None:
    broken = committed | {"complaints": ["Theorem 2 has no informative row."]}
    monkeypatch.setattr(bounds, "reproduce", lambda **options: broken)
    shown = CliRunner().invoke(app, ["reproduce", "bounds", "--quick", "--quiet"])
    assert isinstance(shown.exception, ValueError)
    assert "Theorem 2 has no informative row." in str(shown.exception)
    monkeypatch.setattr(bounds, "reproduce", lambda **options: committed)
    shown = CliRunner().invoke(app, ["reproduce", "bounds", "--quick", "--quiet"])
    assert shown.exit_code == 0
    assert "Broken boosters: what notices them" in shown.output


def test_the_report_shows_violations(committed: dict[str, Any], tmp_path: Path) -> None:
    assert "VIOLATED" not in bounds_report.report(committed, tmp_path).read_text()
    violated = copy.deepcopy(committed)
    row = next(row for row in violated["rows"] if row.get("informative"))
    row["held"] = False
    assert "VIOLATED" in bounds_report.report(violated, tmp_path).read_text()
    assert bounds_report.summary(violated) != bounds_report.summary(committed)


def test_the_table_of_broken_boosters_counts_informative_rows_only(committed: dict[str, Any]) -> None:
    lines = {line[0]: line for line in bounds_report.broken(committed)}
    assert set(lines) == set(BROKEN)
    for name in BLIND:
        told = [cell for cell in lines[name][2:] if cell != "-"]
        assert len(told) == (2 if name == "neighbour's values" else 5)
        assert all(cell.startswith("bound") and not cell.startswith("bound 0/") for cell in told)
    for other in STILL_LEARNING:
        assert all("identity" in cell and "identity 0/" not in cell for cell in lines[other][3:])


def test_exponents_are_fitted_right() -> None:
    horizons = [100, 200, 400, 800]
    regrets = 3.0 * np.sqrt(np.array(horizons))[:, np.newaxis] * np.array([0.9, 1.0, 1.1])
    slope, low, high = exponents.fit(horizons, regrets)
    assert slope == pytest.approx(0.5, abs=1e-9)
    assert low <= slope + 1e-9
    assert high >= slope - 1e-9
