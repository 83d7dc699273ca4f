"""A log as people have it: words, dates, missing values and numbers in other styles, read as `banditboost run` reads tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.logged import MOST_FEATURES
from banditboost.datasets.blocks import numeric_columns
from banditboost.datasets.own import OwnTable, read_own
from banditboost.datasets.own_choices import Choice, Kind, choices_of, require_column
from banditboost.datasets.own_encoding import Encoding, find_columns
from banditboost.datasets.own_finding import file_style, text_of
from banditboost.datasets.own_target import find_target, label_numbers
from banditboost.datasets.own_values import is_text
from banditboost.logs.source import Arrays, Columns, several

LARGEST = 2**26
"""Larger files, in bytes, and folders are read in blocks, and must hold plain numbers: to find out what else columns hold takes
the whole table."""


class Roles(NamedTuple):
    """Which columns of a log are no context, by name."""

    action: tuple[str, ...]
    worth: str
    """The column of the loss, or of the reward."""
    density: str | None
    ticket: str | None
    time: str | None

    def by_name(self) -> dict[str, str]:
        """Return the part that each column plays; raise where one plays two."""
        parts = [*(("action", name) for name in self.action), ("loss or reward", self.worth)]
        parts += [(what, name) for what, name in zip(self._fields[2:], self[2:], strict=True) if isinstance(name, str)]
        found: dict[str, str] = {}
        for what, name in parts:
            if found.setdefault(name, what) != what or (what == "action" and self.action.count(name) > 1):
                raise ValueError(f"{what} must be another column than {found[name]}, got {name!r} for both.")
        return found


class OwnLog(NamedTuple):
    """The rows of a log, and how its contexts were made."""

    rows: Arrays
    encoding: Encoding
    columns: tuple[tuple[str, str], ...]
    """For every column of the file, its name and how it was used; empty where an encoding was given."""
    notes: tuple[str, ...]


def is_plain(path: Path, context: Columns, others: Sequence[str]) -> bool:
    """Return whether a log holds plain numbers throughout, none of them missing in its context, or is too large to say.

    Parameters
    ----------
    path
        The file, or a folder of files.
    context
        The columns of the context; all that are not among `others` when None.
    others
        The columns that play another part.
    """
    if path.is_dir() or path.stat().st_size > LARGEST:
        return True
    try:
        numeric = numeric_columns(path)
    except ValueError:  # such as other signs than commas between values
        return False
    wanted = [name for name in numeric if name not in others] if context is None else several("context", context)
    if not all(numeric.get(name, True) for name in (*wanted, *others)):
        return False
    frame = read_own(path).frame
    counted = frame.select([name for name in wanted if name in frame.columns]).null_count()
    return not sum(counted.row(0)) if counted.width else True


def read_own_log(
    path: Path,
    roles: Roles,
    context: Columns,
    rewards: bool,
    encoding: Encoding | None,
    said: dict[Kind, Sequence[str]],
) -> OwnLog:
    """Read a whole log, and make numbers of its contexts: by an encoding, or as its columns suggest and a user says."""
    table, name = read_own(path), str(path)
    taken = roles.by_name()
    for column, what in taken.items():
        require_column(table.frame.columns, column, name, what)
    if encoding is None:
        choices = choices_of(table.frame.columns, name, dict(said)) | dict.fromkeys(taken, Choice("drop"))
        choices |= dict.fromkeys(_not_wanted(table, name, context, taken), Choice("drop"))
        choices.pop(roles.worth)
        found = find_columns(table, name, roles.worth, "numbers", said=choices)[0]
        encoding, columns = found.encoding, _in_words(found.columns, taken, context)
        if len(encoding.features) > MOST_FEATURES and any(
            one.kind == "category" and one.form for one in choices.values()
        ):
            raise ValueError(
                f"category must give fewer words an indicator each in a log, whose contexts have at most {MOST_FEATURES} features, "
                f"got {len(encoding.features):,}."
            )
    else:
        columns = ()
    made = encoding.encode(table)
    numbers = {column: _numbers(table, column) for column in taken}
    losses = numbers[roles.worth]
    rows = Arrays(
        made.X if isinstance(made.X, np.ndarray) else made.X.toarray(),
        np.column_stack([numbers[column] for column in roles.action]),
        -losses if rewards else losses,
        *(None if column is None else numbers[column] for column in (roles.density, roles.ticket, roles.time)),
    )
    rows.context_names, rows.action_names = encoding.features, roles.action
    return OwnLog(rows, encoding, columns, (*table.notes, *made.notes, *map(str, made.unread)))


def _not_wanted(table: OwnTable, name: str, context: Columns, taken: dict[str, str]) -> list[str]:
    """Return the columns that are not asked for as context."""
    if context is None:
        return []
    wanted = several("context", context)
    for column in wanted:
        require_column(table.frame.columns, column, name, "context")
        if column in taken or wanted.count(column) > 1:
            raise ValueError(
                f"context must not contain a column twice, got {column!r} as {taken.get(column, 'context')} too."
            )
    return [column for column in table.frame.columns if column not in wanted and column not in taken]


def _in_words(
    columns: tuple[tuple[str, str], ...], taken: dict[str, str], context: Columns
) -> tuple[tuple[str, str], ...]:
    """Return how columns are used, with the parts that those play which are no context."""
    wanted = None if context is None else several("context", context)
    return tuple(
        (name, taken.get(name, what if wanted is None or name in wanted else "left out, not asked for"))
        for name, what in columns
    )


def _numbers(table: OwnTable, column: str) -> Array:
    """Return a column that must hold numbers, NaN where it is empty; raise where it holds something else."""
    series = table.frame[column]
    texts = [text_of(series)] if is_text(series) else []
    if not len(series) or not series.drop_nulls().len():
        return np.full(len(series), np.nan)
    style = file_style(texts, False, table.separator == ";")
    found = find_target(series, "numbers", table.comma, style, Choice("number"))
    values = label_numbers(series, table.comma, found.column)
    for text in texts:
        strange = np.flatnonzero(np.isnan(values) & text.words.is_not_null().to_numpy())
        if len(strange):
            raise ValueError(
                f"column {column!r} must hold numbers that can be read, got {text.words[int(strange[0])]!r:.100} in row "
                f"{strange[0] + 1}."
            )
    return values
