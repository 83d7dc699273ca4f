"""Beyond the paper: which parts a booster needs, whether boosting pays, and whether coin betting needs a rate.

Protocol: rows are shuffled with a seed; the first 20,000 of the second half are predicted one by one, each before it is learned
from. Boosters ask for at most 30 noisy loss values per round (noise uniform on ±0.1).

The cells answer three questions. Which parts are needed (`Ablation`, on first halves)? Is boosting better than one copy (`Pays`)?
Does coin betting work without a learning rate (`Rate`)? How the default compares with peers is in `fair`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from banditboost import datasets
from banditboost._core.checks import Array, count
from banditboost.booster import Booster
from banditboost.chains import Additive, Chain, ConvexHull, Single, Span
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check, label_interval
from banditboost.experiments.statistics import grouped, rounded, shared
from banditboost.experiments.tuning import tune
from banditboost.gradients import Exact, Fitted, Gradient, OnePoint, Surrogate
from banditboost.learners import Coin, Fourier, Learner, Linear, Mixed, SecondOrder, Standardized, Tree
from banditboost.noise import Uniform
from banditboost.rates import Power
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

ROWS = 20_000
"""Largest number of rows of each half."""
COPIES = 30
"""Number of copies, and of answers per round."""
GRADIENTS = ("fitted", "surrogate", "one_point", "exact")
CHAINS = ("additive", "span", "hull")
LEARNERS = ("linear, then trees", "trees", "second-order", "Fourier", "gradient descent")
SIZES = (1, 2, 5, 10, 20, 30)


@lru_cache(maxsize=2)
def _table(dataset: str) -> tuple[Array, Array]:
    """Return contexts and labels, read once, since a wide table takes a gigabyte."""
    data = datasets.load(dataset).scaled("minmax")
    return np.asarray(data.X), data.y


def _halves(dataset: str, seed: int) -> tuple[Supervised, Supervised]:
    world = Supervised(*_table(dataset), noise=Uniform(0.1))
    tuning, testing = world.shuffled(seed).halves()
    return tuning.head(min(ROWS, len(tuning))), testing.head(min(ROWS, len(testing)))


def gradient_of(name: str, space: Interval, queries: int = 1) -> Gradient:
    """Return the gradient with a name of `GRADIENTS`."""
    wide = space.inner_radius / 2
    made: dict[str, Gradient] = {
        "fitted": Fitted(wide, queries=queries, scaled=True),
        "surrogate": Surrogate(wide, queries=queries),
        "one_point": OnePoint(wide, queries=queries),
        "exact": Exact(),
    }
    return made[name]


def chain_of(name: str, first: float) -> Chain:
    """Return the chain with a name of `CHAINS`; `first` is the first step of the additive chain."""
    return {"additive": Additive(step=0.2, first=first), "span": Span(step=0.2), "hull": ConvexHull()}[name]


def learner_of(name: str) -> Learner:
    """Return the learner with a name of `LEARNERS`."""
    linear, adding = Standardized(SecondOrder(centre="zero")), SecondOrder(10.0, 2.0, "zero", shrinks=True)
    own = Fourier(adding, features=64, bandwidth=0.4, coordinates=4, shared=False, raw=False)
    made: dict[str, Learner] = {
        "linear, then trees": Mixed((linear, Tree()), (1, COPIES - 1)),
        "trees": Tree(),
        "second-order": linear,
        "Fourier": Standardized(Mixed((adding, own), (1, COPIES - 1)), squash=True),
        "gradient descent": Linear(),
    }
    return made[name]


@dataclass(frozen=True)
class Ablation(Cell, kind="experiments.Ablation"):
    """One combination of parts on a first half; the default was chosen among these."""

    dataset: str = "abalone"
    gradient: str = "fitted"
    chain: str = "additive"
    learner: str = "linear, then trees"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Train a booster of these parts."""
        world, _ = _halves(self.dataset, self.seed)
        space, mixed = label_interval(self.dataset), self.learner in ("linear, then trees", "Fourier")
        chain = chain_of(self.chain, 1.0 if mixed else 0.2)
        gradient = gradient_of(self.gradient, space)
        trace = progressive(Booster(learner_of(self.learner), COPIES, chain, gradient, space, seed=self.seed), world)
        return {"loss": trace.mean, "paid": trace.mean_paid}


