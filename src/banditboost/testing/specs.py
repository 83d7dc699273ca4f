"""Checks of a part's description: it is frozen, and survives the way to JSON and back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from banditboost._core.spec import Spec, from_json
from banditboost.testing.rounds import require

Parts = Mapping[str, Any] | None
"""What the caller hands over when a file is read: callables and classes by the names that they have in the file."""


def check_spec(spec: Spec, parts: Parts = None) -> None:
    """Check that a part is frozen, and equal to what its JSON is read as.

    Parameters
    ----------
    spec
        Any part.
    parts
        What is passed to readers of JSON and of model files: the callables of a part that holds some, by name.
    """
    name = type(spec).__name__
    require(isinstance(spec, Spec), f"{name} must be a subclass of one of the library's parts.")
    for field in dataclasses.fields(spec):
        try:
            setattr(spec, field.name, getattr(spec, field.name))
        except dataclasses.FrozenInstanceError:
            continue
        raise AssertionError(f"{name} must be a frozen dataclass: its field {field.name} can be set.")
    again = from_json(spec.to_json(), parts)
    require(type(again) is type(spec), f"{name} must be read back from JSON as itself, got {type(again).__name__}.")
    require(again == spec, f"{name} must equal what its JSON is read as: {spec!r} became {again!r}.")
    require(hash(again) == hash(spec), f"{name} must have the same hash when it was read from JSON.")
    require(again.to_json() == spec.to_json(), f"{name} must have the same JSON when it was read from JSON.")
    require(again.digest() == spec.digest(), f"{name} must have the same digest when it was read from JSON.")
