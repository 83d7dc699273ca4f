"""Algorithm 2 on an interval as a loop over plain numbers, told in any order: what `Booster` must agree with.

It shares nothing with the library but the directions, which are random and come with the ticket.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import banditboost as bb

COPIES, FEATURES, DELTA, RADIUS, BOUND = 3, 2, 0.2, 1.5, 1.0


def make(seed: int = 0, **changes: Any) -> bb.Booster:
    """The booster that the loop below is."""
    parts: dict[str, Any] = {
        "learner": bb.learners.Linear(radius=RADIUS, rate=bb.rates.Power(0.5, 0.5)),
        "copies": COPIES,
        "gradient": bb.gradients.OnePoint(DELTA),
        "space": bb.spaces.Interval(-BOUND, BOUND),
        "seed": seed,
    }
    return bb.Booster(**(parts | changes))


@dataclass
class Asked:
    """What a round remembers until it is told."""

    context: list[float]
    wished: list[float]
    played: list[float]
    anchors: list[float]
    prediction: float


@dataclass
class SlowBooster:
    """The same, one number at a time; in flight are those asked and neither told nor forgotten."""

    limit: int = 100_000
    rounds: int = 0
    asked: int = 0
    weights: list[list[float]] = field(default_factory=lambda: [[0.0] * (FEATURES + 1) for _ in range(COPIES)])
    in_flight: dict[int, Asked] = field(default_factory=dict)

    def play(self, x: list[float]) -> Asked:
        context = [*x, 1.0]
        wished = [sum(w * c for w, c in zip(row, context, strict=True)) for row in self.weights]
        inner = BOUND - DELTA
        played = [min(inner, max(-inner, z)) for z in wished]
        path = [0.0]
        for i, point in enumerate(played, start=1):
            step = 2 / (i + 1)
            path.append((1 - step) * path[-1] + step * point)
        return Asked(context, wished, played, path[:-1], path[-1])

    def ask(self, x: list[float]) -> int:
        self.asked += 1
        self.in_flight[self.asked] = self.play(x)
        while len(self.in_flight) > self.limit:
            del self.in_flight[min(self.in_flight)]
        return self.asked

    def tell(self, number: int, losses: list[float], directions: list[float]) -> None:
        asked = self.in_flight.pop(number)
        self.rounds += 1
        rate = 0.5 / math.sqrt(self.rounds)
        for row, z, b, loss, v in zip(self.weights, asked.wished, asked.played, losses, directions, strict=True):
            gradient = loss * v / DELTA
            if (z > b and gradient < 0) or (z < b and gradient > 0):
                gradient = 0.0
            for k, c in enumerate(asked.context):
                row[k] -= rate * gradient * c
            length = math.sqrt(sum(w * w for w in row))
            if length > RADIUS:
                row[:] = [w * RADIUS / length for w in row]

    def forget_older_than(self, rounds: int) -> int:
        old = [number for number in self.in_flight if self.asked - number > rounds]
        for number in old:
            del self.in_flight[number]
        return len(old)
