"""A first look at a column of a user's own table: what it holds, and how it becomes features."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.datasets.own_columns import Numbers, OwnColumn, Words
from banditboost.datasets.own_values import DATES, as_days, as_numbers, as_words

if TYPE_CHECKING:
    import polars as pl

LEVELS = 32
"""Largest number of words of a column that get an indicator each; all other words share one."""
MOSTLY = 0.8
"""A column is numeric where at least this fraction of its values are numbers; its other values then count as missing."""


class Found(NamedTuple):
    """The result of a first pass over a column."""

    column: OwnColumn | None
    """How the column becomes features; None where it is left out."""
    what: str
    """The same as a phrase for reports."""


def look(series: pl.Series, comma: bool) -> Found:
    """Find out what a column holds, and how it becomes features."""
    import polars as pl

    if series.dtype.is_nested() or series.dtype == pl.Binary:
        return Found(None, f"{series.dtype} values, which are neither numbers nor words: left out")
    if series.dtype.is_float():
        values = as_numbers(series)
        if not np.isnan(values).any() and values.min() < values.max():
            return _numbers(series, values, "numbers")
    words = as_words(series)
    present = words.drop_nulls()
    if not len(present):
        return Found(None, "all missing: left out")
    if words.n_unique() == 1:
        return Found(None, f"constant ({_cut(present[0])}): left out")
    if series.dtype.is_temporal():
        return _numbers(series, as_days(series, "native"), "dates, as days since 1970-01-01", date="native")
    values = as_numbers(series, comma, words)
    written = int((~np.isnan(values)).sum())
    if written >= MOSTLY * len(present):
        strange = present.filter(pl.Series(np.isnan(values)).filter(words.is_not_null()))
        what = "numbers"
        if len(strange):
            what += f"; {len(strange):,} values that are none, such as '{_cut(strange[0])}', count as missing"
        return _numbers(series, values, what)
    for date in DATES:
        days = as_days(present, date)
        if not np.isnan(days).any():
            what = f"dates ({date.removesuffix('%.f')}), as days since 1970-01-01"
            return _numbers(series, as_days(series, date), what, date=date)
    return _levels(series.name, words, present)


def _numbers(series: pl.Series, values: Array, what: str, date: str | None = None) -> Found:
    present = values[~np.isnan(values)]
    fill, gone = float(present.mean()), len(values) - len(present)
    if gone:
        what += f"; {gone:,} missing are the mean {fill:.6g} and marked"
    column = Numbers(series.name, fill, bool(gone), float(present.min()), float(present.max()), date)
    return Found(column, what)


def _levels(name: str, words: pl.Series, present: pl.Series) -> Found:
    counts = present.value_counts(name="times").sort(["times", name or ""], descending=[True, False])
    levels, gone = counts[name or ""].to_list(), words.null_count()
    if len(levels) > LEVELS and len(levels) == len(present):
        return Found(None, f"{len(levels):,} words that all differ: left out")
    kept = tuple(sorted(levels[:LEVELS]))
    what = f"{len(levels):,} words, an indicator each"
    if len(levels) > LEVELS:
        what = f"{len(levels):,} words: an indicator each for the {LEVELS} most frequent, one for all others"
    if gone:
        what += f"; {gone:,} missing, marked"
    return Found(Words(name, kept, len(levels) > LEVELS, bool(gone)), what)


def _cut(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."
