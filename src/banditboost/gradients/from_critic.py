"""Gradients from a critic: one answer a round teaches the critic, and the critic teaches the copies.

Idea: a critic (`critics.Critic`) learns from all rounds what decisions cost in a context, and says which one is best, z(x). The
copies are told the gradients 2 (yⁱ - z(x)), as if z(x) were a label and the loss a squared distance. So they follow the critic's
*minimum* and not its slope: where the expected loss is not convex in the decision, as with prices, a slope may be flat or point
away from it.

The action is drawn uniformly around the prediction p, with the half-width

    w = max(√3 · uncertainty, 2 · scale · t^(-1/4)),

where √3 times a standard deviation is the half-width of the uniform law that has it: actions spread as far as the critic doubts.
The second number is a floor that falls slowly; it keeps the critic from believing too early. The law is cut off at the ends of the
space and of the round's limits, [a, b] = [p - w, p + w] ∩ limits, and its density is 1/(b - a). Nothing is projected.

The minimum is that of the whole space, also in rounds with limits: the copies learn what would be best, and the booster cuts their
prediction off to the limits.

References
----------
den Boer, Zwart (2014), "Simultaneously Learning and Optimizing Using Controlled Variance Pricing", for prices that are kept
apart by t^(-1/4); Russo, Van Roy, Kazerouni, Osband, Wen (2018), "A Tutorial on Thompson Sampling", for actions that spread as
posteriors do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.critics import Critic, Sales
from banditboost.critics.suspicion import Suspicion
from banditboost.explore import Explore
from banditboost.gradients.base import Aim, Gradient, Moment, Probe, Streams
from banditboost.gradients.sphere import everyone, numbered
from banditboost.spaces import Interval, Space

FLOOR = 2.0
"""Least half-width of the law in the first round, in units of the critic's scale."""


