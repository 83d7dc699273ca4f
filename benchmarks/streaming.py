"""Ten million rounds from a Parquet file, one million from a CSV file: time, and the most memory that their process held."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from rich.table import Table

import banditboost as bb
from benchmarks.timing import peak_memory

FEATURES, COPIES = 10, 10
PIECE = 500_000
FILES = {"rounds.parquet": 10_000_000, "rounds.csv": 1_000_000}


def measure() -> list[dict[str, Any]]:
    rows = []
    for name, rounds in FILES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            write(path, rounds)
            # A process of its own: the peak of memory is one number for the whole of it.
            command = [sys.executable, "-m", "benchmarks.streaming", str(path)]
            shown = subprocess.run(command, check=True, capture_output=True, text=True)
            row = {"file": path.suffix[1:], "file MB": path.stat().st_size / 2**20}
            rows.append(row | json.loads(shown.stdout))
    return rows


def write(path: Path, rounds: int) -> None:
    """Write noisy linear labels in pieces, so that writing needs no more memory than reading."""
    rng = np.random.default_rng(0)
    weights = rng.random(FEATURES) / FEATURES
    parts = []
    for k in range(rounds // PIECE):
        X = rng.random((PIECE, FEATURES))
        piece = pl.DataFrame(X, schema=[f"x{j}" for j in range(FEATURES)])
        piece = piece.with_columns(y=X @ weights + 0.2 * rng.random(PIECE))
        if path.suffix == ".csv":
            with path.open("ab") as file:
                piece.write_csv(file, include_header=k == 0)
        else:
            parts.append(path.with_name(f"part{k}.parquet"))
            piece.write_parquet(parts[-1])
    if parts:
        pl.scan_parquet(parts).sink_parquet(path, row_group_size=2**18)
        for part in parts:
            part.unlink()


def play(path: Path) -> dict[str, Any]:
    begin = time.perf_counter()
    world = bb.worlds.Supervised.scan(path, target="y", noise=bb.noise.Uniform(0.1))
    opening = time.perf_counter() - begin
    learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.1, 0.5))
    booster = bb.algorithms.bandit_boosting(
        bb.spaces.Interval(0.0, 1.0), copies=COPIES, delta=0.5, learner=learner, inside=False
    )
    # Compile, or read the compiled code from disk.
    bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), world.head(100), compiled=True)
    begin = time.perf_counter()
    trace = bb.evaluate.progressive(booster, world, compiled=True, keep="means")
    seconds = time.perf_counter() - begin
    return {
        "rounds": len(trace),
        "features": FEATURES,
        "copies": COPIES,
        "opening": opening,
        "seconds": seconds,
        "microseconds": 1e6 * seconds / len(trace),
        "peak MB": peak_memory(),
        "loss": trace.mean,
    }


def table(rows: list[dict[str, Any]]) -> Table:
    result = Table(
        title=f"Streamed from disk: Algorithm 2, {FEATURES} features, {COPIES} copies, compiled", title_justify="left"
    )
    for heading in ("file", "MB on disk", "rounds", "s to open", "s", "µs per round", "peak memory, MB"):
        result.add_column(heading, justify="right")
    for row in rows:
        times = (f"{row['opening']:.1f}", f"{row['seconds']:.1f}", f"{row['microseconds']:.2f}")
        result.add_row(row["file"], f"{row['file MB']:.0f}", f"{row['rounds']:,}", *times, f"{row['peak MB']:.0f}")
    return result


if __name__ == "__main__":
    print(json.dumps(play(Path(sys.argv[1]))))
