"""How time is measured here."""

from __future__ import annotations

import time
from collections.abc import Callable


def best_of(work: Callable[[], object], repetitions: int = 7) -> float:
    """Seconds of the fastest repetition: the one that the machine's other work disturbed least."""
    least = float("inf")
    for _ in range(repetitions):
        begin = time.perf_counter()
        work()
        least = min(least, time.perf_counter() - begin)
    return least
