"""Progressive validation: every round is first predicted, then learned from (Blum, Kalai, Langford 1999)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from banditboost._core import processes
from banditboost._core.checks import OverflowingError, one_of
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.booster.answers import mean
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.callbacks import Callback
from banditboost.evaluate.news import News
from banditboost.evaluate.questions import drawing
from banditboost.evaluate.session import Session
from banditboost.evaluate.trace import Keep, Trace
from banditboost.evaluate.undo import Undo
from banditboost.worlds import Supervised, World

Progress = Callable[[int, int], None]

BLOCK = 4096
"""Largest number of rounds in a block, and so between two calls of `progress`."""
PATIENT = 256
"""Largest number of rounds in a block of the plain loop, for whose end Ctrl-C waits."""
NUMBERS = 2**20
"""Largest number of random numbers drawn for one block of a compiled loop; more make the block shorter."""


def progressive(
    booster: Booster,
    world: World,
    *,
    compiled: bool | None = None,
    progress: Progress | None = None,
    keep: Keep = "all",
    callbacks: Sequence[Callback] = (),
) -> Trace:
    """Train a booster on a world, predicting every round before learning from it.

    Parameters
    ----------
    booster
        The booster, which is trained in place. Ctrl-C waits for the end of a block of rounds and leaves the booster as after that
        block; a second Ctrl-C does not wait, and leaves the booster in the middle of a block.
    world
        The world that answers the queries. Its noise starts anew, so that the same booster and world give the same trace.
    compiled
        True requires the compiled loop, False the plain one; None takes the compiled loop where all parts have a compiled form,
        no journal records every round, and no tickets of a gradient that learns from them late are in flight. Both give the same
        numbers up to rounding, which some learners amplify over many rounds.
    progress
        Called as ``progress(rounds done, rounds in all)`` after every block of rounds.
    keep
        What the trace keeps: "all", which is two losses and the prediction of every round; "losses", without predictions; or
        "means" of the losses over blocks of at most 4096 rounds, so that the memory of a run hardly grows with its length.
    callbacks
        Objects that are called during the run and may end it early: `EarlyStopping`, `Checkpoint`, `Log`, `ProgressBar`, `OnDrift`,
        or a `Callback` of your own. The trace is cut to the rounds played. After Ctrl-C, log and checkpoint hold the same rounds.

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
    processes.check(booster._process)
    one_of("keep", keep, ("all", "losses", "means"))
    if keep == "means" and callbacks:
        raise ValueError(
            "keep must be 'all' or 'losses' with callbacks, since callbacks change the length of blocks; got 'means'."
        )
    rng = stream(world.seed, "noise")
    undo = Undo(booster, rng)
    reason = _begun(booster, world, undo)
    if compiled and reason:
        raise ValueError(f"compiled must be None or False here: {reason}.")
    plain = reason is not None or compiled is False
    if plain:
        undo.end()
    world.begin()
    block = min(BLOCK, PATIENT) if plain else block_length(booster, world)
    trace = blank(booster, world, keep, block, not plain)
    with Session(callbacks, booster, world, trace) as session:
        for begin, end in session.blocks(block):
            if plain:
                _plain(booster, world, begin, end, rng, trace)
            else:
                _compiled(booster, world, begin, end, rng, trace, undo)
            if progress is not None:
                progress(end, len(world))
    return session.trace


def _begun(booster: Booster, world: World, undo: Undo) -> str | None:
    """Begin a booster's copies for the compiled loop, or return why it cannot play them, and leave the booster as it is."""
    reason = compiled_loop.why_not_around(booster, world)
    if reason is None and booster.bank is None:
        undo.begin(world.features or 0)
    if reason is None and booster.bank is not None:
        reason = booster.bank.why_not_compiled()
    if reason is not None:
        undo.end()
    return reason


def told(booster: Booster) -> bool:
    """Return whether a booster is told gradients, so that nothing is played but its predictions."""
    return booster.spec.gradient.asks == "gradients"


def blank(booster: Booster, world: World, keep: Keep, block: int, compiled: bool) -> Trace:
    """Return an empty trace for a run of a booster."""
    spec = booster.spec
    made = Trace.blank(
        len(world), spec.space.shape, keep, block, compiled, told(booster), banded=spec.bands is not None
    )
    made.drifts = None if spec.drifts is None else ()
    return made


def block_length(booster: Booster, world: World) -> int:
    """Return the number of rounds in a block of a compiled loop; many or wide random directions make blocks shorter."""
    numbers = booster.spec.gradient.count(booster.spec.copies) * booster.spec.space.size
    block = max(1, min(BLOCK, NUMBERS // numbers))
    return max(1, min(block, compiled_loop.longest(booster, world)))


def _compiled(
    booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace, undo: Undo
) -> None:
    """Play rounds in one compiled call, either all of them or none.

    Where numbers leave the range of the compiled loop, the rounds are played one by one by the plain loop, which either can handle
    the numbers or raises an error that names the problem.
    """
    with booster._lock, booster._turn:  # what a signal handler saves meanwhile is saved when the block is over
        undo.save()
        booster._turn.changing = True
        try:
            compiled_loop.run(booster, world, begin, end, drawing(rng), trace)
            return
        except OverflowingError:
            undo.restore()
        except BaseException:
            undo.restore()
            booster._turn.changing = False
            raise
    _plain(booster, world, begin, end, rng, trace)


def _plain(booster: Booster, world: World, begin: int, end: int, rng: np.random.Generator, trace: Trace) -> None:
    """Play rounds one by one with `ask` and `tell`, which defines what a run is."""
    noisy, news = booster.spec.gradient.noisy, News(booster, begin)
    sparse = world if isinstance(world, Supervised) and world.sparse else None
    with trace.block(begin, end) as kept:
        for t in range(begin, end):
            ticket = booster.ask(world.context(t) if sparse is None else sparse.contexts(t, t + 1))
            kept.predictions[t - begin] = ticket.prediction
            kept.losses[t - begin] = loss = world.values(t, ticket.prediction)
            # In a round without queries the prediction itself is played, and its loss is paid.
            kept.paid[t - begin] = world.values(t, ticket.queries).mean() if len(ticket.queries) else loss
            answers = world.answer(t, ticket, noisy, rng)
            if len(kept.bands) and booster.spec.bands is not None:
                kept.bands[t - begin] = booster.spec.bands.band(booster.bands_memory, ticket.context)[:2]
                kept.answered[t - begin] = mean(answers) if len(answers) else np.nan
            booster.wait_for_growth()  # so that the same booster and world give the same trace
            booster.tell(ticket, losses=answers)
            world.observe(t, ticket.prediction)
    news.write(trace)
