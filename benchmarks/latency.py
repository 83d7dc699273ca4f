"""How long a user waits: for `ask` and `tell` in a Python loop, and for the first compiled result of a second process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from benchmarks import ours
from benchmarks.timing import Contestant, interleaved

COPIES, FEATURES = 20, 20
TARGETS = {"ask + tell": 30.0, "first result": 2.0}
"""Microseconds of a round, seconds of a process; never asserted anywhere."""
PROGRAMS = {
    "python": "print(1)",
    "import": "import banditboost; print(1)",
    "first result": (
        "import numpy as np, banditboost as bb; rng = np.random.default_rng(0); "
        "world = bb.worlds.Supervised(rng.random((1000, 16)), rng.random(1000)); "
        "booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(0.0, 1.0), copies=10); "
        "print(bb.evaluate.progressive(booster, world, compiled=True).mean)"
    ),
}


def measure(rounds: int = 2000, repetitions: int = 7) -> dict[str, Any]:
    return {"round": a_round(rounds, repetitions), "process": a_process(repetitions), "targets": TARGETS}


def a_round(rounds: int, repetitions: int) -> dict[str, Any]:
    """Microseconds of `ask` and of `tell`: medians over rounds, in the repetition whose medians add up to least."""
    rng = np.random.default_rng(0)
    contexts, labels = rng.random((rounds, FEATURES)), rng.random(rounds)
    noise = rng.uniform(-0.1, 0.1, (rounds, COPIES))
    taken = []
    for _ in range(repetitions):
        booster = bb.Booster.from_spec(ours.linear_boosting(COPIES))
        asking, telling = [], []
        for t in range(rounds):
            begin = time.perf_counter()
            ticket = booster.ask(contexts[t])
            asked = time.perf_counter()
            answers = (ticket.queries - labels[t]) ** 2 + noise[t]
            answered = time.perf_counter()
            booster.tell(ticket, answers)
            asking.append(asked - begin)
            telling.append(time.perf_counter() - answered)
        taken.append((1e6 * statistics.median(asking), 1e6 * statistics.median(telling)))
    sums = [ask + tell for ask, tell in taken]
    ask, tell = min(taken, key=sum)
    return {"copies": COPIES, "features": FEATURES, "ask": ask, "tell": tell, "ask + tell": ask + tell} | {
        "noise": statistics.median(sums) / min(sums)
    }


def a_process(repetitions: int) -> dict[str, dict[str, Any]]:
    """Seconds from the start of a process to its first line of output, compiled code already on disk."""

    def first_line(program: str) -> None:
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            line = process.stdout.readline()
            process.kill()  # what it does after its result is not waited for
        if not line:
            raise RuntimeError(f"a second process gave no result: {program}")

    contestants = {
        name: Contestant(1, lambda program=program: lambda: first_line(program))  # type: ignore[misc]
        for name, program in PROGRAMS.items()
    }
    times = interleaved(contestants, repetitions)
    return {name: {"seconds": time["microseconds"] / 1e6, "noise": time["noise"]} for name, time in times.items()}


def table(results: dict[str, Any]) -> Table:
    shown = Table("what", "time", "median / best", "target", title="How long a user waits", title_justify="left")
    a_round, targets = results["round"], results["targets"]
    for name in ("ask", "tell", "ask + tell"):
        target = _target(a_round[name], targets.get(name), "µs")
        what = f"{name}, N = {a_round['copies']}, {a_round['features']} features"
        shown.add_row(what, f"{a_round[name]:.1f} µs", f"{a_round['noise']:.2f}", target)
    labels = {
        "python": "a process that prints a line",
        "import": "... that imports banditboost first",
        "first result": "... that plays 1,000 compiled rounds, too",
    }
    for name, row in results["process"].items():
        target = _target(row["seconds"], targets.get(name), "s")
        shown.add_row(labels[name], f"{row['seconds']:.2f} s", f"{row['noise']:.2f}", target)
    return shown


def _target(value: float, target: float | None, unit: str) -> str:
    return "" if target is None else f"<= {target:.0f} {unit}: {'met' if value <= target else 'missed'}"
