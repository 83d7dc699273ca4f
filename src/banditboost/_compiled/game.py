"""What a round is, whoever plays it: from the copies' plays to the gradients they learn from, compiled.

Random numbers, rates and steps come in as arrays that the plain path's own parts have drawn, so that nothing random and no
schedule is written twice. What is left is arithmetic: plays, chain, queries, answers, gradients. How plays are made from a context
and how gradients change the weights is each learner's own file.

Decisions are arrays of d numbers here; where d is 1, loops over coordinates are compiled away.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._compiled.estimators import FITTED, Estimator, combine, remember
from banditboost._compiled.jit import inlined
from banditboost._compiled.losses import SQUARED, gradient, value
from banditboost._core.checks import Array

BOX, BALL, SIMPLEX = range(3)


class Region(NamedTuple):
    """A box by its bounds, a ball by its centre (as both bounds) and radius, a simplex by its floor (as both bounds) and spread."""

    code: int
    low: Array
    high: Array
    radius: float
    """Of a ball; of a simplex, what is left to distribute once every coordinate has its floor."""


class Span(NamedTuple):
    """What a chain that sums plays remembers; used where `spans`. Both are changed in place, shape (N,)."""

    spans: bool
    shrinkage: Array
    squares: Array
    rates: Array
    """Shape (T,); empty for the adaptive rate."""


class Game(NamedTuple):
    """All that a block of T rounds is given, and where its trace goes. N copies."""

    labels: Array
    """Shape (T, d)."""
    directions: Array
    """Shape (T, D, d); empty for gradients that are told."""
    chosen: NDArray[np.bool_]
    """Which directions are asked about, shape (T, D)."""
    noise: Array
    """Shape (T, D, sides) for values; (T, N, d) for gradients that are told, or empty where those are not blurred."""
    rates: Array
    """Shape (T,)."""
    steps: Array
    """The chain's, shape (N,)."""
    start: Array
    """Where the chain begins, shape (d,)."""
    single: bool
    """Whether queries are about a copy's own play instead of the chain."""
    span: Span
    scale: float
    """What multiplies W·x to give plays: a learner's γ over the chain's."""
    radius: float
    """The ball of weights; infinity where there is none."""
    inside: bool
    space: Region
    ground: Region
    """Where copies play when queries must stay inside."""
    loss: int
    parameter: float
    """The loss's own."""
    estimator: Estimator
    predictions: Array
    """Written, shape (T, d)."""
    losses: Array
    """Written: the loss at the prediction, shape (T,)."""
    asked: Array
    """Written: the mean loss at the queries, shape (T,)."""


class Desk(NamedTuple):
    """What one round is worked out on: arrays of shape (N, d), but for the scales."""

    scales: Array
    """A copy's weights are kept as W = scale · V, so that projecting them on a ball changes one number. Shape (N,)."""
    dots: Array
    """V·x for every copy: to be filled before a round is played."""
    G: Array
    """What the copies learn from: filled when a round is played."""
    wished: Array
    plays: Array
    anchors: Array
    point: Array
    """Shape (1, d)."""


def empty_desk(copies: int, d: int) -> Desk:
    """Scales are 1, the rest is not set."""
    wished, plays, anchors, dots, G = (np.empty((copies, d)) for _ in range(5))
    return Desk(np.ones(copies), dots, G, wished, plays, anchors, np.empty((1, d)))


@inlined
def project(region: Region, points: Array, i: int, d: int, out: Array, t: int) -> None:
    """Project points[i] on a region, into out[t]."""
    if region.code == BOX:
        for j in range(d):
            out[t, j] = min(max(points[i, j], region.low[j]), region.high[j])
        return
    if d > 1 and region.code == SIMPLEX:
        project_on_simplex(region, points, i, d, out, t)
        return
    total = 0.0
    for j in range(d):
        total += (points[i, j] - region.low[j]) ** 2
    outside = total > region.radius * region.radius
    scale = region.radius / math.sqrt(total) if outside else 1.0
    for j in range(d):
        out[t, j] = region.low[j] + scale * (points[i, j] - region.low[j]) if outside else points[i, j]


@inlined
def project_on_simplex(region: Region, points: Array, i: int, d: int, out: Array, t: int) -> None:
    """Take the same number from every coordinate and cut off at the floor (Michelot 1986).

    The number rises while those that it cuts off leave their deficit to the others, and stands still where no more are cut off: it
    says itself who is left, so that nothing is sorted or kept.
    """
    top = points[i, 0]
    for j in range(1, d):
        top = max(top, points[i, j])
    cut, left = -math.inf, d + 1
    while True:
        total, above = 0.0, 0
        for j in range(d):
            if points[i, j] - top > cut:
                total += points[i, j] - top
                above += 1
        if above >= left:
            break
        cut, left = (total - region.radius) / above, above
    for j in range(d):
        out[t, j] = region.low[j] + max(points[i, j] - top - cut, 0.0)


@inlined
def correct(G: Array, wished: Array, played: Array, i: int, d: int) -> None:
    """Take from G[i] its part along the projection, where it pushes further out (`banditboost.booster.corrected`).

    A coordinate that alone was cut off loses all of its gradient, as on the line: learners whose steps do not depend on the scale
    of gradients would follow what rounding leaves of it.
    """
    total, along = 0.0, 0.0
    for j in range(d):
        away = wished[i, j] - played[i, j]
        total += away * away
        along += G[i, j] * away
    if total > 0.0 and along < 0.0:
        for j in range(d):
            away = wished[i, j] - played[i, j]
            G[i, j] = 0.0 if away * away == total else G[i, j] - along / total * away


