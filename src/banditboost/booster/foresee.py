"""What a booster says about the future beside its prediction: bands for what will be paid, and for outcomes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.sparse_row import SparseRow
from banditboost.bands import LEVEL, Conformal, LossBand, OutcomeBand
from banditboost.booster.answers import mean
from banditboost.booster.in_order import in_order, labelled, names_in
from banditboost.booster.named import Named
from banditboost.booster.one_row import one_row
from banditboost.booster.ticket import Ticket
from banditboost.datasets.own_fields import fields_in
from banditboost.gradients import Probe


class Foresee(Named):
    """The part of a booster that learns and shows bands."""

    @abstractmethod
    def predict(self, x: Any = None) -> Array:
        """Return the prediction that the next `ask` would make in context x, and change nothing."""

    def predict_loss(self, x: Any = None, level: float = LEVEL) -> LossBand:
        """Return a band for what will be paid in a round in context x: the mean of the values told; nothing is changed.

        With one answer a round that is the loss of the action. Noise of the answers is part of what is told, and of the band.
        Values are those that `tell` takes: losses, or rewards where the booster was made with ``maximize=True``. Bands learn in the
        order in which rounds are told, however late; `reset` and a plan's new phases leave them as they are. Before 20 rounds were
        told a band is infinite. `bands.Conformal` says what holds of them.

        Parameters
        ----------
        x
            The context.
        level
            The share of rounds that should lie in their bands, within 0 and 1.

        Examples
        --------
        >>> import banditboost as bb
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1, bands=True)
        >>> booster.predict_loss([0.5])
        LossBand(low=-inf, high=inf, level=0.9, rounds=0)
        >>> rng = np.random.default_rng(0)
        >>> for x in rng.uniform(size=(1000, 1)):
        ...     ticket = booster.ask(x)
        ...     booster.tell(ticket, (ticket.queries - x) ** 2 + rng.uniform(-0.2, 0.2, size=1))
        >>> band = booster.predict_loss([0.5], level=0.8)
        >>> print(f"from {band.low:.1f} to {band.high:.1f}")
        from -0.1 to 0.2
        """
        if self.spec.bands is None:
            raise ValueError("bands must be turned on for predict_loss: make the booster with bands=True.")
        level = checks.between("level", level, 0.0, 1.0)
        with self._lock:
            context = self._context(x)
            if not self.bands_memory:
                return LossBand(-np.inf, np.inf, level, 0)
            low, high, rounds = self.spec.bands.band(self.bands_memory, context, level)
        return LossBand(*((-high, -low) if self.spec.maximize else (low, high)), level, rounds)

    def predict_outcome(self, x: Any = None, level: float = LEVEL) -> OutcomeBand:
        """Return an interval for the outcome of a round in context x, where losses are squared distances to it; nothing changes.

        Outcomes are never told. Where the loss is declared squared and a round has at least three answers, they show about where
        the outcome was: at the pseudo-label z = y - g/2, with the gradient g that the answers give at the prediction y. What is
        calibrated, as for `predict_loss`, are these: *the pseudo-label's noise is in the interval*, which is wider than one for
        outcomes would be, and what `bands.Conformal` guarantees holds for pseudo-labels and not for outcomes. Rounds with limits of
        their own are left out.

        Parameters
        ----------
        x
            The context.
        level
            The share of rounds whose pseudo-label should lie in the interval, within 0 and 1.

        Examples
        --------
        >>> import banditboost as bb
        >>> rng = np.random.default_rng(0)
        >>> bands = bb.bands.Conformal(outcomes=True)
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-3, 3), answers=4, loss="squared", bands=bands)
        >>> for x in rng.uniform(-1, 1, size=(1000, 1)):
        ...     ticket, outcome = booster.ask(x), x + rng.uniform(-1, 1)
        ...     booster.tell(ticket, (ticket.queries - outcome) ** 2)
        >>> band = booster.predict_outcome([0.5])
        >>> print(f"from {band.low:.1f} to {band.high:.1f}")
        from -0.6 to 1.3
        """
        bands = self.spec.bands
        if bands is None or not bands.outcomes:
            raise ValueError(
                "bands must be made for outcomes for predict_outcome: make the booster with bands=bands.Conformal(outcomes=True), "
                "loss='squared' and at least three answers."
            )
        level = checks.between("level", level, 0.0, 1.0)
        with self._lock:
            context = self._context(x)
            if not self.bands_memory:
                return OutcomeBand(-np.inf, np.inf, level, 0)
            low, high, rounds = bands.band(self.bands_memory, context, level, of="outcome.")
            centre = float(self.predict(x))
        return OutcomeBand(centre + low, centre + high, level, rounds)

    def _outcome(self, ticket: Ticket, answers: Array, probe: Probe) -> float:
        """Return how far beyond its prediction a round's pseudo-label lies; NaN where none is wanted or known."""
        spec = self.spec
        others = (
            probe is not ticket.probe
        )  # answers are missing, or about other points, and may be too few to show an outcome
        if spec.bands is None or not spec.bands.outcomes or probe.weight is not None or others:
            return float("nan")
        there = probe._replace(anchors=np.reshape(ticket.prediction, (1, *spec.space.shape)))
        return -0.5 * float(spec.gradient.estimate(answers, there, spec.space, self.gradient_memory)[0])

    def _learn_bands(self, bands: Conformal, ticket: Ticket, answers: Array, outcome: float) -> None:
        bands.learn(self.bands_memory, ticket.context, mean(answers))
        if bands.outcomes and np.isfinite(outcome):
            bands.learn(self.bands_memory, ticket.context, outcome, of="outcome.")

    def _context(self, x: Any) -> Any:
        if self.names is not None:
            return self._columned(x)
        if not self.spec.learner.contextual:
            if x is not None:
                raise ValueError("x must be left out: this learner takes no context.")
            return None
        if x is None:
            raise ValueError(
                "x must be given: this learner needs a context, which may be empty ([]) where there is nothing to react to."
            )
        if type(x) is not np.ndarray and issparse(x):
            row: Any = x
            if row.ndim == 2 and row.shape[0] != 1:
                raise ValueError(f"x must be one context, got a sparse array of shape {row.shape}.")
            if self.spec.learner.thin(row.shape[-1]):
                return self._sparse(SparseRow.of(row))
            x = row.toarray().reshape(-1)
        if isinstance(x, SparseRow) and self.spec.learner.thin(len(x)):
            return self._sparse(x)
        if type(x) is not np.ndarray and (values := labelled(x)) is not None:
            x = self._ordered(x, values)
        context = checks.finite("x", x if type(x) is np.ndarray else one_row(x, named=False))
        if context.ndim != 1:
            raise ValueError(f"x must be one context with one axis, got shape {context.shape}.")
        if self.bank is not None and len(context) != self.features:
            raise ValueError(f"x must have {self.features} features, got {len(context)}.")
        return context

    def _ordered(self, x: Any, values: Mapping[str, Any]) -> Any:
        """Return a context that has names as numbers in order; as it is where only a frame has names, and order is all there is."""
        names = names_in(self.extra, self.features if self.bank is not None else None)
        if names is not None:
            fields = fields_in(self.extra, names)
            return in_order(values, names) if fields is None else fields.row(values)
        if isinstance(x, Mapping):
            raise ValueError(
                "x must be numbers here, got names: algorithms.boosted(space, encoder=True) takes a dictionary; other boosters "
                "take numbers in the order of their columns, with a column of 0 and 1 for every word."
            )
        return x

    def _sparse(self, context: SparseRow) -> Any:
        """Return a sparse context after the checks that every context passes."""
        checks.finite("x", context.values, copy=False)
        if self.bank is not None and len(context) != self.features:
            raise ValueError(f"x must have {self.features} features, got {len(context)}.")
        return context
