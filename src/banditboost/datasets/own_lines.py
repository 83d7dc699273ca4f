"""The lines of a text file: what separates their values, and which of them have fewer or more than the first."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

SEPARATORS = ",;\t|"
NAMED = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SNIFFED = 65_536
"""Number of bytes that are examined to recognise text and to find the separator; more where the first two lines are longer."""
FIRST = 20
"""So many lines decide what separates values."""
USUAL = 0.5
"""More than this share of the lines must have as many values as the first has."""
LONGEST_HEAD = 2**24
"""Most bytes of a file that are examined to find the separator, and to find a line with too few values."""


def separator_of(head: str) -> str:
    r"""Return the separator that cuts the first lines into the same number of values.

    One that cuts all of them so comes before one that cuts most, and then the one that makes more values. Where none cuts most of
    them as the first, that line alone decides.

    Examples
    --------
    >>> separator_of("a;b;y\n1,5;2;3\n4\n5;6;7\n8;9;10\n")
    ';'
    """
    best, most = ",", (False, 0.0, 1)
    for separator in SEPARATORS:
        lines = []
        with suppress(csv.Error):  # a value that is too long for any table
            lines = [len(row) for row in islice(csv.reader(io.StringIO(head), delimiter=separator), FIRST + 1)][:FIRST]
        lines = [length for length in (lines[:-1] or lines) if length]
        if not lines or lines[0] < 2:
            continue
        alike = sum(length == lines[0] for length in lines) / len(lines)
        found = (alike > USUAL, alike if alike > USUAL else 0.0, lines[0])
        if found > most:
            best, most = separator, found
    return best


def short_line(data: bytes, separator: str, width: int) -> str | None:
    """Return a sentence about the first line with fewer values than there are names; None where there is none."""
    with suppress(csv.Error):
        reader = _reader(data[:LONGEST_HEAD], separator)
        for row in reader:
            if 0 < len(row) < width:
                found, names = _several(len(row), "value"), _several(width, "name")
                said = f"Line {reader.line_num} has {found}, and the first line {names}"
                return f"{said}: what is not there counts as missing, as in all such lines."
    return None


def why(data: bytes, separator: str) -> str | None:
    """Return what is wrong with the lines of a text that is no table, by Python's csv reader; None where it finds nothing."""
    reader, width, begin = _reader(data, separator, strict=True), 0, 1
    try:
        for row in reader:
            if width and len(row) > width:
                return f"line {reader.line_num} has {_several(len(row), 'value')}, and the first has {_several(width, 'name')}"
            width, begin = width or len(row), reader.line_num + 1
    except csv.Error:
        return f"a quotation mark in line {begin} is out of place or never closed"
    return None


def begins_of(data: bytes, separator: str, rows: Sequence[int]) -> dict[int, int]:
    r"""Return in which line each of some rows begins, rows after the first line counted from 0: a value may go over several lines.

    Examples
    --------
    >>> begins_of(b'a,b\n1,"x\ny"\n2,z\n', ",", [0, 1])
    {0: 2, 1: 4}
    """
    plain = {row: row + 2 for row in rows}
    if b'"' not in data:
        return plain
    reader, begin, found = _reader(data, separator), 1, dict[int, int]()
    with suppress(csv.Error):
        for row, _ in enumerate(islice(reader, max(rows, default=-1) + 2), start=-1):
            if row in plain:
                found[row] = begin
            begin = reader.line_num + 1
    return found


def _reader(data: bytes, separator: str, strict: bool = False) -> Any:
    return csv.reader(io.StringIO(data.decode(errors="ignore"), newline=""), delimiter=separator, strict=strict)


def _several(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
