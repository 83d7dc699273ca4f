"""The readings of Table 2: both sides alike, plays where Definition 6 wants them, and each algorithm as its source writes it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.streams import stream
from banditboost.experiments import table2, table2_readings, table2_weights
from banditboost.experiments.data import label_interval

IN_Y = [key for key, reading in table2_readings.READINGS.items() if not reading.free]


def booster(column: str, scale: float, copies: int = 5) -> bb.Booster:
    setting = table2_readings.Setting(copies, scale, 0.5, None)
    return setting.booster(column, label_interval("abalone"), 1, "in Y")


def test_the_grid_is_the_papers() -> None:
    grid = table2_readings.GRIDS["paper"]
    assert (min(grid.copies), max(grid.copies)) == (5, 30)
    assert (min(grid.scales), max(grid.scales)) == (1e-4, 0.1)
    assert (min(grid.powers), max(grid.powers)) == (0.25, 1.0)
    assert len(list(grid.settings("bandit_boosting"))) == 256
    assert len(list(grid.settings("ogd"))) == 64
    assert table2_readings.DELTA == 0.5


@pytest.mark.parametrize("key", IN_Y)
def test_both_sides_of_a_reading_have_equal_grids_rows_and_runs(key: str) -> None:
    reading = table2_readings.READINGS[key]
    tried = [list(reading.grid.settings(column, "in Y", copies=20)) for column in reading.columns]
    assert len(tried[0]) == len(tried[1]) * (1.5 if key == "F" else 1), "under F the baseline has more radii"
    assert len({(s.scale, s.power) for s in tried[0]} ^ {(s.scale, s.power) for s in tried[1]}) == 0
    assert {setting.copies for setting in tried[0]} == {20}, "the baseline's N is not tuned"
    assert {setting.radius for setting in tried[1]} == {None}, "boosting has no radius: its plays are bounded"
    for name in ("abalone", "adult", "census", "letter"):
        cells = table2.cells(key, name, 3)
        sides = [[(c.seed, c.rows, c.grid) for c in cells if c.column == column] for column in reading.columns]
        assert sides[0] == sides[1]
        assert [seed for seed, _, _ in sides[0]] == [0, 1, 2]


def test_the_n_of_n_fkm_is_the_one_chosen_for_boosting() -> None:
    grid = table2_readings.Grid(copies=(5, 10, 20), scales=(1e-2,), powers=(0.5,), radii=(10.0, 30.0))
    for seed in (0, 1, 2):
        boosting = table2.Run("abalone", "bandit_boosting", seed, grid, rows=300).run()
        for perturbs in ("predictions", "weights"):
            cell = table2.Run("abalone", "n_point_fkm", seed, grid, perturbs=perturbs, rows=300)
            assert cell.run()["setting"]["copies"] == boosting["setting"]["copies"]
            assert {s.copies for s in cell.settings(cell._halves()[0])} == {boosting["setting"]["copies"]}


@pytest.mark.parametrize("column", ["bandit_boosting", "n_point_fkm"])
def test_plays_lie_in_y_and_queries_within_delta_of_it(column: str) -> None:
    tuning, _ = table2.Run("abalone", column)._halves()
    free = table2_readings.Setting(5, 3.0, 0.5, 300.0).booster(column, label_interval("abalone"), 1)
    found = {"in Y": booster(column, 3.0), "free": free}
    most: dict[str, float] = {}
    for name, one in found.items():
        for t in range(200):
            ticket = one.ask(tuning.context(t))
            assert 1.0 - 1e-9 <= ticket.prediction <= 29.0 + 1e-9
            most[name] = max(most.get(name, 0.0), float(np.abs(ticket.queries[1:] - 15.0).max()))
            one.tell(ticket, losses=tuning.values(t, ticket.queries))
    assert most["in Y"] <= 14.0 + 0.5 + 1e-9
    assert most["free"] > 100.0, "a rate that leads free plays far away shows that the test would notice"


def test_the_chain_starts_at_zero_as_in_the_paper() -> None:
    x = np.zeros(10)
    for seed in range(3):
        ticket = booster("bandit_boosting", 0.1).ask(x)
        assert abs(float(ticket.queries[0])) == 0.5, "y^0 = 0, also where the labels begin at 1"
        one = table2_readings.Setting(5, 0.1, 0.5, 10.0).booster("bandit_boosting", label_interval("abalone"), seed)
        assert abs(float(one.ask(x).queries[0]) - 15.0) == 0.5, "as the library would start, which keeps queries inside"


def slow_boosting(world: bb.worlds.Supervised, copies: int, scale: float, directions: Any, noise: Any) -> list[float]:
    """Algorithm 2 from the paper's lines alone, with plays projected on Y = [1, 29], δ = 1/2, γ = 1."""
    W, losses = np.zeros((copies, 11)), []
    for t in range(len(world)):
        x, label = np.append(np.asarray(world.context(t)), 1.0), float(world.labels(t, t + 1)[0])
        wished = W @ x
        plays, y, G = np.clip(wished, 1.0, 29.0), 0.0, np.zeros(copies)
        for i in range(copies):
            v, answer = directions[t, i], (y + 0.5 * directions[t, i] - label) ** 2 + noise[t, i]
            G[i] = answer * v / 0.5
            y = (1 - 2 / (i + 2)) * y + 2 / (i + 2) * plays[i]
        losses.append((min(max(y, 1.0), 29.0) - label) ** 2)
        G[(wished > 29.0) & (G < 0) | (wished < 1.0) & (G > 0)] = 0.0  # what would push a projected play further out
        W -= scale / np.sqrt(t + 1.0) * np.outer(G, x)
    return losses


