"""A round of Algorithm 1: time against N, and against the same loop over N Python objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

import banditboost as bb
from banditboost import theory
from benchmarks.timing import best_of

Vector = NDArray[np.float64]
DIMENSION, ROUNDS = 20, 200
COPIES = (8, 32, 128, 512, 2048)


class PerturbedLeader:
    """One copy as an object of its own, on the simplex."""

    def __init__(self, scale: float, rng: np.random.Generator) -> None:
        self.total, self.scale, self.rng = np.zeros(DIMENSION), scale, rng

    def play(self) -> Vector:
        corner = np.zeros(DIMENSION)
        corner[np.argmin(self.total + self.scale * self.rng.standard_normal(DIMENSION))] = 1.0
        return corner

    def update(self, gradient: Vector) -> None:
        self.total += gradient


def loop_over_objects(world: bb.worlds.Quadratic, copies: int) -> float:
    """Algorithm 1 line by line, one object per copy."""
    rng = np.random.default_rng(0)
    scale = theory.fpl_scale(ROUNDS, world.sigma, DIMENSION)
    leaders = [PerturbedLeader(scale, rng) for _ in range(copies)]
    total = 0.0
    for t in range(ROUNDS):
        x, gradients = np.full(DIMENSION, 1 / DIMENSION), []
        for i, leader in enumerate(leaders):
            gradients.append(x - world.targets[t] + rng.uniform(-0.1, 0.1, DIMENSION))
            eta = 2 / (i + 2)
            x = (1 - eta) * x + eta * leader.play()
        total += 0.5 * float(((x - world.targets[t]) ** 2).sum())
        for leader, gradient in zip(leaders, gradients, strict=True):
            leader.update(gradient)
    return total


def measure() -> dict[str, Any]:
    space = bb.spaces.Simplex(DIMENSION)
    world = bb.worlds.stationary(space, rounds=ROUNDS, noise=bb.noise.Uniform(0.1))
    rows = []
    for copies in COPIES:
        spec = bb.algorithms.projection_free(space, horizon=ROUNDS, sigma=world.sigma, copies=copies).spec
        ours = best_of(lambda spec=spec: bb.evaluate.progressive(bb.Booster.from_spec(spec), world))  # type: ignore[misc]
        objects = best_of(lambda copies=copies: loop_over_objects(world, copies), repetitions=1)  # type: ignore[misc]
        rows.append(
            {"copies": copies, "ours": 1e6 * ours / ROUNDS, "objects": 1e6 * objects / ROUNDS, "ratio": objects / ours}
        )
    # What a round costs beyond a fixed amount grows with N: the slope is fitted where N dominates.
    large = [row for row in rows if row["copies"] >= 128]
    slope = np.polyfit(np.log([r["copies"] for r in large]), np.log([r["ours"] for r in large]), 1)[0]
    return {"rows": rows, "slope": float(slope)}


def table(results: dict[str, Any]) -> Table:
    title = f"Algorithm 1 on the simplex: microseconds per round; log-log slope from N = 128 on {results['slope']:.2f}"
    shown = Table(title=title, title_justify="left")
    for heading in ("copies", "ours", "loop over objects", "objects / ours"):
        shown.add_column(heading, justify="right")
    for row in results["rows"]:
        shown.add_row(str(row["copies"]), f"{row['ours']:.0f}", f"{row['objects']:.0f}", f"{row['ratio']:.1f}x")
    return shown
