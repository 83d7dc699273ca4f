"""Classification from bandit feedback: letter's 26 classes from noisy loss values, beside peers that see every class.

Protocol: rows are shuffled with the run's seed and halved. All choices were made on the first half of seed 0; the second halves are
reported, with a fresh model that predicts each row before it learns from it (progressive validation). Features are as in the file,
but in [0, 1] for Vowpal Wabbit. Loss values have noise uniform on ±0.1. Second halves of other seeds share rows with the first half
of seed 0; only the second half of seed 0 has none of them.

Peers see the class of every row, and run with their defaults except for the options named: on the first half Vowpal Wabbit's own
learning rate did better than 2 and 5, and its network did better with the logistic loss. Forests were not tuned, while the numbers
of `algorithms.boosted` that depend on the rank were chosen on this data, which favours ours. No peer learns from loss values of
probability vectors: ours with exact gradients is the fair comparison, and ours with values alone shows the price of loss values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from banditboost import algorithms, datasets, losses
from banditboost._core.checks import count, one_of
from banditboost.booster import Booster
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell, Options, run_cells
from banditboost.experiments.classification_peers import PEERS, peer
from banditboost.experiments.statistics import shared
from banditboost.gradients import Exact
from banditboost.noise import Uniform
from banditboost.spaces import Space
from banditboost.worlds import Classification

OURS: dict[str, tuple[str, dict[str, Any]]] = {
    "values_10": ("boosted, 10 noisy values a round", {"answers": 10}),
    "values_30": ("boosted, 30 noisy values a round", {}),
    "values_30_of_60": ("boosted, 60 copies, 30 noisy values a round", {"copies": 60, "answers": 30}),
    "exact": ("boosted, exact gradients", {"gradient": Exact()}),
    "exact_60": ("boosted, 60 copies, exact gradients", {"copies": 60, "gradient": Exact()}),
}
"""Our methods by name: the title in tables, and the arguments of `algorithms.boosted`."""
WAYS = {name: title for name, (title, _) in OURS.items()} | PEERS
"""All methods by name, with their titles in tables."""
NOISE = 0.1
"""Bound of the noise on loss values."""
LOSSES: dict[str, losses.Loss] = {"squared": losses.Squared(), "log": losses.Bregman("entropy", 0.05)}


@dataclass(frozen=True)
class Run(Cell, kind="experiments.classification.Run"):
    """One method on the second half of a data set's rows in one shuffle."""

    dataset: str = "letter"
    way: str = "values_30"
    loss: str = "squared"
    seed: int = 0
    rows: int = 20_000

    def run(self) -> dict[str, Any]:
        """Predict and learn row by row; return the accuracy over all rows and over the last half, and the time per row."""
        world = _world(self.dataset, self.loss).shuffled(self.seed).halves()[1].head(self.rows)
        if self.way in PEERS:
            return _run_peer(self.way, world)
        build = _builder(self.way, world.space, self.seed)
        progressive(build(), world.head(2))  # so that compilation is not part of the measured time
        begin = time.perf_counter()
        trace = progressive(build(), world)
        seconds = time.perf_counter() - begin
        found = _judged(world, world.hits(trace.predictions), seconds)
        return found | {"loss": trace.mean, "paid": trace.mean_paid}


def _builder(way: str, space: Space, seed: int) -> Callable[[], Booster]:
    return lambda: algorithms.boosted(space, seed=seed, memory=None, **OURS[one_of("way", way, OURS)][1])


@lru_cache(maxsize=4)
def _world(dataset: str, loss: str) -> Classification:
    data = datasets.load(dataset, labels="classes")
    names = range(len(datasets.describe(dataset).classes))
    return Classification(data.X, data.y, LOSSES[loss], Uniform(NOISE), names=list(names))


def _judged(world: Classification, hits: NDArray[np.bool_], seconds: float) -> dict[str, Any]:
    late = hits[len(hits) // 2 :]
    return {"accuracy": float(hits.mean()), "late": float(late.mean()), "microseconds": 1e6 * seconds / len(world)}


def _run_peer(way: str, world: Classification) -> dict[str, Any]:
    """Run a peer, which sees the class of every row."""
    learn, rows = peer(way, world)
    begin = time.perf_counter()
    guesses = [learn(row) for row in rows]
    seconds = time.perf_counter() - begin
    return _judged(world, np.array(guesses) == world.classes(), seconds)


def check(ways: Sequence[str]) -> None:
    """Raise an error where a method is unknown or its library is missing, before any work begins."""
    if not ways:
        raise ValueError("ways must name at least one method, got none.")
    for way in ways:
        if one_of("ways", way, WAYS) in PEERS:
            _run_peer(way, _world("letter", "squared").head(2))


def reproduce(
    ways: Sequence[str] = tuple(WAYS),
    *,
    runs: int = 3,
    rows: int = 20_000,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Run all cells, one at a time since time is measured; return one row of plain data for each method and loss.

    Parameters
    ----------
    ways
        Names of methods in `WAYS`.
    runs
        Number of shuffles.
    rows
        Largest number of rows of each second half.
    options
        `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(ways)
    seeds = range(count("runs", runs))
    pairs = [(way, loss) for loss in LOSSES for way in ways if way in OURS]
    pairs += [(way, "squared") for way in ways if way in PEERS]
    cells = [Run("letter", way, loss, seed, count("rows", rows, least=2)) for way, loss in pairs for seed in seeds]
    found = run_cells(cells, **options)
    lines = []
    for k, (way, loss) in enumerate(pairs):
        mine = found[k * runs : (k + 1) * runs]
        line: dict[str, Any] = {
            "way": way,
            "full_information": way in PEERS or way.startswith("exact"),
            "by_loss": loss,
        }
        for name in shared(mine):
            values = np.array([result[name] for result in mine])
            line[name] = float(values.mean())
            line[f"{name} runs"] = [float(f"{value:.6g}") for value in values]
        lines.append(line)
    protocol = {"dataset": "letter", "runs": runs, "rows": rows, "noise": NOISE}
    return {"experiment": "classification", "protocol": protocol, "rows": lines}
