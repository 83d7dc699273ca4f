"""Online gradient descent on the set itself, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

from banditboost._compiled.dispatch import implements
from banditboost._compiled.round import Desk, learn, look
from banditboost._compiled.spaces import project
from banditboost._core.checks import Array


class Points(NamedTuple):
    """One point per copy, learned, shape (N, d); step sizes, shape (T,); and the set."""

    points: Array
    rates: Array
    space: Any


@implements(look, Points)
def look_points(bank: Points, t: int, begin: int, desk: Desk) -> None:
    """Write the points."""
    for i in range(bank.points.shape[0]):
        for j in range(bank.points.shape[1]):
            desk.outputs[begin + i, j] = bank.points[i, j]


@implements(learn, Points)
def learn_points(bank: Points, t: int, begin: int, desk: Desk) -> None:
    """Step and project."""
    d = bank.points.shape[1]
    for i in range(bank.points.shape[0]):
        for j in range(d):
            bank.points[i, j] -= bank.rates[t] * desk.G[begin + i, j]
        project(bank.space, bank.points, i, d, bank.points, i)
