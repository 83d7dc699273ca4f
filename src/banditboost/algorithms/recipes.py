"""Recipes as plain data: a booster from JSON, by the name of an algorithm or as a whole spec.

The names are those of `banditboost.algorithms`, with hyphens, and those of `banditboost.algorithms.names`; options are the keyword
arguments of the function behind a name. Nothing that the data names is imported or called but these functions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from banditboost import algorithms
from banditboost._core.spec import from_dict
from banditboost.algorithms.names import LEARNERS, named
from banditboost.booster import Booster, BoosterSpec, Plan
from banditboost.booster.spec import FIRST_PHASE
from banditboost.spaces import Space

MOST_NUMBERS = 2**25
"""Most numbers that a booster made from data may hold (256 MiB); one that would need more is refused before it is made."""
MOST_COPIES = 10_000
"""Most copies of a booster that is made from data."""

RECIPES: Mapping[str, Callable[..., Booster]] = {
    **{name: partial(named, name) for name in LEARNERS},
    **{name.replace("_", "-"): getattr(algorithms, name) for name in algorithms.__all__},
}
"""All algorithms that can be chosen by name."""


def from_recipe(recipe: Mapping[str, Any]) -> Booster:
    """Build a booster from plain data: an algorithm by name with its space and its options, or a whole spec.

    Parameters
    ----------
    recipe
        ``{"algorithm": name, "space": {"kind": "Interval", ...}, option: value, ...}``; parts among the options are objects with a
        kind, as `Spec.to_dict` writes them. Or ``{"spec": data}`` with what `BoosterSpec.to_dict` returns.

    Examples
    --------
    >>> import banditboost as bb
    >>> recipe = {"algorithm": "boosted", "space": {"kind": "Interval", "low": 0, "high": 20}, "answers": 1, "maximize": True}
    >>> from_recipe(recipe).spec == bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1, maximize=True).spec
    True
    >>> from_recipe({"spec": bb.algorithms.ogd(bb.spaces.Ball(2)).spec.to_dict()}).spec == bb.algorithms.ogd(bb.spaces.Ball(2)).spec
    True
    >>> from_recipe({"algorithm": "boosted", "space": {"kind": "Interval", "low": 0, "high": 20}, "speed": 3})
    Traceback (most recent call last):
        ...
    ValueError: speed must be left out: the algorithm 'boosted' has no such option.
    """
    try:
        if "spec" in recipe:
            return _from_spec(recipe)
        return _by_name(dict(recipe))
    except (ArithmeticError, AttributeError, LookupError, TypeError, MemoryError, RecursionError) as error:
        raise ValueError(
            f"recipe must describe a booster that can be made, got one that fails: {error!s:.200}."
        ) from None


def _from_spec(recipe: Mapping[str, Any]) -> Booster:
    if set(recipe) != {"spec"}:
        raise ValueError("recipe must have nothing beside spec where it has one.")
    spec = from_dict(recipe["spec"])
    if not isinstance(spec, BoosterSpec | Plan):
        raise ValueError("spec must be what BoosterSpec.to_dict returns.")
    check_size(spec, None)
    return Booster.from_spec(spec)


def _by_name(options: dict[str, Any]) -> Booster:
    name = options.pop("algorithm", None)
    if not isinstance(name, str) or name not in RECIPES:
        raise ValueError(f"algorithm must be one of {', '.join(sorted(RECIPES))}, got {name!r:.100}.")
    build = RECIPES[name]
    known = [key for key in inspect.signature(build).parameters if key not in ("learner", "space")]
    for key in options.keys() - {"space", *known}:
        raise ValueError(f"{key:.100} must be left out: the algorithm {name!r} has no such option.")
    space = _space(options.pop("space", None))
    copies = options.get("copies", 1)
    if not isinstance(copies, int) or copies > MOST_COPIES or copies * space.size > MOST_NUMBERS:
        raise ValueError(f"copies must be a whole number up to {MOST_COPIES}, got {copies!r:.100}.")
    if isinstance(memory := options.get("memory"), int) and memory > 8 * MOST_NUMBERS:
        raise ValueError(f"memory must be at most {8 * MOST_NUMBERS} bytes, got {memory}.")
    booster = build(space, **{key: _part(value) for key, value in options.items()})
    check_size(booster.plan or booster.spec, None)
    return booster


def check_size(spec: BoosterSpec | Plan, features: int | None) -> None:
    """Raise where a booster would take more memory than one made from data may."""
    made = spec.at(FIRST_PHASE) if isinstance(spec, Plan) else spec
    needed = spec.needs(features) + made.gradient.count(made.copies) * max(made.space.size, 1)
    if needed > MOST_NUMBERS:
        raise ValueError(f"recipe must need at most {MOST_NUMBERS} numbers, got one that needs {needed}.")


def _space(data: Any) -> Space:
    if isinstance(data, dict) and isinstance(data.get("kind"), str) and "." not in data["kind"]:
        data = data | {"kind": f"spaces.{data['kind']}"}
    space = from_dict(data)
    if not isinstance(space, Space):
        raise ValueError('space must be an object with a kind, such as {"kind": "Interval", "low": 0, "high": 1}.')
    if space.size > MOST_NUMBERS:
        raise ValueError(f"space must have at most {MOST_NUMBERS} numbers, got {space.size}.")
    return space


def _part(value: Any) -> Any:
    if isinstance(value, dict):
        return from_dict(value) if "kind" in value else {key: _part(one) for key, one in value.items()}
    return tuple(map(_part, value)) if isinstance(value, list) else value
