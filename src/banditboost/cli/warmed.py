"""Models that `banditboost warm` wrote: which columns of a log their contexts and decisions were, and contexts of another table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.booster.in_order import decision_names_in, names_in
from banditboost.datasets import read_own
from banditboost.datasets.blocks import few, numeric_columns, open_table
from banditboost.datasets.own_fields import fields_in
from banditboost.datasets.own_unread import Unread

if TYPE_CHECKING:
    import polars as pl


def context_of(booster: Booster) -> tuple[str, ...] | None:
    """Return the columns of a booster's context; None where it does not know their names."""
    return names_in(booster.extra, booster.features)


def decision_of(booster: Booster) -> tuple[str, ...]:
    """Return the columns of a booster's decision; none where it does not know their names."""
    return decision_names_in(booster.extra, booster.spec.space.size)


def contexts(file: Path, names: tuple[str, ...]) -> Array:
    """Read contexts by the names of their columns; other columns are ignored, and values that are no numbers refused."""
    known = numeric_columns(file)
    absent = [name for name in names if name not in known]
    if absent:
        raise ValueError(
            f"{file} must have all columns of the model's context ({few(names)}), got none named {absent[0]!r}."
        )
    blocks = open_table(file, target=names[-1], features=names[:-1])
    blocks.hint = "the model was made of a log of plain numbers"
    return np.concatenate([blocks.values(k) for k in range(len(blocks.starts) - 1)] or [np.empty((0, len(names)))])


class Decided(NamedTuple):
    """What a model would decide in every row of a table, and what was found in reading it."""

    frame: pl.DataFrame
    """The decisions, under their names where they have several numbers."""
    notes: list[str]
    unread: tuple[Unread, ...]


def predicted(booster: Booster, names: tuple[str, ...], file: Path) -> Decided:
    """Return what a booster would decide in every row of a table, whose columns it finds by name."""
    import polars as pl

    fields, notes, unread = fields_in(booster.extra, names), list[str](), tuple[Unread, ...]()
    if fields is None:
        X = contexts(file, names)
    else:
        table = read_own(file)
        made = fields.encoding.encode(table)
        X, notes, unread = made.X, [*table.notes, *made.notes], made.unread
    found: Any = booster.predict_many(X)
    if not booster.spec.space.shape:
        return Decided(pl.DataFrame({"prediction": found}), notes, unread)
    columns = decision_of(booster) or tuple(f"y{k}" for k in range(booster.spec.space.size))
    return Decided(pl.DataFrame({name: found[:, k] for k, name in enumerate(columns)}), notes, unread)