@dataclass(frozen=True)
class FromCritic(Gradient, kind="gradients.FromCritic"):
    """One answer a round, at an action near the prediction; gradients point to where a critic expects the least loss.

    Parameters
    ----------
    critic
        What learns the loss as a function of context and decision.
    explore
        Limits of the law's half-width in units of the decision: `least` and `most`. Its other numbers must not be given, since the
        critic decides how far to explore.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.Booster(bb.learners.SecondOrder(), 2, bb.chains.Additive(), FromCritic(), bb.spaces.Interval(0, 10))
    >>> ticket = booster.ask([0.3])
    >>> booster.tell(ticket, losses=[-float(ticket.action)])  # sold
    >>> ticket.density.round(3).tolist()
    [0.119]
    """

    critic: Critic = field(default_factory=Sales)
    explore: Explore = field(default_factory=Explore)

    asks: ClassVar[Literal["values", "gradients"]] = "values"
    limited: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.critic, Critic):
            raise ValueError(f"critic must be a Critic, got {self.critic!r:.200}.")
        if not isinstance(self.explore, Explore):
            raise ValueError(f"explore must be an Explore, got {self.explore!r:.200}.")
        for name in ("budget", "patience", "rim"):
            if getattr(self.explore, name) is not None:
                raise ValueError(
                    f"explore must leave {name} out where a critic decides how far to explore, got {self.explore!r}."
                )

    @classmethod
    def examples(cls) -> tuple[FromCritic, ...]:
        """Give the default, and one with limits whose critic is linear."""
        return (cls(), cls(Sales(products_up_to=0), Explore(least=0.01, most=0.5)))

    def count(self, copies: int) -> int:
        """Return one."""
        return 1

    def check(self, copies: int, space: Space) -> None:
        """Raise an error where the critic cannot serve a space, or limits do not fit."""
        self.critic.check(space)
        self.explore.check(space)

    def suspicion(self) -> Suspicion | None:
        """Return what the critic looks out for."""
        return self.critic.suspicion()

    def start(self, copies: int, space: Space) -> Memory:
        """Return how many rounds were told, and how long contexts are: nothing is known before the first of them."""
        return {"facts": np.zeros(2)}

    def start_with(self, features: int, space: Space) -> Memory:
        """Return the critic's memory, now that contexts have a length."""
        named = {f"critic.{name}": array for name, array in self.critic.start(features, space).items()}
        return {"facts": np.array([0.0, features]), **named}

    def n_floats_with(self, features: int) -> int:
        """Return the number of floats of the critic, and two."""
        return self.critic.n_floats(features) + 2

    def probe(self, anchors: Array, space: Space, streams: Streams) -> Probe:
        """Raise an error: a critic has to see the context, which `begin` knows."""
        raise ValueError(
            "gradient must not be FromCritic where contexts are not shown to it: begin a round with `begin`."
        )

    def begin(self, moment: Moment, space: Space, streams: Streams, memory: Memory) -> Probe:
        """Draw the action around the prediction, within the round's limits."""
        low, high = _ends(space) if moment.limits is None else (float(end[0]) for end in moment.limits)
        prediction, uniform = float(moment.prediction), float(streams["directions"].random())
        width = self._width(moment.context, low, high, memory) if low < high else 0.0
        a, b = max(prediction - width, low), min(prediction + width, high)
        action, half = min(max(a + uniform * (b - a), a), b), 0.5 * (b - a)
        return Probe(
            np.array([action]),
            np.array([2.0 * uniform - 1.0]),
            numbered(1),
            moment.anchors,
            everyone(1),
            prediction=np.array(prediction),
            law=np.array([[0.5 * (a + b) - prediction], [half], [low], [high]]),
            density=np.array([1.0 / (b - a) if b > a else 0.0]),
            context=moment.context,
        )

    def foreign(
        self,
        moment: Moment,
        action: Array,
        density: float | None,
        space: Space,
        memory: Memory,
        aim: Aim | None = None,
    ) -> Probe:
        """Return the action as it is: a critic learns from any, and its minimum is no matter of who chose actions, or how often."""
        low, high = _ends(space)
        return Probe(
            np.array([float(action)]),
            np.zeros(1),
            numbered(1),
            moment.anchors,
            everyone(1),
            prediction=np.array(float(moment.prediction)),
            law=np.array([[0.0], [0.0], [low], [high]]),
            context=moment.context,
        )

    def as_played(
        self, probe: Probe, actions: Array, answered: NDArray[np.bool_], answers: Array, space: Space
    ) -> tuple[Probe, Array]:
        """Return the probe with the action that was played: the critic learns from any."""
        return probe._replace(queries=np.array(actions, dtype=float)), answers

    def _width(self, context: Array | None, low: float, high: float, memory: Memory) -> float:
        """Return the half-width of the law before it is cut off."""
        known, (least, most) = _critic(memory), self.explore.limits(np.ones(1))
        doubt = math.sqrt(3.0) * self.critic.uncertainty(known, context, Interval(low, high))
        floor = FLOOR * self.critic.scale(known, context) * (memory["facts"][0] + 1.0) ** -0.25
        return float(min(max(doubt, floor, least[0]), most[0]))

    def estimate(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> Array:
        """Return 2 (yⁱ - z) for every anchor yⁱ; zeros where limits left one point."""
        law = self._checked(probe, memory)
        if law[2, 0] == law[3, 0]:
            return np.zeros(probe.anchors.shape)
        assert isinstance(space, Interval)
        return np.asarray(2.0 * (probe.anchors - self.critic.best(_critic(memory), probe.context, space)))

    @property
    def moves(self) -> bool:
        """True: the critic's minimum is what it is, wherever anchors are."""
        return True

    def learn(self, answers: Array, probe: Probe, space: Space, memory: Memory) -> None:
        """Let the critic learn from the round."""
        self._checked(probe, memory)
        self.critic.learn(_critic(memory), probe.context, float(probe.queries[0]), float(answers[0]))
        memory["facts"][0] += 1.0

    def _checked(self, probe: Probe, memory: Memory) -> Array:
        """Return a probe's law; raise where the probe comes from a file and is not what `begin` returned."""
        law, features = probe.law, 0 if probe.context is None else len(probe.context)
        if law is None or law.shape != (4, 1) or features != memory["facts"][1] or probe.queries.shape != (1,):
            raise ValueError("ticket must be what ask returned: its law or its context does not fit this booster.")
        return law

    def why_not_compiled(self) -> str | None:
        """Return that critics learn in Python."""
        return f"the critic {type(self.critic).__name__} learns in Python, round by round"


def _critic(memory: Memory) -> Memory:
    """Return the critic's own part of the memory, under its own names: the same arrays."""
    return {name[7:]: array for name, array in memory.items() if name.startswith("critic.")}


def _ends(space: Space) -> tuple[float, float]:
    assert isinstance(space, Interval)
    return space.low, space.high
