"""Forests and their heirs in plain Python: which rounds are kept, when a forest is grown on which, and who is played.

Written from what `banditboost.learners.Grown` and `banditboost._compiled.heirs` say. What the trees of a forest say is read from
the bank's arrays, one tree after the other; everything else is worked out here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array
from banditboost.learners import Grown
from banditboost.learners.grown_bank import GrownBank

STAGES, CLEARLY = 10, 1.0 + 1e-9


def stages(bank: GrownBank, heirs: bool, x: Array) -> list[Array]:
    """What a forest's ten stages say, and what it has been grown around before them, by a walk through the bank's arrays."""
    held = bank.memory.heir if heirs else bank.memory
    forest, features = held.forest, bank.memory.rows.shape[2]
    trees, said = int(held.clock[0, 3]), held.mean[0, 1].copy()
    found = [said.copy()]
    for stage in range(1, STAGES + 1):
        for tree in range((stage - 1) * trees // STAGES, stage * trees // STAGES):
            node = 0
            while forest.feature[0, tree, node] >= 0:
                test = int(forest.feature[0, tree, node])
                if test < features:
                    right = x[test] > forest.threshold[0, tree, node]
                else:
                    begin, end = bank.spec.categories[test - features]
                    columns = np.flatnonzero(x[begin:end])
                    level = int(columns[0]) + 1 if len(columns) else 0
                    place = level + 1  # the first bit says that there is a set
                    right = not (int(forest.sets[0, tree, node, place // 8]) >> (place % 8)) & 1
                node = int(forest.child[0, tree, node]) + int(right)
            said += forest.value[0, tree, node]
        found.append(said.copy())
    return found


@dataclass
class Judged:
    """A forest: how many trees it has, its next growth, and the errors of its stages."""

    trees: int = 0
    next: int = 0
    mean: Array = field(default_factory=lambda: np.zeros(1))
    errors: list[float] = field(default_factory=lambda: [0.0] * (STAGES + 1))

    def stage(self) -> int:
        if not self.trees:
            return 0
        best = STAGES
        for stage in reversed(range(STAGES)):
            if CLEARLY * self.errors[stage] < self.errors[best]:
                best = stage
        return best

    def says(self, told: list[Array]) -> Array:
        return self.mean if self.stage() == 0 else told[self.stage()]

    def judge(self, told: list[Array], target: Array) -> None:
        for stage, said in enumerate([self.mean, *told[1:]]):
            self.errors[stage] += float(np.square(said - target).sum())


class SlowHeirs:
    """One copy."""

    def __init__(self, spec: Grown, rows: int, queued: int, centre: Array) -> None:
        self.spec, self.rows, self.queued = spec, rows, queued
        self.kept: list[tuple[int, Array, Array]] = []
        self.queue: list[tuple[int, Array, Array]] = []
        self.seen, self.chance, self.due = 0, 1, 0
        self.own, self.heir = Judged(next=spec.first, mean=centre), Judged()
        self.grows = ""  # whose growth has begun
        self.held: list[tuple[int, Array, Array]] = []  # what that is grown on
        self.wanted = 0
        self.since = self.base = self.taken = self.given_up = 0
        self.usual = self.spread = self.long = self.short = self.counted = 0.0
        self.ahead = self.doubt = self.judged = 0.0
        self.grown_on: dict[str, list[int]] = {"own": [], "heir": []}

    def draw(self, n: int) -> int:
        self.chance = (self.chance * 6364136223846793005 + 1442695040888963407) % 2**63
        return (self.chance >> 20) % n

    @property
    def leads(self) -> bool:
        """Whether the heir is played."""
        return self.since > 0 and self.judged >= 10 and self.ahead > math.sqrt(self.doubt)

    def add(self, x: Array, target: Array, own: list[Array], heirs: list[Array]) -> None:
        """One round, whose forests have said this."""
        mine = float(np.square(self.own.says(own) - target).sum()) if self.own.trees else 0.0
        if self.own.trees:
            self.follow(math.sqrt(mine))
        if self.since and self.heir.trees:
            better = mine - float(np.square(self.heir.says(heirs) - target).sum())
            faded = 1 - 1 / 512
            self.ahead, self.doubt = faded * self.ahead + better, faded**2 * self.doubt + better**2
            self.judged += 1
            self.heir.judge(heirs, target)
        self.own.judge(own, target)
        self.seen += 1
        self.own.mean = self.own.mean + (target - self.own.mean) / (self.seen - self.base)
        self.put((self.seen, x.astype(np.float32), target))
        self.settle()

    def follow(self, error: float) -> None:
        self.counted += 1
        away = error - self.usual
        self.spread += (away**2 - self.spread) / min(self.counted, 4096)
        self.usual += away / min(self.counted, 4096)
        self.long += (error - self.long) / min(self.counted, 512)
        self.short += (error - self.short) / min(self.counted, 64)

    def put(self, row: tuple[int, Array, Array]) -> None:
        if len(self.kept) < self.rows:
            self.kept.append(row)
        elif not self.due:
            self.kept[self.draw(self.rows)] = row
        elif len(self.queue) < self.queued:
            self.queue.append(row)
        else:
            self.queue[self.draw(self.queued)] = row

    def settle(self) -> None:
        if self.due and self.seen >= self.due:
            self.take_effect()
        if not self.due and self.spec.renews:
            if self.since:
                self.decide()
            else:
                self.suspect()
        if not self.due:
            if self.since and self.seen >= self.heir.next:
                self.begin("heir", self.heir, self.late_first(), self.since)
            elif not self.since and self.seen >= self.own.next:
                self.begin("own", self.own, self.kept, self.base)
            if self.due and self.seen >= self.due:
                self.take_effect()

    def late_first(self) -> list[tuple[int, Array, Array]]:
        front = 0
        for r, row in enumerate(self.kept):
            if row[0] >= self.since:
                self.kept[r], self.kept[front] = self.kept[front], row
                front += 1
        return self.kept[:front]

    def begin(self, name: str, whose: Judged, rows: list[tuple[int, Array, Array]], base: int) -> None:
        used = whose.stage() * whose.trees // STAGES
        more = 2 * used if whose.stage() == STAGES else used + used // 2
        self.wanted = min(max(more, STAGES), self.spec.trees) if whose.trees else self.spec.trees
        self.grows, self.held = name, list(rows)
        self.due = self.seen + math.ceil(self.spec.lag * (self.seen - base))
        whose.next = base + math.ceil(self.spec.growth * (self.seen - base))
        self.grown_on[name] = [born for born, _, _ in rows]

    def take_effect(self) -> None:
        whose = self.heir if self.grows == "heir" else self.own
        whose.trees, whose.errors = self.wanted, [0.5 * error for error in whose.errors]
        if self.grows == "heir":
            whose.mean = np.mean([target for _, _, target in self.held], axis=0)
        for row in self.queue:
            self.kept[self.draw(self.rows)] = row
        self.queue, self.due, self.grows = [], 0, ""

    def suspect(self) -> None:
        for rounds, late, sure in ((64, self.short, 3.0), (512, self.long, 4.0)):
            if self.counted > 2 * rounds and late - self.usual > sure * math.sqrt(self.spread / (2 * rounds)):
                self.since = max(self.seen - rounds, self.base + 1)
                self.heir = Judged(next=max(self.since + self.spec.first, self.seen))
                self.ahead = self.doubt = self.judged = 0.0
                return

    def decide(self) -> None:
        age, doubt = self.seen - self.since, math.sqrt(self.doubt)
        if self.ahead > 3 * doubt and self.judged > 20:
            self.kept = self.late_first()
            self.own = Judged(self.heir.trees, self.heir.next, self.heir.mean, self.heir.errors)
            self.base, self.since, self.taken = self.since, 0, self.taken + 1
            self.usual = self.spread = self.long = self.short = self.counted = 0.0
            self.ahead = self.doubt = self.judged = 0.0
        elif (self.ahead < -3 * doubt and age > 1000) or 2 * age > self.seen - self.base:
            self.since, self.given_up = 0, self.given_up + 1
            self.usual = self.short = self.long
            self.counted = min(self.counted, 512)
