"""The growth of regret: the exponent is found where it is known, and cells run to their horizons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from banditboost.experiments.exponents import TARGETS, Horizon, exponent_cells, fit, summary_of_exponents
from banditboost.spaces import Ball

HORIZONS = (64, 128, 256)


@pytest.mark.parametrize("power", [0.5, 0.75, 1.0])
def test_a_known_exponent_is_found(power: float) -> None:
    regrets = np.array([[3.0 * T**power * (1 + 0.1 * seed) for seed in range(4)] for T in HORIZONS])
    slope, low, high = fit(HORIZONS, regrets)
    assert slope == pytest.approx(power, abs=1e-9)
    assert low <= slope <= high


@pytest.mark.parametrize(
    ("algorithm", "world"),
    [("projection_free", "stationary"), ("projection_free_bandit", "stationary"), ("projection_free", "adaptive")],
)
def test_regret_grows_less_than_the_rounds(algorithm: str, world: str) -> None:
    cells = [Horizon(algorithm, world, Ball(3), T, 3) for T in HORIZONS]  # type: ignore[arg-type]
    results = [cell.run() for cell in cells]
    copies = [result["copies"] for result in results]
    assert copies == sorted(copies)  # more rounds, more copies
    (row,) = summary_of_exponents(cells, results)
    assert row["horizons"] == list(HORIZONS)
    assert row["exponent"] < 1.0
    assert row["regret_per_round"][-1] < row["regret_per_round"][0]
    assert row["target"] == (TARGETS[algorithm] if world == "stationary" else None)
    assert cells[0].run() == results[0]  # the same seeds, the same numbers


def test_every_group_has_a_grid_of_horizons() -> None:
    cells = list(exponent_cells(quick=True))
    groups = {(cell.algorithm, cell.world, cell.space) for cell in cells}
    assert len(groups) == 6
    for cell in cells:
        grid = sorted(other.horizon for other in cells if replace(other, horizon=cell.horizon) == cell)
        assert grid == [256, 512, 1024, 2048]
    assert len(list(exponent_cells())) > len(cells)
