"""Fair peers: ours, told loss values, beside learners that are told labels, all untuned and tuned alike, and refitted ones.

Protocol: the rows of a data set are shuffled once and cut into halves. Twenty settings of everyone are tried on the first 5,000
rows of the first half, in that order, once for all runs; the best on them is "tuned", and a trial that diverges cannot be chosen.
The runs are shuffles of the second half, of which the first 10,000 rows (5,000 of census, which is wide) are predicted one by one,
each before it is learned from.
Predictions are clipped to the range of the labels; a run is called diverged where the loss of the unclipped ones is ten times that
of the running mean or more. On data sets that had no part in any choice (`further`, `held-out`) everyone runs untuned.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from banditboost import datasets, losses
from banditboost._core.checks import Array, count, one_of
from banditboost.evaluate import best_linear, online_ridge, progressive, running_mean
from banditboost.experiments import peers
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check
from banditboost.experiments.fair_ratios import ratios_of
from banditboost.experiments.further import FURTHER, HELD_OUT, read, untuned
from banditboost.experiments.peers_settings import ours, settings
from banditboost.experiments.renewal import Renewal
from banditboost.experiments.statistics import grouped, rounded
from banditboost.noise import Uniform
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

ROWS, TUNING, WIDE = 10_000, 5_000, 200
"""Most rows of a run, of a trial, and the number of features from which on a run has half as many rows: forests take long there."""
DIVERGED = 10.0
"""A run whose unclipped loss is this many times the running mean's has diverged."""
OURS = {"ours_1": 1, "ours_2": 2, "ours_30": 30, "ours_told": 0}
"""Ours, by name, with the number of answers a round; none where gradients are told."""
REMEMBERING = {"memory_1": 1, "memory_2": 2, "memory_30": 30}
"""Ours that remember rounds, which nobody tunes."""
MEMORY = 2**25
"""Most bytes in which they do."""
KNOWN = ("ridge", "mean", "line")
"""Online ridge, the running mean, and the best line in hindsight."""
LOSSES: dict[str, losses.Loss] = {"squared": losses.Squared(), "absolute": losses.Absolute()}


@lru_cache(maxsize=2)
def _table(dataset: str) -> tuple[Array, Array, tuple[float, float]]:
    """Return contexts, labels and their range, read once."""
    if untuned(dataset):
        contexts, labels = read(dataset)
        return contexts, labels, (float(labels.min()), float(labels.max()))
    data = datasets.load(dataset).scaled("minmax")
    return np.asarray(data.X), data.y, data.label_range


def halves(dataset: str, loss: str, seed: int) -> tuple[Supervised, Supervised, Interval]:
    """Return the rows of trials, the rows of a run, and where predictions lie."""
    contexts, labels, limits = _table(dataset)
    tuning, testing = Supervised(contexts, labels, LOSSES[loss], Uniform(0.1)).shuffled(0).halves()
    testing = testing.shuffled(seed + 1)
    rows = ROWS if contexts.shape[1] < WIDE else ROWS // 2
    return tuning.head(min(TUNING, len(tuning))), testing.head(min(rows, len(testing))), Interval(*limits)


