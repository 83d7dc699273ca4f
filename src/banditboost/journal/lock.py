"""One writer at a time: a lock that the operating system gives back when its process ends, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def lock(path: Path) -> int:
    """Take the lock of a file, on another beside it that stays there, since the file itself is replaced; return its handle.

    Raises
    ------
    BlockingIOError
        Where another has it, in this process or in another one.
    """
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _take(handle)
    except OSError:
        os.close(handle)
        raise BlockingIOError(f"{path} is open already: a journal has one writer at a time.") from None
    return handle
