"""Rows that banks keep of rounds, and how those of some rounds are overwritten: people may ask that nothing of theirs is kept."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array


class Erased(NamedTuple):
    """The rounds of which nothing shall be kept."""

    rounds: NDArray[np.int64]
    """Their numbers among the rounds that the copies were told, from 1, shape (n,)."""
    contexts: Array
    """Their contexts, shape (n, features); a list of sparse rows where the learner takes these (`Learner.thin`)."""
    told: int
    """How many rounds the copies were told in all."""


def places_of(erased: Erased, born: NDArray[np.int64], seen: int, rows: Array) -> NDArray[np.intp]:
    """Return which of some rows belong to the rounds that shall be forgotten.

    A bank counts the rounds that it has learned from. Where it has learned from all, the count tells its rows apart. A round from
    which only the critic could learn, such as an action of somebody else without a density, is not counted: then a row may be of
    any of a few rounds, those with the same numbers as the context are taken, and all of them where none has the same numbers.

    Parameters
    ----------
    erased
        The rounds.
    born
        In which round, as the bank counts them, each row came, shape (n,).
    seen
        How many rounds the bank has learned from.
    rows
        The rows, shape (n, features).

    Examples
    --------
    >>> rows = np.array([[0.1, 1.0], [0.2, 1.0], [0.3, 1.0]], dtype=np.float32)
    >>> erased = Erased(np.array([2]), np.array([[0.2, 1.0]]), 3)
    >>> places_of(erased, np.array([1, 2, 3]), 3, rows).tolist()
    [1]
    >>> places_of(erased._replace(rounds=np.array([3]), told=5), np.array([1, 2, 3]), 3, rows).tolist()
    [1]
    """
    skipped, found = max(erased.told - seen, 0), np.zeros(len(born), dtype=np.bool_)
    if not skipped:
        return np.flatnonzero(np.isin(born, erased.rounds))
    for number, context in zip(erased.rounds.tolist(), erased.contexts, strict=True):
        may = (born <= number) & (born >= number - skipped)
        same = may & (rows == context.astype(rows.dtype)).all(axis=1)
        found |= same if same.any() else may
    return np.flatnonzero(found)


def overwrite(places: NDArray[np.intp], count: int, *arrays: Any) -> None:
    """Let rows that stay take the places of some, and clear what stands beyond the first `count` rows.

    Places are not closed up, so that all that is known about their number stays right. Where no row stays, zeros do.

    Examples
    --------
    >>> rows = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> overwrite(np.array([1]), 3, rows)
    >>> rows.ravel().tolist()
    [1.0, 1.0, 3.0, 0.0]
    """
    stay = np.setdiff1d(np.arange(count), places)
    for array in arrays:
        array[count:] = 0
        if len(places) and len(stay):
            nearest = np.maximum(np.searchsorted(stay, places) - 1, 0)
            array[places] = array[stay[nearest]]
        else:
            array[places] = 0
