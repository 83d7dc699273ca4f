"""Columns that belong together: the indicators of one category each, which a forest may test as one (`Grown.categories`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Spec

if TYPE_CHECKING:
    from banditboost._compiled.categories import Categories
    from banditboost._compiled.forest import Forest

Pairs = tuple[tuple[int, int], ...]
"""First column, and the one after the last, of every category."""


def checked(categories: Any) -> Pairs:
    """Return categories as pairs of whole numbers, or raise unless they are such and share no column.

    Examples
    --------
    >>> checked([(2, 5), (5, 9)])
    ((2, 5), (5, 9))
    >>> checked([(2, 5), (4, 9)])
    Traceback (most recent call last):
        ...
    ValueError: categories must share no column, got (2, 5) and (4, 9).
    """
    if not isinstance(categories, Sequence) or not all(map(_is_pair, categories)):
        raise ValueError(
            "categories must be pairs of whole numbers, the first column of a category and the one after its last, such as "
            f"((7, 10), (12, 40)), got {categories!r:.100}."
        )
    pairs = tuple((int(begin), int(end)) for begin, end in categories)
    ordered = sorted(pairs)
    for before, after in pairwise(ordered):
        if after[0] < before[1]:
            raise ValueError(f"categories must share no column, got {before} and {after}.")
    return pairs


def _is_pair(pair: Any) -> bool:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        return False
    whole = all(isinstance(column, int | np.integer) and not isinstance(column, bool) for column in pair)
    return whole and 0 <= pair[0] < pair[1]


def require_columns(categories: Pairs, features: int) -> None:
    """Raise unless contexts of so many features have all columns of the categories."""
    for pair in categories:
        if pair[1] > features:
            raise ValueError(f"categories must end at the last of {features} features, got {pair}.")


def set_bytes(categories: Pairs) -> int:
    """Return how many bytes the set of levels of a node has; none where there are no categories."""
    from banditboost._compiled.categories import FLAG, MOST

    if not categories:
        return 0
    return -(-(FLAG + 1 + min(max(end - begin for begin, end in categories), MOST)) // 8)


def compiled(categories: Pairs, smooth: float, features: int, outputs: int) -> Categories:
    """Return categories in the form that compiled code knows, with room to sort levels in."""
    from banditboost._compiled.categories import INNER, MOST, PLAIN, Categories

    kind = np.full(features, PLAIN)
    for group, (begin, end) in enumerate(categories):
        kind[begin:end] = INNER
        kind[begin] = group
    return Categories(
        columns=np.array(categories, dtype=np.int64).reshape(-1, 2),
        kind=kind,
        smooth=smooth,
        order=np.zeros(1 + MOST, dtype=np.int64),
        rank=np.zeros(1 + MOST, dtype=np.int64),
        scores=np.zeros(1 + MOST),
        along=np.zeros((2, outputs)),
        spread=np.zeros(outputs),
    )


def with_levels(contexts: Array, categories: Categories) -> Array:
    """Return rows of contexts, each followed by its level of every category; the rows themselves where there is none."""
    rows = np.ascontiguousarray(contexts, dtype=np.float64)
    if not len(categories.columns):
        return rows
    from banditboost._compiled.categories import with_levels as write

    made = np.empty((len(rows), rows.shape[1] + len(categories.columns)))
    write(rows, categories.columns, made)
    return made


def sets_fit(forest: Forest, categories: Pairs, features: int) -> bool:
    """Return whether nodes that test a category, and only they, have a set, and it has only levels that there are."""
    from banditboost._compiled.categories import FLAG, MOST

    if not categories:
        return True
    has_set = (forest.sets[..., 0] & FLAG) == FLAG
    if (has_set != (forest.feature >= features))[forest.feature >= 0].any():
        return False
    for group, (begin, end) in enumerate(categories):
        sets = forest.sets[forest.feature == features + group]
        if np.unpackbits(sets, axis=-1, bitorder="little")[:, FLAG + 1 + min(end - begin, MOST) :].any():
            return False
    return True


def columns_needed(spec: Any) -> int:
    """Return how many features contexts have at least: the categories of every `Grown` within a spec are among them.

    Examples
    --------
    >>> from banditboost.learners import Grown, Level, Mixed
    >>> columns_needed(Mixed((Level(), Grown(categories=((2, 5),))))), columns_needed(Level())
    (5, 0)
    """
    from banditboost.learners.grown import Grown

    own = max((end for _, end in spec.categories), default=0) if isinstance(spec, Grown) else 0
    if isinstance(spec, Spec):
        spec = tuple(getattr(spec, field.name) for field in fields(spec))
    return max((own, *map(columns_needed, spec))) if isinstance(spec, tuple) else own


def knowing(spec: Any, categories: Pairs) -> Any:
    """Return a spec in which every `Grown` that has no categories has these, where it is shown all columns in their order.

    Examples
    --------
    >>> from banditboost.learners import Grown, Level, Mixed
    >>> knowing(Mixed((Level(), Grown())), ((0, 3),)).parts[1].categories
    ((0, 3),)
    """
    from banditboost.learners.grown import Grown
    from banditboost.learners.screened import Screened

    if isinstance(spec, Screened):
        return spec
    if isinstance(spec, tuple):
        return tuple(knowing(part, categories) for part in spec)
    if isinstance(spec, Grown):
        return spec if spec.categories else replace(spec, categories=categories)
    if not isinstance(spec, Spec):
        return spec
    parts = {field.name: getattr(spec, field.name) for field in fields(spec)}
    changed = {name: knowing(part, categories) for name, part in parts.items() if isinstance(part, Spec | tuple)}
    changed = {name: part for name, part in changed.items() if part != parts[name]}
    return replace(spec, **changed) if changed else spec
