"""One file for a header (JSON) and arrays (NumPy's own format): read without executing anything, written all or not at all."""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from banditboost import spec
from banditboost.require import Array
from banditboost.version import __version__

FORMAT = 1


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write to a temporary name beside `path`, then rename."""
    text = json.dumps({"format": FORMAT, "version": __version__} | header, allow_nan=False)
    target = Path(path)
    with atomic(target) as file:
        named = {f"array.{name}": array for name, array in arrays.items()}
        np.savez(file, header=np.frombuffer(text.encode(), dtype=np.uint8), **named)  # type: ignore[arg-type]


class atomic:  # noqa: N801 - used like a function
    """A binary file that takes its name only when the block ends well."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __enter__(self) -> Any:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{self.path.name}.", dir=self.path.parent)
        self.file, self.name = os.fdopen(handle, "wb"), name
        return self.file

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        named = False
        try:
            with self.file:
                if kind is None:
                    self.file.flush()
                    os.fsync(self.file.fileno())
            if kind is None:
                os.chmod(self.name, 0o666 & ~_umask())
                os.replace(self.name, self.path)
                named = True
        finally:
            if not named:
                os.unlink(self.name)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def plain(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header, as plain data, and the arrays."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {name}.")
    try:
        # Opened here, since NumPy leaves a file that turns out not to be an archive open.
        with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
        header = json.loads(arrays.pop("header").tobytes())
        number = header["format"]
    except (OSError, ValueError, KeyError, TypeError, EOFError, RecursionError, zipfile.BadZipFile):
        raise ValueError(f"{name} is not a banditboost file, or it is damaged.") from None
    if number != FORMAT:
        raise ValueError(
            f"{name} has format {number!r}; this version of banditboost ({__version__}) reads format {FORMAT}."
        )
    return header, {key.removeprefix("array."): array for key, array in arrays.items()}


def read(
    path: str | os.PathLike[str], parts: dict[str, spec.Spec] | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header of a booster, its spec rebuilt, and the arrays."""
    header, arrays = plain(path)
    if "holds" in header:
        raise ValueError(f"{os.fspath(path)} does not hold a booster.")
    missing = {"spec", "features", "rounds", "phase", "phase_rounds", "streams"} - set(header)
    if missing:
        raise ValueError(f"{os.fspath(path)} is damaged: it lacks {', '.join(sorted(missing))}.")
    header["spec"] = spec.from_dict(header["spec"], parts)
    return header, arrays


def refill(path: str | os.PathLike[str], current: dict[str, Array], saved: dict[str, Array]) -> None:
    """Overwrite the arrays of a fresh state with saved ones of the same names, shapes and types."""
    for name, array in current.items():
        found = saved.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype or not np.isfinite(found).all():
            raise ValueError(f"{os.fspath(path)} is damaged: its array {name!r} is missing or does not fit its spec.")
    for name, array in current.items():
        array[...] = saved[name]
