"""The paper's Table 2: boosting and its baselines, with full information and with bandit feedback, on real data.

The protocol is the same for all columns: a run shuffles the rows with its own seed, tunes by progressive loss on its first half,
and reports the progressive loss of a fresh model on its second half. Features are scaled to [0, 1], noise is uniform on ±0.1,
δ = 1/2, and queries may leave the label range as in the paper. The loss is (ŷ - y)².

The paper leaves open what its learners perturb, and over which range the learning rate was searched. Several readings are run: with
perturbed predictions (*prediction*, d = 1) over the paper's grid and over a wider one, and with perturbed weights (*weights*, d =
number of features) over a small grid.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Unpack

import numpy as np

from banditboost import algorithms, datasets
from banditboost._core.checks import count
from banditboost._core.spec import Spec
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.evaluate import Trace, best_linear, online_ridge, progressive, running_mean, sweep
from banditboost.experiments.cells import Cell, ParallelOptions, run_cells
from banditboost.experiments.data import check as check  # the command line calls it here
from banditboost.experiments.data import label_interval, scaled
from banditboost.experiments.statistics import deviation, paired, rounded
from banditboost.experiments.tuning import tune
from banditboost.gradients import OnePoint
from banditboost.learners import OGD, Linear
from banditboost.noise import Uniform
from banditboost.rates import Power
from banditboost.spaces import Ball, Interval
from banditboost.worlds import Supervised, WeightSpace, World

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
"""The numbers printed in the paper's Table 2, which are quoted beside ours."""
CURVE_POINTS = 100
"""Largest number of points kept of a curve of losses."""
DELTA = 0.5
"""Distance δ of the queries, as in the paper."""
DELTAS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Distances at which the sensitivity to δ is measured."""

Reading = Literal["prediction", "weights"]
"""What the learners perturb: their predictions or their weights."""


@dataclass(frozen=True)
class Grid(Spec, kind="experiments.table2.Grid"):
    """A grid of settings to tune over; the defaults are the paper's ranges, and radii of the balls of weights."""

    copies: tuple[int, ...] = (5, 10, 20, 30)
    scales: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    powers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)

    def settings(self, column: str) -> Iterator[Setting]:
        """Yield the settings of a column; OGD has no number of copies to tune."""
        copies = (1,) if column == "ogd" else self.copies
        for n, scale, power, radius in itertools.product(copies, self.scales, self.powers, self.radii):
            yield Setting(n, scale, power, radius)


GRIDS = {
    "paper": Grid(),
    "wide": Grid(scales=(1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0), radii=(0.3, 1.0, 3.0, 10.0, 30.0)),
    "small": Grid(copies=(5, 30), scales=(1e-4, 1e-3, 1e-2, 1e-1), powers=(0.25, 0.5), radii=(1.0, 3.0, 10.0, 30.0)),
}
QUICK = Grid(copies=(5, 30), scales=(1e-3, 1e-2, 1e-1), powers=(0.25, 0.5), radii=(3.0, 10.0, 30.0))
"""A small grid for a quick run."""


@dataclass(frozen=True)
class Setting(Spec, kind="experiments.table2.Setting"):
    """One choice of the tuned numbers."""

    copies: int = 10
    scale: float = 0.1
    power: float = 0.5
    radius: float = 10.0
    delta: float = DELTA

    def booster(self, column: str, space: Interval, seed: int) -> Booster:
        """Build a column's algorithm with this setting, with perturbed predictions."""
        learner = Linear(radius=self.radius, rate=Power(self.scale, self.power))
        common: dict[str, Any] = {"learner": learner, "inside": False, "seed": seed}
        if column == "n_point_fkm":
            common |= {"queries": self.copies, "delta": self.delta}
        elif column == "bandit_boosting":
            common |= {"copies": self.copies, "delta": self.delta}
        elif column == "gradient_boosting":
            common |= {"copies": self.copies}
        recipe: Callable[..., Booster] = getattr(algorithms, column)
        return recipe(space, **common)

    def booster_in_weights(self, column: str, dimension: int, seed: int) -> Booster:
        """Build a bandit column's algorithm with this setting and perturbed weights, where decisions are weights in a ball."""
        boosting = column == "bandit_boosting"
        return Booster(
            learner=OGD(rate=Power(self.scale, self.power)),
            copies=self.copies if boosting else 1,
            chain=ConvexHull() if boosting else Single(),
            gradient=OnePoint(self.delta, queries=1 if boosting else self.copies),
            space=Ball(dimension, self.radius),
            inside=False,
            seed=seed,
        )


