"""What copies are shown in a block of rounds, and what a bank hands over to play them: the plain side of the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost._core.sparse_row import SparseRow


@dataclass(frozen=True)
class Shown:
    """The contexts of T rounds: rows of a table as it is kept, or features that a wrapper has made of them."""

    table: Array | csr_array
    """Contexts, dense or canonical CSR; with `own`, features of shape (T, 1 or N, p)."""
    rows: NDArray[np.intp]
    """Which rows of the table are the rounds."""
    own: bool = False
    """Whether the table is made of features, which may differ from copy to copy; all its rows are the rounds then."""
    spare: bool = False
    """Whether nobody else looks at the features, so that whoever is shown them may write over them."""

    @classmethod
    def row(cls, context: Any) -> Shown:
        """Return what copies are shown in one round; a `SparseRow` stays sparse."""
        table = context.table() if isinstance(context, SparseRow) else np.asarray(context)[np.newaxis]
        return cls(table, np.arange(1))

    @classmethod
    def features(cls, made: Array, spare: bool = False) -> Shown:
        """Return what copies are shown where a wrapper has made features, shape (T, 1 or N, p)."""
        return cls(made, np.arange(len(made)), own=True, spare=spare)

    def dense(self, written: bool = True) -> Array:
        """Return the contexts, shape (T, p); of features, those that all copies share.

        What is returned may be written to, unless ``written=False`` says that it will not be: features are not copied then.
        """
        if self.own:
            if self.table.shape[1] != 1:
                raise ValueError("contexts must be the same for all copies here.")
            shared = np.asarray(self.table[:, 0])
            return shared.copy() if written and not self.spare else shared
        block = self.table[self.rows]  # by numbers, so that it is a copy
        return np.asarray(block.toarray() if isinstance(block, csr_array) else block)

    def sparse(self) -> tuple[csr_array, NDArray[np.intp]]:
        """Return a canonical CSR array and which of its rows are the rounds; sparse contexts are not copied."""
        if isinstance(self.table, csr_array):
            return self.table, self.rows
        table = csr_array(self.dense())
        return table, np.arange(len(self.rows))

    def with_constant(self, intercept: bool) -> Array:
        """Return features of shape (T, 1 or N, p), a constant 1 appended where there is an intercept."""
        block = self.table[self.rows] if self.own else self.dense()[:, np.newaxis]
        if not intercept:
            return np.ascontiguousarray(block)
        return np.concatenate([block, np.ones((*block.shape[:2], 1))], axis=2)


def _nothing() -> None:
    """Do nothing: what was learned is in the bank's own arrays."""


class Prepared(NamedTuple):
    """A bank's form for a block of rounds, and what brings what was learned back into the bank when they have been played."""

    form: Any
    finish: Callable[[], None] = _nothing


def flat(weights: Array) -> Array:
    """Return weights of shape (N, *shape, p) as (N, d, p); a change of the result changes the bank's own."""
    return weights.reshape(len(weights), math.prod(weights.shape[1:-1]), weights.shape[-1])
