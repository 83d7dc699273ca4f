"""Guards: how often they fall back where the learner is as good as its baseline, and how soon where it is worse.

Protocol: streams of losses in which it makes no difference who plays are watched after every round by a guard as users make it,
with 95 % confidence; whatever fall-back comes there is false. Losses are bounded, with all kinds of laws, or not, and the guard's
intervals are then asymptotic. Means move with the seasons, or with the losses before, for both sides alike. A guard that is
broken, whose interval is one for a single look (a mean of 1.645 standard errors or more after a hundred rounds), watches the same
streams. Then the learner loses more, by a share of the range of losses, from the start on or after it was better for long.

All constants were chosen on draws with smaller seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.evaluate import Coins, Guard
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.statistics import rounded

CONFIDENCE, ROUNDS, BLOCK, FRESH = 0.95, 10_000, 50, 1000
"""What guards promise, the rounds of a stream, the streams of a cell, and the first seed."""
FIXED, LATER = 100, 20_000
"""Rounds before the broken guard looks, and before a learner turns bad."""
NULL: dict[str, tuple[str, float, tuple[float, float] | None]] = {
    "uniform": ("between 0 and 1, evenly", 0.1, (0.0, 1.0)),
    "half": ("the same, half of the rounds to the baseline", 0.5, (0.0, 1.0)),
    "sales": ("a sale in ten rounds", 0.1, (-1.0, 0.0)),
    "seasons": ("means that move with the seasons", 0.1, (0.0, 1.0)),
    "memory": ("means that depend on the losses before", 0.1, (0.0, 1.0)),
    "normal": ("normal", 0.1, None),
    "exponential": ("exponential", 0.1, None),
    "student": ("Student's t, three degrees of freedom", 0.1, None),
    "rare": ("30 in one round of fifty, else 0", 0.1, None),
}
"""Streams in which it makes no difference who plays: titles, the baseline's share, and bounds that the guard is told."""
GAPS = (0.02, 0.05, 0.1, 0.2)
"""By how much a worse learner loses more, as a share of the range of losses."""
WAYS = {"bounded": (0.1, True), "half": (0.5, True), "asymptotic": (0.1, False)}
"""Guards for learners that are worse: the baseline's share, and whether bounds are told."""


class OneLook(Guard):
    """A guard that is broken: it looks after every round, as if it looked once."""

    def _is_worse(self) -> bool:
        known = self.whole
        return known.n >= FIXED and known.mean > 1.645 * math.sqrt(max(known.squares, 1e-300)) / known.n


def losses(kind: str, seed: int, rounds: int) -> Array:
    """Return losses that do not depend on who plays.

    Examples
    --------
    >>> [round(float(losses(kind, 0, 5000).mean()), 1) for kind in ("uniform", "sales", "normal", "rare")]
    [0.5, -0.1, 0.0, 0.5]
    """
    rng = np.random.default_rng([list(NULL).index(kind), seed])
    if kind == "sales":
        return -(rng.random(rounds) < 0.1).astype(float)
    if kind == "seasons":
        level = 0.35 + 0.3 * np.sin(np.arange(rounds) * 2 * np.pi / 3000)
        return np.clip(level + rng.uniform(0.0, 0.3, rounds), 0.0, 1.0)
    if kind == "memory":
        draws, mean = rng.random(rounds), 0.5
        for t in range(rounds):
            draws[t] = float(draws[t] < mean)
            mean = 0.1 + 0.9 * mean * 0.8 + 0.1 * draws[t]
        return draws
    if kind == "rare":
        return 30.0 * (rng.random(rounds) < 0.02).astype(float)
    if kind == "student":
        return np.asarray(rng.standard_t(3, rounds), dtype=float)
    if kind == "normal":
        return rng.normal(size=rounds)
    return rng.exponential(size=rounds) if kind == "exponential" else rng.random(rounds)


def watched(guard: Guard, values: Array, more: Array, seed: int) -> int:
    """Return the round in which a guard falls back, where the learner loses `more` than the values; 0 where it does not.

    Examples
    --------
    >>> values = losses("uniform", 0, 3000)
    >>> watched(Guard(after=0), values, np.zeros(3000), 0), 0 < watched(Guard(after=0), values, np.full(3000, 0.5), 0) < 1500
    (0, True)
    """
    coins = Coins(seed)
    for t, (value, extra) in enumerate(zip(values.tolist(), more.tolist(), strict=True), start=1):
        side = guard.side(coins.toss(t))
        if guard.told(side, value if side.baseline else value + extra):
            return t
    return 0


