"""The one place that knows how loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

P = ParamSpec("P")
R = TypeVar("R")

# Sums may be reordered so that they vectorise; NaN and infinity keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile to machine code, cached on disk; runs without the interpreter's lock."""
    fast: Callable[P, R] = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")(function)
    return fast


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile into the caller: a call that passes arrays costs more than the few operations of a small function."""
    fast: Callable[P, R] = numba.njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy", inline="always")(
        function
    )
    return fast
