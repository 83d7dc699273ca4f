"""`make load-serve`: how fast the service answers, beside the bare library and beside a route that does nothing.

Open loop: requests are due at fixed times, whether earlier ones were answered or not, and the time of each is counted from when it
was due. Half of the requests ask, half tell. Throughput is measured with callers that ask and tell as fast as they are answered, in
turns with the route that does nothing. Requests go to 127.0.0.1 alone, and their number is bounded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
from serve_http import GoneError, Line, free_port, put, start

import banditboost as bb
from banditboost._storage.atomic_file import atomic

FEATURES, LINES, CALLERS = 8, 256, 32
RECIPE = {"algorithm": "boosted", "space": {"kind": "Interval", "low": 0, "high": 1}, "answers": 1}
PATH = "/v1/boosters/load"


class Load:
    """Rounds against one service: questions of normal contexts, answers of a square."""

    def __init__(self, port: int, seed: int) -> None:
        self.port, self.rng = port, np.random.default_rng(seed)
        self.questions = [
            json.dumps({"context": row.tolist()}).encode() for row in self.rng.normal(size=(500, FEATURES))
        ]
        self.open: deque[bytes] = deque()
        self.free = [Line(port) for _ in range(LINES)]
        self.errors = 0
        self.asked = 0

    async def ask(self, line: Line) -> None:
        """Ask, and keep what is to be told."""
        self.asked += 1
        status, body = await line.post(f"{PATH}/ask", self.questions[self.asked % len(self.questions)])
        if status != 200:
            raise GoneError
        issued = json.loads(body)
        self.open.append(json.dumps({"ticket": issued["ticket"], "losses": (issued["action"] - 0.3) ** 2}).encode())

    async def tell(self, line: Line) -> None:
        """Tell what was kept longest."""
        status, _ = await line.post(f"{PATH}/tell", self.open.popleft())
        if status != 200:
            raise GoneError

    async def at_rate(self, rate: float, seconds: float) -> list[float]:
        """Make requests at a rate; return the seconds of each from when it was due."""
        took, tasks, begin = list[float](), set[asyncio.Task[None]](), time.perf_counter() + 0.1

        async def one(due: float, tells: bool) -> None:
            line = self.free.pop() if self.free else Line(self.port)
            try:
                await (self.tell(line) if tells and self.open else self.ask(line))
                took.append(time.perf_counter() - due)
            except GoneError:
                self.errors += 1
            self.free.append(line)

        for k in range(int(rate * seconds)):
            due = begin + k / rate
            wait = due - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            task = asyncio.create_task(one(due, k % 2 == 1))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.wait(set(tasks) or {asyncio.create_task(asyncio.sleep(0))}, timeout=30)
        return took

    async def flat_out(self, seconds: float, callers: int = CALLERS) -> int:
        """Ask and tell as fast as answers come; return how many requests were answered."""
        until, done = time.perf_counter() + seconds, 0

        async def caller(line: Line) -> None:
            nonlocal done
            while time.perf_counter() < until:
                await self.ask(line)
                await self.tell(line)
                done += 2

        await asyncio.gather(*(caller(line) for line in self.free[:callers]))
        return done


async def nothing_flat_out(port: int, question: bytes, seconds: float, callers: int = CALLERS) -> int:
    """Call the route that does nothing as fast as it answers; return how many requests were answered."""
    until, done = time.perf_counter() + seconds, 0

    async def caller(line: Line) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await line.post("/nothing", question)
            done += 1

    await asyncio.gather(*(caller(Line(port)) for _ in range(callers)))
    return done


def library(booster: bb.Booster, seconds: float) -> int:
    """Ask and tell in this process without a journal; return the number of calls."""
    rng, done = np.random.default_rng(0), 0
    contexts, until = rng.normal(size=(500, FEATURES)), time.perf_counter() + seconds
    while time.perf_counter() < until:
        ticket = booster.ask(contexts[done % 500])
        booster.tell(ticket, [(float(ticket.action) - 0.3) ** 2])
        done += 2
    return done


def cpu(process: int | None = None) -> float:
    """The seconds of processor that a process has used: this one, or another by its number."""
    if process is not None:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def rates(port: int, given: Any, label: str) -> list[dict[str, Any]]:
    """Latencies at all rates."""
    rows, load = [], Load(port, 0)
    await load.flat_out(1.0, 4)  # what is compiled or read on first use
    for rate in given.rates:
        used, begin = cpu(), time.perf_counter()
        took = np.array(await load.at_rate(rate, given.seconds)) * 1e3
        wall = time.perf_counter() - begin
        row = {"setting": label, "rate": rate, "sent": int(rate * given.seconds), "answered": len(took)}
        row |= {f"p{q}": round(float(np.percentile(took, q)), 2) for q in (50, 90, 99)} | {"max": round(took.max(), 2)}
        row |= {"achieved": round(len(took) / wall, 1), "generator": round((cpu() - used) / wall / os.cpu_count(), 3)}  # type: ignore[operator]
        rows.append(row)
        print(
            f"{label:24} {rate:6.0f}/s  p50 {row['p50']:8.2f} ms  p99 {row['p99']:8.2f} ms  max {row['max']:8.2f} ms  "
            f"answered {row['answered']} of {row['sent']}  generator {row['generator']:.0%} of the processors",
            flush=True,
        )
        if row["p50"] > 1000:
            break
    return rows


async def throughput(ports: tuple[int, int], processes: tuple[int, int], given: Any) -> dict[str, Any]:
    """Requests a second of the service and of the route that does nothing, in turns, and the processor's time of each request."""
    load, seconds = Load(ports[0], 1), given.seconds / 2
    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
    library(booster, 2.0)
    found: dict[str, list[float]] = {}
    for _ in range(given.turns):
        turns = {
            "empty_route": (lambda: nothing_flat_out(ports[1], load.questions[0], seconds), processes[1]),
            "service": (lambda: load.flat_out(seconds), processes[0]),
            "library": (lambda: asyncio.to_thread(library, booster, seconds), None),
        }
        for name, (turn, process) in turns.items():
            used, begin = cpu(process), time.perf_counter()
            done = await turn()
            found.setdefault(name, []).append(done / (time.perf_counter() - begin))
            found.setdefault(f"{name}_cpu_ms", []).append((cpu(process) - used) / max(done, 1) * 1e3)
    ratios = zip(found["service"], found["empty_route"], strict=True)
    said = {name: round(float(np.median(values)), 3) for name, values in found.items()}
    said["ratio"] = round(float(np.median([ours / empty for ours, empty in ratios])), 3)
    said["cpu_ratio"] = round(said["empty_route_cpu_ms"] / said["service_cpu_ms"], 3)
    print(
        f"Throughput: {said['service']:.0f} requests a second, {said['ratio']:.2f} of the empty route's {said['empty_route']:.0f}; "
        f"the bare library makes {said['library']:.0f} calls a second.\n"
        f"Processor: {said['service_cpu_ms']:.3f} ms a request; the empty route {said['empty_route_cpu_ms']:.3f} ms, the bare "
        f"library {said['library_cpu_ms']:.3f} ms."
    )
    return said | {"turns": given.turns, "callers": CALLERS}


