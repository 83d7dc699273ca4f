"""Gradients that are given as answers: exact (full information) or stochastic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.gradients.base import Gradient, Moment, Probe, Questions, Streams, carried
from banditboost.noise import Noise, Silent
from banditboost.spaces import Space

BESIDE = 0.02
"""How far beside the anchors gradients are asked for where no curvature is known, in extents of the space."""


@dataclass(frozen=True)
class Told(Gradient):
    """Gradients that the world gives, one for each query."""

    asks: ClassVar[Literal["values", "gradients"]] = "gradients"

    def count(self, copies: int) -> int:
        """Return one query per copy."""
        return copies

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Query the anchors themselves, each with a sample of its own."""
        nothing = np.empty((0, *space.shape))
        return Probe(anchors, nothing, np.arange(len(anchors)), anchors, np.ones(0, dtype=np.bool_))

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


@dataclass(frozen=True)
class Stochastic(Told, kind="gradients.Stochastic"):
    """An unbiased, bounded estimate g_i of ∇ℓ(y^{i-1}) for each copy, given as the answer to a query at y^{i-1}.

    Parameters
    ----------
    scaled
        True: gradients are multiplied by 2/h, as if the loss were a squared distance in any units, where h is the curvature of the
        losses of late: how much gradients change from one anchor to the next, over the distance of the anchors. h is at least the
        size of the gradients over the extent of the space, so that linear losses have a scale too. `algorithms.boosted` scales.

    References
    ----------
    Brukhim, Hazan (2020), Algorithm 1, line 7 and Assumption 2.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> Stochastic().probe(np.array([0.0, 0.5]), Interval(), {}).queries.tolist()
    [0.0, 0.5]
    """

    scaled: bool = False

    @classmethod
    def examples(cls) -> tuple[Self, ...]:
        """Give one that takes gradients as they are, and one that scales them."""
        return (cls(), cls(scaled=True))

    def start(self, copies: int, space: Space) -> Memory:
        """Return no rounds, and no changes of gradients."""
        return {"scale": np.zeros(4)} if self.scaled else {}

    def begin(self, moment: Moment, space: Space, streams: Streams, memory: Memory) -> Probe:
        """Query the anchors; a little beside them where other rounds wait for answers and no curvature is known.

        As long as nothing was learned all anchors are one point, which shows no curvature. A first answer would end that; where
        answers are late, many rounds are asked before it comes.
        """
        if not (self.scaled and moment.waiting and memory["scale"][1] == 0.0):
            return self.probe(moment.anchors, space, streams)
        beside = np.zeros((len(moment.anchors), space.size))
        copies = np.arange(len(beside))
        beside[copies, copies // 2 % space.size] = BESIDE * np.where(copies % 2, -1.0, 1.0)
        moved = moment.anchors + (beside * space.extents).reshape(moment.anchors.shape)
        return self.probe(np.asarray(space.project(moved)), space, streams)

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return the answers, which are the gradients, scaled where that was asked for."""
        return self._measured(answers, probe, space, memory["scale"].copy()) if self.scaled else answers

    @property
    def moves(self) -> bool:
        """True where gradients are scaled: they have the curvature 2 then."""
        return self.scaled

    def estimate_at(self, path: Array, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Carry the gradients to the new anchors."""
        return carried(self.estimate(answers, probe, space, memory), probe, path[:-1], space)

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Count how gradients change with the anchors."""
        if self.scaled:
            self._measured(answers, probe, space, memory["scale"])

    def _measured(self, answers: Array, probe: Probe, space: Space, scale: Array) -> Array:
        from banditboost._compiled.gradients import measure

        gradients = np.array(answers, dtype=float).reshape(len(probe.anchors), space.size)
        anchors = np.ascontiguousarray(probe.anchors, dtype=float).reshape(gradients.shape)
        measure(scale, space.extents, anchors, gradients)
        return gradients.reshape(np.shape(answers))

    def resize(self, memory: Memory, old: Space, new: Space) -> None:
        """Measure changes of anchors, and gradients, by the new extent."""
        if self.scaled:
            factor = float(np.mean(new.extents / old.extents)) ** 2
            memory["scale"][1] /= factor
            memory["scale"][3] *= factor

    def check(self, copies: int, space: Space) -> None:
        """Raise an error where gradients of matrices would have to be scaled."""
        if self.scaled and len(space.shape) > 1:
            raise ValueError("scaled must be False where decisions are matrices.")

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the form in `banditboost._compiled.gradients`."""
        from banditboost._compiled.gradients import Given, Measured

        given = Given(questions.noise)
        return Measured(given, memory["scale"], space.extents) if self.scaled else given


@dataclass(frozen=True)
class Exact(Stochastic, kind="gradients.Exact"):
    """The true gradient ∇ℓ(y^{i-1}) for each copy: full information without noise.

    References
    ----------
    Beygelzimer, Hazan, Kale, Luo (2015), Algorithm 2, line 9.
    """

    noisy: ClassVar[bool] = False
