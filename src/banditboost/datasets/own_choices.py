"""What a user says of columns in place of what would be found: a number, a category, a date, or not to be used."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from banditboost.datasets.own_values import shown

Kind = Literal["number", "category", "date", "drop"]
KINDS: tuple[Kind, ...] = ("number", "category", "date", "drop")


class Choice(NamedTuple):
    """What a user says of one column."""

    kind: Kind
    form: str = ""
    """How its values are written, by an example (``1.234,5``) or in letters (``dd/mm/yyyy``), or how many words have an indicator
    each (``500``); empty where it is to be found."""


def choices_of(columns: Sequence[str], file: str, said: dict[Kind, Iterable[str]]) -> dict[str, Choice]:
    """Return what was said of columns, by their names; ``name=form`` also says how values are written, or how many words count.

    Parameters
    ----------
    columns
        The columns that there are.
    file
        The name of the file, for sentences.
    said
        The columns of every kind.

    Examples
    --------
    >>> choices_of(["price", "zip"], "a.csv", {"number": ["price=1.234,5"], "category": ["zip"]})
    {'price': Choice(kind='number', form='1.234,5'), 'zip': Choice(kind='category', form='')}
    """
    found: dict[str, Choice] = {}
    for kind, names in said.items():
        for text in [names] if isinstance(names, str) else names:
            name, form = text, ""
            if name not in columns and "=" in text and kind != "drop":
                name, _, form = text.rpartition("=")
            require_column(columns, name, file, kind)
            if name in found:
                raise ValueError(f"{kind} must not name '{shown(name)}', which {found[name].kind} names already.")
            found[name] = Choice(kind, form.strip())
    return found


def require_column(columns: Sequence[str], name: str, file: str, what: str) -> None:
    """Raise where there is no such column, and say which one may have been meant."""
    if name in columns:
        return
    lower = {column.lower(): column for column in reversed(columns)}
    # Comparing takes long where there is much to compare.
    likely = [column for column in lower if len(column) <= 100][:1000]
    close = difflib.get_close_matches(name[:200].lower(), likely, n=1, cutoff=0.5)
    few = ", ".join(map(shown, columns[:8])) + (", ..." if len(columns) > 8 else "")
    hint = f"did you mean '{shown(lower[close[0]])}'?" if close else f"the columns are {few}."
    raise ValueError(f"{what} must be a column of {file}, got '{shown(name)}'; {hint}")
