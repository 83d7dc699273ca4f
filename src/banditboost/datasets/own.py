"""A user's own file, CSV or Parquet: the format is detected, and notes say how it was read."""

from __future__ import annotations

import codecs
import csv
import io
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost.datasets.own_lines import LONGEST_HEAD, NAMED, SNIFFED, begins_of, separator_of, short_line, why

if TYPE_CHECKING:
    import polars as pl

WINDOWS = codecs.lookup("cp1252")
"""Found beforehand, so that reading a file imports nothing."""
UNFOLDED = 2**28
"""Bytes that a Parquet file of any size may take in memory."""
MOST_UNFOLDED = 100
"""How many times its own size a larger Parquet file may take in memory. Values that repeat take next to no room in a file: one of
half a megabyte can hold gigabytes."""


class OwnTable(NamedTuple):
    """A user's table as it was read."""

    frame: pl.DataFrame
    """The columns; those of a text file are strings."""
    notes: tuple[str, ...]
    """One sentence for each decision made in reading the file."""
    comma: bool
    """True where a comma may be the decimal sign."""
    separator: str = ","
    """What stands between the values of a text file."""
    file: Path | None = None
    """The text file, by whose lines rows are named; None for other files."""
    rows: NDArray[np.int64] | None = None
    """Which rows of the file these are, counted from 0, where some were left out; None for all of them."""


def read_own(path: str | os.PathLike[str]) -> OwnTable:
    r"""Read a user's own table (needs polars, extra `cli`).

    Text may be separated by commas, semicolons, tabs or bars, and written in UTF-8, UTF-16, Windows-1252 or Latin-1; the first line
    has the names of the columns. Parquet files are recognised by their content.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "mine.csv"
    ...     _ = file.write_text("size;size;price\n1;2;3,5\n")
    ...     table = read_own(file)
    >>> table.frame.columns, table.frame.row(0)
    (['size', 'size (2)', 'price'], ('1', '2', '3,5'))
    >>> for note in table.notes:
    ...     print(note)
    Values are separated by semicolons.
    The name 'size' comes twice: the later one is called 'size (2)'.
    """
    file = Path(path)
    name = os.fspath(path)
    if file.is_dir():
        raise ValueError(f"FILE must be a file, got the folder {name}.")
    if not file.exists():
        raise FileNotFoundError(f"There is no file {name}.")
    with open(file, "rb") as raw:
        beginning = raw.read(SNIFFED)
    if not beginning.strip():
        raise ValueError(f"{name} is empty.")
    return _parquet(file, name) if beginning[:4] == b"PAR1" else _text(file, name, beginning)


def _polars(name: str) -> None:
    try:
        import polars  # noqa: F401
    except ImportError:
        raise ImportError(
            f"Reading {name} needs polars, which the extra `cli` brings: pip install 'banditboost[cli]'."
        ) from None


def _parquet(file: Path, name: str) -> OwnTable:
    _polars(name)
    import polars as pl

    try:
        lazy = pl.scan_parquet(file, glob=False)
        schema, rows = lazy.collect_schema(), int(lazy.select(pl.len()).collect().item())
        # Lists and bytes are left out anyway, and may be of any length: their columns are kept empty.
        plain = [column for column, kind in schema.items() if not (kind.is_nested() or kind == pl.Binary)]
        _unfolds(file, name, rows * sum(16 if schema[column] == pl.String else 8 for column in plain))
        empty = [pl.lit(None, dtype=kind).alias(column) for column, kind in schema.items() if column not in plain]
        frame = lazy.select(plain).collect().with_columns(empty).select(schema.names())
        texts = [column for column in plain if schema[column] == pl.String]
        _unfolds(file, name, sum(int(frame[column].str.len_bytes().sum()) for column in texts))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise ValueError(f"{name} begins like a Parquet file but cannot be read: {_line(error)}.") from None
    # Durations and times of day are neither words nor dates, so they become numbers, in days.
    spans = [name for name, kind in frame.schema.items() if kind in (pl.Duration, pl.Time)]
    spans_in_days = [pl.col(name).cast(pl.Duration("us")).dt.total_microseconds() / 86_400_000_000 for name in spans]
    notes = tuple(f"Column '{name}' holds times: they are taken as numbers, in days." for name in spans)
    return OwnTable(frame.with_columns(spans_in_days), notes, False)


