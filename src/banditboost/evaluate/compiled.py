"""The bridge to the compiled loops: says whether one fits, and feeds it.

Only exact types of our own are recognised: a subclass may do anything, so it takes the plain path.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost import losses
from banditboost.booster import Booster
from banditboost.chains import Additive, ConvexHull, Single, Span
from banditboost.evaluate import compiled_learners
from banditboost.evaluate.questions import Draw, Questions, estimator
from banditboost.evaluate.trace import Block, Trace
from banditboost.evaluate.undo import check_block
from banditboost.gradients import (
    Baseline,
    Budget,
    Exact,
    Fitted,
    OnePoint,
    Residual,
    Stochastic,
    Surrogate,
    TwoPoint,
)
from banditboost.learners import Learner, Scaled
from banditboost.learners.base import Bank
from banditboost.learners.linear import LinearBank
from banditboost.learners.scaled import ScaledBank
from banditboost.spaces import Ball, Box, Interval, Simplex, Space
from banditboost.worlds import Classification, FromFile, Supervised, SyntheticLinear, World

if TYPE_CHECKING:
    from banditboost._compiled.game import Game, Region
    from banditboost._compiled.game import Span as SpanState


def why_not_compiled(booster: Booster, world: World) -> str | None:
    """Return why no compiled loop fits, as half a sentence; None where one does."""
    if booster.journal is not None:
        return "a journal writes down every round by itself"
    spec = booster.spec
    learner: Learner = spec.learner
    while type(learner) is Scaled:
        learner = learner.learner
    gradient = spec.gradient.gradient if type(spec.gradient) is Budget else spec.gradient
    checks: tuple[tuple[str, Any, tuple[type, ...]], ...] = (
        ("chain", spec.chain, (Additive, ConvexHull, Single, Span)),
        ("gradient", gradient, (*VALUES, Exact, Stochastic)),
        ("space", spec.space, (Interval, Box, Ball, Simplex)),
        ("world", world, (Supervised, Classification, FromFile, SyntheticLinear)),
    )
    if booster.plan is not None:
        return "there is no compiled loop for boosters that start again"
    if not compiled_learners.fits(learner):
        return f"there is no compiled loop for the learner {type(learner).__name__}"
    for name, part, known in checks:
        if type(part) not in known:
            return f"there is no compiled loop for the {name} {type(part).__name__}"
    if isinstance(spec.space, Simplex) and isinstance(spec.chain, Span) and spec.chain.rate is None:
        # Its first slope is a gradient's along the centre: zero but for rounding, whose sign a rate without scale would follow.
        return "there is no compiled loop for the chain Span on a Simplex, unless it is given a rate"
    assert isinstance(world, Supervised)
    if type(world.loss) not in LOSSES:
        return f"there is no compiled loop for the loss {type(world.loss).__name__}"
    if world.shape != spec.space.shape:
        return f"labels have shape {world.shape} and the space has shape {spec.space.shape}"
    if booster.bank is not None and booster.features != world.features:
        return f"the booster has {booster.features} features and the world {world.features}"
    return None


VALUES = (OnePoint, TwoPoint, Baseline, Residual, Surrogate, Fitted)
NUMBERS = 2**22
"""Most features held at a time."""
LOSSES = (losses.Squared, losses.Absolute, losses.Huber, losses.Logistic, losses.Quantile, losses.Bregman)


def run(booster: Booster, world: World, begin: int, end: int, draw: Draw, trace: Trace) -> None:
    """Play rounds begin ... end-1 in one compiled call."""
    assert isinstance(world, Supervised)
    if booster.bank is None:
        booster._start_bank(world.features)
    bank, scale = unwrapped(booster)
    contexts, rows = world.stored(begin, end)  # may raise, where a file is read: before anything is drawn
    asking = draw(booster, world, end - begin)
    with trace.block(begin, end) as kept:
        game = _game(booster, bank, scale, world, begin, end, asking, kept)
        compiled_learners.play(bank, contexts, rows, booster.phase_rounds, game)
        check_block(booster, kept.losses, kept.asked)
    booster.advance(end - begin)


def unwrapped(booster: Booster) -> tuple[Bank, float]:
    """Return the bank within wrappers that scale, and what multiplies its plays; the bank must have been started."""
    assert booster.bank is not None
    bank, scale = booster.bank, 1 / booster.spec.chain.gamma
    while isinstance(bank, ScaledBank):
        scale *= bank.gamma
        bank = bank.bank
    return bank, scale


def longest(booster: Booster, world: World) -> int:
    """Return how many rounds may be played at a time, so that what copies are shown fits into some memory."""
    assert isinstance(world, Supervised)
    if booster.bank is None:
        booster._start_bank(world.features)
    return NUMBERS // compiled_learners.numbers(booster.bank, world.sparse)


def _game(
    booster: Booster,
    bank: Bank,
    scale: float,
    world: Supervised,
    begin: int,
    end: int,
    asking: Questions,
    kept: Block,
) -> Game:
    """Lay out what a block of rounds needs, as the kernels read it."""
    from banditboost._compiled import game

    spec, rounds = booster.spec, end - begin
    copies, d = spec.copies, spec.space.size
    rates, radius = np.empty(0), math.inf
    if isinstance(bank, LinearBank):  # the other families have steps of their own
        rates = bank.spec.rate.at(np.arange(booster.phase_rounds + 1.0, booster.phase_rounds + rounds + 1))
        radius = math.inf if bank.spec.radius is None else bank.spec.radius
    code, parameter = loss_code(world.loss)
    return game.Game(
        labels=world.labels(begin, end).reshape(rounds, d),
        directions=asking.directions,
        chosen=asking.chosen,
        noise=asking.noise,
        rates=rates,
        steps=spec.chain.lengths(copies),
        start=booster.geometry.chain_start.reshape(d),
        single=isinstance(spec.chain, Single),
        span=spanning(booster, rounds),
        scale=scale,
        radius=radius,
        inside=spec.inside,
        space=_region(spec.space),
        ground=_region(booster.geometry.ground),
        loss=code,
        parameter=parameter,
        estimator=estimator(booster),
        predictions=kept.predictions.reshape(rounds, d),
        losses=kept.losses,
        asked=kept.asked,
    )


def spanning(booster: Booster, rounds: int) -> SpanState:
    """Return what a chain that sums plays remembers, as the kernels know it."""
    from banditboost._compiled import game

    chain, memory, nothing = booster.spec.chain, booster.chain_memory, np.empty(0)
    if isinstance(chain, Additive):  # shrinkage that never moves
        return game.Span(True, np.zeros(booster.spec.copies), np.zeros(booster.spec.copies), np.zeros(rounds))
    if not isinstance(chain, Span):
        return game.Span(False, nothing, nothing, nothing)
    first = booster.phase_rounds + 1.0
    rates = nothing if chain.rate is None else chain.rate.at(np.arange(first, first + rounds))
    return game.Span(True, memory["shrinkage"], memory["squares"], rates)


def loss_code(loss: losses.Loss) -> tuple[int, float]:
    """Return a loss's number in the kernels and its parameter."""
    from banditboost._compiled import losses as codes

    match loss:
        case losses.Huber():
            return codes.HUBER, loss.threshold
        case losses.Quantile():
            return codes.QUANTILE, loss.level
        case losses.Bregman():
            return (codes.ENTROPY if loss.potential == "entropy" else codes.EUCLIDEAN), loss.floor
    plain = {losses.Squared: codes.SQUARED, losses.Absolute: codes.ABSOLUTE, losses.Logistic: codes.LOGISTIC}
    return plain[type(loss)], 0.0


def _region(space: Space) -> Region:
    """Return a space as the kernels know it."""
    from banditboost._compiled import game

    if isinstance(space, Ball):
        return game.Region(game.BALL, space.inner_centre, space.inner_centre, space.radius)
    if isinstance(space, Simplex):
        floor = np.full(space.dimension, space.floor)
        return game.Region(game.SIMPLEX, floor, floor, space.spread)
    assert isinstance(space, Interval | Box)
    low, high = np.atleast_1d(np.array(space.low)), np.atleast_1d(np.array(space.high))
    return game.Region(game.BOX, low, high, 0.0)