def main() -> None:
    """Measure and print; write the figures where they are wanted."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--rates", type=lambda text: [float(one) for one in text.split(",")], default=[200.0, 500.0, 1000.0, 1500.0]
    )
    options.add_argument("--seconds", type=float, default=8.0, help="at each rate")
    options.add_argument("--turns", type=int, default=5, help="of measuring throughput")
    options.add_argument("--only", type=int, default=9, help="so many of the settings")
    options.add_argument("--json", type=Path, help="write the figures to this file")
    given = options.parse_args()
    if max(given.rates) * given.seconds > 10**6:
        sys.exit("At most a million requests are made: lower --rates or --seconds.")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = {
            "group": ["--durability", "group"],
            "group, sync 5 ms slower": ["--durability", "group", "--sync", 0.005],
            "each": ["--durability", "each"],
            "off": ["--durability", "off"],
        }
        for number, (label, arguments) in enumerate(list(settings.items())[: given.only]):
            port = free_port()
            process = start(port, folder / "log", "--data", folder / f"data{number}", *arguments)
            try:
                put(port, PATH, {"recipe": RECIPE})
                rows += asyncio.run(rates(port, given, label))
                if number == 0:
                    other = free_port()
                    beside = start(other, folder / "log", "--empty")
                    try:
                        found = asyncio.run(throughput((port, other), (process.pid, beside.pid), given))
                    finally:
                        beside.terminate()
                        beside.wait()
            finally:
                process.terminate()
                process.wait()
    if given.json is not None:
        with atomic(given.json) as file:
            machine = {"cpus": os.cpu_count(), "load_average": round(os.getloadavg()[1], 2)}
            file.write(json.dumps(machine | {"rows": rows, "throughput": found}, indent=1).encode())


if __name__ == "__main__":
    main()
