"""What a file must never reach: functions, classes and objects of an imported module that note when they are called.

A spec is defined here as well, so that this is a module whose specs a file may name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from banditboost._core.spec import Spec

sprung: list[str] = []
"""One entry for every call of a trap."""


def trap(*arguments: Any, **options: Any) -> Any:
    """A function, as a user may have one that drops all tables."""
    sprung.append("trap")
    raise RuntimeError("a trap was called")


class Trap:
    """A class that is no spec."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        sprung.append("Trap")

    def predict_one(self, x: Any) -> float:
        return 0.0

    def learn_one(self, x: Any, y: float) -> None:
        pass


class Caller:
    """An object that can be called."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        sprung.append("caller")


caller = Caller()


@dataclass(frozen=True)
class Harmless(Spec):
    """A spec of a user's own."""

    value: float = 1.0
