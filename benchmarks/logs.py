"""Ten million logged decisions: rows a second, and the most memory that their process held, for reading and evaluating them, for
learning from them in the compiled loop, and for learning from as many of them row by row as a minute allows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks.timing import peak_memory

ROWS, FEATURES, PIECE = 10_000_000, 5, 65_536
"""Rows that are read, evaluated and learned from; features; rows that are written at a time."""
SECONDS, TRIED = 60.0, 4_000
"""How long to learn from rows one by one, as many as that may be; rows that show how many."""
SPACE = bb.spaces.Interval(0.0, 10.0)
ONE_BY_ONE = "learn_from, row by row"


def measure() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        begin = time.perf_counter()
        write(path, ROWS)
        wrote = {"what": "write", "rows": ROWS, "seconds": time.perf_counter() - begin, "peak MB": peak_memory()}
        rows = [wrote | {"file MB": path.stat().st_size / 2**20}]
        for name in WORK:
            # A process of its own: the peak of memory is one number for the whole of it.
            command = [sys.executable, "-m", "benchmarks.logs", name, str(path)]
            shown = subprocess.run(command, check=True, capture_output=True, text=True)
            rows.append({"what": name} | json.loads(shown.stdout))
    return rows


def write(path: Path, rows: int) -> None:
    """Write prices that were drawn uniformly, and what they cost."""
    rng = np.random.default_rng(0)
    with bb.LogWriter(path) as writer:
        for begin in range(0, rows, PIECE):
            n = min(PIECE, rows - begin)
            x, price = rng.random((n, FEATURES)), rng.uniform(0.0, 10.0, n)
            loss = np.square(price - 4.0 - 2.0 * x[:, 0]) + rng.normal(size=n)
            tickets = np.arange(begin + 1, begin + n + 1)
            writer.write(bb.LogBlock(x, price[:, np.newaxis], loss, np.full(n, 0.1), tickets, None, begin))


def _read(log: bb.Log) -> int:
    return log.check(SPACE).rows


def _dr(log: bb.Log) -> int:
    return bb.evaluate.off_policy(log, lambda x: 4.0 + 2.0 * x[:, 0], space=SPACE).rows


def _snips(log: bb.Log) -> int:
    return bb.evaluate.off_policy(log, 5.0, "snips", space=SPACE).rows


class First:
    """The first rows of a log, read in blocks as the whole of it is."""

    def __init__(self, log: bb.Log, rows: int) -> None:
        self.log, self.rows = log, rows

    def blocks(self) -> Iterator[bb.LogBlock]:
        for block in self.log.blocks():
            left = self.rows - block.row
            yield block if left >= len(block.losses) else block.take(slice(0, left), block.row)
            if left <= len(block.losses):
                return


def _learn(log: bb.Log) -> int:
    return bb.algorithms.boosted(SPACE, answers=1).learn_from(log, compiled=True).rows


def _learn_one_by_one(log: bb.Log | First) -> int:
    return bb.algorithms.boosted(SPACE, answers=1).learn_from(log, compiled=False).rows


def affordable(log: bb.Log, seconds: float) -> First:
    """Return as many rows as are learned from in about so many seconds, at the speed of the first ones."""
    tried = min(TRIED, log.rows)
    begin = time.perf_counter()
    _learn_one_by_one(First(log, tried))
    return First(log, min(log.rows, max(tried, int(tried * seconds / (time.perf_counter() - begin)))))


WORK: dict[str, Callable[[Any], int]] = {
    "read": _read,
    "off_policy, snips": _snips,
    "off_policy, dr": _dr,
    "learn_from": _learn,
    ONE_BY_ONE: _learn_one_by_one,
}


def work(name: str, path: Path) -> dict[str, Any]:
    log = bb.Log.read(path, action="action", density="density", ticket="ticket")
    WORK[name](small())  # compile, or read the compiled code from disk
    part = affordable(log, SECONDS) if name == ONE_BY_ONE else log
    begin = time.perf_counter()
    rows = WORK[name](part)
    return {"rows": rows, "seconds": time.perf_counter() - begin, "peak MB": peak_memory()}


def small() -> bb.Log:
    rng = np.random.default_rng(1)
    price = rng.uniform(0.0, 10.0, 500)
    return bb.Log.from_arrays(rng.random((500, FEATURES)), price, np.square(price - 5.0), densities=np.full(500, 0.1))


def table(rows: list[dict[str, Any]]) -> Table:
    result = Table(title=f"Logs in Parquet, {FEATURES} features", title_justify="left")
    for heading in ("what", "rows", "s", "rows a second", "peak memory, MB"):
        result.add_column(heading, justify="right")
    for row in rows:
        speed = f"{row['rows'] / row['seconds']:,.0f}"
        result.add_row(row["what"], f"{row['rows']:,}", f"{row['seconds']:.1f}", speed, f"{row['peak MB']:.0f}")
    return result


if __name__ == "__main__":
    print(json.dumps(work(sys.argv[1], Path(sys.argv[2]))))
