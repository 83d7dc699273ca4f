"""Blocks of comma-separated text: pieces of a few megabytes, cut between rows, each parsed by polars together with the header.

Polars maps the text that it parses into memory until it is done, so the pieces are kept small.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PanicException, PolarsError

from banditboost.datasets.blocks import Blocks, TableBlocks, choose
from banditboost.datasets.own_lines import NAMED, SNIFFED, separator_of

PIECE = 2**22
"""Bytes of a block, not counting the rest of its last row."""
LONGEST = 2**26
"""Largest number of bytes in a row; a longer row is refused, because it probably has an unclosed quotation mark."""


class CsvBlocks(TableBlocks):
    """Blocks of a CSV file, whose first row names the columns; quoted text may hold commas and line ends.

    The file is read once when it is opened, to find where its blocks begin. The first block decides which columns are boolean;
    every other column that is read must hold numbers. Where there are names, it also decides which columns hold words.
    """

    def __init__(self, path: Path, target: str, features: Sequence[str] | None, named: bool = False) -> None:
        super().__init__(path, target, features, named)
        with path.open("rb") as file:
            begin = file.tell() + len(self._find_header(file))
            names = self._parse(b"", n_rows=0).columns
            self.columns = choose(path, names, target, features)
            self._types: dict[str, Any] = dict.fromkeys(self.columns, pl.Float64)
            places, starts = [begin], [0]
            file.seek(begin)
            for piece in _pieces(file, path):
                if len(starts) == 1:
                    self._find_types(piece, named)
                # The first column is enough to count rows; the others are parsed when the block is read.
                rows = self._parse(piece, columns=[0], infer_schema_length=0).height
                places.append(places[-1] + len(piece))
                starts.append(starts[-1] + rows)
        if starts[-1] == 0:
            raise ValueError(f"{path} must have at least one row, got none.")
        self.starts, self._places = tuple(starts), places

    @classmethod
    def numeric(cls, path: Path) -> dict[str, bool]:
        """Return the columns by name, and whether each holds numbers or booleans in the first few megabytes."""
        blocks = cls.__new__(cls)
        Blocks.__init__(blocks, path)
        with path.open("rb") as file:
            file.seek(len(blocks._find_header(file)))
            piece = next(_pieces(file, path), b"")
        found = blocks._parse(piece, infer_schema_length=None)
        return {
            name: bool(kind.is_numeric() or kind == pl.Boolean or _all_numbers(found[name]))
            for name, kind in found.schema.items()
        }

    def _find_header(self, file: BinaryIO) -> bytes:
        """Store the row that names the columns, and return it as it is written."""
        self._header = b""
        while not self._header.strip() or self._header.count(b'"') % 2:
            line = file.readline(LONGEST)
            if not line:
                raise ValueError(f"{self.path} must have a row that names its columns, got none.")
            self._header += line
            _short_enough(self._header, self.path)
        header, self._header = self._header, self._header.rstrip(b"\r\n") + b"\n"
        _with_commas(header + file.read(SNIFFED), header, self.path)
        file.seek(0)
        return header

    def _find_types(self, piece: bytes, named: bool) -> None:
        found = self._parse(piece, columns=list(self.columns), infer_schema_length=None)
        self._types |= {name: pl.Boolean for name, kind in found.schema.items() if kind == pl.Boolean}
        if named:
            words = [name for name in self.columns[:-1] if found.schema[name] == pl.String]
            self._types |= {name: pl.String for name in words if not _all_numbers(found[name])}

    def typed(self, block: int) -> pl.DataFrame:
        """Read the columns of a block; what is not of its column's kind becomes null, and `_entry` reads it again as text."""
        frame = self._parse(
            self._piece(block), columns=list(self.columns), schema_overrides=self._types, ignore_errors=True
        )
        return frame.select(*self.columns[:-1], pl.col(self.columns[-1]).cast(pl.Float64))

    def _frame(self, block: int) -> pl.DataFrame:
        return self.typed(block).select([pl.col(name).cast(pl.Float64) for name in self.columns])

    def missing(self, block: int, frame: pl.DataFrame, column: str) -> NDArray[np.bool_]:
        """Return which entries are empty: what is no number is null in the frame as well."""
        return self._parse(self._piece(block), columns=[column], infer_schema_length=0)[column].is_null().to_numpy()

    def _entry(self, block: int, row: int, column: str) -> str | float | None:
        entry: str | None = self._parse(self._piece(block), columns=[column], infer_schema_length=0)[column][row]
        return entry

    def _kind(self, column: str) -> str:
        return "true or false" if self._types[column] == pl.Boolean else "numbers"

    def _piece(self, block: int) -> bytes:
        first, end = self._places[block : block + 2]
        with self.path.open("rb") as file:
            file.seek(first)
            return file.read(end - first)

    def _parse(self, piece: bytes, **options: Any) -> pl.DataFrame:
        try:
            return pl.read_csv(io.BytesIO(self._header + piece), **options)
        except (PolarsError, PanicException) as error:
            self._unreadable(error)

    def _unreadable(self, error: BaseException) -> NoReturn:
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ValueError(
            f"{self.path} must have as many values in every row as columns, but reading it fails: {reason}."
        ) from None


def _with_commas(head: bytes, header: bytes, path: Path) -> None:
    """Raise where the first lines have no commas between their names, and something else that separates them."""
    separator = separator_of(head.decode(errors="ignore"))
    if b"," not in header and separator != ",":
        raise ValueError(
            f"{path} must have commas between its values, got {NAMED[separator]}: write it so, or as Parquet."
        )


def _all_numbers(column: pl.Series) -> bool:
    """Return whether all entries of a column that is read as text are numbers, as ``nan``, which the reader takes for a word, is.

    It is so, too, where there is no entry: that may be a loss that has not come.
    """
    entries = column.drop_nulls()
    return entries.dtype == pl.String and entries.str.strip_chars().cast(pl.Float64, strict=False).null_count() == 0


def _pieces(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the rest of a file in pieces that end with a row, that is, at a line end outside quotation marks."""
    rest = b""
    while data := file.read(PIECE):
        rest += data
        end = _last_row_end(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
        else:
            _short_enough(rest, path)
    if rest:
        yield rest


def _short_enough(row: bytes, path: Path) -> None:
    if len(row) > LONGEST:
        raise ValueError(
            f"{path} must have rows of at most {LONGEST} bytes, got a longer one: is a quotation left open?"
        )


def _last_row_end(text: bytes) -> int:
    """Return the position where the last complete row ends, or 0 where there is none."""
    end = text.rfind(b"\n") + 1
    marks = text.count(b'"', 0, end)
    while end and marks % 2:
        before = text.rfind(b"\n", 0, end - 1) + 1
        marks -= text.count(b'"', before, end)
        end = before
    return end
