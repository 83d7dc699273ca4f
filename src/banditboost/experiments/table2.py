"""The paper's Table 2: boosting and its baselines, with full information and with bandit feedback, on real data.

The protocol is the same for all columns: a run shuffles the rows with its own seed, tunes by progressive loss on its first half,
and reports the progressive loss of a fresh model on its second half. Features are scaled to [0, 1], noise is uniform on ±0.1,
δ = 1/2, and the loss is (ŷ - y)². What the paper leaves open is settled by a reading, and every reading is run: see
`banditboost.experiments.table2_readings`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike

from banditboost import datasets
from banditboost._core.checks import count, one_of
from banditboost.booster import Booster
from banditboost.evaluate import Trace, best_linear, online_ridge, progressive, running_mean
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check as check  # the command line calls it here
from banditboost.experiments.data import label_interval, scaled
from banditboost.experiments.statistics import deviation, paired, rounded
from banditboost.experiments.table2_readings import (
    BANDIT,
    COLUMNS,
    DELTA,
    FULL,
    QUICK,
    READINGS,
    Grid,
    Perturbs,
    Plays,
    Setting,
)
from banditboost.experiments.table2_weights import fkm_on_weights
from banditboost.experiments.tuning import Tried, race, tune
from banditboost.noise import Uniform
from banditboost.worlds import Supervised, WeightSpace, World

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

_TRIED: dict[tuple[Any, ...], dict[tuple[Setting, int], float]] = {}
"""Losses of settings on first halves, kept because the grids of two readings share most of their settings."""


@dataclass(frozen=True)
class Run(Cell, kind="experiments.table2.Run"):
    """One column on one data set in one shuffle, tuned on the first half and reported on the second."""

    dataset: str = "abalone"
    column: str = "bandit_boosting"
    seed: int = 0
    grid: Grid = QUICK
    plays: Plays = "in Y"
    perturbs: Perturbs = "predictions"
    rows: int | None = None

    def run(self) -> dict[str, Any]:
        """Tune on the first half, then train a fresh model on the second half."""
        tuning, testing = self._halves()
        settings, tried = self._tune(tuning)
        if not np.isfinite(tried[-1].loss):
            raise ValueError(f"grid must have at least one setting with a finite loss, got {self.grid!r}.")
        best = settings[tried[-1].setting]
        result = _summary(self._play(best, testing))
        result |= {"setting": best.to_dict(), "tuning_loss": tried[-1].loss, "settings": len(settings)}
        result["tried"] = [[setting, rounded(loss), rounds] for setting, loss, rounds in tried]
        return result

    def settings(self, tuning: Supervised) -> list[Setting]:
        """Return the settings to choose from; where plays lie in Y, N-FKM has the N that was chosen for boosting."""
        copies = 1
        if self.plays == "in Y" and self.column == "n_point_fkm":
            settings, tried = replace(self, column="bandit_boosting", perturbs="predictions")._tune(tuning)
            copies = settings[tried[-1].setting].copies
        return list(self.grid.settings(self.column, self.plays, copies))

    def _tune(self, tuning: Supervised) -> tuple[list[Setting], list[Tried]]:
        settings = self.settings(tuning)
        key = (self.dataset, self.column, self.seed, self.plays, self.perturbs, self.rows)
        known = _TRIED.setdefault(key, {})
        if self._as_published:
            return settings, race(settings, self._means, tuning, known=known)
        return settings, tune(settings, lambda s: self._booster(s, tuning), tuning, self._view, known=known)

    def _play(self, setting: Setting, world: Supervised) -> Trace:
        if self._as_published:
            return self._fkm([setting], world)[0]
        return progressive(self._booster(setting, world), self._view(world))

    @property
    def _as_published(self) -> bool:
        """Whether this is N-FKM that perturbs its weights beside boosting whose plays lie in Y."""
        return self.plays == "in Y" and self.perturbs == "weights"

    def _fkm(self, settings: Sequence[Setting], world: Supervised) -> list[Trace]:
        return fkm_on_weights(
            [setting.radius or np.inf for setting in settings],
            [setting.rate for setting in settings],
            world,
            queries=settings[0].copies,
            delta=settings[0].delta,
            space=label_interval(self.dataset),
            seed=self.seed,
        )

    def _means(self, settings: Sequence[Setting], world: Supervised) -> list[float]:
        return [trace.mean for trace in self._fkm(settings, world)]

    def _halves(self) -> tuple[Supervised, Supervised]:
        tuning, testing = _world(self.dataset).shuffled(self.seed).halves()
        return (tuning, testing) if self.rows is None else (tuning.head(self.rows), testing.head(self.rows))

    def _view(self, world: Supervised) -> World:
        return world if self.perturbs == "predictions" else WeightSpace(world)

    def _booster(self, setting: Setting, world: Supervised) -> Booster:
        if self.perturbs == "predictions":
            return setting.booster(self.column, label_interval(self.dataset), self.seed, self.plays)
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
    return {"loss": trace.mean, "paid": trace.mean_paid, "rounds": len(trace), "curve": curve(trace)}


def curve(trace: Trace) -> dict[str, list[float]]:
    """Return the mean loss up to some rounds, few enough to draw."""
    at = np.unique(np.geomspace(1, len(trace), CURVE_POINTS).astype(int)) - 1
    return {"round": (at + 1).tolist(), "loss": [rounded(loss) for loss in trace.running[at]]}


def cells(reading: str, dataset: str, runs: int, grid: Grid | None = None) -> list[Run]:
    """Return the runs of one reading on one data set; a grid replaces the reading's own."""
    it = READINGS[reading]
    return [
        Run(
            dataset,
            column,
            seed,
            grid or it.grid,
            "free" if column in it.free else "in Y",
            "weights" if column in it.weights else "predictions",
            it.rows(dataset),
        )
        for seed in range(runs)
        for column in it.columns
    ]


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 20,
    readings: Sequence[str] = tuple(READINGS),
    grid: Grid | None = None,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run the table and return it as plain data: the means and deviations over runs, and every run.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of shuffles per data set.
    readings
        Names of readings; all of them by default.
    grid
        Settings to tune over, in place of those of every reading.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    count("runs", runs)
    if not readings:
        raise ValueError("reading must name at least one reading, got none.")
    for key in readings:
        one_of("reading", key, tuple(READINGS))
    lists: dict[tuple[str, str], list[Run]] = {
        (key, name): cells(key, name, runs, grid) for key in readings for name in names
    }
    beside = {name: [Comparators(name, seed) for seed in range(runs)] for name in names}
    everything: list[Sequence[Run | Comparators]] = [*lists.values(), *beside.values()]
    done = run_distinct(everything, **options)
    rows: dict[str, Any] = {}
    for name in names:
        row: dict[str, Any] = {"paper": PAPER[name], "readings": {}}
        drawn: set[str] = set()
        for key in readings:
            row["readings"][key] = _reading(lists[key, name], done, drawn)
            drawn |= set(READINGS[key].columns)
        for key in ("running_mean", "online_ridge", "best_linear"):
            row[key] = _spread([done[cell][key] for cell in beside[name]])
        rows[name] = row
    return {
        "experiment": "table2",
        "protocol": _protocol(runs, readings, grid),
        "rows": rows,
        "not_run": _not_run(names),
    }


