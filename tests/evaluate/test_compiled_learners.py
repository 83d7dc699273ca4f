"""Every family of learners, inside every wrapper: the compiled loop is the plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost.evaluate import compiled as compiled_loop
from banditboost.learners import Coin, Fourier, Learner, Linear, Mixed, Scaled, ScaleFree, SecondOrder, Standardized
from banditboost.learners.wrapped import least_squares
from tests.evaluate.test_compiled import LONG, SPACES, world_for

pytestmark = pytest.mark.long

ADDING = SecondOrder(3.0, centre="zero", shrinks=True)
FAMILIES: tuple[Learner, ...] = (
    SecondOrder(),
    SecondOrder(0.3, 1.0, forward=False, intercept=False),
    ADDING,
    ScaleFree(),
    ScaleFree(2.0, radius=1.5, intercept=False),
    Coin(),
    Coin(1.0, intercept=False),
)
WRAPPED: tuple[Learner, ...] = (
    Fourier(features=9),
    Fourier(ADDING, features=6, coordinates=2, shared=False, raw=False),
    Fourier(ScaleFree(), features=6, bandwidth=0.5, shared=False),
    Fourier(Coin(), features=6, coordinates=3),
    Standardized(SecondOrder()),
    Standardized(Coin(), spread="largest"),
    Standardized(Standardized(ScaleFree()), squash=True),
    Standardized(Fourier(features=5, shared=False), squash=True),
    Mixed((SecondOrder(), Fourier(shared=False, raw=False)), (1, 3)),
    Mixed((Standardized(SecondOrder()), Fourier(ADDING, features=5, shared=False)), (1, 3)),
    Standardized(
        Mixed((ADDING, Fourier(ADDING, features=8, coordinates=2, shared=False, raw=False)), (1, 3)), squash=True
    ),
    Scaled(Standardized(SecondOrder()), 0.5),
)
CASES = [(bb.gradients.OnePoint(0.2, queries=4), SPACES[0]), (bb.gradients.Exact(), SPACES[3])]
"""Values on the line and gradients beyond it: what else a round may be does not depend on who plays it (`test_compiled.py`)."""


def agree(booster: bb.Booster, world: bb.worlds.Supervised) -> None:
    quick, plain = bb.Booster.from_spec(booster.spec), bb.Booster.from_spec(booster.spec)
    one = bb.evaluate.progressive(quick, world, compiled=True)
    two = bb.evaluate.progressive(plain, world, compiled=False)
    for name in ("predictions", "losses", "paid"):
        scale = 1 + np.abs(getattr(two, name))
        np.testing.assert_allclose(getattr(one, name) / scale, getattr(two, name) / scale, rtol=0, atol=1e-9)
    assert quick.bank is not None
    assert plain.bank is not None
    ours, theirs = quick.bank.arrays(), plain.bank.arrays()
    assert ours.keys() == theirs.keys()
    for name, array in ours.items():
        np.testing.assert_allclose(array, theirs[name], rtol=1e-8, atol=1e-8, err_msg=name)
    assert any(np.abs(array).max() > 0 for name, array in ours.items() if name.endswith("weights"))
    assert quick.rounds == plain.rounds == len(world)


@pytest.mark.parametrize("learner", FAMILIES + WRAPPED, ids=str)
@pytest.mark.parametrize(("gradient", "space"), CASES, ids=str)
def test_every_learner(learner: Learner, gradient: bb.gradients.Gradient, space: bb.spaces.Space) -> None:
    agree(bb.Booster(learner, 4, gradient=gradient, space=space, seed=1), world_for(space, bb.losses.Squared(), LONG))


@pytest.mark.parametrize("learner", [*FAMILIES[::3], WRAPPED[-2]], ids=str)
def test_one_copy_alone(learner: Learner) -> None:
    booster = bb.algorithms.ogd(SPACES[0], learner=learner, inside=isinstance(learner, SecondOrder))
    agree(booster, world_for(SPACES[0], bb.losses.Squared()))


SPARSE = [
    SecondOrder(),
    WRAPPED[-2],
    Scaled(Coin(1.0), 0.5),
    Coin(intercept=False),
    *FAMILIES[3:6],
    ScaleFree(intercept=False),
]


@pytest.mark.parametrize("learner", SPARSE, ids=str)
def test_sparse_contexts_give_the_same_rounds(learner: Learner) -> None:
    rng, space = np.random.default_rng(4), SPACES[3]
    X = rng.normal(size=(500, 12)) * (rng.random((500, 12)) < 0.2) * 10.0 ** rng.integers(-2, 3, 12)
    y = space.project(rng.normal(size=(500, *space.shape)) * 0.1 + X[:, :1].reshape(500, *(1,) * len(space.shape)))
    for contexts in (X, csr_array(X)):
        agree(bb.Booster(learner, 3, gradient=bb.gradients.Exact(), space=space), bb.worlds.Supervised(contexts, y))


@pytest.mark.parametrize("learner", FAMILIES + WRAPPED[:-1], ids=str)
def test_contexts_without_columns_and_without_numbers(learner: Learner) -> None:
    world = world_for(SPACES[3], bb.losses.Squared(), 30)
    for columns in (0, 3):
        nothing = bb.worlds.Supervised(np.zeros((30, columns)), world.labels())
        booster = bb.Booster(learner, 3, gradient=bb.gradients.Exact(), space=SPACES[3])
        traces = [
            bb.evaluate.progressive(bb.Booster.from_spec(booster.spec), nothing, compiled=compiled).predictions
            for compiled in (True, False)
        ]
        np.testing.assert_allclose(traces[0], traces[1], rtol=1e-9, atol=1e-12)


def test_blocks_are_short_where_features_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    world, learner = world_for(SPACES[0], bb.losses.Squared(), 100), Standardized(Fourier(features=10, shared=False))
    whole, parts = (bb.Booster(learner, 3, gradient=bb.gradients.OnePoint(0.2), space=SPACES[0]) for _ in range(2))
    expected = bb.evaluate.progressive(whole, world, compiled=True).predictions
    monkeypatch.setattr(compiled_loop, "NUMBERS", 300)
    seen: list[int] = []
    trace = bb.evaluate.progressive(parts, world, compiled=True, progress=lambda done, of: seen.append(done))
    assert seen[0] == 300 // (4 + 3 * 10 + 16)
    np.testing.assert_allclose(trace.predictions, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "learner",
    [
        Fourier(Linear(), features=5),
        Standardized(Scaled(Linear())),
        Mixed((Coin(), ScaleFree()), (1, 1)),
        Mixed((Mixed((SecondOrder(), Coin()), (1, 1)), SecondOrder()), (2, 1)),
    ],
    ids=str,
)
def test_wrappers_and_mixtures_combine_freely(learner: Learner) -> None:
    world = world_for(SPACES[0], bb.losses.Squared(), 100)
    boosters = [bb.Booster(learner, 3, gradient=bb.gradients.Exact(), space=SPACES[0]) for _ in range(2)]
    traces = [bb.evaluate.progressive(b, world, compiled=c) for b, c in zip(boosters, (True, False), strict=True)]
    np.testing.assert_allclose(traces[0].predictions, traces[1].predictions, rtol=1e-9, atol=1e-12)
    for name, array in boosters[0].arrays().items():
        np.testing.assert_allclose(array, boosters[1].arrays()[name], rtol=1e-9, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (Fourier(Linear(), features=5, shared=False), "the learner Linear with features of each copy's own"),
        (Standardized(bb.learners.Tree()), "trees on features that are scaled"),
        (Mixed((Linear(), bb.learners.Wrapped(least_squares)), (1, 1)), "the learner Wrapped"),
    ],
    ids=["features of a copy's own", "scaled trees", "foreign models"],
)
def test_others_take_the_plain_path_and_say_so(learner: Learner, said: str) -> None:
    booster = bb.Booster(learner, 2, gradient=bb.gradients.Exact(), space=SPACES[0])
    world = world_for(SPACES[0], bb.losses.Squared(), 10)
    assert not bb.evaluate.progressive(booster, world).compiled
    with pytest.raises(ValueError, match=f"there is no compiled loop for {said}"):
        bb.evaluate.progressive(booster, world, compiled=True)
