"""A first pass over a log: whether it can be used, how widely actions are spread, and the rows on which a critic is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.logs.block import LogBlock, check_inside
from banditboost.logs.log import Log
from banditboost.spaces import Space

FEWEST = 10
"""Fewest rows of a log that can be evaluated."""


SMALLEST = 1e-100
"""Smallest density whose weight can be squared and added up."""


class Numbered(NamedTuple):
    """A block, and the number of the round that each of its rows belongs to."""

    block: LogBlock
    rounds: NDArray[np.int64]

    def pieces(self, most: int) -> Iterator[Numbered]:
        """Give the same rows in blocks of at most so many."""
        for begin in range(0, len(self.rounds), most):
            part = slice(begin, begin + most)
            yield Numbered(self.block.take(part, self.block.row + begin), self.rounds[part])


def numbered(log: Log, weighted: bool) -> Iterator[Numbered]:
    """Give the blocks of a log with rounds numbered from 0: rows of one ticket are one round.

    Rows that are to be weighted and whose density is not known are left out.
    """
    last, count = None, -1
    for block in log.blocks():
        n = len(block.losses)
        new = np.ones(n, dtype=np.int64)
        if block.tickets is not None:
            new[1:] = block.tickets[1:] != block.tickets[:-1]
            new[0] = last is None or block.tickets[0] != last
            last = block.tickets[-1]
        rounds = count + np.cumsum(new)
        count = int(rounds[-1])
        if weighted and block.densities is not None and np.isnan(block.densities).any():
            known = ~np.isnan(block.densities)
            block, rounds = block.take(known, block.row), rounds[known]
        if len(rounds):
            yield Numbered(block, rounds)


class Survey(NamedTuple):
    """What a first pass has found."""

    rows: int
    missing: int
    """Rows that are left out: their loss never came, or their density is not known where it is needed."""
    logged: float
    """The mean loss."""
    spread: Array
    """The standard deviation of each coordinate of the actions, shape (d,)."""
    room: float
    """The median over rows of one over the density: about the volume in which an action is drawn; infinite without densities."""
    volume: tuple[float, float] | None
    """The mean of one over the density, which is the volume that actions are drawn from, and its standard error."""
    sample: tuple[Array, Array, NDArray[np.int64]]
    """Rows for critics: contexts and actions in one table, losses, and the fold, 0 or 1, that a row's round belongs to."""
    whole: bool
    """Whether the sample is the whole log."""


def survey(log: Log, space: Space | None, most: int, weighted: bool) -> Survey:
    """Read a log once; raise where a row cannot be used. The sample has about `most` rows, spread evenly over the log."""
    stride = max(1, -(-log.rows // most))
    tables, losses, folds, inverse = [], [], [], []
    n, total, sums, squares = 0, 0.0, np.zeros(log.dimension), np.zeros(log.dimension)
    volume = np.zeros(2)
    shift = None
    for block, rounds in numbered(log, weighted):
        if space is not None:
            check_inside(block, space)
        shift = block.actions[0] if shift is None else shift
        n, total = n + len(block.losses), total + float(block.losses.sum())
        sums += (block.actions - shift).sum(axis=0)
        squares += np.square(block.actions - shift).sum(axis=0)
        taken = (rounds // 2) % stride == 0  # pairs of rounds, one for either fold
        tables.append(np.concatenate([block.contexts[taken], block.actions[taken]], axis=1))
        losses.append(block.losses[taken])
        folds.append(rounds[taken] % 2)
        if weighted and block.densities is not None:
            small = block.densities < SMALLEST
            if small.any():
                i = int(np.argmax(small))
                raise ValueError(
                    f"density must be at least {SMALLEST:g} for weights to be added up, got {block.densities[i]:g} in row "
                    f"{block.row + i + 1}."
                )
            over = 1.0 / block.densities
            volume += over.sum(), np.square(over).sum()
            inverse.append(over[taken])
    if n < FEWEST:
        raise ValueError(
            f"log must have at least {FEWEST} rows with a loss{' and a density' if weighted else ''}, got {n}."
        )
    spread = np.sqrt(np.maximum(squares / n - np.square(sums / n), 0.0))
    mean = volume[0] / n
    return Survey(
        n,
        log.rows - n,
        total / n,
        spread,
        float(np.median(np.concatenate(inverse))) if inverse else np.inf,
        (mean, float(np.sqrt(max(volume[1] / n - mean**2, 0.0) / n))) if inverse else None,
        (np.concatenate(tables), np.concatenate(losses), np.concatenate(folds)),
        stride == 1,
    )
