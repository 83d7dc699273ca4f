"""A table on disk that is read in blocks of rows, so that memory use does not grow with the file.

No state is kept between two blocks, so that any block can be read at any time, by any number of readers.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.encoder import Encoder, chosen

if TYPE_CHECKING:
    import polars as pl


class Blocks(ABC):
    """Contexts and labels of a file, read one block of rows at a time.

    Error messages count rows from 1, without the header.
    """

    columns: tuple[str, ...]
    """Names of the columns that are read: those of the features, where rows have the same ones, then that of the target."""
    starts: tuple[int, ...]
    """Index of the first row of every block, followed by the number of rows."""

    sparse = False
    """Whether `read` gives CSR arrays."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = _state(path)

    @property
    def rows(self) -> int:
        """Number of rows of the file."""
        return self.starts[-1]

    @property
    @abstractmethod
    def features(self) -> int:
        """Number of features of a row."""

    @abstractmethod
    def read(self, block: int) -> tuple[Any, Array]:
        """Return the features of a block's rows, shape (rows, features), and their targets."""

    def check(self) -> None:
        """Raise an error where the file has changed since it was opened."""
        if _state(self.path, missing=None) != self._state:
            raise ValueError(f"{self.path} must stay as it was when it was scanned, but it has changed: scan it again.")


class TableBlocks(Blocks):
    """Blocks of a table: numbers of some of its columns or, where there are names, whatever its columns hold.

    Parameters
    ----------
    path, target, features
        As for `open_blocks`.
    named
        Whether features may also hold words, dates and missing values, which `typed` reads.
    """

    hint = "features can leave it out, and encoder=True takes words, dates and missing values"
    """What error messages say about a column that cannot be used."""

    @abstractmethod
    def __init__(self, path: Path, target: str, features: Sequence[str] | None, named: bool = False) -> None:
        super().__init__(path)

    @classmethod
    @abstractmethod
    def numeric(cls, path: Path) -> dict[str, bool]:
        """Return a file's columns, and whether each holds numbers or booleans."""

    @abstractmethod
    def typed(self, block: int) -> pl.DataFrame:
        """Read the columns of a block as what they hold: numbers, truth values, words, dates; the target as floats."""

    @abstractmethod
    def _frame(self, block: int) -> pl.DataFrame:
        """Read the columns of a block as floats, null where there is no number."""

    def _entry(self, block: int, row: int, column: str) -> str | float | None:
        """Return the entry of a block where a number was expected; None where it is missing."""
        entry: float | None = self.typed(block)[column][row]
        return entry

    def _kind(self, column: str) -> str:
        """Return what a column must hold, for error messages."""
        return "numbers"

    @property
    def features(self) -> int:
        """Number of columns that are features."""
        return len(self.columns) - 1

    def read(self, block: int) -> tuple[Any, Array]:
        """Return the features of a block's rows, shape (rows, features), and their targets."""
        values = self.values(block)
        return np.ascontiguousarray(values[:, :-1]), values[:, -1].copy()

    def values(self, block: int, may_miss: Sequence[str] = ()) -> Array:
        """Return all columns of a block's rows; entries may be missing in some of them, and are NaN there."""
        self.check()
        frame = self._frame(block)
        self.whole(block, frame)
        values = frame.to_numpy()
        bad = ~np.isfinite(values)
        for name in may_miss if bad.any() else ():
            bad[:, self.columns.index(name)] &= ~self.missing(block, frame, name)
        if bad.any():
            self.refuse(block, bad)
        self.check()  # the file must not have changed while it was read, either
        return values

    def way_out(self, column: str) -> str:
        """Return what error messages say of a column that cannot be used; of the target there is nothing to say."""
        return "" if column == self.columns[-1] else f": {self.hint}"

    def whole(self, block: int, frame: pl.DataFrame) -> None:
        """Raise an error where a block that was read has not as many rows as when the file was opened."""
        if frame.height != self.starts[block + 1] - self.starts[block]:
            self.check()
            raise ValueError(
                f"{self.path} must have {self.rows} rows, but reading it again gave another number of rows."
            )

    def missing(self, block: int, frame: pl.DataFrame, column: str) -> NDArray[np.bool_]:
        """Return which entries of a column are missing; what is there and is no number is not."""
        return frame[column].is_null().to_numpy()

    def refuse(self, block: int, bad: NDArray[np.bool_]) -> None:
        """Raise an error that names the first row and column without a finite number."""
        row = int(bad.any(axis=1).argmax())
        name = self.columns[int(bad[row].argmax())]
        entry, place = self._entry(block, row, name), f"in row {self.starts[block] + row + 1}"
        if entry is None:
            raise ValueError(f"column {name!r} must have no missing values, got one {place}{self.way_out(name)}.")
        try:
            number = float(entry)
        except ValueError:
            number = 0.0
        if not math.isfinite(number):
            raise ValueError(f"column {name!r} must be finite, got {number} {place}.")
        kind = self._kind(name)
        raise ValueError(f"column {name!r} must hold {kind}, got {entry!r} {place}{self.way_out(name)}.")


