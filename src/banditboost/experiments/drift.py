"""A world that changes: ours, told loss values, beside peers that are told labels, on streams in their own order.

Protocol: every round is predicted before it is learned from, and the mean squared loss of all rounds is reported, with that of
every window of 1,000 rounds. Ours are told noisy values of the loss, with nothing tuned. Peers are told labels; they run with their
defaults, and with the best of twenty settings on another stream of the same kind (of a table: on its first fifth, which is not
reported). Predictions are clipped to the range of the labels, and a run diverges as in `fair`. In the world that flips, the rounds
are counted after which a learner is as good again as before the flip.

Forests of other libraries take milliseconds a row, so that they have fewer seeds, and one on long streams. All cells are kept where
a folder is named, and `kept` makes tables of whatever cells are there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost._core.checks import Array, count, one_of
from banditboost.evaluate import online_ridge, running_mean
from banditboost.experiments import drift_ours, peers
from banditboost.experiments.cells import Cell, ParallelOptions, kept_results, run_distinct
from banditboost.experiments.drift_shows import LIMITS, back_after, shows_of, wrong_shows
from banditboost.experiments.drift_streams import TABLES
from banditboost.experiments.drift_worlds import (
    LONGER,
    STREAMS,
    TUNING,
    TUNING_SEED,
    TUNING_SHARE,
    WIDTH,
    kind_of,
    rounds_of,
    world_of,
)
from banditboost.experiments.fair import DIVERGED, MEMORY
from banditboost.experiments.forgetting import forgetting_mean, forgetting_ridge
from banditboost.experiments.peers_settings import TRIALS, settings
from banditboost.experiments.renewal import Renewal
from banditboost.experiments.statistics import grouped, means, rounded
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

WINDOW = 1000
"""Rounds of a window, whose mean loss is kept."""
KNOWN = {
    "forgetting_ridge": "forgetting ridge",
    "ridge": "online ridge",
    "forgetting_mean": "forgetting mean",
    "mean": "running mean",
}
"""Simple learners, told labels, which are always run."""
PEERS = {
    "river_forest": peers.ONLINE["river_forest"],
    "soknl": peers.ONLINE["soknl"],
    "sgbr": peers.ONLINE["sgbr"],
    "river_tree": peers.ADAPTIVE["river_tree"],
    "vw": peers.ONLINE["vw"],
}
"""Peers of other libraries, told labels."""
SLOW = ("river_forest", "soknl", "sgbr")
"""Peers that take a millisecond a row or more."""
CERTAIN = (*KNOWN, "vw")
"""Learners without chance, which have a single run on tables."""


@dataclass(frozen=True)
class Run(Cell, kind="experiments.drift.Run"):
    """One learner with one setting on one stream, or a trial of a setting."""

    stream: str = "flip"
    who: str = "memory_30"
    setting: str = "{}"
    """What differs from the default, as JSON."""
    trial: bool = False
    rounds: int = 0
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the mean loss, that of every window, what was paid, and after how many rounds a flip was overcome."""
        world, space = world_of(self.stream, self.rounds, self.seed, self.trial)
        paid: dict[str, float] = {}
        diverged = False
        if self.who in drift_ours.everyone():
            trace = drift_ours.play(*drift_ours.of(self.who), space, world, self.seed)
            losses, paid = trace.losses, {"paid": trace.mean_paid}
        elif self.who in KNOWN:
            losses = known(self.who, world, space, json.loads(self.setting))
        else:
            losses, diverged = peer(self.who, world, space, json.loads(self.setting), self.seed)
        if not np.isfinite(losses).all():
            return {"loss": None, "diverged": True}
        found: dict[str, Any] = {"loss": float(losses.mean()), "diverged": diverged} | paid
        if self.trial:
            return found
        found["windows"] = [rounded(float(losses[k : k + WINDOW].mean())) for k in range(0, len(losses), WINDOW)]
        if self.stream == "flip":
            found["back"] = back_after(losses, len(losses) // 2)
        return found


def known(who: str, world: Supervised, space: Interval, setting: peers.Setting) -> Array:
    """Return the losses of a simple learner."""
    middle = (space.low + space.high) / 2
    if who == "ridge":
        return online_ridge(world, space=space, **setting)
    if who == "forgetting_ridge":
        return forgetting_ridge(world, space=space, **setting)
    if who == "forgetting_mean":
        return forgetting_mean(world, first=middle, **setting)
    return running_mean(world, middle)


def peer(who: str, world: Supervised, space: Interval, setting: peers.Setting, seed: int) -> tuple[Array, bool]:
    """Return the losses of a peer's clipped predictions, and whether the unclipped ones diverged."""
    contexts, labels = np.ascontiguousarray(world.contexts()), np.ascontiguousarray(world.labels())
    predictions = peers.play(who, contexts, labels, seed=seed, **setting)
    free = float(world.loss.value(predictions, labels, 0).mean())
    constant = float(running_mean(world, (space.low + space.high) / 2).mean())
    return world.loss.value(np.clip(predictions, space.low, space.high), labels, 0), not free < DIVERGED * constant


def trials(stream: str, who: str, most: int | None = None) -> list[Run]:
    """Return the trials of one learner for one stream; ours, and the running mean, are not tuned."""
    if who == "mean" or who in drift_ours.everyone():
        return []
    kind = kind_of(stream)
    rounds = rounds_of(kind, most) if kind in TABLES else min(TUNING, rounds_of(kind, most))
    seed = 0 if kind in TABLES else TUNING_SEED
    return [Run(kind, who, json.dumps(setting), True, rounds, seed) for setting in settings(who)]


def best(cells: Sequence[Run], done: dict[Run, dict[str, Any]]) -> str:
    """Return the setting with the least loss among trials that did not diverge; the default where all did."""
    good = [cell for cell in cells if not done[cell]["diverged"]]
    return min(good, key=lambda cell: float(done[cell]["loss"])).setting if good else cells[0].setting


def seeds_of(stream: str, who: str, seeds: int, slow_seeds: int) -> range:
    """Return the seeds of a learner on a stream: fewer where rows take long, and one where there is no chance.

    Examples
    --------
    >>> [len(seeds_of(*of, 10, 3)) for of in (("gra", "vw"), ("gra", "soknl"), ("gra_long", "soknl"), ("bikes", "ridge"))]
    [10, 3, 1, 1]
    """
    if stream in TABLES and who in CERTAIN:
        return range(1)
    if who in SLOW:
        return range(1 if stream in LONGER else min(seeds, slow_seeds))
    return range(seeds)


def wanted_peers(text: str, check: bool = True) -> tuple[str, ...]:
    """Return the peers named in a text, after a check that they are known and, where they will run, installed."""
    names = tuple(PEERS) if text == "all" else tuple(name.strip() for name in text.split(",") if name.strip())
    trial = np.random.default_rng(0).random((25, 6))
    for name in names:
        one_of("peers", name, tuple(PEERS))
        if check:
            peers.play(name, np.ascontiguousarray(trial[:, :5]), np.ascontiguousarray(trial[:, 5]))
    return names


def reproduce(
    names: Sequence[str] = STREAMS,
    *,
    seeds: int = 10,
    slow_seeds: int = 3,
    rows: int | None = None,
    wanted: Sequence[str] = tuple(PEERS),
    tuned: Sequence[str] = (*PEERS, *KNOWN),
    kept: bool = False,
    renewal: Renewal | None = None,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run trials, then everyone untuned and tuned, and return plain data.

    Parameters
    ----------
    names
        Names of streams, of `STREAMS`.
    seeds, slow_seeds
        Number of seeds, and that of `SLOW` peers, which have one on long streams.
    rows
        Most rounds of a stream; by default each has its own.
    wanted
        Names of peers to run, of `PEERS`.
    tuned
        Names of peers and simple learners to run with the best of twenty settings, too.
    kept
        True: nothing is run, and all is made of cells that the folder holds, whatever their number.
    renewal
        Who runs, where that is not everyone, and the earlier results that the rows of all others are kept from.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    if not names:
        raise ValueError("streams must name at least one stream, got none.")
    for name in names:
        one_of("streams", name, STREAMS)
    if kept and options.get("folder") is None:
        raise ValueError("kept needs a folder of cells: name it with --resume.")
    most = None if rows is None else count("rows", rows, least=20)
    count("seeds", seeds)
    count("slow_seeds", slow_seeds)
    everyone: tuple[str, ...] = (*drift_ours.everyone(), *wanted, *KNOWN)
    if renewal is not None:
        everyone = renewal.wanted((*drift_ours.everyone(), *PEERS, *KNOWN))

    def results_of(cells: Sequence[Run]) -> dict[Run, dict[str, Any]]:
        folder = options.get("folder")
        return kept_results(cells, folder) if kept and folder else run_distinct([cells], threads=False, **options)

    tried = {(name, who): trials(name, who, most) for name in names for who in everyone if who in tuned}
    outcomes = results_of([cell for cells in tried.values() for cell in cells])
    chosen = {
        key: best(cells, outcomes) for key, cells in tried.items() if cells and all(cell in outcomes for cell in cells)
    }
    cells = [
        Run(name, who, setting, False, rounds_of(name, most), seed)
        for name in names
        for who in everyone
        for setting in dict.fromkeys(["{}", chosen.get((name, who), "{}")])
        for seed in (range(seeds) if kept else seeds_of(name, who, seeds, slow_seeds))
    ]
    done: dict[Cell, dict[str, Any]] = dict(results_of(cells).items())
    found = [_row(cell, of, chosen) for cell, of in grouped([cell for cell in cells if cell in done], done)]
    if renewal is not None:
        found = renewal.rows("rows", found, "stream")
    shows = shows_of(found)
    results: dict[str, Any] = {
        "experiment": "drift",
        "protocol": {
            "seeds": seeds,
            "window": WINDOW,
            "noise": WIDTH,
            "memory": MEMORY,
            "trials": TRIALS,
            "tuning_rounds": TUNING,
            "tuning_share": TUNING_SHARE,
            "answers": list(drift_ours.ANSWERS),
            "limits": LIMITS,
            "rounds": {name: _length(name, most) for name in dict.fromkeys(row["stream"] for row in found)},
        },
        "rows": found,
        "shows": shows,
        "complaints": wrong_shows(shows),
    }
    if renewal is not None:
        rounds = {"rounds": results["protocol"]["rounds"]}
        results |= {"protocol": renewal.earlier["protocol"] | rounds, "renewed": renewal.noted(names)}
    return results


def _length(stream: str, most: int | None) -> int:
    """Return the number of rounds that are reported of a stream."""
    return rounds_of(stream, most) if stream not in TABLES else len(world_of(stream, rounds_of(stream, most), 0)[0])


def _row(cell: Cell, found: list[dict[str, Any]], chosen: dict[tuple[str, str], str]) -> dict[str, Any]:
    """Return one row for the runs of one learner with one setting."""
    assert isinstance(cell, Run)
    good = [{name: value for name, value in of.items() if name != "diverged"} for of in found if not of["diverged"]]
    row: dict[str, Any] = {"stream": cell.stream, "who": cell.who, "setting": json.loads(cell.setting)}
    row |= {"untuned": cell.setting == "{}", "tuned": cell.setting == chosen.get((cell.stream, cell.who))}
    return row | {"seeds": len(found), "diverged": len(found) - len(good)} | (means(good) if good else {})
