"""Alarms that are raised during a block of rounds, on their way into the trace."""

from __future__ import annotations

from banditboost.booster import Booster
from banditboost.drifts import Alarm
from banditboost.evaluate.trace import Trace


class News:
    """How many alarms a booster has raised, and how many rounds it was told, before a block that begins with a round of the run."""

    def __init__(self, booster: Booster, begin: int) -> None:
        self.booster, self.earlier = booster, booster.rounds - begin
        detector = booster.spec.drifts
        self.known = 0 if detector is None else detector.raised(booster.drifts_memory)

    def write(self, trace: Trace) -> None:
        """Add the alarms raised since to the trace, with rounds counted from the beginning of the run."""
        detector = self.booster.spec.drifts
        if detector is None or trace.drifts is None:
            return
        for alarm in detector.alarms(self.booster.drifts_memory, self.known):
            trace.drifts += (Alarm(alarm.round - self.earlier, max(0, alarm.since - self.earlier)),)
