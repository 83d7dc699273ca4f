"""What drift handling costs where nothing changes: the loss with it over the loss without it, on shuffled data sets.

Protocol: shuffles of second halves, as in `fair`, whose rounds all come from one mixture. Both boosters play the same shuffle with
the same seed, and the ratio of their losses has a paired interval over shuffles. A booster that is broken on purpose forgets all
rounds every 500, and must be above the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost import datasets
from banditboost._core.checks import count
from banditboost.experiments import drift_ours
from banditboost.experiments.cells import Cell, ParallelOptions, kept_results, run_distinct
from banditboost.experiments.data import check
from banditboost.experiments.drift_ours import FORGETFUL
from banditboost.experiments.fair import MEMORY, halves
from banditboost.experiments.statistics import paired, rounded

LIMIT = 1.01
"""Most that drift handling may cost: the ratio of losses."""


@dataclass(frozen=True)
class Still(Cell, kind="experiments.drift_stationary.Still"):
    """One booster on one shuffle of rows of a second half."""

    dataset: str = "abalone"
    variant: str = "memory"
    answers: int = 30
    seed: int = 0
    rows: int = 0
    """Most rows; 0 for those of `fair`."""

    def run(self) -> dict[str, Any]:
        """Return the mean loss and what was paid."""
        _, world, space = halves(self.dataset, "squared", self.seed)
        world = world.head(min(self.rows or len(world), len(world)))
        trace = drift_ours.play(self.variant, self.answers, space, world, self.seed)
        return {"loss": trace.mean, "paid": trace.mean_paid}


def compared() -> dict[str, str]:
    """Return the variants that handle drift, and those broken on purpose, each with the one that is the same without it.

    Examples
    --------
    >>> compared()["forgetful"]
    'memory'
    """
    everyone = drift_ours.VARIANTS | drift_ours.BROKEN
    return {name: variant.without for name, variant in everyone.items() if variant.without is not None}


def reproduce(
    names: Sequence[str] = datasets.NAMES,
    *,
    runs: int = 10,
    rows: int | None = None,
    kept: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run everyone with and without drift handling on the same shuffles and return plain data.

    Parameters
    ----------
    names
        Names of the paper's data sets.
    runs
        Number of shuffles.
    rows
        Most rows of a run; by default those of `fair`.
    kept
        True: nothing is run, and all is made of cells that the folder holds.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    folder, seeds, most = options.get("folder"), range(count("runs", runs)), 0 if rows is None else count("rows", rows)
    if kept and folder is None:
        raise ValueError("kept needs a folder of cells: name it with --resume.")
    pairs = compared()
    variants = dict.fromkeys(name for pair in pairs.items() for name in pair)
    cells = [Still(d, v, k, s, most) for d in names for v in variants for k in drift_ours.ANSWERS for s in seeds]
    done = kept_results(cells, folder) if kept and folder else run_distinct([cells], threads=False, **options)
    found = [
        row
        for name in names
        for variant, without in pairs.items()
        for k in drift_ours.ANSWERS
        if (row := _row(done, name, variant, without, k, seeds, most))
    ]
    return {
        "experiment": "drift_stationary",
        "protocol": {"runs": runs, "memory": MEMORY, "limit": LIMIT, "forgetful": FORGETFUL, "datasets": list(names)},
        "rows": found,
        "complaints": broken_that_pass(found),
    }


def _row(
    done: dict[Still, dict[str, Any]], dataset: str, variant: str, without: str, answers: int, seeds: range, rows: int
) -> dict[str, Any] | None:
    """Return the ratios of one variant to the one without drift handling, over the shuffles that both have played."""
    found = [[done.get(Still(dataset, who, answers, seed, rows)) for who in (variant, without)] for seed in seeds]
    both = [(a, b) for a, b in found if a is not None and b is not None]
    if not both:
        return None
    row: dict[str, Any] = {"dataset": dataset, "variant": variant, "without": without, "answers": answers}
    row["runs"] = len(both)
    for key in ("loss", "paid"):
        ratios = np.array([a[key] / b[key] for a, b in both])
        row |= {key: rounded(float(np.mean([a[key] for a, _ in both])))}
        row |= {f"{key}_without": rounded(float(np.mean([b[key] for _, b in both])))}
        row[f"{key}_ratio"] = {name: rounded(value) for name, value in paired(ratios).items()}
    return row | {"met": row["loss_ratio"]["mean"] <= LIMIT}


def broken_that_pass(rows: list[dict[str, Any]]) -> list[str]:
    """Return sentences about boosters that are broken on purpose and keep the limit."""
    return [
        f"The booster {row['variant']!r}, which is broken on purpose, keeps the limit on {row['dataset']} with "
        f"{row['answers']} answer(s)."
        for row in rows
        if row["variant"] in drift_ours.BROKEN and row["met"]
    ]
