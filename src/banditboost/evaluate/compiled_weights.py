"""The bridge to the compiled loop for decisions that are weight vectors: `worlds.WeightSpace` with `learners.OGD` on a ball."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost.booster import Booster
from banditboost.chains import ConvexHull, Single
from banditboost.evaluate.compiled import LOSSES, loss_code
from banditboost.evaluate.questions import Draw
from banditboost.evaluate.trace import Trace
from banditboost.evaluate.undo import check_block
from banditboost.gradients import OnePoint
from banditboost.learners import OGD
from banditboost.learners.ogd import OGDBank
from banditboost.spaces import Ball
from banditboost.worlds import FromFile, Supervised, SyntheticLinear, WeightSpace, World


def why_not_compiled(booster: Booster, world: World) -> str | None:
    """Return why this loop does not fit, as half a sentence; None where it does."""
    if booster.journal is not None:
        return "a journal writes down every round by itself"
    spec = booster.spec
    inner = world.world if isinstance(world, WeightSpace) else world
    checks: tuple[tuple[str, Any, tuple[type, ...]], ...] = (
        ("world", world, (WeightSpace,)),
        ("world", inner, (Supervised, FromFile, SyntheticLinear)),
        ("learner", spec.learner, (OGD,)),
        ("chain", spec.chain, (ConvexHull, Single)),
        ("gradient", spec.gradient, (OnePoint,)),
        ("space", spec.space, (Ball,)),
        ("loss", getattr(inner, "loss", None), LOSSES),
    )
    for name, part, known in checks:
        if type(part) not in known:
            return f"there is no compiled loop for the {name} {type(part).__name__}"
    if booster.plan is not None or spec.chain.gamma != 1:
        return "there is no compiled loop for weight vectors with restarts or with gamma other than 1"
    return None


def run(booster: Booster, world: World, begin: int, end: int, draw: Draw, trace: Trace) -> None:
    """Play rounds begin ... end-1 in one compiled call."""
    from banditboost._compiled import weights

    spec, rounds, bank = booster.spec, end - begin, booster.bank
    assert isinstance(world, WeightSpace) and isinstance(bank, OGDBank)  # noqa: PT018 - said by why_not_compiled
    assert isinstance(spec.gradient, OnePoint) and isinstance(booster.geometry.ground, Ball)  # noqa: PT018
    shape, p = (rounds, spec.copies, spec.gradient.queries), spec.space.size
    rows = world.world.contexts(begin, end)
    X = rows if isinstance(rows, np.ndarray) else rows.toarray()
    if world.intercept:
        X = np.concatenate([X, np.ones((rounds, 1))], axis=1)
    code, parameter = loss_code(world.world.loss)
    asking = draw(booster, world, rounds)
    with trace.block(begin, end) as kept:
        weights.rounds(
            bank.points,
            np.ascontiguousarray(X),
            world.world.labels(begin, end).reshape(rounds, 1),
            asking.directions.reshape(*shape, p),
            asking.noise.reshape(shape),
            bank.rate.at(np.arange(booster.phase_rounds + 1.0, booster.phase_rounds + rounds + 1)),
            spec.chain.lengths(spec.copies),
            booster.geometry.chain_start,
            isinstance(spec.chain, Single),
            booster.geometry.ground.inner_centre,
            booster.geometry.ground.radius,
            code,
            parameter,
            spec.gradient.delta,
            spec.space.rank / spec.gradient.delta / spec.gradient.queries,
            kept.predictions,
            kept.losses,
            kept.asked,
        )
        check_block(booster, kept.losses, kept.asked)
    booster.advance(rounds)
