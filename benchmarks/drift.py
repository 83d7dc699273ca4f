"""What following a world that changes costs a compiled round where nothing changes, and what remembering rounds does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import Contestant, interleaved

ROUNDS = 10_000
SIZES = (6, 16, 100)
ANSWERS = 2
TARGET = 1.25
"""Most times that a round may take as without drift handling; never asserted anywhere."""
WAYS: dict[str, dict[str, Any]] = {
    "no memory": {"memory": None},
    "no drift handling": {"adaptive": False},
    "the default": {},
}
SPACE = bb.spaces.Interval(0.0, 1.0)


def measure(rounds: int = ROUNDS, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    rows = []
    for features in sizes:
        world = stationary(rounds, features)
        timed = interleaved({way: Contestant(rounds, partial(prepared, way, world)) for way in WAYS}, repetitions=3)
        plain = timed["no drift handling"]["microseconds"]
        rows += [
            {"features": features, "way": way, "ratio": found["microseconds"] / plain} | found
            for way, found in timed.items()
        ]
    return {"rows": rows, "target": TARGET, "answers": ANSWERS}


def stationary(rounds: int, features: int) -> bb.worlds.Supervised:
    """Labels that depend on a few features, not linearly, and on noise; nothing changes."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(rounds, features))
    y = 0.5 * X[:, 0] * X[:, 1] + 0.3 * (X[:, 2] > 0.5) + 0.1 * rng.uniform(size=rounds)
    return bb.worlds.Supervised(X, y, noise=bb.noise.Uniform(0.01))


def prepared(way: str, world: bb.worlds.Supervised) -> Any:
    booster = bb.algorithms.boosted(SPACE, answers=ANSWERS, **WAYS[way])
    return partial(bb.evaluate.progressive, booster, world, compiled=True)


def table(results: dict[str, Any]) -> Table:
    shown = Table("features", "", "µs a round", "over no drift handling", "target", title="A compiled round")
    for row in results["rows"]:
        aim = ""
        if row["way"] == "the default":
            aim = f"≤ {results['target']:g}: {'met' if row['ratio'] <= results['target'] else 'missed'}"
        shown.add_row(str(row["features"]), row["way"], f"{row['microseconds']:.0f}", f"{row['ratio']:.2f}", aim)
    return shown
