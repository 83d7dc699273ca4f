"""What each gradient adds to a compiled round of linear boosting: microseconds, and the ratio to the one-point estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import best_of

SIZES = ((16, 10), (105, 10), (401, 30))
ROUNDS = 20_000
WAYS: dict[str, bb.gradients.Gradient] = {
    "OnePoint": bb.gradients.OnePoint(0.5),
    "Exact": bb.gradients.Exact(),
    "Baseline": bb.gradients.Baseline(0.5),
    "Residual": bb.gradients.Residual(0.5),
    "TwoPoint": bb.gradients.TwoPoint(0.5),
    "Surrogate": bb.gradients.Surrogate(0.5),
    "Budget(Surrogate, 5)": bb.gradients.Budget(bb.gradients.Surrogate(0.5), 5),
}


def measure() -> list[dict[str, Any]]:
    rows = []
    for features, copies in SIZES:
        rng = np.random.default_rng(0)
        contexts, labels = rng.random((ROUNDS, features)), rng.random(ROUNDS)
        world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.1))
        learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.01, 0.5))
        row: dict[str, Any] = {"features": features, "copies": copies}
        for name, gradient in WAYS.items():
            spec = bb.BoosterSpec(
                learner, copies, bb.chains.ConvexHull(), gradient, bb.spaces.Interval(0.0, 1.0), False
            )

            def run(spec: bb.BoosterSpec = spec, world: Any = world) -> None:
                bb.evaluate.progressive(bb.Booster.from_spec(spec), world, compiled=True)

            run()  # compile, or read the compiled code from disk
            row[name] = 1e6 * best_of(run) / ROUNDS
        rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    others = [name for name in WAYS if name != "OnePoint"]
    title = "A compiled round, by gradient: microseconds with OnePoint, and ratios to it"
    result = Table("features", "copies", "OnePoint", *others, title=title, title_justify="left")
    for row in rows:
        ratios = (f"{row[name] / row['OnePoint']:.2f}x" for name in others)
        result.add_row(str(row["features"]), str(row["copies"]), f"{row['OnePoint']:.2f}", *ratios)
    return result
