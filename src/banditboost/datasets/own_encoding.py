"""From a user's own table to features and labels, with notes on how each column was used."""

from __future__ import annotations

import difflib
import hashlib
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, one_of, vector
from banditboost._core.spec import Spec
from banditboost.datasets.own import OwnTable, read_own
from banditboost.datasets.own_columns import Encoded, Numbers, OwnColumn, Words, words_that_differ
from banditboost.datasets.own_finding import look
from banditboost.datasets.own_values import HUGE, NUMBER, as_days, as_numbers, as_words, shown, with_plain_numbers

if TYPE_CHECKING:
    import polars as pl

Task = Literal["auto", "numbers", "classes"]
CLASSES = 50
"""Largest number of classes of a target; a target of more different words is refused."""
MARGIN = 0.05
"""The interval of predictions extends the range of the labels by this fraction of its length at either end."""


@dataclass(frozen=True)
class Encoding(Spec, kind="datasets.Encoding"):
    """How a table becomes features and labels; a model file stores the encoding of the table it was trained on.

    Parameters
    ----------
    columns
        The columns that are used, in order.
    target
        The name of the target's column.
    classes
        The classes of the target, in order; None for a numeric target.
    label_range
        Smallest and largest label of a numeric target.
    scaled
        True: numeric columns are scaled to [0, 1] by the smallest and largest value in the first table.
    """

    columns: tuple[OwnColumn, ...] = ()
    target: str = ""
    classes: tuple[str, ...] | None = None
    label_range: tuple[float, float] | None = None
    scaled: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.columns, tuple) or not all(isinstance(column, OwnColumn) for column in self.columns):
            raise ValueError(f"columns must be columns of a table, got {self.columns!r:.200}.")
        if self.classes is not None:
            words_that_differ("classes", self.classes)
        elif self.label_range is not None:
            vector("label_range", self.label_range)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of all features."""
        return tuple(name for column in self.columns for name in column.features)

    @property
    def categories(self) -> tuple[tuple[int, int], ...]:
        """The features that are the indicators of one column of words each: the first, and the one after the last."""
        found, begin = [], 0
        for column in self.columns:
            end = begin + len(column.features)
            if isinstance(column, Words) and end > begin:
                found.append((begin, end))
            begin = end
        return tuple(found)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of predictions for a numeric target: the range of the labels and a margin."""
        assert self.label_range is not None
        low, high = self.label_range
        margin = MARGIN * (high - low) if high > low else max(1.0, abs(low)) / 2
        return low - margin, high + margin

    def encode(self, table: OwnTable) -> Encoded:
        """Return the features of a table with columns of the same names; all values of an absent column count as missing."""
        import polars as pl

        numeric = {column.name for column in self.columns if isinstance(column, Numbers) and column.date is None}
        frame, notes, begin = with_plain_numbers(table.frame, numeric), list[str](), 0
        present = set(frame.columns)
        X = np.zeros((frame.height, len(self.features)))
        for column in self.columns:
            if column.name in present:
                made = column.encode(frame[column.name], table.comma)
                notes += made.notes
            else:
                made = column.encode(pl.Series(column.name, [None] * frame.height, dtype=pl.String))
                notes.append(f"There is no column '{column.name}': all of its values count as missing.")
            end = begin + made.X.shape[1]
            X[:, begin:end] = self._unit(column, made.X)
            begin = end
        return Encoded(X, tuple(notes))

    def _unit(self, column: OwnColumn, X: Array) -> Array:
        if not self.scaled or not isinstance(column, Numbers):
            return X
        span = column.high - column.low
        # Other tables may go beyond the range, and linear models rely on features in [0, 1].
        X[:, 0] = np.clip((X[:, 0] - column.low) / (span if span > 0 else 1.0), 0.0, 1.0)
        return X

    def labels(self, table: OwnTable) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the labels (numbers, or classes as words) of the rows that have one, and a mask of these rows."""
        series = table.frame[self.target]
        if self.classes is not None:
            words = as_words(series)
            known = words.is_in(list(self.classes)).fill_null(False).to_numpy()
            return words.to_numpy()[known].astype(str), known
        values = _label_numbers(series, table.comma)
        return values[~np.isnan(values)], ~np.isnan(values)


class Prepared(NamedTuple):
    """Features and labels, and how they were made."""

    X: Array
    y: NDArray[Any]
    """Labels: numbers, or classes as words."""
    encoding: Encoding
    columns: tuple[tuple[str, str], ...]
    """For every column of the file, its name and how it was used."""
    notes: tuple[str, ...]
    """One sentence for each further decision."""


def prepare_own(path: str | os.PathLike[str], target: str, *, task: Task = "auto", scaled: bool = False) -> Prepared:
    r"""Read a user's own CSV or Parquet file and make features and labels of it.

    A first pass over the rows finds types, levels, means and ranges of the columns; of the target it uses only the range or
    the classes.

    Parameters
    ----------
    path
        The file.
    target
        The name of the column to predict.
    task
        ``"numbers"``, ``"classes"``, or ``"auto"``: classes where the target has words, else numbers.
    scaled
        True: numeric columns are scaled to [0, 1], for learners that need it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.csv"
    ...     _ = file.write_text("colour,size,same,price\nred,1,x,10\nblue,,x,20\nred,3,x,60\n")
    ...     made = prepare_own(file, "price")
    >>> made.encoding.features, made.X.tolist()[1], made.y.tolist()
    (('colour=blue', 'colour=red', 'size', 'size is missing'), [1.0, 0.0, 2.0, 1.0], [10.0, 20.0, 60.0])
    >>> for name, what in made.columns:
    ...     print(f"{name}: {what}")
    colour: 2 words, an indicator each
    size: numbers; 1 missing are the mean 2 and marked
    same: constant (x): left out
    price: target
    """
    one_of("task", task, ("auto", "numbers", "classes"))
    table, name = read_own(path), os.fspath(path)
    frame, notes = table.frame, list(table.notes)
    _require_target(frame, target, name)
    if frame.height == 0:
        raise ValueError(f"{name} must have rows, got names only.")
    encoding, kept = _target(frame[target], task, table.comma)
    if not kept.all():
        notes.append(f"{int((~kept).sum()):,} of {len(kept):,} rows have no target and were left out.")
        frame = frame.filter(kept)
    if frame.height < 2:
        raise ValueError(f"{name} must have two rows or more with a target, got {frame.height}.")
    table = table._replace(frame=frame)
    y = encoding.labels(table)[0]
    table = table._replace(frame=with_plain_numbers(frame))
    columns, found = _columns(table, target)
    if not columns:
        raise ValueError(f"{name} must have a column to learn from beside the target, got none that varies.")
    encoding = replace(encoding, columns=columns, scaled=scaled)
    return Prepared(encoding.encode(table).X, y, encoding, found, tuple(notes))


def _require_target(frame: pl.DataFrame, target: str, name: str) -> None:
    if target in frame.columns:
        return
    lower = {column.lower(): column for column in reversed(frame.columns)}
    likely = [column for column in lower if len(column) <= 100][
        :1000
    ]  # comparing takes long where there is much to compare
    close = difflib.get_close_matches(target[:200].lower(), likely, n=1, cutoff=0.5)
    few = ", ".join(map(shown, frame.columns[:8])) + (", ..." if frame.width > 8 else "")
    hint = f"did you mean '{shown(lower[close[0]])}'?" if close else f"the columns are {few}."
    raise ValueError(f"target must be a column of {name}, got '{shown(target)}'; {hint}")


def _label_numbers(series: pl.Series, comma: bool) -> Array:
    return as_days(series, "native") if series.dtype.is_temporal() else as_numbers(series, comma)


def _target(series: pl.Series, task: Task, comma: bool) -> tuple[Encoding, NDArray[np.bool_]]:
    """Find out whether the target is a number or a class; return its encoding, and a mask of the rows that have a target."""
    import polars as pl

    target = series.name
    if series.dtype.is_nested() or series.dtype == pl.Binary:
        raise ValueError(
            f"target must be numbers or words, got {series.dtype!s:.100} values in column '{shown(target)}'."
        )
    words = as_words(series)
    present = words.is_not_null().to_numpy()
    if not present.any():
        raise ValueError(f"target must have values, got a column '{shown(target)}' in which all are missing.")
    values = _label_numbers(series, comma)
    huge = words.filter(pl.Series(present & np.isnan(values)))
    if task != "classes" and len(huge) and words.drop_nulls().str.contains(NUMBER).all():
        raise ValueError(
            f"target must be numbers of at most {HUGE:g} in size, got '{shown(huge[0])}' in column '{shown(target)}'."
        )
    numbers = not np.isnan(values[present]).any() and series.dtype != pl.Boolean
    if task == "numbers" and not numbers:
        strange = words.filter(pl.Series(present & np.isnan(values)))
        got = f"'{shown(strange[0])}'" if len(strange) else "true and false"
        raise ValueError(f"target must be numbers for the task 'numbers', got {got} in column '{shown(target)}'.")
    if task == "numbers" or (task == "auto" and numbers):
        known = values[~np.isnan(values)]
        span = float(known.min()), float(known.max())
        return Encoding(target=target, label_range=span), ~np.isnan(values)
    classes = tuple(sorted(words.drop_nulls().unique().to_list(), key=_natural))
    if len(classes) > CLASSES:
        raise ValueError(
            f"target must be numbers, or words of at most {CLASSES} kinds, got {len(classes):,} kinds in column '{shown(target)}', "
            f"such as '{shown(words.drop_nulls()[0])}'."
        )
    if len(classes) < 2:
        raise ValueError(
            f"target must have two classes or more, got '{shown(classes[0])}' only in column '{shown(target)}'."
        )
    return Encoding(target=target, classes=classes), present


def _natural(word: str) -> tuple[float, str]:
    """Sort key: numbers by value, then words alphabetically."""
    try:
        return float(word), word
    except ValueError:
        return float("inf"), word


def _columns(table: OwnTable, target: str) -> tuple[tuple[OwnColumn, ...], tuple[tuple[str, str], ...]]:
    """Return the columns to use, and for every column of the file how it was used."""
    used: list[OwnColumn] = []
    found: list[tuple[str, str]] = []
    seen: dict[bytes, str] = {}
    for series in table.frame.get_columns():
        if series.name == target:
            found.append((target, "target"))
            continue
        column, what = look(series, table.comma)
        if column is not None:
            X = column.encode(series, table.comma).X
            digest = hashlib.sha256(f"{X.shape}".encode() + X.tobytes()).digest()
            first = seen.setdefault(digest, series.name)
            if first == series.name:
                used.append(column)
            else:
                what = f"the same as '{first}': left out"
        found.append((series.name, what))
    return tuple(used), tuple(found)
