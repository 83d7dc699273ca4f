"""Numbers stay sane: whatever the size of contexts and losses, a round is refused and changes nothing, or leaves finite numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import checks
from tests.checks.discovery import label, state

SIZES = (0.0, 1e-320, 1e-300, 1e-160, 1e-80, 1.0, 1e49, 1e60, 1e154, 1e200, 1e300)
"""Sizes of contexts and of losses; those up to 1 must leave a booster able to learn, those above `checks.LARGEST` are refused."""
LEARNERS = [
    part
    for name in bb.learners.__all__
    if isinstance(kind := getattr(bb.learners, name), type) and issubclass(kind, bb.learners.Learner)
    if not kind.__abstractmethods__
    for part in kind.examples()
]
GRADIENTS: tuple[bb.gradients.Gradient, ...] = (
    *(bb.gradients.Exact(), bb.gradients.Averaged(), bb.gradients.Recursive(), bb.gradients.OnePoint(0.2)),
    *(bb.gradients.TwoPoint(0.2), bb.gradients.Baseline(0.2), bb.gradients.Residual(0.2), bb.gradients.Surrogate(0.2)),
    *(
        bb.gradients.Fitted(0.2),
        bb.gradients.Fitted(0.2, scaled=True),
        bb.gradients.Budget(bb.gradients.OnePoint(0.2), 3),
    ),
)
CHAINS = (bb.chains.ConvexHull(), bb.chains.ConvexHull(gamma=0.5), bb.chains.Span(), bb.chains.Additive())
SPACES = (bb.spaces.Interval(-1.0, 1.0), bb.spaces.Ball(2, 1.0))


def boosters(learner: bb.learners.Learner) -> Iterator[bb.Booster]:
    for k, (gradient, chain) in enumerate(itertools.product(GRADIENTS, CHAINS)):
        if not (chain.projects and learner.bets):
            yield bb.Booster(learner, 6, chain, gradient, SPACES[k % 2], seed=3)


def answers(ticket: bb.Ticket, size: float) -> np.ndarray:
    """Squared distance from 0.6 (of every coordinate), or its gradients, times a size."""
    away = ticket.queries - 0.6
    if ticket.asks == "gradients":
        return 2 * away * size
    return (np.square(away) if away.ndim == 1 else np.square(away).sum(axis=1)) * size


def play(booster: bb.Booster, rounds: int, context: float, loss: float, seed: int) -> float:
    """Play some rounds; return the squared distance of the later predictions from 0.6, on average."""
    rng, lost = np.random.default_rng(seed), []
    contextual = booster.spec.learner.contextual
    largest = max(context, loss) if contextual else loss
    for _ in range(rounds):
        x = context * rng.uniform(0.5, 1.0, 2) if contextual else None
        before = None
        try:
            ticket = booster.ask(x)
            before = state(booster)
            booster.tell(ticket, answers(ticket, loss))
        except ValueError as error:
            if largest <= 1:
                raise
            assert "\n" not in str(error)  # noqa: PT017 - whether it is raised is what is tried
            assert before is None or state(booster)[0] == before[0], "a refused round changed something"
            continue
        assert largest <= checks.LARGEST, f"{context:g} and {loss:g} were taken"
        assert all(np.isfinite(array).all() for array in booster.arrays().values())
        prediction = booster.predict(x)
        assert booster.spec.space.contains(prediction).all()
        assert booster.spec.space.contains(ticket.queries).all()
        lost.append(float(np.square(prediction - 0.6).sum()))
    return float(np.mean(lost[len(lost) // 2 :])) if lost else 0.0


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS, ids=label)
def test_every_size_is_refused_or_leaves_finite_numbers(learner: bb.learners.Learner) -> None:
    pairs = list(itertools.product(SIZES, SIZES))
    for k, booster in enumerate(boosters(learner)):
        # Every pair of sizes meets every learner, and every size of losses every gradient.
        for context, loss in pairs[k % 29 :: 29]:
            tried = bb.Booster.from_spec(booster.spec)
            for sizes in ((context, loss), (1.0, 1.0), (context, loss)):
                play(tried, 2, *sizes, seed=k)


NOTHING = (0.0, 1e-320, 1e-300, 1e-160)
TOO_MUCH = (1e60, 1e154, 1e300)


@pytest.mark.long
@pytest.mark.parametrize("learner", LEARNERS, ids=label)
def test_rounds_that_say_nothing_leave_a_booster_able_to_learn(learner: bb.learners.Learner) -> None:
    for k, booster in enumerate(boosters(learner)):
        if k % 3 or booster.spec.chain.projects:  # chains that sum plays suit learners that know when to stop, alone
            continue
        usual = play(bb.Booster.from_spec(booster.spec), 80, 1.0, 1.0, seed=k)
        for context, loss in ((1.0, (NOTHING + TOO_MUCH)[k % 7]), ((NOTHING + TOO_MUCH)[k % 7], 0.0)):
            tried = bb.Booster.from_spec(booster.spec)
            play(tried, 3, context, loss, seed=k)
            # Another start leads to other steps from noisy answers; what must not be is that nothing is learned.
            begin = 0.36 * booster.spec.space.size
            assert play(tried, 80, 1.0, 1.0, seed=k) < max(1.5 * usual, 0.5 * begin), (booster, context, loss)


@pytest.mark.parametrize("learner", LEARNERS, ids=label)
def test_worlds_that_never_change_are_played(learner: bb.learners.Learner) -> None:
    contextual = learner.contextual
    for k, booster in enumerate(boosters(learner)):
        if k % 4 != k // 4 % 4:
            continue
        asks = booster.spec.gradient.asks == "gradients"
        for x, loss in ((np.zeros(2), 1.0), (np.ones(2), 0.0), (np.zeros(2), 0.0), (np.full(2, 1e-310), 3.0)):
            tried = bb.Booster.from_spec(booster.spec)
            for _ in range(4):
                ticket = tried.ask(x if contextual else None)
                tried.tell(ticket, np.full((len(ticket.queries), *(tried.spec.space.shape if asks else ())), loss))
            assert tried.spec.space.contains(tried.predict(x if contextual else None)).all()
            assert all(np.isfinite(array).all() for array in tried.arrays().values())


def test_small_distances_and_many_copies() -> None:
    for space in SPACES:
        for gradient in (bb.gradients.OnePoint(1e-12), bb.gradients.TwoPoint(1e-12), bb.gradients.Surrogate(1e-12)):
            booster = bb.Booster(copies=3, gradient=gradient, space=space)
            for _ in range(5):
                ticket = booster.ask([1.0])
                assert space.contains(ticket.queries).all()
                booster.tell(ticket, answers(ticket, 1.0))
            assert all(np.isfinite(array).all() for array in booster.arrays().values())
    many = bb.Booster(copies=20_000, gradient=bb.gradients.OnePoint(0.1), space=bb.spaces.Interval(-1, 1))
    wide = bb.Booster(copies=3, gradient=bb.gradients.OnePoint(0.1), space=bb.spaces.Ball(20_000, 1.0))
    for booster in (many, wide):
        for _ in range(3):
            ticket = booster.ask([1.0])
            assert booster.spec.space.contains(ticket.queries).all()
            booster.tell(ticket, answers(ticket, 1.0))
        assert all(np.isfinite(array).all() for array in booster.arrays().values())
