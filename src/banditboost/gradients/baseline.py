"""The running mean of earlier answers as control variate, so that only a value's difference from the mean adds variance.

    g = (d/δ) · (ℓ̃(y + δv) - b) · v,          b: the mean of the answers of earlier rounds

b is known before v is drawn and E[v] = 0, so the expectation is that of the one-point estimator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from banditboost._core.checks import Array, number
from banditboost._core.spec import Memory
from banditboost.gradients.base import Probe
from banditboost.gradients.sphere import Control, Sphere, refuse_overflow
from banditboost.spaces import Space


@dataclass(frozen=True)
class Baseline(Sphere, kind="gradients.Baseline"):
    """The one-point estimator minus a running mean of earlier answers: the same queries and the same expectation.

    Parameters
    ----------
    delta, queries
        As for `OnePoint`.
    window
        Number of rounds over which the mean is taken; the large losses of the first rounds then lose their influence.

    References
    ----------
    Williams (1992), "Simple statistical gradient-following algorithms", Section 3: the reinforcement baseline.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), Baseline(delta=0.5)
    >>> memory = gradient.start(copies=2, space=space)
    >>> probe = gradient.probe(np.zeros(2), space, {"directions": np.random.default_rng(0)})
    >>> gradient.learn(np.array([3.0, 5.0]), probe, space, memory)
    >>> gradient.estimate(np.array([3.5, 4.5]), probe, space, memory).tolist()
    [-1.0, -1.0]
    """

    window: float = 100.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if number("window", self.window) < 1:
            raise ValueError(f"window must be at least 1, got {self.window!r}.")

    @classmethod
    def examples(cls) -> tuple[Baseline, ...]:
        """Give one query per copy, and several."""
        return (cls(0.2), cls(0.2, queries=3))

    def start(self, copies: int, space: Space) -> Memory:
        """Return the number of rounds and the mean, both zero."""
        return {"baseline": np.zeros(2)}

    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return the running mean for every direction."""
        refuse_overflow(answers, space.rank / self.delta)
        return Control(np.full(len(answers), memory["baseline"][1]))

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Move the running mean towards the mean of this round; rounds without answers change nothing."""
        if len(answers):
            rounds, mean = memory["baseline"]
            rounds += 1
            memory["baseline"][:] = rounds, mean + (answers.mean() - mean) / min(rounds, self.window)

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import RunningMean

        return RunningMean(memory["baseline"], self.window)
