"""The readings of the paper's text under which Table 2 is run: named settings, fixed before anything is run.

The paper says what a weak learner is (Definition 6: its plays lie in the set Y of decisions), what Algorithm 2 asks, that its weak
learners and its baseline are linear models "updated with FKM", and the ranges of N and of the learning rate. It does not say what
is done with a linear model's play that leaves Y, what its linear models perturb, and in which set weights lie. A reading settles
these questions, in the same way for all data sets.

In readings whose plays lie in Y both sides try equally many settings. Boosting tunes N and has no radius, since its plays are
bounded; its baseline tunes the radius R of the ball of its weights, on which FKM and OGD project. The N of N-FKM is not tuned: it
is "the number of weak learners of the corresponding boosting method", the one that the same run has chosen for boosting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from banditboost import algorithms, datasets
from banditboost._core.spec import Spec
from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.gradients import OnePoint
from banditboost.learners import OGD, Linear
from banditboost.rates import Power
from banditboost.spaces import Ball, Interval

FULL = ("ogd", "gradient_boosting")
BANDIT = ("n_point_fkm", "bandit_boosting")
COLUMNS = (*FULL, *BANDIT)
BOOSTING = ("gradient_boosting", "bandit_boosting")
DELTA = 0.5
"""Distance δ of the queries, as in the paper."""

Plays = Literal["in Y", "free"]
"""Where weak learners play: in the set of decisions, as Definition 6 requires, or wherever weights in a ball lead."""
Perturbs = Literal["predictions", "weights"]
"""What is perturbed: a prediction (d = 1) or all weights (d = number of features and one)."""


@dataclass(frozen=True)
class Grid(Spec, kind="experiments.table2.Grid"):
    """A grid of settings to tune over; the defaults are the paper's ranges, and radii of the balls of weights."""

    copies: tuple[int, ...] = (5, 10, 20, 30)
    scales: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    powers: tuple[float, ...] = (0.25, 0.5, 0.75, 1.0)
    radii: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0)

    def settings(self, column: str, plays: Plays = "free", copies: int = 1) -> Iterator[Setting]:
        """Yield the settings of a column; where plays lie in Y, a baseline has `copies` answers and boosting has no radius."""
        numbers: tuple[int, ...] = (1,) if column == "ogd" else self.copies
        radii: tuple[float | None, ...] = self.radii
        if plays == "in Y":
            numbers, radii = (self.copies, (None,)) if column in BOOSTING else ((copies,), self.radii)
        for n, scale, power, radius in itertools.product(numbers, self.scales, self.powers, radii):
            yield Setting(n, scale, power, radius)


WIDE_RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)
GRIDS = {
    "paper": Grid(),
    "wide": Grid(scales=WIDE_RATES),
    "free wide": Grid(scales=WIDE_RATES, radii=(0.3, 1.0, 3.0, 10.0, 30.0)),
    "wide, more radii": Grid(scales=WIDE_RATES, radii=(0.1, 0.3, 1.0, 3.0, 10.0, 30.0)),
    "small": Grid(copies=(5, 30), scales=(1e-4, 1e-3, 1e-2, 1e-1), powers=(0.25, 0.5), radii=(1.0, 3.0, 10.0, 30.0)),
}
QUICK = Grid(copies=(5, 30), scales=(1e-3, 1e-2, 1e-1), powers=(0.25, 0.5), radii=(3.0, 10.0))
"""A small grid for a quick run."""


