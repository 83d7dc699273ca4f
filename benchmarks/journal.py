"""What a journal costs: rounds (an ask and a tell) a second, without one and with one that waits for the disk now and then."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb

COPIES, FEATURES = 20, 20
WAYS: tuple[tuple[str, int | None, int], ...] = (
    ("no journal", None, 4000),
    ("written, never waited for", 10**9, 4000),
    ("durable every 1000 calls", 1000, 4000),
    ("durable every 100 calls", 100, 4000),
    ("durable every 10 calls", 10, 1000),
    ("durable after each call", 1, 200),
)


def measure() -> list[dict[str, Any]]:
    contexts = np.random.default_rng(0).random((1000, FEATURES))
    rows = []
    for name, sync_every, rounds in WAYS:
        fastest = float("inf")
        for _ in range(3):
            with tempfile.TemporaryDirectory() as folder:
                fastest = min(fastest, _seconds(Path(folder) / "run.journal", sync_every, rounds, contexts))
        rows.append({"way": name, "rounds": rounds, "per_second": rounds / fastest})
    return rows


def _seconds(path: Path, sync_every: int | None, rounds: int, contexts: np.ndarray) -> float:
    learner = bb.learners.Linear(radius=10.0, rate=bb.rates.Power(0.1, 0.5))
    gradient = bb.gradients.OnePoint(0.5)
    booster = bb.Booster(learner, COPIES, gradient=gradient, space=bb.spaces.Interval(-5.0, 5.0))
    journal = None if sync_every is None else bb.Journal(path, booster, sync_every=sync_every)
    begin = time.perf_counter()
    for t in range(rounds):
        ticket = booster.ask(contexts[t % len(contexts)])
        booster.tell(ticket, (ticket.queries - 1.0) ** 2)
    spent = time.perf_counter() - begin
    if journal is not None:
        journal.close()
    return spent


def table(rows: list[dict[str, Any]]) -> Table:
    title = f"A journal's price: rounds a second, N = {COPIES}, p = {FEATURES} (best of 3; depends on the disk)"
    result = Table(title=title, title_justify="left")
    for heading in ("journal", "rounds a second", "without / with"):
        result.add_column(heading, justify="left" if heading == "journal" else "right")
    for row in rows:
        result.add_row(row["way"], f"{row['per_second']:,.0f}", f"{rows[0]['per_second'] / row['per_second']:.2f}x")
    return result
