"""Weights that lie side by side, each copy's in a ball: W = scale · Vᵀ, so that a projection changes one number of a copy.

Columns of V belong to a copy and a coordinate each; behind the last there are columns that count nothing (`lanes.py`). A copy is
outside its ball where its columns have a squared norm of more than (radius / scale)² together.

‖V‖² is tracked instead of summed: ‖V + s x‖² = ‖V‖² + s (s ‖x‖² + 2 V·x) for every column of V. A round adds a rounding error of
a few times 1e-16 ‖V‖², and a projection does not change V, so that after T rounds it is at most T times that. Norms are summed anew
when a block of rounds begins (4,096 in `evaluate.progressive`) and when scales are multiplied into weights.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from banditboost._compiled.jit import called, inlined
from banditboost._compiled.lanes import (
    add,
    add_product,
    any_above,
    lanes_for,
    load,
    numbers,
    over,
    room,
    root,
    spread,
    store,
    times,
    where_above,
)
from banditboost._compiled.round import Desk, coordinates, dimension_of
from banditboost._core.checks import Array

SMALLEST = 1e-30
"""Below this a scale is multiplied into its weights: far from underflow, and so low that it seldom happens."""


class Balls(NamedTuple):
    """N copies with d columns each; arrays but V have the shape (padded N·d,), and all columns of a copy the same scale."""

    lanes: Any
    """How many columns lie side by side: a form of `lanes.py`."""
    dimension: Any
    """How many numbers a decision has: `Line` or `Numbers`."""
    copies: int
    V: Array
    """Learned, shape (features and intercept, padded N·d)."""
    scales: Array
    """Learned; zero behind the last column, as the next."""
    shrinks: Array
    """One over the scales."""
    bounds: Array
    """(radius / scale)², infinity behind the last column."""
    squares: Array
    """The squared norms of the columns of V."""
    dots: Array
    """V·x for the present context."""
    radius: float
    """Infinity where there is no ball."""


def balls(W: Array, radius: float) -> Balls:
    """Return balls with the weights W, shape (N, d, features and intercept)."""
    copies, d, features = W.shape
    columns, lanes = copies * d, lanes_for(copies * d)
    V = room(lanes, features, columns)
    scales, shrinks, bounds, squares, dots = room(lanes, 5, columns)
    V[:, :columns] = W.reshape(columns, features).T
    scales[:columns], shrinks[:columns], bounds[:columns], bounds[columns:] = 1.0, 1.0, radius * radius, np.inf
    squares[:columns] = np.einsum("ij,ij->i", W.reshape(columns, features), W.reshape(columns, features))
    return Balls(lanes, dimension_of(d), copies, V, scales, shrinks, bounds, squares, dots, radius)


def collect(it: Balls, W: Array) -> None:
    """Write the weights to W, shape (N, d, features and intercept)."""
    columns = W.shape[0] * W.shape[1]
    np.multiply(it.V[:, :columns].T.reshape(W.shape), it.scales[:columns].reshape(*W.shape[:2], 1), out=W)


@inlined
def say(it: Balls, begin: int, desk: Desk, c: int, dot: Any) -> None:
    """Keep V·x of columns c and after, and write W·x to desk.outputs, where row `begin` is that of the first copy.

    What counts nothing goes to the rows behind, whose copies look later.
    """
    store(it.dots, c, dot)
    store(desk.outputs, begin * coordinates(it.dimension) + c, times(load(it.lanes, it.scales, c), dot))


@inlined
def steps(it: Balls, rate: float, begin: int, desk: Desk, c: int) -> Any:
    """Return what a context is multiplied by and added to V, in columns c and after: -rate · g / scale."""
    back = times(spread(it.lanes, -rate), load(it.lanes, it.shrinks, c))
    return times(back, load(it.lanes, desk.G, begin * coordinates(it.dimension) + c))


@inlined
def lengthen(it: Balls, step: Any, length: float, c: int) -> bool:
    """Set squares to those after a step along a context whose squared norm is `length`, in columns c and after.

    Returns whether a column alone is outside its ball.
    """
    dot = load(it.lanes, it.dots, c)
    longer = add_product(add(dot, dot), step, spread(it.lanes, length))
    square = add_product(load(it.lanes, it.squares, c), step, longer)
    store(it.squares, c, square)
    return any_above(square, load(it.lanes, it.bounds, c))


@inlined
def pull_in(it: Balls) -> None:
    """Project every copy that is outside its ball."""
    if coordinates(it.dimension) > 1:
        pull_in_each(it)
        return
    for c in range(0, it.V.shape[1], numbers(it.lanes)):
        if any_above(load(it.lanes, it.squares, c), spread(it.lanes, (it.radius / SMALLEST) ** 2)):
            pull_in_each(it)
        else:
            pull_in_abreast(it, c)


@inlined
def pull_in_abreast(it: Balls, c: int) -> None:
    """Do so in columns c and after, where each is a copy, and none so far outside that its scale would become too small."""
    square, bound, radius = load(it.lanes, it.squares, c), load(it.lanes, it.bounds, c), spread(it.lanes, it.radius)
    norm = root(square)
    store(it.bounds, c, where_above(square, bound, square, bound))
    store(it.scales, c, where_above(square, bound, over(radius, norm), load(it.lanes, it.scales, c)))
    store(it.shrinks, c, where_above(square, bound, over(norm, radius), load(it.lanes, it.shrinks, c)))


@called
def pull_in_each(it: Balls) -> None:
    """Do so one after the other."""
    d = coordinates(it.dimension)
    for i in range(it.copies):
        total = 0.0
        for j in range(d):
            total += it.squares[i * d + j]
        if total > it.bounds[i * d]:
            scale = it.radius / math.sqrt(total)
            if scale < SMALLEST:
                fold(it, i, scale)
                scale, total = 1.0, it.radius * it.radius
            for c in range(i * d, (i + 1) * d):
                it.scales[c], it.shrinks[c], it.bounds[c] = scale, 1.0 / scale, total


@inlined
def fold(it: Balls, i: int, scale: float) -> None:
    """Multiply a copy's scale into its weights, before it gets lost in their size, and sum their squares anew."""
    d = coordinates(it.dimension)
    for c in range(i * d, (i + 1) * d):
        it.dots[c] *= scale
        it.squares[c] = 0.0
        for k in range(it.V.shape[0]):
            it.V[k, c] *= scale
            it.squares[c] += it.V[k, c] * it.V[k, c]
