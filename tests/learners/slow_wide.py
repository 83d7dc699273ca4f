"""A normal law of weights with its whole covariance matrix, from which entries are struck out that the learner does not keep."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.learners import Wide


class SlowWide:
    """One copy that decides on one number; the constant is the last weight."""

    def __init__(self, spec: Wide, features: int) -> None:
        self.spec, self.features = spec, features
        self.mean, self.covariance = np.zeros(features + 1), np.eye(features + 1)
        self.values: list[list[float]] = [[] for _ in range(features)]
        self.block: list[int] = []
        self.rounds = 0
        self.wary, self.gains = np.zeros(features + 1), np.zeros(3)

    @property
    def share(self) -> float:
        """How far wary weights are followed."""
        gained, squares, variance = self.gains
        return float(np.clip((gained - 2 * variance / gained) / squares, 0, 1)) if gained > 0 and squares > 0 else 0.0

    def scaled(self, x: Array) -> Array:
        """Every value in units of the feature's non-zeros, the present one included; the constant last."""
        z = np.zeros(self.features + 1)
        z[-1] = 1.0
        for k in np.flatnonzero(x):
            seen = np.array([*self.values[k], x[k]])
            spread = float(np.mean(np.square(seen - seen.mean())))
            if len(seen) >= 0.9 * (self.rounds + 1) and spread > (1e-10 * seen.mean()) ** 2:
                z[k] = (x[k] - seen.mean()) / np.sqrt(spread)
            else:
                z[k] = x[k] / np.sqrt(np.mean(np.square(seen)))
        return z

    def play(self, x: Array) -> float:
        z = self.scaled(x)
        return float(self.mean @ z + (self.share * (self.wary - self.mean) @ z if self.spec.wary else 0.0))

    def learn_warily(self, z: Array, target: float) -> None:
        there = np.array([*(len(seen) for seen in self.values), self.rounds])
        steps = z / np.sqrt(1 + 3 * there)
        way, missed = (self.wary - self.mean) @ z, target - self.mean @ z
        self.gains += (missed * way, way**2, (missed * way - self.share * way**2) ** 2)
        noise = 8 / 3 * self.spec.ridge / self.spec.curvature
        self.wary = self.wary + steps * (target - self.wary @ z) / (noise + steps @ z)

    def update(self, x: Array, g: float) -> None:
        z = self.scaled(x)
        self.learn_warily(z, -g / self.spec.curvature)
        lever = self.covariance @ z
        s = self.spec.ridge / self.spec.curvature + z @ lever
        self.mean = self.mean + lever * (-g / self.spec.curvature - self.mean @ z) / s
        self.covariance = self.covariance - np.outer(lever, lever) / s
        self.rounds += 1
        kept = np.eye(self.features + 1, dtype=bool)  # a feature that joins brings no covariance of this round
        kept[np.ix_([*self.block, -1], [*self.block, -1])] = True
        self.covariance = np.where(kept, self.covariance, 0.0)
        for k in np.flatnonzero(x):
            self.values[k].append(float(x[k]))
            if k not in self.block and len(self.values[k]) >= self.spec.proven and len(self.block) < self.spec.block:
                self.block.append(int(k))
