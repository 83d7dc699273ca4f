"""Which tickets wait for answers: how many may, and how they are given up."""

from __future__ import annotations

from collections.abc import Sequence

from banditboost._core import checks, processes
from banditboost.booster.state import BoosterState
from banditboost.booster.ticket import Ticket


class InFlight(BoosterState):
    """The part of a booster that keeps the numbers of its tickets in flight."""

    def _check_ticket(self, ticket: Ticket) -> None:
        if not isinstance(ticket, Ticket):
            raise ValueError(f"ticket must be what ask returned, got {type(ticket).__name__}.")
        if ticket.owner != self.identity:
            raise ValueError("ticket must come from this booster: this one was issued by another.")
        if ticket.travelled and ticket.number in self._pending:
            spec, plays = self.spec, ticket.plays.shape
            old = ticket.number <= self._outdated  # of copies that may have been fewer
            fits = plays[1:] == spec.space.shape and (old or plays[0] == spec.copies)
            fits &= old or ticket.asks == spec.gradient.asks
            known = spec.learner.contextual
            fits &= (ticket.context is not None and self._has_columns(ticket.context.shape)) == known
            if not fits:
                raise ValueError("ticket must be what ask returned: the arrays in its file do not fit this booster.")

    def _has_columns(self, shape: tuple[int, ...]) -> bool:
        """Return whether a context could be one of this booster's; with an encoder, earlier ones may have had fewer columns."""
        return shape == (self.features,) or (self.names is not None and len(shape) == 1 and shape[0] < self.features)

    @property
    def in_flight(self) -> tuple[int, ...]:
        """Numbers of the tickets that wait for answers, the oldest first."""
        with self._lock:
            return tuple(sorted(self._pending))

    def limit_in_flight(self, limit: int) -> None:
        """Set the most tickets that may wait for answers: asking for one more forgets the oldest.

        A booster keeps the numbers of its tickets in flight, about a hundred bytes each; their arrays belong to the caller. Without
        a limit, answers that never come would fill the memory of a program that runs for years. The oldest ticket is forgotten,
        since its answer is the least likely to come and is about copies that have changed the most since. Asking is never refused,
        so that answers that are lost elsewhere do not stop the booster. Telling a forgotten ticket raises `NotInFlightError`, as
        telling a ticket twice does, which shows where the limit is too low. A journal keeps the tickets themselves, and the limit
        bounds their number.
        """
        limit = checks.count("limit", limit)
        with self._lock, self._turn:
            processes.check(self._process)
            if self.journal is not None:
                self.journal.limiting(limit)
            self._turn.changing = True
            self.in_flight_limit = limit
            self._drop_oldest(len(self._pending) - limit)
            if self.journal is not None:
                self.journal.done()

    def forget(self, ticket: Ticket) -> bool:
        """Give up a ticket whose answers will not come; return whether it was in flight."""
        with self._lock, self._turn:
            processes.check(self._process)
            self._check_ticket(ticket)
            return self._remove((ticket.number,)) == 1

    def forget_older_than(self, rounds: int) -> int:
        """Give up all tickets after which more than `rounds` others were asked; return how many.

        Age is counted in rounds and not by a clock, so that a clock that is set back changes nothing.
        """
        rounds = checks.count("rounds", rounds, least=0)
        with self._lock, self._turn:
            processes.check(self._process)
            last = self._asked - rounds - 1
            return self._remove(sorted(number for number in self._pending if number <= last))

    def _remove(self, numbers: Sequence[int]) -> int:
        numbers = [number for number in numbers if number in self._pending]
        journal = self.journal
        if numbers and journal is not None:
            journal.forgetting(numbers)
        self._turn.changing = True
        self._pending.difference_update(numbers)
        if numbers and journal is not None:
            for number in numbers:
                del journal.tickets[number]
            journal.done()
        return len(numbers)

    def _drop_oldest(self, how_many: int) -> None:
        for _ in range(how_many):
            # Numbers are given out in order: the oldest is mostly a few steps from where the last one was found.
            near = range(self._oldest, self._oldest + len(self._pending))
            oldest = next((number for number in near if number in self._pending), None) or min(self._pending)
            self._pending.remove(oldest)
            self._oldest = oldest + 1
            if self.journal is not None:
                del self.journal.tickets[oldest]
