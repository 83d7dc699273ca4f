"""Models that `banditboost warm` wrote: which columns of a log their contexts and decisions were, and contexts of another table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.booster.in_order import CONTEXT, names_in
from banditboost.datasets.blocks import few, numeric_columns, open_table

if TYPE_CHECKING:
    import polars as pl

DECISION = "decision"
"""Where `extra` has the names of a decision's numbers."""


def remember(booster: Booster, context: tuple[str, ...], decision: tuple[str, ...]) -> None:
    """Write into a booster what the numbers of its contexts and decisions are called."""
    booster.extra |= {CONTEXT: list(context), DECISION: list(decision)}


def context_of(booster: Booster) -> tuple[str, ...] | None:
    """Return the columns of a booster's context; None where it does not know their names."""
    return names_in(booster.extra, booster.features)


def decision_of(booster: Booster) -> tuple[str, ...]:
    """Return the columns of a booster's decision; none where it does not know their names."""
    names = booster.extra.get(DECISION)
    good = isinstance(names, list) and all(isinstance(name, str) for name in names)
    return tuple(names) if isinstance(names, list) and good and len(names) == booster.spec.space.size else ()


def contexts(file: Path, names: tuple[str, ...]) -> Array:
    """Read contexts by the names of their columns; other columns are ignored, and values that are no numbers refused."""
    known = numeric_columns(file)
    absent = [name for name in names if name not in known]
    if absent:
        raise ValueError(
            f"{file} must have all columns of the model's context ({few(names)}), got none named {absent[0]!r}."
        )
    blocks = open_table(file, target=names[-1], features=names[:-1])
    blocks.hint = "a model of `banditboost warm` takes numbers alone"
    return np.concatenate([blocks.values(k) for k in range(len(blocks.starts) - 1)] or [np.empty((0, len(names)))])


def predicted(booster: Booster, names: tuple[str, ...], file: Path) -> pl.DataFrame:
    """Return what a booster would decide in every row of a table, under the names of its decision where there are several."""
    import polars as pl

    found: Any = booster.predict_many(contexts(file, names))
    if not booster.spec.space.shape:
        return pl.DataFrame({"prediction": found})
    columns = decision_of(booster) or tuple(f"y{k}" for k in range(booster.spec.space.size))
    return pl.DataFrame({name: found[:, k] for k, name in enumerate(columns)})
