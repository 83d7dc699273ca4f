"""The story in one minute: what each way to learn costs on real data, from who is told every label to who sees one loss a round.

Protocol: the rows of a data set are shuffled and cut into halves; rows of the second half are predicted one by one, each before it
is learned from, and their squared loss counts. The paper's Algorithm 2 is tuned on the first half (`table2`); nobody else is tuned.
Loss values are told with noise uniform on ±0.1. What was *paid* is the mean loss of the decisions that were tried in order to
learn: those who are told labels or gradients try nothing, and pay the loss of their predictions.

Every row could have come out otherwise, except that the running mean, against which all are measured, stands at nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.algorithms.boosted import boosted
from banditboost.evaluate import Trace, online_ridge, progressive, running_mean
from banditboost.experiments import table2
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check, label_interval, scaled
from banditboost.experiments.statistics import grouped, means
from banditboost.gradients import Exact
from banditboost.noise import Uniform
from banditboost.worlds import Supervised

ROWS = 8_000
"""Most rows of a half."""
NOBODY = "mean"
"""Who learns nothing from contexts: everyone is measured against it."""
WAYS = {
    "mean": ("the running mean", "labels, no features"),
    "ridge": ("online ridge regression", "labels"),
    "told": ("this library's default", "gradients"),
    "thirty": ("this library's default", "30 losses a round"),
    "two": ("this library's default", "2 losses a round"),
    "one": ("this library's default", "1 loss a round"),
    "paper": ("the paper's Algorithm 2, tuned", "5 to 30 losses a round"),
}
"""Who learns, and what they are told, by name; the first is the measure."""
ANSWERS = {"thirty": 30, "two": 2, "one": 1}
PAYS = (*ANSWERS, "paper")
"""Who tries decisions in order to learn, and pays for them."""


@dataclass(frozen=True)
class Told(Cell, kind="experiments.story.Told"):
    """One way to learn on one shuffle of one data set."""

    dataset: str = "abalone"
    way: str = "one"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the loss of predictions, what was paid, and the curve of the mean loss."""
        if self.way == "paper":
            found = table2.Run(self.dataset, "bandit_boosting", self.seed, rows=ROWS).run()
            curve = found["curve"]
        else:
            trace = self._trace()
            found, curve = {"loss": trace.mean, "paid": trace.mean_paid}, table2.curve(trace)
        return {"loss": found["loss"], "paid": found["paid"], "rounds": curve["round"], "running": curve["loss"]}

    def _trace(self) -> Trace:
        data, space = scaled(self.dataset), label_interval(self.dataset)
        world = Supervised(data.X, data.y, noise=Uniform(0.1)).shuffled(self.seed).halves()[1]
        world = world.head(min(ROWS, len(world)))
        if self.way == "told":
            return progressive(boosted(space, gradient=Exact(), seed=self.seed), world)
        if self.way in ANSWERS:
            return progressive(boosted(space, answers=ANSWERS[self.way], seed=self.seed), world)
        losses = running_mean(world, (space.low + space.high) / 2)
        return _played(losses if self.way == NOBODY else online_ridge(world, space=space))


def _played(losses: Array) -> Trace:
    """Return the trace of a learner that plays what it predicts."""
    return Trace(losses, losses, np.zeros(0))


def reproduce(
    names: Sequence[str] = ("abalone", "letter"), *, runs: int = 3, **options: Unpack[ParallelOptions]
) -> dict[str, Any]:
    """Run every way to learn and return plain data.

    Parameters
    ----------
    names
        Names of the paper's data sets.
    runs
        Number of shuffles.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    seeds = range(count("runs", runs))
    cells = [Told(name, way, seed) for name in names for way in WAYS for seed in seeds]
    done: dict[Cell, dict[str, Any]] = run_distinct([cells], **options)
    rows = [
        {"dataset": cell.dataset, "way": cell.way} | means(found)
        for cell, found in grouped(cells, done)
        if isinstance(cell, Told)
    ]
    for row in rows:
        nothing = next(other["loss"] for other in rows if (other["dataset"], other["way"]) == (row["dataset"], NOBODY))
        row |= {name: 1 - row[of] / nothing for name, of in (("explained", "loss"), ("kept", "paid"))}
    return {"experiment": "story", "protocol": {"runs": runs, "rows": ROWS, "datasets": list(names)}, "rows": rows}
