"""Rounds that a service has been told: what was played in which context, what it cost, when, and about whom.

They are noted by the ledger, so that they are in the journal, and go from there to part files (`banditboost.serve.archive`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost._core.sparse_row import SparseRow

SUBJECT = 16
"""Bytes of the digest of a caller's key for a person."""
NOBODY = bytes(SUBJECT)
EPOCH = 10**12
"""A ticket's number in a log is its own and so many times its epoch, so that no two tickets have the same."""
_AS = struct.Struct("<QQ")
_LEARN = struct.Struct("<QB")


class Asked(NamedTuple):
    """What was asked, as far as a log is concerned."""

    ticket: int
    time: float
    subject: bytes
    context: Array | SparseRow | None
    queries: Array
    density: Array | None


class Round(NamedTuple):
    """What was told about one ticket, or learned from an action that another has chosen."""

    number: int
    """Which of the rounds that the service was told it is, from 1."""
    ticket: int
    """The ticket's number in logs; minus `number` where there was no ticket."""
    time: float
    """When it was asked, in seconds since 1970."""
    subject: bytes
    context: Array | SparseRow | None
    actions: Array
    """Shape (k, d)."""
    losses: Array
    """Shape (k,)."""
    densities: Array
    """Shape (k,), NaN where they are not known."""


class Block(NamedTuple):
    """Rounds as arrays; what has another length for each stands one after the other."""

    numbers: NDArray[np.int64]
    tickets: NDArray[np.int64]
    times: Array
    subjects: NDArray[np.uint8]
    """Shape (n, SUBJECT)."""
    answers: NDArray[np.int64]
    """How many answers each round has."""
    widths: NDArray[np.int64]
    """How many numbers each context has."""
    contexts: Array
    actions: Array
    losses: Array
    densities: Array
    places: NDArray[np.int32] = np.empty(0, dtype=np.int32)
    """The column of each number in `contexts`, where zeros are left out."""
    stored: NDArray[np.int64] = np.empty(0, dtype=np.int64)
    """How many numbers of each context are there, where zeros are left out; empty where contexts are whole."""

    @property
    def dimension(self) -> int:
        """How many numbers an action has."""
        return self.actions.size // max(self.losses.size, 1)

    def take(self, chosen: NDArray[np.bool_]) -> Block:
        """Return some of the rounds."""
        rows, numbers = np.repeat(chosen, self.answers), np.repeat(chosen, self._counts)
        played = self.actions.reshape(len(rows), -1)[rows].ravel() if len(rows) else self.actions
        heads: list[Any] = [part[chosen] for part in self[:6]]
        sparse = (self.places[numbers], self.stored[chosen]) if len(self.stored) else (self.places, self.stored)
        return Block(*[*heads, self.contexts[numbers], played, self.losses[rows], self.densities[rows], *sparse])

    @property
    def _counts(self) -> NDArray[np.int64]:
        return self.stored if len(self.stored) else self.widths

    def rows(self, width: int) -> csr_array:
        """Return the contexts, shape (n, width), without zeros; those that have fewer numbers end with zeros."""
        ends = np.concatenate([[0], np.cumsum(self._counts)])
        places = self.places
        if not len(self.stored):
            places = (np.arange(ends[-1]) - np.repeat(ends[:-1], self.widths)).astype(np.int32)
        found = csr_array((self.contexts, places, ends), shape=(len(self.widths), width), copy=True)
        found.eliminate_zeros()
        return found

    def table(self, width: int) -> Array:
        """Return the contexts, shape (n, width); those that have fewer numbers end with zeros."""
        return np.asarray(self.rows(width).toarray())

    def of(self, subjects: Iterable[bytes]) -> NDArray[np.bool_]:
        """Return which rounds are about one of some people."""
        found = np.zeros(len(self.numbers), dtype=np.bool_)
        for subject in subjects:
            found |= (self.subjects == np.frombuffer(subject, "u1")).all(axis=1)
        return found


