"""Who wants to know that a loop is about to be compiled; free of Numba, so that asking costs no import."""

from __future__ import annotations

from collections.abc import Callable

_listeners: list[Callable[[], object]] = []


def when_compiling(listener: Callable[[], object] | None) -> None:
    """Call a function before the next loop is compiled for which there is no machine code on disk, once; None calls nothing."""
    _listeners[:] = [] if listener is None else [listener]


def compiling() -> None:
    """Say to whoever listens that a loop is about to be compiled."""
    while _listeners:
        _listeners.pop()()
