"""Abalone's rounds in which the losses are disturbed for a while, or for ever, and what a booster makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.extending import implements, slope, value
from banditboost.losses import Constants, Loss


class DisturbedForm(NamedTuple):
    factor: float
    offset: float
    cap: float


@implements(value, DisturbedForm)
def disturbed_value(loss: DisturbedForm, points: Array, i: int, labels: Array, t: int, d: int) -> float:
    return loss.offset + loss.factor * min((points[i, 0] - labels[t, 0]) ** 2, loss.cap)  # type: ignore[no-any-return]


@implements(slope, DisturbedForm)
def disturbed_slope(loss: DisturbedForm, points: Array, i: int, labels: Array, t: int, d: int, out: Array) -> None:
    away = points[i, 0] - labels[t, 0]
    out[i, 0] = 2.0 * loss.factor * away if away * away < loss.cap else 0.0


@dataclass(frozen=True)
class Disturbed(Loss):
    """The squared loss, cut off at `cap`, times `factor`, plus `offset`."""

    factor: float = 1.0
    offset: float = 0.0
    cap: float = 1e300

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        return np.asarray(self.offset + self.factor * np.minimum(np.square(np.subtract(points, label)), self.cap))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        away = np.subtract(points, label)
        return np.asarray(np.where(np.square(away) < self.cap, 2 * self.factor * away, 0.0))

    def constants(self, space: bb.spaces.Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        return bb.losses.Squared().constants(space, gamma, delta)

    def compiled_form(self) -> Any:
        return DisturbedForm(float(self.factor), float(self.offset), float(self.cap))


class Phase(NamedTuple):
    """Rounds that follow each other under one loss; one answer in the first of them may be an outlier."""

    rounds: int
    loss: Loss = Disturbed()
    outlier: float | None = None


@lru_cache(maxsize=1)
def table(rounds: int) -> tuple[Array, Array]:
    data, rng = bb.datasets.load("abalone"), np.random.default_rng(5)
    order = np.concatenate([rng.permutation(len(data.y)) for _ in range(1 + rounds // len(data.y))])[:rounds]
    return np.asarray(data.X[order]), np.asarray(data.y[order], dtype=float)


def booster(answers: int, remembers: bool = False) -> bb.Booster:
    """The default, or what it is without memory; zero answers stand for gradients told."""
    space = bb.spaces.Interval(1.0, 29.0)
    memory: Literal["auto"] | None = "auto" if remembers else None
    if answers == 0:
        return bb.algorithms.boosted(space, gradient=bb.gradients.Exact(), memory=memory)
    return bb.algorithms.boosted(space, answers=answers, memory=memory)


def play(answers: int, phases: Sequence[Phase], remembers: bool = False) -> Array:
    """Squared errors of the predictions, round by round, whatever was charged."""
    X, y = table(sum(phase.rounds for phase in phases))
    mine, start, errors = booster(answers, remembers), 0, []
    for phase in phases:
        first, last = start, start + phase.rounds
        if phase.outlier is not None:
            errors.append([strike(mine, X[first], float(y[first]), phase.outlier)])
            first += 1
        world = bb.worlds.Supervised(X[first:last], y[first:last], phase.loss)
        found = bb.evaluate.progressive(mine, world).predictions
        errors.append(np.square(found.reshape(-1) - y[first:last]).tolist())
        start = last
    return np.concatenate(errors)


def strike(mine: bb.Booster, x: Array, label: float, outlier: float) -> float:
    """Play one round whose first answer is an outlier; return the squared error of its prediction."""
    ticket = mine.ask(x)
    if mine.spec.gradient.asks == "gradients":
        told = 2 * (ticket.queries - label)
        told[0] = outlier
        mine.tell(ticket, told)
    else:
        losses = np.square(ticket.queries - label)
        losses[0] = outlier
        mine.tell(ticket, losses)
    return float((float(ticket.prediction) - label) ** 2)
