"""Where machine code is kept on disk: in the first of a few folders that can be written to, or nowhere.

Numba looks for a folder in the variable NUMBA_CACHE_DIR, beside the source, and in the user's home. In a container all three may be
missing or closed, and Numba then refuses to compile at all. Here two steps follow: a folder of the user's own among the temporary
files, and, where that cannot be had either, no folder, with one warning.

Machine code is read back by pickle, so that whoever can write to its folder can run code here. Hence the folder among the temporary
files, where others may write, is used only where it belongs to this user and is closed to all others.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserWideCacheLocator

_warned: list[str] = []


class PrivateFolder(UserWideCacheLocator):
    """A folder among the temporary files that belongs to this user alone."""

    def __init__(self, function: Any, file: str) -> None:
        super().__init__(function, file)  # type: ignore[no-untyped-call]
        if not hasattr(os, "geteuid"):
            raise OSError("users cannot be told apart")
        self.home = os.path.join(tempfile.gettempdir(), f"banditboost-{os.geteuid()}")
        self._cache_path = os.path.join(self.home, self.get_suitable_cache_subpath(file))  # type: ignore[no-untyped-call]

    @classmethod
    def from_function(cls, function: Any, file: str) -> Any:
        """Return the folder of a function; None where there is none."""
        try:
            return super().from_function(function, file)  # type: ignore[no-untyped-call]
        except OSError:  # no temporary files at all
            return None

    def ensure_cache_path(self) -> None:
        """Make the folder, or raise OSError where somebody else could write to it."""
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.home, 0o700)
        found = os.lstat(self.home)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise PermissionError(f"{self.home} is not a folder of this user alone.")
        super().ensure_cache_path()  # type: ignore[no-untyped-call]


class _Folders(CompileResultCacheImpl):
    _locator_classes = [*CompileResultCacheImpl._locator_classes, PrivateFolder]  # noqa: RUF012


class FolderCache(FunctionCache):
    """Machine code in the first folder that can be written to; where reading or writing it fails, code is compiled anew.

    Raises
    ------
    RuntimeError
        Where there is no such folder.
    """

    _impl_class = _Folders

    @contextlib.contextmanager
    def _guard_against_spurious_io_errors(self) -> Iterator[None]:
        try:
            yield
        except (
            Exception
        ) as error:  # a full disk, a file cut short by a crash: whatever it is, machine code can be made again
            with contextlib.suppress(OSError):
                self.flush()  # type: ignore[no-untyped-call]  # what is damaged must not be found by the next process
            warn_once(f"Machine code in {self.cache_path} could not be read or written ({error!r:.200})")


def warn_once(reason: str) -> None:
    """Say that machine code is not kept, once in a process: one reason mostly has many functions."""
    if not _warned:
        _warned.append(reason)
        warnings.warn(
            f"{reason}: loops are compiled anew by every process, which takes seconds to minutes. Set the variable NUMBA_CACHE_DIR "
            "to a folder that can be written to.",
            RuntimeWarning,
            stacklevel=2,
        )
