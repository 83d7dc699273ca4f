"""Which process a booster lives in: two that draw the same random numbers without knowing it are a silent defect.

A fork copies a booster with its random streams, and what `multiprocessing` hands to a worker is a copy too. Such a copy predicts,
and refuses to ask or to learn until the caller has said whose streams it shall use (`Booster.adopt`). Looking the process's number
up in every call would be slow: a hook that runs in the child of every fork changes one string, and calls compare that string.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from typing import Any, Protocol


class CurrentProcess:
    """The process that this code runs in."""

    token = secrets.token_hex(8)
    """Another one in every process."""


current_process = CurrentProcess()


class Locked(Protocol):
    """What has a lock."""

    _lock: Any


_alive: weakref.WeakSet[Any] = weakref.WeakSet()
_guard = threading.Lock()
_held: list[Any] = []

PATIENCE = 1.0
"""Seconds that a fork waits for calls in other threads to end; a model that forks within such a call would wait forever."""


def watch(owner: Locked) -> None:
    """Have an object's lock held around forks, so that no child sees it half way through a call of another thread."""
    with _guard:
        _alive.add(owner)


def check(home: str) -> None:
    """Raise where something lives in another process."""
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
        if id(owner._lock) not in held:  # a thread that does not exist here has it
            owner._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_in_child)
