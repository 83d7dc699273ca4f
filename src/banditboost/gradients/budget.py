"""Fewer queries than copies: each direction is asked about with some probability, and counts for more when it is.

With probability p = m/M an answer counts 1/p times, so that the expectation stays the same:

    g_i = (asked_i / p) · (d/δ) · (loss_i - c_i) · v_i + s_i

Directions are asked about *independently*. If exactly m of them were drawn, whether i was asked would change how many others were,
and with them the model q_{-i}. Where exactly m answers are needed, `exactly=True` weights s_i by 1/p too, which removes that bias.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count
from banditboost._core.forms import no_loop
from banditboost._core.spec import Memory
from banditboost.gradients.base import Gradient, Probe, Questions, Streams, carried
from banditboost.gradients.one_point import OnePoint
from banditboost.gradients.sphere import Sphere
from banditboost.gradients.surrogate import Surrogate
from banditboost.gradients.two_point import TwoPoint
from banditboost.noise import Noise
from banditboost.spaces import Space


@dataclass(frozen=True)
class Budget(Gradient, kind="gradients.Budget"):
    """Another gradient with fewer queries: `queries` in a round, on average or exactly.

    With `exactly=True` and `queries=1` there is one query in every round: play ``ticket.queries[0]`` itself, and tell its loss.

    Parameters
    ----------
    gradient
        A gradient that asks for loss values.
    queries
        Number of queries (m), at most as many as the gradient asks. Two-point gradients ask about both sides of a direction or
        about neither.
    exactly
        True: every round has exactly m queries. False: a round has m queries on average, and sometimes none.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> space, gradient = Interval(-5, 5), Budget(OnePoint(delta=0.5), queries=1, exactly=True)
    >>> streams = {role: np.random.default_rng(0) for role in ("directions", "coins")}
    >>> probe = gradient.probe(np.zeros(4), space, streams)
    >>> probe.queries.tolist()
    [-0.5]
    >>> gradient.estimate((probe.queries - 1) ** 2, probe, space, memory={}).tolist()
    [0.0, 0.0, 0.0, -18.0]
    """

    gradient: Sphere = field(default_factory=OnePoint)
    queries: int = 1
    exactly: bool = False

    asks: ClassVar[Literal["values", "gradients"]] = "values"

    def __post_init__(self) -> None:
        super().__post_init__()
        count("queries", self.queries)
        if not isinstance(self.gradient, Sphere):
            raise ValueError(f"gradient must be one that asks for values, such as OnePoint(), got {self.gradient!r}.")
        if getattr(self.gradient, "scaled", False) and not self.exactly:
            raise ValueError(
                f"gradient must not be scaled where the number of queries varies; choose exactly=True, or another gradient than "
                f"{self.gradient!r}."
            )
        if self.queries % self.gradient.sides:
            raise ValueError(
                f"queries must be even, since {self.gradient!r} takes two for each direction, got {self.queries}."
            )

    @classmethod
    def examples(cls) -> tuple[Budget, ...]:
        """Give some of the queries of several gradients."""
        return (
            cls(OnePoint(0.2), 2),
            cls(Surrogate(0.2), 2),
            cls(Surrogate(0.2), 2, exactly=True),
            cls(TwoPoint(0.2), 2),
        )

    @property
    def reach(self) -> float:
        """Reach of the wrapped gradient."""
        return self.gradient.reach

    def count(self, copies: int) -> int:
        """Return m, the number of queries in a round, or its average."""
        return self.queries

    def check(self, copies: int, space: Space) -> None:
        """Raise an error where m exceeds the number of queries of the wrapped gradient, or where that gradient raises one."""
        self.gradient.check(copies, space)
        if self.queries > self.gradient.count(copies):
            raise ValueError(
                f"queries must be at most the {self.gradient.count(copies)} queries of {copies} copies, got {self.queries}."
            )

    def n_floats(self, copies: int) -> int:
        """Return the number of floats that the wrapped gradient keeps."""
        return self.gradient.n_floats(copies)

    def start(self, copies: int, space: Space) -> Memory:
        """Return the memory of the wrapped gradient before the first round."""
        return self.gradient.start(copies, space)

    def chance(self, copies: int) -> float:
        """Return the probability p that a direction is asked about."""
        return self.queries / self.gradient.count(copies)

    @property
    def expected(self) -> float:
        """Expected number of directions that are asked about in a round."""
        return self.queries / self.gradient.sides

    def choose(self, rounds: int, copies: int, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Choose at random the directions to ask about in some rounds, shape (rounds, D)."""
        luck = rng.random((rounds, copies * self.gradient.queries))
        if not self.exactly:
            return luck < self.chance(copies)
        asked = self.queries // self.gradient.sides
        return np.asarray(luck.argsort(axis=1).argsort(axis=1) < asked)

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Draw directions for all copies, and query some of them."""
        every, chosen = self.gradient.probe(anchors, space, streams), self.choose(1, len(anchors), streams["coins"])[0]
        queries = every.queries[np.repeat(chosen, self.gradient.sides)]
        return every._replace(queries=queries, draws=np.arange(len(queries)), chosen=chosen)

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Weight the answers by the inverse of the probability of having been asked."""
        chance = self.chance(len(probe.anchors))
        exactly = self.exactly and self.gradient.unbiased  # a biased gradient has no expectation to preserve
        return self.gradient.combine(answers, probe, space, memory, chance, exactly, self.expected)

    @property
    def moves(self) -> bool:
        """As the gradient within."""
        return self.gradient.moves

    def estimate_at(self, path: Array, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Carry the gradients to the new anchors, where those of the gradient within can be."""
        return carried(self.estimate(answers, probe, space, memory), probe, path[:-1], space)

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Update the memory of the wrapped gradient."""
        self.gradient.learn(answers, probe, space, memory)

    def resize(self, memory: Memory, old: Space, new: Space) -> None:
        """As the gradient within."""
        self.gradient.resize(memory, old, new)

    def draw(
        self, copies: int, space: Space, streams: Streams, rounds: int, noise: Noise, rng: np.random.Generator
    ) -> Questions:
        """Draw directions for all, who asks, and the noise of what is asked."""
        sphere = self.gradient
        total = copies * sphere.queries
        directions = sphere.directions(space, streams["directions"], rounds * total).reshape(rounds, total, space.size)
        chosen, drawn = self.choose(rounds, copies, streams["coins"]), np.zeros((rounds, total, sphere.sides))
        drawn[chosen] = noise.sample(rng, (int(chosen.sum()), sphere.sides))
        return Questions(directions, chosen, drawn)

    @property
    def draws_like(self) -> Any:
        """What decides the gradient's own questions, and who asks."""
        return (self.gradient.draws_like, self.queries, self.exactly)

    def compiled_form(self, copies: int, space: Space, memory: Memory, questions: Questions) -> Any:
        """Return the gradient's own form, in which answers count by their rarity."""
        exactly = self.exactly and self.gradient.unbiased
        chance = self.chance(copies)
        return self.gradient.compiled_sphere(copies, space, memory, questions, chance, exactly, self.expected)

    def why_not_compiled(self) -> str | None:
        """Return why the gradient itself cannot be compiled."""
        return no_loop("gradient", self) or self.gradient.why_not_compiled()
