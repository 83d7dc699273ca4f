"""Blocks of a file of examples: sparse rows, of indices that an encoder gives to names, or of the file's own indices."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost.datasets.blocks import Blocks
from banditboost.datasets.example_lines import Format
from banditboost.datasets.examples import ExampleReader, pieces, split
from banditboost.encoder import Encoder

LABEL = "label"
"""What the target of a file of examples is called."""


class ExampleBlocks(Blocks):
    """Blocks of a file in the format of Vowpal Wabbit or svmlight.

    The file is read once when it is opened, to find where its blocks begin, and for svmlight how many features there are.
    """

    sparse = True

    def __init__(self, path: Path, format: Format, target: str, encoder: Encoder | None) -> None:
        super().__init__(path)
        if target != LABEL:
            raise ValueError(f"target must be '{LABEL}' for a file of examples, got {target!r:.100}.")
        self.columns = (LABEL,)
        self.encoder, self.format = encoder or Encoder(), format
        places, starts, lines, width = [0], [0], [1], 1
        reader = self._reader()
        with path.open("rb") as file:
            for piece in pieces(file, path):
                found = split(piece)
                rows = sum(bool(line.strip()) and not line.startswith(b"#") for line in found)
                if format == "svmlight":
                    width = max(width, reader.read(found, lines[-1]).rows.shape[1])
                places.append(places[-1] + len(piece))
                starts.append(starts[-1] + rows)
                lines.append(lines[-1] + len(found))
        if starts[-1] == 0:
            raise ValueError(f"{path} must have at least one example, got none.")
        self.starts, self._places, self._lines = tuple(starts), places, lines
        self._width = self.encoder.width if format == "vw" else width

    def _reader(self) -> ExampleReader:
        return ExampleReader(self.path, self.format, self.encoder)

    @property
    def features(self) -> int:
        """Number of indices."""
        return self._width

    def read(self, block: int) -> tuple[Any, Array]:
        """Return the rows of a block as CSR, and their labels."""
        self.check()
        first, end = self._places[block : block + 2]
        with self.path.open("rb") as file:
            file.seek(first)
            piece = file.read(end - first)
        found = self._reader().read(split(piece), self._lines[block], note=False)
        self.check()
        without = np.flatnonzero(np.isnan(found.labels))
        if len(without):
            raise ValueError(
                f"{self.path} must have a label in every example, got none in example {self.starts[block] + without[0] + 1}."
            )
        if len(found.labels) != self.starts[block + 1] - self.starts[block]:
            raise ValueError(f"{self.path} must have {self.rows} examples, but reading it again gave another number.")
        rows = found.rows
        return csr_array((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], self._width)), found.labels
