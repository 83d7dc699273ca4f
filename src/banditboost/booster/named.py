"""Contexts with names: how a booster with an encoder reads them, and how it makes room for names that are new.

Copies take rows of columns. An index of the encoder gets a column in the round that first uses it, and copies are stretched where
columns run out, by doubling their number, so that nothing that was learned is lost. Up to `MOST_COLUMNS` rows are arrays. Learners
that take sparse rows beyond go on to all 2^bits indices: where they change from copies for narrow contexts to those for wide ones
(`ByWidth`), the new copies first learn from the rounds that the old ones remember, and the chain keeps what it knows of them. With
any other learner there are no more columns, and values at other indices are left out, and counted.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost._core.sparse_row import SparseRow
from banditboost._core.spec import Memory
from banditboost._core.streams import stream
from banditboost.booster.in_flight import InFlight
from banditboost.booster.one_row import one_row
from banditboost.booster.ticket import Ticket
from banditboost.encoder import Pairs, contexts_of
from banditboost.encoder.encoder import stacked
from banditboost.learners import Bank

MOST_COLUMNS = 256
"""Most columns of rows that are arrays."""
MOST_AGAIN = 4096
"""From how many of the last remembered rounds copies for wide contexts learn before they begin."""


class Larger(NamedTuple):
    """What copies and bands know, for more columns."""

    bank: Bank
    bands: Memory
    features: int


class Named(InFlight):
    """The part of a booster that takes contexts with names."""

    def _pairs(self, x: Any) -> Pairs | None:
        """Return the features of a context; None where there is no encoder."""
        if self.spec.encoder is None:
            return None
        return x if isinstance(x, Pairs) else self.spec.encoder.pairs(one_row(x, named=True))

    @property
    def _most_columns(self) -> int:
        """How many indices may have a column; values at others are left out, and counted (`Names.left_out`)."""
        encoder, learner = self.spec.encoder, self.spec.learner
        assert encoder is not None
        sparse = learner.thin(MOST_COLUMNS + 1) and (learner.remembers or learner.thin(1))
        return encoder.width if sparse else MOST_COLUMNS

    def _make_room(self, named: Pairs, record: Callable[[Pairs, int], object] | None) -> Any:
        """Record a call, remember its names, give columns to those that are new, and return its row: all or nothing.

        `record` is called with the names that are new and the number of columns that there will be, where there is a journal.
        """
        names = self.names
        assert names is not None
        most = self._most_columns
        wanted = min(max(1, names.columns_with(named)), most)
        larger = None
        if self.bank is not None and wanted > self.features:
            larger = self._larger(self.bank, max(wanted, min(2 * self.features, self._step(wanted))))
        if record is not None:
            record(names.fresh(named), wanted)
        self._turn.changing = True
        names.note(named, most)
        if self.bank is None:
            self._start_bank(wanted)
        elif larger is not None:
            self.bank, self.bands_memory, self.features = larger
        return self._row(named)

    def _step(self, wanted: int) -> int:
        """Return up to how many columns to double: not beyond the narrow ones before they are too few."""
        return MOST_COLUMNS if wanted <= MOST_COLUMNS else self._most_columns

    def _row(self, named: Pairs) -> Any:
        """Return a context by the columns that there are: sparse where the learner takes that."""
        width = self.features if self.bank is not None else 1
        assert self.names is not None
        if self.spec.learner.thin(width):
            return SparseRow(*self.names.row(named, width), width)
        return self.names.dense(named, width)

    def _larger(self, bank: Bank, features: int) -> Larger:
        """Return the copies for more columns; nothing changes."""
        larger = bank.stretched(features, stream(self.spec.seed, "perturbations"))
        if larger is None:
            larger = self._learned_again(bank, features)
        if larger is None:
            raise ValueError(
                f"encoder must be left out with {type(self.spec.learner).__name__}, whose copies cannot take more features while "
                "they learn; this context has new ones."
            )
        bands = self.spec.bands
        return Larger(
            larger, self.bands_memory if bands is None else bands.stretched(self.bands_memory, features), features
        )

    @abstractmethod
    def _chained(self, raw: Array) -> Any:
        """Return what plays become."""

    @abstractmethod
    def _fed(self, gradients: Array, played: Any) -> Array:
        """Return what the copies learn from."""

    def _learned_again(self, bank: Bank, features: int) -> Bank | None:
        """Return other copies, for more features, that have learned from the last rounds which these remember; None if none do.

        In each the loss is taken for the squared distance to where it would have been least, as copies that remember take it, and
        the path is the chain's as it is now, which goes on with what it knows of the copies in the same places.
        """
        kept, spec = bank.remembered(), self.spec
        if kept is None or not spec.learner.thin(features):
            return None
        larger = spec.learner.start(spec.copies, self.geometry.ground, features, stream(spec.seed, "perturbations"))
        for t, k in enumerate(range(max(0, len(kept.contexts) - MOST_AGAIN), len(kept.contexts)), start=1):
            context: Any = SparseRow.of(kept.contexts[k]).widened(features)
            played = self._chained(larger.play(context))
            gradients = 2.0 * (played.path[:-1] - kept.targets[k].reshape(spec.space.shape))
            fed = self._fed(gradients, played)
            larger.remember(context, played.path[:-1], fed)
            larger.update(context, fed, t)
        return larger

    def _columned(self, x: Any) -> Any:
        """Return a context as a row of the columns that there are, without making room for others."""
        named = self._pairs(x)
        assert named is not None
        return self._row(named)

    def _columned_table(self, contexts: Any) -> csr_array:
        """Return a table of contexts with names as rows of the columns that there are."""
        encoder, names, width = self.spec.encoder, self.names, self.features if self.bank is not None else 1
        assert encoder is not None
        assert names is not None
        return stacked((names.row(encoder.pairs(x), width) for x in contexts_of(contexts)), width)

    def _widened(self, ticket: Ticket) -> Ticket:
        """Return a ticket whose context has as many columns as there are now: those that are new were zero."""
        context = ticket.context
        if self.names is None or context is None or len(context) == self.features:
            return ticket
        if self.spec.learner.thin(self.features):
            wider: Any = SparseRow.of(context).widened(self.features)
            return replace(ticket, context=wider)
        return replace(ticket, context=np.concatenate([context, np.zeros(self.features - len(context))]))
