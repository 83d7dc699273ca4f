"""Forms that parts hand to the compiled loop: half a form is refused, and an overridden method loses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.evaluate.compiled import why_not_compiled
from banditboost.extending import Prepared, Shown, implements, look
from banditboost.learners.linear import LinearBank

X = np.random.default_rng(0).random((20, 2))
SPACE = bb.spaces.Interval(-1, 1)


class Half(NamedTuple):
    points: Array


@implements(look, Half)
def look_half(bank: Half, t: int, begin: int, desk: Any) -> None:
    desk.outputs[begin, 0] = bank.points[0]


class HalfBank(LinearBank):
    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        return Prepared(Half(np.zeros(1)))


@dataclass(frozen=True)
class HalfLearner(bb.learners.Linear):
    def start(self, *arguments: Any, **named: Any) -> LinearBank:
        bank = super().start(*arguments, **named)
        bank.__class__ = HalfBank
        return bank


def test_a_form_without_an_operation_is_refused_in_a_sentence() -> None:
    booster = bb.Booster(HalfLearner(), 1, gradient=bb.gradients.Exact(), space=SPACE)
    message = r"The compiled form Half of the learner must implement learn: write a function for it"
    with pytest.raises(TypeError, match=message):
        bb.evaluate.progressive(booster, bb.worlds.Supervised(X, X[:, 0]), compiled=True)
    assert booster.rounds == 0


@dataclass(frozen=True)
class Doubled(bb.losses.Squared):
    def value(self, points: Any, label: Any, ndim: int | None = None) -> Array:
        return 2 * super().value(points, label, ndim)


@dataclass(frozen=True)
class Leaning(bb.gradients.OnePoint):
    def control(self, *arguments: Any) -> Any:
        return super().control(*arguments)


@dataclass(frozen=True)
class Wide(bb.spaces.Interval):
    def project(self, points: Array) -> Array:
        return super().project(points)


@dataclass(frozen=True)
class Slow(bb.chains.ConvexHull):
    def path(self, *arguments: Any, **named: Any) -> Array:
        return super().path(*arguments, **named)


class Changed(bb.worlds.Supervised):
    def values(self, t: int, points: Array) -> Array:
        return super().values(t, points)


class SlowBank(LinearBank):
    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        super().update(context, gradients, t)


@dataclass(frozen=True)
class SlowLearner(bb.learners.Linear):
    def start(self, *arguments: Any, **named: Any) -> LinearBank:
        bank = super().start(*arguments, **named)
        bank.__class__ = SlowBank
        return bank


@pytest.mark.parametrize(
    ("parts", "world", "reason"),
    [
        ({}, bb.worlds.Supervised(X, X[:, 0], loss=Doubled()), "the loss Doubled, which overrides value"),
        ({"gradient": Leaning(0.2)}, None, "the gradient Leaning, which overrides control"),
        ({"space": Wide(-1, 1)}, None, "the space Wide, which overrides project"),
        ({"chain": Slow()}, None, "the chain Slow, which overrides path"),
        ({}, Changed(X, X[:, 0]), "the world Changed, which overrides values"),
        ({"learner": SlowLearner()}, None, "the bank SlowBank, which overrides update"),
    ],
)
def test_a_part_that_overrides_what_the_form_says_is_played_in_plain_numpy(
    parts: dict[str, Any], world: bb.worlds.World | None, reason: str
) -> None:
    given: dict[str, Any] = {"copies": 2, "space": SPACE} | parts
    booster = bb.Booster(**given)
    found = why_not_compiled(booster, world or bb.worlds.Supervised(X, X[:, 0]))
    assert found is not None
    assert reason in found
    plain = bb.Booster(copies=2, space=SPACE)
    assert why_not_compiled(plain, bb.worlds.Supervised(X, X[:, 0])) is None


def test_asking_whether_a_loop_fits_does_not_begin_a_booster() -> None:
    booster = bb.Booster(copies=2, space=SPACE)
    assert why_not_compiled(booster, bb.worlds.Supervised(X, X[:, 0])) is None
    assert booster.bank is None