def block_of(rounds: Sequence[Round]) -> Block:
    """Return rounds as arrays.

    Examples
    --------
    >>> one = Round(1, 1, 0.0, NOBODY, np.array([0.5]), np.array([[3.0]]), np.array([0.25]), np.array([np.nan]))
    >>> block = block_of([one, one._replace(number=2, context=None)])
    >>> block.table(2).tolist(), block.take(np.array([False, True])).numbers.tolist()
    ([[0.5, 0.0], [0.0, 0.0]], [2])
    """
    nothing = np.empty(0)
    contexts: list[Any] = [nothing if one.context is None else one.context for one in rounds]
    widths = np.array([len(context) for context in contexts], dtype=np.int64)
    sparse = list[Any]()
    if any(isinstance(context, SparseRow) for context in contexts):
        rows = [SparseRow.of(context) for context in contexts]
        contexts = [row.values for row in rows]
        sparse = [np.concatenate([row.indices for row in rows]), np.array([len(row.values) for row in rows], np.int64)]
    return Block(
        np.array([one.number for one in rounds], dtype=np.int64),
        np.array([one.ticket for one in rounds], dtype=np.int64),
        np.array([one.time for one in rounds], dtype=np.float64),
        np.frombuffer(b"".join(one.subject for one in rounds), "u1").reshape(len(rounds), SUBJECT),
        np.array([len(one.losses) for one in rounds], dtype=np.int64),
        widths,
        np.concatenate([nothing, *contexts]),
        np.concatenate([nothing, *(np.ravel(one.actions) for one in rounds)]),
        np.concatenate([nothing, *(one.losses for one in rounds)]),
        np.concatenate([nothing, *(one.densities for one in rounds)]),
        *sparse,
    )


def rounds_of(block: Block) -> list[Round]:
    """Return the rounds that arrays hold; raise ValueError where these do not fit each other."""
    n, k, d = len(block.numbers), int(block.answers.sum()), block.dimension
    fits = block.subjects.shape == (n, SUBJECT) and block.losses.shape == block.densities.shape == (k,)
    fits &= block.actions.shape == (k * d,) and block.contexts.shape == (int(block._counts.sum()),)
    if len(block.stored):
        fits &= block.stored.shape == (n,) and block.places.shape == block.contexts.shape
    if not fits or any(part.shape != (n,) for part in (block.tickets, block.times, block.answers, block.widths)):
        raise ValueError("the rounds do not fit each other")
    counts, rows = block._counts, np.cumsum(block.answers)
    ends = np.cumsum(counts)
    found = []
    for i in range(n):
        numbers, first = slice(int(ends[i] - counts[i]), int(ends[i])), int(rows[i] - block.answers[i])
        answers = slice(first, int(rows[i]))
        context: Array | SparseRow | None = block.contexts[numbers] if block.widths[i] else None
        if len(block.stored) and context is not None:
            context = SparseRow(block.places[numbers], block.contexts[numbers], int(block.widths[i]))
            if not context.whole:
                raise ValueError("a context is not one of so many columns")
        found.append(
            Round(
                int(block.numbers[i]),
                int(block.tickets[i]),
                float(block.times[i]),
                block.subjects[i].tobytes(),
                context,
                block.actions.reshape(k, d)[answers],
                block.losses[answers],
                block.densities[answers],
            )
        )
    return found


class Played(NamedTuple):
    """What a record says was played, and what it cost."""

    actions: Array
    losses: Array
    densities: Array
    as_asked: bool
    """Whether exactly what was asked about was played."""


def told(asked: Asked, losses: Array) -> Played:
    """Return a round in which all was played as asked."""
    queries = asked.queries.reshape(len(asked.queries), -1)
    return Played(queries, losses, _densities(asked, slice(None), len(queries)), True)


def told_as(asked: Asked, payload: bytes) -> Played:
    """Return a round of which some was played otherwise, or has no answer."""
    _, queries = _AS.unpack_from(payload)
    answered = np.frombuffer(payload, "u1", queries, _AS.size).astype(bool)
    numbers, count = np.frombuffer(payload[_AS.size + queries :], "<f8"), int(answered.sum())
    actions, wanted = numbers[count:].reshape(count, -1), asked.queries.reshape(queries, -1)[answered]
    others = (actions != wanted).any(axis=1)
    densities = np.where(others, np.nan, _densities(asked, answered, count))
    return Played(actions, numbers[:count], densities, not others.any())


def learned(payload: bytes) -> tuple[Played, bytes]:
    """Return what was learned of an action that another has chosen, and what of the record is about its context."""
    size, flags = _LEARN.unpack_from(payload)
    count = size + 2 + (2 * size if flags & 2 else 0)
    numbers = np.frombuffer(payload, "<f8", count, _LEARN.size)
    density = numbers[size + 1 : size + 2] if flags & 1 else np.array([np.nan])
    return Played(numbers[np.newaxis, :size], numbers[size : size + 1], density, False), payload[
        _LEARN.size + numbers.nbytes :
    ]


def _densities(asked: Asked, which: Any, count: int) -> Array:
    """Return the densities of queries; not known where there are none, or where limits or a baseline left one value."""
    if asked.density is None:
        return np.full(count, np.nan)
    if count == 1 and len(asked.density) == 1:
        return asked.density if asked.density.item() > 0.0 else np.array([np.nan])
    density = np.asarray(asked.density)[which]
    return np.where(density > 0.0, density, np.nan)
