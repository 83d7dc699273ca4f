"""How a compiled loop finds the code of a part: by the type of the part's *form*.

A form is a named tuple that a part hands over (`compiled_form`): what the loop has to know about it, and nothing else. An
*operation* is a function that the loop calls with a form as its first argument; every kind of form has its own
implementation. Which one is meant is known when the loop is compiled: only what is used is compiled, and nothing is looked up
while it runs.

    @operation
    def value(loss, points, i, labels, t, d): ...        # in the room's file: what every loss must be able to do

    class Squared(NamedTuple): ...                         # in the part's own file: its form ...

    @implements(value, Squared)
    def squared(loss, points, i, labels, t, d): ...       # ... and what it does
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.extending import overload

from banditboost._compiled.jit import INLINED

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., Any])

_TABLES: dict[Any, dict[type[Any], Callable[..., Any]]] = {}
"""For every operation its implementations, by the class of the form."""


def operation(stub: F, otherwise: Callable[..., Any] | None = None) -> F:
    """Declare what forms of a room can be asked to do: name, arguments and docstring. The function's body is not used.

    Parameters
    ----------
    stub
        The declaration.
    otherwise
        How it is done for forms that have no implementation of their own; None where every form must have one.
    """
    table: dict[type[Any], Callable[..., Any]] = {}
    if getattr(numba.config, "DISABLE_JIT", False):  # kernels are then Python, and look implementations up

        @wraps(stub)
        def look_up(form: Any, *arguments: Any) -> Any:
            return table.get(type(form), otherwise or stub)(form, *arguments)

        _TABLES[look_up] = table
        return cast("F", look_up)
    _TABLES[stub] = table

    def choose(*types: Any) -> Callable[..., Any] | None:
        return table.get(getattr(types[0], "instance_class", type(None)), otherwise)

    overload(stub, jit_options=cast(Any, INLINED), strict=False)(choose)
    return stub


def implements(which: Callable[P, R], form: type[Any]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Say how an operation is done for a form. Kernels may call the result by its own name, too."""

    def register(function: Callable[..., R]) -> Callable[P, R]:
        _TABLES[which][form] = function
        return cast("Callable[P, R]", numba.njit(**INLINED)(function))

    return register


def implemented(form: Any, which: Callable[..., Any]) -> bool:
    """Say whether a form's class implements an operation."""
    return type(form) in _TABLES[which]


def modules_behind(form: type[Any]) -> set[str]:
    """Return the modules that define a form and its implementations."""
    return {form.__module__} | {table[form].__module__ for table in _TABLES.values() if form in table}
