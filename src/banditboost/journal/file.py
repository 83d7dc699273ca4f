"""The file of a journal while it is open for writing: appended to, waited for, and replaced by a new one as a whole."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
from pathlib import Path

from banditboost.journal.framing import frame
from banditboost.journal.kinds import Kind
from banditboost.journal.lock import WRITING, hold, same_file

_TEMPORARY = r"\.{}\.[a-z0-9_]{{8}}"


class JournalFile:
    """An open and locked journal, or the place of one that is not there yet (`handle` is -1)."""

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path = path
        self.handle = -1 if handle is None else handle
        self.position = 0
        """Where the next record goes."""
        self.synced = 0
        """How much of the file is known to be on the disk."""
        self.torn = False
        """Whether a part of a record stands at the end and cannot be taken back."""

    def check_name(self, well: bool = True) -> None:
        """Raise where the name no longer leads to this file: what is written then would be lost with the process.

        Where `well` is false, only a file without any name is noticed, which takes less time; one that was moved is not lost.
        """
        if not (same_file(self.path, self.handle) if well else os.fstat(self.handle).st_nlink):
            raise FileNotFoundError(
                f"{self.path} was deleted or replaced while it was open, and the call has not happened: move away what stands "
                "there, and call snapshot() on the journal, which writes the whole state to a new file."
            )

    def append(self, data: bytes) -> None:
        """Write a record; where that fails, the file is as it was."""
        try:
            written = os.write(self.handle, data)
            if written != len(data):
                raise OSError(f"Only {written} of {len(data)} bytes could be written to {self.path}: is the disk full?")
        except OSError:
            self.torn = True
            os.ftruncate(self.handle, self.position)  # a part of a record must not stand before the next one
            self.torn = False
            raise
        self.position += len(data)

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        os.fsync(self.handle)
        self.synced = self.position

    def cut(self, position: int) -> None:
        """Take back what stands after a position."""
        os.ftruncate(self.handle, position)
        self.position, self.synced = position, min(self.synced, position)
        self.sync()

    def let_go(self) -> None:
        """Close the file, which releases its lock."""
        if self.handle >= 0:
            os.close(self.handle)
            self.handle = -1

    def take_place(self, name: Path, handle: int, position: int) -> None:
        """Let a complete file, which is open under a temporary name and on the disk, become the journal.

        Other names of the former file, which hard links have made, would go on showing it as if it were the journal: it gets a
        last record that says otherwise.
        """
        if self.path.exists() and not (self.handle >= 0 and same_file(self.path, self.handle)):
            raise FileExistsError(
                f"{self.path} is another file than the one that this journal wrote: nothing takes its place."
            )
        if sys.platform == "win32":  # where open files cannot be replaced
            os.close(handle)
            self.let_go()
        try:
            os.replace(name, self.path)
        finally:
            if sys.platform == "win32":
                handle = self.handle = os.open(self.path, WRITING)
        former, self.handle = self.handle, handle
        if former >= 0 and former != handle:
            self._mark_superseded(former)
            os.close(former)
        self.position = position
        sync_folder(self.path.parent)
        self.synced = position

    def _mark_superseded(self, former: int) -> None:
        with contextlib.suppress(OSError):
            if os.fstat(former).st_nlink:
                os.write(former, frame(Kind.SUPERSEDED, os.fsencode(self.path.name), self.position, self.synced, 0))


def begin_beside(path: Path, like: int) -> tuple[Path, int]:
    """Make an empty file under a temporary name beside a journal, with the permissions and the owner of an open file, if any."""
    name = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    handle = os.open(name, WRITING | os.O_CREAT | os.O_EXCL, 0o666)
    if like >= 0 and hasattr(os, "fchmod"):
        known, made = os.fstat(like), os.fstat(handle)
        with contextlib.suppress(OSError):  # who may not give a file away keeps it
            if (known.st_uid, known.st_gid) != (made.st_uid, made.st_gid):
                os.fchown(handle, known.st_uid, known.st_gid)
        os.fchmod(handle, stat.S_IMODE(known.st_mode))
    return name, handle


def reopened(name: Path) -> int:
    """Open and lock a file once more, so that no process that was forked meanwhile shares the lock."""
    handle = os.open(name, WRITING)
    hold(handle)
    return handle


def sweep(path: Path) -> None:
    """Remove unfinished files that a crash has left beside a journal: nobody else is writing one, as the caller holds the lock."""
    pattern = re.compile(_TEMPORARY.format(re.escape(path.name)))
    for left in path.parent.iterdir():
        if pattern.fullmatch(left.name):
            left.unlink()


def sync_folder(folder: Path) -> None:
    """Wait until a new name is on the disk: otherwise a power failure may bring the old file back."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
