"""A compiled round of the default with gradients from memory, beside a fit to the same number of answers in one round."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from banditboost.algorithms.default_parts import fitted_to_round
from benchmarks.timing import best_of

SPACE = bb.spaces.Interval(0.0, 1.0)
SIZES = (16, 105)
ANSWERS = (1, 2, 5, 30)
ROUNDS = 5_000


def measure() -> list[dict[str, Any]]:
    rows = []
    for features in SIZES:
        rng = np.random.default_rng(0)
        contexts = rng.random((ROUNDS, features))
        world = bb.worlds.Supervised(contexts, contexts[:, 0] * contexts[:, 1], noise=bb.noise.Uniform(0.02))
        for answers in ANSWERS:
            spec = bb.algorithms.boosted(SPACE, answers=answers).spec
            fitted: bb.gradients.Gradient = fitted_to_round(SPACE)
            if answers < spec.copies:
                fitted = bb.gradients.Budget(fitted, answers, exactly=True)  # type: ignore[arg-type]
            row: dict[str, Any] = {"features": features, "answers": answers}
            for name, gradient in (("remembered", spec.gradient), ("fitted", fitted)):
                whole = replace(spec, gradient=gradient)

                def run(whole: bb.BoosterSpec = whole, world: Any = world) -> None:
                    bb.evaluate.progressive(bb.Booster.from_spec(whole), world, compiled=True)

                run()  # compile, or read the compiled code from disk
                row[name] = 1e6 * best_of(run) / ROUNDS
            rows.append(row)
    return rows


def table(rows: list[dict[str, Any]]) -> Table:
    title = "A compiled round of the default: microseconds, and the ratio of gradients from memory to a fit"
    result = Table("features", "answers", "remembered", "fitted", "ratio", title=title, title_justify="left")
    for row in rows:
        ours, theirs = row["remembered"], row["fitted"]
        result.add_row(
            str(row["features"]), str(row["answers"]), f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}x"
        )
    return result
