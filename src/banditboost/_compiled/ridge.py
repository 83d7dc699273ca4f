"""Online ridge regression, compiled: one product and one symmetric update of the inverse a round."""

from __future__ import annotations

from banditboost._compiled.jit import loop
from banditboost._core.checks import Array


@loop
def rounds(inverse: Array, moment: Array, X: Array, labels: Array, lever: Array, predictions: Array) -> None:
    """Predict and learn len(X) rounds; inverse, (p, p), and moment, (p,), are learned in place; lever, (p,), is scratch.

    With A the sum before the round and l = A⁻¹x, Sherman-Morrison gives (A + xxᵀ)⁻¹x = l / (1 + x·l), so that the prediction,
    which counts the round's own context, needs no second product. Zeros of x are skipped.
    """
    p = len(moment)
    for t in range(len(X)):
        for k in range(p):
            lever[k] = 0.0
        for k in range(p):
            if X[t, k] != 0.0:
                for j in range(p):
                    lever[j] += X[t, k] * inverse[k, j]
        size, total = 1.0, 0.0
        for j in range(p):
            size += X[t, j] * lever[j]
            total += moment[j] * lever[j]
        predictions[t] = total / size
        for k in range(p):
            scaled = lever[k] / size
            for j in range(p):
                inverse[k, j] -= scaled * lever[j]
        for j in range(p):
            moment[j] += labels[t] * X[t, j]
