"""Bands for what will be paid: how often they hold, how wide they are, and what was lost against knowing all scores beforehand.

Protocol: the runs are those of `fair`, shuffles of the second half of a data set, played by the default with one answer a round,
two and thirty, and noise on every answer. Bands at the level 0.9 are made before each round is told; rounds count from the
hundredth on. Their interval score (Gneiting and Raftery 2007, eq. 43) is divided by that of bands with the same models m and s in
every round whose two quantiles are the constants that cut off a twentieth of all scores of the run on either side: split conformal
in hindsight.

Broken bands: what was told in the runs with one answer is told again, multiplied by two from the middle of the run on, to bands as
they are; to bands whose levels do not adapt; to bands that are calibrated on the first half and learn nothing afterwards; and
beside them stand bands that are empty, or as wide as all that is ever told. A score that did not
notice these would be worth nothing.

All constants of bands were chosen on first halves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost import datasets
from banditboost._core.checks import Array, count, one_of
from banditboost._core.spec import Memory
from banditboost.algorithms import boosted
from banditboost.bands import Conformal
from banditboost.evaluate import Trace, progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import check
from banditboost.experiments.fair import ROWS, halves
from banditboost.experiments.further import FURTHER, HELD_OUT
from banditboost.experiments.statistics import grouped, means, rounded

ANSWERS = (30, 2, 1)
"""Numbers of answers a round."""
SINCE = 100
"""The first round that counts."""
TAIL = 0.05
"""The share of scores that is cut off on either side in hindsight."""
WAYS = {
    "adaptive": "as they are",
    "fixed": "levels that do not adapt",
    "once": "calibrated on the first half, then left alone",
    "widest": "from the least to the greatest of all losses",
    "empty": "no width",
}
"""Bands where losses double in the middle of a run, with their titles in tables."""


def told(dataset: str, answers: int, seed: int) -> tuple[Array, Trace]:
    """Return the contexts of a run on the second half, and its trace."""
    _, world, space = halves(dataset, "squared", seed)
    trace = progressive(boosted(space, answers=answers, seed=seed, bands=True), world)
    return np.ascontiguousarray(world.contexts(0, len(trace))), trace


def judged(losses: Array, bands: Array) -> dict[str, float]:
    """Return coverage, width and interval score of bands from the hundredth round on."""
    trace = Trace(losses, losses, np.zeros(0), answered=losses, bands=bands)
    found = {"coverage": trace.coverage(SINCE), "width": trace.band_width(SINCE), "score": trace.band_score(SINCE)}
    return {name: rounded(value) for name, value in found.items()}


def in_hindsight(contexts: Array, losses: Array) -> Array:
    """Return bands with the models of every round and the two constant quantiles that are right for all rounds that count."""
    made = np.empty((len(losses), 4))
    part = Conformal()
    part.learn_rounds(part.start(contexts.shape[1]), contexts, losses, made)
    centres, sizes = made[:, 2], made[:, 3]
    ends = np.quantile(((losses - centres) / sizes)[SINCE:], (TAIL, 1 - TAIL))
    return centres[:, np.newaxis] + sizes[:, np.newaxis] * ends


@dataclass(frozen=True)
class Banded(Cell, kind="experiments.bands.Banded"):
    """The bands of one run of the default, beside those in hindsight."""

    dataset: str = "abalone"
    answers: int = 30
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        contexts, trace = told(self.dataset, self.answers, self.seed)
        assert trace.answered is not None
        assert trace.bands is not None
        found = judged(trace.answered, trace.bands)
        best = judged(trace.answered, in_hindsight(contexts, trace.answered))
        return found | {"hindsight": best["score"], "ratio": rounded(found["score"] / best["score"])}


@dataclass(frozen=True)
class Doubled(Cell, kind="experiments.bands.Doubled"):
    """Bands of every kind where losses double in the middle of a run."""

    dataset: str = "abalone"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Play a run with one answer, and tell its losses again, doubled from the middle on, to bands of every kind."""
        contexts, trace = told(self.dataset, 1, self.seed)
        assert trace.answered is not None
        losses = np.where(np.arange(len(trace)) < len(trace) // 2, 1.0, 2.0) * trace.answered
        return {way: judged(losses, ways(way, contexts, losses)) for way in WAYS}


def ways(way: str, contexts: Array, losses: Array) -> Array:
    """Return the bands that bands of some kind give."""
    part, bands = Conformal(), np.empty((len(losses), 2))
    memory = part.start(contexts.shape[1])
    if way == "adaptive":
        part.learn_rounds(memory, contexts, losses, bands)
    elif way in ("fixed", "once"):
        for t in range(len(losses)):
            bands[t] = part.band(memory, contexts[t])[:2]
            if way == "fixed" or t < len(losses) // 2:
                _unmoved(part, memory, contexts[t], losses[t])
    elif way == "widest":
        bands[:] = losses.min(), losses.max()
    else:
        bands[:] = np.median(losses)
    return bands


def _unmoved(part: Conformal, memory: Memory, context: Array, loss: float) -> None:
    """Learn from a round, and leave the levels where they were."""
    levels = memory["levels"].copy()
    part.learn(memory, context, float(loss))
    memory["levels"][...] = levels


def reproduce(
    names: Sequence[str] = ("abalone", "adult", "census", "letter"),
    *,
    runs: int = 10,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return a row for every data set and number of answers, and for every kind of bands.

    Parameters
    ----------
    names
        Names of data sets.
    runs
        Number of shuffles of the second half.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    seeds = range(count("runs", runs))
    known = [name for name in names if name not in FURTHER | HELD_OUT]
    if known or not names:
        check(known)
    for name in names:
        one_of("datasets", name, (*datasets.NAMES, *FURTHER, *HELD_OUT))
    bands = [Banded(name, answers, seed) for name in names for answers in ANSWERS for seed in seeds]
    doubled = [Doubled(name, seed) for name in known for seed in seeds]
    done: dict[Cell, dict[str, Any]] = run_distinct([bands, doubled], **options)
    return {
        "experiment": "bands",
        "protocol": {"runs": runs, "rows": ROWS, "since": SINCE, "answers": list(ANSWERS), "level": 1 - 2 * TAIL},
        "tables": {
            "bands": [
                {"dataset": cell.dataset, "answers": cell.answers} | means(found) for cell, found in _rows(bands, done)
            ],
            "doubled": [
                {"dataset": cell.dataset, "way": way} | means([result[way] for result in found])
                for cell, found in _rows(doubled, done)
                for way in WAYS
            ],
        },
    }


def _rows(cells: Sequence[Any], done: dict[Cell, dict[str, Any]]) -> list[tuple[Any, list[dict[str, Any]]]]:
    return list(grouped(cells, done))
