"""Which process a booster belongs to, so that no two processes draw the same random numbers without knowing it.

A fork copies a booster with its random streams, and a booster that `multiprocessing` sends to a worker is a copy too. Such a copy
predicts, and refuses to ask or to learn until the caller has chosen its random streams (`Booster.adopt`). Asking the system for the
process number in every call would be slow: instead a hook changes one string in the child of every fork, and calls compare strings.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from typing import Any, Protocol


class CurrentProcess:
    """Identifies the process that this code runs in."""

    token = secrets.token_hex(8)
    """A random text that differs between processes."""


current_process = CurrentProcess()


class Locked(Protocol):
    """An object with a lock."""

    _lock: Any

    def _new_lock(self) -> None:
        """Take a lock that nobody holds."""


_alive: weakref.WeakSet[Any] = weakref.WeakSet()
_guard = threading.Lock()
_held: list[Any] = []

PATIENCE = 1.0
"""Most seconds that a fork waits for a call in another thread to end; after that, the child gets a new lock. Without a limit, a
model that forks within such a call would wait forever."""


def watch(owner: Locked) -> None:
    """Hold an object's lock during forks, so that no child gets a copy that is half way through a call of another thread."""
    with _guard:
        _alive.add(owner)


def check(home: str) -> None:
    """Raise where a booster belongs to another process; `home` is that process's token."""
    if home != current_process.token:
        raise RuntimeError(
            "This booster was copied from another process, where the same random stream goes on: call adopt(number of the worker) "
            "for a stream of its own, or adopt() where the other copy is no longer used."
        )


def _before() -> None:
    _guard.acquire()
    _held[:] = [owner._lock for owner in list(_alive) if owner._lock.acquire(timeout=PATIENCE)]


def _after() -> None:
    for lock in _held:
        lock.release()
    _held.clear()
    _guard.release()


def _in_child() -> None:
    current_process.token = secrets.token_hex(8)
    held = {id(lock) for lock in _held}
    _after()
    for owner in list(_alive):
        if id(owner._lock) not in held:  # held by a thread that does not exist in the child
            owner._new_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