@dataclass(frozen=True)
class Pays(Cell, kind="experiments.Pays"):
    """N copies of one learner, or one copy with the chain `Single`, with 30 answers per round, tuned on the first half."""

    dataset: str = "abalone"
    learner: str = "trees"
    gradient: str = "exact"
    copies: int = 30
    chain: str = "additive"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Tune on the first half, then train a fresh model on the second."""
        tuning, testing = _halves(self.dataset, self.seed)
        settings = self._settings()
        best = settings[tune(settings, self._build, tuning.head(min(6000, len(tuning))), lambda part: part)[-1].setting]
        trace = progressive(self._build(best), testing)
        return {"loss": trace.mean, "paid": trace.mean_paid, "setting": [str(part) for part in best]}

    def _settings(self) -> list[tuple[Learner, float]]:
        # The steps of N copies add up to one or more; two copies and thirty have equally many settings to choose from.
        steps = {1: (1.0,), 2: (0.5, 0.7, 1.0)}.get(self.copies, (0.1, 0.2, 0.4))
        found: list[Learner] = []
        if self.learner == "trees":
            found = [Tree(ridge=ridge, evidence=e) for ridge in (5.0, 20.0, 80.0) for e in (4.0, 15.0)]
        elif self.learner == "Fourier":
            alone = self.chain == "single"
            for ridge in (1.0, 10.0, 100.0):
                inner = SecondOrder(ridge) if alone else SecondOrder(ridge, 2.0, "zero", shrinks=True)
                own = Fourier(inner, features=64, bandwidth=0.4, coordinates=4, shared=False, raw=False)
                found.append(Standardized(own, squash=True))
        else:
            found = [Linear(radius, Power(scale, 0.5)) for radius in (1.0, 3.0, 10.0) for scale in (0.01, 0.1, 1.0)]
        return [(learner, step) for learner in found for step in steps]

    def _build(self, setting: tuple[Learner, float]) -> Booster:
        learner, step = setting
        space = label_interval(self.dataset)
        chain: Chain = {"single": Single(), "additive": Additive(step=step), "hull": ConvexHull()}[self.chain]
        gradient = gradient_of(self.gradient, space, COPIES // self.copies)
        return Booster(
            learner, self.copies, chain, gradient, space, inside=self.gradient != "surrogate", seed=self.seed
        )


@dataclass(frozen=True)
class Rate(Cell, kind="experiments.Rate"):
    """Coin betting, which has no learning rate, against gradient descent with a rate tuned on the first half."""

    dataset: str = "abalone"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Train both with exact gradients."""
        tuning, testing = _halves(self.dataset, self.seed)
        space = label_interval(self.dataset)

        def one(learner: Learner) -> Booster:
            return Booster(learner, 1, Single(), Exact(), space, inside=False, seed=self.seed)

        settings: list[Learner] = [
            Linear(radius, Power(scale, power))
            for radius in (1.0, 3.0, 10.0, 30.0)
            for scale in (0.01, 0.03, 0.1, 0.3, 1.0)
            for power in (0.25, 0.5, 0.75)
        ]
        best = settings[tune(settings, one, tuning, lambda part: part)[-1].setting]
        return {"coin": progressive(one(Coin()), testing).mean, "ogd": progressive(one(best), testing).mean}


def cells_of(names: Sequence[str], runs: int, quick: bool) -> dict[str, list[Cell]]:
    """Return the cells of each question."""
    seeds, pays = range(runs), ("exact", "fitted", "surrogate")
    sizes = (1, 30) if quick else SIZES
    alone = [
        Pays(n, kind, g, 1, "single", s)
        for n in names
        for kind in ("trees", "Fourier", "linear")
        for g in pays
        for s in seeds
    ]
    many = [
        Pays(n, kind, g, size, "hull" if kind == "linear" else "additive", s)
        for n in names
        for kind in ("trees", "Fourier", "linear")
        for g in pays
        for size in (sizes if kind != "linear" else (30,))
        for s in seeds
    ]
    learners = LEARNERS[:3] if quick else LEARNERS
    return {
        "ablation": [Ablation(n, g, c, k) for n in names for g in GRADIENTS for c in CHAINS for k in learners],
        "pays": [] if quick else [*alone, *many],
        "rates": [Rate(n, s) for n in names for s in seeds],
    }


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 3,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return rows of plain data, one list per question.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of shuffles per data set.
    quick
        True: fewer combinations, and no curve over the number of copies.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    wanted_cells = cells_of(names, count("runs", runs), quick)
    done = run_distinct(wanted_cells.values(), **options)
    tables = {question: _rows(cells, done) for question, cells in wanted_cells.items()}
    return {"experiment": "beyond", "protocol": {"runs": runs, "rows": ROWS, "copies": COPIES}, "tables": tables}


def _rows(cells: Sequence[Cell], done: dict[Cell, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return one row for cells that differ in the seed only: means, and the numbers of every run."""
    rows = []
    for cell, results in grouped(cells, done):
        fields = {name: value for name, value in cell.to_dict().items() if name not in ("kind", "seed")}
        row = {f"by_{name}" if name == "loss" else name: value for name, value in fields.items()}
        for name in shared(results):
            if name != "setting":
                values = [float(result[name]) for result in results]
                row[name] = float(np.mean(values))
                row[f"{name}_runs"] = [rounded(value) for value in values]
        rows.append(row)
    return rows