@dataclass(frozen=True)
class Run(Cell, kind="experiments.fair.Run"):
    """One learner with one setting on one data set, on rows of the second half, or as a trial on the first."""

    dataset: str = "abalone"
    who: str = "ours_30"
    setting: str = "{}"
    """What differs from the default, as JSON."""
    loss: str = "squared"
    trial: bool = False
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the mean loss at predictions, what was paid, and whether the unclipped predictions diverged."""
        tuning, testing, space = halves(self.dataset, self.loss, self.seed)
        world = tuning if self.trial else testing
        setting = json.loads(self.setting)
        if self.who in OURS or self.who in REMEMBERING:
            answers, memory = (OURS | REMEMBERING)[self.who], MEMORY if self.who in REMEMBERING else None
            trace = progressive(ours(space, answers, setting, self.seed, memory), world)
            return {"loss": trace.mean, "diverged": False} | ({"paid": trace.mean_paid} if answers else {})
        mean = float(running_mean(world, (space.low + space.high) / 2).mean())
        if self.who in KNOWN:
            return {"loss": mean if self.who == "mean" else _known(self.who, world, space, setting), "diverged": False}
        contexts, labels = np.ascontiguousarray(world.contexts()), np.ascontiguousarray(world.labels())
        predictions = peers.play(self.who, contexts, labels, self.loss, self.seed, **setting)
        free = float(world.loss.value(predictions, labels, 0).mean())
        clipped = float(world.loss.value(np.clip(predictions, space.low, space.high), labels, 0).mean())
        diverged = not np.isfinite(clipped) or not free < DIVERGED * mean
        return {"loss": clipped if np.isfinite(clipped) else None, "diverged": diverged}


def _known(who: str, world: Supervised, space: Interval, setting: peers.Setting) -> float:
    losses = online_ridge(world, space=space, **setting) if who == "ridge" else best_linear(world)
    return float(losses.mean())


def tuned_as(who: str) -> str:
    """Return whose settings a learner tries: all of ours have the same."""
    return "ours" if who in OURS else who


def trials(dataset: str, who: str) -> list[Run]:
    """Return the trials of one learner on one data set."""
    if who in ("mean", "line", *REMEMBERING):
        return []
    return [Run(dataset, who, json.dumps(setting), trial=True) for setting in settings(tuned_as(who))]


def best(cells: Sequence[Run], done: dict[Run, dict[str, Any]]) -> str:
    """Return the setting with the least loss among trials that did not diverge; the default where all did."""
    good = [cell for cell in cells if not done[cell]["diverged"]]
    return min(good or cells[:1], key=lambda cell: done[cell]["loss"]).setting


def wanted_peers(text: str) -> tuple[str, ...]:
    """Return the peers named in a text, after a check that their libraries are installed."""
    names = tuple(peers.PEERS) if text == "all" else tuple(name.strip() for name in text.split(",") if name.strip())
    trial = np.random.default_rng(0).random((25, 6))
    for name in names:
        peers.play(name, np.ascontiguousarray(trial[:, :5]), np.ascontiguousarray(trial[:, 5]))
    return names


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 10,
    wanted: Sequence[str] = tuple(peers.PEERS),
    renewal: Renewal | None = None,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run trials, then everyone untuned and tuned, and return plain data.

    Parameters
    ----------
    names
        Names of data sets: the paper's, or those of `FURTHER` and `HELD_OUT`, where nobody is tuned.
    runs
        Number of shuffles of the second half.
    wanted
        Names of the peers to run, of `peers.PEERS`.
    renewal
        Who runs, where that is not everyone, and the earlier results that the rows of all others are kept from.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    for name in names:
        one_of("datasets", name, (*datasets.NAMES, *FURTHER, *HELD_OUT))
    known = [name for name in names if not untuned(name)]
    if known or not names:
        check(known)
    for name in names:
        _table(name)
    everyone: tuple[str, ...] = (*OURS, *REMEMBERING, *wanted, *KNOWN)
    if renewal is not None:
        everyone = renewal.wanted((*OURS, *REMEMBERING, *peers.PEERS, *KNOWN))
    tried = {(name, who): trials(name, who) for name in known for who in everyone}
    outcomes = run_distinct(tried.values(), threads=False, **options)  # peers hold the interpreter's lock
    chosen = {key: best(cells, outcomes) for key, cells in tried.items() if cells}
    cells = [cell for name in names for who in everyone for cell in _runs(name, who, chosen, count("runs", runs))]
    done: dict[Cell, dict[str, Any]] = run_distinct([cells], threads=False, **options)
    results: dict[str, Any] = {
        "experiment": "fair",
        "protocol": {
            "runs": runs,
            "rows": ROWS,
            "tuning_rows": TUNING,
            "trials": len(settings("ours")),
            "answers": max(OURS.values()),
            "memory": MEMORY,
        },
        "rows": [_row(cell, found, chosen) for cell, found in grouped(cells, done)],
        "trials": [
            {"dataset": cell.dataset, "who": cell.who, "setting": json.loads(cell.setting), **found}
            for cell, found in outcomes.items()
        ],
    }
    if renewal is not None:
        results |= {name: renewal.rows(name, results[name], "dataset") for name in ("rows", "trials")}
        results |= {"protocol": renewal.earlier["protocol"], "renewed": renewal.noted(names)}
    return results | {"ratios": ratios_of(results)}


def _runs(dataset: str, who: str, chosen: dict[tuple[str, str], str], runs: int) -> list[Run]:
    """Return the runs of one learner on one data set: untuned by both losses, tuned by the squared one."""
    again = who not in (*peers.TREES, *KNOWN) and not untuned(dataset)  # forests and ridge have the squared loss only
    found = [
        Run(dataset, who, loss=loss, seed=seed) for loss in LOSSES for seed in range(runs) if loss == "squared" or again
    ]
    if (dataset, who) in chosen:
        found += [Run(dataset, who, chosen[dataset, who], seed=seed) for seed in range(runs)]
    return list(dict.fromkeys(found))


def _row(cell: Cell, found: list[dict[str, Any]], chosen: dict[tuple[str, str], str]) -> dict[str, Any]:
    """Return one row for the runs of one learner with one setting."""
    assert isinstance(cell, Run)
    kept = [result for result in found if not result["diverged"]]
    row: dict[str, Any] = {"dataset": cell.dataset, "who": cell.who, "by_loss": cell.loss}
    chosen_here = cell.setting == chosen.get((cell.dataset, cell.who))
    row |= {"setting": json.loads(cell.setting), "untuned": cell.setting == "{}", "tuned": chosen_here}
    row["diverged"] = len(found) - len(kept)
    for name in ("loss", "paid"):
        values = [result[name] for result in found if name in result and not result["diverged"]]
        if values:
            row |= {name: float(np.mean(values)), f"{name}_runs": [rounded(value) for value in values]}
    return row
