"""From a user's own table to features and labels, with notes on how each column was used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from banditboost._core.checks import one_of, vector
from banditboost._core.spec import Spec
from banditboost.datasets.own import OwnTable, read_own
from banditboost.datasets.own_choices import Choice, choices_of, require_column
from banditboost.datasets.own_columns import MOST_DENSE, Encoded, Measured, Numbers, OwnColumn, Words, words_that_differ
from banditboost.datasets.own_finding import FileStyle, Text, file_style, look, text_of
from banditboost.datasets.own_target import Task, class_words, find_target, label_numbers
from banditboost.datasets.own_unread import Unread, located
from banditboost.datasets.own_values import as_words, is_text, with_plain_numbers

if TYPE_CHECKING:
    import polars as pl

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
    label
        How a target that is text becomes numbers; None for one that is numbers already, or has classes.
    """

    columns: tuple[OwnColumn, ...] = ()
    target: str = ""
    classes: tuple[str, ...] | None = None
    label_range: tuple[float, float] | None = None
    scaled: bool = False
    label: Measured | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.columns, tuple) or not all(isinstance(column, OwnColumn) for column in self.columns):
            raise ValueError(f"columns must be columns of a table, got {self.columns!r:.200}.")
        if self.classes is not None:
            words_that_differ("classes", self.classes)
        elif self.label_range is not None:
            vector("label_range", self.label_range)
        if not isinstance(self.label, Measured | None):
            raise ValueError(f"label must be a column or None, got {self.label!r:.100}.")

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

        numeric = {column.name for column in self.columns if isinstance(column, Numbers) and column.plain}
        frame, notes, unread = with_plain_numbers(table.frame, numeric), list[str](), list[Unread]()
        present, parts, begin = set(frame.columns), list[Any](), 0
        # One array is filled column by column, where no column is sparse.
        wide = any(len(column.features) > MOST_DENSE for column in self.columns)
        X: Any = np.zeros((frame.height, 0 if wide else len(self.features)))
        for column in self.columns:
            if column.name in present:
                made = column.encode(frame[column.name], table.comma)
                notes += made.notes
                unread += made.unread
            else:
                made = column.encode(pl.Series(column.name, [None] * frame.height, dtype=pl.String))
                notes.append(f"There is no column '{column.name}': all of its values count as missing.")
            end = begin + made.X.shape[1]
            if wide:
                parts.append(csr_array(self._unit(column, made.X)))
            else:
                X[:, begin:end] = self._unit(column, made.X)
            begin = end
        return Encoded(csr_array(hstack(parts)) if wide else X, tuple(notes), located(table, unread))

    def _unit(self, column: OwnColumn, X: Any) -> Any:
        if not self.scaled:
            return X
        for place, (low, high) in enumerate(column.ranges):
            # Other tables may go beyond the range, and linear models rely on features in [0, 1].
            X[:, place] = np.clip((X[:, place] - low) / (high - low if high > low else 1.0), 0.0, 1.0)
        return X

    def labels(self, table: OwnTable) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the labels (numbers, or classes as words) of the rows that have one, and a mask of these rows."""
        series = table.frame[self.target]
        if self.classes is not None:
            words = class_words(as_words(series, self.classes), self.classes)
            known = words.is_in(list(self.classes)).fill_null(False).to_numpy()
            return words.to_numpy()[known].astype(str), known
        values = label_numbers(series, table.comma, self.label)
        return values[~np.isnan(values)], ~np.isnan(values)


class Prepared(NamedTuple):
    """Features and labels, and how they were made."""

    X: Any
    """An array, or a sparse one where there are very many features."""
    y: NDArray[Any]
    """Labels: numbers, or classes as words."""
    encoding: Encoding
    columns: tuple[tuple[str, str], ...]
    """For every column of the file, its name and how it was used."""
    notes: tuple[str, ...]
    """One sentence for each further decision."""
    unread: tuple[Unread, ...] = ()
    """What could not be read, for every column that has such values; they count as missing."""
    dropped: int = 0
    """How many rows have no target that can be read."""


def prepare_own(
    path: str | os.PathLike[str],
    target: str,
    *,
    task: Task = "auto",
    scaled: bool = False,
    number: Sequence[str] = (),
    category: Sequence[str] = (),
    date: Sequence[str] = (),
    drop: Sequence[str] = (),
) -> Prepared:
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
    number, category, date, drop
        Names of columns that hold numbers, words or dates, or are not to be used, whatever would be found. ``"name=1.234,5"`` in
        `number` also says how numbers are written, ``"name=mm/dd/yyyy"`` in `date` whether the day or the month comes first, and
        ``"name=500"`` in `category` that up to 500 words have an indicator each, where 32 have one otherwise.

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
    size: numbers; 1 missing is the mean 2 and marked
    same: constant (x): left out
    price: target
    """
    one_of("task", task, ("auto", "numbers", "classes"))
    table, name = read_own(path), os.fspath(path)
    said = choices_of(table.frame.columns, name, {"number": number, "category": category, "date": date, "drop": drop})
    found, kept = find_columns(table, name, target, task, scaled, said)
    table = table._replace(frame=table.frame.filter(kept), rows=np.flatnonzero(kept))
    y = found.encoding.labels(table)[0]
    made = found.encoding.encode(table)
    return Prepared(made.X, y, found.encoding, found.columns, found.notes, made.unread, int((~kept).sum()))


