"""Algorithm 2 as a NumPy user would write it from the paper: a loop over rounds and a loop over weak learners."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def algorithm_2(
    X: NDArray[np.float64],
    labels: NDArray[np.float64],
    copies: int,
    delta: float,
    radius: float,
    scale: float,
    power: float,
    low: float,
    high: float,
    seed: int = 0,
) -> float:
    rng = np.random.default_rng(seed)
    rounds, p = X.shape
    W = np.zeros((copies, p + 1))
    eta = 2 / (np.arange(1, copies + 1) + 1)
    total = 0.0
    for t in range(rounds):
        x = np.append(X[t], 1.0)
        y, g = 0.0, np.empty(copies)
        for i in range(copies):
            v = 1.0 if rng.random() < 0.5 else -1.0
            feedback = (y + delta * v - labels[t]) ** 2 + rng.uniform(-0.1, 0.1)
            g[i] = feedback * v / delta
            y = (1 - eta[i]) * y + eta[i] * (W[i] @ x)
        total += (np.clip(y, low, high) - labels[t]) ** 2
        rate = scale * (t + 1) ** -power
        for i in range(copies):
            W[i] -= rate * g[i] * x
            norm = np.linalg.norm(W[i])
            if norm > radius:
                W[i] *= radius / norm
    return float(total / rounds)
