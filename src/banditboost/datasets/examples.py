"""Files of examples, one a line: features by name (Vowpal Wabbit) or by index (svmlight), read in blocks as sparse rows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost.datasets.example_lines import READERS, SUFFIXES, Format
from banditboost.encoder import Encoder, Names, Row
from banditboost.encoder.encoder import stacked
from banditboost.encoder.pairs import MOST

PIECE = 2**22
"""Bytes of a block, not counting the rest of its last line."""
LONGEST = 2**24
"""Most bytes of a line."""


class Examples(NamedTuple):
    """Rows and labels of a block, or of a whole file."""

    rows: csr_array
    """Shape (examples, width)."""
    labels: Array
    """NaN where an example has none."""
    weighted: int
    """How many examples have an importance other than one, which is not used."""


def format_of(path: str | os.PathLike[str]) -> Format | None:
    """Return the format of a file of examples by its name; None where it is none.

    Examples
    --------
    >>> format_of("clicks.vw"), format_of("a9a.svm"), format_of("table.csv")
    ('vw', 'svmlight', None)
    """
    return SUFFIXES.get(Path(path).suffix.lower())


class ExampleReader:
    """Reads lines of a file: as rows of the encoder's indices where features have names, or of their own indices.

    Parameters
    ----------
    path
        The file, for error messages.
    format
        Of its lines.
    encoder
        For features with names; what was met is kept in `names`.
    """

    def __init__(self, path: Path, format: Format, encoder: Encoder) -> None:
        self.path, self.format, self.encoder = path, format, encoder
        self.names = Names(encoder) if format == "vw" else None

    def read(self, lines: list[bytes], first: int, note: bool = True) -> Examples:
        """Return the examples of some lines, of which the first has a number; blank lines and comments are none."""
        rows, labels, weighted = list[Row](), list[float](), 0
        for place, data in enumerate(lines):
            if not data.strip() or data.startswith(b"#"):
                continue
            try:
                line = READERS[self.format](data.decode())
                rows.append(self._row(line.features, note))
            except ValueError as error:
                why = "must be written in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error).rstrip(".")
                raise ValueError(f"Line {first + place} of {self.path} {why}.") from None
            labels.append(np.nan if line.label is None else line.label)
            weighted += line.weight != 1
        width = self.encoder.width
        if self.names is None:
            width = 1 + max((int(row.indices.max(initial=0)) for row in rows), default=0)
        return Examples(stacked(rows, width), np.array(labels, dtype=np.float64), weighted)

    def _row(self, features: list[tuple[str, float]], note: bool) -> Row:
        if len(features) > MOST:
            raise ValueError(f"must have at most {MOST:,} features, got {len(features):,}")
        if self.names is not None:
            pairs = self.encoder.numbers(features)
            if note:
                self.names.note(pairs)
            return self.encoder.row(pairs)
        total: dict[int, float] = {}
        for name, value in features:
            total[int(name)] = total.get(int(name), 0.0) + value
        kept = sorted(index for index, value in total.items() if value)
        return Row(np.array(kept, dtype=np.int64), np.array([total[index] for index in kept], dtype=np.float64))


def pieces(file: BinaryIO, path: Path) -> Iterator[bytes]:
    """Give a file in pieces that end with a line."""
    rest = b""
    while data := file.read(PIECE):
        rest += data
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
        elif len(rest) > LONGEST:
            raise ValueError(f"{path} must have lines of at most {LONGEST:,} bytes, got a longer one.")
    if rest:
        yield rest


def split(piece: bytes) -> list[bytes]:
    """Return the lines of a piece; only a line feed ends one, as other readers have it."""
    lines = piece.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def read_examples(path: str | os.PathLike[str], encoder: Encoder | None = None) -> tuple[Examples, ExampleReader]:
    r"""Read a whole file of examples, whose name ends in ``.vw``, ``.svm``, ``.svmlight`` or ``.libsvm``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "clicks.vw"
    ...     _ = file.write_text("1 |user age:42 rome\n-1 |user age:17\n")
    ...     examples, reader = read_examples(file)
    >>> examples.rows.shape, examples.rows.nnz, examples.labels.tolist()
    ((2, 262144), 3, [1.0, -1.0])
    >>> sorted(text for texts in reader.names.explained().values() for text in texts)
    ['user^age', 'user^rome']
    """
    file = Path(path)
    format = format_of(file)
    if format is None:
        raise ValueError(f"path must end in {', '.join(SUFFIXES)}, got {file}.")
    if not file.is_file():
        raise FileNotFoundError(f"There is no file {file}.")
    reader, found, line = ExampleReader(file, format, encoder or Encoder()), list[Examples](), 1
    with file.open("rb") as raw:
        for piece in pieces(raw, file):
            lines = split(piece)
            found.append(reader.read(lines, line))
            line += len(lines)
    if not sum(len(block.labels) for block in found):
        raise ValueError(f"{file} must have at least one example, got none.")
    return joined(found), reader


def joined(found: list[Examples]) -> Examples:
    """Return blocks of examples as one."""
    width = max(block.rows.shape[1] for block in found)
    rows = [block.rows for block in found]
    starts = np.concatenate([[0], *(np.diff(block.indptr) for block in rows)]).cumsum()
    together = np.concatenate([block.data for block in rows]), np.concatenate([block.indices for block in rows]), starts
    return Examples(
        csr_array(together, shape=(len(starts) - 1, width)),
        np.concatenate([block.labels for block in found]),
        sum(block.weighted for block in found),
    )
