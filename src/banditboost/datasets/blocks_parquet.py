"""Blocks of a Parquet file: slices of rows, for which polars decodes only the row groups that they touch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import polars as pl
from polars.exceptions import PanicException, PolarsError

from banditboost.datasets.blocks import TableBlocks, choose

NUMBERS = 2**20
"""Largest number of values in a block; smaller blocks decode a row group more often, larger ones need more memory."""


class ParquetBlocks(TableBlocks):
    """Blocks of a Parquet file, from which boolean and numeric columns can be read, and others where there are names.

    Blocks are read as slices, because streams of batches (``collect_batches``) read ahead by hundreds of megabytes. Reading takes
    less time than a run in either case.
    """

    def __init__(self, path: Path, target: str, features: Sequence[str] | None, named: bool = False) -> None:
        super().__init__(path, target, features, named)
        try:
            schema = pl.scan_parquet(path, glob=False).collect_schema()
            rows = int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
        except (PolarsError, PanicException, OSError) as error:
            self._unreadable(error)
        self.columns = choose(path, schema.names(), target, features)
        for name in self.columns[-1:] if named else self.columns:
            if not _is_number(schema[name]):
                raise ValueError(f"column {name!r} must hold numbers, got {schema[name]}{self.way_out(name)}.")
        if rows == 0:
            raise ValueError(f"{path} must have at least one row, got none.")
        self.starts = (*range(0, rows, max(1, NUMBERS // len(self.columns))), rows)

    @classmethod
    def numeric(cls, path: Path) -> dict[str, bool]:
        """Return the columns by name, and whether each holds numbers or booleans."""
        try:
            schema = pl.scan_parquet(path, glob=False).collect_schema()
        except (PolarsError, PanicException, OSError) as error:
            raise _broken(path, error) from None
        return {name: _is_number(kind) for name, kind in schema.items()}

    def _frame(self, block: int) -> pl.DataFrame:
        return self._select(block, [pl.col(name).cast(pl.Float64) for name in self.columns])

    def typed(self, block: int) -> pl.DataFrame:
        """Read the columns of a block as the file has them, the target as floats."""
        return self._select(block, [*map(pl.col, self.columns[:-1]), pl.col(self.columns[-1]).cast(pl.Float64)])

    def _select(self, block: int, columns: list[pl.Expr]) -> pl.DataFrame:
        first, end = self.starts[block : block + 2]
        try:
            return pl.scan_parquet(self.path, glob=False).slice(first, end - first).select(columns).collect()
        except (PolarsError, PanicException, OSError) as error:
            self.check()
            self._unreadable(error)

    def _unreadable(self, error: BaseException) -> NoReturn:
        raise _broken(self.path, error) from None


def _is_number(kind: pl.DataType) -> bool:
    return bool(kind.is_numeric() or kind == pl.Boolean)


def _broken(path: Path, error: BaseException) -> ValueError:
    why = (str(error).splitlines() or [""])[0].rstrip(".")
    return ValueError(f"{path} must be a whole Parquet file, but reading it fails: {why}.")
