"""How long a `tell` takes where rounds are remembered: forests grown within it, or in the background while rounds go on.

No pause is made between rounds, so that forests may be late; how late is counted. The first rounds, in which machine code is read
from disk, are played by another booster before. Where other programs keep the processor busy, a tell may have to wait for its turn:
hence the time that it spent computing is given, too.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Grown

FEATURES = (16, 100)
ROUNDS = 20_000
ANSWERS = 2
LAG = 0.1
TARGETS = {"longest": 50.0, "ratio": 10.0}
"""Milliseconds of the longest tell in the background, and a round's time over that of the default without memory; never asserted
anywhere."""
WAYS: dict[str, Grown | None] = {
    "no memory": None,
    "within a round": Grown(),
    "within a round, with a lag": Grown(lag=LAG),
    "in the background": Grown(lag=LAG, background=True),
}


def measure(rounds: int = ROUNDS, sizes: tuple[int, ...] = FEATURES) -> dict[str, Any]:
    return {"rows": [a_run(features, way, rounds) for features in sizes for way in WAYS], "targets": TARGETS}


def a_run(features: int, way: str, rounds: int) -> dict[str, Any]:
    """Milliseconds of `tell`, and of a whole round (an ask and a tell); and how late forests were."""
    _played(features, way, min(rounds, 200))
    telling, computing, whole, late = _played(features, way, rounds)
    return {
        "features": features,
        "way": way,
        "rounds": rounds,
        "longest": 1e3 * float(telling.max()),
        "longest at": int(telling.argmax()) + 1,
        "longest, computing": 1e3 * float(computing.max()),
        "99.9 %": 1e3 * float(np.quantile(telling, 0.999)),
        "mean": 1e3 * float(telling.mean()),
        "round": 1e3 * whole / rounds,
        "forests": len(late),
        "late": [rounds for rounds in late if rounds > 0],
    }


def _played(features: int, way: str, rounds: int) -> tuple[Array, Array, float, list[int]]:
    """Return the seconds of every tell, those that it computed, those of all rounds, and how many rounds late each forest was."""
    rng = np.random.default_rng(0)
    contexts = rng.random((rounds, features))
    labels = np.where(contexts[:, 0] > 0.5, contexts[:, 1], 1 - contexts[:, 2] * contexts[:, 3])
    noise = rng.uniform(-0.1, 0.1, (rounds, ANSWERS))
    spec = bb.algorithms.boosted(bb.spaces.Interval(0.0, 1.0), answers=ANSWERS, memory=WAYS[way]).spec
    booster = bb.Booster.from_spec(spec, features)
    pending = next((array[0] for name, array in booster.arrays().items() if name.endswith("pending.clock")), None)
    telling, computing, late, spent, due = np.zeros(rounds), np.zeros(rounds), [], 0.0, 0
    for t in range(rounds):
        begin = time.perf_counter()
        ticket = booster.ask(contexts[t])
        asked = time.perf_counter()
        answers = (ticket.queries - labels[t]) ** 2 + noise[t]
        busy, answered = time.thread_time(), time.perf_counter()
        booster.tell(ticket, answers)
        told = time.perf_counter()
        computing[t] = time.thread_time() - busy
        telling[t] = told - answered
        spent += told - answered + asked - begin
        if pending is not None:
            if due and pending[1] != due:  # it has taken effect
                late.append(t + 1 - due)
            due = int(pending[1])
    return telling, computing, spent, late


def table(results: dict[str, Any]) -> Table:
    title = f"A tell where rounds are remembered: milliseconds, {ANSWERS} answers a round, no pause between rounds"
    headings = ("features", "forests grown", "longest", "... computing", "99.9 %", "mean", "a round", "ratio")
    result = Table(*headings, "forests", "late", "most", title=title, title_justify="left")
    rows = results["rows"]
    plain = {row["features"]: row["round"] for row in rows if row["way"] == "no memory"}
    for row in rows:
        times = (f"{row[key]:.2f}" for key in ("longest", "longest, computing", "99.9 %", "mean", "round"))
        counts = (str(row["forests"]), str(len(row["late"])), str(max(row["late"], default=0)))
        ratio = f"{row['round'] / plain[row['features']]:.2f}x"
        result.add_row(str(row["features"]), row["way"], *times, ratio, *counts)
    return result
