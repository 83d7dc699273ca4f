"""From a column of a user's own table to features: numbers, dates, durations, yes and no, words, and what is missing.

The levels, means and ranges that a first pass over the table has found are kept in a spec, so that they can be saved with a model
and applied to another table.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array, number, one_of
from banditboost._core.spec import Spec
from banditboost.datasets.own_moments import NAMES, date_parts, moments_of, native_moments, numbers_of_moments
from banditboost.datasets.own_numbers import NumberStyle, read_numbers
from banditboost.datasets.own_spans import read_spans
from banditboost.datasets.own_unread import FIRST, Unread
from banditboost.datasets.own_values import DATES, as_days, as_numbers, as_words, is_text, read_flags

if TYPE_CHECKING:
    import polars as pl


MOST_DENSE = 256
"""Columns with more features than this become sparse arrays."""


class Encoded(NamedTuple):
    """The features that a column, or a table, became."""

    X: Any
    """Shape (rows, features): an array, or a sparse one where a column has very many words."""
    notes: tuple[str, ...] = ()
    """Sentences about values that did not occur in the table from which the encoding was made."""
    unread: tuple[Unread, ...] = ()
    """What could not be read, for every column that has such values."""


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

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of the first features, those that are no indicators."""
        return ()

    @abstractmethod
    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Return the features of a column of any length; with `comma`, a comma may be the decimal sign."""


@dataclass(frozen=True)
class Measured(OwnColumn):
    """A column whose values become numbers: missing ones are replaced by `fill`, and marked where there were some before.

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
    """

    fill: float = 0.0
    marked: bool = False
    low: float = 0.0
    high: float = 0.0

    wanted: ClassVar[str] = "numbers"
    """What the column holds, for sentences."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("fill", "low", "high"):
            number(name, getattr(self, name))
        if not isinstance(self.marked, bool):
            raise ValueError(f"marked must be True or False, got {self.marked!r:.50}.")

    @property
    def further(self) -> tuple[str, ...]:
        """Names of the features beside the first, all between -1 and 1."""
        return ()

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features: the column's own name, further ones, and one for the indicator of missing values."""
        more = tuple(f"{self.name}: {name}" for name in self.further)
        return (self.name, *more, *([f"{self.name} is missing"] * self.marked))

    @property
    def ranges(self) -> tuple[tuple[float, float], ...]:
        """Smallest and largest value of the first features, those that are no indicators."""
        return ((self.low, self.high), *(((-1.0, 1.0),) * len(self.further)))

    @abstractmethod
    def values(self, series: pl.Series, comma: bool, words: pl.Series | None = None) -> Array:
        """Return numbers, shape (rows, 1 + further), NaN where a value cannot be read; `words` are the column's own."""

    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Replace missing values by `fill`, and set their indicator."""
        values = self.values(series, comma)
        gone = np.isnan(values[:, 0])
        if not gone.any():
            return Encoded(np.column_stack([values, gone]) if self.marked else values)
        words = as_words(series)
        present = gone & words.is_not_null().to_numpy()
        missing = int(gone.sum() - present.sum())
        notes, unread = list[str](), list[Unread]()
        if present.any():
            rows = np.flatnonzero(present)
            first = tuple(int(row) + 1 for row in rows[:FIRST])
            unread.append(Unread(self.name, len(rows), words[int(rows[0])], self.wanted, first))
        if missing and not self.marked:
            notes.append(
                f"Column '{self.name}' had no missing values before: the mean {self.fill:g} is used in {in_rows(missing)}."
            )
        values[gone] = [self.fill, *([0.0] * len(self.further))]
        return Encoded(np.column_stack([values, gone]) if self.marked else values, tuple(notes), tuple(unread))


@dataclass(frozen=True)
class Numbers(Measured, kind="datasets.Numbers"):
    """A column of numbers: one feature, and an indicator of missing values where there were some.

    Parameters
    ----------
    name, fill, marked, low, high
        As for `Measured`.
    date
        In files of earlier versions, the format of dates, which become days since 1970-01-01; None for a column of numbers.
    style
        How numbers are written; None for numbers as programs write them, in files of earlier versions perhaps with a decimal comma.

    Examples
    --------
    >>> import polars as pl
    >>> column = Numbers("age", fill=40.0, marked=True, low=20.0, high=60.0)
    >>> column.features, column.encode(pl.Series(["30", "?"])).X.tolist()
    (('age', 'age is missing'), [[30.0, 0.0], [40.0, 1.0]])
    >>> price = Numbers("price", style=NumberStyle(".", ",", "$"))
    >>> made = price.encode(pl.Series(["$1,250.50", "n/a", "1.250,50 €"]))
    >>> made.X.ravel().tolist()
    [1250.5, 0.0, 0.0]
    >>> print(made.unread[0])
    Column 'price' has 1 value that cannot be read like its other numbers, such as '1.250,50 €' in row 3: counted as missing.
    """

    date: str | None = None
    style: NumberStyle | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.date is not None:
            one_of("date", self.date, (*DATES, "native"))
        if not isinstance(self.style, NumberStyle | None):
            raise ValueError(f"style must be a NumberStyle or None, got {self.style!r:.100}.")

    @classmethod
    def examples(cls) -> tuple[Numbers, ...]:
        """Give a column of numbers, one of dates as in earlier versions, and one of prices."""
        return (
            cls("age"),
            cls("born", date="%Y-%m-%d", marked=True),
            cls("price", style=NumberStyle(",", ".", "€")),
        )

    @property
    def plain(self) -> bool:
        """Whether values are numbers as programs write them, or may be."""
        return self.date is None and (self.style is None or self.style.plain)

    def encode(self, series: pl.Series, comma: bool = False) -> Encoded:
        """Replace missing values by `fill`, and set their indicator; the decimal sign is the other one where values show it."""
        style = None if self.style is None or not is_text(series) else self.style.here(as_words(series))
        if style is None or style == self.style:
            return super().encode(series, comma)
        made = replace(self, style=style).encode(series, comma)
        sign = "commas" if style.decimal == "," else "points"
        return made._replace(notes=(f"Column '{self.name}' has decimal {sign} here.", *made.notes))

    def values(self, series: pl.Series, comma: bool, words: pl.Series | None = None) -> Array:
        """Return numbers, or days since 1970-01-01, NaN where there is none."""
        if self.date is not None:
            return as_days(series, self.date)[:, np.newaxis]
        if self.style is None or not is_text(series):
            return as_numbers(series, comma)[:, np.newaxis]
        return read_numbers(as_words(series) if words is None else words, self.style)[:, np.newaxis]


@dataclass(frozen=True)
class Spans(Measured, kind="datasets.Spans"):
    """A column of durations, in days.

    Parameters
    ----------
    name, fill, marked, low, high
        As for `Measured`.
    clock
        True where all may be times of day: sine and cosine of the hour are then features, too.

    Examples
    --------
    >>> import polars as pl
    >>> column = Spans("late", low=0.0, high=1.0)
    >>> column.encode(pl.Series(["12:00:00", "2h 24m"])).X.tolist()
    [[0.5], [0.1]]
    """

    clock: bool = False

    wanted: ClassVar[str] = "durations"

    @classmethod
    def examples(cls) -> tuple[Spans, ...]:
        """Give a column of durations, and one that may be times of day."""
        return (cls("late"), cls("opens", marked=True, high=1.0, clock=True))

    @property
    def further(self) -> tuple[str, ...]:
        """Sine and cosine of the hour, where values may be times of day."""
        return NAMES[4:] if self.clock else ()

    def values(self, series: pl.Series, comma: bool, words: pl.Series | None = None) -> Array:
        """Return days, and sine and cosine of the time of day."""
        words = as_words(series) if words is None else words
        days = read_spans(words) if is_text(series) else as_numbers(series)  # numbers are days already
        turn = 2 * np.pi * days
        return np.column_stack([days, np.sin(turn), np.cos(turn)]) if self.clock else days[:, np.newaxis]


@dataclass(frozen=True)
class Moments(Measured, kind="datasets.Moments"):
    """A column of dates and times: days since 1970-01-01, and sine and cosine of the week, the year and the hour.

    Parameters
    ----------
    name, fill, marked, low, high
        As for `Measured`.
    day_first
        Whether 05/06/2023 is in June.
    mixed
        True where some dates of the column can only have the day first and some only the month: those that can have either are
        then not read.
    clock
        Whether there are times of day.

    Examples
    --------
    >>> import polars as pl
    >>> column = Moments("when", clock=True)
    >>> column.features[:3], column.features[-1]
    (('when', 'when: week, sine', 'when: week, cosine'), 'when: hour, cosine')
    >>> column.encode(pl.Series(["1970-01-02 06:00", "02/01/1970 6:00 am", "2.1.1970 06:00"])).X[:, [0, 5]].round(2).tolist()
    [[1.25, 1.0], [1.25, 1.0], [1.25, 1.0]]
    """

    day_first: bool = True
    mixed: bool = False
    clock: bool = False

    wanted: ClassVar[str] = "dates"

    @classmethod
    def examples(cls) -> tuple[Moments, ...]:
        """Give a column of dates, and one of times."""
        return (cls("born"), cls("when", marked=True, day_first=False, clock=True))

    @property
    def further(self) -> tuple[str, ...]:
        """Sine and cosine of the week and the year, and of the hour where there are times of day."""
        return NAMES if self.clock else NAMES[:4]

    def values(self, series: pl.Series, comma: bool, words: pl.Series | None = None) -> Array:
        """Return days, and sines and cosines."""
        if series.dtype.is_temporal():
            moments = native_moments(series)
        else:
            words = as_words(series) if words is None else words
            moments = moments_of(date_parts(words), self.day_first, self.mixed)
        return numbers_of_moments(moments)[:, : 1 + len(self.further)]


@dataclass(frozen=True)
class Flags(Measured, kind="datasets.Flags"):
    """A column of yes and no, or true and false, in the words of several languages: one feature, which is 1 for yes.

    Examples
    --------
    >>> import polars as pl
    >>> Flags("garden", fill=0.4, marked=True, high=1.0).encode(pl.Series(["Yes", "no", "", "ja"])).X.tolist()
    [[1.0, 0.0], [0.0, 0.0], [0.4, 1.0], [1.0, 0.0]]
    """

    wanted: ClassVar[str] = "yes or no"

    @classmethod
    def examples(cls) -> tuple[Flags, ...]:
        """Give a column in which some values were missing."""
        return (cls("garden", 0.4, True, 0.0, 1.0),)

    def values(self, series: pl.Series, comma: bool, words: pl.Series | None = None) -> Array:
        """Return 1 for yes and 0 for no."""
        words = as_words(series) if words is None else words
        return read_flags(words)[:, np.newaxis]


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

        words = as_words(series, self.levels)
        known = len(self.levels)
        codes = words.replace_strict(
            list(self.levels), list(range(known)), default=known, return_dtype=pl.Int64
        ).to_numpy()
        gone = words.is_null().to_numpy()
        strange, features = ~gone & (codes == known), len(self.features)
        # Where there is no feature for it, a word that is not known, or a missing one, is as if it were beyond the last.
        where = np.where(gone, features - 1 if self.marked else features, codes).astype(np.int64)
        where[strange] = known if self.other else features
        rows = np.flatnonzero(where < features)
        X = csr_array((np.ones(len(rows)), (rows, where[rows])), shape=(len(series), features))
        notes = []
        if strange.any() and not self.other:
            first = words.filter(pl.Series(strange))[0]
            notes.append(
                f"Column '{self.name}' has words that were not there before, such as '{first}', in {in_rows(strange.sum())}: "
                "they have no indicator."
            )
        if gone.any() and not self.marked:
            notes.append(
                f"Column '{self.name}' had no missing values before: no indicator is set in {in_rows(gone.sum())}."
            )
        return Encoded(X if features > MOST_DENSE else X.toarray(), tuple(notes))


def in_rows(count: int) -> str:
    """Return a number of rows in words.

    Examples
    --------
    >>> in_rows(1), in_rows(1200)
    ('1 row', '1,200 rows')
    """
    return f"{int(count):,} row{'' if count == 1 else 's'}"


def words_that_differ(name: str, values: object) -> None:
    """Raise an error unless the values are a tuple of different strings, since a model file may hold anything."""
    if (
        not isinstance(values, tuple)
        or not all(isinstance(value, str) for value in values)
        or len(set(values)) < len(values)
    ):
        raise ValueError(f"{name} must be words that differ, got {values!r:.200}.")
