"""Durations as people write them: 1:23:45, 2h 5m, 3 days 04:05:06, PT2H5M; all become days."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from banditboost._core.checks import Array

if TYPE_CHECKING:
    import polars as pl

_N = r"[0-9]+(?:[.,][0-9]+)?"
FORMS = (
    r"^(?P<sign>-)?(?:(?P<d>[0-9]+) ?(?:d|days?|t|tage?),? ?)?(?P<h>[0-9]+):(?P<m>[0-5][0-9])"
    r"(?::(?P<s>[0-5][0-9](?:[.,][0-9]+)?))?$",
    rf"^(?P<sign>-)?p(?:(?P<w>{_N})w)?(?:(?P<d>{_N})d)?(?:t(?:(?P<h>{_N})h)?(?:(?P<m>{_N})m)?(?:(?P<s>{_N})s)?)?$",
    rf"^(?P<sign>-)?(?:(?P<w>{_N}) ?(?:w|weeks?|wochen?)[ ,]*)?(?:(?P<d>{_N}) ?(?:d|days?|t|tage?)[ ,]*)?"
    rf"(?:(?P<h>{_N}) ?(?:h|hrs?|hours?|std\.?|stunden?)[ ,]*)?(?:(?P<m>{_N}) ?(?:m|mins?\.?|minutes?|minuten?)[ ,]*)?"
    rf"(?:(?P<s>{_N}) ?(?:s|secs?\.?|seconds?|sekunden?|sek\.?))?$",
)
"""Patterns, in lower case: with colons, as hours, minutes and seconds; of ISO 8601; in words."""
SECONDS = {"w": 604_800.0, "d": 86_400.0, "h": 3600.0, "m": 60.0, "s": 1.0}


def read_spans(words: pl.Series) -> Array:
    """Return durations in days, NaN where a text is none; with two parts, 1:30 is an hour and a half.

    Examples
    --------
    >>> import polars as pl
    >>> (24 * read_spans(pl.Series(["1:30", "2h 15m", "PT45M", "1 day, 0:30:00", "soon", ""]))).tolist()
    [1.5, 2.25, 0.75, 24.5, nan, nan]
    """
    import polars as pl

    text = words.alias("text").to_frame().select(pl.col("text").str.to_lowercase().str.strip_chars())
    total = np.full(len(words), np.nan)
    for form in FORMS:
        found = text.select(pl.col("text").str.extract_groups(form).alias("it")).unnest("it")
        numbers = {
            name: found[name].str.replace(",", ".", literal=True).cast(pl.Float64, strict=False).to_numpy()
            for name in SECONDS
            if name in found.columns
        }
        table = np.column_stack([SECONDS[name] * column.astype(np.float64) for name, column in numbers.items()])
        any_part = ~np.isnan(table).all(axis=1)
        sign = np.where(found["sign"].is_not_null().to_numpy(), -1.0, 1.0)
        total = np.where(np.isnan(total) & any_part, sign * np.nansum(table, axis=1), total)
    return total / SECONDS["d"]


def clock_like(words: pl.Series) -> bool:
    """Whether all texts are like 08:30 or 23:59:59: they may be times of day."""
    shown = words.drop_nulls()
    return bool(len(shown)) and bool(
        shown.str.contains(r"^(?:[01]?[0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]+)?)?$").all()
    )
