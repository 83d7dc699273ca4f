"""Specs: frozen descriptions of parts that can be compared, hashed, and written as JSON.

A spec says *what* a part is; running it makes a state of arrays. Because a spec is plain data, saving is JSON plus arrays, a
sweep is a list of specs, and two runs are the same when their specs and seeds are.
"""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache
from inspect import isabstract
from types import UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from banditboost._core import bounded_json, callables, old_names
from banditboost._core.checks import Array
from banditboost._core.version import __version__

Memory = dict[str, Array]
"""The state that a part keeps from round to round: arrays by name, changed in place and saved with the booster."""

_KINDS: dict[str, type[Spec]] = {}


@dataclass(frozen=True)
class Spec(ABC):
    """Base of every part's description.

    Subclasses are frozen dataclasses whose fields are numbers, strings, booleans, None, tuples of those, functions (written as
    their names, see `banditboost.Named`), or other specs. A file may name any spec whose class is imported, and reading it makes
    one: `__post_init__` must check its fields and do nothing else.
    """

    kind: ClassVar[str]
    """The name that a spec has in files.

    The library's own classes declare it, as in ``class Linear(LinearFamily, kind="learners.Linear")``, so that moving a class does
    not change the file format. A class of a user's own may leave it out, and then has ``module:QualifiedName``; a kind that it
    declares must contain a colon.
    """

    def __init_subclass__(cls, *, kind: str | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # A dataclass with slots is made twice, the second time without the arguments of its class statement.
        cls.kind = kind or vars(cls).get("kind") or f"{cls.__module__}:{cls.__qualname__}"
        if ":" not in cls.kind and cls.__module__.partition(".")[0] != "banditboost":
            raise ValueError(
                f"kind must contain a colon, as in 'package:{cls.__name__}', got {cls.kind!r}: those without one are the library's."
            )
        other = _KINDS.get(cls.kind, cls)
        if (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
            raise ValueError(
                f"kind must be different for every spec: {cls.__module__}.{cls.__qualname__} and "
                f"{other.__module__}.{other.__qualname__} both have {cls.kind!r}."
            )
        _KINDS[cls.kind] = cls

    def __post_init__(self) -> None:
        """Convert values to one form: whole numbers in float fields become floats, lists and arrays become tuples."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool | np.bool_):
                value = bool(value)
            elif isinstance(value, int | float | np.number) and "float" in str(field.type):
                try:
                    value = float(value)
                except OverflowError:  # Python's integers have no largest value, floats do
                    raise ValueError(f"{field.name} must be a number below 1e308, got a larger one.") from None
            elif isinstance(value, np.integer):
                value = int(value)
            elif isinstance(value, list | tuple | np.ndarray):
                value = _tuples(value, "float" in str(field.type) and "int" not in str(field.type))
            object.__setattr__(self, field.name, value)

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Return a few instances for the generic checks; a part that cannot be made without arguments overrides this."""
        return (cls(),)

    def to_dict(self) -> dict[str, Any]:
        """Return this spec as plain data, ready for JSON."""
        return _plain_spec(self, {})

    def callables(self) -> dict[str, Callable[..., Any]]:
        """Return the functions in this spec by the names that files know them by: what `parts` must hold to read it again."""
        found: dict[str, Callable[..., Any]] = {}
        _plain_spec(self, found)
        return found

    def to_json(self) -> str:
        """Return the canonical JSON of this spec: sorted keys, no blanks, exact floats."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False)

    def digest(self) -> str:
        """Return the SHA-256 of the canonical JSON and the library's version: the key of a cached result."""
        return hashlib.sha256(f"{__version__}\n{self.to_json()}".encode()).hexdigest()


def from_dict(data: Any, parts: Mapping[str, Any] | None = None) -> Any:
    """Rebuild what `Spec.to_dict` wrote, in this version of the library or in an earlier one.

    Classes are looked up among the specs that are imported already, and functions are taken from `parts` alone: reading a spec
    never imports a module and never calls anything that the data names.

    Parameters
    ----------
    data
        Plain data, as read from JSON.
    parts
        What the data names and does not hold: functions by the name that was written (`Spec.callables`), and specs by their
        kind, for classes that are not imported here.
    """
    return _rebuilt("data", data, parts or {}, DEEPEST)


DEEPEST = 50
"""Most specs and lists within one another; data nested deeper is refused."""


def _finite(number: float) -> bool:
    return number - number == 0  # whole numbers may be too large for a float


def _rebuilt(name: str, data: Any, parts: Mapping[str, Any], depth: int) -> Any:
    if not depth:
        raise ValueError(f"data must not be nested more than {DEEPEST} deep.")
    if isinstance(data, list):
        if set(map(type, data)) <= {int, float} and all(map(_finite, data)):
            return tuple(data)  # a million numbers need not be looked at one by one
        return tuple(_rebuilt(name, item, parts, depth - 1) for item in data)
    if isinstance(data, float) and not math.isfinite(data):
        raise ValueError(f"{name} must be finite, got {data!r}.")
    if not isinstance(data, dict):
        return data
    if set(data) == {"function"}:
        return callables.given(data["function"], parts)
    written = data.get("kind")
    if isinstance(written, str) and written in parts:
        if not isinstance(parts[written], Spec):
            raise ValueError(f"parts must have a spec under {written!r:.200}, got {parts[written]!r:.200}.")
        return parts[written]
    data = old_names.renamed(data)
    kind = data.get("kind")
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
    values = {field: _rebuilt(field, value, parts, depth - 1) for field, value in data.items() if field != "kind"}
    try:
        with np.errstate(all="ignore"):
            made = cls(**values)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError(f"The part {kind!r} cannot be made of what its fields say: {error}.") from None
    for field, hint in _hints(cls).items():
        if field in known and not _fits(getattr(made, field), hint):
            raise ValueError(f"{field} of the part {kind!r} must not be {getattr(made, field)!r:.100}.")
    return made


@cache
def _hints(cls: type[Spec]) -> dict[str, Any]:
    """Return the types of a spec's fields; an empty dictionary where a user's annotations cannot be resolved."""
    try:
        return get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {}


def _fits(value: Any, hint: Any) -> bool:
    """Return whether a value from a file has the type that a field's annotation says."""
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
    if (reason := bounded_json.why_not(text.encode(errors="replace"))) is not None:
        raise ValueError(f"text must be shorter, got {reason}.")
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


def _plain_spec(spec: Spec, functions: dict[str, Callable[..., Any]]) -> dict[str, Any]:
    values = {field.name: getattr(spec, field.name) for field in fields(spec)}
    absent = old_names.ABSENT.get(spec.kind, {})
    said = {name: value for name, value in values.items() if name not in absent or value != absent[name]}
    return {"kind": spec.kind} | {name: _plain(value, functions) for name, value in said.items()}


def _plain(value: Any, functions: dict[str, Callable[..., Any]]) -> Any:
    """Return a value as plain data, and add the functions in it to `functions`, by name."""
    if isinstance(value, Spec):
        return _plain_spec(value, functions)
    if isinstance(value, tuple):
        return [_plain(item, functions) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if not callable(value):
        raise TypeError(
            f"A {type(value).__name__} cannot be saved: specs hold numbers, strings, tuples, functions and other specs."
        )
    name = callables.name_of(value)
    if name is None:
        raise TypeError(
            f"{value!r:.200} cannot be saved without a name: give it one by banditboost.Named(name, function)."
        )
    if functions.setdefault(name, value) != value:
        raise TypeError(
            f"Two functions are called {name!r}, and a file could not tell them apart: give them names by "
            "banditboost.Named(name, function)."
        )
    return {"function": name}
