"""Numbers for Prometheus: latencies of requests, and what each booster has paid, waits for and explores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from banditboost.serve.writer import Writer

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
COUNTERS = {
    "asks": "Tickets issued since the booster was opened.",
    "tells": "Tickets told since the booster was opened.",
    "repeated_tells": "Tells that had been taken before.",
    "late_answers": "Answers that came after the deadline, since the booster was opened.",
}
GAUGES = {
    "paid_losses": "Sum of the mean losses of the tells since the booster was opened.",
    "exploration_width": "Largest distance of the last ask's queries from its prediction.",
    "tickets_in_flight": "Tickets that wait for answers.",
    "journal_lag_calls": "Recorded calls that may not be on the disk yet.",
    "calls_waiting": "Calls that wait for their turn.",
    "oldest_ticket_seconds": "How long the oldest ticket in flight has waited.",
    "drift_alarms": "Alarms that the world has changed.",
    "booster_rounds": "Rounds of the booster that its guard has compared.",
    "baseline_rounds": "Rounds of the baseline that the guard has compared.",
    "regret_against_baseline": "Estimated sum of what the booster has lost more than the baseline would have.",
    "difference_low": "Lower end of the confidence sequence of the mean difference, booster minus baseline; NaN if unknown.",
    "difference_high": "Upper end of the confidence sequence of the mean difference; NaN if unknown.",
    "fallen_back": "1 where the baseline plays every round.",
    "syncs": "How often the disk was waited for since the booster was opened, for one call or many.",
}


class Metrics:
    """The latencies of a service's requests."""

    def __init__(self) -> None:
        self._common = CollectorRegistry()
        self._requests = Histogram(
            "banditboost_request_seconds",
            "Time from the head of a request to the end of its answer.",
            ["method", "route", "status"],
            registry=self._common,
            buckets=SECONDS,
        )
        self._known: dict[tuple[str, str, int], Any] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note a request; the route is a pattern, so that callers cannot make up labels."""
        which = method if method in ("GET", "PUT", "POST", "DELETE") else "other", route, status
        if which not in self._known:
            self._known[which] = self._requests.labels(*map(str, which))
        self._known[which].observe(seconds)

    def text(self, boosters: Iterable[tuple[str, Writer]]) -> bytes:
        """Return what Prometheus reads, with the boosters that are given by name: those of one tenant."""
        registry = CollectorRegistry()
        registry.register(_Boosters(boosters))
        return bytes(generate_latest(self._common) + generate_latest(registry))


class _Boosters(Collector):
    """Reads the numbers of boosters when they are asked for, so that no request has to write them."""

    def __init__(self, boosters: Iterable[tuple[str, Writer]]) -> None:
        self._boosters = list(boosters)

    def collect(self) -> Iterator[Metric]:
        """Return all numbers."""
        families: dict[str, Any] = {
            name: CounterMetricFamily(f"banditboost_{name}", text, labels=["booster"])
            for name, text in COUNTERS.items()
        } | {name: GaugeMetricFamily(f"banditboost_{name}", text, labels=["booster"]) for name, text in GAUGES.items()}
        for booster, writer in self._boosters:
            for name, value in writer.numbers().items():
                families[name].add_metric([booster], value)
        yield from families.values()