_TRIED: dict[tuple[Any, ...], dict[tuple[Setting, int], float]] = {}
"""Losses of settings on first halves, kept because the grids of two readings share most of their settings."""


@dataclass(frozen=True)
class Run(Cell, kind="experiments.table2.Run"):
    """One column on one data set in one shuffle, tuned on the first half and reported on the second."""

    dataset: str = "abalone"
    column: str = "bandit_boosting"
    seed: int = 0
    grid: Grid = QUICK
    reading: Reading = "prediction"
    rows: int | None = None
    sweep: bool = False

    def run(self) -> dict[str, Any]:
        """Tune on the first half, then train a fresh model on the second half."""
        tuning, testing = self._halves()
        settings = list(self.grid.settings(self.column))
        known = _TRIED.setdefault((self.dataset, self.column, self.seed, self.reading, self.rows), {})
        tried = tune(settings, lambda setting: self._booster(setting, tuning), tuning, self._view, known=known)
        if not np.isfinite(tried[-1].loss):
            raise ValueError(f"grid must have at least one setting with a finite loss, got {self.grid!r}.")
        best = settings[tried[-1].setting]
        result = _summary(progressive(self._booster(best, testing), self._view(testing)))
        result |= {"setting": best.to_dict(), "tuning_loss": tried[-1].loss}
        result["tried"] = [[setting, rounded(loss), rounds] for setting, loss, rounds in tried]
        if self.sweep:
            others = [self._booster(replace(best, delta=delta), testing) for delta in DELTAS]
            result["deltas"] = [rounded(trace.mean) for trace in sweep(others, self._view(testing))]
        return result

    def _halves(self) -> tuple[Supervised, Supervised]:
        tuning, testing = _world(self.dataset).shuffled(self.seed).halves()
        return (tuning, testing) if self.rows is None else (tuning.head(self.rows), testing.head(self.rows))

    def _view(self, world: Supervised) -> World:
        return world if self.reading == "prediction" else WeightSpace(world)

    def _booster(self, setting: Setting, world: Supervised) -> Booster:
        if self.reading == "prediction":
            return setting.booster(self.column, label_interval(self.dataset), self.seed)
        return setting.booster_in_weights(self.column, world.features + 1, self.seed)


@dataclass(frozen=True)
class Comparators(Cell, kind="experiments.Comparators"):
    """Comparators on the second half of one shuffle: in hindsight, with full information, and without contexts."""

    dataset: str = "abalone"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Compute the running mean, online ridge, and the best linear predictor in hindsight."""
        _, testing = _world(self.dataset).shuffled(self.seed).halves()
        return {
            "running_mean": float(running_mean(testing).mean()),
            "online_ridge": float(online_ridge(testing, space=label_interval(self.dataset)).mean()),
            "best_linear": float(best_linear(testing).mean()),
        }


@lru_cache(maxsize=5)
def _world(dataset: str) -> Supervised:
    data = scaled(dataset)
    return Supervised(data.X, data.y, noise=Uniform(0.1))


def _summary(trace: Trace) -> dict[str, Any]:
    """Return the mean losses, and a curve with few points."""
    at = np.unique(np.geomspace(1, len(trace), CURVE_POINTS).astype(int)) - 1
    return {
        "loss": trace.mean,
        "paid": trace.mean_paid,
        "rounds": len(trace),
        "curve": {"round": (at + 1).tolist(), "loss": [rounded(loss) for loss in trace.running[at]]},
    }


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 20,
    grid: Grid | None = None,
    readings: bool = True,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run the table and return it as plain data: every cell, and the means and deviations over runs.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of shuffles per data set.
    grid
        Settings to tune over; by default the paper's ranges.
    readings
        True: the other readings of the paper are run too.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    grid, seeds = grid or GRIDS["paper"], range(count("runs", runs))
    cells: list[Run | Comparators] = []
    for name in names:
        cells += [
            Run(name, column, seed, grid, sweep=readings and column in BANDIT) for seed in seeds for column in COLUMNS
        ]
        cells += [Comparators(name, seed) for seed in seeds]
        if readings:
            cells += [Run(name, column, seed, GRIDS["wide"]) for seed in seeds for column in COLUMNS]
            cells += other_reading(name, runs)
    results = run_cells(cells, cost=lambda cell: datasets.describe(cell.dataset).rows, **options)
    rows = {name: _row(name, grid, cells, results) for name in names}
    protocol = {
        "grid": grid.to_dict(),
        "runs": runs,
        "delta": DELTA,
        "noise": Uniform(0.1).to_dict(),
        "loss": "squared",
    }
    protocol |= {"wide": GRIDS["wide"].to_dict(), "small": GRIDS["small"].to_dict(), "deltas": list(DELTAS)}
    return {"experiment": "table2", "protocol": protocol, "rows": rows, "not_run": _not_run(names)}


def _not_run(names: Sequence[str]) -> dict[str, str]:
    """Return the reason for each data set of the paper's table that is missing here."""
    missing = {}
    for name in datasets.NAMES:
        if name not in names:
            missing[name] = "not asked for" if datasets.available(name) else "data not reachable"
    return missing