@dataclass(frozen=True)
class Null(Cell, kind="experiments.guards.Null"):
    """Some streams in which it makes no difference who plays."""

    stream: str = "uniform"
    block: int = 0
    streams: int = BLOCK
    rounds: int = ROUNDS

    def run(self) -> dict[str, Any]:
        """Return in how many streams each guard falls back."""
        _, share, bounds = NULL[self.stream]
        fell = {"ours": 0, "one_look": 0}
        for seed in range(FRESH + self.block * BLOCK, FRESH + self.block * BLOCK + self.streams):
            values, none = losses(self.stream, seed, self.rounds), np.zeros(self.rounds)
            for name, made in (("ours", Guard), ("one_look", OneLook)):
                fell[name] += watched(made(share, bounds, CONFIDENCE, after=0), values, none, seed) > 0
        return fell | {"streams": self.streams}


@dataclass(frozen=True)
class Worse(Cell, kind="experiments.guards.Worse"):
    """Some streams in which the learner loses more; after it was better for long, where `later` is set."""

    way: str = "bounded"
    gap: float = 0.1
    later: bool = False
    window: int = 10_000
    streams: int = BLOCK
    rounds: int = 50_000

    def run(self) -> dict[str, Any]:
        """Return in which rounds the guard falls back, counted from where the learner is worse."""
        share, told = WAYS[self.way]
        before, delays = LATER if self.later else 0, []
        for seed in range(FRESH, FRESH + self.streams):
            values = 0.5 * losses("uniform", seed, before + self.rounds) + 0.25
            more = np.append(np.full(before, -0.1), np.full(self.rounds, self.gap))
            bounds = (0.0, 1.0) if told else None
            delays.append(
                watched(Guard(share, bounds, CONFIDENCE, after=0, window=self.window), values, more, seed) - before
            )
        return {"delays": [delay for delay in delays if delay > 0], "streams": self.streams}


def reproduce(*, streams: int = 1000, quick: bool = False, **options: Unpack[ParallelOptions]) -> dict[str, Any]:
    """Watch all streams and return a row for every kind.

    Parameters
    ----------
    streams
        How many streams of every kind in which it makes no difference who plays, in blocks of fifty.
    quick
        True: fifty short streams of every kind, and five in which the learner is worse.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    blocks, rounds = (1, 1000) if quick else (-(-count("streams", streams) // BLOCK), ROUNDS)
    few = 5 if quick else BLOCK
    null = [Null(kind, block, rounds=rounds) for kind in NULL for block in range(blocks)]
    worse = [Worse(way, gap, streams=few) for way in WAYS for gap in GAPS if not quick or gap >= 0.1]
    worse += [] if quick else [Worse("bounded", 0.2, True, window, rounds=LATER) for window in (10_000, 10**9)]
    done: dict[Cell, dict[str, Any]] = run_distinct([null, worse], **options)
    by_kind = [(kind, [done[cell] for cell in null if cell.stream == kind]) for kind in NULL]
    tables = {
        "null": [_null_row(kind, found) for kind, found in by_kind],
        "worse": [_worse_row(cell, done[cell]) for cell in worse],
    }
    return {
        "experiment": "guards",
        "protocol": {"streams": blocks * BLOCK, "rounds": rounds, "confidence": CONFIDENCE, "worse": few},
        "tables": tables,
        "complaints": complaints(tables),
    }


def _null_row(kind: str, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    streams = sum(one["streams"] for one in found)
    shares = {name: rounded(sum(one[name] for one in found) / streams) for name in ("ours", "one_look")}
    return {"stream": kind, "streams": streams, "asymptotic": NULL[kind][2] is None} | shares


def _worse_row(cell: Worse, found: dict[str, Any]) -> dict[str, Any]:
    delays = found["delays"]
    row = {"way": cell.way, "gap": cell.gap, "later": cell.later, "window": cell.window, "found": len(delays)}
    both = {"median": float(np.median(delays)), "most": float(np.quantile(delays, 0.9))} if delays else {}
    return row | {"streams": cell.streams} | both


def complaints(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return a sentence for everything that is not as it must be, a broken guard that nobody would notice among it."""
    most = 1 - CONFIDENCE
    said = [
        f"{NULL[row['stream']][0].capitalize()}: {row['ours']:.1%} of the guards fall back for nothing."
        for row in tables["null"]
        if row["ours"] > most
    ]
    if min(row["one_look"] for row in tables["null"]) <= most:
        said.append("A guard that looks as if once falls back for nothing no more often than it may.")
    return said
