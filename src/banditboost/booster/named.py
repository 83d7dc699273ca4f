"""Contexts with names: how a booster with an encoder reads them, and how it makes room for names that are new.

Copies take rows of columns. An index of the encoder gets a column in the round that first uses it, up to `MOST_COLUMNS`, and copies
are stretched where columns run out, by doubling their number, so that nothing that was learned is lost. Only `Named._make_room`,
`Named._columned` and `Named._columned_table` know this: where copies take sparse rows of all 2^bits indices, these hand over the
encoder's rows as they are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost._core.streams import stream
from banditboost.booster.in_flight import InFlight
from banditboost.booster.one_row import one_row
from banditboost.booster.ticket import Ticket
from banditboost.encoder import Pairs, contexts_of
from banditboost.encoder.encoder import stacked
from banditboost.gradients import Limits
from banditboost.learners import Bank

MOST_COLUMNS = 256
"""Most indices that have a column; values at others are left out, and counted (`Names.left_out`)."""


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

    def _make_room(self, named: Pairs, limits: Limits | None) -> Array:
        """Record an ask, remember its names, give columns to those that are new, and return its row: all or nothing."""
        names = self.names
        assert names is not None
        wanted = min(max(1, names.columns_with(named)), MOST_COLUMNS)
        larger = None
        if self.bank is not None and wanted > self.features:
            larger = self._larger(self.bank, max(wanted, min(2 * self.features, MOST_COLUMNS)))
        if self.journal is not None:
            self.journal.naming(names.fresh(named), limits, wanted)
        self._turn.changing = True
        names.note(named, MOST_COLUMNS)
        if self.bank is None:
            self._start_bank(wanted)
        elif larger is not None:
            self.bank, self.bands_memory, self.features = larger
        return names.dense(named, self.features)

    def _larger(self, bank: Bank, features: int) -> Larger:
        """Return the copies for more columns; nothing changes."""
        larger = bank.stretched(features, stream(self.spec.seed, "perturbations"))
        if larger is None:
            raise ValueError(
                f"encoder must be left out with {type(self.spec.learner).__name__}, whose copies cannot take more features while "
                "they learn; this context has new ones."
            )
        bands = self.spec.bands
        return Larger(
            larger, self.bands_memory if bands is None else bands.stretched(self.bands_memory, features), features
        )

    def _columned(self, x: Any) -> Array:
        """Return a context as a row of the columns that there are, without making room for others."""
        named = self._pairs(x)
        assert named is not None
        assert self.names is not None
        return self.names.dense(named, self.features if self.bank is not None else 1)

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
        return replace(ticket, context=np.concatenate([context, np.zeros(self.features - len(context))]))
