"""Checks of arguments: one function per kind of value, which raises one sentence where the value is wrong.

A check returns the value in the form that the caller stores, so that `10`, `10.0` and `np.int64(10)` make the same spec.
"""

from __future__ import annotations

import math
import os
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


LARGEST = 1e50
"""Largest absolute value of contexts, answers and gradients; larger ones are refused, so that squares of products are finite."""


class OverflowingError(ValueError):
    """A computation has overflowed: a result is infinite or not a number."""


def number(name: str, value: Any) -> float:
    """Return a finite real number."""
    try:
        if isinstance(value, str | bytes):  # float("0.1") is a number, but a spec would keep the string
            raise TypeError
        result = float(value)
    except OverflowError:  # Python's integers have no largest value, floats do
        raise ValueError(f"{name} must be a number below 1e308, got a larger one.") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return result


def positive(name: str, value: Any) -> float:
    """Return a finite number above zero."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be positive, got {value!r}.")
    return result


def at_least_zero(name: str, value: Any) -> float:
    """Return a finite number that is not negative."""
    result = number(name, value)
    if result < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}.")
    return result


def between(name: str, value: Any, low: float, high: float) -> float:
    """Return a number strictly between two bounds."""
    result = number(name, value)
    if not low < result < high:
        raise ValueError(f"{name} must lie strictly between {low:g} and {high:g}, got {value!r}.")
    return result


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def one_of(name: str, value: Any, known: Collection[str]) -> str:
    """Return a name that is one of a few known ones."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(sorted(known))}; got {value!r}.")
    return str(value)


def finite(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None, copy: bool = True) -> Array:
    """Return an array of floats with absolute values of at most `LARGEST`, checked to have `shape` where one is given.

    The array is a copy that the caller owns; with ``copy=False`` it may be `values` itself.
    """
    try:
        result = np.array(values, dtype=np.float64, order="C", copy=copy or None)
    except OverflowError:  # Python's integers have no largest value, floats do
        raise ValueError(f"{name} must lie between -{LARGEST:g} and {LARGEST:g}, got a larger number.") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers in a regular array, got {type(values).__name__}.") from None
    if shape is not None and result.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {result.shape}.")
    if not all_finite(result):
        if not np.isfinite(result).all():
            raise ValueError(f"{name} must be finite, got NaN or infinity.")
        raise ValueError(f"{name} must lie between -{LARGEST:g} and {LARGEST:g}, got {np.abs(result).max():g}.")
    return result


def all_finite(values: Array, most: float = LARGEST) -> bool:
    """Return whether all absolute values are at most `most`, so that squares and products are finite too; False for NaN."""
    # Looking at the extremes, which NaN counts as, takes a third of the time of `np.isfinite` on a small array.
    return not values.size or (values.item(values.argmax()) <= most and values.item(values.argmin()) >= -most)


def room(what: str, numbers: int) -> None:
    """Raise where `numbers` values of 8 bytes each do not fit into this machine's memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system tells its memory
        return
    if 8 * numbers > memory:
        raise ValueError(
            f"{what} would take {8e-9 * numbers:.3g} GB of memory, and this machine has {memory / 1e9:.3g} GB."
        )


def vector(name: str, values: Any) -> tuple[float, ...]:
    """Return a non-empty tuple of finite numbers."""
    result = finite(name, values)
    if result.ndim != 1 or result.size == 0:
        raise ValueError(f"{name} must be a non-empty sequence of numbers, got shape {result.shape}.")
    return tuple(result.tolist())
