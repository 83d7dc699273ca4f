"""A lock for one writer at a time, which the operating system releases when the process ends, however it ends.

Two locks are held: one on a second file, ``path.lock``, since the journal itself is replaced from time to time; and one on the
journal itself, whatever name it was opened by, which holds where a hard link leads to the same file, or somebody has deleted the
second file. Symbolic links are resolved before either is taken.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from banditboost.journal.framing import check_plain

if sys.platform == "win32":
    import msvcrt

    def _take(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

    def hold(handle: int) -> None:
        """Leave the file itself alone: a lock would keep readers out, and an open file cannot be deleted or replaced here."""
else:
    import fcntl

    def _take(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def hold(handle: int) -> None:
        """Lock an open file; raise BlockingIOError where another writer has it."""
        _take(handle)


WRITING = os.O_RDWR | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def lock_name(path: Path) -> int:
    """Lock the name of a journal and return the handle of the lock.

    Raises
    ------
    BlockingIOError
        Where the lock is held already, by this process or another one.
    """
    handle = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
    try:
        _take(handle)
    except OSError:
        os.close(handle)
        raise _taken(path) from None
    return handle


def open_locked(path: Path) -> int | None:
    """Open the journal itself for writing and lock it; return its handle, or None where there is no such file."""
    while True:
        try:
            handle = os.open(path, WRITING)
        except FileNotFoundError:
            return None
        try:
            check_plain(os.fspath(path), handle)
            hold(handle)
            if same_file(path, handle):
                return handle
        except BlockingIOError:
            os.close(handle)
            raise _taken(path) from None
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)  # replaced by a snapshot between the two steps: the name leads to another file now


def same_file(path: Path, handle: int) -> bool:
    """Return whether a name leads to an open file."""
    try:
        named = os.stat(path)
    except OSError:
        return False
    held = os.fstat(handle)
    return (named.st_ino, named.st_dev) == (held.st_ino, held.st_dev)


def _taken(path: Path) -> BlockingIOError:
    return BlockingIOError(f"{path} is open already: a journal has one writer at a time.")
