"""Contexts by name for a booster that takes numbers in an order: `extra` may say what the numbers are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from banditboost.booster.one_row import one_row
from banditboost.datasets.own_fields import Fields

CONTEXT = "context"
"""Where `extra` has the names of a context's numbers, in order."""
DECISION = "decision"
"""Where `extra` has the names of a decision's numbers, in order."""


def names_in(extra: Mapping[str, Any], features: int | None = None) -> tuple[str, ...] | None:
    """Return what a context's numbers are called, in order; None where `extra`, which a file may hold, does not say so."""
    names = extra.get(CONTEXT)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return tuple(names) if features in (None, len(names)) else None


def decision_names_in(extra: Mapping[str, Any], size: int) -> tuple[str, ...]:
    """Return what the numbers of a decision are called, in order; none where `extra`, which a file may hold, does not say so."""
    names = extra.get(DECISION)
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if isinstance(names, list) and good and len(set(names)) == len(names) == size else ()


def labelled(x: Any) -> Mapping[str, Any] | None:
    """Return a context by name, from a dictionary, a Series or a frame of one row whose labels are words; None where it has none.

    Examples
    --------
    >>> labelled({"age": 41}), labelled([41.0])
    ({'age': 41}, None)
    """
    if isinstance(x, Mapping):
        return x
    if hasattr(x, "columns") and hasattr(x, "shape"):
        return one_row(x, named=True) if all(isinstance(name, str) for name in x.columns) else None
    if hasattr(x, "to_dict") and hasattr(x, "index"):  # a Series of pandas
        values: Mapping[str, Any] = x.to_dict()
        return values if all(isinstance(name, str) for name in values) else None
    return None


def frame_in_order(contexts: Any, names: Sequence[str] | None, fields: Fields | None) -> Any:
    """Return the columns of a frame in the order of some names, or as fields make numbers of them.

    Anything else, and a frame without words for labels, is returned as it is.
    """
    if names is None or not hasattr(contexts, "columns") or not all(isinstance(name, str) for name in contexts.columns):
        return contexts
    if fields is not None:
        return fields.frame(contexts)
    absent = [name for name in names if name not in contexts.columns]
    if absent:
        raise ValueError(f"contexts must have the columns {', '.join(names)}, got none named {absent[0]!r}.")
    return contexts[list(names)]


def in_order(values: Mapping[str, Any], names: Sequence[str]) -> list[Any]:
    """Return the values under some names in the order of these; raise where one is not there.

    Examples
    --------
    >>> in_order({"distance": 2.5, "age": 41, "id": 7}, ("age", "distance"))
    [41, 2.5]
    """
    for name in names:
        if name not in values:
            raise ValueError(
                f"x must have a number under each of the names {', '.join(names)}, got none under {name!r}."
            )
    return [values[name] for name in names]
