"""How N plays become one prediction, compiled: the path from y^0 to y^N, and what a chain learns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from banditboost._compiled.dispatch import implements, operation
from banditboost._compiled.jit import inlined
from banditboost._compiled.lanes import ABREAST, add_product, last, load, numbers, spread, store, sums_before, times
from banditboost._compiled.lanes import add as plus
from banditboost._compiled.spaces import project
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk


@operation
def walk(chain: Any, t: int, d: int, desk: Desk) -> None:
    """Fill desk.anchors with y^0 ... y^{N-1} and desk.end with y^N, from desk.plays."""


@operation
def adapt(chain: Any, t: int, d: int, desk: Desk) -> None:
    """Learn from the gradients in desk.G at desk.anchors."""


@inlined
def mix(here: float, step: float, play: float) -> float:
    """Return (1 - η) y + η a: one coordinate of a step of the paper's chain."""
    return (1.0 - step) * here + step * play


class Convex(NamedTuple):
    """Steps towards one play after the other."""

    steps: Array
    """Shape (N,)."""
    start: Array
    """Shape (d,)."""
    weights: Array
    """w, shape (padded N,) as the next two, or empty where these have no closed form: y^{i-1} = k_i y^0 + c_i Σ_{n<i} w_n a_n."""
    kept: Array
    """k: how much of the start is left."""
    scales: Array
    """c."""


@implements(walk, Convex)
def walk_convex(chain: Convex, t: int, d: int, desk: Desk) -> None:
    """y^i = (1 - η_i) y^{i-1} + η_i a_i."""
    if d == 1 and len(chain.weights) > 0:
        walk_abreast(chain, desk)
        return
    for j in range(d):
        here = chain.start[j]
        for i in range(len(chain.steps)):
            desk.anchors[i, j] = here
            here = mix(here, chain.steps[i], desk.plays[i, j])
        desk.end[0, j] = here


@inlined
def walk_abreast(chain: Convex, desk: Desk) -> None:
    """Do the same on the line by the closed form, several copies at once."""
    behind, final = 0.0, len(chain.steps) - 1
    for c in range(0, final + 1, numbers(ABREAST)):
        weighted = times(load(ABREAST, chain.weights, c), load(ABREAST, desk.plays, c))
        before = plus(spread(ABREAST, behind), sums_before(weighted))
        start = times(load(ABREAST, chain.kept, c), spread(ABREAST, chain.start[0]))
        store(desk.anchors, c, add_product(start, load(ABREAST, chain.scales, c), before))
        behind = last(plus(before, weighted))
    desk.end[0, 0] = mix(desk.anchors[final, 0], chain.steps[final], desk.plays[final, 0])


@implements(adapt, Convex)
def adapt_convex(chain: Convex, t: int, d: int, desk: Desk) -> None:
    """Learn nothing."""


class Lone(NamedTuple):
    """One copy, whose play is the prediction, and which is asked about at its play."""


@implements(walk, Lone)
def walk_lone(chain: Lone, t: int, d: int, desk: Desk) -> None:
    """y^0 = y^1 = a_1."""
    for j in range(d):
        desk.anchors[0, j] = desk.plays[0, j]
        desk.end[0, j] = desk.plays[0, j]


@implements(adapt, Lone)
def adapt_lone(chain: Lone, t: int, d: int, desk: Desk) -> None:
    """Learn nothing."""


@inlined
def add(share: float, step: float, ground: Any, i: int, d: int, desk: Desk) -> None:
    """Set y^{i+1} to the projection of share · y^i + η a."""
    for j in range(d):
        desk.end[0, j] = share * desk.anchors[i, j] + step * desk.plays[i, j]
    if i + 1 < desk.anchors.shape[0]:
        project(ground, desk.end, 0, d, desk.anchors, i + 1)
    else:
        project(ground, desk.end, 0, d, desk.end, 0)


class Added(NamedTuple):
    """Plays that add up, each step projected."""

    steps: Array
    """Shape (N,)."""
    start: Array
    """Shape (d,)."""
    ground: Any


@implements(adapt, Added)
def adapt_added(chain: Added, t: int, d: int, desk: Desk) -> None:
    """Learn nothing."""


