"""The last answer as control variate: one query a round, compared with the query before it.

    g_t = (d/δ) · (ℓ̃_t(y_t + δv_t) - ℓ̃_s(y_s + δv_s)) · v_t,          s: the last round in which this was asked

The last answer is known before v_t is drawn, so the mean is that of the one-point estimator; where the loss changes slowly, what
both values share cancels, as it would with two queries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe
from banditboost.gradients.sphere import Control, Sphere, bearable
from banditboost.spaces import Space


@dataclass(frozen=True)
class Residual(Sphere, kind="gradients.Residual"):
    """One-point residual feedback: each copy's value less its own last one. Before the first, that is zero.

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
        """One query a copy, and several."""
        return (cls(0.2), cls(0.2, queries=3))

    def n_floats(self, copies: int) -> int:
        """Two a query: one is remembered."""
        return 2 * self.count(copies)

    def start(self, copies: int, space: Space) -> Memory:
        """Nothing was told yet."""
        return {"last": np.zeros(copies * self.queries)}

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Each direction's own."""
        bearable(answers, space.rank / self.delta)
        return Control(memory["last"])

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Keep what was told now."""
        memory["last"][probe.chosen] = answers

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import LastAnswer

        return LastAnswer(memory["last"])
