"""Means, deviations and intervals over the runs of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array
from banditboost.experiments.cells import Cell


def rounded(value: float) -> float:
    """Return a number to six digits, which are enough to draw and keep result files small."""
    return float(f"{value:.6g}")


def deviation(values: ArrayLike) -> float:
    """Return the standard deviation over runs, which is zero for a single run."""
    found = np.asarray(values, dtype=np.float64)
    return float(found.std(ddof=1)) if len(found) > 1 else 0.0


def paired(differences: Array) -> dict[str, float]:
    """Return the mean difference over runs, with a 95 % interval from Student's distribution."""
    from scipy.special import stdtrit

    n, mean = len(differences), float(differences.mean())
    half = float(stdtrit(n - 1, 0.975) * deviation(differences) / np.sqrt(n)) if n > 1 else 0.0
    return {"mean": mean, "low": mean - half, "high": mean + half}


def shared(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return the names that all results have: where some are kept from an earlier version, they may lack one.

    Examples
    --------
    >>> shared([{"loss": 1.0, "paid": 2.0}, {"loss": 1.5}])
    ['loss']
    """
    return [name for name in results[0] if all(name in result for result in results)]


def grouped(cells: Sequence[Cell], done: dict[Cell, dict[str, Any]]) -> list[tuple[Cell, list[dict[str, Any]]]]:
    """Return the results of cells that differ in nothing but their seed, beside the first cell of each group."""
    same: dict[str, Any] = {"seed": 0}
    groups: dict[Cell, tuple[Cell, list[dict[str, Any]]]] = {}
    for cell in cells:
        groups.setdefault(replace(cell, **same), (cell, []))[1].append(done[cell])
    return list(groups.values())
