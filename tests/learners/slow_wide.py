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
        return float(self.mean @ self.scaled(x))

    def update(self, x: Array, g: float) -> None:
        z = self.scaled(x)
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
