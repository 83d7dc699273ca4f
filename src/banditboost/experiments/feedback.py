"""The price of bandit feedback: the same boosting with exact gradients and with gradients estimated from noisy loss values.

The protocol is that of Table 2 (shuffled halves, everything tuned by progressive loss on the first half, a fresh model reported on
the second, features in [0, 1], queries may leave the label range), in the paper's linear setting, with 30 answers per round. Every
method is tuned over the same grid of rates, radii and distances δ, which decide how much smoothing and noise cost.

There are four questions. What is the price on real data? What is it with one answer per round? How does it depend on the number of
answers and on the noise? These are cells of the class `Run`. What is it in five and ten dimensions? These are cells of the class
`Dimension`.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from banditboost import datasets, losses
from banditboost._core.checks import count
from banditboost._core.spec import Spec
from banditboost.booster import Booster
from banditboost.chains import Chain, ConvexHull, Single
from banditboost.evaluate import gradient_noise, progressive, running_mean
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check as check  # the command line calls it here
from banditboost.experiments.data import label_interval, scaled
from banditboost.experiments.statistics import deviation, grouped, rounded, shared
from banditboost.experiments.tuning import tune
from banditboost.gradients import (
    Baseline,
    Budget,
    Exact,
    Fitted,
    Gradient,
    OnePoint,
    Residual,
    Sphere,
    Surrogate,
    TwoPoint,
)
from banditboost.learners import Linear
from banditboost.noise import Uniform
from banditboost.rates import Power
from banditboost.spaces import Ball, Space
from banditboost.worlds import Supervised, SyntheticLinear

LOSSES: dict[str, losses.Loss] = {
    "squared": losses.Squared(),
    "absolute": losses.Absolute(),
    "quantile": losses.Quantile(0.9),
}
WAYS = {
    "exact": "boosting, exact gradients",
    "surrogate": "boosting, Surrogate",
    "fitted": "boosting, Fitted",
    "two_point": "boosting, TwoPoint",
    "residual": "boosting, Residual",
    "baseline": "boosting, Baseline",
    "one_point": "boosting, OnePoint",
    "ogd": "one model, exact gradients",
    "n_fkm_surrogate": "N-FKM, Surrogate",
    "n_fkm": "N-FKM, OnePoint",
}
"""Methods by name, with their titles in tables; all but those with exact gradients see 30 noisy loss values per round."""
ONE_ANSWER = {
    "one_surrogate": "boosting, Budget(Surrogate)",
    "one_baseline": "boosting, Budget(Baseline)",
    "one_residual": "boosting, Budget(Residual)",
    "alone_baseline": "one model, Budget(Baseline)",
    "alone_residual": "one model, Budget(Residual)",
}
"""Methods with one answer per round: on average for Surrogate, whose models need several answers, exactly for the others."""
SPHERES: dict[str, type[Sphere]] = {
    "one_point": OnePoint,
    "two_point": TwoPoint,
    "baseline": Baseline,
    "residual": Residual,
    "surrogate": Surrogate,
    "fitted": Fitted,
}
"""Gradients from loss values, by the names of their methods."""
ANSWERS = 30
"""Number of answers per round, unless the budget varies."""
BUDGETS = (1, 2, 3, 5, 10, 20, 30)
"""Numbers of answers per round on the curve over budgets."""
NOISES = (0.0, 0.1, 0.2, 0.5, 1.0)
"""Bounds of the noise on the curve over noise."""
CURVES = ("abalone", "letter", "adult")
"""Data sets for which curves are drawn."""
CURVE_RUNS = 5
"""Largest number of shuffles for curves and dimensions."""
DIMENSIONS = (1, 5, 10)
"""Dimensions of the decisions in the synthetic worlds."""


@dataclass(frozen=True)
class Grid(Spec, kind="experiments.feedback.Grid"):
    """A grid of settings to tune over, in every combination."""

    deltas: tuple[float, ...] = (0.02, 0.1, 0.5, 2.0, 5.0)
    scales: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0)
    copies: tuple[int, ...] = (2, 5, 10)
    """Numbers of copies, which are tuned only where copies share one answer per round."""

    def settings(self, way: str) -> list[Setting]:
        """Return the settings of a method; exact gradients have no δ, and only methods with one answer tune the copies."""
        deltas = (0.5,) if way in ("exact", "ogd") else self.deltas
        copies = self.copies if way.startswith("one_") and way != "one_point" else (0,)
        return [Setting(*numbers) for numbers in itertools.product(deltas, self.scales, self.radii, copies)]


FULL = Grid()
QUICK = Grid(deltas=(0.1, 0.5), scales=(1e-2, 1e-1), radii=(3.0, 10.0), copies=(2,))


@dataclass(frozen=True)
class Setting(Spec, kind="experiments.feedback.Setting"):
    """One choice of the tuned numbers."""

    delta: float = 0.5
    scale: float = 0.1
    radius: float = 10.0
    copies: int = 0

    def booster(self, way: str, answers: int, space: Space, seed: int) -> Booster:
        """Build a method with this setting and a number of answers per round."""
        copies, chain, gradient = parts(way, answers, self.delta, self.copies)
        learner = Linear(radius=self.radius, rate=Power(self.scale, 0.5))
        return Booster(learner, copies, chain, gradient, space, inside=False, seed=seed)


def parts(way: str, answers: int, delta: float, copies: int) -> tuple[int, Chain, Gradient]:
    """Return the number of copies, the chain and the gradient of a method with a number of answers per round."""
    if way in ("exact", "ogd"):
        return (ANSWERS, ConvexHull(), Exact()) if way == "exact" else (1, Single(), Exact())
    if way.startswith("n_fkm"):
        kind = Surrogate if way == "n_fkm_surrogate" else OnePoint
        return 1, Single(), kind(delta, queries=answers)
    if way.startswith("alone_"):
        return 1, Single(), Budget(SPHERES[way.removeprefix("alone_")](delta), 1, exactly=True)
    if way in ONE_ANSWER:
        inner = SPHERES[way.removeprefix("one_")](delta)
        return copies, ConvexHull(), Budget(inner, 1, exactly=not isinstance(inner, Surrogate))
    sphere = SPHERES[way](delta)
    if answers < ANSWERS:
        return ANSWERS // sphere.sides, ConvexHull(), Budget(sphere, answers)
    return ANSWERS // sphere.sides, ConvexHull(), sphere


@dataclass(frozen=True)
class Run(Cell, kind="experiments.feedback.Run"):
    """One method on one data set with one loss in one shuffle."""

    dataset: str = "abalone"
    loss: str = "squared"
    way: str = "surrogate"
    answers: int = ANSWERS
    noise: float = 0.1
    seed: int = 0
    grid: Grid = FULL

    def run(self) -> dict[str, Any]:
        """Tune on the first half, then train a fresh model on the second."""
        world, space = (
            _world(self.dataset, self.loss, self.noise),
            label_interval(self.dataset),
        )
        tuning, testing = world.shuffled(self.seed).halves()
        settings = self.grid.settings(self.way)

        def build(setting: Setting) -> Booster:
            return setting.booster(self.way, self.answers, space, self.seed)

        tried = tune(settings, build, tuning, lambda part: part, keep=8)
        best = settings[tried[-1].setting]
        trace = progressive(build(best), testing)
        found = {"loss": trace.mean, "paid": trace.mean_paid, "setting": best.to_dict()}
        return found | ({"mean": float(running_mean(testing).mean())} if self.loss == "squared" else {})


@lru_cache(maxsize=16)
def _world(dataset: str, loss: str, noise: float) -> Supervised:
    data = scaled(dataset)
    return Supervised(data.X, data.y, LOSSES[loss], Uniform(noise) if noise else None)


@dataclass(frozen=True)
class Dimension(Cell, kind="experiments.Dimension"):
    """One method with decisions of d numbers in a synthetic linear world: its loss, and the errors of its gradients."""

    d: int = 5
    loss: str = "absolute"
    way: str = "surrogate"
    seed: int = 0
    rounds: int = 4000
    grid: Grid = Grid(deltas=(0.1, 0.5), scales=(1e-2, 1e-1, 1.0), radii=(1.0, 3.0))

    def run(self) -> dict[str, Any]:
        """Tune on the first half, report on the second, and measure gradients at the anchors of a boosted run with δ = 1/2."""
        linear = SyntheticLinear(2 * self.rounds, 5, self.d, 0.3, 2.0, Uniform(0.1), self.seed)
        world = Supervised(linear.contexts(), linear.labels(), LOSSES[self.loss], Uniform(0.1), self.seed)
        space, (tuning, testing) = Ball(self.d, 3.0), world.halves()
        settings = self.grid.settings(self.way)

        def build(setting: Setting) -> Booster:
            return setting.booster(self.way, ANSWERS, space, self.seed)

        best = settings[tune(settings, build, tuning, lambda part: part)[-1].setting]
        trace = progressive(build(best), testing)
        found = {"loss": trace.mean, "paid": trace.mean_paid, "setting": best.to_dict()}
        # The gradients of all methods are measured along the same run, that of exact gradients.
        copies, _, gradient = parts(self.way, ANSWERS, 0.5, 0)
        runner = Setting(0.5, 0.1, 3.0).booster("exact", ANSWERS, space, self.seed)
        if copies != ANSWERS:  # the two-point estimator has half as many copies, with two queries each
            runner = Booster(runner.spec.learner, copies, ConvexHull(), Exact(), space, inside=False, seed=self.seed)
        row = gradient_noise(runner, testing.head(1000), [gradient], repeats=50).rows[0]
        return found | {"error": row.error, "variance": row.variance, "bias": row.bias, "smoothing": row.smoothing}


def _rows_of_data(cell: Cell) -> float:
    return datasets.describe(cell.dataset).rows if isinstance(cell, Run) else 0


def cells_of(names: Sequence[str], runs: int, quick: bool) -> dict[str, list[Cell]]:
    """Return the cells of each question."""
    grid, seeds, few = QUICK if quick else FULL, range(runs), range(min(runs, CURVE_RUNS))
    kinds = ("squared",) if quick else tuple(LOSSES)
    drawn = [name for name in names if name in CURVES][: 1 if quick else None]
    budgets, noises = ((1, 5, 30), (0.0, 1.0)) if quick else (BUDGETS, NOISES)
    curve = ("one_point", "baseline", "surrogate", "n_fkm", "n_fkm_surrogate")
    noisy = ("one_point", "two_point", "baseline", "surrogate", "n_fkm", "n_fkm_surrogate")
    dimensions = [
        Dimension(d, kind, way, seed, 500 if quick else 4000)
        for d in DIMENSIONS
        for kind in ("squared", "absolute")
        for way in ("exact", "surrogate", "fitted", "two_point", "baseline", "one_point")
        for seed in few
    ]
    return {
        "price": [Run(n, k, w, seed=s, grid=grid) for n in names for k in kinds for w in WAYS for s in seeds],
        "one answer": [Run(n, "squared", w, 1, seed=s, grid=grid) for n in names for w in ONE_ANSWER for s in seeds],
        "budget": [
            Run(n, "squared", w, m, seed=s, grid=grid) for n in drawn for w in curve for m in budgets for s in few
        ],
        "noise": [
            Run(n, "squared", w, noise=b, seed=s, grid=grid) for n in drawn for w in noisy for b in noises for s in few
        ],
        "dimensions": [] if quick else list(dimensions),
    }


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 20,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return rows of plain data, one list per question.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of shuffles per data set; curves and dimensions have at most five.
    quick
        True: a small grid, the squared loss only, curves with few points on one data set, and no dimensions.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    wanted = cells_of(names, count("runs", runs), quick)
    done = run_distinct(wanted.values(), cost=_rows_of_data, **options)
    tables = {question: _rows(cells, done) for question, cells in wanted.items()}
    protocol = {"runs": runs, "grid": (QUICK if quick else FULL).to_dict(), "answers": ANSWERS, "quantile": 0.9}
    return {"experiment": "feedback", "protocol": protocol | {"curve_runs": min(runs, CURVE_RUNS)}, "tables": tables}


def _length(cell: Cell) -> float:
    """Return how many rows a cell plays; those without a data set are short."""
    return float(datasets.describe(cell.dataset).rows) if isinstance(cell, Run) else 0.0


def _rows(cells: Sequence[Cell], done: dict[Cell, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for cells that differ in the seed only: means, deviations, and the losses of every run."""
    rows = []
    for cell, results in grouped(cells, done):
        names = ("dataset", "loss", "way", "answers", "noise") if isinstance(cell, Run) else ("d", "loss", "way")
        row = {name: getattr(cell, name) for name in names}
        for name in shared(results):
            if name == "setting":
                row["setting"] = results[0][name]  # that of the first run
                continue
            values = np.array([result[name] for result in results])
            row[name if name != "loss" else "value"] = float(values.mean())
            if name == "loss":
                row["deviation"] = deviation(values)
                row["runs"] = [rounded(value) for value in values]
        rows.append(row)
    return rows
