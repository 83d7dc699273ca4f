"""A first look at a column of a user's own table: what it holds, and how it becomes features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.datasets.own_choices import Choice
from banditboost.datasets.own_columns import Flags, Measured, Moments, Numbers, OwnColumn, Spans, Words
from banditboost.datasets.own_moments import DAY, date_parts, moments_of, native_moments
from banditboost.datasets.own_numbers import NumberStyle, Parts, Votes, number_parts, read_numbers, style_of, votes_of
from banditboost.datasets.own_spans import clock_like, read_spans
from banditboost.datasets.own_values import as_numbers, as_words, is_text, read_flags, shown

if TYPE_CHECKING:
    import polars as pl

LEVELS = 32
"""Largest number of words of a column that get an indicator each, unless a user says otherwise; all other words share one."""
OFTEN = 2
"""Where words come so many times on average, a sentence says how each of them gets an indicator."""
MOST_LEVELS = 2**18
"""Most words of a column that a user may give an indicator each."""
MOSTLY = 0.8
"""A column holds numbers, dates or durations where at least this share of its values are; all others then count as missing."""
SAMPLE = 500
"""Number of values by which it is decided whether a column may hold numbers or dates at all."""


class Found(NamedTuple):
    """The result of a first pass over a column."""

    column: OwnColumn | None
    """How the column becomes features; None where it is left out."""
    what: str
    """The same as a phrase for reports."""


class Text(NamedTuple):
    """A column of texts, and what they are as numbers."""

    words: pl.Series
    present: pl.Series
    parts: Parts | None
    """None where few values can be numbers."""
    votes: Votes
    digits: float
    """The share of values that have a digit, by a sample: numbers, dates and durations all have one."""


class FileStyle(NamedTuple):
    """What a whole file says about how its numbers are written."""

    decimal: str | None = None
    """The decimal sign of the columns that show one; None where they disagree, or none does."""
    semicolons: bool = False
    """Whether values are separated by semicolons."""


def text_of(series: pl.Series) -> Text:
    """Return the words of a column, and the parts of its numbers."""
    words = as_words(series, keep=("-",) if _has_plus(series) else ())
    present = words.drop_nulls()
    sample = _sample(present)
    digits = float(sample.str.contains("[0-9]").sum()) / max(1, len(sample))
    parts = None
    if digits >= MOSTLY / 4:
        # Most values of a column are looked at only where a sample of them may be numbers.
        likely = len(present) <= SAMPLE or number_parts(sample).body.count() >= MOSTLY / 4 * len(sample)
        parts = number_parts(words) if likely else None
    if parts is None or parts.body.count() < MOSTLY / 4 * len(present):
        return Text(words, present, None, Votes(0, 0, 0, 0), digits)
    return Text(words, present, parts, votes_of(parts.body.filter(parts.power == "")), digits)


def _has_plus(series: pl.Series) -> bool:
    """Return whether a column has plus signs as values, so that a dash is a minus sign and not a missing value."""
    return is_text(series) and bool((series == "+").any())


def _sample(present: pl.Series) -> pl.Series:
    """Return values from all over a column."""
    return present.gather_every(max(1, len(present) // SAMPLE))


def file_style(texts: Iterable[Text], points: bool, semicolons: bool) -> FileStyle:
    """Return the decimal sign of a file; `points` says whether columns of plain numbers have decimal points."""
    voted = [text.votes for text in texts if text.parts is not None]
    point = points or any(votes.point for votes in voted)
    comma = any(votes.comma for votes in voted)
    return FileStyle(None if point == comma else "." if point else ",", semicolons)


def look(series: pl.Series, file: FileStyle, choice: Choice | None = None, text: Text | None = None) -> Found:
    """Find out what a column holds, and how it becomes features; `choice` is what a user says of it, `text` its words if known."""
    import polars as pl

    kind = None if choice is None else choice.kind
    if kind == "drop":
        return Found(None, "left out, as asked")
    if series.dtype.is_nested() or series.dtype == pl.Binary:
        return Found(None, f"{series.dtype} values, which are neither numbers nor words: left out")
    if series.dtype.is_float() and kind in (None, "number"):
        values = as_numbers(series)
        if not np.isnan(values).any() and values.min() < values.max():
            return _measured(Numbers(series.name, style=_plain_style(values)), values, "numbers")
    text = text_of(series) if text is None else text
    if not len(text.present):
        return Found(None, "all missing: left out")
    if text.words.n_unique() == 1:
        return Found(None, f"constant ({_cut(text.present[0])}): left out")
    if kind == "category":
        return _levels(series.name, text.words, text.present, asked=_asked_levels(series.name, choice))
    if series.dtype.is_temporal():
        moments = native_moments(series)
        clock = bool((moments[moments != np.iinfo(np.int64).min] % DAY).any())
        return _dates(Moments(series.name, clock=clock), series, text, "")
    if kind == "date":
        return _asked(_date(series, text, choice), text, choice, "dates, such as 2026-05-01 or 31/12/2026")
    if kind == "number":
        return _asked(_number(series, text, file, choice), text, choice, "numbers")
    made = _number(series, text, file) or _date(series, text) or _span(series, text) or _flag(series, text)
    return made or _levels(series.name, text.words, text.present, hint(text))


def _asked(found: Found | None, text: Text, choice: Choice | None, what: str) -> Found:
    if found is not None:
        return found
    form, value = "" if choice is None else choice.form, f"'{shown(text.present[0])}' is one of its values"
    style = f" in the style of {shown(form)}" if form else ""
    way_out = ", so write an example like them, or none" if form else ""
    raise ValueError(
        f"column '{shown(text.present.name)}' must hold {what}, got none that can be read{style}: {value}{way_out}."
    )


def _plain_style(values: Array) -> NumberStyle:
    """Return the style of plain numbers: where none has decimals, signs between digits are not known to separate thousands."""
    return NumberStyle(".", "" if (values == np.round(values)).all() else ",' ")


def _number(series: pl.Series, text: Text, file: FileStyle, choice: Choice | None = None) -> Found | None:
    """Return a column of numbers where most values are, or any where it must be one."""
    least = 1 if choice is not None else max(1, MOSTLY * len(text.present))
    if not is_text(series):
        values = as_numbers(series, words=text.words)
        if np.isfinite(values).sum() < least:
            return None
        return _measured(Numbers(series.name, style=_plain_style(values[~np.isnan(values)])), values, "numbers", text)
    style, said = number_style(text, file, choice)
    if style is None or text.parts is None:
        return None
    values = read_numbers(text.words, style, text.parts)
    if np.isfinite(values).sum() < least:
        return None
    return _measured(Numbers(series.name, style=style), values, in_words(style) + (f"; {said}" if said else ""), text)


def number_style(text: Text, file: FileStyle, choice: Choice | None = None) -> tuple[NumberStyle | None, str]:
    """Return the style of a column of texts, None where they are not numbers, and a phrase where it is not certain."""
    import polars as pl

    if text.parts is None and choice is None:
        return None, ""
    parts = number_parts(text.words) if text.parts is None else text.parts
    if choice is None or not choice.form:
        style, said = style_of(parts, text.votes, file.decimal, file.semicolons)
        named = str(text.present.name or "NAME")
        if "could" in said:
            said += f" (--number '{shown(named)}=1.5' or '{shown(named)}=1,5' decides)"
        return style, said
    example = number_parts(pl.Series([choice.form]))
    votes = votes_of(example.body)
    if votes.decimal is None:
        raise ValueError(
            "number must show how numbers are written by an example with a decimal sign, such as price=1.234,5; got "
            f"'{shown(choice.form)}'."
        )
    style, _ = style_of(parts, votes, None, False)
    return style, ""


def in_words(style: NumberStyle) -> str:
    """Return how numbers are written as a phrase.

    Examples
    --------
    >>> in_words(NumberStyle(",", ".", "€")), in_words(NumberStyle(unit="%"))
    ('numbers in €, with decimal commas', 'numbers in percent, as written: 10% is 10')
    """
    if style.unit == "%":
        return "numbers in percent, as written: 10% is 10" + (", with decimal commas" if style.decimal == "," else "")
    unit = f" in {style.unit}" if style.unit else ""
    return f"numbers{unit}" + (
        (", with decimal commas" if unit else " with decimal commas") if style.decimal == "," else ""
    )


def _measured(column: Measured, values: Array, what: str, text: Text | None = None) -> Found:
    """Return a column with its mean and range, and what is said of it."""
    import polars as pl

    known = values[~np.isnan(values)]
    fill, gone = float(known.mean()), len(values) - len(known)
    if gone and text is not None:
        strange = text.words.filter(pl.Series(np.isnan(values)) & text.words.is_not_null())
        if len(strange):
            several = "1 value that is none" if len(strange) == 1 else f"{len(strange):,} values that are none"
            one = "counts" if len(strange) == 1 else "count"
            what += f"; {several}, such as '{_cut(strange[0])}', {one} as missing"
    if gone:
        mean = str(np.datetime64("1970-01-01") + round(fill)) if isinstance(column, Moments) else f"{fill:.6g}"
        what += f"; {gone:,} missing {'is' if gone == 1 else 'are'} the mean {mean} and marked"
    return Found(replace(column, fill=fill, marked=bool(gone), low=float(known.min()), high=float(known.max())), what)


def _date(series: pl.Series, text: Text, choice: Choice | None = None) -> Found | None:
    """Return a column of dates where most values are, or any where it must be one."""
    least = 1 if choice is not None else max(1, MOSTLY * len(text.present))
    if choice is None:
        if text.digits < MOSTLY / 2:
            return None
        sample = date_parts(_sample(text.present)).parts["ok"]
        if sample.fill_null(False).sum() < MOSTLY / 2 * len(sample):
            return None
    dated = date_parts(text.words)
    day, month, either = dated.orders
    said, mixed, day_first = "", bool(day and month), day >= month
    if choice is not None and choice.form:
        day_first, mixed = _order(choice.form), False
    elif mixed:
        said = (
            f"; {day:,} have the day first and {month:,} the month, so that {either:,} which may be either are not read"
        )
    elif either and not day and not month:
        named = shown(str(series.name))
        said = f"; where day and month could be swapped, the day is taken to come first (--date '{named}=mm/dd/yyyy' swaps them)"
    column = Moments(series.name, day_first=day_first, mixed=mixed, clock=dated.clocks)
    moments = moments_of(dated, day_first, mixed)
    if (moments != np.iinfo(np.int64).min).sum() < least:
        return None
    return _dates(column, series, text, said)


def _order(form: str) -> bool:
    """Return whether a form such as dd/mm/yyyy, or a date as an example, has the day before the month."""
    import polars as pl

    letters = form.lower()
    if "d" in letters and "m" in letters:
        return letters.index("d") < letters.index("m")
    day, month, _ = date_parts(pl.Series([form])).orders
    if day + month != 1:
        raise ValueError(
            f"date must say the order of day and month, as in dd/mm/yyyy or 31/12/2026; got '{shown(form)}'."
        )
    return bool(day)


def _dates(column: Moments, series: pl.Series, text: Text, said: str) -> Found:
    where = "week, the year and the day" if column.clock else "week and the year"
    what = f"{'times' if column.clock else 'dates'}: days since 1970-01-01, and where in the {where}{said}"
    return _measured(column, column.values(series, False, text.words)[:, 0], what, text)


def _span(series: pl.Series, text: Text) -> Found | None:
    """Return a column of durations where most values are."""
    if not is_text(series) or text.digits < MOSTLY / 2:
        return None
    values = read_spans(text.words)
    if np.isfinite(values).sum() < max(1, MOSTLY * len(text.present)):
        return None
    clock = clock_like(text.words)
    what = "durations, in days"
    if clock:
        what = "times of day or durations as hours:minutes, in days, with sine and cosine of the hour"
    return _measured(Spans(series.name, clock=clock), values, what, text)


def _flag(series: pl.Series, text: Text) -> Found | None:
    """Return a column of yes and no where all values are, in whatever language and letters."""
    if not is_text(series) or np.isnan(read_flags(text.present[:1])).any():
        return None
    values = read_flags(text.words)
    known = values[~np.isnan(values)]
    if len(known) < len(text.present) or not 0 < known.mean() < 1:
        return None
    return _measured(Flags(series.name), values, f"yes (1) and no (0), such as '{_cut(text.present[0])}'", text)


def hint(text: Text) -> str:
    """Return what is said of a column of words among which there are numbers."""
    if text.parts is None:
        return ""
    share = 1 - text.parts.body.null_count() / max(1, len(text.words))
    units = text.parts.unit.drop_nulls()
    kinds = units.unique().sort().to_list()
    if share < MOSTLY / 2 or len(kinds) < 2:
        return ""
    listed = " and ".join(f"'{unit}'" if unit else "no unit" for unit in kinds[:3])
    return f"; many are numbers, with {listed}: write one unit, or use --number to count the others as missing"


def _asked_levels(name: str, choice: Choice | None) -> int | None:
    """Return how many words are to have an indicator each; None where that is not said."""
    form = "" if choice is None else choice.form
    if form and not (form.isascii() and form.isdigit() and len(form) < 10 and 1 <= int(form) <= MOST_LEVELS):
        raise ValueError(
            f"category must say how many words have an indicator each, up to {MOST_LEVELS:,}, as in '{shown(name)}=500', got "
            f"'{shown(form[:40])}'."
        )
    return int(form) if form else None


def _levels(name: str, words: pl.Series, present: pl.Series, hint: str = "", asked: int | None = None) -> Found:
    counts = present.alias("word").value_counts(name="times").sort(["times", "word"], descending=[True, False])
    levels, gone = counts["word"].to_list(), words.null_count()
    if asked is None and len(levels) > LEVELS and len(levels) == len(present):
        return Found(None, f"{len(levels):,} words that all differ: left out{hint}")
    most = LEVELS if asked is None else asked
    kept = tuple(sorted(levels[:most]))
    what = f"{len(levels):,} words, an indicator each"
    if len(levels) > most:
        share = float(counts["times"].to_numpy()[most:].sum()) / len(present)
        kinds = f"an indicator each for the {most:,} most frequent, one for all others"
        what = f"{len(levels):,} words: {kinds}, {share:.0%} of the values"
        if asked is None and len(present) >= OFTEN * len(levels):
            what += f" (--category '{shown(name)}={len(levels)}' gives each one)"
    if gone:
        what += f"; {gone:,} missing, marked"
    return Found(Words(name, kept, len(levels) > most, bool(gone)), what + hint)


def _cut(text: str) -> str:
    return text if len(text) <= 24 else text[:21] + "..."
