"""A booster as plain arrays: pickle, joblib, copy and skops all see what `Booster.save` would write, and nothing else.

Boosters with a user's own parts are left as they are: pickle imports the module of such a part, which reading JSON would not do.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from banditboost._core.spec import Spec
from banditboost.booster import Booster


def plain(spec: Spec) -> dict[str, Any] | None:
    """Return a spec of the library's own parts as plain data; None where it holds other parts, or values that cannot be written."""
    try:
        data = spec.to_dict()
    except TypeError:
        return None
    return data if _ours(data) else None


def _ours(data: Any) -> bool:
    if isinstance(data, list):
        return all(map(_ours, data))
    if not isinstance(data, dict):
        return True
    return "function" not in data and ":" not in str(data.get("kind")) and all(map(_ours, data.values()))


class Moved:
    """A booster that is copied as it is pickled: a copy of an estimator goes on as the estimator would have."""

    def __init__(self, booster: Booster) -> None:
        self.booster = booster

    def __deepcopy__(self, memo: dict[int, Any]) -> Moved:
        return Moved(self.booster._twin())


def packed(booster: Booster) -> dict[str, Any] | Moved:
    """Return the contents of a booster's file as arrays by name; the booster itself where some parts are not the library's own."""
    if plain(booster.spec) is None:
        return Moved(booster)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "booster"
        booster.save(path)
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def unpacked(kept: dict[str, Any] | Moved | Booster) -> Booster:
    """Return the booster that was packed, in the same state; earlier versions packed some boosters as they were."""
    if isinstance(kept, Moved):
        return kept.booster
    if isinstance(kept, Booster):
        return kept
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "booster"
        with path.open("wb") as file:
            np.savez(file, **kept)
        return Booster.load(path)
