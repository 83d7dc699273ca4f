"""Gradients that are given as answers: exact (full information) or stochastic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Gradient, Probe, Questions, Streams
from banditboost.noise import Noise, Silent
from banditboost.spaces import Space


@dataclass(frozen=True)
class Stochastic(Gradient, kind="gradients.Stochastic"):
    """An unbiased, bounded estimate g_i of ∇ℓ(y^{i-1}) for each copy, given as the answer to a query at y^{i-1}.

    References
    ----------
    Brukhim, Hazan (2020), Algorithm 1, line 7 and Assumption 2.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> Stochastic().probe(np.array([0.0, 0.5]), Interval(), {}).queries.tolist()
    [0.0, 0.5]
    """

    asks: ClassVar[Literal["values", "gradients"]] = "gradients"

    def count(self, copies: int) -> int:
        """Return one query per copy."""
        return copies

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Query the anchors themselves, each with a sample of its own."""
        nothing = np.empty((0, *space.shape))
        return Probe(anchors, nothing, np.arange(len(anchors)), anchors, np.ones(0, dtype=np.bool_))

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return the answers, which are the gradients."""
        return answers

    def draw(
        self, copies: int, space: Space, streams: Streams, rounds: int, noise: Noise, rng: np.random.Generator
    ) -> Questions:
        """Draw the noise of the gradients, where there is any."""
        blurred = self.noisy and not isinstance(noise, Silent)
        drawn = noise.sample(rng, (rounds, copies, space.size)) if blurred else np.empty((0, 0, 0))
        return Questions(np.empty((0, 0, 0)), np.empty((0, 0), dtype=np.bool_), drawn)

    @property
    def draws_like(self) -> Any:
        """Only whether there is noise."""
        return ("gradients", self.noisy)

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import Given

        return Given(questions.noise)


@dataclass(frozen=True)
class Exact(Stochastic, kind="gradients.Exact"):
    """The true gradient ∇ℓ(y^{i-1}) for each copy: full information without noise.

    References
    ----------
    Beygelzimer, Hazan, Kale, Luo (2015), Algorithm 2, line 9.
    """

    noisy: ClassVar[bool] = False
