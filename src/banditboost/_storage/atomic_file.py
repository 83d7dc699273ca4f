"""Files that are written whole or not at all.

A file is written under a temporary name beside its own, and renamed when it is complete. Whoever writes a temporary file holds a
lock on it, which the operating system releases however the process ends. So the next writer can tell the leftovers of a process
that was killed, which it removes, from a file that another process is writing.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from pathlib import Path
from typing import Any

if sys.platform == "win32":

    def _lock(handle: int) -> bool:
        return False  # an open file cannot be removed there, so nothing is lost by not knowing
else:
    import fcntl

    def _lock(handle: int) -> bool:
        """Take the lock of an open file; return whether it was free. Where a disk knows no locks, nothing is swept."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


SUFFIX = ".unfinished"
"""How temporary names end: ``.name.xxxxxxxx.unfinished``, with eight random digits."""


class atomic:  # noqa: N801 - used like a function
    """A binary file that gets its name only when the block ends without an error; until then an older file stays as it was.

    A file that is replaced keeps its permissions and, where the system allows it, its owner and group; a new one gets what the
    process's umask says. A link stays a link: the file that it points to is replaced.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __enter__(self) -> Any:
        if self.path.exists() and not self.path.is_file():
            raise OSError(f"{self.path} is no plain file: nothing takes its place.")
        try:
            self.target = Path(os.path.realpath(self.path))
            self.target.parent.mkdir(parents=True, exist_ok=True)
            sweep(self.target)
            handle, self.name = begin(self.target)
        except OSError as error:
            raise self._failed(error) from None
        self.file = os.fdopen(handle, "wb")
        return self.file

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        named = False
        try:
            if kind is None:
                # A full disk may show only when buffered bytes are written.
                self.file.flush()
                os.fsync(self.file.fileno())
                if sys.platform == "win32":
                    self.file.close()  # what is open cannot be renamed there
                os.replace(self.name, self.target)  # elsewhere the lock is held until the name is right
                named = True
        except OSError as late:
            error = late
        finally:
            with contextlib.suppress(OSError):
                self.file.close()
            if not named:
                with contextlib.suppress(OSError):
                    os.unlink(self.name)
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> OSError:
        was = "is as it was" if self.path.is_file() else "was not made"
        return type(error)(error.errno, f"{self.path} could not be written and {was}: {error.strerror or error}")


def begin(target: Path) -> tuple[int, str]:
    """Open a locked file under a temporary name beside a target, with the permissions that the target has or is to have.

    Returns
    -------
    tuple
        The handle, and the temporary name.
    """
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    while True:
        name = str(target.with_name(f".{target.name}.{secrets.token_hex(4)}{SUFFIX}"))
        # The system takes the umask off: asking for it would set it for a moment, for all threads.
        mode = 0o666 if old is None else 0o600
        try:
            handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        except FileExistsError:
            continue
        try:
            _lock(handle)
            if not _same(handle, name):
                os.close(handle)  # swept between the two lines above: begin again
                continue
            if old is not None:
                _take_after(handle, old)
        except BaseException:
            os.close(handle)
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
        return handle, name


def _same(handle: int, name: str) -> bool:
    """Return whether a name still stands for an open file."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(name))
    except FileNotFoundError:
        return False


def _take_after(handle: int, old: os.stat_result) -> None:
    """Give an open file the owner, the group and the permissions of the file that it will replace."""
    if hasattr(os, "fchown"):
        new = os.fstat(handle)
        if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
            with contextlib.suppress(OSError):  # only root gives files away
                os.fchown(handle, old.st_uid, old.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(old.st_mode) & 0o777)


def sweep(path: Path) -> None:
    """Remove what processes that were killed while they wrote a file have left beside it."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{8}}{re.escape(SUFFIX)}")
    found: list[str] = []
    with contextlib.suppress(OSError):  # a folder may be open to writers and closed to readers
        found = [entry.path for entry in os.scandir(path.parent) if pattern.fullmatch(entry.name)]
    for left in found:
        with contextlib.suppress(OSError):  # of another user, or swept by another process at the same time
            handle = os.open(left, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                if _lock(handle) and _same(handle, left):
                    os.unlink(left)
            finally:
                os.close(handle)
