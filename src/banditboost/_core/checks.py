"""What every room asks of its arguments: one check per kind, one sentence per failure.

A check returns the value in the form the caller stores, so that `10`, `10.0` and `np.int64(10)` make the same spec.
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
"""Contexts, answers and gradients are at most so large, so that their products and the squares of those are numbers too."""


class OverflowingError(ValueError):
    """Numbers have grown beyond what numbers can be."""


def number(name: str, value: Any) -> float:
    """A finite real number."""
    try:
        if isinstance(value, str | bytes):  # float("0.1") is a number, but the text is what a spec would keep
            raise TypeError
        result = float(value)
    except OverflowError:  # whole numbers have no bound, floats have
        raise ValueError(f"{name} must be a number below 1e308, got a larger one.") from None
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number, got {value!r}.") from None
    if not math.isfinite(result):
        raise ValueError(f"{name} must be finite, got {value!r}.")
    return result


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    result = number(name, value)
    if result <= 0:
        raise ValueError(f"{name} must be positive, got {value!r}.")
    return result


def at_least_zero(name: str, value: Any) -> float:
    """A finite number that is not negative."""
    result = number(name, value)
    if result < 0:
        raise ValueError(f"{name} must not be negative, got {value!r}.")
    return result


def between(name: str, value: Any, low: float, high: float) -> float:
    """A number strictly between two bounds."""
    result = number(name, value)
    if not low < result < high:
        raise ValueError(f"{name} must lie strictly between {low:g} and {high:g}, got {value!r}.")
    return result


def count(name: str, value: Any, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def one_of(name: str, value: Any, known: Collection[str]) -> str:
    """One of a few names."""
    if value not in known:
        raise ValueError(f"{name} must be one of {', '.join(sorted(known))}; got {value!r}.")
    return str(value)


def finite(name: str, values: ArrayLike, shape: tuple[int, ...] | None = None, copy: bool = True) -> Array:
    """An array of floats no larger than `LARGEST`, of the given shape where one is given.

    A copy that the caller owns, unless said otherwise.
    """
    try:
        result = np.array(values, dtype=np.float64, order="C", copy=copy or None)
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
    """Say whether all numbers are finite, and so are their squares and products."""
    # The extremes say it, and NaN counts as one: a third of the time of looking at all of a small array.
    return not values.size or (values.item(values.argmax()) <= most and values.item(values.argmin()) >= -most)


def room(what: str, numbers: int) -> None:
    """Raise where so many numbers of 8 bytes do not fit into this machine's memory."""
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not every system says
        return
    if 8 * numbers > memory:
        raise ValueError(
            f"{what} would take {8e-9 * numbers:.3g} GB of memory, and this machine has {memory / 1e9:.3g} GB."
        )


def vector(name: str, values: Any) -> tuple[float, ...]:
    """A non-empty tuple of finite numbers."""
    result = finite(name, values)
    if result.ndim != 1 or result.size == 0:
        raise ValueError(f"{name} must be a non-empty sequence of numbers, got shape {result.shape}.")
    return tuple(result.tolist())
