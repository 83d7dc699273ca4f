"""Sixty-four settings on the same rounds: swept together beside one by one, and beside the matrix product's own speed."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import Contestant, interleaved

SIZES = ((401, 10), (105, 10), (16, 10))
SETTINGS = 64
ROUNDS = 4096
TARGETS = {"ratio": 4.0, "share": 0.4}
"""At the first size; never asserted anywhere."""


def boosters(copies: int, number: int = SETTINGS) -> list[bb.Booster]:
    """Settings of the paper's grid: rates and radii."""
    made = []
    for k in range(number):
        rate = bb.rates.Power(10.0 ** -(1 + k // 4 % 4), 0.25 * (1 + k // 16 % 4))
        learner = bb.learners.Linear((1.0, 3.0, 10.0, 30.0)[k % 4], rate)
        made.append(
            bb.algorithms.bandit_boosting(
                bb.spaces.Interval(0.0, 1.0), copies=copies, delta=0.5, learner=learner, inside=False
            )
        )
    return made


def world(features: int, rounds: int = ROUNDS) -> bb.worlds.Supervised:
    rng = np.random.default_rng(0)
    return bb.worlds.Supervised(rng.random((rounds, features)), rng.random(rounds), noise=bb.noise.Uniform(0.1))


def swept(features: int, copies: int, replicas: int, rounds: int = ROUNDS, precision: str = "double") -> Contestant:
    """A sweep; times are per round of a replica."""
    where = world(features, rounds)

    def start() -> Any:
        fresh = boosters(copies, replicas)
        return lambda: bb.evaluate.sweep(fresh, where, precision=precision)

    return Contestant(replicas * rounds, start)


def alone(features: int, copies: int, replicas: int, rounds: int = ROUNDS) -> Contestant:
    """The same boosters, one after the other."""
    where = world(features, rounds)

    def start() -> Any:
        fresh = boosters(copies, replicas)
        return lambda: [bb.evaluate.progressive(booster, where, compiled=True) for booster in fresh]

    return Contestant(replicas * rounds, start)


def peak(size: int = 1000, repetitions: int = 9) -> float:
    """Return the most operations a second that a product of two matrices was seen to do."""
    rng, best = np.random.default_rng(0), 0.0
    left, right = rng.random((size, size)), rng.random((size, size))
    for _ in range(repetitions):
        begin = time.perf_counter()
        left @ right
        best = max(best, 2 * size**3 / (time.perf_counter() - begin))
    return best


def measure(
    sizes: tuple[tuple[int, int], ...] = SIZES, replicas: int = SETTINGS, rounds: int = ROUNDS, repetitions: int = 7
) -> dict[str, Any]:
    rows = []
    for features, copies in sizes:
        times = interleaved(
            {
                "one by one": alone(features, copies, replicas, rounds),
                "swept": swept(features, copies, replicas, rounds),
                "swept, single": swept(features, copies, replicas, rounds, "single"),
            },
            repetitions,
        )
        taken = {name: time["microseconds"] for name, time in times.items()}
        operations, speed = 4 * copies * (features + 1), peak()  # to play, and to learn: one product each
        row: dict[str, Any] = {"features": features, "copies": copies, "settings": replicas} | taken
        row |= {"noise": max(time["noise"] for time in times.values())}
        row |= {"ratio": taken["one by one"] / taken["swept"]}
        row |= {"ratio, single": taken["one by one"] / taken["swept, single"]}
        row |= {"share": operations / (taken["swept"] * 1e-6) / speed, "peak": speed / 1e9}
        row |= {"ceiling": taken["one by one"] * 1e-6 * speed / operations}
        rows.append(row)
    return {"rows": rows, "targets": TARGETS, "headings": HEADINGS}


HEADINGS = {
    "features": ("features", "d"),
    "copies": ("copies", "d"),
    "one by one, µs": ("one by one", ".3f"),
    "swept, µs": ("swept", ".3f"),
    "ratio": ("ratio", ".2f"),
    "single precision": ("ratio, single", ".2f"),
    "share of peak": ("share", ".0%"),
    "peak, GFlop/s": ("peak", ".0f"),
    "most possible ratio": ("ceiling", ".2f"),
}
"""What tables show, by heading: a key and how its number is written."""


def table(results: dict[str, Any]) -> Table:
    title = f"{SETTINGS} settings on the same rounds: microseconds per round of one, one core"
    shown = Table(*HEADINGS, title=title, title_justify="left")
    for row in results["rows"]:
        shown.add_row(*(f"{row[key]:{form}}" for key, form in HEADINGS.values()))
    return shown
