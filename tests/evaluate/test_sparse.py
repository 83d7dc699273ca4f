"""Sparse contexts are the same rounds: compiled or plain, sparse or dense, one trajectory."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import banditboost as bb
from banditboost._compiled import round as compiled_round
from banditboost._core import streams
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.progressive import _plain as plain_run
from banditboost.evaluate.questions import drawing
from tests.evaluate.test_compiled import CHAINS, FINER, GRADIENTS, LONG, LOSSES, SPACES, world_for

FEATURES = 12


def contexts_for(rounds: int, features: int = FEATURES, density: float = 0.25, seed: int = 43) -> Any:
    rng = np.random.default_rng(seed)
    dense = rng.uniform(-1, 1, (rounds, features)) * (rng.random((rounds, features)) < density)
    dense[rng.random(rounds) < 0.1] = 0.0
    dense[[0, -1]] = 0.0  # a row without non-zeros first and last, too
    return dense


def pair(world: bb.worlds.Supervised, contexts: Any = None) -> tuple[bb.worlds.Supervised, bb.worlds.Supervised]:
    """A world's labels on sparse contexts, kept sparse and kept dense."""
    dense = contexts_for(len(world)) if contexts is None else contexts
    parts = (world.labels(), world.loss, world.noise, world.seed)
    return bb.worlds.Supervised(sparse.csr_array(dense), *parts), bb.worlds.Supervised(dense, *parts)


def weights(booster: bb.Booster) -> Any:
    assert booster.bank is not None
    return booster.bank.arrays()["weights"]


def agree(spec: bb.BoosterSpec, worlds: tuple[bb.worlds.Supervised, bb.worlds.Supervised]) -> None:
    runs = []
    for world, compiled in itertools.product(worlds, (True, False)):
        booster = bb.Booster.from_spec(spec)
        trace = bb.evaluate.progressive(booster, world, compiled=compiled)
        assert trace.compiled is compiled
        runs.append((trace, booster))
    (_, _), (plain, last), *_ = runs
    for trace, booster in runs:
        for name in ("predictions", "losses", "paid"):
            one, two = getattr(trace, name), getattr(plain, name)
            np.testing.assert_allclose(one / (1 + np.abs(two)), two / (1 + np.abs(two)), rtol=0, atol=1e-9)
        np.testing.assert_allclose(weights(booster), weights(last), rtol=1e-9, atol=1e-9)
        assert booster.rounds == len(worlds[0])
        assert streams.state(booster.streams["directions"]) == streams.state(last.streams["directions"])
    assert np.abs(weights(last)).max() > 0
    # The plain path sees the very same numbers.
    assert weights(last).tobytes() == weights(runs[3][1]).tobytes()
    assert plain.predictions.tobytes() == runs[3][0].predictions.tobytes()


@pytest.mark.long
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_every_chain(chain: tuple[bb.chains.Chain, int]) -> None:
    """Losses and gradients in turn: what a round is does not depend on who plays it (`test_compiled.py` has all of them)."""
    k = CHAINS.index(chain)
    loss, gradient = LOSSES[k % len(LOSSES)], GRADIENTS[k % len(GRADIENTS)]
    space = SPACES[1] if isinstance(loss, bb.losses.Bregman) else SPACES[0]
    learner = bb.learners.Linear(radius=0.8, rate=bb.rates.Power(0.03, 0.5))
    agree(bb.BoosterSpec(learner, chain[1], chain[0], gradient, space, seed=1), pair(world_for(space, loss, LONG)))


@pytest.mark.long
@pytest.mark.parametrize("gradient", FINER[::4], ids=str)
def test_finer_gradients(gradient: bb.gradients.Gradient) -> None:
    learner = bb.learners.Linear(radius=0.8, rate=bb.rates.Power(0.003, 0.5))
    world = world_for(SPACES[0], bb.losses.Squared())
    agree(bb.BoosterSpec(learner, 5, bb.chains.Span(), gradient, SPACES[0], seed=1), pair(world))


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES, ids=str)
def test_every_space(space: bb.spaces.Space) -> None:
    learner = bb.learners.Linear(radius=0.5, rate=bb.rates.Power(0.1, 0.5), intercept=False)
    for gradient, loss, inside in (
        (bb.gradients.Exact(), bb.losses.Absolute(), True),
        (bb.gradients.OnePoint(0.1, queries=2), bb.losses.Squared(), False),
    ):
        spec = bb.BoosterSpec(learner, 5, bb.chains.ConvexHull(gamma=0.8), gradient, space, inside=inside, seed=2)
        agree(spec, pair(world_for(space, loss)))


