"""What grows in the background while rounds go on: when it takes effect, and that a journal knows.

A growth that begins in one round takes effect in a later one that is fixed when it begins. Where it is not ready by then, `tell`
does not wait: the growth is *late*, which is part of the state, and takes effect in the first `tell` that finds it ready. Becoming
late, and being late no longer, are calls of their own that a journal records before they take effect; when the journal is read
again, what it says decides, and not what is ready then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from banditboost.booster.in_flight import InFlight


class Late(NamedTuple):
    """A growth that is late from now on, or no longer."""

    grower: int
    """Which of the banks that grow in the background it belongs to."""
    copy: int
    late: bool


class Growing(InFlight):
    """The part of a booster that decides in which round a growth in the background takes effect."""

    def wait_for_growth(self) -> None:
        """Wait for what is being grown in the background, where it is due in the next `tell`.

        With this before every `tell`, what is played depends on the seed alone, as it does without a background. Other threads may
        go on meanwhile.

        Examples
        --------
        >>> import banditboost as bb
        >>> memory = bb.learners.Grown(first=20, lag=0.1, background=True)
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=2, memory=memory)
        >>> for t in range(30):
        ...     ticket = booster.ask([t % 7])
        ...     booster.wait_for_growth()
        ...     booster.tell(ticket, (ticket.queries - 0.1 * (t % 7)) ** 2)
        """
        with self._lock:
            growers = () if self.bank is None else self.bank.growers()
            waiting = [growth for bank in growers for growth in bank.growths()]
        for growth in waiting:
            growth.wait()

    def _look_at_growths(self) -> None:
        """See before a `tell` which growths are late, and which no longer."""
        assert self.bank is not None
        growers = self.bank.growers()
        if not growers or self._repeating:
            return
        news = [Late(k, copy, late) for k, bank in enumerate(growers) for copy, late in bank.late()]
        if news:
            if self.journal is not None:
                self.journal.growing(news)
            self._turn.changing = True
            self._set_late(news)
            if self.journal is not None:
                self.journal.done()
            self._turn.changing = False  # nothing is half done

    def _set_late(self, news: Sequence[Late]) -> None:
        assert self.bank is not None
        growers = self.bank.growers()
        for one in news:
            growers[one.grower].set_late(one.copy, one.late)
