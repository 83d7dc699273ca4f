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


def mean_limits(mean: float, error: float, runs: int) -> tuple[float, float]:
    """Return a lower and an upper 95 % limit of a mean, each one-sided, from its standard error.

    Examples
    --------
    >>> [round(limit, 2) for limit in mean_limits(1.0, 0.1, 30)]
    [0.83, 1.17]
    """
    from scipy.special import stdtrit

    away = float(stdtrit(runs - 1, 0.95)) * error if runs > 1 else 0.0
    return mean - away, mean + away


def rate_limits(failures: int, runs: int) -> tuple[float, float]:
    """Return a lower and an upper 95 % limit of a failure rate, each one-sided (Clopper, Pearson 1934).

    Examples
    --------
    >>> [round(limit, 3) for limit in rate_limits(0, 29)], [round(limit, 3) for limit in rate_limits(8, 8)]
    ([0.0, 0.098], [0.688, 1.0])
    """
    from scipy.special import betaincinv

    low = float(betaincinv(failures, runs - failures + 1, 0.05)) if failures else 0.0
    high = float(betaincinv(failures + 1, runs - failures, 0.95)) if failures < runs else 1.0
    return low, high


def runs_to_reject(rate: float) -> int:
    """Return the fewest runs which, where none fails, reject a failure rate with 95 % confidence.

    Examples
    --------
    >>> runs_to_reject(0.1), runs_to_reject(0.05)
    (29, 59)
    """
    runs = 1
    while rate_limits(0, runs)[1] > rate:
        runs += 1
    return runs


def means(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return means over runs beside the numbers of every run; lists, such as those of quarters, have their means only.

    Examples
    --------
    >>> means([{"loss": 1.0, "quarters": [2.0, 1.0]}, {"loss": 2.0, "quarters": [4.0, 1.0]}])
    {'loss': 1.5, 'loss_runs': [1.0, 2.0], 'quarters': [3.0, 1.0]}
    """
    row: dict[str, Any] = {}
    for name, first in results[0].items():
        values = np.array([result[name] for result in results])
        if isinstance(first, list):
            row[name] = [rounded(float(value)) for value in values.mean(axis=0)]
        else:
            row[name] = float(values.mean())
            row[f"{name}_runs"] = [rounded(float(value)) for value in values]
    return row