def _unfolds(file: Path, name: str, size: int) -> None:
    """Raise where a table takes a large amount of memory and its file next to none, as no table of measurements does."""
    most = max(UNFOLDED, MOST_UNFOLDED * file.stat().st_size)
    if size > most:
        raise ValueError(
            f"{name} must not unfold to more than {most:,} bytes for its size, got about {size:,}: if that is right, write it as "
            "CSV."
        )


def _text(file: Path, name: str, beginning: bytes) -> OwnTable:
    _polars(name)
    import polars as pl

    data, notes = _decoded(file.read_bytes(), name, beginning)
    head = data[: max(SNIFFED, min(_end_of_lines(data), LONGEST_HEAD))].decode("utf-8", errors="ignore")
    separator = separator_of(head)
    if separator != ",":
        notes.append(f"Values are separated by {NAMED[separator]}.")
    names, renamed = _names(_first_row(data, name, separator))
    notes += renamed
    try:
        frame = pl.read_csv(data, separator=separator, has_header=False, infer_schema=False)
    except pl.exceptions.NoDataError:
        raise ValueError(f"{name} is empty.") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"{name} cannot be read as a table: {why(data, separator) or _line(error)}.") from None
    if frame.width != len(names):
        raise ValueError(
            f"{name} must have as many values in every line as the first line has names ({len(names)}), got {frame.width}."
        )
    frame.columns = names
    if frame[names[-1]].has_nulls() and (short := short_line(data, separator, len(names))) is not None:
        notes.append(short)
    return OwnTable(frame.slice(1), tuple(notes), separator != ",", separator, file)


def line_numbers(file: Path, separator: str, rows: Sequence[int]) -> dict[int, int]:
    """Return in which lines of a text file some of its rows begin; rows are counted from 0, and lines, with the names, from 1."""
    data = _decoded(file.read_bytes(), os.fspath(file), b"")[0]
    return begins_of(data, separator, rows)


def _end_of_lines(data: bytes) -> int:
    """Return where the second line ends; 0 where there is none."""
    return data.find(b"\n", data.find(b"\n") + 1) + 1


def _first_row(data: bytes, name: str, separator: str) -> list[str]:
    """Return the names in the first row, however long it is."""
    lines = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
    try:
        return next(csv.reader(lines, delimiter=separator), [])
    except csv.Error:
        raise ValueError(
            f"{name} must have names of at most {csv.field_size_limit():,} characters in its first line, got a longer one: is a "
            "quotation left open?"
        ) from None


def _decoded(data: bytes, name: str, beginning: bytes) -> tuple[bytes, list[str]]:
    """Return a text file's bytes as UTF-8 without a byte order mark, and notes on the conversion."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return data.decode("utf-16").encode(), ["The file is written in UTF-16."]
        except UnicodeError:
            raise ValueError(f"{name} begins like text in UTF-16 but is not.") from None
    if set(beginning) & set(range(32)) - set(b"\t\n\r\f\x1a"):
        raise ValueError(f"{name} must be a CSV or Parquet file, got something that is not text.")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        data.decode()
    except UnicodeDecodeError:
        return _of_one_byte(data)
    return data, []


def _of_one_byte(data: bytes) -> tuple[bytes, list[str]]:
    """Return text whose characters are a byte each, as UTF-8: what older spreadsheets write, whose € is no letter of Latin-1."""
    text = data.decode("latin-1")
    with suppress(UnicodeDecodeError):
        windows = WINDOWS.decode(data)[0]
        if windows != text:
            return windows.encode(), ["The file is not UTF-8: it was read as Windows-1252."]
    return text.encode(), ["The file is not UTF-8: it was read as Latin-1."]


def _names(found: list[str]) -> tuple[list[str], list[str]]:
    """Return non-empty and different names for the columns, and notes on the names that were changed."""
    names: dict[str, int] = {}  # in order, each with the number that was last put behind it
    notes: list[str] = []
    for place, raw in enumerate(found, start=1):
        name = raw.strip()
        if not name:
            name = f"column {place}"
            notes.append(f"Column {place} has no name: it is called '{name}'.")
        if name in names:
            number = max(2, names[name] + 1)
            while f"{name} ({number})" in names:
                number += 1
            again = "twice" if number == 2 else "again"
            notes.append(f"The name '{name}' comes {again}: the later one is called '{name} ({number})'.")
            names[name] = number
            name = f"{name} ({number})"
        names[name] = 0
    if all(_is_number(name) for name in found):
        notes.append("The first line has numbers only: they were taken for the names of the columns.")
    return list(names), notes


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line(error: BaseException) -> str:
    """Return the first line of a library's message, without its full stop."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
