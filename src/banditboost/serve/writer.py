"""The one writer of a booster: a thread that carries out waiting calls in order, and waits for the disk once for all of them.

While the disk is waited for, further calls gather; they are the next group. So the disk is waited for as often as it can be,
however many callers there are, and nobody is told that a call has happened before the disk has it.
"""

from __future__ import annotations

import asyncio
import errno
import queue
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from banditboost.booster import NotInFlightError
from banditboost.serve.kept import Kept
from banditboost.serve.problems import Problem

DURABILITIES = {
    "each": "the disk is waited for after every call",
    "group": "the disk is waited for once for all calls that wait, before any is acknowledged",
    "off": "the disk is not waited for: a power failure may lose what the operating system has not written yet",
}
MOST_WAITING = 5_000
"""Most calls that wait for one booster; further ones are turned away."""
MOST_AT_ONCE = 256
"""Most calls in a group."""
UNKNOWN = "The disk has failed: whether the call has happened is not known, and repeating it is safe."
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class Waiting(NamedTuple):
    """A call that waits for its turn."""

    call: Callable[[Kept], Any]
    records: bool
    """Whether the disk must have it before it is acknowledged."""
    answer: asyncio.Future[Any]


class Writer:
    """Carries out the calls on one booster in a thread."""

    def __init__(self, kept: Callable[[], Kept], durability: str, said: Callable[..., None]) -> None:
        self._make, self.durability, self._say = kept, durability, said
        self.kept: Kept | None = None
        self.groups = self.grouped = 0
        """How often the disk was waited for, and for how many calls."""
        self._loop = asyncio.get_running_loop()
        self._waiting: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="booster", daemon=True)
        self._thread.start()

    async def do(self, call: Callable[[Kept], Any], records: bool = True) -> Any:
        """Carry out a call when its turn has come; return what it returns once it is as durable as promised."""
        if self._waiting.qsize() >= MOST_WAITING:
            raise Problem(503, "Too many calls wait for this booster: try again in a second.")
        answer: asyncio.Future[Any] = self._loop.create_future()
        self._waiting.put(Waiting(call, records, answer))
        return await answer

    async def stop(self) -> None:
        """Carry out what waits, and close the journal."""
        self._waiting.put(None)
        await asyncio.to_thread(self._thread.join)

    def numbers(self) -> dict[str, float]:
        """Return the numbers that Prometheus is shown."""
        kept = {} if self.kept is None else self.kept.numbers()
        return {**kept, "calls_waiting": self._waiting.qsize(), "syncs": self.groups}

    # In the thread.

    def _work(self) -> None:
        going = True
        while going:
            group, one = list[Waiting](), self._waiting.get()
            while one is not None:
                group.append(one)
                if len(group) >= MOST_AT_ONCE:
                    break
                try:
                    one = self._waiting.get_nowait()
                except queue.Empty:
                    break
            going = one is not None
            self._carry_out(group)
        if self.kept is not None:
            try:
                self.kept.close()
            except Exception as error:
                self._say("closing failed", error=str(error))

    def _carry_out(self, group: list[Waiting]) -> None:
        at_once, durable = list[tuple[Waiting, Any]](), list[tuple[Waiting, Any]]()
        for waiting in group:
            result = self._result(waiting.call)
            recorded = waiting.records and self.kept is not None and self.kept.behind() and self.durability != "off"
            (durable if recorded else at_once).append((waiting, result))
        self._settle(at_once)
        if durable:
            self.groups, self.grouped = self.groups + 1, self.grouped + len(durable)
            error = self._result(lambda kept: kept.flush())
            if isinstance(error, Problem):
                error = Problem(error.status, UNKNOWN)
            self._settle([(waiting, error or result) for waiting, result in durable])
        if self.kept is not None and self.kept.due():
            self._result(lambda kept: kept.tidy())

    def _result(self, call: Callable[[Kept], Any]) -> Any:
        """Return what a call returns, or the problem that it has met with."""
        try:
            if self.kept is None:
                self.kept = self._make()
            return call(self.kept)
        except Problem as problem:
            return problem
        except NotInFlightError as error:
            return Problem(410, str(error))
        except ValueError as error:
            return Problem(422, str(error)) if self.kept is not None else self._failed(error)
        except Exception as error:
            return self._failed(error)

    def _failed(self, error: Exception) -> Problem:
        """Say what came between, and read the journal again where it no longer knows what has happened."""
        full = isinstance(error, OSError) and (error.errno in FULL or "is the disk full" in str(error))
        self._say("call failed", error=f"{type(error).__name__}: {error}")
        if self.kept is not None and self.kept.broken:
            try:
                self.kept.reopen()
            except Exception as worse:  # the next call tries again
                self._say("reopening failed", error=str(worse))
                self.kept = None
        if full:
            return Problem(507, "The disk is full: the call has not happened, and predictions go on.")
        return Problem(503, "The booster cannot be used at the moment: the service's log says why.")

    def _settle(self, results: list[tuple[Waiting, Any]]) -> None:
        if results:
            self._loop.call_soon_threadsafe(_settle, results)


def _settle(results: list[tuple[Waiting, Any]]) -> None:
    for waiting, result in results:
        if waiting.answer.done():  # given up by its caller
            continue
        if isinstance(result, Problem):
            waiting.answer.set_exception(result)
        else:
            waiting.answer.set_result(result)
