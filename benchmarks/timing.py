"""How time and memory are measured here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def best_of(work: Callable[[], object], repetitions: int = 7) -> float:
    """Seconds of the fastest repetition: the one that the machine's other work disturbed least."""
    least = float("inf")
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return least


def peak_memory() -> float:
    """Most memory, in MB, that this process has held so far."""
    # Not getrusage: what it calls the peak of a new process is at least that of the process which started it.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024