BANDIT = ("n_point_fkm", "bandit_boosting")
WEIGHTS_WORK = 60_000_000
"""Largest number of random numbers that a run of the reading *weights* draws in one pass; more rows are left out."""


def other_reading(name: str, runs: int) -> list[Run]:
    """Return the cells of the reading *weights*, which draws a random vector per query, so that wide data has fewer rows."""
    info = datasets.describe(name)
    rows = min(info.rows // 2, WEIGHTS_WORK // (30 * (info.features + 1)))
    return [
        Run(name, column, seed, GRIDS["small"], "weights", rows if rows < info.rows // 2 else None)
        for seed in range(min(runs, 5))
        for column in BANDIT
    ]


def _row(name: str, grid: Grid, cells: Sequence[Cell], results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    mine = [(c, r) for c, r in zip(cells, results, strict=True) if getattr(c, "dataset", None) == name]
    row: dict[str, Any] = {"paper": PAPER[name], "readings": {}}
    runs = [(c, r) for c, r in mine if isinstance(c, Run)]
    for key, wanted, reading in (
        ("paper grid", grid, "prediction"),
        ("wide grid", GRIDS["wide"], "prediction"),
        ("weights", GRIDS["small"], "weights"),
    ):
        found = {
            column: [r for c, r in runs if (c.column, c.grid, c.reading) == (column, wanted, reading)]
            for column in COLUMNS
        }
        if found["bandit_boosting"]:
            row["readings"][key] = _reading(found, wanted)
    for key in ("running_mean", "online_ridge", "best_linear"):
        row[key] = _spread([r[key] for c, r in mine if isinstance(c, Comparators)])
    return row


def _reading(found: dict[str, list[dict[str, Any]]], grid: Grid) -> dict[str, Any]:
    """Summarise the columns of one reading, and compare boosting with its baseline run by run."""
    columns = {}
    for column, runs in found.items():
        if runs:
            # The losses of all settings stay with the cells; the results keep only their profile.
            kept = [{key: value for key, value in run.items() if key != "tried"} for run in runs]
            profile = {key: _profile(runs, list(grid.settings(column)), key) for key in ("copies", "scale", "radius")}
            columns[column] = _spread([r["loss"] for r in runs]) | {"runs": kept, "profile": profile}
    result: dict[str, Any] = {"columns": columns, "rounds": found["bandit_boosting"][0]["rounds"]}
    for key, baseline, boosting in (
        ("full", "ogd", "gradient_boosting"),
        ("bandit", "n_point_fkm", "bandit_boosting"),
    ):
        if baseline in columns:
            one, two = (np.array([r["loss"] for r in found[c]]) for c in (boosting, baseline))
            result[f"paired_{key}"] = paired(one - two)
            result[f"decrease_{key}"] = float((two.mean() - one.mean()) / two.mean())
    result["relative_decrease"] = result["decrease_bandit"]
    return result


def _profile(runs: Sequence[dict[str, Any]], settings: Sequence[Setting], key: str) -> list[list[float]]:
    """Return, for each value of a tuned number, the smallest loss among settings with that value, averaged over runs.

    Losses are those on the part of the first half that all settings have played.
    """
    values = sorted({getattr(setting, key) for setting in settings})
    least = []
    for run in runs:
        first = min(rounds for _, _, rounds in run["tried"])
        losses = [(getattr(settings[i], key), loss) for i, loss, rounds in run["tried"] if rounds == first]
        least.append([min(loss for value, loss in losses if value == wanted) for wanted in values])
    return [[value, rounded(float(loss))] for value, loss in zip(values, np.mean(least, axis=0), strict=True)]


def _spread(values: Sequence[float]) -> dict[str, Any]:
    array = np.array(values)
    return {"mean": float(array.mean()), "deviation": deviation(array)}
