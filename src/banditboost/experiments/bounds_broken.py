"""Boosters that are broken on purpose: what a check of the bounds has to notice.

Some of them learn nothing, or the wrong thing, and a bound that says anything at all must be exceeded by them. The others
still learn, so that a bound may hold for them; an identity that is computed from what the copies were told tells them apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import BoosterSpec
from banditboost.chains import ConvexHull
from banditboost.chains.convex_hull import Harmonic

BlindName = Literal["flipped sign", "zeros", "noise", "neighbour's values"]
StillLearningName = Literal["neighbour's gradients", "wrong step", "wrong γ"]
BrokenName = BlindName | StillLearningName

BLIND: tuple[BlindName, ...] = get_args(BlindName)
"""Variants that learn nothing, or the opposite."""
STILL_LEARNING: tuple[StillLearningName, ...] = get_args(StillLearningName)
"""Variants that are wrong and learn all the same."""
BROKEN: tuple[BrokenName, ...] = (*BLIND, *STILL_LEARNING)
GRADIENTS_TOLD: tuple[BrokenName, ...] = tuple(name for name in BROKEN if name != "neighbour's values")
"""Variants of boosters that are told gradients: a neighbour's answer is a neighbour's gradient there."""

MEANINGS: dict[BrokenName, str] = {
    "flipped sign": "answers with their sign turned round",
    "zeros": "zero for every answer",
    "noise": "random numbers as large as answers may be, for every answer",
    "neighbour's values": "each copy is told the loss at the next copy's query, in place of its own",
    "neighbour's gradients": "each copy learns from the gradient that belongs to the next copy",
    "wrong step": "η_i = 2/(i+2) in place of 2/(i+1)",
    "wrong γ": "the chain divides plays by 1.25 times the learners' γ",
}
"""What each variant does."""
WRONG_STEPS = Harmonic(2.0, 2.0)
WRONG_GAMMA = 1.25


def broken_chain(spec: BoosterSpec, broken: BrokenName | None) -> BoosterSpec:
    """Return a booster with a wrong chain, where that is what is broken."""
    if broken not in ("wrong step", "wrong γ"):
        return spec
    chain = spec.chain
    assert isinstance(chain, ConvexHull)
    wrong = {"steps": WRONG_STEPS} if broken == "wrong step" else {"gamma": WRONG_GAMMA * chain.gamma}
    return replace(spec, chain=replace(chain, **wrong))


def told(broken: BrokenName | None, answers: Array, copies: int, size: float, rng: np.random.Generator) -> Array:
    """Return what a booster is told in place of the answers; noise of gradients is at most `size` long."""
    if broken == "flipped sign":
        return -answers
    if broken == "zeros":
        return np.zeros_like(answers)
    if broken == "noise":
        side = size / np.sqrt(answers[0].size)
        return rng.uniform(-side, side, answers.shape)
    return of_the_next_copy(answers, copies) if broken == "neighbour's values" else answers


def fed(broken: BrokenName | None, gradients: Array, copies: int) -> Array:
    """Return what copies learn from in place of their gradients, shape (N·S, *shape), the replicas of a copy next to each other."""
    return of_the_next_copy(gradients, copies) if broken == "neighbour's gradients" else gradients


def of_the_next_copy(rows: Array, copies: int) -> Array:
    """Return for every copy what belongs to the next one, and for the last what belongs to the first."""
    return np.roll(rows, -(len(rows) // copies), axis=0)