@inlined
def play(t: int, game: Game, desk: Desk) -> None:
    """Play round t: from desk.dots and desk.scales to the trace and to desk.G."""
    if desk.G.shape[1] == 1:
        play_in(t, 1, game, desk)
    else:
        play_in(t, desk.G.shape[1], game, desk)


@inlined
def play_in(t: int, d: int, game: Game, desk: Desk) -> None:
    """Play round t with decisions of d numbers."""
    copies = len(desk.scales)
    for i in range(copies):
        for j in range(d):
            desk.wished[i, j] = game.scale * desk.scales[i] * desk.dots[i, j]
            desk.plays[i, j] = desk.wished[i, j]
        if game.inside and not game.span.spans:
            project(game.ground, desk.wished, i, d, desk.plays, i)
    if game.span.spans:
        add_up(t, d, game, desk)
    else:
        for j in range(d):
            y = game.start[j]
            for i in range(copies):
                desk.anchors[i, j] = desk.plays[i, j] if game.single else y
                y = (1.0 - game.steps[i]) * y + game.steps[i] * desk.plays[i, j]
            desk.point[0, j] = y
            game.predictions[t, j] = y
        if not game.inside:
            project(game.space, desk.point, 0, d, game.predictions, t)
    game.losses[t] = value(game.loss, game.parameter, game.predictions, t, game.labels, t, d)
    if game.estimator.told:
        told(t, d, game, desk)
    else:
        estimated(t, d, game, desk)
    if game.span.spans:
        shrink(t, d, game.span, desk)
    elif game.inside:
        for i in range(copies):
            correct(desk.G, desk.wished, desk.plays, i, d)


@inlined
def add_up(t: int, d: int, game: Game, desk: Desk) -> None:
    """Fill anchors and prediction: each step adds a play, and is projected."""
    copies = len(desk.scales)
    for j in range(d):
        desk.anchors[0, j] = game.start[j]
    for i in range(copies):
        kept = 1.0 - game.steps[i] * game.span.shrinkage[i]
        for j in range(d):
            desk.point[0, j] = kept * desk.anchors[i, j] + game.steps[i] * desk.plays[i, j]
        if i + 1 < copies:
            project(game.ground, desk.point, 0, d, desk.anchors, i + 1)
        else:
            project(game.ground, desk.point, 0, d, game.predictions, t)


@inlined
def shrink(t: int, d: int, span: Span, desk: Desk) -> None:
    """Move each σ_i against its linear loss."""
    for i in range(len(desk.scales)):
        slope = 0.0
        for j in range(d):
            slope += desk.G[i, j] * desk.anchors[i, j]
        span.squares[i] += slope * slope
        rate = 0.0
        if len(span.rates) > 0:
            rate = span.rates[t]
        elif span.squares[i] > 0.0:
            rate = 1.0 / math.sqrt(2.0 * span.squares[i])
        span.shrinkage[i] = min(max(span.shrinkage[i] + rate * slope, 0.0), 1.0)


@inlined
def told(t: int, d: int, game: Game, desk: Desk) -> None:
    """Gradients at the anchors, blurred where there is noise."""
    charged = 0.0
    for i in range(len(desk.scales)):
        charged += value(game.loss, game.parameter, desk.anchors, i, game.labels, t, d)
        gradient(game.loss, game.parameter, desk.anchors, i, game.labels, t, d, desk.G)
        if len(game.noise) > 0:
            for j in range(d):
                desk.G[i, j] += game.noise[t, i, j]
    game.asked[t] = charged / len(desk.scales)


@inlined
def plainest(t: int, game: Game, desk: Desk) -> None:
    """The paper's experiments, for which loops without any choice in them are quicker: one query a copy, on the line."""
    it, label, charged, copies = game.estimator, game.labels[t, 0], 0.0, len(desk.scales)
    for i in range(copies):
        v = game.directions[t, i, 0]
        away = desk.anchors[i, 0] + it.delta * v - label
        charged += away * away
        desk.G[i, 0] = it.factor * (away * away + game.noise[t, i, 0]) * v
    game.asked[t] = charged / copies


@inlined
def estimated(t: int, d: int, game: Game, desk: Desk) -> None:
    """Gradients from the blurred losses of points about the anchors."""
    if d == 1 and game.estimator.plainest and game.loss == SQUARED:
        plainest(t, game, desk)
        return
    it, asked, charged = game.estimator, 0, 0.0
    per_copy = game.directions.shape[1] // len(desk.scales)
    for i in range(len(desk.scales)):
        for q in range(i * per_copy, (i + 1) * per_copy):
            for j in range(d):
                it.points[q, j] = desk.anchors[i, j] + it.delta * game.directions[t, q, j]
            if not game.chosen[t, q]:
                it.answers[q, 0] = 0.0
                continue
            if it.control == FITTED:
                project(game.space, it.points, q, d, it.points, q)
            asked += 1
            truth = value(game.loss, game.parameter, it.points, q, game.labels, t, d)
            charged += truth
            it.answers[q, 0] = truth + game.noise[t, q, 0]
            if it.sides == 2:
                for j in range(d):
                    desk.point[0, j] = 2.0 * desk.anchors[i, j] - it.points[q, j]
                truth = value(game.loss, game.parameter, desk.point, 0, game.labels, t, d)
                charged += truth
                it.answers[q, 1] = truth + game.noise[t, q, 1]
    game.asked[t] = charged / (asked * it.sides) if asked > 0 else game.losses[t]
    combine(t, d, desk.anchors, game.directions, game.chosen, it, desk.G)
    remember(asked, game.chosen, t, it)
