"""The values of a column in a user's own table, as words, numbers or dates, with missing values recognised."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

if TYPE_CHECKING:
    import polars as pl

DASHES = ("-", "--", "---", "–", "—", "−")
MISSING = (
    "", "na", "n/a", "n.a.", "n. a.", "#n/a", "<na>", "nan", "nat", "null", "(null)", "\\n", "nil", "none", "?", ".", "-.-",
    "k.a.", "k. a.", "#value!", "#div/0!", "#ref!", "#num!", "#name?", *DASHES,
)  # fmt: skip
"""Texts that stand for a missing value, in lower case; a dash does not where a plus sign is a value, too."""
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""Pattern of texts that count as numbers."""
DATES = (
    "%Y-%m-%d",
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%d %H:%M",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y",
    "%m/%d/%Y",
)
"""Formats of texts that count as dates, in the order in which they are tried."""
YES = ("yes", "y", "true", "t", "on", "ja", "j", "oui", "si", "sí", "sì", "wahr", "vrai")
NO = ("no", "n", "false", "f", "off", "nein", "non", "falsch", "faux")
"""Words for true and false, in lower case."""
HUGE = 1e100
"""Numbers of larger absolute value count as missing, because sums of their squares would overflow."""
DAY = 86_400_000_000.0  # microseconds


def shown(text: str) -> str:
    """Return the beginning of a text from a table for an error message of one line."""
    short = text if len(text) <= 100 else text[:97] + "..."
    return short if short.isprintable() else repr(short)[1:-1]


def as_words(series: pl.Series, keep: Collection[str] = ()) -> pl.Series:
    """Return a column as text without surrounding blanks; texts that stand for a missing value become null, except those in `keep`.

    Examples
    --------
    >>> import polars as pl
    >>> as_words(pl.Series([" a", "n/a", "-"])).to_list(), as_words(pl.Series(["-", "+"]), keep=("-",)).to_list()
    (['a', None, None], ['-', '+'])
    """
    import polars as pl

    if series.dtype.is_float():
        series = series.fill_nan(None)
    # NumPy's strings end at a zero byte, so zero bytes are removed; otherwise the word would not be found again. All is one
    # expression, since a table may have thousands of columns, and a call takes longer than the work on a short one.
    text = pl.all().cast(pl.String).str.replace_all("\0", "", literal=True).str.strip_chars()
    gone = text.str.to_lowercase().is_in(list(MISSING))
    if keep:
        gone = gone & ~text.is_in(list(keep))
    known = pl.when(gone).then(None).otherwise(text)
    return series.to_frame().select(known.cast(pl.String)).to_series().rename(series.name)


def is_text(series: pl.Series) -> bool:
    """Return whether a column holds texts, categories included."""
    import polars as pl

    return bool(series.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null))


def read_flags(words: pl.Series) -> Array:
    """Return 1 for yes, 0 for no, and NaN for anything else.

    Examples
    --------
    >>> import polars as pl
    >>> read_flags(pl.Series(["Yes", "nein", "TRUE", "perhaps", None])).tolist()
    [1.0, 0.0, 1.0, nan, nan]
    """
    import polars as pl

    known = dict.fromkeys(YES, 1.0) | dict.fromkeys(NO, 0.0)
    found = words.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.Float64)
    return found.to_numpy().astype(np.float64)


def with_plain_numbers(frame: pl.DataFrame, among: Collection[str] | None = None) -> pl.DataFrame:
    """Return a table in which columns of text whose every value is a number, and not all the same, are numbers.

    Only those in `among` are, where it is given; otherwise all, except those whose points may separate thousands, as in 1.234.
    They are found and read all at once: a table may have thousands of columns, and a
    call takes longer than the work on a short one. All other columns are as they were.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": ["1", "2.5"], "b": ["1", ""], "c": ["x", "2"], "d": ["1", "1.0"], "e": ["1e999", "2"]})
    >>> with_plain_numbers(frame).schema.dtypes()
    [Float64, String, String, String, String]
    """
    import polars as pl

    texts = [
        series
        for series in frame.get_columns()
        if series.dtype == pl.String and (among is None or series.name in among)
    ]
    if not texts or not frame.height:
        return frame
    joined = pl.concat(texts)
    written = joined.str.contains(NUMBER).fill_null(False)
    numbers = joined.set(~written, None).cast(pl.Float64, strict=False)
    values = np.nan_to_num(numbers.to_numpy(), nan=np.inf).reshape(len(texts), frame.height)
    plain = (np.abs(values) <= HUGE).all(axis=1) & (values.min(axis=1) < values.max(axis=1))
    if among is None:
        plain &= ~_doubtful(joined, len(texts))
    made = {texts[k].name: pl.Series(texts[k].name, values[k]) for k in np.flatnonzero(plain)}
    return pl.DataFrame([made.get(series.name, series) for series in frame.get_columns()])


def _doubtful(joined: pl.Series, columns: int) -> NDArray[np.bool_]:
    """Return which columns have points only in numbers such as 1.234, where they may separate thousands."""
    pointed = joined.str.contains(".", literal=True).fill_null(False).to_numpy().reshape(columns, -1)
    either = joined.str.contains(r"^[+-]?[1-9][0-9]{0,2}\.[0-9]{3}$").fill_null(False).to_numpy().reshape(columns, -1)
    return np.asarray(pointed.any(axis=1) & (pointed == either).all(axis=1))


def as_numbers(series: pl.Series, comma: bool = False, words: pl.Series | None = None) -> Array:
    """Return a column as numbers, with NaN where there is no number or one beyond `HUGE`; `words` are its own, where known."""
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        words = as_words(series) if words is None else words
        if comma:
            words = words.str.replace(r"^([+-]?[0-9]*),([0-9]+)$", "$1.$2")
        series = words.set(~words.str.contains(NUMBER).fill_null(False), None)
    values = series.cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    return np.where(np.abs(values) <= HUGE, values, np.nan)


def as_days(series: pl.Series, date: str) -> Array:
    """Return a column of dates as days since 1970-01-01, with NaN where there is no date."""
    import polars as pl

    if not series.dtype.is_temporal():
        if date == "native":  # the first table had a date type, and this one has dates as text
            return next(
                (days for form in DATES if not np.isnan(days := as_days(series, form)).all()),
                np.full(len(series), np.nan),
            )
        text = as_words(series).str.strip_suffix("Z")
        series = text.str.to_datetime(date, strict=False, time_unit="us")
    moments = series.cast(pl.Datetime("us")).to_physical()
    return moments.cast(pl.Float64).to_numpy().astype(np.float64) / DAY
