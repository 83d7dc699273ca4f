"""Ours with memory by everyone else, on data sets on which nobody was tuned: what a ratio is, and how low it has to be.

A ratio is that of mean losses over all runs of one data set. Refitted models are taken at the better of the two on every data set.
Means are over data sets: the plain one decides, and the geometric one stands beside it. A data set on which all runs of a peer
diverged has no ratio and no part in the mean of that peer; where somebody was not run on all data sets, there is no mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean, geometric_mean
from typing import Any

from banditboost.experiments.further import untuned
from banditboost.experiments.peers import ONLINE, REFIT
from banditboost.experiments.statistics import rounded

OURS = ("memory_30", "memory_2", "memory_1")
"""Whose ratios are shown."""
JUDGED = "memory_30"
"""Whose ratios have limits."""
NOTHING = "mean"
"""The running mean, which learns nothing from contexts: its ratios must not keep the limits."""
REFITTED_LIMIT, ONLINE_LIMIT = 1.05, 0.90
"""How large the mean ratio to the better refitted model may be, and the number below which that to every online peer must lie."""
RIDGE = "ridge"
"""Online ridge, which is told labels, too, and is no library's peer: its ratios have no limit."""

Ratios = dict[str, Any]


def ratios_of(results: dict[str, Any]) -> list[Ratios]:
    """Return the ratios of ours with memory, and of the running mean, to the better refitted model, and to every online peer.

    Examples
    --------
    >>> losses = {"memory_30": 0.4, "lightgbm": 0.5, "histogram": 0.4, "vw": 0.8, "mean": 1.0}
    >>> rows = [{"dataset": "spam", "who": w, "by_loss": "squared", "untuned": True, "loss": x} for w, x in losses.items()]
    >>> for row in ratios_of({"rows": rows}):
    ...     print(row["who"], row["against"], row["mean"], row["met"])
    memory_30 refitted 1.0 True
    memory_30 vw 0.5 True
    mean refitted 2.5 False
    mean vw 1.25 False
    """
    rows = [
        row for row in results["rows"] if untuned(row["dataset"]) and row["by_loss"] == "squared" and row["untuned"]
    ]
    losses = {(row["dataset"], row["who"]): row.get("loss") for row in rows}
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    return [
        _row(losses, names, mine, against, others)
        for mine in (*OURS, NOTHING)
        if any((name, mine) in losses for name in names)
        for against, others in _opponents(losses, names)
    ]


def _opponents(
    losses: dict[tuple[str, str], float | None], names: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a name for those whose best counts, and who they are: all refitted models, then every online peer that was run."""
    refitted = tuple(who for who in REFIT if any((name, who) in losses for name in names))
    if refitted:
        yield "refitted", refitted
    for who in (*ONLINE, RIDGE):
        if any((name, who) in losses for name in names):
            yield who, (who,)


def _row(
    losses: dict[tuple[str, str], float | None], names: Sequence[str], mine: str, against: str, others: Sequence[str]
) -> Ratios:
    """Return ratios by data set (None where there is none), their means, and whether the limit is kept where there is one."""
    complete = all(
        losses.get((name, mine)) is not None and all((name, who) in losses for who in others) for name in names
    )
    ratios = {name: _ratio(losses.get((name, mine)), [losses.get((name, who)) for who in others]) for name in names}
    there = [ratio for ratio in ratios.values() if ratio is not None]
    row: Ratios = {"who": mine, "against": against, "ratios": ratios, "mean": None, "geometric": None, "met": None}
    if not complete or not there:
        return row
    row |= {"mean": rounded(fmean(there)), "geometric": rounded(geometric_mean(there))}
    if mine in (JUDGED, NOTHING) and against != RIDGE:
        row["met"] = row["mean"] <= REFITTED_LIMIT if against == "refitted" else row["mean"] < ONLINE_LIMIT
    return row


def _ratio(loss: float | None, others: Sequence[float | None]) -> float | None:
    """Return a loss over the least of others; None where either is missing."""
    least = min((other for other in others if other is not None), default=None)
    return None if loss is None or least is None else rounded(loss / least)
