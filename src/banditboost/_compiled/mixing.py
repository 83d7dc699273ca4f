"""Plays that add up and then rivals, compiled: what `banditboost.chains.Mix` explains. Both paths learn by the same function."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from banditboost._compiled.chains import Trusting, adapt, add, walk
from banditboost._compiled.dispatch import implements
from banditboost._compiled.following import Late, gather, overruled, shrunk
from banditboost._compiled.jit import brief, inlined, strict_brief
from banditboost._compiled.spaces import project
from banditboost._core.checks import Array

if TYPE_CHECKING:
    from banditboost._compiled.round import Desk


class Mixing(NamedTuple):
    """Plays that add up, and then rivals, each followed as far as it has proven better (`chains.Mix`)."""

    chain: Trusting
    streams: int
    """How many copies are no rivals."""
    later: int
    """The first copy that is judged with those after it."""
    variances: Array
    """Of what copies have gained, that of the later ones together first; empty where nothing is shrunk."""
    shrinkage: Array
    """How many variances are taken off, of copies alone and of the later ones; the rounds that full trust is worth; and how many
    variances are taken off rivals."""
    late: Late


@implements(walk, Mixing)
def walk_mixing(chain: Mixing, t: int, d: int, desk: Desk) -> None:
    """Add up, then step towards the rivals."""
    it = chain.chain
    for j in range(d):
        desk.anchors[0, j] = it.start[j]
    for i in range(len(it.steps)):
        step = it.steps[i] * it.trust[i]
        add(1.0 if i < chain.streams else 1.0 - step, step, it.ground, i, d, desk)


@implements(adapt, Mixing)
def adapt_mixing(chain: Mixing, t: int, d: int, desk: Desk) -> None:
    """Compare what copies played with what would have been best."""
    it, last = chain.chain, len(chain.chain.steps) - 1
    step = it.steps[last] * it.trust[last]
    kept = 1.0 if last < chain.streams else 1.0 - step
    for j in range(d):  # where the path ends may have been written over since
        desk.end[0, j] = kept * desk.anchors[last, j] + step * desk.plays[last, j]
    project(it.ground, desk.end, 0, d, desk.end, 0)
    judge(chain, it.rules[3] + t, desk.anchors, desk.end, desk.G)


@inlined
def judge(chain: Mixing, rounds: float, anchors: Array, end: Array, G: Array) -> None:
    """Compare what copies played with what would have been best, those that add up together, and every rival by itself."""
    it, late, copies = chain.chain, chain.late, len(chain.chain.steps)
    least, beforehand, forgetting, _ = it.rules
    faded, before = 1.0 - forgetting / (rounds + 20.0 * forgetting), beforehand / rounds
    gained, squares, shrinks, heeds = 0.0, 0.0, len(chain.variances) > 0, len(late.sums) > 0
    gain_now, square_now, surprise_now = 0.0, 0.0, 0.0
    for i in range(copies):
        along, square, step = 0.0, 0.0, it.steps[i] * it.trust[i]
        for j in range(G.shape[1]):
            there = anchors[i + 1, j] if i + 1 < copies else end[0, j]
            move = (there - anchors[i, j]) / step / it.units[j]
            along += G[i, j] / it.units[j] * move
            square += move * move
        gain = -0.5 * along / it.steps[i]
        surprise = gain - it.trust[i] * square
        it.gained[i] = faded * it.gained[i] + gain
        it.squares[i] = faded * it.squares[i] + square
        if chain.later <= i < chain.streams:
            gained += it.gained[i]
            squares += it.squares[i]
            gain_now += gain
            square_now += square
            surprise_now += surprise
            continue
        if shrinks and 0 < i < chain.streams:
            chain.variances[i] = faded * faded * chain.variances[i] + surprise**2
            full = chain.shrinkage[2] / rounds
            alone = shrunk(it.gained[i], it.squares[i], chain.variances[i], chain.shrinkage[0])
            it.trust[i] = min(max((alone + full) / (1.0 + full), least), 1.0)
        if i >= chain.streams:
            doubted = shrinks and chain.shrinkage[3] > 0.0
            if doubted:
                chain.variances[i] = faded * faded * chain.variances[i] + surprise**2
            if it.squares[i] > 0.0:
                ratio = it.gained[i] / it.squares[i]
                if doubted:
                    ratio = shrunk(it.gained[i], it.squares[i], chain.variances[i], chain.shrinkage[3])
                it.trust[i] = min(max(ratio / (1.0 + before), least), 1.0)
        if heeds and i > 0:
            gather(late, i, gain, square, surprise)
            doubt = chain.shrinkage[0] if i < chain.streams else max(chain.shrinkage[0], chain.shrinkage[3])
            it.trust[i] = overruled(it.trust[i], late, i, doubt, least, rounds)
    if chain.later >= chain.streams:
        return
    trust = it.trust[chain.later]
    if shrinks:
        chain.variances[0] = faded * faded * chain.variances[0] + surprise_now**2
        trust = min(max(shrunk(gained, squares, chain.variances[0], chain.shrinkage[1]), least), 1.0)
    elif squares > 0.0:
        trust = min(max((gained / squares + before) / (1.0 + before), least), 1.0)
    if heeds:
        gather(late, 0, gain_now, square_now, surprise_now)
        trust = overruled(trust, late, 0, chain.shrinkage[1], least, rounds)
    for i in range(chain.later, chain.streams):
        it.trust[i] = trust


@brief
def learn(chain: Mixing, t: int, path: Array, G: Array) -> None:
    """Learn from the gradients at all points of a path but the last: round t, counted from 1."""
    judge(chain, float(t), path[:-1], path[-1:], G)


@strict_brief
def walk_on_a_line(
    plays: Array, start: float, steps: Array, trust: Array, streams: int, low: float, high: float, path: Array
) -> None:
    """Write the path of copies that play single numbers in an interval."""
    path[0] = start
    for i in range(len(plays)):
        step = steps[i] * trust[i]
        kept = 1.0 if i < streams else 1.0 - trust[i]
        path[i + 1] = min(max(kept * path[i] + step * plays[i], low), high)
