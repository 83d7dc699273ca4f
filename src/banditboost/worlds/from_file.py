"""Labelled data larger than memory: rounds are read from a file, a few blocks at a time."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from banditboost._core.checks import Array, count
from banditboost.datasets.blocks import open_blocks
from banditboost.encoder import Encoder
from banditboost.losses import Loss, Squared
from banditboost.noise import Noise
from banditboost.worlds.base import World, WorldBlock
from banditboost.worlds.supervised import Supervised

Piece = tuple[Any, Array, slice]
"""Contexts and labels of a block, and the rows of the block that are wanted."""
MOST_JOINED = 4096
"""Largest number of rounds that are kept joined from several blocks; more rounds are joined anew at every call."""


class FromFile(Supervised):
    r"""The rounds of `Supervised` from a Parquet or CSV file, in the file's order, without reading the whole file into memory.

    Memory holds two blocks of about 8 MB, and the rounds played at a time where they touch several blocks, however long the file
    is. Any round can be read at any time, but reading forward is fastest. Runs give the same numbers as with the same rows in
    memory. The file must not change while it is used.

    Parameters
    ----------
    path
        A Parquet file (one row group is decoded at a time, so that a row group of hundreds of megabytes is held whole), or
        comma-separated text whose name ends in ``.csv`` and whose first row names the columns: reading either needs the extra
        `cli`. Or a file of examples, in the format of Vowpal Wabbit (``.vw``) or svmlight (``.svm``), whose contexts are sparse.
    target
        Name of the column with the labels; ``"label"`` for a file of examples.
    features
        Names of the columns that are shown as contexts, in this order; by default all but the target. Without an encoder, columns
        must hold finite numbers (or true and false, which become 1 and 0). Other values raise an error when they are read: those of
        the first block at once, those of later blocks when their rounds are played, or all of them in `check`.
    loss, noise, seed
        As for `Supervised`.
    encoder
        True, or an `Encoder`: columns may hold words, dates in the form of ISO 8601 and missing values, too. Contexts are then
        sparse, with 2^bits indices, and the same as those of `Encoder.table` of the whole frame. A column of a CSV file whose
        first few megabytes are numbers must hold numbers, or nothing, to its end. A file of Vowpal Wabbit always has an encoder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "table.csv"
    ...     _ = path.write_text("x,y\n0.0,0\n1.0,1\n2.0,4\n3.0,9\n")
    ...     world = Supervised.scan(path, target="y")
    ...     tuning, testing = world.halves()
    ...     len(world), testing.context(0).tolist(), testing.values(0, np.array([3.0, 4.0])).tolist()
    (4, [2.0], [1.0, 0.0])

    A table with words, dates and missing values:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sales.csv"
    ...     _ = path.write_text("town,when,area,price\nRom,2026-05-01,40,90\nBonn,2026-05-02,,70\n")
    ...     world = Supervised.scan(path, target="price", encoder=True)
    ...     world.features, [world.contexts(t, t + 1).nnz for t in range(2)]
    (262144, [7, 7])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str,
        features: Sequence[str] | None = None,
        loss: Loss | None = None,
        noise: Noise | None = None,
        seed: int = 0,
        encoder: bool | Encoder | None = None,
    ) -> None:
        World.__init__(self, noise, seed)
        self.loss = Squared() if loss is None else loss
        self._blocks = open_blocks(path, target, features, encoder)
        self._range = range(self._blocks.rows)
        self._remember()
        self._read(0)  # a file that cannot be read raises an error now

    def _remember(self) -> None:
        # Consecutive rounds may lie in two blocks.
        self._read = lru_cache(maxsize=2)(self._blocks.read)
        # Rounds played at a time may lie in more blocks where rows are wide; they are asked for several times, so they are kept.
        self._joined: tuple[tuple[int, int | None], Any, Array] | None = None

    def __len__(self) -> int:
        return len(self._range)

    @property
    def features(self) -> int:
        """Length of a context."""
        return self._blocks.features

    @property
    def shape(self) -> tuple[int, ...]:
        """The empty shape: labels are plain numbers."""
        return ()

    @property
    def sparse(self) -> bool:
        """True for a file of examples and with an encoder: contexts are CSR arrays; columns of numbers are dense."""
        return self._blocks.sparse

    def _pieces(self, begin: int, end: int | None) -> Iterator[Piece]:
        """Yield the parts of blocks that make up rounds begin ... end-1: at least one part, which may be empty."""
        starts, wanted = self._blocks.starts, self._range[begin:end]
        first, block = wanted.start, min(bisect_right(starts, wanted.start), len(starts) - 1) - 1
        while True:
            contexts, labels = self._read(block)
            last = min(wanted.stop, starts[block + 1])
            yield contexts, labels, slice(first - starts[block], max(first, last) - starts[block])
            first, block = last, block + 1
            if first >= wanted.stop:
                return

    def contexts(self, begin: int = 0, end: int | None = None) -> Any:
        """Return the contexts of rounds begin ... end-1 as one array, which must fit into memory; CSR where the world is sparse."""
        return self._together([contexts[rows] for contexts, _, rows in self._pieces(begin, end)])

    def _together(self, parts: list[Any]) -> Any:
        return csr_array(vstack(parts)) if self.sparse else np.concatenate(parts)

    def labels(self, begin: int = 0, end: int | None = None) -> Array:
        """Return the labels of rounds begin ... end-1 as one array, for comparators and not for learners."""
        if self._joined is not None and self._joined[0] == (begin, end):
            return self._joined[2].copy()
        return np.concatenate([labels[rows] for _, labels, rows in self._pieces(begin, end)])

    def stored(self, begin: int = 0, end: int | None = None) -> tuple[Any, NDArray[np.intp]]:
        """Return contexts, and the indices of rounds begin ... end-1 in them; a block that has all these rounds is not copied."""
        if self._joined is None or self._joined[0] != (begin, end):
            self._joined = None
            pieces = list(self._pieces(begin, end))
            if len(pieces) == 1:
                contexts, _, rows = pieces[0]
                return contexts, np.arange(rows.start, rows.stop)
            together = self._together([contexts[rows] for contexts, _, rows in pieces])
            if together.shape[0] > MOST_JOINED:
                return together, np.arange(together.shape[0])
            self._joined = ((begin, end), together, np.concatenate([labels[rows] for _, labels, rows in pieces]))
        return self._joined[1], np.arange(self._joined[1].shape[0])

    def compiled_block(self, begin: int, end: int) -> WorldBlock:
        """Return the block as it is held, where one has all rounds."""
        return super().compiled_block(begin, end)

    def context(self, t: int) -> Array:
        """Return x_t as a dense array."""
        contexts, _, row = self._place(t)
        x: Array = contexts[[row]].toarray()[0] if self.sparse else contexts[row]
        return x

    def values(self, t: int, points: Array) -> Array:
        """Return ℓ(point, y_t)."""
        _, labels, row = self._place(t)
        return self.loss.value(points, labels[row])

    def gradients(self, t: int, points: Array) -> Array:
        """Return ∇ℓ(point, y_t)."""
        _, labels, row = self._place(t)
        return self.loss.gradient(points, labels[row])

    def _place(self, t: int) -> tuple[Any, Array, int]:
        row = self._range[t]
        block = bisect_right(self._blocks.starts, row) - 1
        return *self._read(block), row - self._blocks.starts[block]

    def begin(self) -> None:
        """Prepare for a run, and raise an error where the file has changed since it was opened."""
        self._blocks.check()

    def check(self) -> None:
        """Read all rounds once, so that a missing number near the end raises an error now and not late in a long run."""
        for _ in self._pieces(0, None):
            pass

    def shuffled(self, seed: int) -> NoReturn:
        """Raise an error, because a random order would read the whole file again for every few rounds."""
        raise ValueError(
            "shuffled needs all rows in memory, and this world reads them from a file in its order: "
            "write a shuffled file once and scan that, or give the rows to Supervised."
        )

    def halves(self) -> tuple[Self, Self]:
        """Return the first half of the rounds and the rest, for example to tune on one and to test on the other."""
        if len(self) < 2:
            raise ValueError(f"the world must have at least two rounds to be halved, got {len(self)}.")
        middle = len(self) // 2
        return self._part(self._range[:middle], 2 * self.seed), self._part(self._range[middle:], 2 * self.seed + 1)

    def head(self, rounds: int) -> Self:
        """Return the first `rounds` rounds, or all of them where there are fewer."""
        return self._part(self._range[: count("rounds", rounds, least=0)], self.seed)

    def _part(self, rows: range, seed: int) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__, _range=rows, seed=seed)
        copy._remember()
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_read", "_joined")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._remember()
