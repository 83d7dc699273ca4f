"""Small boosters around a part, a world that fits any of them, and rounds that can be played again."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core import streams
from banditboost._core.checks import Array
from banditboost._core.spec import Spec
from banditboost.booster import Booster, Ticket
from banditboost.chains import Chain
from banditboost.gradients import FromCritic, Gradient, OnePoint
from banditboost.learners import Learner, Linear
from banditboost.losses import Loss, Squared
from banditboost.noise import Uniform
from banditboost.rates import Rate
from banditboost.spaces import Interval, Space
from banditboost.worlds import World


def require(holds: Any, sentence: str) -> None:
    """Raise an AssertionError with that sentence where something does not hold, also under ``python -O``."""
    if not holds:
        raise AssertionError(sentence)


def booster_with(part: Spec) -> Booster:
    """Return a small booster with a part in it: three copies on [-1, 1], or one where its chain cannot have more.

    Parameters
    ----------
    part
        A learner, chain, gradient, space or rate; the other parts are the library's simplest.
    """
    match part:
        case Learner():
            return build(learner=part)
        case Chain():
            return build(chain=part)
        case FromCritic():
            return build(gradient=part, space=Interval(0.0, 2.0))  # prices are not negative
        case Gradient():
            return build(gradient=part)
        case Space():
            return build(space=part, gradient=OnePoint(part.inner_radius / 5))
        case Rate():
            return build(learner=Linear(rate=part))
    raise ValueError(f"part must be a learner, chain, gradient, space or rate, got {type(part).__name__}.")


def build(**changes: Any) -> Booster:
    """Return a small booster with some parts replaced; as many copies as its chain can have."""
    parts: dict[str, Any] = {"space": Interval(-1.0, 1.0), "gradient": OnePoint(0.2), "seed": 5, **changes}
    try:
        return Booster(copies=3, **parts)
    except ValueError:
        return Booster(copies=1, **parts)


class Target(World):
    """Squared distance from a fixed member of the space, in random contexts: a world that fits any booster.

    A booster with a critic is given the loss that its critic understands.
    """

    def __init__(self, booster: Booster, rounds: int = 40, loss: Loss | None = None) -> None:
        super().__init__(Uniform(0.1), seed=8)
        self.rounds, space = rounds, booster.spec.space
        gradient = booster.spec.gradient
        usual = gradient.critic.loss if isinstance(gradient, FromCritic) else Squared()
        self.loss = usual if loss is None else loss
        rng = np.random.default_rng(6)
        self.contextual = booster.spec.learner.contextual
        self.contexts = rng.uniform(-1, 1, (rounds, 3))
        self.target = 0.5 * space.inner_centre + 0.5 * space.minimize(rng.normal(size=space.shape))

    def __len__(self) -> int:
        return self.rounds

    def context(self, t: int) -> Array | None:
        """Return three numbers, or nothing for learners without contexts."""
        return self.contexts[t] if self.contextual else None

    def values(self, t: int, points: Array) -> Array:
        """Return the losses of points."""
        return self.loss.value(points, self.target)

    def gradients(self, t: int, points: Array) -> Array:
        """Return the gradients of the loss at points."""
        return self.loss.gradient(points, self.target)


def play(booster: Booster, world: Target, begin: int, end: int) -> list[bytes]:
    """Play rounds and return all that was asked and predicted, bit for bit."""
    seen = []
    for t in range(begin, end):
        ticket = booster.ask(world.context(t))
        seen += [ticket.queries.tobytes(), ticket.prediction.tobytes(), ticket.path.tobytes()]
        booster.tell(ticket, losses=answers(world, ticket, t))
    return seen


def answers(world: Target, ticket: Ticket, t: int) -> Array:
    """Return answers blurred by noise that depends on the round alone, so that a round can be played again."""
    return world.answer(t, ticket, True, np.random.default_rng(t))


def state(booster: Booster) -> tuple[Any, ...]:
    """Return all that a booster knows, bit for bit."""
    arrays = {name: array.tobytes() for name, array in booster.arrays().items()}
    return (arrays, {role: streams.state(rng) for role, rng in booster.streams.items()}, booster.rounds)
