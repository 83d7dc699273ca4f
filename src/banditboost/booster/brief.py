"""Short descriptions of boosters and their parts, as `repr` of a booster shows them."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from banditboost._core.spec import Spec
from banditboost.booster.spec import BoosterSpec
from banditboost.encoder import Names

WIDTH = 100
"""Longest description of a part; of a longer one the names of the parts within it are left."""
DEEPEST = 9
"""Most levels of parts within parts that are looked at."""


def described(spec: BoosterSpec, features: int | None, rounds: int, names: Names | None = None) -> str:
    """Return a booster in five lines: its size and age, and its four parts; bands, a detector and an encoder have their own.

    `features` is None where they are not known.

    Examples
    --------
    >>> print(described(BoosterSpec(copies=3), features=2, rounds=1))
    Booster: 3 weak learners, 2 features, 3 answers a round, 1 round told, seed 0
      learner   Linear()
      chain     ConvexHull()
      gradient  OnePoint()
      space     Interval(low=-1.0, high=1.0)
    """
    asked = counted(spec.gradient.count(spec.copies), "answer", "answers")
    counts = [
        counted(spec.copies, "weak learner", "weak learners"),
        f"{asked} a round",
        f"{counted(rounds, 'round', 'rounds')} told",
    ]
    if features is not None:
        counts.insert(1, counted(features, "feature", "features"))
    if spec.maximize:
        counts.append("maximizing")
    return (
        f"Booster: {', '.join(counts)}, seed {spec.seed}\n"
        f"  learner   {brief(spec.learner)}\n"
        f"  chain     {brief(spec.chain)}\n"
        f"  gradient  {brief(spec.gradient)}\n"
        f"  space     {brief(spec.space, whole=True)}"
        + (f"\n  bands     {brief(spec.bands)}" if spec.bands else "")
        + (f"\n  drifts    {brief(spec.drifts)}" if spec.drifts else "")
        + (f"\n  encoder   {brief(spec.encoder)}" if spec.encoder else "")
        + (f"\n  names     {names}" if names is not None and names.collisions.values else "")
    )


def brief(part: Spec, whole: bool = False) -> str:
    """Return a part as a short expression: fields that have their default values are left out, unless all are wanted.

    Examples
    --------
    >>> from banditboost.learners import SecondOrder, Standardized
    >>> brief(Standardized(SecondOrder(ridge=3.0)))
    'Standardized(learner=SecondOrder(ridge=3.0))'
    >>> from banditboost.spaces import Interval
    >>> brief(Interval(0, 1)), brief(Interval(0, 1), whole=True)
    ('Interval()', 'Interval(low=0.0, high=1.0)')
    """
    text = repr(part) if whole else _expression(part)
    # Of what is too long, the names of the parts within it are left, and the innermost are the first to go.
    shorter = (text if depth == DEEPEST else outline(part, depth) for depth in range(DEEPEST, 0, -1))
    return next((found for found in shorter if len(found) <= WIDTH), f"{text[: WIDTH - 4]} ...")


def outline(part: Any, depth: int = 9) -> str:
    """Return the names of a part and of the parts within it, so many levels deep.

    Examples
    --------
    >>> from banditboost.learners import Mixed, SecondOrder, Standardized, Tree
    >>> outline(Mixed((Standardized(SecondOrder()), Tree()))), outline(Mixed((Standardized(SecondOrder()), Tree())), depth=2)
    ('Mixed(Standardized(SecondOrder), Tree)', 'Mixed(Standardized, Tree)')
    """
    inner: list[Any] = []
    for field in fields(part):
        value = getattr(part, field.name)
        inner += [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, Spec)]
    name = type(part).__name__
    return f"{name}({', '.join(outline(one, depth - 1) for one in inner)})" if inner and depth > 1 else name


def counted(number: int, one: str, many: str) -> str:
    """Return a number and what it counts.

    Examples
    --------
    >>> counted(1, "copy", "copies"), counted(2, "copy", "copies")
    ('1 copy', '2 copies')
    """
    return f"{number:,} {one if number == 1 else many}"


def _expression(part: Any) -> str:
    if isinstance(part, tuple):
        return f"({', '.join(map(_expression, part))}{',' if len(part) == 1 else ''})"
    if not isinstance(part, Spec):
        return repr(part)
    said = ((field, getattr(part, field.name)) for field in fields(part))
    shown = (f"{field.name}={_expression(value)}" for field, value in said if value != _default(field))
    return f"{type(part).__name__}({', '.join(shown)})"


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default  # MISSING, which equals no value, where there is none