def choose(path: Path, columns: Sequence[str], target: str, features: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the columns to read, with the target last."""
    known, shown = set(columns), few(columns)
    if target not in known:
        raise ValueError(f"target must be a column of {path} ({shown}), got {target!r}.")
    if isinstance(features, str):
        raise ValueError(f"features must be a list of columns, got {features!r}.")
    names = [name for name in columns if name != target] if features is None else list(features)
    for name in names:
        if name not in known:
            raise ValueError(f"features must be columns of {path} ({shown}), got {name!r}.")
    if target in names:
        raise ValueError(f"features must not contain the target, got {target!r}.")
    if len(set(names)) != len(names):
        raise ValueError(f"features must name at least one column, and none twice, got {names!r:.200}.")
    return (*names, target)


def few(names: Sequence[str]) -> str:
    """Return the first names of a table for an error message; a file that is not a table may have long or unprintable ones."""
    shown = (name if name.isprintable() and len(name) < 60 else f"{name!r:.60}" for name in names[:5])
    return ", ".join(shown) + (", ..." if len(names) > 5 else "")


def open_blocks(
    path: str | os.PathLike[str],
    target: str,
    features: Sequence[str] | None = None,
    encoder: bool | Encoder | None = None,
) -> Blocks:
    r"""Open a Parquet file, comma-separated text with a header whose name ends in ``.csv``, or a file of examples.

    The first two need the extra `cli`; without an encoder, their columns must hold numbers. A file of examples, in the format of
    Vowpal Wabbit or svmlight, is known by the end of its name (`banditboost.datasets.example_lines.SUFFIXES`); its target is called
    ``label``, and its rows are sparse.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("x,y,seen\n0.5,1,true\n1.5,2,false\n")
    ...     blocks = open_blocks(path, target="y")
    ...     contexts, labels = blocks.read(0)
    >>> blocks.columns, contexts.tolist(), labels.tolist()
    (('x', 'seen', 'y'), [[0.5, 1.0], [1.5, 0.0]], [1.0, 2.0])
    """
    from banditboost.datasets.example_lines import SUFFIXES

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"path must be an existing file, got {path}.")
    if (format := SUFFIXES.get(path.suffix.lower())) is not None:
        from banditboost.datasets.blocks_examples import ExampleBlocks

        if features is not None:
            raise ValueError("features must be left out for a file of examples, whose rows are sparse.")
        return ExampleBlocks(path, format, target, chosen(encoder))
    names = chosen(encoder)
    blocks = _kind(path)(path, target, features, named=names is not None)
    if not blocks.features:
        raise ValueError("features must name at least one column, and none twice, got [].")
    if names is None:
        return blocks
    from banditboost.datasets.blocks_named import NamedBlocks

    return NamedBlocks(blocks, names)


def open_table(path: str | os.PathLike[str], target: str, features: Sequence[str]) -> TableBlocks:
    """Open a Parquet or CSV file whose columns hold numbers."""
    return _kind(Path(path))(Path(path), target, features)


def numeric_columns(path: str | os.PathLike[str]) -> dict[str, bool]:
    """Return the names of a file's columns in order, and whether each holds numbers, or true and false, as far as can be told.

    The first megabytes of a CSV file decide.
    """
    path = Path(path)
    return _kind(path).numeric(path)


def _kind(path: Path) -> type[TableBlocks]:
    """Return the class that reads a file."""
    try:
        import polars  # noqa: F401 - imported here so that one place raises the error where it is missing
    except ImportError:
        raise ImportError(f"Scanning {path} needs polars: pip install 'banditboost[cli]'.") from None
    from banditboost.datasets.blocks_csv import CsvBlocks
    from banditboost.datasets.blocks_parquet import ParquetBlocks

    if not path.is_file():
        raise FileNotFoundError(f"path must be an existing file, got {path}.")
    if path.suffix.lower() == ".csv":
        return CsvBlocks
    with path.open("rb") as file:
        if file.read(4) != b"PAR1":
            raise ValueError(f"path must be a Parquet file, or text whose name ends in .csv, got {path}.")
    return ParquetBlocks


def _state(path: Path, missing: object = ...) -> object:
    """Return size, time and identity of a file, which change when the file does."""
    try:
        found = path.stat()
    except OSError:
        if missing is ...:
            raise
        return missing
    return found.st_size, found.st_mtime_ns, found.st_ino
