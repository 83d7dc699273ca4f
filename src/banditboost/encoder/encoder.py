"""The one encoder of the library: how a context with names becomes indices and values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import LARGEST, Array, count
from banditboost._core.spec import Spec
from banditboost.encoder.hashing import Kind, encoded, salt_of
from banditboost.encoder.pairs import Pairs, Reader
from banditboost.encoder.rows import contexts_of, named

FEWEST_BITS, MOST_BITS = 1, 24
"""An encoder's space has between 2 and 16,777,216 indices."""


class Row(NamedTuple):
    """One context as a sparse row."""

    indices: NDArray[np.int64]
    """Ascending, each once."""
    values: Array
    """None of them is zero."""


@dataclass(frozen=True)
class Encoder(Spec, kind="encoder.Encoder"):
    """How contexts with names become features in a space of 2^bits indices, by a hash that is the same on every machine.

    What an index stands for follows from the name alone, so that new names and words may come at any time, nothing has to be
    learned before the first context, and two processes agree without talking to each other.

    - A number is a feature of its name, with its value; one of zero is not stored.
    - A word is an indicator of its name and the word, and so is a truth value (``true``, ``false``); blanks around it do not count.
    - A list of words is a bag: one feature for every word, with the number of times that it occurs.
    - None, NaN and the empty text are an indicator that the name is missing; a name that is absent has no feature at all.
    - A date, or a text such as ``2026-05-01`` or ``2026-05-01T13:00``, is a number of days since 1970-01-01, and sine and cosine of
      the week, the year and, where there is one, the hour of the day (`banditboost.encoder.moments`); a span of time is a number of
      days.
    - Names in a dictionary within a dictionary are joined: ``{"user": {"age": 41}}`` has the name ``user.age``.

    Parameters
    ----------
    bits
        The space has 2^bits indices; features that share an index share what is learned about it.
    seed
        Another seed gives every feature another index.
    signed
        Whether half the features, by their hash, count with the opposite sign. Where features share an index, inner products of two
        contexts are then unbiased over seeds (Weinberger et al. 2009, "Feature Hashing for Large Scale Multitask Learning", Lemma
        2); without shared indices nothing changes but the sign of weights.
    dates
        Whether texts in the form of ISO 8601 are dates; else they are words.
    separator
        Stands between the names of nested dictionaries.
    names
        How many features are remembered by name, to say what an index stands for (`Names.explain`).

    Examples
    --------
    >>> encoder = Encoder(bits=10)
    >>> row = encoder.encode({"city": "Rom", "age": 41, "basket": ["a17", "b03", "a17"], "member": True, "note": None})
    >>> row.indices.tolist(), row.values.tolist()
    ([134, 164, 320, 428, 781, 973], [1.0, 1.0, 2.0, 1.0, 41.0, 1.0])
    >>> encoder.table([{"age": 41}, {"city": "Rom", "age": 42}])[:, [781, 973]].toarray().tolist()
    [[41.0, 0.0], [42.0, 1.0]]
    """

    bits: int = 18
    seed: int = 0
    signed: bool = False
    dates: bool = True
    separator: str = "."
    names: int = 100_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if count("bits", self.bits) > MOST_BITS:
            raise ValueError(f"bits must be at most {MOST_BITS}, got {self.bits}.")
        if count("seed", self.seed, least=0) >= 2**64:
            raise ValueError(f"seed must be below 2**64, got {self.seed}.")
        if count("names", self.names, least=0) > 2**24:
            raise ValueError(f"names must be at most {2**24}, got {self.names}.")
        for name in ("signed", "dates"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be True or False, got {getattr(self, name)!r:.50}.")
        if not isinstance(self.separator, str) or not 1 <= len(self.separator) <= 8 or not self.separator.isprintable():
            raise ValueError(f"separator must be a few characters, got {self.separator!r:.50}.")

    @property
    def width(self) -> int:
        """Number of indices."""
        return 1 << self.bits

    def encode(self, x: Any) -> Row:
        """Return a context as indices, ascending and each once, and values.

        Parameters
        ----------
        x
            A dictionary; or a named tuple, a data class, a Series of pandas, or anything else that has names.
        """
        return self.row(self.pairs(x))

    def pairs(self, x: Any) -> Pairs:
        """Return the features of a context by hash, before several share an index."""
        reader = Reader(salt_of(self.seed), self.dates, self.separator)
        reader.read(named(x))
        return reader.pairs()

    def numbers(self, items: Iterable[tuple[str, float]]) -> Pairs:
        """Return features that are numbers under names; those of a name that comes again are added up.

        What a file of features in the form ``name:value`` needs: the same as `pairs` of a dictionary, where no name comes twice.
        """
        reader = Reader(salt_of(self.seed), self.dates, self.separator)
        for name, value in items:
            reader.add(Kind.NUMBER, name, encoded("name", name), "", value)
        return reader.pairs()

    def row(self, pairs: Pairs) -> Row:
        """Return features as a sparse row: those that share an index are added up, and zeros are left out."""
        indices = pairs.hashes & (self.width - 1)
        values = np.where(pairs.hashes < 0, -pairs.values, pairs.values) if self.signed else pairs.values
        order = np.argsort(
            indices, kind="stable"
        )  # within an index in the order of hashes, so that sums are the same bit for bit
        indices, values = indices[order], values[order]
        first = np.flatnonzero(np.diff(indices, prepend=-1))
        if len(first) < len(indices):
            values = np.add.reduceat(values, first)
            indices = indices[first]
        if len(values) and np.abs(values).max() > LARGEST:
            raise ValueError(
                f"x must hold numbers between -{LARGEST:g} and {LARGEST:g}, got larger ones where some share an index."
            )
        kept = values != 0
        return Row(indices[kept], values[kept]) if not kept.all() else Row(indices, values)

    def table(self, contexts: Any) -> csr_array:
        """Return a table of contexts as a sparse array of shape (rows, 2^bits).

        Parameters
        ----------
        contexts
            A frame of polars or pandas, an Arrow table, or contexts one after the other.
        """
        return stacked((self.encode(x) for x in contexts_of(contexts)), self.width)


def stacked(rows: Iterable[Row], width: int) -> csr_array:
    """Return sparse rows as one array."""
    made = list(rows)
    starts = np.cumsum([0, *(len(row.indices) for row in made)], dtype=np.int64)
    indices = np.concatenate([np.zeros(0, np.int64), *(row.indices for row in made)])
    values = np.concatenate([np.zeros(0), *(row.values for row in made)])
    return csr_array((values, indices, starts), shape=(len(made), width))


def columns_of(rows: csr_array, used: NDArray[np.int64]) -> csr_array:
    """Return some columns of sparse rows, by ascending indices; those that the rows do not have are empty."""
    places = np.searchsorted(used, rows.indices)
    kept = np.append(used, -1)[places] == rows.indices
    counts = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return csr_array((rows.data[kept], places[kept], counts), shape=(rows.shape[0], len(used)))


def most_used(rows: csr_array, most: int) -> NDArray[np.int64]:
    """Return, ascending, the indices that are not zero in the most rows: all of them, or the first so many.

    Examples
    --------
    >>> most_used(csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), 5), most_used(csr_array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), 1)
    (array([0, 2]), array([2]))
    """
    met, times = np.unique(rows.indices, return_counts=True)
    return np.sort(met[np.argsort(-times, kind="stable")[:most]]).astype(np.int64)


def chosen(encoder: bool | Encoder | None) -> Encoder | None:
    """Return the encoder that an argument stands for: True is the usual one, False and None are none."""
    if encoder is None or encoder is False:
        return None
    if encoder is True:
        return Encoder()
    if not isinstance(encoder, Encoder):
        raise ValueError(f"encoder must be True, False or an Encoder, got {encoder!r:.100}.")
    return encoder
