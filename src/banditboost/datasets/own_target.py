"""The target of a user's own table: whether it is numbers or classes, and which rows have one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.datasets.own_choices import Choice
from banditboost.datasets.own_columns import Measured, Numbers, Spans
from banditboost.datasets.own_finding import MOSTLY, FileStyle, Text, hint, in_words, number_style, text_of
from banditboost.datasets.own_values import HUGE, NO, NUMBER, YES, as_days, as_numbers, is_text, shown

if TYPE_CHECKING:
    import polars as pl

Task = Literal["auto", "numbers", "classes"]
CLASSES = 50
"""Largest number of classes of a target; a target of more different words is refused."""


class Target(NamedTuple):
    """How a target is read."""

    kept: NDArray[np.bool_]
    """The rows that have one."""
    column: Measured | None
    """How texts become numbers; None where they are numbers already, or classes."""
    classes: tuple[str, ...] | None
    label_range: tuple[float, float] | None
    what: str
    """The same as a phrase for reports."""
    notes: tuple[str, ...]
    """Sentences about rows that were left out."""


def label_numbers(series: pl.Series, comma: bool, column: Measured | None) -> Array:
    """Return a target as numbers, NaN where there is none."""
    if series.dtype.is_temporal():
        return as_days(series, "native")
    return as_numbers(series, comma) if column is None else column.values(series, comma)[:, 0]


def find_target(series: pl.Series, task: Task, comma: bool, file: FileStyle, choice: Choice | None = None) -> Target:
    """Find out whether a target is a number or a class, and which rows have one.

    Parameters
    ----------
    series
        The target.
    task
        ``"numbers"``, ``"classes"``, or ``"auto"``.
    comma, file
        How the file writes numbers.
    choice
        What a user says of the column.
    """
    import polars as pl

    target = shown(series.name)
    if series.dtype.is_nested() or series.dtype == pl.Binary:
        raise ValueError(f"target must be numbers or words, got {series.dtype!s:.100} values in column '{target}'.")
    if choice is not None and choice.kind in ("date", "drop"):
        raise ValueError(f"{choice.kind} must not name the target, '{target}'.")
    if choice is not None:
        task = "numbers" if choice.kind == "number" else "classes"
    text = text_of(series)
    present = text.words.is_not_null().to_numpy()
    if not present.any():
        raise ValueError(f"target must have values, got a column '{target}' in which all are missing.")
    column, what = (None, "") if task == "classes" else _as_numbers(series, text, file, choice)
    values = label_numbers(series, comma, column)
    strange = text.words.filter(pl.Series(present & np.isnan(values)))
    if task != "classes" and len(strange) and text.present.str.contains(NUMBER).all():
        raise ValueError(
            f"target must be numbers of at most {HUGE:g} in size, got '{shown(strange[0])}' in column '{target}'."
        )
    least = 1 if choice is not None else MOSTLY * len(text.present)
    mostly = len(text.present) - len(strange) >= least and series.dtype != pl.Boolean
    if task == "numbers" and not mostly:
        got = f"'{shown(strange[0])}'" if len(strange) else "true and false"
        raise ValueError(f"target must be numbers for the task 'numbers', got {got} in column '{target}'.")
    many = text.present.n_unique() > CLASSES
    if task == "numbers" or (task == "auto" and mostly and (many or not len(strange))):
        known = values[~np.isnan(values)]
        span = float(known.min()), float(known.max())
        said = f"target{what}"
        return Target(~np.isnan(values), column, None, span, said, _left_out(present, strange))
    return _classes(text, present, target, choice)


def _as_numbers(series: pl.Series, text: Text, file: FileStyle, choice: Choice | None) -> tuple[Measured | None, str]:
    """Return how a target of texts becomes numbers, and a phrase where it is not plain."""
    if not is_text(series):
        return None, ""
    style, said = number_style(text, file, choice)
    if style is not None:
        column: Measured = Numbers(str(series.name), style=style)
        if np.isfinite(column.values(series, False, text.words)).sum() >= MOSTLY * len(text.present):
            what = "" if style.plain else f", {in_words(style)}"
            return column, what + (f"; {said}" if said else "")
    spans = Spans(str(series.name))
    if np.isfinite(spans.values(series, False, text.words)).sum() >= MOSTLY * len(text.present):
        return spans, ", durations in days"
    return (Numbers(str(series.name), style=style), "") if style is not None else (None, "")


def _left_out(present: NDArray[np.bool_], strange: pl.Series) -> tuple[str, ...]:
    """Return sentences about the rows without a target."""
    notes = []
    gone, rows = int((~present).sum()), len(present)
    if gone:
        notes.append(f"{gone:,} of {rows:,} rows {_have(gone)} no target and {_were(gone)} left out.")
    if len(strange):
        said = f"{len(strange):,} of {rows:,} rows {_have(len(strange))} a target that is no number"
        notes.append(f"{said}, such as '{shown(strange[0])}', and {_were(len(strange))} left out.")
    return tuple(notes)


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def class_words(words: pl.Series, classes: tuple[str, ...]) -> pl.Series:
    """Return words of another table as classes are written; where these are yes and no, all words for yes and no are read as such.

    Examples
    --------
    >>> import polars as pl
    >>> class_words(pl.Series(["Y", "no", "perhaps"]), ("No", "Yes")).to_list()
    ['Yes', 'No', None]
    """
    import polars as pl

    small = {name.lower(): name for name in classes}
    yes, no = ([name for word, name in small.items() if word in those] for those in (YES, NO))
    if len(classes) == 2 and len(yes) == len(no) == 1:
        known = dict.fromkeys(YES, yes[0]) | dict.fromkeys(NO, no[0])
        return words.str.to_lowercase().replace_strict(known, default=None, return_dtype=pl.String)
    return words.str.to_lowercase() if set(classes) <= {*YES, *NO} else words


def _same_words(words: pl.Series, choice: Choice | None) -> tuple[pl.Series, str]:
    """Return yes and no in one spelling, as features are read, and a phrase that says so; other words as they are."""
    small = words.str.to_lowercase()
    kinds = sorted(small.unique().to_list())
    if not set(kinds) <= {*YES, *NO} or words.n_unique() == 2:
        return words, ""
    spelled = ", ".join(sorted(words.unique().to_list())[:8])
    if len(kinds) > 2 and choice is None and {*YES}.intersection(kinds) and {*NO}.intersection(kinds):
        named = shown(str(words.name))
        said = f": yes and no, spelled {spelled} (--category '{named}' keeps words apart)"
        return class_words(words, ("no", "yes")), said
    if len(kinds) < words.n_unique():  # Yes, yes and YES are one class
        return small, f": {' and '.join(kinds)}, spelled {spelled}"
    return words, ""


def _classes(text: Text, present: NDArray[np.bool_], target: str, choice: Choice | None) -> Target:
    words, said = _same_words(text.present, choice)
    classes = tuple(sorted(words.unique().to_list(), key=_natural))
    if len(classes) > CLASSES:
        raise ValueError(
            f"target must be numbers, or words of at most {CLASSES} kinds, got {len(classes):,} kinds in column '{target}', "
            f"such as '{shown(words[0])}'{hint(text)}."
        )
    if len(classes) < 2:
        raise ValueError(f"target must have two classes or more, got '{shown(classes[0])}' only in column '{target}'.")
    return Target(present, None, classes, None, f"target{said}", _left_out(present, words.clear()))


def _natural(word: str) -> tuple[float, str]:
    """Sort key: numbers by value, then words alphabetically."""
    try:
        return float(word), word
    except ValueError:
        return float("inf"), word
