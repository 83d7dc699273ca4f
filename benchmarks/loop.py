"""A round of Algorithm 2 with linear learners: a NumPy loop as in the paper, our plain path, our compiled path."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.numpy_loop import algorithm_2
from benchmarks.timing import best_of

SIZES = ((16, 10), (105, 10), (401, 30))


def measure() -> list[dict[str, Any]]:
    rows = []
    for features, copies in SIZES:
        rng = np.random.default_rng(0)
        X, labels = rng.random((20_000, features)), rng.random(20_000)
        world = bb.worlds.Supervised(X, labels, noise=bb.noise.Uniform(0.1))
        learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.1, 0.5))
        booster = bb.algorithms.bandit_boosting(
            bb.spaces.Interval(0.0, 1.0), copies=copies, delta=0.5, learner=learner, inside=False
        )

        def ours(rounds: int, compiled: bool, spec: bb.BoosterSpec = booster.spec, world: Any = world) -> None:
            bb.evaluate.progressive(bb.Booster.from_spec(spec), world.head(rounds), compiled=compiled)

        def theirs(rounds: int, X: Any = X, labels: Any = labels, copies: int = copies) -> None:
            algorithm_2(X[:rounds], labels[:rounds], copies, 0.5, 10.0, 0.1, 0.5, 0.0, 1.0)

        ours(100, True)  # compile, or read the compiled code from disk
        row = {
            "features": features,
            "copies": copies,
            "numpy": 1e6 * best_of(lambda run=theirs: run(300)) / 300,  # type: ignore[misc]
            "plain": 1e6 * best_of(lambda run=ours: run(1000, False)) / 1000,  # type: ignore[misc]
            "compiled": 1e6 * best_of(lambda run=ours: run(20_000, True)) / 20_000,  # type: ignore[misc]
        }
        rows.append(row | {"ratio": row["numpy"] / row["compiled"]})
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    result = Table(title="Algorithm 2, linear learners: microseconds per round", title_justify="left")
    for heading in ("features", "copies", "NumPy loop", "ours, plain", "ours, compiled", "NumPy / compiled"):
        result.add_column(heading, justify="right")
    for row in rows:
        times = (f"{row[key]:.2f}" for key in ("numpy", "plain", "compiled"))
        result.add_row(str(row["features"]), str(row["copies"]), *times, f"{row['ratio']:.0f}x")
    return result
