"""The compiled loop for networks is the plain loop: same trajectory on every loss, chain, gradient and space."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core import streams
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.progressive import _plain as plain_run
from banditboost.evaluate.questions import drawing
from banditboost.learners import Learner, Mixed, Network, Scaled, Standardized
from tests.evaluate import test_compiled_simplex
from tests.evaluate.test_compiled import CHAINS, FINER, GRADIENTS, LONG, LOSSES, SPACES, agree, world_for

pytestmark = pytest.mark.long

RELU = Network(hidden=4, rate=0.05)
TANH = Network(hidden=3, activation="tanh", rate=0.02, curvature=0.0, radius=0.7)
"""Weights that meet their balls early."""
# Finer gradients solve small systems, whose rounding is 1e-11, and rectified units magnify it round by round, the more the
# longer their steps: at a rate of 0.05 it may pass 1e-7 within 300 rounds.
GENTLE = dataclasses.replace(RELU, rate=0.01)


@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_every_chain(chain: tuple[bb.chains.Chain, int]) -> None:
    """Losses and gradients in turn: what a round is does not depend on who plays it (`test_compiled.py` has all of them)."""
    k = CHAINS.index(chain)
    loss, gradient, learner = LOSSES[k % len(LOSSES)], GRADIENTS[k % len(GRADIENTS)], (RELU, TANH)[k // 2 % 2]
    space = SPACES[1] if isinstance(loss, bb.losses.Bregman) else SPACES[0]
    agree(bb.Booster(learner, chain[1], chain[0], gradient, space, seed=1), world_for(space, loss, LONG), "outer")


@pytest.mark.parametrize("gradient", FINER[1::4], ids=str)
def test_finer_gradients(gradient: bb.gradients.Gradient) -> None:
    k = FINER.index(gradient)
    booster = bb.Booster((GENTLE, TANH)[k // 4 % 2], 4, bb.chains.Additive(first=1.0), gradient, SPACES[0], seed=1)
    agree(booster, world_for(SPACES[0], bb.losses.Squared()), "outer")


@pytest.mark.parametrize("gradient", [bb.gradients.Exact(), bb.gradients.OnePoint(0.1, queries=4)], ids=str)
@pytest.mark.parametrize("space", [*SPACES, test_compiled_simplex.SPACES[1]], ids=str)
def test_every_space(gradient: bb.gradients.Gradient, space: bb.spaces.Space) -> None:
    given = isinstance(gradient, bb.gradients.Exact)
    learner = TANH if given == (space.size > 1) else GENTLE
    booster = bb.Booster(learner, 4, gradient=gradient, space=space, inside=not given, seed=2)
    agree(booster, world_for(space, bb.losses.Squared()), "outer")


@pytest.mark.parametrize(
    ("learner", "learned"),
    [
        (Network(), "outer"),
        (Standardized(RELU), "inner.outer"),
        (Standardized(TANH, spread="largest", squash=True), "inner.outer"),
        (Standardized(Standardized(TANH), squash=True), "inner.inner.outer"),
        (Scaled(RELU, 0.5), "outer"),
        (Scaled(Scaled(Standardized(TANH), 0.5), 3.0), "inner.outer"),
        (Mixed((RELU,), (1.0,)), "0.outer"),
    ],
    ids=str,
)
def test_wrappers(learner: Learner, learned: str) -> None:
    for gradient, space in (
        (bb.gradients.OnePoint(0.2, queries=4), SPACES[0]),
        (bb.gradients.Exact(), SPACES[3]),
    ):
        booster = bb.Booster(learner, 4, gradient=gradient, space=space, seed=1)
        agree(booster, world_for(space, bb.losses.Squared()), learned)


@pytest.mark.parametrize("learner", [RELU, TANH], ids=["relu", "tanh"])
def test_sparse_contexts_give_the_same_rounds(learner: Network) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(500, 12)) * (rng.random((500, 12)) < 0.2)
    world, thin = (bb.worlds.Supervised(contexts, np.clip(X[:, 0], -1.0, 1.0)) for contexts in (X, csr_array(X)))
    booster = bb.Booster(learner, 3, gradient=bb.gradients.Exact(), space=SPACES[0])
    agree(booster, thin, "outer")
    traces = [bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), where) for where in (world, thin)]
    np.testing.assert_array_equal(traces[0].predictions, traces[1].predictions)


@pytest.mark.parametrize("learner", [RELU, TANH, Standardized(RELU)], ids=str)
@pytest.mark.parametrize("columns", [0, 3])
def test_contexts_without_columns_and_without_numbers(learner: Learner, columns: int) -> None:
    labels = world_for(SPACES[3], bb.losses.Squared(), 30).labels()
    booster = bb.Booster(learner, 3, gradient=bb.gradients.Exact(), space=SPACES[3])
    nothing = bb.worlds.Supervised(np.zeros((30, columns)), labels)
    agree(booster, nothing, "outer" if isinstance(learner, Network) else "inner.outer")


def test_weights_that_meet_their_ball_stay_in_it() -> None:
    spec = dataclasses.replace(TANH, rate=0.3)
    booster = bb.Booster(spec, 3, gradient=bb.gradients.Exact(), space=SPACES[3], seed=1)
    bb.evaluate.progressive(booster, world_for(SPACES[3], bb.losses.Absolute(), 100), compiled=True)
    assert booster.bank is not None
    known = booster.bank.arrays()
    for lengths in (np.linalg.norm(known["inner"], axis=2), np.linalg.norm(known["outer"].reshape(3, -1), axis=1)):
        assert lengths.max() == pytest.approx(spec.radius, rel=1e-12)


def test_stopping_between_the_two_paths_changes_nothing() -> None:
    world, learner = world_for(SPACES[0], bb.losses.Squared(), 300), Standardized(RELU)
    whole = bb.Booster(learner, 5, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    bb.evaluate.progressive(whole, world, compiled=True)
    parts = bb.Booster.from_spec(whole.spec)
    rng = streams.stream(world.seed, "noise")
    trace = bb.evaluate.Trace(np.empty(300), np.empty(300), np.empty(300))
    compiled_loop.run(parts, world, 0, 100, drawing(rng), trace)
    plain_run(parts, world, 100, 200, rng, trace)
    compiled_loop.run(parts, world, 200, 300, drawing(rng), trace)
    for name, array in whole.arrays().items():
        np.testing.assert_allclose(parts.arrays()[name], array, rtol=1e-9, atol=1e-12, err_msg=name)
