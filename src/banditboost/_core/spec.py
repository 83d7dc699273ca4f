"""Specs: frozen descriptions of parts that compare, hash, and travel as JSON.

A spec says *what* a part is; running it makes a state of arrays. Because a spec is plain data, saving is JSON plus arrays, a
sweep is a list of specs, and two runs are the same when their specs and seeds are.
"""

from __future__ import annotations

import hashlib
import json
import math
import sys
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from inspect import isabstract
from pathlib import Path
from types import FunctionType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.version import __version__

Memory = dict[str, Array]
"""What a part remembers from round to round: arrays by name, changed in place, saved with the booster."""

_KINDS: dict[str, type[Spec]] = {}


@dataclass(frozen=True)
class Spec(ABC):
    """Base of every part's description.

    Subclasses are frozen dataclasses whose fields are numbers, strings, booleans, None, tuples of those, functions (written
    as ``module:name``), or other specs.
    """

    kind: ClassVar[str]
    """The name a spec has in JSON: room and class for ours (``learners.Linear``), module and class for a user's."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parts = cls.__module__.split(".")
        ours = parts[0] == "banditboost" and len(parts) > 1
        cls.kind = f"{parts[1]}.{cls.__qualname__}" if ours else f"{cls.__module__}:{cls.__qualname__}"
        _KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        """Bring values to one form: whole numbers in float fields become floats, lists and arrays become tuples."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool | np.bool_):
                value = bool(value)
            elif isinstance(value, int | float | np.number) and "float" in str(field.type):
                try:
                    value = float(value)
                except OverflowError:  # whole numbers have no bound, floats have
                    raise ValueError(f"{field.name} must be a number below 1e308, got a larger one.") from None
            elif isinstance(value, np.integer):
                value = int(value)
            elif isinstance(value, list | tuple | np.ndarray):
                value = _tuples(value, "float" in str(field.type) and "int" not in str(field.type))
            object.__setattr__(self, field.name, value)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give a few instances that the generic checks run on; overridden where a part cannot be made without arguments."""
        return (cls(),)

    def to_dict(self) -> dict[str, Any]:
        """Return this spec as plain data, ready for JSON."""
        return {"kind": self.kind} | {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def to_json(self) -> str:
        """Return the canonical JSON of this spec: sorted keys, no blanks, exact floats."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON and the library's version: the key of a cached result."""
        return hashlib.sha256(f"{__version__}\n{self.to_json()}".encode()).hexdigest()


def from_dict(data: Any, parts: Mapping[str, Any] | None = None) -> Any:
    """Rebuild what `Spec.to_dict` wrote.

    Only classes that are already imported are looked up: reading a spec never imports or runs anything. A spec may run what it is
    given as a function, so those of the standard library and of installed packages are taken from `parts` alone, but for this
    package and modules that define specs.

    Parameters
    ----------
    data
        Plain data, as read from JSON.
    parts
        Replacements by name: specs by their kind, for parts whose class is not registered under the name in the file; functions by
        ``module:name``.
    """
    return _rebuilt("data", data, parts or {}, DEEPEST)


DEEPEST = 50
"""So many specs and lists may lie within one another."""


def _rebuilt(name: str, data: Any, parts: Mapping[str, Any], depth: int) -> Any:
    if not depth:
        raise ValueError(f"data must not be nested more than {DEEPEST} deep.")
    if isinstance(data, list):
        return tuple(_rebuilt(name, item, parts, depth - 1) for item in data)
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{name} must be finite, got {data!r}.")
    if not isinstance(data, dict):
        return data
    if set(data) == {"function"}:
        return _function(data["function"], parts)
    kind = data.get("kind")
    if isinstance(kind, str) and kind in parts:
        return parts[kind]
    if not isinstance(kind, str) or kind not in _KINDS or isabstract(_KINDS[kind]):
        raise ValueError(
            f"The part {kind!r:.200} is not known here: import the module that defines it, or pass it in `parts`."
        )
    cls = _KINDS[kind]
    known = {field.name for field in fields(cls)}
    extra = sorted(set(data) - known - {"kind"})
    if extra:
        raise ValueError(
            f"The part {kind!r} has no field named {', '.join(extra):.200}: was it written by a newer version?"
        )
    needed = {field.name for field in fields(cls) if field.default is MISSING and field.default_factory is MISSING}
    if needed - set(data):
        raise ValueError(f"The part {kind!r} lacks its field {', '.join(sorted(needed - set(data)))}.")
    given = {field: _rebuilt(field, value, parts, depth - 1) for field, value in data.items() if field != "kind"}
    try:
        with np.errstate(all="ignore"):
            made = cls(**given)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError(f"The part {kind!r} cannot be made of what its fields say: {error}.") from None
    for field, hint in _hints(cls).items():
        if field in known and not _fits(getattr(made, field), hint):
            raise ValueError(f"{field} of the part {kind!r} must not be {getattr(made, field)!r:.100}.")
    return made


@cache
def _hints(cls: type[Spec]) -> dict[str, Any]:
    """Return the types of a spec's fields; none where a user's annotations cannot be understood."""
    try:
        return get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Say whether a value is what a field's annotation says; a reader cannot rely on a type checker."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(_fits(value, one) for one in inner)
    if origin is Literal:
        return isinstance(value, str) and value in inner
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        each = inner[:1] * len(value) if inner[-1:] == (...,) else inner
        return len(each) == len(value) and all(map(_fits, value, each))
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    if origin is Callable:
        return callable(value)
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def from_json(text: str, parts: Mapping[str, Any] | None = None) -> Any:
    """Rebuild what `Spec.to_json` wrote."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError(f"data must not be nested more than {DEEPEST} deep.") from None
    return from_dict(data, parts)


def _tuples(value: Any, floats: bool) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(_tuples(item, floats) for item in value)
    return float(value) if floats and isinstance(value, int) and not isinstance(value, bool) else value


def _function(name: Any, parts: Mapping[str, Any]) -> Callable[..., Any]:
    if isinstance(name, str) and name in parts:
        given: Callable[..., Any] = parts[name]
        return given
    module, _, attribute = str(name).partition(":")
    found = _top_level(module, attribute)
    if not isinstance(found, FunctionType) or not _lends_functions(module):
        raise ValueError(
            f"The function {name!r:.200} is not known here: import the module that defines it, or pass it in `parts` by that name."
        )
    return found


def _lends_functions(module: str) -> bool:
    """Say whether a spec may name a module's functions: among all that is imported there is `shutil.rmtree`, and worse."""
    if module == "__main__" or any(kind.__module__ == module for kind in _KINDS.values()):
        return True
    top = module.partition(".")[0]
    places = Path(getattr(sys.modules.get(module), "__file__", None) or "").parts
    library = top in sys.stdlib_module_names or not {"site-packages", "dist-packages"}.isdisjoint(places)
    return top == "banditboost" or not library


def _top_level(module: str, attribute: str) -> Any:
    """Look a name up in an imported module's own dictionary: `getattr` may import (modules may define `__getattr__`)."""
    return getattr(sys.modules.get(module), "__dict__", {}).get(attribute)


def _plain(value: Any) -> Any:
    if isinstance(value, Spec):
        return value.to_dict()
    if isinstance(value, FunctionType):
        name = f"{value.__module__}:{value.__qualname__}"
        if _top_level(value.__module__, value.__qualname__) is not value:
            raise TypeError(
                f"The function {name} cannot be saved: only functions at the top of a module can be found again."
            )
        return {"function": name}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(
        f"A {type(value).__name__} cannot be saved: specs hold numbers, strings, tuples, functions and other specs."
    )
