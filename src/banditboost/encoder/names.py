"""What is remembered of the features that were met: what an index stands for, which are shared, and which have a column."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.encoder.encoder import Encoder, Row
from banditboost.encoder.pairs import Pairs

LONGEST = 200
"""Most characters that are remembered of a feature's name."""
ARRAYS = ("owners", "shared", "counts", "named", "ends", "text", "columns")


class Collisions(NamedTuple):
    """How far features share indices, exactly, as long as no two of them agree in all 64 bits of their hashes."""

    indices: int
    """How many indices were used."""
    shared: int
    """How many of them by several features."""
    values: int
    """How many values were encoded."""
    mixed: int
    """How many of them at an index that another feature had used first."""

    def __str__(self) -> str:
        share = self.mixed / self.values if self.values else 0.0
        return f"{self.indices:,} indices, {self.shared:,} of them shared; {share:.2%} of values at an index of another feature"


class Names:
    """The names that an encoder has met, in bounded memory.

    Indices do not depend on it: it says what they stand for, and how many are shared. For every index the hash of the feature that
    used it first is kept, 8 bytes each, so that sharing is noticed however many features there are; the first `Encoder.names` of
    them are kept by name.

    Examples
    --------
    >>> encoder = Encoder(bits=4)
    >>> names = Names(encoder)
    >>> for word in ("red", "green", "blue", "pink", "red"):
    ...     names.note(encoder.pairs({"colour": word}))
    >>> print(names.collisions)
    3 indices, 1 of them shared; 20.00% of values at an index of another feature
    >>> names.explained()
    {0: ('colour=red', 'colour=pink'), 3: ('colour=green',), 9: ('colour=blue',)}
    """

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._owners = np.zeros(encoder.width, dtype=np.int64)
        self._shared = np.zeros(encoder.width, dtype=np.bool_)
        self._values = self._mixed = self.left_out = 0
        """How many values found no column, where columns are given out; before, how many were met, and where another was first."""
        self._named: dict[int, str] = {}
        """What people call features, by hash, in the order in which they came."""
        self._columns: dict[int, int] = {}
        """Columns by index, in the order in which indices came."""

    @property
    def collisions(self) -> Collisions:
        """How many indices were used, and how many of them by several features."""
        return Collisions(int(np.count_nonzero(self._owners)), int(self._shared.sum()), self._values, self._mixed)

    def __str__(self) -> str:
        without = f"; {self.left_out:,} values without a column" if self.left_out else ""
        return f"{self.collisions}{without}"

    def explain(self, index: int) -> tuple[str, ...]:
        """Return the features that an index stands for, as far as they are remembered: none, one, or several that share it."""
        if not 0 <= index < self.encoder.width:
            raise ValueError(f"index must lie between 0 and {self.encoder.width - 1}, got {index!r:.40}.")
        return tuple(text for key, text in self._named.items() if key & (self.encoder.width - 1) == index)

    def explained(self) -> dict[int, tuple[str, ...]]:
        """Return what all indices stand for, as far as it is remembered."""
        found: dict[int, tuple[str, ...]] = {}
        for key, text in self._named.items():
            index = key & (self.encoder.width - 1)
            found[index] = (*found.get(index, ()), text)
        return found

    def fresh(self, pairs: Pairs) -> Pairs:
        """Return features with the texts that are not remembered yet alone: `note` does the same with them."""
        texts = [
            "" if key in self._named else text[:LONGEST]
            for key, text in zip(pairs.hashes.tolist(), pairs.texts, strict=True)
        ]
        return pairs._replace(texts=tuple(texts))

    def note(self, pairs: Pairs, columns: int = 0) -> None:
        """Remember the features of a context; up to `columns` indices get a column each, in the order in which they come."""
        keys = np.where(pairs.hashes == 0, 2**62, pairs.hashes)  # zero stands for an index that nothing has used
        indices = pairs.hashes & (self.encoder.width - 1)
        # The last of several that share an index and come at once would win: the first in the order of hashes shall.
        fresh = self._owners[indices] == 0
        self._owners[indices[fresh][::-1]] = keys[fresh][::-1]
        strange = self._owners[indices] != keys
        self._shared[indices[strange]] = True
        self._values += len(keys)
        self._mixed += int(strange.sum())
        room = self.encoder.names - len(self._named)
        for key, text in zip(pairs.hashes.tolist(), pairs.texts, strict=True):
            if room > 0 and text and key not in self._named:
                self._named[key] = text[:LONGEST]
                room -= 1
        if columns:
            for index in self._new(pairs)[: max(0, columns - len(self._columns))]:
                self._columns[index] = len(self._columns)
            self.left_out += sum(index not in self._columns for index in indices.tolist())

    def _new(self, pairs: Pairs) -> list[int]:
        return [
            index
            for index in dict.fromkeys((pairs.hashes & (self.encoder.width - 1)).tolist())
            if index not in self._columns
        ]

    def forget(self, columns: Collection[int]) -> None:
        """Forget what the features of some columns are called, and of all that have no column; columns and indices stay.

        Examples
        --------
        >>> encoder = Encoder(bits=4)
        >>> names = Names(encoder)
        >>> for word in ("red", "green"):
        ...     names.note(encoder.pairs({"colour": word}), columns=8)
        >>> names.forget([1])
        >>> names.explained(), names.columns
        ({0: ('colour=red',)}, 2)
        """
        gone = set(columns)
        kept = {index for index, column in self._columns.items() if column not in gone}
        mask = self.encoder.width - 1
        self._named = {key: text for key, text in self._named.items() if key & mask in kept}

    @property
    def columns(self) -> int:
        """How many indices have a column."""
        return len(self._columns)

    def columns_with(self, pairs: Pairs) -> int:
        """Return how many columns there would be if each index of a context had one."""
        return len(self._columns) + len(self._new(pairs))

    def column_names(self, width: int) -> tuple[str, ...]:
        """Return what the first columns stand for, as far as it is remembered; those that nothing has yet have numbers."""
        known = self.explained()
        said = [" or ".join(known.get(index, (f"index {index}",))) for index in self._columns]
        return tuple([*said, *(f"x{k}" for k in range(len(said), width))][:width])

    def row(self, pairs: Pairs, width: int) -> Row:
        """Return a context by columns, of which there are `width`; indices without a column are left out."""
        row = self.encoder.row(pairs)
        places = [self._columns.get(index, width) for index in row.indices.tolist()]
        columns = np.array(places, dtype=np.int64)
        order = np.argsort(columns, kind="stable")
        order = order[: int((columns < width).sum())]
        return Row(columns[order], row.values[order])

    def dense(self, pairs: Pairs, width: int) -> Array:
        """Return a context as a dense row of columns."""
        columns, values = self.row(pairs, width)
        found = np.zeros(width)
        found[columns] = values
        return found

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that is remembered as arrays."""
        texts = [text.encode() for text in self._named.values()]
        return {
            "owners": self._owners[np.flatnonzero(self._owners)],
            "shared": np.flatnonzero(self._shared).astype(np.int64),
            "counts": np.array([self._values, self._mixed, self.left_out], dtype=np.int64),
            "named": np.array(list(self._named), dtype=np.int64),
            "ends": np.cumsum([len(text) for text in texts], dtype=np.int64),
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "columns": np.array(list(self._columns), dtype=np.int64),
        }

    @classmethod
    def restored(cls, encoder: Encoder, arrays: Mapping[str, NDArray[Any]]) -> Names:
        """Return what `arrays` gave, or raise where it cannot have given these."""
        names, mask = cls(encoder), encoder.width - 1
        types = {name: np.uint8 if name == "text" else np.int64 for name in ARRAYS}
        if set(arrays) != set(ARRAYS) or any(
            arrays[name].dtype != types[name] or arrays[name].ndim != 1 for name in ARRAYS
        ):
            raise ValueError("the names that an encoder has met are not those of one")
        owners, shared, counts = (arrays[name] for name in ("owners", "shared", "counts"))
        used = owners & mask
        ends, columns = arrays["ends"], arrays["columns"]
        lengths = np.diff(ends, prepend=0)
        whole = (
            (np.diff(used) > 0).all() and (owners != 0).all()
            and (np.diff(shared) > 0).all() and np.isin(shared, used).all()
            and counts.shape == (3,) and counts[0] >= counts[1:].max() and counts.min() >= 0
            and len(ends) == len(arrays["named"]) == len(np.unique(arrays["named"])) <= encoder.names
            and (lengths > 0).all() and (ends[-1] if len(ends) else 0) == len(arrays["text"])
            and len(columns) == len(np.unique(columns)) and np.isin(np.concatenate([columns, arrays["named"] & mask]), used).all()
        )  # fmt: skip
        if not whole:
            raise ValueError("the names that an encoder has met do not fit each other")
        names._owners[used], names._shared[shared] = owners, True
        names._values, names._mixed, names.left_out = (int(number) for number in counts)
        text = arrays["text"].tobytes()
        try:
            texts = [
                text[end - length : end].decode() for end, length in zip(ends.tolist(), lengths.tolist(), strict=True)
            ]
        except UnicodeDecodeError:
            raise ValueError("the names that an encoder has met are not text") from None
        names._named = dict(zip(arrays["named"].tolist(), texts, strict=True))
        names._columns = {index: place for place, index in enumerate(columns.tolist())}
        return names
