"""The paper's Table 2: boosting and its baselines, with full information and with bandit feedback, on real data.

Protocol (one for all columns): a run shuffles the rows with its own seed, tunes by progressive loss on its first half, and
reports the progressive loss of a fresh model on its second half. Features are scaled to [0, 1], noise is uniform on ±0.1, δ = 1/2,
queries may leave the label range as in the paper. The loss is (ŷ - y)².
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from banditboost import algorithms, datasets
from banditboost.booster import Booster
from banditboost.evaluate import Trace, best_linear, progressive, running_mean
from banditboost.experiments.cells import Cell, run_cells
from banditboost.learners import Linear
from banditboost.noise import Uniform
from banditboost.rates import Power
from banditboost.require import count, one_of
from banditboost.spaces import Interval
from banditboost.spec import Spec
from banditboost.worlds import Supervised

COLUMNS = ("ogd", "gradient_boosting", "n_point_fkm", "bandit_boosting")
TITLES = {
    "ogd": "OGD",
    "gradient_boosting": "boosting",
    "n_point_fkm": "N-FKM",
    "bandit_boosting": "boosting",
}
PAPER = {
    "abalone": {"ogd": 3.708, "gradient_boosting": 3.71, "n_point_fkm": 12.21, "bandit_boosting": 11.68},
    "adult": {"ogd": 0.154, "gradient_boosting": 0.151, "n_point_fkm": 0.161, "bandit_boosting": 0.150},
    "census": {"ogd": 0.160, "gradient_boosting": 0.032, "n_point_fkm": 0.163, "bandit_boosting": 0.105},
    "letter": {"ogd": 0.507, "gradient_boosting": 0.498, "n_point_fkm": 0.522, "bandit_boosting": 0.517},
    "slice": {"ogd": 0.042, "gradient_boosting": 0.040, "n_point_fkm": 0.049, "bandit_boosting": 0.045},
}
"""The numbers printed in the paper's Table 2: quoted beside ours, not chased."""
CURVE_POINTS = 100
DELTA = 0.5


@dataclass(frozen=True)
class Grid(Spec):
    """The settings tried on a first half: every combination of them."""

    copies: tuple[int, ...] = (5, 10, 20, 30)
    scales: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    powers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)

    def settings(self, column: str) -> Iterator[Setting]:
        """Give the settings of a column; OGD has no number of copies to tune."""
        copies = (1,) if column == "ogd" else self.copies
        for n, scale, power, radius in itertools.product(copies, self.scales, self.powers, self.radii):
            yield Setting(n, scale, power, radius)


QUICK = Grid(copies=(5, 30), scales=(1e-3, 1e-2, 1e-1), powers=(0.25, 0.5), radii=(3.0, 10.0, 30.0))
"""A small grid for a first look."""


@dataclass(frozen=True)
class Setting(Spec):
    """One choice of the numbers that are tuned."""

    copies: int = 10
    scale: float = 0.1
    power: float = 0.5
    radius: float = 10.0

    def booster(self, column: str, space: Interval, seed: int) -> Booster:
        """Build a column's algorithm with this setting."""
        learner = Linear(radius=self.radius, rate=Power(self.scale, self.power))
        common: dict[str, Any] = {"learner": learner, "inside": False, "seed": seed}
        if column == "n_point_fkm":
            common |= {"queries": self.copies, "delta": DELTA}
        elif column == "bandit_boosting":
            common |= {"copies": self.copies, "delta": DELTA}
        elif column == "gradient_boosting":
            common |= {"copies": self.copies}
        recipe: Callable[..., Booster] = getattr(algorithms, column)
        return recipe(space, **common)


@dataclass(frozen=True)
class Run(Cell):
    """One column on one data set in one shuffle: tune on the first half, report on the second."""

    dataset: str = "abalone"
    column: str = "bandit_boosting"
    seed: int = 0
    grid: Grid = QUICK

    def run(self) -> dict[str, Any]:
        """Tune, then train afresh on the second half."""
        tuning, testing = _world(self.dataset).shuffled(self.seed).halves()
        space = _space(self.dataset)
        best, least, tried = None, np.inf, []
        for setting in self.grid.settings(self.column):
            loss = progressive(setting.booster(self.column, space, self.seed), tuning).mean
            tried.append([setting.copies, setting.scale, setting.power, setting.radius, _rounded(loss)])
            if loss < least:
                best, least = setting, loss
        if best is None:
            raise ValueError(f"grid must hold at least one setting whose loss is a number, got {self.grid!r}.")
        trace = progressive(best.booster(self.column, space, self.seed), testing)
        return _summary(trace) | {"setting": best.to_dict(), "tuning_loss": least, "tried": tried}


