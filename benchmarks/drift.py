"""What following a world that changes costs a compiled round where nothing changes, and what remembering rounds does."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import Contestant, interleaved

ROUNDS = 10_000
SIZES = (6, 16, 100, 500)
ANSWERS = 2
TARGET = 1.25
"""Most times that a round may take as without drift handling; never asserted anywhere."""
LIMIT = 10.0
"""Most times that a round of the default may take as without memory, forests included; never asserted anywhere."""
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
        plain, bare = (timed[way]["microseconds"] for way in ("no drift handling", "no memory"))
        rows += [
            {"features": features, "way": way}
            | {"ratio": found["microseconds"] / plain, "over no memory": found["microseconds"] / bare}
            | found
            for way, found in timed.items()
        ]
    return {"rows": rows, "target": TARGET, "limit": LIMIT, "answers": ANSWERS}


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
    headings = ("features", "", "µs a round", "over no drift handling", "target", "over no memory", "target")
    shown = Table(*headings, title="A compiled round")
    for row in results["rows"]:
        aims = ("", "")
        if row["way"] == "the default":
            aims = aim(row["ratio"], results["target"]), aim(row["over no memory"], results["limit"])
        times = f"{row['microseconds']:.0f}", f"{row['ratio']:.2f}", aims[0], f"{row['over no memory']:.1f}", aims[1]
        shown.add_row(str(row["features"]), row["way"], *times)
    return shown


def aim(ratio: float, most: float) -> str:
    return f"≤ {most:g}: {'met' if ratio <= most else 'missed'}"
