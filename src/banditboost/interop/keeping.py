"""A booster as plain arrays, so that pickle, joblib, copy and skops all see what `Booster.save` would write, and nothing else."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from banditboost.booster import Booster


def packed(booster: Booster) -> dict[str, Any] | Booster:
    """Return a booster's file as arrays by name; the booster itself where it cannot be written (foreign models)."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "booster"
        try:
            booster.save(path)
        except TypeError:
            return booster
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


def unpacked(kept: dict[str, Any] | Booster) -> Booster:
    """Return the booster that was packed, at the point where it was."""
    if isinstance(kept, Booster):
        return kept
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "booster"
        with path.open("wb") as file:
            np.savez(file, **kept)
        return Booster.load(path)
