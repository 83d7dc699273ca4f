"""Where a compiled round's time goes, for each family of learners: random numbers, the loop itself, and all else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._compiled import round as compiled_round
from banditboost.evaluate import progressive
from banditboost.gradients import Sphere

FEATURES, COPIES, ROUNDS = 105, 10, 8192
LEARNERS: dict[str, tuple[bb.learners.Learner, bool]] = {
    "Linear": (bb.learners.Linear(10.0, bb.rates.Power(0.1, 0.5)), False),
    "Linear, sparse": (bb.learners.Linear(10.0, bb.rates.Power(0.1, 0.5)), True),
    "ScaleFree": (bb.learners.ScaleFree(), False),
    "ScaleFree, sparse": (bb.learners.ScaleFree(radius=None), True),
    "Coin": (bb.learners.Coin(), False),
    "Coin, sparse": (bb.learners.Coin(), True),
    "SecondOrder": (bb.learners.SecondOrder(), False),
    # Contexts here are positive: without a scaler most rectified units fall silent for good, and a round looks cheaper than it is.
    "Network, standardized": (bb.learners.Standardized(bb.learners.Network()), False),
    "Tree": (bb.learners.Tree(), False),
}


def measure(rounds: int = ROUNDS, repetitions: int = 5) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X, labels = rng.random((rounds, FEATURES)), rng.random(rounds)
    thin = csr_array(X * (rng.permuted(np.tile(np.arange(FEATURES), (rounds, 1)), axis=1) < 12))
    rows = []
    for name, (learner, sparse) in LEARNERS.items():
        world = bb.worlds.Supervised(thin if sparse else X, labels, noise=bb.noise.Uniform(0.1))
        spec = bb.BoosterSpec(learner, COPIES, gradient=bb.gradients.OnePoint(0.5), space=bb.spaces.Interval(-1.0, 2.0))
        runs = [taken(spec, world) for _ in range(repetitions + 1)][1:]
        whole, loop, drawing = min(runs)
        micro = 1e6 / rounds
        parts = {"drawing": drawing * micro, "loop": loop * micro, "rest": (whole - loop - drawing) * micro}
        rows.append({"learner": name, "whole": whole * micro} | parts)
    return rows


def taken(spec: bb.BoosterSpec, world: bb.worlds.Supervised) -> tuple[float, float, float]:
    """Return the seconds of a run, of them those in the compiled loop and those of drawing random numbers."""
    clocks = {"loop": 0.0, "drawing": 0.0}

    def timed(name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            begin = time.perf_counter()
            try:
                return work(*arguments)
            finally:
                clocks[name] += time.perf_counter() - begin

        return run

    # The clocks are put where the loop and the drawing are called from.
    rounds, draw = compiled_round.play_rounds, Sphere.draw
    booster = bb.Booster.from_spec(spec)
    compiled_round.play_rounds, Sphere.draw = timed("loop", rounds), timed("drawing", draw)  # type: ignore[method-assign]
    try:
        begin = time.perf_counter()
        progressive(booster, world, compiled=True)
        return time.perf_counter() - begin, clocks["loop"], clocks["drawing"]
    finally:
        compiled_round.play_rounds, Sphere.draw = rounds, draw  # type: ignore[method-assign]


def table(results: list[dict[str, Any]]) -> Table:
    title = f"A compiled round with {COPIES} copies and {FEATURES} features (sparse: 12 non-zeros): microseconds"
    shown = Table("learner", "in all", "the loop", "random numbers", "all else", title=title, title_justify="left")
    for row in results:
        shown.add_row(row["learner"], *(f"{row[key]:.2f}" for key in ("whole", "loop", "drawing", "rest")))
    return shown