@dataclass(frozen=True)
class Setting(Spec, kind="experiments.table2.Setting"):
    """One choice of the tuned numbers."""

    copies: int = 10
    scale: float = 0.1
    power: float = 0.5
    radius: float | None = 10.0
    delta: float = DELTA

    @property
    def rate(self) -> Power:
        """The learning rate lr·t^-c."""
        return Power(self.scale, self.power)

    def booster(self, column: str, labels: Interval, seed: int, plays: Plays = "free") -> Booster:
        """Build a column's algorithm with this setting, with perturbed predictions.

        Where plays lie in Y, the range of the labels, that is an interval wider by δ whose copies keep a distance of δ from its
        ends. The paper's chain starts at zero, also where Y does not contain it, as for abalone; a booster of the library would
        start in Y then, so that no query leaves the set, and is told otherwise here.
        """
        common: dict[str, Any] = {"learner": Linear(radius=self.radius, rate=self.rate), "seed": seed}
        space = labels
        if column in BANDIT:
            common |= {"queries" if column == "n_point_fkm" else "copies": self.copies, "delta": self.delta}
            space = Interval(labels.low - self.delta, labels.high + self.delta) if plays == "in Y" else labels
        elif column == "gradient_boosting":
            common |= {"copies": self.copies}
        recipe: Callable[..., Booster] = getattr(algorithms, column)
        booster = recipe(space, inside=plays == "in Y", **common)
        if plays == "in Y" and column in BOOSTING:
            booster.geometry = booster.geometry._replace(chain_start=np.zeros(()))
        return booster

    def booster_in_weights(self, column: str, dimension: int, seed: int) -> Booster:
        """Build a bandit column's algorithm with this setting and perturbed weights, where decisions are weights in a ball."""
        assert self.radius is not None
        boosting = column == "bandit_boosting"
        return Booster(
            learner=OGD(rate=self.rate),
            copies=self.copies if boosting else 1,
            chain=ConvexHull() if boosting else Single(),
            gradient=OnePoint(self.delta, queries=1 if boosting else self.copies),
            space=Ball(dimension, self.radius),
            inside=False,
            seed=seed,
        )


class Reading(NamedTuple):
    """One reading of the paper's text."""

    title: str
    columns: tuple[str, ...]
    """The algorithms that are run: both halves of the table, or one."""
    grid: Grid
    free: tuple[str, ...] = ()
    """The algorithms whose plays are free; those of the others lie in Y."""
    weights: tuple[str, ...] = ()
    """The algorithms that perturb their weights; the others perturb their predictions."""
    numbers: int | None = None
    """Most random numbers that one pass over a half draws, if that is limited; more rows are left out, for both sides alike."""

    def rows(self, dataset: str) -> int | None:
        """Return how many rows of each half are used; None for all of them."""
        info = datasets.describe(dataset)
        half = info.rows // 2
        rows = half if self.numbers is None else self.numbers // (max(self.grid.copies) * (info.features + 1))
        return rows if rows < half else None


READINGS = {
    "D": Reading("plays in Y, N-FKM perturbs its weights", BANDIT, GRIDS["paper"], weights=("n_point_fkm",)),
    "A": Reading("plays in Y, N-FKM perturbs its predictions", BANDIT, GRIDS["paper"]),
    "B": Reading("A with the wide grid", BANDIT, GRIDS["wide"]),
    "C": Reading("full information, plays in Y, against OGD", FULL, GRIDS["paper"]),
    "E": Reading("D with the wide grid", BANDIT, GRIDS["wide"], weights=("n_point_fkm",), numbers=40_000 * 30 * 402),
    "F": Reading(
        "E with smaller radii, too",
        BANDIT,
        GRIDS["wide, more radii"],
        weights=("n_point_fkm",),
        numbers=40_000 * 30 * 402,
    ),
    "A-free": Reading("boosting as in A, N-FKM as in free", BANDIT, GRIDS["paper"], free=("n_point_fkm",)),
    "C-free": Reading("boosting as in C, OGD as in free", FULL, GRIDS["paper"], free=("ogd",)),
    "free": Reading("plays unprojected, weights in a ball", COLUMNS, GRIDS["paper"], free=COLUMNS),
    "free-wide": Reading("free with the wide grid", COLUMNS, GRIDS["free wide"], free=COLUMNS),
    "free-weights": Reading(
        "free, both sides perturb their weights", BANDIT, GRIDS["small"], BANDIT, BANDIT, 60_000_000
    ),
}
"""All readings by name, the paper's own definitions first; those named *free* are what this page showed before.

F, A-free and C-free were added when D had been seen: N-FKM chose the smallest radius on data with many features, and A and C were
first measured against baselines whose plays are free.
"""