@dataclass(frozen=True)
class Comparators(Cell):
    """What is known in hindsight or without contexts, on the second half of one shuffle."""

    dataset: str = "abalone"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Compute the running mean and the best linear predictor in hindsight."""
        _, testing = _world(self.dataset).shuffled(self.seed).halves()
        return {
            "running_mean": float(running_mean(testing).mean()),
            "best_linear": float(best_linear(testing).mean()),
        }


@lru_cache(maxsize=1)
def _world(dataset: str) -> Supervised:
    data = datasets.load(dataset).scaled("minmax")
    assert isinstance(data.X, np.ndarray)
    return Supervised(data.X, data.y, noise=Uniform(0.1))


def _space(dataset: str) -> Interval:
    return Interval(*datasets.describe(dataset).label_range)


def _rounded(loss: float) -> float:
    """Six digits are enough to draw, and keep result files small."""
    return float(f"{loss:.6g}")


def _summary(trace: Trace) -> dict[str, Any]:
    """Keep the mean losses and a thinned curve."""
    at = np.unique(np.geomspace(1, len(trace), CURVE_POINTS).astype(int)) - 1
    return {
        "loss": trace.mean,
        "asked": float(trace.asked.mean()),
        "rounds": len(trace),
        "curve": {"round": (at + 1).tolist(), "loss": [_rounded(loss) for loss in trace.running[at]]},
    }


def check(names: Sequence[str]) -> None:
    """Raise where a data set is unknown or cannot be read, before any work begins."""
    if not names:
        raise ValueError("datasets must name at least one data set, got none.")
    for name in names:
        one_of("datasets", name, datasets.NAMES)
        _world(name)


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 20,
    grid: Grid | None = None,
    jobs: int = 1,
    folder: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Run the table and return it as plain data: every cell, and the means and deviations over runs.

    Parameters
    ----------
    names
        Data sets.
    runs
        Shuffles per data set.
    grid
        Settings to tune over; the paper's ranges when not given.
    jobs, folder, progress
        As for `run_cells`.
    """
    check(names)
    grid = grid or Grid()
    seeds = range(count("runs", runs))
    cells: list[Cell] = []
    for name in names:
        cells += [Run(name, column, seed, grid) for seed in seeds for column in COLUMNS]
        cells += [Comparators(name, seed) for seed in seeds]
    results = run_cells(cells, jobs=jobs, folder=folder, progress=progress)
    rows = {name: _row(name, cells, results) for name in names}
    protocol = {
        "grid": grid.to_dict(),
        "runs": runs,
        "delta": DELTA,
        "noise": Uniform(0.1).to_dict(),
        "loss": "squared",
    }
    return {"experiment": "table2", "protocol": protocol, "rows": rows}


def _row(name: str, cells: Sequence[Cell], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    mine = list(zip(cells, results, strict=True))
    row: dict[str, Any] = {"paper": PAPER[name], "columns": {}}
    for column in COLUMNS:
        found = [r for c, r in mine if isinstance(c, Run) and c.dataset == name and c.column == column]
        losses = np.array([r["loss"] for r in found])
        row["columns"][column] = {
            "mean": float(losses.mean()),
            "deviation": float(losses.std(ddof=1)) if len(losses) > 1 else 0.0,
            "runs": found,
        }
    for key in ("running_mean", "best_linear"):
        values = np.array([r[key] for c, r in mine if isinstance(c, Comparators) and c.dataset == name])
        row[key] = {"mean": float(values.mean()), "deviation": float(values.std(ddof=1)) if len(values) > 1 else 0.0}
    baseline, boosting = (row["columns"][column]["mean"] for column in ("n_point_fkm", "bandit_boosting"))
    row["relative_decrease"] = (baseline - boosting) / baseline
    return row
