"""What a part of your own builds on: argument checks, and the operations by which the compiled loop asks for a part's share.

Nothing here is needed to *use* the library. A part works in plain NumPy without any of it; with a `compiled_form` and a kernel it
also runs in the compiled loop. ``docs/extending.md`` makes a learner, a gradient, a space and a loss this way.

Examples
--------
>>> from banditboost.extending import checks
>>> checks.positive("rate", 0.5)
0.5
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from banditboost._core import checks
from banditboost._core.shown import Prepared, Shown

if TYPE_CHECKING:
    from banditboost._compiled.chains import adapt, walk
    from banditboost._compiled.dispatch import implements, operation
    from banditboost._compiled.gradients import add_slope, estimate, prepare, remember, usual
    from banditboost._compiled.jit import called, inlined
    from banditboost._compiled.losses import slope, value, value_on_the_line
    from banditboost._compiled.round import Desk, Round, learn, look
    from banditboost._compiled.spaces import project, tangent

_HOMES = {
    "chains": ("adapt", "walk"),
    "dispatch": ("implements", "operation"),
    "gradients": ("add_slope", "estimate", "prepare", "remember", "usual"),
    "jit": ("called", "inlined"),
    "losses": ("slope", "value", "value_on_the_line"),
    "round": ("Desk", "Round", "learn", "look"),
    "spaces": ("project", "tangent"),
}
"""Where each name comes from; imported when first used, since Numba takes half a second to import."""

__all__ = [
    "Desk",
    "Prepared",
    "Round",
    "Shown",
    "adapt",
    "add_slope",
    "called",
    "checks",
    "estimate",
    "implements",
    "inlined",
    "learn",
    "look",
    "operation",
    "prepare",
    "project",
    "remember",
    "slope",
    "tangent",
    "usual",
    "value",
    "value_on_the_line",
    "walk",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"banditboost._compiled.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
