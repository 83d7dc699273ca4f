"""Paid losses: games and cells are what they say, settings are chosen from the right rounds, a small run has a report."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from banditboost._core.streams import stream
from banditboost.cli.reproduce import reproduce
from banditboost.evaluate import progressive
from banditboost.experiments import beyond, paid, paid_choice, paid_report, paid_shop
from banditboost.experiments.paid_cells import TOLD, Desk, Ours, OursBoxed, Theirs, judged, ours
from banditboost.experiments.paid_choice import HINDSIGHT, TUNED
from banditboost.experiments.paid_games import Boxed, Played, Table, Till
from banditboost.experiments.paid_loss import Sides


def test_rows_are_those_of_the_other_experiments() -> None:
    for half, theirs in zip(("first", "second"), beyond._halves("abalone", 3), strict=True):
        world = Table("abalone", seed=3, half=half).world()
        np.testing.assert_array_equal(world.contexts(), theirs.contexts())
        np.testing.assert_array_equal(world.labels(), theirs.labels())
        assert world.seed == theirs.seed


def test_wide_tables_are_dense_and_short() -> None:
    world = Table("adult", rows=50).world()
    assert not world.sparse
    assert len(world) == 50


def test_noise_is_a_tenth_of_the_best_constants_loss() -> None:
    game = Table("letter", "absolute", noise=0.1, rows=2000)
    till = Till(game)
    answers = np.array([till.charge(0.0, 0.0) for _ in range(2000)]) * game.unit
    off = answers - till.played().paid
    assert np.abs(off).max() <= game.half_width == pytest.approx(0.1 * game.best_constant())
    assert np.abs(off).max() > 0.99 * game.half_width


def test_a_peer_and_a_booster_with_one_answer_get_the_same_noise() -> None:
    game = Table("abalone", noise=0.1, rows=20)
    world, till, booster = game.world(), Till(game), ours(game.space(), 1)
    rng = stream(world.seed, "noise")
    for t in range(20):
        ticket = booster.ask(world.context(t))
        answer = world.answer(t, ticket, True, rng)
        booster.tell(ticket, answer)
        played = float(np.ravel(ticket.queries)[0])
        assert game.unit * till.charge(played, played) == pytest.approx(float(answer[0]))


def test_a_till_that_was_not_used_to_the_end_says_so() -> None:
    till = Till(Table(rows=4))
    till.charge(1.0, 1.0)
    with pytest.raises(ValueError, match="4 in all, got 1"):
        till.played()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"loss": "cubic"}, "loss must be one of"), ({"half": "third"}, "half must be"), ({"rows": 1}, "rows must be")],
)
def test_wrong_games_are_refused(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Table(**wrong)  # type: ignore[arg-type]


def test_a_box_and_its_cube_are_one_problem_in_two_units() -> None:
    for dimensions in paid.DIMENSIONS:
        box, cube = Boxed(dimensions, rounds=200), Boxed(dimensions, cube=True, rounds=200)
        np.testing.assert_array_equal(box.world().contexts(), cube.world().contexts())
        np.testing.assert_allclose(box.best_point(), cube.best_point())
        labels = box.world().labels()
        assert (labels > 0).all()
        assert (labels < box.sides).all()
        point = np.full(dimensions, 0.3)
        np.testing.assert_allclose(box.world().values(7, point * box.sides), cube.world().values(7, point))
    with pytest.raises(ValueError, match="dimensions must be at most 5"):
        Boxed(6)


@pytest.mark.long
def test_the_loss_of_boxes_is_the_same_compiled() -> None:
    game = Boxed(3, rounds=60)
    for k in (TOLD, 5):
        plain = progressive(ours(game.space(), k), game.world(), compiled=False)
        fast = progressive(ours(game.space(), k), game.world())
        assert fast.compiled
        np.testing.assert_allclose(fast.losses, plain.losses, rtol=1e-6)


def test_the_loss_of_boxes_has_its_gradient_and_its_constants() -> None:
    loss, rng = Sides((10.0, 4.0, 1.0)), np.random.default_rng(0)
    constants = loss.constants(Boxed(3).space())
    for _ in range(20):
        point, label, step = rng.random(3) * loss.sides, rng.random(3) * loss.sides, 1e-6 * rng.normal(size=3)
        rise = float(loss.value(point + step, label) - loss.value(point - step, label))
        assert rise == pytest.approx(2 * float(loss.gradient(point, label) @ step), abs=1e-12)
        assert np.linalg.norm(loss.gradient(point, label)) <= constants.lipschitz
        assert loss.value(point, label) <= constants.bound
    with pytest.raises(ValueError, match="sides must be positive"):
        Sides((1.0, 0.0))


def test_what_is_kept_of_losses() -> None:
    found = judged(Played(np.arange(20.0), np.zeros(20)))
    assert found["paid"] == 9.5
    assert found["paid_late"] == 14.5
    assert found["paid_tenth"] == 18.5
    assert found["paid_quarters"] == [2.0, 7.0, 12.0, 17.0]
    assert found["predicted"] == 0.0


def test_gradients_told_pay_what_they_predict() -> None:
    found = Ours(Table(rows=100), TOLD).run()
    assert found["paid_quarters"] == found["predicted_quarters"]
    many = Ours(Table(rows=100), 30).run()
    assert many["paid"] != many["predicted"]
    box = OursBoxed(Boxed(2, rounds=100), TOLD).run()
    assert box["paid"] == box["predicted"]
    assert box["fixed_late"] > 0


def planted(desk: Desk, game: Table, setting: tuple[float, ...], paid_loss: float, late: float) -> None:
    desk._done[Theirs(game, "greedy", setting)] = {"paid": paid_loss, "paid_late": late}


def test_settings_are_chosen_from_the_rounds_that_they_are_chosen_for() -> None:
    game, grid, desk = Table(), ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,), (0.6,)), Desk()
    by_paid, by_late = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), (4.0, 3.0, 2.0, 1.0, 5.0, 6.0)
    for version in paid_choice.shuffles(game, 2):
        for setting, one, two in zip(grid, by_paid, by_late, strict=True):
            planted(desk, version, setting, one, two)
    for k, setting in enumerate(grid):
        planted(desk, game.first_half(), setting, 6.0 - k, 0.0)
    assert paid_choice.tuned(desk, game, "greedy", grid) == grid[5]
    final = paid_choice.finalists(desk, game, "greedy", grid, 2)
    assert final == [grid[5], grid[0], grid[1], grid[3], grid[2]], (
        "the tuned one, two for all rounds, two for the second half"
    )
    tried = paid_choice.trials([game], {"greedy": grid}, 10)
    assert {(cell.game.half, cell.game.seed) for cell in tried} == {("second", s) for s in range(3)} | {("first", 0)}
    assert paid_choice.trials([game], {"greedy": grid[:1]}, 10) == []
    assert paid_choice.finalists(desk, game, "greedy", grid[:1], 2) == [grid[0]]


def test_the_final_decides_and_not_the_first_shuffles() -> None:
    game, grid, desk = Table(), ((0.1,), (0.2,)), Desk()
    for seed, version in enumerate(paid_choice.shuffles(game, 5)):
        planted(desk, version, grid[0], 1.0 if seed < 3 else 9.0, 1.0)
        planted(desk, version, grid[1], 2.0, 2.0)
    planted(desk, game.first_half(), grid[0], 1.0, 1.0)
    planted(desk, game.first_half(), grid[1], 2.0, 2.0)
    found = paid_choice.field(desk, [game], {"greedy": grid}, 5)
    settings = {name: {cell.setting for cell in cells} for (_, _, name), cells in found.items()}
    assert settings == {
        f"{HINDSIGHT}, paid": {grid[1]},
        f"{HINDSIGHT}, paid_late": {grid[0]},
        f"{TUNED}, paid": {grid[0]},
    }
    assert all(len(cells) == 5 for cells in found.values())


def test_ours_can_be_run_again_without_the_peers(tmp_path: Path) -> None:
    mine, theirs = Ours(Table(rows=50), 1), Theirs(Table(rows=50), "running_mean")
    calls: list[tuple[int, int]] = []

    def play() -> list[tuple[int, int]]:
        calls.clear()
        desk = Desk(folder=tmp_path, progress=lambda done, total: calls.append((done, total)))
        desk.run("peers", [theirs])
        desk.run("ours", [mine, mine])
        return list(calls)

    assert play() == [(0, 1), (1, 1), (1, 2), (2, 2)]
    assert play() == [(1, 1), (2, 2)], "everything is kept"
    shutil.rmtree(tmp_path / "ours")
    assert play() == [(1, 1), (1, 2), (2, 2)], "only ours is run again"


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paid, "SMALL", paid.Size(2, 100, 100, 200))
    monkeypatch.setattr(paid, "LADDER", (1, 30))
    monkeypatch.setattr(paid, "NOISY_LADDER", (1,))
    monkeypatch.setattr(paid, "DIMENSIONS", (3,))
    monkeypatch.setattr(paid, "BOXED", (1,))


@pytest.mark.long
def test_a_small_run_and_its_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    results = paid.reproduce(["abalone"], wanted=("greedy",), quick=True, folder=tmp_path / "cells")
    again = paid.reproduce(["abalone"], wanted=("greedy",), quick=True, folder=tmp_path / "cells")
    assert json.loads(json.dumps(results)) == json.loads(json.dumps(again)), "results are kept, and are plain data"
    tables = results["tables"]
    assert len(tables["peers"]) == 4 * (3 + 2)
    assert {(row["answers"], row["noise"]) for row in tables["ours"]} >= {(0, 0.0), (1, 0.0), (30, 0.0), (1, 0.1)}
    assert [(row["cube"], row["answers"]) for row in tables["boxes"]] == [(False, 0), (False, 1), (True, 0), (True, 1)]
    assert list(results["shows"]) == ["1", "2", "3", "4", "5", "6"]
    assert results["shows"]["1"]["holds"] is True, "by quadrature, on the line in a quick run"
    assert results["shows"]["3"]["holds"] is None, "no CATS, no comparison"
    titles = [str(table.title) for table in paid_report.terminal_tables(results)]
    assert titles[0] == "Squared loss paid in the second half of the rounds, no noise"
    assert titles[-1] == "What had to be shown"
    text = paid_report.report(results, tmp_path).read_text()
    assert "could have come out otherwise" in text
    assert "ε-greedy, a ridge per bin, tuned on first halves" in text
    assert text.count("<img") == 3


@pytest.mark.long
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    file = tmp_path / "paid.json"
    arguments = [
        "paid",
        "--datasets",
        "abalone",
        "--peers",
        "",
        "--quick",
        "--json",
        str(file),
        "--report",
        str(tmp_path),
    ]
    shown = CliRunner().invoke(reproduce, arguments)
    assert shown.exit_code == 0, shown.output
    assert "What had to be shown" in shown.output
    assert json.loads(file.read_text())["shows"]["5"]["title"].startswith("Thirty answers")
    assert (tmp_path / "paid.html").is_file()


def test_hindsight_speaks_for_each_half_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    game, grid = Table(rows=100), {"greedy": ((0.01,), (0.9,))}
    desk = Desk()
    rows = paid._peers(desk, [game], grid, paid.SMALL)
    best = next(row for row in rows if row["who"] == "greedy" and row["chosen"] == HINDSIGHT)
    tried = [paid._row([Theirs(v, "greedy", s) for v in paid_choice.shuffles(game, 2)], desk) for s in grid["greedy"]]
    assert best["paid"] == min(row["paid"] for row in tried)
    assert best["paid_late"] == min(row["paid_late"] for row in tried)


def test_what_is_missing_is_named() -> None:
    found = " ".join(note for note in paid.notes() if "in the shop" in note)
    for way in paid_shop.OURS:
        assert (way in found) == (way not in paid_shop.available())


def test_a_refitted_demand_model_earns_more_than_one_price() -> None:
    if "boosted" not in paid_shop.available():
        assert paid._shop(Desk(), paid.SMALL) == []
        return
    share = {way: paid_shop.TheirsSelling(way, customers=3000).run()["share"] for way in paid_shop.THEIRS}
    last = paid_shop.TheirsSelling("logistic", customers=3000).run()["share_quarters"][-1]
    assert last > share["best_price"]
    assert 0 < paid_shop.OursSelling("boosted", customers=100).run()["share"] <= 1
