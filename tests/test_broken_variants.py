"""Deliberately broken variants of Algorithm 1 are caught on one run of T = 100: the checks on the loop have teeth.

What each copy was *fed* is recorded at the bank's door and held against the unrolled lemma (upper end), its counterpart from below,
and, for quadratic losses, the identity that the two ends imply.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost import theory
from banditboost.chains import ConvexHull
from banditboost.gradients import Exact

T, N, D = 100, 10, 2.0


@dataclass(frozen=True)
class LateFeedback(ConvexHull):
    """Broken: asks for feedback at x^i instead of x^{i-1}."""

    def path(self, plays: np.ndarray, start: np.ndarray, memory: Any = None, ground: Any = None) -> np.ndarray:
        right = super().path(plays, start)
        return np.concatenate([right[1:], right[-1:]])


@dataclass(frozen=True)
class SwappedGradients(Exact):
    """Broken: every copy learns from the next copy's gradient."""

    def estimate(self, answers: np.ndarray, probe: Any, space: Any, memory: Any) -> np.ndarray:
        return np.roll(answers, -1, axis=0)


def run(chain: ConvexHull, gradient: Exact, optimizer: str) -> tuple[float, theory.UnrolledBracket, float]:
    """Return the regret of a run, the bracket of what its copies were fed, and the lemma's right-hand side."""
    space = bb.spaces.Ball(2)
    targets = np.array([[(-1.0) ** t, 0.5 * (-1.0) ** (t // 2)] for t in range(T)]) / 1.2
    world = bb.worlds.Quadratic(space, targets)
    learner: bb.learners.Learner = bb.learners.OGD(2.0) if optimizer == "ogd" else bb.learners.FPL(2.0, T)
    booster = bb.Booster(learner, N, chain, gradient, space)
    fed, plays, total = [], [], 0.0
    assert booster.bank is not None
    update = booster.bank.update

    def recorded(context: np.ndarray | None, gradients: np.ndarray, t: int) -> None:
        fed.append(gradients.copy())
        update(context, gradients, t)

    booster.bank.update = recorded  # type: ignore[method-assign]
    for t in range(T):
        ticket = booster.ask()
        plays.append(ticket.raw)
        total += float(world.values(t, ticket.prediction))
        booster.tell(ticket, world.gradients(t, ticket.queries))
    best = world.best()
    regret = total - float(best.losses.sum())
    arrays = np.array(fed), np.array(plays), best.point
    bracket = theory.unrolled_bracket(*arrays, smoothness=1.0, start=booster.geometry.chain_start)
    return regret, bracket, theory.unrolled_lemma(*arrays, smoothness=1.0, diameter=D)


@pytest.mark.parametrize("optimizer", ["ogd", "fpl"])
def test_the_right_code_passes(optimizer: str) -> None:
    regret, bracket, lemma = run(ConvexHull(), Exact(), optimizer)
    assert bracket.lower <= regret <= bracket.upper <= lemma
    assert regret == pytest.approx(bracket.lower + bracket.upper - bracket.linear, abs=1e-9)


@pytest.mark.parametrize("optimizer", ["ogd", "fpl"])
def test_whole_steps_violate_the_lemma(optimizer: str) -> None:
    # η_i = 1: the chain forgets all copies but the last.
    regret, _, lemma = run(ConvexHull(steps=(1.0,) * N), Exact(), optimizer)
    assert regret > lemma + 1


@pytest.mark.parametrize("optimizer", ["ogd", "fpl"])
def test_late_feedback_breaks_the_identity(optimizer: str) -> None:
    # Convexity alone proves the upper end here, so only the lower end and the identity can tell.
    regret, bracket, _ = run(LateFeedback(), Exact(), optimizer)
    assert abs(regret - (bracket.lower + bracket.upper - bracket.linear)) > 0.02  # to 1e-9 for the right code


@pytest.mark.parametrize("optimizer", ["ogd", "fpl"])
def test_swapped_gradients_break_the_identity(optimizer: str) -> None:
    regret, bracket, _ = run(ConvexHull(), SwappedGradients(), optimizer)
    assert abs(regret - (bracket.lower + bracket.upper - bracket.linear)) > 0.1
