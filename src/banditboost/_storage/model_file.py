"""One file for a header (JSON) and arrays (NumPy's own format): read without executing anything, written all or not at all.

Format 2 has a checksum: the SHA-256 of the header and of every array with its name, type and shape. It tells of bits that have
flipped, not of who wrote the file: whoever can change the file can change the checksum. So what is read is checked as if it came
from an enemy: sizes before memory is taken, every field of the header, and that the spec needs no more room than the arrays have.
Files of format 1, which had no checksum, are refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost._core.streams import restore, stream
from banditboost._core.version import __version__
from banditboost._storage import strict_npz
from banditboost._storage.atomic_file import atomic

FORMAT = 2
FIELDS = frozenset({"format", "version", "spec", "features", "rounds", "phase", "phase_rounds", "streams"})
"""What a header must have."""
OPTIONAL = frozenset({"extra", "identity", "asked", "in_flight", "outdated", "limit"})
"""What it may have besides."""
COUNTS = {"rounds": 2**62, "phase": 60, "phase_rounds": 2**62, "features": 2**40}
"""Numbers of a header, and the most that they may be; horizons of a plan double from phase to phase."""
LONGEST = 2**26
"""Most bytes of a header."""
SPARE = 10**7
"""So many numbers more than its arrays hold a file's spec may need: what is made anew and not saved."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write to a temporary name beside `path`, then rename."""
    text = json.dumps({"format": FORMAT, "version": __version__} | header, allow_nan=False).encode()
    if len(text) > LONGEST:
        raise ValueError(f"A booster whose description takes {len(text)} bytes cannot be saved: {LONGEST} is the most.")
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"The array {name!r} cannot be saved: it holds NaN or infinity.")
    named = {f"array.{name}": array for name, array in arrays.items()}
    marks = {"header": np.frombuffer(text, np.uint8), "checksum": np.frombuffer(_checksum(text, named), np.uint8)}
    with atomic(path) as file:
        strict_npz.write(file, marks | named)


def _checksum(text: bytes, arrays: Mapping[str, NDArray[Any]]) -> bytes:
    total = hashlib.sha256(text)
    for name in sorted(arrays):
        array = arrays[name]
        total.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(np.ascontiguousarray(array).data)
    return total.digest()


def plain(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header, as plain data, and the arrays, which may not be written to."""
    name = os.fspath(path)
    if not Path(path).is_file():
        raise FileNotFoundError(f"There is no file {name}.")
    try:
        with open(path, "rb") as file:
            arrays = strict_npz.read(file)
        text = arrays.pop("header").tobytes()
        if len(text) > LONGEST:
            raise strict_npz.Damaged
        header = json.loads(text.decode(), parse_constant=_refused)
        number = header["format"]
    except (strict_npz.Damaged, ValueError, KeyError, TypeError, RecursionError):
        raise ValueError(f"{name} is not a banditboost file, or it is damaged.") from None
    if type(number) is not int or number != FORMAT:
        raise ValueError(
            f"{name} has format {number!r:.50}; this version of banditboost ({__version__}) reads format {FORMAT}."
        )
    checksum = arrays.pop("checksum", None)
    if checksum is None or checksum.tobytes() != _checksum(text, arrays):
        raise ValueError(f"{name} is damaged: its contents do not have the checksum that it was saved with.")
    if any(not key.startswith("array.") for key in arrays):
        raise ValueError(f"{name} is damaged: it holds arrays that nothing of ours has.")
    return header, {key.removeprefix("array."): array for key, array in arrays.items()}


def read(
    path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header of a booster, its spec rebuilt, and the arrays."""
    name, (header, arrays) = os.fspath(path), plain(path)
    if "holds" in header:
        raise ValueError(f"{name} does not hold a booster.")
    _check(name, header)
    header["spec"] = spec.from_dict(header["spec"], parts)
    _check_room(name, header, sum(array.size for array in arrays.values()))
    return header, arrays


def _refused(constant: str) -> NoReturn:
    raise ValueError(constant)


def _check(name: str, header: dict[str, Any]) -> None:
    """Raise where a header lacks something, has something strange, or says what no booster says."""
    missing, strange = FIELDS - set(header), set(header) - FIELDS - OPTIONAL
    if missing:
        raise ValueError(f"{name} is damaged: it lacks {', '.join(sorted(missing))}.")
    if strange:
        raise ValueError(
            f"{name} says more than this version of banditboost ({__version__}) understands: {', '.join(sorted(strange)):.200}."
        )
    for field, most in COUNTS.items():
        value = header[field]
        if not (type(value) is int and 0 <= value <= most) and not (field == "features" and value is None):
            raise ValueError(f"{name} is damaged: {field} must be a whole number up to {most}, got {value!r:.50}.")
    streams = header["streams"]
    if not isinstance(streams, dict) or set(streams) != {"directions", "perturbations", "coins"}:
        raise ValueError(f"{name} is damaged: its random streams are not those of a booster.")
    for role, saved in streams.items():
        restore(stream(0, role), saved)


def _check_room(name: str, header: dict[str, Any], present: int) -> None:
    """Raise where making the booster would take far more memory than its file has arrays for."""
    needs = getattr(header["spec"], "needs", None)
    if needs is None:
        raise ValueError(f"{name} does not hold a booster.")
    try:
        needed = max(needs(header["features"], phase) for phase in (0, header["phase"]))
    except ArithmeticError as error:
        raise ValueError(f"{name} is damaged: its spec asks for more than numbers can say ({error}).") from None
    if needed > present + SPARE:
        raise ValueError(f"{name} is damaged: its spec asks for {needed} numbers, and its arrays hold {present}.")


def refill(path: str | os.PathLike[str], current: dict[str, Array], saved: dict[str, Array]) -> None:
    """Overwrite the arrays of a fresh state with saved ones of the same names, shapes and types."""
    strange = sorted(set(saved) - set(current))
    if strange:
        raise ValueError(f"{os.fspath(path)} is damaged: its spec has no array {strange[0]!r}.")
    for name, array in current.items():
        found = saved.get(name)
        if found is None or found.shape != array.shape or found.dtype != array.dtype or not np.isfinite(found).all():
            raise ValueError(f"{os.fspath(path)} is damaged: its array {name!r} is missing or does not fit its spec.")
    for name, array in current.items():
        array[...] = saved[name]