class FoundColumns(NamedTuple):
    """How a table is encoded, and what is said of it."""

    encoding: Encoding
    columns: tuple[tuple[str, str], ...]
    """For every column of the file, its name and how it is used."""
    notes: tuple[str, ...]


def find_columns(
    table: OwnTable,
    name: str,
    target: str,
    task: Task = "auto",
    scaled: bool = False,
    said: dict[str, Choice] | None = None,
) -> tuple[FoundColumns, NDArray[np.bool_]]:
    """Find out how the columns of a table become features and labels; also return which rows have a target.

    Parameters
    ----------
    table
        The table, or the first rows of one.
    name
        What it is called in sentences.
    target, task, scaled
        As for `prepare_own`.
    said
        What a user says of columns.
    """
    frame, said, notes = table.frame, said or {}, list(table.notes)
    require_column(frame.columns, target, name, "target")
    if frame.height == 0:
        raise ValueError(f"{name} must have rows, got names only.")
    semicolons = table.separator == ";"
    file, texts = _file_style(frame, semicolons)
    label = find_target(frame[target], task, table.comma, file, said.get(target))
    notes += label.notes
    if label.kept.sum() < 2:
        raise ValueError(f"{name} must have two rows or more with a target, got {int(label.kept.sum())}.")
    if not label.kept.all():
        frame, texts = frame.filter(label.kept), {}
    columns, found = _columns(with_plain_numbers(frame), target, table.comma, file, said, texts)
    if not columns:
        raise ValueError(f"{name} must have a column to learn from beside the target, got none that varies.")
    encoding = Encoding(columns, target, label.classes, label.label_range, scaled, label.column)
    found = tuple((column, what if column != target else label.what) for column, what in found)
    return FoundColumns(encoding, found, tuple(notes)), label.kept


def _file_style(frame: pl.DataFrame, semicolons: bool) -> tuple[FileStyle, dict[str, Text]]:
    """Return how the numbers of a file are written, where its columns agree; and its columns of texts."""
    plain = with_plain_numbers(frame)
    texts = {series.name: text_of(series) for series in plain.get_columns() if is_text(series)}
    points = any(
        bool((series != series.round()).any())
        for series, before in zip(plain.get_columns(), frame.get_columns(), strict=True)
        if series.dtype.is_float() and is_text(before)
    )
    return file_style(texts.values(), points, semicolons), texts


def _columns(
    frame: pl.DataFrame, target: str, comma: bool, file: FileStyle, said: dict[str, Choice], texts: dict[str, Text]
) -> tuple[tuple[OwnColumn, ...], tuple[tuple[str, str], ...]]:
    """Return the columns to use, and for every column of the file how it was used."""
    used: list[OwnColumn] = []
    found: list[tuple[str, str]] = []
    seen: dict[bytes, str] = {}
    for series in frame.get_columns():
        if series.name == target:
            found.append((target, "target"))
            continue
        column, what = look(series, file, said.get(series.name), texts.get(series.name) if is_text(series) else None)
        if column is not None:
            X: Any = column.encode(series, comma).X
            numbers = X.tobytes() if isinstance(X, np.ndarray) else X.indptr.tobytes() + X.indices.tobytes()
            digest = hashlib.sha256(f"{X.shape}".encode() + numbers).digest()
            first = seen.setdefault(digest, series.name)
            if first == series.name:
                used.append(column)
            else:
                what = f"the same as '{first}': left out"
        found.append((series.name, what))
    return tuple(used), tuple(found)
