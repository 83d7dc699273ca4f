"""The base of all gradients from loss values alone: queries on a sphere, and a control variate.

A noisy value ℓ̃ at z = y + δv, for a random unit vector v, gives

    g = (d/δ) · (ℓ̃(z) - c(z)) · v + s(y),          E[g] = ∇ℓ̂(y),   ℓ̂(y) = E[ℓ(y + δu)], u uniform in the unit *ball*

where c is any function that does not depend on v, and s is the gradient of c smoothed in the same way: the second term restores in
expectation what c takes from the first. The closer c is to ℓ, the smaller the variance. Each file beside this one is a choice of c.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.forms import no_loop
from banditboost._core.spec import Memory
from banditboost.gradients.base import Gradient, Probe, Questions, Streams
from banditboost.noise import Noise
from banditboost.spaces import Space


class Control(NamedTuple):
    """A control variate for each of D directions."""

    values: Array | None = None
    """c at the query, shape (D,); None stands for zero."""
    slopes: Array | None = None
    """s at the anchor, shape (D, size); None for a c that does not depend on z, whose slope is zero."""


@dataclass(frozen=True)
class Sphere(Gradient):
    """Base class of the gradients that ask for loss values around the anchors.

    Parameters
    ----------
    delta
        Distance δ of the queries from the anchors. A small δ has a small bias, but the variance grows like 1/δ².
    queries
        Directions per copy: one in Algorithm 2, N for the only copy of the N-FKM baseline.
    """

    delta: float = 0.5
    queries: int = 1

    asks: ClassVar[Literal["values", "gradients"]] = "values"
    sides: ClassVar[int] = 1
    """Queries per direction: 2 where the opposite direction is asked about too."""
    unbiased: ClassVar[bool] = True
    """True: the expectation is the gradient of the smoothed loss."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive("delta", self.delta)
        checks.count("queries", self.queries)

    @property
    def reach(self) -> float:
        """The radius δ of the sphere of queries."""
        return self.delta

    def count(self, copies: int) -> int:
        """Return copies times `queries` times `sides`."""
        return copies * self.queries * self.sides

    def n_floats(self, copies: int) -> int:
        """Return one float per query, which is held during a round."""
        return self.count(copies)

    def directions(self, space: Space, rng: np.random.Generator, n: int) -> Array:
        """Draw n random directions for the queries."""
        return space.directions(rng, n)

    def pull(self, directions: Array) -> Array:
        """Return the vectors by which the answers are multiplied, one for each direction."""
        return directions

    @abstractmethod
    def control(self, answers: Array, probe: Probe, space: Space, memory: Memory, expected: float) -> Control:
        """Return the control variate, which for direction i must not depend on direction i or its answer in this round.

        Parameters
        ----------
        answers
            Shape (D, sides); zero for directions that were not asked about.
        probe, space, memory
            As for `estimate`.
        expected
            Expected number of directions that are asked about.
        """

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Choose queries at distance δ from each anchor, in random directions of the space's tangent space."""
        directions = self.directions(space, streams["directions"], len(anchors) * self.queries)
        return self.ask(anchors, directions, everyone(len(directions)))

    def ask(self, anchors: Array, directions: Array, chosen: NDArray[np.bool_]) -> Probe:
        """Make the queries for the chosen directions, each followed by its opposite where there are two sides."""
        centres = anchors if self.queries == 1 else np.repeat(anchors, self.queries, axis=0)
        steps = self.delta * directions
        if chosen is not everyone(len(directions)):
            centres, steps = centres[chosen], steps[chosen]
        queries = centres + steps
        if self.sides == 2:
            queries = np.stack([queries, centres - steps], axis=1).reshape(-1, *anchors.shape[1:])
        return Probe(queries, directions, numbered(len(queries)), anchors, chosen)

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Combine the answers, all directions having been asked about."""
        return self.combine(answers, probe, space, memory)

    def combine(
        self,
        answers: Array,
        probe: Probe,
        space: Space,
        memory: Memory,
        chance: float = 1.0,
        exactly: bool = False,
        expected: float | None = None,
    ) -> Array:
        """Average (d/δ)(ℓ̃ - c)v + s over the directions of each copy.

        A direction that is asked about with probability `chance` counts 1/chance times when it is. Its slope s comes from the other
        answers, so it counts whether the direction was asked about or not. With `exactly`, the number of directions asked about is
        fixed, so that the others reveal whether i was asked; then s is weighted by 1/chance as well.
        """
        total, copies = len(probe.directions), len(probe.anchors)
        full, weights = answers.reshape(-1, self.sides), None
        if probe.chosen is not everyone(total):
            weights = np.where(probe.chosen, 1.0 / chance, 0.0)
            full = np.zeros((total, self.sides))
            full[probe.chosen] = answers.reshape(-1, self.sides)
        control = self.control(full, probe, space, memory, total if expected is None else expected)
        surprises = full[:, 0] if control.values is None else full[:, 0] - control.values
        surprises = surprises * (space.rank / (self.delta * self.sides))
        if weights is not None:
            surprises *= weights
        pulls = self.pull(probe.directions)
        if pulls.ndim == 1 and self.queries == 1 and control.slopes is None and weights is None:
            return np.asarray(surprises * pulls)  # the simplest case needs no reshaping
        gradients = surprises[:, np.newaxis] * pulls.reshape(total, -1)
        if control.slopes is not None:
            gradients += control.slopes if weights is None or not exactly else weights[:, np.newaxis] * control.slopes
        return np.asarray(gradients.reshape(copies, self.queries, *space.shape).mean(axis=1))

    def draw(
        self, copies: int, space: Space, streams: Streams, rounds: int, noise: Noise, rng: np.random.Generator
    ) -> Questions:
        """Draw the directions, all of which are asked about, and the noise of every answer."""
        total = copies * self.queries
        directions = self.directions(space, streams["directions"], rounds * total).reshape(rounds, total, space.size)
        chosen = np.ones((rounds, total), dtype=np.bool_)
        return Questions(directions, chosen, noise.sample(rng, (rounds, total, self.sides)))

    @property
    def draws_like(self) -> Any:
        """The class, and the directions per copy; δ changes nothing."""
        return (type(self), self.queries)

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the form of one that asks about every direction."""
        return self.compiled_sphere(copies, space, memory, questions)

    def compiled_control(self, copies: int, space: Space, memory: Memory, expected: float, exactly: bool) -> Any:
        """Return the typed tuple by which compiled loops know the control variate; None where there is none.

        Parameters
        ----------
        copies, space, memory
            As for `compiled_form`.
        expected, exactly
            As for `combine`.
        """
        return None

    def compiled_sphere(
        self,
        copies: int,
        space: Space,
        memory: Memory,
        questions: Questions,
        chance: float = 1.0,
        exactly: bool = False,
        expected: float | None = None,
    ) -> Any:
        """Return the form in `banditboost._compiled.gradients`; arguments as for `combine`."""
        from banditboost._compiled import gradients, spaces

        total = copies * self.queries
        control = self.compiled_control(copies, space, memory, total if expected is None else expected, exactly)
        return gradients.Sphere(
            directions=questions.directions,
            pulls=self.pull(questions.directions),
            noise=questions.noise,
            chosen=questions.chosen,
            delta=self.delta,
            factor=space.rank / (self.delta * self.sides),
            weight=1.0 / chance,
            space=spaces.Anywhere(),
            control=control,
            answers=np.empty((total, self.sides)),
            points=np.empty((total, space.size)),
        )

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can use this gradient: every control variate has a compiled form of its own."""
        if type(self).compiled_control is Sphere.compiled_control:
            return f"there is no compiled loop for the gradient {type(self).__name__}"
        return no_loop("gradient", self, "compiled_control")


def refuse_overflow(answers: Array, scale: float) -> None:
    """Raise an error for answers so large that their differences from later answers would give gradients that overflow."""
    if not checks.all_finite(answers, checks.LARGEST / (2 * scale)):
        raise checks.OverflowingError(
            f"losses must be at most {checks.LARGEST / (2 * scale):.1g} here for their differences to have gradients, "
            f"got {np.abs(answers).max():g}."
        )


@lru_cache(maxsize=64)
def everyone(total: int) -> NDArray[np.bool_]:
    """Return a choice of all directions, always the same array, so that callers can recognise it by identity."""
    chosen = np.ones(total, dtype=np.bool_)
    chosen.flags.writeable = False
    return chosen


@lru_cache(maxsize=64)
def numbered(total: int) -> NDArray[np.int64]:
    """Return 0 ... total-1, which means that every query is answered with a sample of its own."""
    draws = np.arange(total)
    draws.flags.writeable = False
    return draws
