"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Any


class atomic:  # noqa: N801 - used like a function
    """A binary file that gets its name only when the block ends without an error; until then an older file stays as it was."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __enter__(self) -> Any:
        if self.path.exists() and not self.path.is_file():
            raise OSError(f"{self.path} is no plain file: nothing takes its place.")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, self.name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
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
                self.file.close()
                os.chmod(self.name, 0o666 & ~_umask())
                os.replace(self.name, self.path)
                named = True
        except OSError as late:
            error = late
        finally:
            if not named:
                with contextlib.suppress(OSError):
                    self.file.close()
                with contextlib.suppress(OSError):
                    os.unlink(self.name)
        if isinstance(error, OSError):
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> OSError:
        was = "is as it was" if self.path.is_file() else "was not made"
        return type(error)(error.errno, f"{self.path} could not be written and {was}: {error.strerror or error}")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
