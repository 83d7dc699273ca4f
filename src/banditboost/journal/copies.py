"""Copies of a journal as it was, kept beside it before anything in it is left out."""

from __future__ import annotations

import os
from pathlib import Path

from banditboost.journal.file import sync_folder


def keep_copy(path: Path, data: bytes) -> Path:
    """Write a copy beside a file under a name that is not taken, ``path.kept-1`` or the next, wait for the disk, and return it."""
    number = 1
    while True:
        copy = path.with_name(f"{path.name}.kept-{number}")
        try:
            handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
            break
        except FileExistsError:
            number += 1
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
    sync_folder(path.parent)
    return copy
