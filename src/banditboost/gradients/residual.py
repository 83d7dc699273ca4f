"""The last answer as control variate: each query is compared with the query before it.

    g_t = (d/δ) · (ℓ̃_t(y_t + δv_t) - ℓ̃_s(y_s + δv_s)) · v_t,          s: the last round in which this copy was answered

The last answer is known before v_t is drawn, so the expectation is that of the one-point estimator. Where the loss changes slowly,
the common part of both values cancels, as it would with two queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe
from banditboost.gradients.sphere import Control, Sphere, refuse_overflow
from banditboost.spaces import Space


@dataclass(frozen=True)
class Residual(Sphere, kind="gradients.Residual"):
    """One-point residual feedback: each copy's value minus its own last value, which is zero before the first round.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`.

    References
    ----------
    Zhang, Zhou, Ji, Zavlanos (2022), "A new one-point residual-feedback oracle for black-box learning and control", Equation 4.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), Residual(delta=0.5)
    >>> memory = gradient.start(copies=2, space=space)
    >>> probe = gradient.probe(np.zeros(2), space, {"directions": np.random.default_rng(0)})
    >>> gradient.learn(np.array([3.0, 5.0]), probe, space, memory)
    >>> gradient.estimate(np.array([3.5, 4.5]), probe, space, memory).tolist()
    [1.0, 1.0]
    """

    @classmethod
    def examples(cls) -> tuple[Residual, ...]:
        """Give one query per copy, and several."""
        return (cls(0.2), cls(0.2, queries=3))

    def n_floats(self, copies: int) -> int:
        """Return two floats per query, one of which is remembered from round to round."""
        return 2 * self.count(copies)

    def start(self, copies: int, space: Space) -> Memory:
        """Return zero as the last answer of every direction."""
        return {"last": np.zeros(copies * self.queries)}

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return the last answer of each direction."""
        refuse_overflow(answers, space.rank / self.delta)
        return Control(memory["last"])

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Remember the answers of this round."""
        memory["last"][probe.chosen] = answers

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import LastAnswer

        return LastAnswer(memory["last"])