def _protocol(runs: int, readings: Sequence[str], grid: Grid | None) -> dict[str, Any]:
    """Say what was run."""
    told = {}
    for key in readings:
        it = READINGS[key]
        told[key] = {
            "title": it.title,
            "free": list(it.free),
            "weights": list(it.weights),
            "grid": (grid or it.grid).to_dict(),
        }
    noise = Uniform(0.1).to_dict()
    return {"runs": runs, "delta": DELTA, "noise": noise, "loss": "squared", "readings": told}


def _not_run(names: Sequence[str]) -> dict[str, str]:
    """Return the reason for each data set of the paper's table that is missing here."""
    missing = {}
    for name in datasets.NAMES:
        if name not in names:
            missing[name] = "not asked for" if datasets.available(name) else "data not reachable"
    return missing


def _reading(runs: Sequence[Run], done: dict[Any, dict[str, Any]], drawn: set[str]) -> dict[str, Any]:
    """Summarise the columns of one reading on one data set, and compare boosting with its baseline run by run.

    Curves are kept of columns that no reading before has `drawn`. The losses of all settings stay with the cells; the results keep
    their profile.
    """
    columns: dict[str, Any] = {}
    losses: dict[str, Any] = {}
    for column in COLUMNS:
        cells = [cell for cell in runs if cell.column == column]
        if cells:
            found = [done[cell] for cell in cells]
            left_out = {"tried", "curve"} if column in drawn else {"tried"}
            kept = [{key: value for key, value in run.items() if key not in left_out} for run in found]
            losses[column] = np.array([run["loss"] for run in found])
            columns[column] = _spread(losses[column]) | {"runs": kept, "profile": _profiles(cells[0], found)}
    result: dict[str, Any] = {"columns": columns, "rounds": done[runs[0]]["rounds"]}
    for half, (baseline, boosting) in {"full": FULL, "bandit": BANDIT}.items():
        if baseline in columns:
            saved, usual = losses[baseline] - losses[boosting], float(losses[baseline].mean())
            result[half] = {
                "difference": paired(-saved),
                "decrease": {key: value / usual for key, value in paired(saved).items()},
                "ahead": int((saved > 0).sum()),
            }
    return result


def _profiles(cell: Run, runs: Sequence[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Return how the tuning loss depends on each number that is tuned alike in all runs, as far as they have kept it."""
    if not all("tried" in run for run in runs):
        return {}
    settings = list(cell.grid.settings(cell.column, cell.plays))
    varied = {key: len({getattr(setting, key) for setting in settings}) > 1 for key in ("copies", "scale", "radius")}
    return {key: _profile(runs, settings, key) for key in varied if varied[key]}


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


def _spread(values: ArrayLike) -> dict[str, Any]:
    array = np.asarray(values)
    return {"mean": float(array.mean()), "deviation": deviation(array)}
