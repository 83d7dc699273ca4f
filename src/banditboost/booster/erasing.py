"""Erasing what a booster keeps of some rounds: rows, extremes and names, not what it has learned from many."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from banditboost._core import processes
from banditboost._core.checks import Array, finite
from banditboost._core.sparse_row import SparseRow, canonical_rows
from banditboost.booster.others import Others
from banditboost.learners.forgotten import Erased

DIGITS = 3
"""How many digits are left of a number that was found to be one of an erased context, such as the largest value ever seen."""


class Erasing(Others):
    """The part of a booster that lets some rounds be erased."""

    def erase(
        self,
        rounds: ArrayLike,
        contexts: ArrayLike | csr_array,
        *,
        used: NDArray[np.bool_] | None = None,
        total: int | None = None,
    ) -> int:
        """Erase what is kept of some rounds word for word; return how many remembered rows were overwritten.

        Rows that learners remember (`learners.Grown`, `learners.Refit`, the sample of `learners.Tree`) are overwritten by rows of
        other rounds. Numbers of these contexts that stand anywhere else, such as the largest value of a feature, are rounded to
        three digits. What was learned from the rounds together with all others stays: weights, sums, and the trees of forests,
        whose thresholds lie between values of two rows, until the next forest is grown on the rows that are left. Tickets in flight
        are to be forgotten by `forget`. A journal begins anew with the state after this, so that it holds nothing of them either.

        Parameters
        ----------
        rounds
            Numbers of the rounds among those that were told, from 1.
        contexts
            Their contexts, shape (n, features), an array or a sparse one; with an encoder as columns, as `Ticket.context` has them.
        used
            With an encoder, which columns are used by contexts that stay: the names of all others are forgotten.
        total
            How many rounds had been told when they were counted; those of this booster when not given.

        Examples
        --------
        >>> import banditboost as bb
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
        >>> for x in (0.25, 0.12345, 0.75):
        ...     booster.tell(booster.ask([x]), [x])
        >>> def kept(x):
        ...     arrays = booster.arrays().values()
        ...     return sum(int((array == np.asarray(x, array.dtype)).sum()) for array in arrays if array.dtype.kind == "f")
        >>> kept(0.12345), booster.erase([2], [[0.12345]]), kept(0.12345)
        (4, 2, 0)
        """
        numbers = np.asarray(rounds, dtype=np.int64)
        given: Any = contexts if issparse(contexts) else finite("contexts", contexts)
        if given.ndim != 2 or numbers.shape != given.shape[:1]:
            raise ValueError(f"contexts must be one for each of {numbers.size} rounds, got the shape {given.shape}.")
        rows = canonical_rows("contexts", given)
        with self._lock, self._turn:
            processes.check(self._process)
            if self.bank is not None and rows.shape[1] > max(self.features, 1):
                raise ValueError(f"contexts must have {self.features} features, got {rows.shape[1]}.")
            self._turn.changing = True
            overwritten = self._forget_rows(numbers, rows, self.rounds if total is None else total)
            self._round_off(rows.data)
            if self.names is not None and used is not None:
                # Words of tickets that were forgotten are nobody's any more, and are not kept for others either.
                there = np.arange(self.names.columns)
                self.names.forget(there[(there >= len(used)) | ~used[np.minimum(there, len(used) - 1)]].tolist())
            if self.journal is not None:
                self.journal.rewriting()
            return overwritten

    def _forget_rows(self, rounds: NDArray[np.int64], contexts: csr_array, total: int) -> int:
        if self.bank is None or not self.spec.learner.contextual:
            return 0
        before = total - self.phase_rounds  # of copies that were replaced since
        own = rounds > before
        found, width = csr_array(contexts[own]), self.features
        rows: Any
        if self.spec.learner.thin(width):
            parts = (slice(*found.indptr[i : i + 2]) for i in range(found.shape[0]))
            rows = [SparseRow(found.indices[part], found.data[part], width) for part in parts]
        else:
            rows = np.zeros((found.shape[0], width))
            rows[:, : found.shape[1]] = found.toarray()
        return self.bank.forget(Erased(rounds[own] - before, rows, self.phase_rounds))

    def _round_off(self, numbers: Array) -> None:
        """Round numbers of contexts that stand anywhere in the state; those of few digits tell nobody apart, and stay."""
        values = np.unique(numbers)
        telling = values[_rounded(values) != values]
        for array in self.arrays().values():
            if array.dtype in (np.float64, np.float32) and telling.size:
                found = np.isin(np.abs(array), np.abs(telling.astype(array.dtype)))
                if found.any():
                    array[found] = _rounded(array[found])


def _rounded(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        scale = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(values, dtype=np.float64))))
    usable = np.isfinite(scale) & (scale > 0)
    return np.where(usable, np.round(values * np.where(usable, scale, 1.0)) / np.where(usable, scale, 1.0), values)
