"""Models of other libraries, known by their methods: neither library is imported."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

Methods = tuple[tuple[str, ...], ...]
"""Names of methods: a model has all names of one of these groups."""


def is_model(candidate: Any, methods: Methods) -> bool:
    """Return whether something is a model: it has all methods of a group, and is no class, which has them too."""
    if isinstance(candidate, type):
        return False
    return any(all(callable(getattr(candidate, name, None)) for name in group) for group in methods)


def check_model(model: Any, methods: Methods) -> None:
    """Raise an error unless this is a model, or something that may make one."""
    if not (is_model(model, methods) or callable(model)):
        raise ValueError(
            f"model must have {_named(methods)}, or be a function that makes such a model; got {model!r:.200}."
        )


def maker(model: Any, methods: Methods) -> Callable[[int], Any]:
    """Return a function that makes a fresh model from a seed: a copy, or what a function makes, without the seed or from it."""
    if is_model(model, methods):
        return lambda seed: copy.deepcopy(model)
    try:
        takes = list(inspect.signature(model).parameters.values())
    except ValueError:  # built-in classes do not say
        takes = []
    needed = any(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in takes)

    def make(seed: int) -> Any:
        made = model(seed) if needed else model()
        if not is_model(made, methods):
            raise ValueError(f"model must make something with {_named(methods)}; it made {made!r:.200}.")
        return made

    return make


def _named(methods: Methods) -> str:
    return ", or ".join(" and ".join(group) for group in methods)
