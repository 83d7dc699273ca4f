"""What the bounds ask of their arguments: one check per kind, one sentence per failure.

Theory imports nothing of the project, so these repeat what `banditboost._core.checks` says.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]


def number(name: str, value: Any) -> float:
    """Return a finite real number."""
    try:
        result = float(value)
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


def probability(name: str, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    result = number(name, value)
    if not 0 < result < 1:
        raise ValueError(f"{name} must lie strictly between 0 and 1, got {value!r}.")
    return result


def count(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number, `least` or more."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    return int(value)


def finite(name: str, values: ArrayLike) -> Array:
    """Return an array of finite floats."""
    try:
        result = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers in a regular array, got {type(values).__name__}.") from None
    if not np.isfinite(result).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity.")
    return result