def test_boosting_in_y_is_algorithm_2_written_from_the_paper() -> None:
    tuning, _ = table2.Run("abalone", seed=1)._halves()
    world = tuning.head(150)
    one = booster("bandit_boosting", 1e-2)
    streams = booster("bandit_boosting", 1e-2).streams
    rng = stream(world.seed, "noise")
    asked = one.spec.gradient.draw(5, one.spec.space, streams, 150, world.noise, rng)
    directions, noise = asked.directions[..., 0], asked.noise[..., 0]
    trace = bb.evaluate.progressive(one, world)
    expected = slow_boosting(world, 5, 1e-2, directions, noise)
    assert trace.losses == pytest.approx(expected, rel=1e-9)
    assert trace.losses != pytest.approx(slow_boosting(world, 5, 1e-2, -directions, noise), rel=1e-3)
    assert trace.losses != pytest.approx(slow_boosting(world, 5, 1.1e-2, directions, noise), rel=1e-3)


def test_n_fkm_on_weights_is_the_booster_on_weights_with_projected_predictions() -> None:
    tuning, _ = table2.Run("abalone", seed=1)._halves()
    world, wide = tuning.head(400), bb.spaces.Interval(-1e9, 1e9)
    settings = [table2_readings.Setting(7, scale, 0.5, radius) for scale, radius in ((1e-2, 3.0), (1e-3, 30.0))]
    radii, rates = [s.radius or 0.0 for s in settings], [s.rate for s in settings]

    def played(space: bb.spaces.Interval, delta: float = 0.5) -> list[bb.evaluate.Trace]:
        return table2_weights.fkm_on_weights(radii, rates, world, queries=7, delta=delta, space=space, seed=1)

    for setting, free, kept, other in zip(
        settings, played(wide), played(label_interval("abalone")), played(wide, 0.6), strict=True
    ):
        one = setting.booster_in_weights("n_point_fkm", 11, 1)
        trace = bb.evaluate.progressive(one, bb.worlds.WeightSpace(world))
        assert free.losses == pytest.approx(trace.losses, rel=1e-9)
        assert free.paid == pytest.approx(trace.paid, rel=1e-9)
        assert kept.paid == pytest.approx(trace.paid, rel=1e-9), "queries are not projected"
        assert kept.predictions == pytest.approx(np.clip(free.predictions, 1.0, 29.0))
        assert kept.mean <= free.mean
        assert other.losses != pytest.approx(trace.losses, rel=1e-3)
