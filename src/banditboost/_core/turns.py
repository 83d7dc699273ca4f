"""Calls that come one after the other, also where a signal handler makes one in the middle of another.

Python runs signal handlers in the main thread, between any two instructions, and so in the middle of an ask or a tell. A plain lock
would wait there forever for the very call that the handler has interrupted. With a lock that a thread may take twice, the handler
gets in; a `Turn` then says that a call is under way, so that what must not see half a call can be put off until the call is over.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple


class Request(NamedTuple):
    """Something to do when the call under way is over."""

    what: str
    """What it is, for a warning."""
    do: Callable[[], object]
    always: bool
    """Whether it is done also after a call that has failed half way."""


class Turn:
    """The call under way of one booster: used within the booster's lock, around every call that changes something.

    Parameters
    ----------
    lock
        The lock, which a thread may take several times.

    Examples
    --------
    >>> import threading
    >>> lock = threading.RLock()
    >>> turn = Turn(lock)
    >>> with lock, turn:
    ...     with lock:  # a signal handler that saves
    ...         put_off = turn.put_off("a save", lambda: print("saved"))
    ...     print("learned")
    learned
    saved
    >>> put_off
    True
    """

    __slots__ = ("_busy", "_later", "_lock", "changing")

    def __init__(self, lock: Any) -> None:
        self._lock, self._busy = lock, False
        self._later: list[Request] = []
        self.changing = False
        """Whether the call under way has begun to change something: set by the call, and taken back when it is over."""

    def __enter__(self) -> None:
        if self._busy:
            self.settled("This call")
        self._busy, self.changing = True, False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        broken = kind is not None and self.changing
        self._busy = self.changing = False
        if self._later:
            self._catch_up(broken)

    @property
    def under_way(self) -> bool:
        """Whether the caller, who holds the lock, stands in the middle of another call."""
        # An interrupt may keep `__exit__` from running, but never the lock's own: where it was taken once, nothing is under way.
        return self._busy and int(re.findall(r"count=(\d+)", repr(self._lock))[0]) > 1

    def settled(self, what: str) -> None:
        """Raise where a call is under way, whose half state nobody may see or change."""
        if self.under_way:
            raise RuntimeError(
                f"{what} must not be made in the middle of another call of the same booster, as from a signal handler: wrap the "
                "handler by booster.between_calls."
            )

    def put_off(self, what: str, do: Callable[[], object], always: bool = False) -> bool:
        """Leave something until the call under way is over; return False where there is none.

        Parameters
        ----------
        what
            What it is, for a warning.
        do
            Does it.
        always
            Whether it is done also after a call that has failed half way.
        """
        if not self.under_way:
            return False
        self._later.append(Request(what, do, always))
        return True

    def _catch_up(self, broken: bool) -> None:
        todo, self._later = self._later, []
        failed: BaseException | None = None
        for request in todo:
            if broken and not request.always:
                warnings.warn(
                    f"{request.what}, which was asked for in the middle of a call, was not made: the call failed half way.",
                    RuntimeWarning,
                    stacklevel=3,
                )
                continue
            try:
                request.do()
            except BaseException as error:
                error.add_note(f"Raised by {request.what}, which was put off until this call was over.")
                failed = failed or error
        if failed is not None:
            raise failed
