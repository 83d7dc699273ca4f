"""No boosting: one copy, whose play is the prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.spec import Memory
from banditboost.chains.base import Chain
from banditboost.spaces import Space


@dataclass(frozen=True)
class Single(Chain, kind="chains.Single"):
    """One copy without boosting: its play is the prediction, and feedback is asked at the prediction itself.

    Examples
    --------
    >>> Single().path(np.array([3.0]), np.array(0.0)).tolist()
    [3.0, 3.0]
    """

    gamma: float = 1.0

    def lengths(self, copies: int) -> Array:
        """Return one step of length 1."""
        return np.ones(copies)

    def check(self, copies: int) -> None:
        """Raise an error unless there is exactly one copy."""
        if count("copies", copies) != 1:
            raise ValueError(f"copies must be 1 with the chain Single, got {copies}.")

    def path(self, plays: Array, start: Array, memory: Memory | None = None, ground: Space | None = None) -> Array:
        """Return y^0 = y^1 = a_1/γ, so that feedback is asked at the prediction."""
        return np.concatenate([plays, plays])

    def compiled_form(self, start: Array, ground: Any, copies: int, memory: Memory, first: int, rounds: int) -> Any:
        """Return the form in `banditboost._compiled.chains`."""
        from banditboost._compiled import chains

        return chains.Lone()
