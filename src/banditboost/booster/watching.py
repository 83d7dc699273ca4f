"""What a booster says about changes of its world: alarms that were raised, and whether something is suspected."""

from __future__ import annotations

from banditboost._core.checks import Array
from banditboost.booster.answers import mean
from banditboost.booster.in_flight import InFlight
from banditboost.drifts import Alarm, Detector


class Watching(InFlight):
    """The part of a booster that watches what it is told for changes of the world."""

    @property
    def drifts(self) -> tuple[Alarm, ...]:
        """The alarms that were raised, each with the round that raised it and about when the world changed; the last 64.

        What is watched is the mean of the values told in a round, in the order of telling, however late: an alarm says that losses
        have become larger than chance explains, or rewards smaller. Alarms change nothing else; `reset` and a plan's new phases
        leave the detector as it is. `drifts.Detector` says how, and what holds.

        Examples
        --------
        A price that was right becomes wrong:

        >>> import banditboost as bb
        >>> import numpy as np
        >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=2, drifts=True)
        >>> rng = np.random.default_rng(0)
        >>> for t in range(2000):
        ...     ticket, best = booster.ask([rng.uniform()]), 3.0 if t < 1500 else 7.0
        ...     booster.tell(ticket, (ticket.queries - best) ** 2 + rng.normal(0, 0.1, size=2))
        >>> for alarm in booster.drifts:
        ...     print(alarm)
        The world changed about round 1,500, as was noticed in round 1,508.
        """
        with self._lock:
            return self._detector("drifts").alarms(self.drifts_memory)

    @property
    def warned_since(self) -> int:
        """The round since which a change is suspected, on a hundredth of the evidence that raises an alarm; 0 where none is."""
        with self._lock:
            return self._detector("warned_since").warned_since(self.drifts_memory)

    def _detector(self, what: str) -> Detector:
        if self.spec.drifts is None:
            raise ValueError(f"drifts must be turned on for {what}: make the booster with drifts=True.")
        return self.spec.drifts

    def _watch(self, detector: Detector, answers: Array) -> None:
        """Let the detector learn from a round that was told."""
        detector.learn(self.drifts_memory, mean(answers) if answers.size else float("nan"))
