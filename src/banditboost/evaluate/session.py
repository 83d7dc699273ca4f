"""A run with its callbacks: cuts the run into blocks, calls the callbacks, and makes Ctrl-C wait for the end of a block."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

from banditboost._core.checks import count
from banditboost.booster import Booster
from banditboost.evaluate.callbacks import Callback, Event, Why
from banditboost.evaluate.trace import Trace
from banditboost.worlds import World


class Session:
    """The rounds of a run, block by block, as a context manager around the whole run.

    The first Ctrl-C waits until the block is over, so that the booster is in a consistent state and agrees with log and checkpoint;
    a second Ctrl-C does not wait.
    """

    def __init__(self, callbacks: Sequence[Callback], booster: Booster, world: World, trace: Trace) -> None:
        self.callbacks = list(callbacks)
        for callback in self.callbacks:
            if not isinstance(callback, Callback):
                raise ValueError(f"callbacks must be Callback objects, got {callback!r}.")
            if callback.every is not None:
                count(f"every of {type(callback).__name__}", callback.every)
        self._place = Event(booster, world, trace, 0, 0, len(world))
        self._started: list[Callback] = []
        self._interrupted = False
        self._handler: Any = None

    @property
    def trace(self) -> Trace:
        """The trace, cut to the rounds that were played."""
        trace, end = self._place.trace, self._place.end
        return trace if end == self._place.total else trace.first(end)

    def __enter__(self) -> Session:
        try:
            for callback in self.callbacks:
                callback.start(self._place)
                self._started.append(callback)
        except BaseException:
            self._conclude("failed")
            raise
        ours = threading.current_thread() is threading.main_thread()
        if ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._handler = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def blocks(self, longest: int) -> Iterator[tuple[int, int]]:
        """Yield (begin, end) of each block, none longer than `longest`, until all rounds are played or a callback stops."""
        marks = [callback.every for callback in self.callbacks if callback.every is not None]
        while (begin := self._place.end) < self._place.total:
            end = min(self._place.total, begin + longest, *((begin // every + 1) * every for every in marks))
            yield begin, end
            self._place = self._place._replace(begin=begin, end=end)
            wishes = [callback.block(self._place) for callback in self.callbacks]
            if self._interrupted:
                raise KeyboardInterrupt
            if any(wishes):
                return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if kind is None:
            self._conclude("finished" if self._place.end == self._place.total else "stopped")
            if self._interrupted:  # Ctrl-C after the last block: the run is complete, but the program must still stop
                raise KeyboardInterrupt
        else:
            self._conclude("interrupted" if self._interrupted and kind is KeyboardInterrupt else "failed")

    def _conclude(self, why: Why) -> None:
        """Call `end` of all callbacks that were started, even where one raises; then raise the first error."""
        failure: BaseException | None = None
        while self._started:
            try:
                self._started.pop(0).end(self._place._replace(why=why))
            except BaseException as error:  # not even Ctrl-C may keep other callbacks from closing their files
                failure = failure or error
        if failure is not None:
            raise failure

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._interrupted:
            self._interrupted = False  # in the middle of a block, which counts as a failure
            raise KeyboardInterrupt
        self._interrupted = True
