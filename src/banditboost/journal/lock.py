"""A lock for one writer at a time, which the operating system releases when the process ends, however it ends."""

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
    """Lock a file and return the handle of the lock.

    The lock is held on a second file, ``path.lock``, since the file itself is replaced from time to time.

    Raises
    ------
    BlockingIOError
        Where the lock is held already, by this process or another one.
    """
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        _take(handle)
    except OSError:
        os.close(handle)
        raise BlockingIOError(f"{path} is open already: a journal has one writer at a time.") from None
    return handle
