"""Blocks of a table whose columns hold words, dates and missing values: sparse rows, which an encoder makes of names and values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.datasets.blocks import Blocks, TableBlocks
from banditboost.encoder import Encoder

if TYPE_CHECKING:
    import polars as pl


class NamedBlocks(Blocks):
    """Blocks of a Parquet or CSV file through the encoder of named features: the same rows as `Encoder.table` of the whole frame.

    Nothing is learned from the file but, for text, which columns hold numbers, by their first few megabytes.
    """

    sparse = True

    def __init__(self, table: TableBlocks, encoder: Encoder) -> None:
        super().__init__(table.path)
        self.table, self.encoder = table, encoder
        self.columns, self.starts = table.columns, table.starts
        table.hint = "the beginning of the column has only those, and features can leave it out"

    @property
    def features(self) -> int:
        """Number of indices of the encoder."""
        return self.encoder.width

    def read(self, block: int) -> tuple[Any, Array]:
        """Return the rows of a block as CSR, and their labels."""
        self.check()
        frame = self.table.typed(block)
        self.table.whole(block, frame)
        bad = self._unread(block, frame)
        if bad.any():
            self.table.refuse(block, bad)
        self.check()
        return self.encoder.table(frame.select(self.columns[:-1])), frame[self.columns[-1]].to_numpy().copy()

    def _unread(self, block: int, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """Return the entries that are neither missing nor of their column's kind; the target must be there, too."""
        bad = np.zeros(frame.shape, dtype=np.bool_)
        for place, series in enumerate(frame.get_columns()[:-1]):
            if series.dtype.is_float():
                bad[:, place] = series.is_infinite().fill_null(False).to_numpy()
            if series.null_count():
                bad[:, place] |= series.is_null().to_numpy() & ~self.table.missing(block, frame, series.name)
        bad[:, -1] = ~np.isfinite(frame[self.columns[-1]].to_numpy())
        return bad
