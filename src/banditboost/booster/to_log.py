"""A log beside a booster: what was played in every round that is told, and what it cost."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.answers import Said
from banditboost.booster.in_flight import InFlight
from banditboost.booster.ticket import Ticket


class Appends(Protocol):
    """What rounds are written to, as `banditboost.logs.LogWriter`."""

    def append(
        self, context: Array | None, actions: Array, losses: Array, densities: Array | None, ticket: int
    ) -> object:
        """Take one round.

        Parameters
        ----------
        context
            The context; None for learners without.
        actions
            What was played, shape (n, *shape).
        losses
            What it cost, shape (n,).
        densities
            With which density each action was drawn, shape (n,): NaN for actions that were told in place of others; None for
            gradients without a law.
        ticket
            The ticket's number.
        """


class ToLog(InFlight):
    """The part of a booster that writes what was played to a log."""

    _log: Appends | None = None

    def log_to(self, writer: Appends | None) -> None:
        """Append every round that is told from now on to a log; None: no longer.

        The writer is called when a round has taken effect. Where it raises an error, `tell` raises it, and the round was told all
        the same: what is missing in the log is this round and nothing else. A log is not saved with the booster, nor taken over by
        copies; a journal can be turned into one instead (`banditboost.Journal` holds all that a log does).

        Parameters
        ----------
        writer
            `banditboost.logs.LogWriter`, or anything with its method `append`.

        Examples
        --------
        >>> import banditboost as bb
        >>> class Prints:
        ...     def append(self, context, actions, losses, densities, ticket):
        ...         print(ticket, context, losses, densities is not None)
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1)
        >>> booster.log_to(Prints())
        >>> booster.tell(booster.ask([0.5]), [0.25])
        1 [0.5] [0.25] True
        """
        if writer is not None and not callable(getattr(writer, "append", None)):
            raise ValueError(f"writer must have a method append, as logs.LogWriter has, got {type(writer).__name__}.")
        if writer is not None and self.spec.gradient.asks != "values":
            raise ValueError(
                f"writer must be None for {type(self.spec.gradient).__name__}: it is told gradients, and so no loss for a log."
            )
        with self._lock:
            self._log = writer

    def _log_round(self, ticket: Ticket, said: Said) -> None:
        if self._log is None or self._repeating or not said.answers.size:
            return
        probe = ticket.probe
        answered = np.ones(len(probe.queries), dtype=np.bool_) if said.answered is None else said.answered
        asked = np.array(probe.queries)
        actions = (asked if said.actions is None else said.actions)[answered]
        densities = None if probe.density is None else np.array(probe.density)[answered]
        if densities is not None:
            others = (actions != asked[answered]).reshape(len(actions), -1).any(axis=1)
            densities[others] = np.nan
        context = None if ticket.context is None else ticket.context.copy()
        self._log.append(context, actions, said.answers.copy(), densities, ticket.number)