@pytest.mark.parametrize(
    "learner",
    [
        bb.learners.Linear(radius=None, rate=bb.rates.Constant(1e-3)),
        bb.learners.Scaled(bb.learners.Scaled(bb.learners.Linear(rate=bb.rates.Theory(2.0, 50.0)), 0.5), 3.0),
        # Steps thousands of times the radius: scales shrink so fast that they are multiplied into the weights again and again.
        bb.learners.Linear(radius=1e-3, rate=bb.rates.Constant(1e3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("space", [SPACES[0], SPACES[3]], ids=str)
def test_every_learner(learner: bb.learners.Learner, space: bb.spaces.Space) -> None:
    spec = bb.BoosterSpec(learner, 6, space=space, gradient=bb.gradients.OnePoint(0.2), seed=3)
    agree(spec, pair(world_for(space, bb.losses.Squared())))


SHAPES = {
    "no non-zeros": np.zeros((60, 4)),
    "no columns": np.zeros((60, 0)),
    "one column": contexts_for(60, 1, 0.5),
    "one column, all of it": np.linspace(-1, 1, 60)[:, np.newaxis],
    "rows of every length": np.tril(np.ones((60, 60))) * np.linspace(0.1, 1, 60),
    "one row": np.array([[0.0, 2.0, 0.0]]),
    "more columns than rounds": contexts_for(60, 3000, 0.01),
}


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", SHAPES)
def test_odd_shapes(name: str, intercept: bool) -> None:
    dense = SHAPES[name]
    world = world_for(SPACES[3], bb.losses.Squared(), len(dense))
    learner = bb.learners.Linear(radius=0.5, intercept=intercept)
    spec = bb.BoosterSpec(learner, 3, gradient=bb.gradients.OnePoint(0.2), space=SPACES[3])
    if intercept or dense.any():
        agree(spec, pair(world, dense))
    else:
        for kept in pair(world, dense):
            booster = bb.Booster.from_spec(spec)
            assert not bb.evaluate.progressive(booster, kept, compiled=True).predictions.any()
            assert not weights(booster).any()


def test_entries_given_twice_and_in_any_order() -> None:
    base = sparse.coo_array(contexts_for(300))
    order = np.random.default_rng(0).permutation(base.nnz)
    parts = np.concatenate([base.data[order] / 4, base.data * 3 / 4])
    rows, columns = (np.concatenate([axis[order], axis]) for axis in base.coords)
    starts = np.append(0, np.cumsum(np.bincount(rows, minlength=300)))
    by_row = np.argsort(rows, kind="stable")
    messy = sparse.csr_array((parts[by_row], columns[by_row], starts), shape=base.shape)
    assert not messy.has_canonical_format
    world = world_for(SPACES[0], bb.losses.Squared(), 300)
    canonical, dense = pair(world, base.toarray())
    mixed = bb.worlds.Supervised(messy, world.labels(), world.loss, world.noise, world.seed)
    agree(bb.BoosterSpec(copies=4, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2)), (mixed, dense))
    np.testing.assert_array_equal(mixed.contexts().indices, canonical.contexts().indices)


def test_orders_are_followed() -> None:
    world = world_for(SPACES[0], bb.losses.Squared())
    spec = bb.BoosterSpec(copies=4, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    kept, dense = pair(world)
    agree(spec, (kept.shuffled(3).halves()[1].head(300), dense.shuffled(3).halves()[1].head(300)))


def test_compiled_without_being_asked() -> None:
    kept, _ = pair(world_for(SPACES[0], bb.losses.Squared(), 30))
    spec = bb.BoosterSpec(copies=4, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    assert bb.evaluate.progressive(bb.Booster.from_spec(spec), kept).compiled
    # A space that no compiled loop knows takes the plain path.
    jumpy = dataclasses.replace(spec, chain=bb.chains.Single(), copies=1, space=bb.spaces.L1Ball(3))
    labels = np.full((30, 3), 1 / 3)
    world = bb.worlds.Supervised(kept.contexts(), labels)
    assert not bb.evaluate.progressive(bb.Booster.from_spec(jumpy), world).compiled


def test_arrays_that_may_not_be_written() -> None:
    rows = sparse.csr_array(contexts_for(200))
    for array in (rows.data, rows.indices, rows.indptr):
        array.flags.writeable = False
    world = world_for(SPACES[0], bb.losses.Squared(), 200)
    kept = bb.worlds.Supervised(rows, world.labels())
    dense = bb.worlds.Supervised(rows.toarray(), world.labels())
    agree(bb.BoosterSpec(copies=4, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2)), (kept, dense))


def test_stopping_between_the_paths_changes_nothing() -> None:
    kept, dense = pair(world_for(SPACES[0], bb.losses.Squared(), 400))
    whole = bb.Booster(copies=5, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    bb.evaluate.progressive(whole, kept)
    parts = bb.Booster.from_spec(whole.spec)
    rng = streams.stream(kept.seed, "noise")
    trace = bb.evaluate.Trace(np.empty(400), np.empty(400), np.empty(400))
    compiled_loop.run(parts, kept, 0, 100, drawing(rng), trace)
    plain_run(parts, kept, 100, 200, rng, trace)
    compiled_loop.run(parts, dense, 200, 300, drawing(rng), trace)
    compiled_loop.run(parts, kept, 300, 400, drawing(rng), trace)
    np.testing.assert_allclose(weights(parts), weights(whole), rtol=1e-9)


def test_save_load_continue_is_continue(tmp_path: Path) -> None:
    kept, _ = pair(world_for(SPACES[0], bb.losses.Squared()))
    learner = bb.learners.Linear(radius=0.3)
    booster = bb.Booster(learner, 5, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    bb.evaluate.progressive(booster, kept)
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    one, two = (bb.evaluate.progressive(b, kept.shuffled(1)) for b in (booster, loaded))
    assert one.predictions.tobytes() == two.predictions.tobytes()
    assert weights(booster).tobytes() == weights(loaded).tobytes()


# The ball: norms are tracked, so they must stay true.


GENTLE = (bb.gradients.Exact(), bb.rates.Constant(1e-3))
"""Steps so small that scales stay above 1e-30 to the end: norms are never summed anew."""
ROUGH = (bb.gradients.OnePoint(0.1), bb.rates.Constant(0.5))
"""Steps so large that scales are multiplied into weights now and then."""


@pytest.mark.parametrize("steps", [GENTLE, ROUGH], ids=["gentle", "rough"])
@pytest.mark.parametrize("space", [SPACES[0], SPACES[3]], ids=str)
def test_tracked_norms_do_not_drift(
    space: bb.spaces.Space, steps: tuple[bb.gradients.Gradient, bb.rates.Rate], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One block of 10,000 rounds, ten times what a run plays before norms are summed anew, nearly all of them projected."""
    radius, rounds, copies = 0.5, 10_000, 4
    # Labels that no weights in the ball can reach: every gradient pulls outwards.
    labels = np.broadcast_to(space.minimize(-np.ones(space.shape)), (rounds, *space.shape))
    contexts = np.abs(contexts_for(rounds))
    kept, dense = (
        bb.worlds.Supervised(X, labels, noise=bb.noise.Uniform(0.1)) for X in (sparse.csr_array(contexts), contexts)
    )
    spec = bb.BoosterSpec(bb.learners.Linear(radius, steps[1]), copies, gradient=steps[0], space=space)
    seen: list[Any] = []
    loop = compiled_round.play_rounds

    def watched(*arguments: Any) -> None:
        loop(*arguments)
        seen.append(arguments)

    monkeypatch.setattr(compiled_round, "play_rounds", watched)
    quick, plain = bb.Booster.from_spec(spec), bb.Booster.from_spec(spec)
    traces = [bb.evaluate.Trace(np.empty(rounds), np.empty(rounds), np.empty((rounds, *space.shape))) for _ in range(2)]
    compiled_loop.run(quick, kept, 0, rounds, drawing(streams.stream(0, "noise")), traces[0])
    columns = slice(0, copies * space.size)  # of all that lie side by side, those that count
    scales, squares = (getattr(seen[0][0].weights, name)[columns] for name in ("scales", "squares"))
    norms = (np.square(scales) * squares).reshape(copies, -1).sum(axis=1)
    np.testing.assert_allclose(norms, np.square(weights(quick)).reshape(copies, -1).sum(axis=1), rtol=1e-12)
    assert (scales < 1).all()

    rng, touched = streams.stream(0, "noise"), 0
    for t in range(rounds):
        plain_run(plain, dense, t, t + 1, rng, traces[1])
        lengths = np.linalg.norm(weights(plain).reshape(copies, -1), axis=1)
        touched += int((lengths > radius * (1 - 1e-12)).sum())
    assert touched > 0.9 * rounds * copies
    np.testing.assert_allclose(traces[0].predictions, traces[1].predictions, rtol=0, atol=1e-9)
    np.testing.assert_allclose(weights(quick), weights(plain), rtol=0, atol=1e-9)


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 2**32 - 1),
    radius=st.floats(1e-3, 1e3),
    rate=st.floats(1e-4, 1e4),
    density=st.floats(0.0, 1.0),
    features=st.integers(1, 40),
    intercept=st.booleans(),
    space=st.sampled_from([SPACES[0], SPACES[3]]),
)
def test_weights_stay_in_their_ball(
    seed: int, radius: float, rate: float, density: float, features: int, intercept: bool, space: bb.spaces.Space
) -> None:
    dense = contexts_for(120, features, density, seed)
    kept, _ = pair(world_for(space, bb.losses.Squared(), 120), dense)
    learner = bb.learners.Linear(radius, bb.rates.Constant(rate), intercept)
    booster = bb.Booster(learner, 3, gradient=bb.gradients.OnePoint(0.1), space=space)
    bb.evaluate.progressive(booster, kept, compiled=True)
    lengths = np.linalg.norm(weights(booster).reshape(3, -1), axis=1)
    assert (lengths <= radius * (1 + 1e-12)).all()
    plain = bb.Booster.from_spec(booster.spec)
    bb.evaluate.progressive(plain, kept, compiled=False)
    np.testing.assert_allclose(weights(booster), weights(plain), rtol=1e-9, atol=1e-9 * radius)


# Real data and comparators.


def adult(kept: bool) -> bb.worlds.Supervised:
    data = bb.datasets.load("adult", sparse=kept).scaled("minmax")
    return bb.worlds.Supervised(data.X, data.y, noise=bb.noise.Uniform(0.1))


def test_adult() -> None:
    kept, dense = adult(True), adult(False)
    assert (kept.sparse, dense.sparse) == (True, False)
    learner = bb.learners.Linear(radius=3.0, rate=bb.rates.Power(0.1, 0.5))
    booster = bb.algorithms.bandit_boosting(
        bb.spaces.Interval(0.0, 1.0), copies=10, delta=0.5, learner=learner, inside=False
    )
    agree(booster.spec, (kept.head(2000), dense.head(2000)))
    kept, dense = kept.shuffled(0).head(2000), dense.shuffled(0).head(2000)
    agree(booster.spec, (kept, dense))
    for intercept in (True, False):
        found, expected = (bb.evaluate.best_linear(world, intercept) for world in (kept, dense))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(bb.evaluate.running_mean(kept), bb.evaluate.running_mean(dense))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(), (2,), (2, 2)], ids=str)
@pytest.mark.parametrize("rounds", [5, 10_000])
def test_comparators_are_those_of_the_dense_world(rounds: int, shape: tuple[int, ...], intercept: bool) -> None:
    X, rng = contexts_for(rounds), np.random.default_rng(5)
    y = rng.normal(size=(rounds, *shape)) + X.sum(axis=1).reshape(-1, *(1,) * len(shape))
    kept, dense = (bb.worlds.Supervised(contexts, y).shuffled(1) for contexts in (sparse.csr_array(X), X))
    found, expected = (bb.evaluate.best_linear(world, intercept) for world in (kept, dense))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(bb.evaluate.running_mean(kept), bb.evaluate.running_mean(dense))
