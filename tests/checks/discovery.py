"""Finds every part and every recipe that the library exports, and makes a booster around each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType

import banditboost as bb
from banditboost._core.spec import Spec
from banditboost.testing.rounds import Target, answers, booster_with, build, play, state

__all__ = ["ROOMS", "Target", "answers", "boosters", "build", "label", "play", "recipes", "specs", "state"]

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


def recipe_boosters() -> Iterator[tuple[str, bb.Booster]]:
    """Every recipe on a line and on a disc, and that for prices on two lines without negative numbers."""
    for name, recipe in recipes():
        if name == "pricing":
            yield name, recipe(bb.spaces.Interval(0.0, 2.0), seed=5)
            yield f"{name} of dear goods", recipe(bb.spaces.Interval(50.0, 400.0), seed=5)
        else:
            yield name, recipe(bb.spaces.Interval(-1.0, 1.0), seed=5)
            yield f"{name} on a ball", recipe(bb.spaces.Ball(2, 1.0), seed=5)


def boosters() -> Iterator[tuple[str, bb.Booster]]:
    """One booster around every learner, chain, gradient, space and rate, and two for every recipe."""
    kinds = (bb.learners.Learner, bb.chains.Chain, bb.gradients.Gradient, bb.spaces.Space, bb.rates.Rate)
    for part in specs():
        if isinstance(part, kinds):
            yield label(part), booster_with(part)
    yield from recipe_boosters()


def label(part: object) -> str:
    """A part's name in a test's id: the same in every process, hence without the addresses of functions."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(part))
