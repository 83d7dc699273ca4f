"""Decisions by name: a box whose coordinates have names, given with the recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from banditboost.booster import BoosterSpec
from banditboost.spaces import Box, Interval

LONGEST = 100
"""Most characters of a name."""
DECISION = "decision"


def split(recipe: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a recipe without the names of its decisions, and these.

    Examples
    --------
    >>> split({"algorithm": "boosted", "decision": ["price", "discount"]})
    ({'algorithm': 'boosted'}, ('price', 'discount'))
    """
    plain = dict(recipe)
    names = plain.pop(DECISION, [])
    names = [names] if isinstance(names, str) else names
    good = isinstance(names, list) and all(isinstance(name, str) and 0 < len(name) <= LONGEST for name in names)
    if not good or len(set(names)) != len(names):
        raise ValueError("decision must be a list of different names, one for each coordinate of the space.")
    return plain, tuple(names)


def check(names: Sequence[str], spec: BoosterSpec) -> None:
    """Raise where names do not fit the coordinates of a space."""
    space = spec.space
    if names and not (isinstance(space, Box | Interval) and space.size == len(names)):
        raise ValueError(
            f"decision must name the coordinates of an Interval or a Box, got {len(names)} names for {space!r:.100}."
        )


def shown(names: Sequence[str], point: Any) -> Any:
    """Return a point by name; as it is where there are no names.

    Examples
    --------
    >>> shown(("price", "discount"), [9.5, 0.1]), shown(("price",), 9.5), shown((), 9.5)
    ({'price': 9.5, 'discount': 0.1}, {'price': 9.5}, 9.5)
    """
    if not names:
        return point
    return dict(zip(names, point if isinstance(point, list) else [point], strict=True))


def read(names: Sequence[str], what: str, point: Any, shape: tuple[int, ...]) -> Any:
    """Return a point that was given by name as numbers in order; one that was given as numbers as it is.

    Examples
    --------
    >>> read(("price", "discount"), "action", {"discount": 0.1, "price": 9.5}, (2,))
    [9.5, 0.1]
    """
    if not isinstance(point, dict):
        return point
    if not names or set(point) != set(names):
        wanted = ", ".join(names) or "no names, but numbers: the recipe gives no names to decisions"
        raise ValueError(f"{what} must have exactly the names of the decision: {wanted}.")
    values = [point[name] for name in names]
    return values if shape else values[0]


def answer(names: Sequence[str], found: dict[str, Any]) -> dict[str, Any]:
    """Return a ticket as its caller sees it, with decisions by name where they have names."""
    if not names:
        return found
    named = {
        "prediction": shown(names, found["prediction"]),
        "queries": [shown(names, one) for one in found["queries"]],
    }
    if "action" in found:
        named["action"] = shown(names, found["action"])
    return found | named