class Shrinking(NamedTuple):
    """Plays that add up, with learned shrinkage."""

    steps: Array
    """Shape (N,)."""
    start: Array
    """Shape (d,)."""
    ground: Any
    shrinkage: Array
    """σ, changed in place, shape (N,)."""
    squares: Array
    """Sums of squared slopes, changed in place, shape (N,)."""
    rates: Array
    """Shape (T,); empty for the adaptive rate."""


class Trusting(NamedTuple):
    """Plays that add up, by steps that are trusted as far as they have earned it (`chains.Trusted`)."""

    steps: Array
    """Shape (N,)."""
    start: Array
    """Shape (d,)."""
    ground: Any
    gained: Array
    """Changed in place, as the next two, shape (N,)."""
    squares: Array
    trust: Array
    rules: Array
    """The least trust, what full trust is worth beforehand, how fast is forgotten, and the number of the first round."""
    units: Array
    """Shape (d,)."""


@operation
def kept(chain: Any, i: int) -> float:  # type: ignore[empty-body]
    """Return how much of y^{i-1} step i keeps."""


@implements(kept, Added)
def kept_whole(chain: Added, i: int) -> float:
    """Return 1."""
    return 1.0


@implements(kept, Shrinking)
def kept_shrunk(chain: Shrinking, i: int) -> float:
    """Return 1 - σ_i η_i."""
    return 1.0 - chain.steps[i] * chain.shrinkage[i]  # type: ignore[no-any-return]


@implements(kept, Trusting)
def kept_trusting(chain: Trusting, i: int) -> float:
    """Return 1."""
    return 1.0


@operation
def length(chain: Any, i: int) -> float:  # type: ignore[empty-body]
    """Return how long step i is."""


def _whole_step(chain: Any, i: int) -> float:
    """Return η_i."""
    return chain.steps[i]  # type: ignore[no-any-return]


@implements(length, Trusting)
def trusted_step(chain: Trusting, i: int) -> float:
    """Return τ η_i."""
    return chain.steps[i] * chain.trust[i]  # type: ignore[no-any-return]


def _walk_sum(chain: Any, t: int, d: int, desk: Desk) -> None:
    """y^i = Π(kept_i y^{i-1} + η_i a_i)."""
    for j in range(d):
        desk.anchors[0, j] = chain.start[j]
    for i in range(len(chain.steps)):
        add(kept(chain, i), length(chain, i), chain.ground, i, d, desk)


for _form in (Added, Shrinking, Trusting):
    implements(walk, _form)(_walk_sum)
for _form in (Added, Shrinking):
    implements(length, _form)(_whole_step)


@implements(adapt, Trusting)
def adapt_trust(chain: Trusting, t: int, d: int, desk: Desk) -> None:
    """Compare what copies played with what would have been best."""
    least, beforehand, forgetting, first = chain.rules
    copies, rounds = len(chain.steps), first + t
    faded = 1.0 - forgetting / (rounds + 20.0 * forgetting)
    gained, squares = 0.0, 0.0
    for i in range(copies - 1):
        along, square = 0.0, 0.0
        for j in range(d):
            play = (desk.anchors[i + 1, j] - desk.anchors[i, j]) / (chain.steps[i] * chain.trust[i]) / chain.units[j]
            along += desk.G[i, j] / chain.units[j] * play
            square += play * play
        chain.gained[i] = faded * chain.gained[i] - 0.5 * along / chain.steps[i]
        chain.squares[i] = faded * chain.squares[i] + square
        if i > 0:
            gained += chain.gained[i]
            squares += chain.squares[i]
    if squares > 0.0:
        before = beforehand / rounds
        trust = min(max((gained / squares + before) / (1.0 + before), least), 1.0)
        for i in range(1, copies):
            chain.trust[i] = trust


@implements(adapt, Shrinking)
def adapt_shrinking(chain: Shrinking, t: int, d: int, desk: Desk) -> None:
    """Move each σ_i against its linear loss."""
    for i in range(len(chain.steps)):
        slope = 0.0
        for j in range(d):
            slope += desk.G[i, j] * desk.anchors[i, j]
        chain.squares[i] += slope * slope
        rate = 0.0
        if len(chain.rates) > 0:
            rate = chain.rates[t]
        elif chain.squares[i] > 0.0:
            rate = 1.0 / math.sqrt(2.0 * chain.squares[i])
        chain.shrinkage[i] = min(max(chain.shrinkage[i] + rate * slope, 0.0), 1.0)
