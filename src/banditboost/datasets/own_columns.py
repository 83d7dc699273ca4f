"""From a column of a user's own table to features: numbers, dates and words, with indicators for missing values.

The levels, means and ranges that a first pass over the table has found are kept in a spec, so that they can be saved with a model
and applied to another table.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditboost._core.checks import Array, number, one_of
from banditboost._core.spec import Spec

if TYPE_CHECKING:
    import polars as pl

LEVELS = 32
"""Largest number of words of a column that get an indicator each; all other words share one."""
MOSTLY = 0.8
"""A column is numeric where at least this fraction of its values are numbers; its other values then count as missing."""
MISSING = ("", "na", "n/a", "nan", "null", "none", "?")
"""Texts that stand for a missing value, in lower case."""
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
HUGE = 1e100
"""Numbers of larger absolute value count as missing, because sums of their squares would overflow."""
DAY = 86_400_000_000.0  # microseconds


class Encoded(NamedTuple):
    """The features that a column became."""

    X: Array
    """Shape (rows, features)."""
    notes: tuple[str, ...] = ()
    """Sentences about values that did not occur in the table from which the encoding was made."""


@dataclass(frozen=True)
class OwnColumn(Spec):
    """How a column becomes features."""

    name: str

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.name, str):
            raise ValueError(f"name must be a word, got {self.name!r}.")

    @property
    @abstractmethod
    def features(self) -> tuple[str, ...]:
        """Names of the features."""

    @abstractmethod
    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Return the features of a column of any length; with `comma`, a comma may be the decimal sign."""


@dataclass(frozen=True)
class Numbers(OwnColumn, kind="datasets.Numbers"):
    """A column of numbers or dates: one feature, and an indicator of missing values where there were some.

    Parameters
    ----------
    name
        The column's name.
    fill
        The value that replaces a missing value, which is the mean.
    marked
        True where there were missing values, so that there is an indicator for them.
    low, high
        Smallest and largest number.
    date
        The format of dates, which become days since 1970-01-01; None for a column of numbers.

    Examples
    --------
    >>> import polars as pl
    >>> column = Numbers("age", fill=40.0, marked=True, low=20.0, high=60.0)
    >>> column.features, column.encode(pl.Series(["30", "?"])).X.tolist()
    (('age', 'age is missing'), [[30.0, 0.0], [40.0, 1.0]])
    """

    fill: float = 0.0
    marked: bool = False
    low: float = 0.0
    high: float = 0.0
    date: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fill", "low", "high"):
            number(name, getattr(self, name))
        if self.date is not None:
            one_of("date", self.date, (*DATES, "native"))

    @classmethod
    def examples(cls) -> tuple[Numbers, ...]:
        """Give a column of numbers and a column of dates."""
        return (cls("age"), cls("born", date="%Y-%m-%d", marked=True))

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features: the column's own name, and one for the indicator of missing values."""
        return (self.name, f"{self.name} is missing") if self.marked else (self.name,)

    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Replace missing values by `fill`, and set their indicator."""
        values = as_numbers(series, comma) if self.date is None else as_days(series, self.date)
        gone = np.isnan(values)
        notes: tuple[str, ...] = ()
        if gone.any() and not self.marked:
            notes = (
                f"Column '{self.name}' had no missing values before: {int(gone.sum()):,} are the mean {self.fill:g}.",
            )
        filled = np.where(gone, self.fill, values)
        return Encoded(np.column_stack([filled, gone]) if self.marked else filled[:, np.newaxis], notes)


@dataclass(frozen=True)
class Words(OwnColumn, kind="datasets.Words"):
    """A column of words: an indicator for every level, one for all others together, one for missing values.

    Parameters
    ----------
    name
        The column's name.
    levels
        The words that have an indicator of their own.
    other
        True where there were more words, which share one indicator.
    marked
        True where there were missing values, so that there is an indicator for them.

    Examples
    --------
    >>> import polars as pl
    >>> column = Words("colour", levels=("blue", "red"), other=True)
    >>> column.encode(pl.Series(["red", "pink", None])).X.tolist()
    [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """

    levels: tuple[str, ...] = ()
    other: bool = False
    marked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        words_that_differ("levels", self.levels)

    @classmethod
    def examples(cls) -> tuple[Words, ...]:
        """Give a column with indicators for other words and for missing values."""
        return (cls("colour", ("blue", "red"), True, True),)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features: ``column=level`` for every level, then those for other words and for missing values."""
        more = [f"{self.name} is other"] * self.other + [f"{self.name} is missing"] * self.marked
        return (*(f"{self.name}={level}" for level in self.levels), *more)

    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Set at most one indicator per row; an unknown word sets that of other words, or none where there is no such feature."""
        import polars as pl

        words = as_words(series)
        known = len(self.levels)
        codes = words.replace_strict(
            list(self.levels), list(range(known)), default=known, return_dtype=pl.Int64
        ).to_numpy()
        gone = words.is_null().to_numpy()
        X = np.zeros((len(series), len(self.features)))
        own = np.flatnonzero(~gone & (codes < known))
        X[own, codes[own].astype(int)] = 1.0
        strange = ~gone & (codes == known)
        if self.other:
            X[strange, known] = 1.0
        if self.marked:
            X[gone, -1] = 1.0
        notes = []
        if strange.any() and not self.other:
            first = words.filter(pl.Series(strange))[0]
            notes.append(
                f"Column '{self.name}' has {int(strange.sum()):,} values that were not there before, such as '{first}': "
                "they have no indicator."
            )
        if gone.any() and not self.marked:
            notes.append(f"Column '{self.name}' had no missing values before: {int(gone.sum()):,} have no indicator.")
        return Encoded(X, tuple(notes))


def words_that_differ(name: str, values: object) -> None:
    """Raise an error unless the values are a tuple of different strings, since a model file may hold anything."""
    if (
        not isinstance(values, tuple)
        or not all(isinstance(value, str) for value in values)
        or len(set(values)) < len(values)
    ):
        raise ValueError(f"{name} must be words that differ, got {values!r}.")


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
    words = as_words(series)
    present = words.drop_nulls()
    if not len(present):
        return Found(None, "all missing: left out")
    if words.n_unique() == 1:
        return Found(None, f"constant ({_cut(present[0])}): left out")
    if series.dtype.is_temporal():
        return _numbers(series, as_days(series, "native"), "dates, as days since 1970-01-01", date="native")
    values = as_numbers(series, comma)
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


def as_words(series: pl.Series) -> pl.Series:
    """Return a column as text without surrounding blanks; texts that stand for a missing value become null."""
    import polars as pl

    if series.dtype.is_float():
        series = series.fill_nan(None)
    # NumPy's strings end at a zero byte, so zero bytes are removed; otherwise the word would not be found again.
    text = series.cast(pl.String).str.replace_all("\0", "", literal=True).str.strip_chars()
    return text.set(text.str.to_lowercase().is_in(list(MISSING)).fill_null(False), None)


def as_numbers(series: pl.Series, comma: bool = False) -> Array:
    """Return a column as numbers, with NaN where there is no number or one beyond `HUGE`."""
    import polars as pl

    if not (series.dtype.is_numeric() or series.dtype == pl.Boolean):
        words = as_words(series)
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


def _cut(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."
