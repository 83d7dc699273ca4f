"""From the values under names to features: pairs of a hash and a number, and what people call them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Set
from datetime import date, time, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import LARGEST, Array, all_finite
from banditboost.encoder.hashing import Kind, encoded, hashed, shown
from banditboost.encoder.moments import moment_of, numbers_of

DEEPEST = 8
"""Most dictionaries within one another."""
MOST = 2**16
"""Most features of one context."""


class Pairs(NamedTuple):
    """The features of one context, each once, sorted by their hash: nothing depends on the order in which they were given."""

    hashes: NDArray[np.int64]
    """The 64 bits of every hash, as a signed number."""
    values: Array
    texts: tuple[str, ...]
    """What people call each feature."""

    @property
    def whole(self) -> bool:
        """Whether this could be what an encoder has made: what is read from a file need not be."""
        plain = self.hashes.dtype == np.int64 and self.values.dtype == np.float64 and self.hashes.ndim == 1
        if not plain or not self.hashes.shape == self.values.shape == (len(self.texts),) or len(self.texts) > MOST:
            return False
        ascending = self.hashes.view(np.uint64)
        told = all(isinstance(text, str) and (not text or _has_bytes(text)) for text in self.texts)
        return bool((ascending[1:] > ascending[:-1]).all()) and all_finite(self.values) and told


class Reader:
    """Reads one context: collects its features, and refuses what is none."""

    def __init__(self, salt: bytes, dates: bool, separator: str) -> None:
        self.salt, self.dates, self.separator = salt, dates, separator
        self.found: dict[int, tuple[float, str]] = {}
        self._names: set[str] = set()

    def pairs(self) -> Pairs:
        """Return what was collected."""
        order = sorted(self.found)
        values = np.array([self.found[key][0] for key in order], dtype=np.float64)
        hashes = np.array(order, dtype=np.uint64).view(np.int64)
        return Pairs(hashes, values, tuple(self.found[key][1] for key in order))

    def read(self, x: Mapping[Any, Any], prefix: str = "", depth: int = DEEPEST) -> None:
        """Collect the features of a dictionary, and of those within it."""
        if not depth:
            raise ValueError(f"x must not be nested more than {DEEPEST} deep, got more under {prefix[:60]!r}.")
        for key, value in x.items():
            if not _is_name(key):
                raise ValueError(f"x must have names that are words or whole numbers, got {_brief(key)}.")
            name = f"{prefix}{key}"
            if isinstance(value, Mapping):
                self.read(value, name + self.separator, depth - 1)
            else:
                self._value(name, value)

    def _value(self, name: str, value: Any) -> None:
        if name in self._names:
            raise ValueError(f"x must have every name once, got {name[:60]!r} twice.")
        self._names.add(name)
        label = encoded("name", name)
        if (
            type(value) in (float, int) and abs(value) <= LARGEST
        ):  # most values are plain numbers, and NaN is not at most anything
            self.add(Kind.NUMBER, name, label, "", float(value))
            return
        for kind, word, number in self._features(name, value):
            self.add(kind, name, label, word, number)

    def add(self, kind: Kind, name: str, label: bytes, word: str, number: float) -> None:
        """Add a number to a feature; `label` is its name as bytes."""
        key = hashed(self.salt, kind, label, encoded("word", word) if word else b"")
        if key not in self.found and len(self.found) >= MOST:
            raise ValueError(f"x must have at most {MOST:,} features, got more.")
        before, text = self.found.get(key) or (0.0, shown(kind, name, word))
        self.found[key] = before + number, text

    def _features(self, name: str, value: Any) -> Iterator[tuple[Kind, str, float]]:
        """Give the features of a value under a name."""
        if isinstance(value, np.generic):
            value = _plain(value)
        if isinstance(value, str):
            yield from self._text(value)
        elif _missing(value):
            yield Kind.MISSING, "", 1.0
        elif isinstance(value, bool):
            yield Kind.WORD, "true" if value else "false", 1.0
        elif isinstance(value, Real | Decimal):
            yield Kind.NUMBER, "", _number(name, value)
        elif isinstance(value, timedelta):
            yield Kind.NUMBER, "", value / timedelta(days=1)
        elif isinstance(value, date | time):
            yield from ((Kind.MOMENT, part, number) for part, number in numbers_of(value))
        elif isinstance(value, list | tuple | Set) or (isinstance(value, np.ndarray) and value.ndim == 1):
            yield from self._bag(name, value)
        else:
            raise ValueError(
                f"x must hold numbers, words, dates, lists of words, dictionaries or None, got {type(value).__name__} "
                f"as {name[:60]!r}."
            )

    def _text(self, value: str) -> Iterator[tuple[Kind, str, float]]:
        word = value.strip()
        moment = moment_of(word) if self.dates else None
        if moment is not None:
            yield from ((Kind.MOMENT, part, number) for part, number in numbers_of(moment))
        elif word:
            yield Kind.WORD, word, 1.0
        else:
            yield Kind.MISSING, "", 1.0

    def _bag(self, name: str, values: Any) -> Iterator[tuple[Kind, str, float]]:
        """Give how often a list has each word."""
        for value in values:
            one = _plain(value) if isinstance(value, np.generic) else value
            if isinstance(one, bool):
                one = "true" if one else "false"
            if isinstance(one, str) and one.strip():
                yield Kind.WORD, one.strip(), 1.0
            elif isinstance(one, str) or _missing(one):
                yield Kind.MISSING, "", 1.0
            else:
                raise ValueError(
                    f"x must have words in lists, got {_brief(one)} in {name[:60]!r}: write ids as words, and a vector as a "
                    "dictionary."
                )


def _plain(value: np.generic) -> Any:
    """Return a number of NumPy as one of Python; dates with nanoseconds lose what is below a microsecond."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else value.astype("datetime64[us]").item()
    if isinstance(value, np.timedelta64):
        return None if np.isnat(value) else value.astype("timedelta64[us]").item()
    return value.item()


def _missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(value, float | Decimal) and math.isnan(value)


def _number(name: str, value: Any) -> float:
    try:
        number = float(value)
    except (OverflowError, ValueError, TypeError):
        number = math.inf
    if not abs(number) <= LARGEST:
        raise ValueError(
            f"x must hold numbers between -{LARGEST:g} and {LARGEST:g}, got {_brief(value)} as {name[:60]!r}."
        )
    return number


def _has_bytes(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def _is_name(key: Any) -> bool:
    return isinstance(key, str) or (type(key) is int and abs(key) < 2**63) or isinstance(key, np.integer)


def _brief(value: Any) -> str:
    """Return a value in a few letters, without calling what a user's own class may do."""
    if type(value) is int and abs(value) >= 2**63:
        return "a whole number of more than 63 bits"
    return f"{value!r:.60}" if type(value) in (int, float, str, Decimal) else f"a {type(value).__name__}"
