"""How time and memory are measured here."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

Name = TypeVar("Name")


class Contestant(NamedTuple):
    """Something to be timed: what one repetition does, after a start that no clock sees."""

    rounds: int
    """Rounds that one repetition plays: times are per round."""
    start: Callable[[], Callable[[], object]]
    """Makes a repetition: what it returns is called once, under the clock."""


def best_of(work: Callable[[], object], repetitions: int = 7) -> float:
    """Seconds of the fastest repetition: the one that the machine's other work disturbed least."""
    return min(_seconds(work) for _ in range(repetitions))


def interleaved(
    contestants: Mapping[Name, Contestant], repetitions: int = 7, clock: Callable[[], float] = time.perf_counter
) -> dict[Name, dict[str, Any]]:
    """Time contestants in turn, one repetition of each and then the next of each, and keep everybody's fastest.

    Minutes in which the machine is busy with something else then fall on all of them. A first repetition of each, in which
    code is compiled and memory is touched, does not count. With ``clock=time.process_time`` it is the processor's time that counts:
    a run that is interrupted now and then is not at a disadvantage beside one that is over before that.

    Returns
    -------
    By name, `microseconds` per round in the fastest repetition, `noise`: how many times that the median repetition took, and
    the `rounds` of a repetition.
    """
    seconds: dict[Name, list[float]] = {name: [] for name in contestants}
    for contestant in contestants.values():
        contestant.start()()
    for _ in range(repetitions):
        for name, contestant in contestants.items():
            seconds[name].append(_seconds(contestant.start(), clock))
    return {
        name: {
            "microseconds": 1e6 * min(taken) / contestants[name].rounds,
            "noise": statistics.median(taken) / min(taken),
            "rounds": contestants[name].rounds,
        }
        for name, taken in seconds.items()
    }


def _seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time one call, with Python's search for cycles put off, as `timeit` does: it would charge one for another's objects."""
    searching = gc.isenabled()
    gc.disable()
    try:
        begin = clock()
        work()
        return clock() - begin
    finally:
        if searching:
            gc.enable()


def peak_memory() -> float:
    """Most memory, in MB, that this process has held so far."""
    # Not getrusage: what it calls the peak of a new process is at least that of the process which started it.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) / 1024
