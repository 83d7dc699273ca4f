"""Progressive validation: every round is first predicted, then learned from (Blum, Kalai, Langford 1999)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from banditboost.booster import Booster
from banditboost.evaluate import fast, fast_weights
from banditboost.evaluate.trace import Trace
from banditboost.evaluate.undo import Undo
from banditboost.require import OverflowingError
from banditboost.streams import stream
from banditboost.worlds import InWeights, World

Progress = Callable[[int, int], None]

BLOCK = 4096
"""Most rounds between two calls of `progress`."""
NUMBERS = 2**20
"""Most random numbers held at a time."""


def progressive(
    booster: Booster,
    world: World,
    *,
    compiled: bool | None = None,
    progress: Progress | None = None,
) -> Trace:
    """Train a booster on a world, predicting every round before learning from it.

    Parameters
    ----------
    booster
        Trained in place; an interrupted run leaves it as after the last whole block of rounds.
    world
        Who answers. Its noise starts anew, so that the same booster and world give the same trace.
    compiled
        True insists on the compiled loop, False on the plain one; None takes the compiled one where the parts allow
        it. Both give the same numbers up to rounding, which some learners amplify over many rounds.
    progress
        Called as ``progress(rounds done, rounds in all)`` now and then.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=2000, features=3, noise=bb.noise.Uniform(0.1))
    >>> booster = bb.algorithms.bandit_boosting(bb.spaces.Interval(-2, 2), copies=10)
    >>> trace = progressive(booster, world)
    >>> trace.compare("best linear predictor", world.best_losses)
    >>> bool(trace.regret("best linear predictor")[-1] < 0.1 * len(world))
    True
    """
    if len(world) == 0:
        raise ValueError("world must have at least one round, got none.")
    loop = fast_weights if isinstance(world, InWeights) else fast
    reason = loop.obstacle(booster, world)
    if compiled and reason:
        raise ValueError(f"compiled must be None or False here: {reason}.")
    run = _plain if reason or compiled is False else loop.run
    shape = booster.spec.space.shape
    trace = Trace(np.empty(len(world)), np.empty(len(world)), np.empty((len(world), *shape)), run is loop.run)
    world.begin()
    rng = stream(world.seed, "noise")
    # Random directions are drawn a block at a time: many or wide ones make the blocks shorter.
    block = max(1, min(BLOCK, NUMBERS // (booster.spec.gradient.count(booster.spec.copies) * booster.spec.space.size)))
    if run is fast.run:
        block = max(1, min(block, fast.longest(booster, world)))
    undo = Undo(booster, rng)
    for begin in range(0, len(world), block):
        end = min(begin + block, len(world))
        if run is loop.run:
            _compiled(booster, world, begin, end, rng, trace, undo)
        else:
            run(booster, world, begin, end, rng, trace)
        if progress is not None:
            progress(end, len(world))
    return trace


def _compiled(
    booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace, undo: Undo
) -> None:
    """Play rounds in one compiled call, all or none of them.

    Where numbers leave the range that the loops are made for, the rounds are played one by one, which copes or says what is wrong.
    """
    loop = fast_weights if isinstance(world, InWeights) else fast
    undo.note()
    try:
        loop.run(booster, world, begin, end, rng, trace)
    except OverflowingError:
        undo.back()
        _plain(booster, world, begin, end, rng, trace)
    except BaseException:
        undo.back()
        raise


def _plain(booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace) -> None:
    """Play rounds one by one with ask and tell: the definition."""
    noisy = booster.spec.gradient.noisy
    for t in range(begin, end):
        ticket = booster.ask(world.context(t))
        trace.predictions[t] = ticket.prediction
        trace.losses[t] = world.values(t, ticket.prediction)
        # Where nothing is asked the prediction is what is played, and charged for.
        trace.asked[t] = world.values(t, ticket.queries).mean() if len(ticket.queries) else trace.losses[t]
        booster.tell(ticket, world.answer(t, ticket, noisy, rng))
        world.observe(t, ticket.prediction)
