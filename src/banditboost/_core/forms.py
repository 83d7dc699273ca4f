"""Whether a part's compiled form still speaks for the part.

A part hands the compiled loop a typed tuple, its *form*, by a method (`compiled_form`). The form repeats in machine code what the
part's other methods say in NumPy. A subclass that overrides one of those methods and not the one that makes the form would play one
algorithm in plain NumPy and another one compiled: such a class has no compiled form, and is played in plain NumPy.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

HARMLESS = frozenset({"examples", "kind"})
"""What a subclass may override without changing what is computed."""


@cache
def overridden(kind: type[Any], hook: str) -> str | None:
    """Return a method that a class overrides below the class that defines the hook; None where there is none.

    Examples
    --------
    >>> class Part:
    ...     def value(self): ...
    ...     def compiled_form(self): ...
    >>> class Changed(Part):
    ...     def value(self): ...
    >>> overridden(Part, "compiled_form"), overridden(Changed, "compiled_form")
    (None, 'value')
    """
    for owner in kind.__mro__:
        if hook in vars(owner):
            break
    else:
        return hook
    for below in kind.__mro__[: kind.__mro__.index(owner)]:
        for name, value in vars(below).items():
            works = callable(value) or isinstance(value, property | classmethod | staticmethod)
            if works and not name.startswith("__") and name not in HARMLESS and hasattr(owner, name):
                return name
    return None


def no_loop(role: str, part: Any, hook: str = "compiled_form") -> str | None:
    """Return why the compiled loop cannot play a part, as half a sentence: overridden methods, or compiling is switched off."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return "the variable NUMBA_DISABLE_JIT has switched compiling off"
    kind: Any = type(part)
    name = overridden(kind, hook)
    if name is None:
        return None
    if name == hook:
        return f"there is no compiled loop for the {role} {kind.__name__}"
    return f"there is no compiled loop for the {role} {kind.__name__}, which overrides {name} and not {hook}"
