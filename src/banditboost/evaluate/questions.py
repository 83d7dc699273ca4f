"""What is random in a block of rounds: drawn as the plain path would, before a compiled loop plays them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from banditboost.booster import Booster
from banditboost.gradients.base import Questions
from banditboost.worlds import World

Draw = Callable[[Booster, World, int], Questions]
"""Draws what is random in so many rounds."""


def questions(booster: Booster, world: World, rounds: int, rng: np.random.Generator) -> Questions:
    """Draw the questions of a block and the noise of their answers, which comes from the stream `rng`."""
    spec = booster.spec
    return spec.gradient.draw(spec.copies, spec.space, booster.streams, rounds, world.noise, rng)


def drawing(rng: np.random.Generator) -> Draw:
    """Return what draws questions with noise from a stream."""
    return lambda booster, world, rounds: questions(booster, world, rounds, rng)
