"""Dynamic regret: against the best sequence of comparators that changes a bounded number of times, in hindsight.

Zinkevich (2003, Section 2.2) compares with all sequences u_1, ..., u_T whose path Σ‖u_{t+1} - u_t‖ is not longer than a bound.
Sequences with K changes, as Herbster, Warmuth (1998) compare with, have a path of at most K times the diameter of the set of
comparators, so that his regret for a path of that length is no less than the one here. Besbes, Gur, Zeevi (2015, Section 2) bound
how much the losses themselves vary from round to round, which is another budget, and none that is used here.

With changes at borders of blocks of rounds only, the best such sequence is found exactly: the best fixed comparator of a stretch of
blocks has a closed form, and the cheapest way to cut all rounds into K+1 stretches is found by a dynamic program (Bellman 1961).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.evaluate.comparators import best_linear, in_blocks
from banditboost.evaluate.trace import Trace
from banditboost.losses import Squared
from banditboost.worlds import Quadratic, Supervised

BLOCKS = 100
"""How many blocks the rounds are cut into where nothing is said: a change may begin at about each hundredth of the rounds."""


class _Fits(NamedTuple):
    """Best fixed comparators of stretches of blocks."""

    costs: Array
    """Entry (a, b): the total loss of the best fixed comparator of blocks a ... b-1, infinite where b <= a.

    In any units, and without the sum of squares of labels or targets, which every sequence has to bear.
    """
    losses: Callable[[int, int], Array]
    """The losses, round by round, of the best fixed comparator of rounds begin ... end-1."""


def best_piecewise(
    world: Supervised | Quadratic, changes: int, block: int | None = None, intercept: bool = True
) -> Array:
    """Return the losses, round by round, of the best sequence of comparators with at most so many changes, in hindsight.

    Comparators are linear predictors in a world of labels and contexts, as in `best_linear`, and points of the space in a quadratic
    world. They may change at rounds that are multiples of `block`, and nothing is assumed about where.

    Parameters
    ----------
    world
        Labelled rounds with the squared loss, or a world of quadratic losses.
    changes
        K, how often the comparator may change at most.
    block
        Rounds between two places where it may change; by default a hundredth of all rounds, rounded up. The best comparators of all
        pairs of such places are found, about T²/(2 block²), so that short blocks take long. A stretch that has fewer rounds than
        features is fitted without any loss, so that blocks should be much longer than contexts.
    intercept
        True: linear predictors have a constant term.

    Examples
    --------
    >>> from banditboost.worlds import Flip
    >>> world = Flip(rounds=1000)
    >>> [f"{best_piecewise(world, changes).mean():.3f}" for changes in (0, 1, 2)]
    ['2.026', '0.028', '0.028']
    >>> print(f"{world.best_losses.mean():.3f}")
    0.029
    """
    size = _blocks_of(len(world), block)
    starts = range(0, len(world), size)
    fits = _quadratic(world, starts) if isinstance(world, Quadratic) else _linear(world, starts, intercept)
    cuts = [0, *_cheapest(fits.costs, count("changes", changes, least=0)), len(starts)]
    ends = [min(cut * size, len(world)) for cut in cuts]
    return np.concatenate([fits.losses(begin, end) for begin, end in pairwise(ends)])


def dynamic_regret(
    trace: Trace,
    world: Supervised | Quadratic,
    changes: int,
    block: int | None = None,
    intercept: bool = True,
    paid: bool = False,
) -> Array:
    """Return the cumulative regret of a run against the best sequence of comparators with at most so many changes.

    With `changes=0` it is the usual regret. Entries before the last compare with the sequence that is best over *all* rounds, as
    `Trace.regret` does.

    Parameters
    ----------
    trace
        The run, over all rounds of the world.
    world, changes, block, intercept
        As for `best_piecewise`.
    paid
        True: the regret of the loss paid; by default that of the predictions.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.Flip(rounds=2000)
    >>> learner = bb.learners.Linear(rate=bb.rates.Constant(0.1))
    >>> booster = bb.algorithms.ogd(bb.spaces.Interval(-6, 6), learner=learner)
    >>> trace = bb.evaluate.progressive(booster, world)
    >>> [round(float(dynamic_regret(trace, world, changes)[-1])) for changes in (0, 1)]
    [-3933, 141]
    """
    if len(trace) != len(world):
        raise ValueError(f"trace must have all {len(world)} rounds of the world, got {len(trace)}.")
    alone = replace(trace, comparators={})
    alone.compare("best sequence", best_piecewise(world, changes, block, intercept))
    return alone.regret("best sequence", paid)


def _blocks_of(rounds: int, block: int | None) -> int:
    """Return the length of a block, checked."""
    if rounds == 0:
        raise ValueError("world must have at least one round, got none.")
    return -(-rounds // BLOCKS) if block is None else count("block", block)


def _cheapest(costs: Array, changes: int) -> list[int]:
    """Return the blocks at which the cheapest sequence with at most so many changes changes, ascending."""
    blocks = len(costs)
    totals, came_from = [costs[0]], []
    for _ in range(min(changes, blocks - 1)):
        ways = (
            totals[-1][:blocks, np.newaxis] + costs
        )  # up to block a with one change less, then one comparator up to block b
        came_from.append(ways.argmin(axis=0))
        totals.append(ways.min(axis=0))
    used = int(np.argmin([total[blocks] for total in totals]))
    cuts, at = [], blocks
    for step in reversed(came_from[:used]):
        at = int(step[at])
        cuts.append(at)
    return cuts[::-1]


def _linear(world: Supervised, starts: range, intercept: bool) -> _Fits:
    """Return least squares of all stretches, from the sums of products of every block."""
    if not isinstance(world, Supervised) or not isinstance(world.loss, Squared):
        raise ValueError(f"world must be Quadratic or have labels and the squared loss, got {type(world).__name__}.")
    sums = []
    for contexts, labels in in_blocks(world, intercept, starts.step):
        gram = contexts.T @ contexts
        gram = gram if isinstance(gram, np.ndarray) else gram.toarray()
        sums.append((gram, np.asarray(contexts.T @ labels)))
    grams, moments = (np.array(column) for column in zip(*sums, strict=True))
    length = np.sqrt(np.diagonal(grams.sum(axis=0)))
    length = np.where(length > 0, length, 1.0)
    grams, moments = grams / np.outer(length, length), moments / length[:, np.newaxis]
    costs = np.full((len(starts), len(starts) + 1), np.inf)
    for a in range(len(starts)):
        # Sums from block a on, and no differences of sums from the first block on, which would cancel.
        costs[a, a + 1 :] = -_explained(np.cumsum(grams[a:], axis=0), np.cumsum(moments[a:], axis=0))

    def losses(begin: int, end: int) -> Array:
        return best_linear(Supervised(world.contexts(begin, end), world.labels(begin, end)), intercept)

    return _Fits(costs, losses)


def _explained(grams: Array, moments: Array) -> Array:
    """Return Mᵀ G⁺ M, summed over outputs: by how much least squares lowers the sum of squares."""
    values, vectors = np.linalg.eigh(grams)
    kept = values > 1e-12 * np.maximum(values[:, -1:], 1e-300)
    turned = np.square(np.swapaxes(vectors, 1, 2) @ moments).sum(axis=2)
    return np.asarray((turned * kept / np.where(kept, values, 1.0)).sum(axis=1))


def _quadratic(world: Quadratic, starts: range) -> _Fits:
    """Return the best points of all stretches: projections of the mean target, as the total is a quadratic around it."""
    targets, ends = world.targets.reshape(len(world), -1), [*starts[1:], len(world)]
    centre = targets.mean(axis=0)
    around = targets - centre
    costs = np.full((len(starts), len(starts) + 1), np.inf)
    for a, begin in enumerate(starts):
        rows = np.array(ends[a:]) - begin
        sums = np.cumsum(around[begin:], axis=0)[rows - 1]
        means = sums / rows[:, np.newaxis] + centre
        points = world.space.project(means.reshape(-1, *world.space.shape)).reshape(means.shape) - centre
        costs[a, a + 1 :] = rows * np.square(points).sum(axis=1) - 2 * (sums * points).sum(axis=1)

    def losses(begin: int, end: int) -> Array:
        point = np.asarray(world.space.project(world.targets[begin:end].mean(axis=0)))
        return np.array([world.values(t, point).item() for t in range(begin, end)])

    return _Fits(costs, losses)
