"""What a round is, whoever plays it: from the copies' plays to the gradients they learn from, compiled.

Random numbers, rates and steps come in as arrays that the plain path's own parts have drawn, so that nothing random and no
schedule is written twice. What is left is arithmetic: plays, chain, queries, answers, gradients. Each part's share of it stands in
a file of its own, and is chosen by the type of the form that the part hands over (`dispatch.py`).

Decisions are arrays of d numbers here; where d is 1, loops over coordinates are compiled away.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from banditboost._compiled.chains import adapt, walk
from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.gradients import estimate
from banditboost._compiled.jit import inlined, loop
from banditboost._compiled.lanes import ABREAST, MOST, load, numbers, room, spread, store, times
from banditboost._compiled.losses import value
from banditboost._compiled.spaces import project
from banditboost._core.checks import Array


class Round(NamedTuple):
    """All that a block of T rounds is given, and where its trace goes. N copies."""

    labels: Array
    """Shape (T, d); what the loss compares with."""
    dimension: Any
    """How many numbers a decision has: `Line` or `Numbers`."""
    loss: Any
    gradient: Any
    chain: Any
    scale: float
    """What multiplies the learner's outputs to give plays: one over the chain's γ."""
    projects: bool
    """Whether plays are projected on the ground, and gradients corrected for that."""
    ground: Any
    """The space in which copies play, where plays are projected; else `Anywhere`."""
    space: Any
    """The space on which the prediction is projected; `Anywhere` where it is not."""
    predictions: Array
    """Written, shape (T, d)."""
    losses: Array
    """Written: the loss at the prediction, shape (T,)."""
    paid: Array
    """Written: the mean loss at the queries, shape (T,)."""


class Desk(NamedTuple):
    """What one round is worked out on."""

    outputs: Array
    """What the learner says, before it is scaled: filled by `look`, shape (N, d)."""
    wished: Array
    """Plays before they are projected, shape (N, d)."""
    plays: Array
    """Shape (N, d)."""
    anchors: Array
    """y^0 ... y^{N-1}, shape (N, d)."""
    end: Array
    """y^N, and room for single points, shape (1, d)."""
    G: Array
    """What the copies learn from, shape (N, d)."""
    values: Array
    """Room for a number of every copy, shape (N, 1)."""


def empty_desk(copies: int, d: int) -> Desk:
    """Return a desk on which nothing is set; behind the last copy is room for lanes, whose numbers count nothing (`lanes.py`)."""
    outputs, wished, plays, anchors, G, values = room(ABREAST, 6, copies * d + 2 * MOST)[:, : copies * d]
    outputs, wished, plays, anchors, G = (flat.reshape(copies, d) for flat in (outputs, wished, plays, anchors, G))
    return Desk(outputs, wished, plays, anchors, np.empty((1, d)), G, values[:copies].reshape(copies, 1))


def desk_for(it: Any, copies: int, d: int) -> Desk:
    """Return an empty desk for rounds: where plays are what copies say, they are the same array."""
    desk = empty_desk(copies, d)
    return desk if it.projects or it.scale != 1.0 else desk._replace(plays=desk.outputs)


@operation
def look(bank: Any, t: int, begin: int, desk: Desk) -> None:
    """Write what a bank's copies say in round t to desk.outputs, from row `begin` on."""


@operation
def learn(bank: Any, t: int, begin: int, desk: Desk) -> None:
    """Let a bank's copies learn from desk.G, from row `begin` on. Nothing on the desk may be relied on but G."""


def _unchanged(bank: Any) -> None:
    """Do nothing: looking changes nothing that is learned."""


def hold(bank: Any) -> None:
    """Keep what the next look changes of a bank, so that `put_back` can take it back."""


def put_back(bank: Any) -> None:
    """Return a bank to what it was at the last `hold`, where no copy has learned since."""


hold = operation(hold, otherwise=_unchanged)
put_back = operation(put_back, otherwise=_unchanged)


class Line(NamedTuple):
    """Decisions are single numbers."""


class Numbers(NamedTuple):
    """Decisions are arrays of d numbers."""

    d: int


def dimension_of(d: int) -> Line | Numbers:
    """Return the form of decisions that have d numbers."""
    return Line() if d == 1 else Numbers(d)


@operation
def coordinates(dimension: Any) -> int:  # type: ignore[empty-body]
    """Return how many numbers a decision has."""


@implements(coordinates, Line)
def one(dimension: Line) -> int:
    """Return 1, which the compiler then knows."""
    return 1


@implements(coordinates, Numbers)
def several(dimension: Numbers) -> int:
    """Return d."""
    return dimension.d


@inlined
def corrected_on_the_line(g: float, outward: float) -> float:
    """Return a gradient that loses all of itself where it pushes further out of the ground (`booster.geometry.corrected`)."""
    return 0.0 if g * outward < 0.0 else g


@inlined
def correct(G: Array, wished: Array, played: Array, i: int, d: int) -> None:
    """Take from G[i] its part along the projection, where it pushes further out (`booster.geometry.corrected`).

    A coordinate that alone was cut off loses all of its gradient, as on the line: learners whose steps do not depend on the scale
    of gradients would follow what rounding leaves of it.
    """
    if d == 1:
        G[i, 0] = corrected_on_the_line(G[i, 0], wished[i, 0] - played[i, 0])
        return
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
def propose(it: Any, t: int, d: int, desk: Desk, predictions: Array, row: int) -> None:
    """Make of what copies say their plays, and of these the path, and write the prediction to a row of predictions."""
    if it.projects:
        for i in range(desk.plays.shape[0]):
            for j in range(d):
                desk.wished[i, j] = it.scale * desk.outputs[i, j]
            project(it.ground, desk.wished, i, d, desk.plays, i)
    elif it.scale != 1.0:
        for k in range(0, desk.plays.size, numbers(ABREAST)):
            store(desk.plays, k, times(spread(ABREAST, it.scale), load(ABREAST, desk.outputs, k)))
    walk(it.chain, t, d, desk)
    project(it.space, desk.end, 0, d, predictions, row)


@inlined
def follow(bank: Any, it: Any, t: int, d: int, desk: Desk) -> None:
    """Let the chain learn from the gradients in desk.G, and copies from the same, corrected where their plays were projected."""
    adapt(it.chain, t, d, desk)
    if it.projects:
        for i in range(desk.plays.shape[0]):
            correct(desk.G, desk.wished, desk.plays, i, d)
    learn(bank, t, 0, desk)


@loop
def play_rounds(bank: Any, it: Round, desk: Desk) -> None:
    """Play as many rounds as there are labels; what the bank, the chain and the gradient have learned is changed in place."""
    d = coordinates(it.dimension)
    for t in range(it.labels.shape[0]):
        look(bank, t, 0, desk)
        propose(it, t, d, desk, it.predictions, t)
        it.losses[t] = value(it.loss, it.predictions, t, it.labels, t, d)
        estimate(it.gradient, t, d, it, desk)
        follow(bank, it, t, d, desk)
