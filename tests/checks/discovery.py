"""Finds every part and every recipe that the library exports, and makes a booster around each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np

import banditboost as bb
from banditboost._core import streams
from banditboost._core.spec import Spec

ROOMS: tuple[ModuleType, ...] = (bb.spaces, bb.losses, bb.noise, bb.rates, bb.learners, bb.chains, bb.gradients)


def specs() -> Iterator[Spec]:
    """Every example of every concrete spec that a room exports."""
    for room in ROOMS:
        for name in room.__all__:
            kind = getattr(room, name)
            if inspect.isclass(kind) and issubclass(kind, Spec) and not inspect.isabstract(kind):
                yield from kind.examples()


def recipes() -> Iterator[tuple[str, Callable[..., bb.Booster]]]:
    """Every named algorithm: a function that builds a booster from a space alone."""
    for name in bb.algorithms.__all__:
        yield name, getattr(bb.algorithms, name)


def boosters() -> Iterator[tuple[str, bb.Booster]]:
    """One booster around every learner, chain, gradient and space, and one for every recipe."""
    for part in specs():
        changes: dict[str, Any] = {}
        match part:
            case bb.learners.Learner():
                changes["learner"] = part
            case bb.chains.Chain():
                changes["chain"] = part
            case bb.gradients.Gradient():
                changes["gradient"] = part
            case bb.spaces.Space():
                changes["space"] = part
                changes["gradient"] = bb.gradients.OnePoint(part.inner_radius / 5)
            case bb.rates.Rate():
                changes["learner"] = bb.learners.Linear(rate=part)
            case _:
                continue
        yield label(part), build(**changes)
    for name, recipe in recipes():
        yield name, recipe(bb.spaces.Interval(-1.0, 1.0), seed=5)
        yield f"{name} on a ball", recipe(bb.spaces.Ball(2, 1.0), seed=5)


def label(part: object) -> str:
    """A part's name in a test's id: the same in every process, hence without the addresses of functions."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(part))


def build(**changes: Any) -> bb.Booster:
    """A small booster with some parts replaced; as many copies as its chain can have."""
    space = bb.spaces.Interval(-1.0, 1.0)
    parts: dict[str, Any] = {"space": space, "gradient": bb.gradients.OnePoint(0.2), "seed": 5, **changes}
    try:
        return bb.Booster(copies=3, **parts)
    except ValueError:
        return bb.Booster(copies=1, **parts)


class Target(bb.worlds.World):
    """Squared distance from a fixed member of the space, in random contexts: a world that fits any booster."""

    def __init__(self, booster: bb.Booster, rounds: int = 40) -> None:
        super().__init__(bb.noise.Uniform(0.1), seed=8)
        self.rounds, space = rounds, booster.spec.space
        rng = np.random.default_rng(6)
        self.contextual = booster.spec.learner.contextual
        self.contexts = rng.uniform(-1, 1, (rounds, 3))
        self.target = 0.5 * space.inner_centre + 0.5 * space.minimize(rng.normal(size=space.shape))

    def __len__(self) -> int:
        return self.rounds

    def context(self, t: int) -> np.ndarray | None:
        return self.contexts[t] if self.contextual else None

    def values(self, t: int, points: np.ndarray) -> np.ndarray:
        return bb.losses.Squared().value(points, self.target)

    def gradients(self, t: int, points: np.ndarray) -> np.ndarray:
        return bb.losses.Squared().gradient(points, self.target)


def play(booster: bb.Booster, world: Target, begin: int, end: int) -> list[bytes]:
    """Play rounds and return all that was asked and predicted, bit for bit."""
    seen = []
    for t in range(begin, end):
        ticket = booster.ask(world.context(t))
        seen += [ticket.queries.tobytes(), ticket.prediction.tobytes(), ticket.path.tobytes()]
        booster.tell(ticket, answers(world, ticket, t))
    return seen


def answers(world: Target, ticket: bb.Ticket, t: int) -> np.ndarray:
    """Answers blurred by noise that depends on the round alone, so that a round can be replayed."""
    return world.answer(t, ticket, True, np.random.default_rng(t))


def state(booster: bb.Booster) -> tuple[Any, ...]:
    """All that a booster knows, bit for bit."""
    arrays = {name: array.tobytes() for name, array in booster.arrays().items()}
    return (arrays, {role: streams.state(rng) for role, rng in booster.streams.items()}, booster.rounds)
