"""Which rounds are remembered where forests take effect later, written as plainly as can be."""

from __future__ import annotations

import math
from typing import Any

from banditboost.learners import Grown


class Reservoir:
    """Rounds that are kept, and a queue while a growth has begun and has not taken effect."""

    def __init__(self, spec: Grown, rows: int, queued: int) -> None:
        self.spec, self.rows, self.queued = spec, rows, queued
        self.kept: list[Any] = []
        self.queue: list[Any] = []
        self.seen, self.chance, self.next = 0, 1, spec.first
        self.due = 0  # 0: nothing has begun

    def draw(self, n: int) -> int:
        self.chance = (self.chance * 6364136223846793005 + 1442695040888963407) % 2**63
        return (self.chance >> 20) % n

    def add(self, row: Any) -> None:
        self.seen += 1
        if len(self.kept) < self.rows:
            self.kept.append(row)
        elif not self.due:
            self.kept[self.draw(self.rows)] = row
        elif len(self.queue) < self.queued:
            self.queue.append(row)
        else:
            self.queue[self.draw(self.queued)] = row
        if self.due and self.seen >= self.due:
            for waiting in self.queue:
                self.kept[self.draw(self.rows)] = waiting
            self.queue, self.due = [], 0
        if not self.due and self.seen >= self.next:
            self.due = self.seen + math.ceil(self.spec.lag * self.seen)
            self.next = math.ceil(self.spec.growth * self.seen)
