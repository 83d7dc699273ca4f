"""The compiled loop for trees is the plain loop: same trees, same trajectory."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core import streams
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.progressive import _plain as plain_run
from banditboost.evaluate.questions import drawing

pytestmark = pytest.mark.long

ROUNDS = 1000
SPACES = [
    bb.spaces.Interval(-1.0, 1.0),
    bb.spaces.Box((-1.0, 0.2), (1.0, 1.0)),
    bb.spaces.Ball(3, 1.0),
]
GRADIENTS = [bb.gradients.Exact(), bb.gradients.Surrogate(0.2, queries=4), bb.gradients.OnePoint(0.2, queries=2)]
GROWING = bb.learners.Tree(subset=0.7, grace=10, evidence=2.0)


def world_for(space: bb.spaces.Space, loss: bb.losses.Loss | None = None, sparse: bool = False) -> bb.worlds.Supervised:
    rng = np.random.default_rng(42)
    # Two numbers, two indicators (one rare), one constant.
    contexts = np.column_stack(
        [rng.uniform(-1, 1, (ROUNDS, 2)), rng.random((ROUNDS, 2)) < (0.5, 0.05), np.zeros(ROUNDS)]
    )
    steps = np.where(contexts[:, 0] > 0.3, 0.5, -0.2) + 0.3 * contexts[:, 2] * (contexts[:, 1] > 0)
    spread = rng.uniform(-1, 1, (ROUNDS, *space.shape)) * 0.1
    labels = space.inner_centre + spread + steps.reshape(ROUNDS, *(1,) * len(space.shape)) * 0.5
    table = csr_array(contexts) if sparse else contexts
    return bb.worlds.Supervised(table, space.project(labels), loss, bb.noise.Uniform(0.1), seed=9)


def run(
    booster: bb.Booster, world: bb.worlds.Supervised, compiled: bool, block: int = 300
) -> tuple[bb.Booster, bb.evaluate.Trace]:
    booster = bb.Booster.from_spec(booster.spec)
    trace = bb.evaluate.Trace(np.empty(ROUNDS), np.empty(ROUNDS), np.empty((ROUNDS, *booster.spec.space.shape)))
    rng = streams.stream(world.seed, "noise")
    for begin in range(0, ROUNDS, block):
        end = min(begin + block, ROUNDS)
        if compiled:
            compiled_loop.run(booster, world, begin, end, drawing(rng), trace)
        else:
            plain_run(booster, world, begin, end, rng, trace)
    return booster, trace


def agree(booster: bb.Booster, world: bb.worlds.Supervised, grown: bool = True) -> None:
    assert compiled_loop.why_not_compiled(booster, world) is None
    (quick, one), (plain, two) = (run(booster, world, compiled) for compiled in (True, False))
    for name in ("predictions", "losses", "paid"):
        scale = 1 + np.abs(getattr(two, name))
        np.testing.assert_allclose(getattr(one, name) / scale, getattr(two, name) / scale, rtol=0, atol=1e-9)
    assert quick.bank is not None
    assert plain.bank is not None
    for name, array in plain.bank.arrays().items():
        np.testing.assert_allclose(quick.bank.arrays()[name], array, rtol=1e-9, atol=1e-9, err_msg=name)
    assert quick.rounds == plain.rounds == ROUNDS
    assert streams.state(quick.streams["directions"]) == streams.state(plain.streams["directions"])
    if grown:
        nodes = [array.max() for name, array in plain.bank.arrays().items() if name.endswith("nodes")]
        assert not nodes or max(nodes) > 1, "a comparison of trees that never grew says little"


@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("gradient", GRADIENTS, ids=str)
def test_every_space_and_gradient(space: bb.spaces.Space, gradient: bb.gradients.Gradient) -> None:
    inside = (SPACES.index(space) + GRADIENTS.index(gradient)) % 2 == 0
    booster = bb.Booster(GROWING, 5, gradient=gradient, space=space, inside=inside, seed=2)
    agree(booster, world_for(space), grown=isinstance(gradient, bb.gradients.Exact))


@pytest.mark.parametrize(
    "learner",
    [
        bb.learners.Tree(),
        bb.learners.Stump(grace=10),
        bb.learners.Tree(max_leaves=5, max_depth=2, bins=3, window=30.0, grace=5, evidence=1.0),
        bb.learners.Scaled(bb.learners.Scaled(GROWING, 0.5), 3.0),
        bb.learners.Mixed((bb.learners.Standardized(bb.learners.SecondOrder(centre="zero")), GROWING), (1, 5)),
        bb.learners.Mixed((bb.learners.Fourier(features=4), GROWING), (2, 3)),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("chain", "copies"),
    [(bb.chains.ConvexHull(gamma=0.5), 6), (bb.chains.Span(step=0.3), 6), (bb.chains.Single(), 1)],
    ids=["hull", "span", "single"],
)
def test_every_learner_and_chain(learner: bb.learners.Learner, chain: bb.chains.Chain, copies: int) -> None:
    agree(bb.Booster(learner, copies, chain, bb.gradients.Exact(), SPACES[0], seed=3), world_for(SPACES[0]))


def test_another_loss() -> None:
    world = world_for(SPACES[0], bb.losses.Huber(0.2))
    agree(bb.Booster(GROWING, 4, gradient=bb.gradients.Exact(), space=SPACES[0]), world)


def test_sparse_contexts_give_the_same_rounds() -> None:
    booster = bb.Booster(GROWING, 4, gradient=bb.gradients.Exact(), space=SPACES[0])
    agree(booster, world_for(SPACES[0], sparse=True))
    dense, sparse = (run(booster, world_for(SPACES[0], sparse=kind), True)[1] for kind in (False, True))
    np.testing.assert_array_equal(dense.predictions, sparse.predictions)


def test_blocks_do_not_matter() -> None:
    booster, world = bb.Booster(GROWING, 4, space=SPACES[0], gradient=bb.gradients.Exact()), world_for(SPACES[0])
    one, two = (run(booster, world, True, block)[1] for block in (1000, 37))
    np.testing.assert_array_equal(one.predictions, two.predictions)


def test_what_does_not_fit_says_why() -> None:
    world = world_for(SPACES[0])
    scaled = bb.Booster(bb.learners.Standardized(GROWING), 2, space=SPACES[0], gradient=GRADIENTS[0])
    reason = compiled_loop.why_not_compiled(scaled, world)
    assert reason == "there is no compiled loop for trees on features that are scaled"
    booster = bb.Booster(GROWING, 2, space=SPACES[2], gradient=GRADIENTS[0])
    assert compiled_loop.why_not_compiled(booster, world) == "labels have shape () and the space has shape (3,)"
    booster = bb.Booster(GROWING, 2, space=SPACES[0], gradient=GRADIENTS[0], features=2)
    assert compiled_loop.why_not_compiled(booster, world) == "the booster has 2 features and the world 5"
