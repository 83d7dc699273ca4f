"""What each part of the booster that remembers is worth: the whole beside boosters that lack one part each.

Protocol: shuffles of the first 5,000 rows of the first half of a data set, on which parts and numbers were chosen; second halves
have no part in this. Rows are predicted one by one, each before it is learned from, with noise uniform on ±0.1 on answers.
Every row but the first could come out lower than the first, and where it does the part costs more than it is worth there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from banditboost._core.checks import count
from banditboost.algorithms.boosted import boosted
from banditboost.algorithms.default_parts import linear_part, tree_part
from banditboost.booster import Booster
from banditboost.chains import Mix
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check
from banditboost.experiments.fair import MEMORY, halves
from banditboost.experiments.statistics import grouped, means
from banditboost.gradients import Remembered
from banditboost.learners import Grown, Mixed, Steady
from banditboost.spaces import Interval

ANSWERS = (30, 2, 1)
COPIES = 30


def _whole(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed, memory=MEMORY)


def _without_forest(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed, memory=None)


def _without_trees(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed, memory=MEMORY, copies=4)


def _without_shrinkage(space: Interval, answers: int, seed: int) -> Booster:
    whole = _whole(space, answers, seed).spec
    learner = Mixed((linear_part(), tree_part(space), Grown(memory=MEMORY)), (1, COPIES - 2, 1))
    gradient = replace(whole.gradient, levels=False) if isinstance(whole.gradient, Remembered) else whole.gradient
    return Booster.from_spec(replace(whole, learner=Steady(learner), chain=Mix(step=0.2, first=1.0), gradient=gradient))


def _grown_with(**numbers: Any) -> Callable[[Interval, int, int], Booster]:
    def make(space: Interval, answers: int, seed: int) -> Booster:
        return boosted(space, answers=answers, seed=seed, memory=Grown(**({"memory": MEMORY} | numbers)))

    return make


VARIANTS: dict[str, tuple[str, Callable[[Interval, int, int], Booster]]] = {
    "whole": ("as it is", _whole),
    "no_forest": ("nothing is remembered", _without_forest),
    "no_trees": ("one streaming tree in the place of 27", _without_trees),
    "no_shrinkage": ("no level, and nothing is shrunk towards it", _without_shrinkage),
    "rarely": ("forests grown when rounds have doubled", _grown_with(growth=2.0)),
    "few": ("forests of 20 trees", _grown_with(trees=20)),
    "forgetful": ("64 KiB of memory", _grown_with(memory=2**16)),
}
"""Boosters by name, with what sets them apart."""


@dataclass(frozen=True)
class Without(Cell, kind="experiments.memory.Without"):
    """One booster on one shuffle of rows of a first half."""

    dataset: str = "abalone"
    variant: str = "whole"
    answers: int = 30
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the mean loss and what was paid."""
        rows, _, space = halves(self.dataset, "squared", 0)
        trace = progressive(VARIANTS[self.variant][1](space, self.answers, self.seed), rows.shuffled(self.seed + 1))
        return {"loss": trace.mean, "paid": trace.mean_paid}


def reproduce(names: Sequence[str], *, runs: int = 5, **options: Unpack[ParallelOptions]) -> dict[str, Any]:
    """Run all variants and return plain data.

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
    cells = [Without(name, what, k, seed) for k in ANSWERS for name in names for what in VARIANTS for seed in seeds]
    done: dict[Cell, dict[str, Any]] = run_distinct([cells], **options)
    rows = [
        {"dataset": cell.dataset, "variant": cell.variant, "answers": cell.answers} | means(found)
        for cell, found in grouped(cells, done)
        if isinstance(cell, Without)
    ]
    return {"experiment": "memory", "protocol": {"runs": runs, "memory": MEMORY, "datasets": list(names)}, "rows": rows}
