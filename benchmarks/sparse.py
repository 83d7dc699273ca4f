"""Census, second half, Algorithm 2 with linear learners: contexts kept sparse beside contexts kept dense."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import best_of, peak_memory

COPIES = (10, 30)


def measure() -> list[dict[str, Any]]:
    worlds = {name: census(name == "sparse") for name in ("sparse", "dense")}
    rows = []
    for copies in COPIES:
        row: dict[str, Any] = {"copies": copies, "rounds": len(worlds["sparse"])}
        traces = {}
        for name, world in worlds.items():
            play(world.head(100), copies)  # compile, or read the compiled code from disk
            row[name] = 1e6 * best_of(partial(play, world, copies)) / len(world)
            traces[name] = play(world, copies)
            row[f"{name} MB"] = peak(name == "sparse", copies)
        row["ratio"] = row["dense"] / row["sparse"]
        row["difference"] = float(np.abs(traces["sparse"].predictions - traces["dense"].predictions).max())
        rows.append(row)
    return rows


def census(sparse: bool) -> bb.worlds.Supervised:
    """Rows in a random order, as in the paper's experiment."""
    data = bb.datasets.load("census", sparse=sparse).scaled("minmax")
    return bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1)).shuffled(0).halves()[1]


def play(world: bb.worlds.Supervised, copies: int) -> bb.evaluate.Trace:
    learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.001, 0.5))
    booster = bb.algorithms.bandit_boosting(
        bb.spaces.Interval(0.0, 1.0), copies=copies, delta=0.5, learner=learner, inside=False
    )
    return bb.evaluate.progressive(booster, world, compiled=True)


def peak(sparse: bool, copies: int) -> float:
    """Most memory, in MB, that a process of its own takes to load the data, scale it and play."""
    call = f"from benchmarks import sparse; sparse.report_peak({sparse}, {copies})"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", call], cwd=root, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def report_peak(sparse: bool, copies: int) -> None:
    play(census(sparse), copies)
    print(json.dumps(peak_memory()))


def table(rows: list[dict[str, Any]]) -> Table:
    title = f"Census, {rows[0]['rounds']:,} rounds: microseconds per round, and MB at most for the whole process"
    result = Table(title=title, title_justify="left")
    for heading in ("copies", "dense", "sparse", "dense / sparse", "dense MB", "sparse MB", "largest difference"):
        result.add_column(heading, justify="right")
    for row in rows:
        times = (f"{row[key]:.2f}" for key in ("dense", "sparse"))
        memory = (f"{row[key]:.0f}" for key in ("dense MB", "sparse MB"))
        result.add_row(str(row["copies"]), *times, f"{row['ratio']:.1f}x", *memory, f"{row['difference']:.0e}")
    return result
