"""One thread of the library that grows forests while rounds go on.

A growth is given all that it needs when it begins, and touches nothing else: rows that stay as they are until it has taken effect,
and arrays of its own for the forest. The thread never takes a booster's lock, and whoever is interested looks whether a growth is
ready; so nothing can wait for it in vain. A forked process has no such thread, and starts one where it needs one.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from banditboost._core.processes import current_process

PATIENCE = 1.0
"""Most seconds that the end of a program waits for the thread, which stops after the tree that it is growing."""


class Growth:
    """Something that is being grown, or waits for its turn.

    Parameters
    ----------
    work
        Does it; it is given an array of one number, and may return early where that is not zero.

    Examples
    --------
    >>> growth = Growth(lambda stop: None)
    >>> begin(growth)
    >>> growth.wait()
    >>> growth.ready, growth.error
    (True, None)
    """

    def __init__(self, work: Callable[[NDArray[np.int64]], None]) -> None:
        self._work, self._over = work, threading.Event()
        self._stop, self._home = np.zeros(1, dtype=np.int64), current_process.token
        self.error: Exception | None = None
        """Why it has failed; None where it has not."""

    def run(self) -> None:
        """Do the work; an error is kept for whoever looks."""
        try:
            if not self._stop[0]:
                self._work(self._stop)
        except Exception as error:
            self.error = error
        finally:
            self._over.set()

    @property
    def ready(self) -> bool:
        """Whether it is over."""
        return self._over.is_set()

    @property
    def lost(self) -> bool:
        """Whether nothing will come of it: it was given up, or its thread stayed in another process."""
        return bool(self._stop[0]) or (not self.ready and self._home != current_process.token)

    def wait(self) -> None:
        """Wait until it is over."""
        self._over.wait()

    def give_up(self) -> None:
        """Say that nobody is interested any more."""
        self._stop[0] = 1


class Grows(Protocol):
    """A bank that grows in the background, as a booster sees it."""

    @property
    def copies(self) -> int:
        """How many copies it has."""

    def growths(self) -> Sequence[Growth]:
        """Return what is being grown and is due in the next round."""

    def late(self) -> Sequence[tuple[int, bool]]:
        """Return the copies whose growth, due in the next round, is late from now on (True) or no longer (False)."""

    def set_late(self, copy: int, late: bool) -> None:
        """Let a copy's growth wait although it is due, or take effect in the next round; nothing where it has none."""


class Grower:
    """A thread that does one piece of work after the other, and does not keep a program from ending."""

    def __init__(self) -> None:
        self._todo: SimpleQueue[Growth] = SimpleQueue()
        self._lock, self._idle = threading.Lock(), threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None
        self._now: Growth | None = None
        self._closed = False

    def begin(self, growth: Growth) -> None:
        """Let the thread do this when it has done all before; at the end of a program, do it here."""
        if self._closed:
            growth.run()
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="banditboost grower", daemon=True)
                self._thread.start()
        self._todo.put(growth)

    def _run(self) -> None:
        while True:
            self._now = self._todo.get()
            self._idle.clear()
            if self._closed:
                self._now.give_up()
            self._now.run()
            self._now = None
            self._idle.set()

    def close(self) -> None:
        """Give up what is being done, and wait for it to end, but not for long."""
        self._closed, now = True, self._now
        if now is not None:
            now.give_up()
            self._idle.wait(PATIENCE)


_grower = Grower()


def begin(growth: Growth) -> None:
    """Let the library's thread do this when it has done all before."""
    _grower.begin(growth)


def _after_fork() -> None:
    global _grower
    _grower = Grower()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _grower.close())
