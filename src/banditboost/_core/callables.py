"""Functions in specs: a file holds their names only, and whoever reads it passes the functions themselves.

A spec may hold a function of a user's, such as the oracle of a set or the maker of a model. Nothing that a file says is looked
up and called, so a function is written as a name and taken from the caller's `parts` when the file is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType
from typing import Any


@dataclass(frozen=True)
class Named:
    """A function together with the name under which files know it.

    Functions and classes at the top of a module need no `Named`: they have the name ``module:name``. Lambdas, functions within
    functions, methods and other callable objects have no name of their own that tells them apart. A name of one's own also stays
    the same when the function moves to another module.

    Parameters
    ----------
    name
        What is written into files, and the key in `parts` when such a file is read.
    function
        What is called.

    Examples
    --------
    >>> import banditboost as bb, numpy as np, pathlib, tempfile
    >>> oracle = bb.Named("unit square", lambda gradients: np.where(gradients > 0, 0.0, 1.0))
    >>> space = bb.spaces.Oracle(oracle, centre=(0.5, 0.5), inner_radius=0.5, diameter=2**0.5)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.bb"
    >>> bb.algorithms.projection_free(space).save(path)
    >>> booster = bb.Booster.load(path, parts={"unit square": oracle})
    >>> booster.spec.space == space
    True
    """

    name: str
    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name must be a non-empty string, got {self.name!r}.")
        if not callable(self.function):
            raise ValueError(f"function must be callable, got {self.function!r}.")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Call the function."""
        return self.function(*arguments, **options)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The function, so that `inspect.signature` shows its parameters."""
        return self.function


def name_of(function: Callable[..., Any]) -> str | None:
    """Return the name under which files know a function; None where it has none of its own."""
    if isinstance(function, Named):
        return function.name
    if not isinstance(function, FunctionType | BuiltinFunctionType | type) or "<" in function.__qualname__:
        return None
    return f"{function.__module__}:{function.__qualname__}"


def given(name: Any, parts: Any) -> Callable[..., Any]:
    """Return the function that the caller passed under the name that a file holds; the function is not called here."""
    if not isinstance(name, str) or name not in parts:
        raise ValueError(
            f"A function was written as its name only: in Python, pass the function itself, as parts={{{name!r:.200}: ...}}."
        )
    found: Callable[..., Any] = parts[name]
    if not callable(found):
        raise ValueError(f"parts must have something callable under {name!r:.200}, got {found!r:.200}.")
    if isinstance(found, Named):
        found = found.function
    return found if name_of(found) == name else Named(name, found)
