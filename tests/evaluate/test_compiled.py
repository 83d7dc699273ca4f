"""The compiled loop is the plain loop: same trajectory on every loss, chain, gradient, space and learner.

Every combination of types is compiled anew, and that is what a cold run of these tests waits for. Parts meet in the loop through
arrays alone (a loss sees points, a chain sees plays and gradients), so every part meets two of every other kind, not all of them.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike

import banditboost as bb
from banditboost._core import streams
from banditboost._core.checks import Array
from banditboost.evaluate import compiled as compiled_loop
from banditboost.evaluate.progressive import _plain as plain_run
from banditboost.evaluate.questions import drawing

LOSSES = [
    bb.losses.Squared(),
    bb.losses.Absolute(),
    bb.losses.Huber(0.2),
    bb.losses.Logistic(),
    bb.losses.Quantile(0.7),
    bb.losses.Sale(),
    bb.losses.Bregman("euclidean"),
    bb.losses.Bregman("entropy"),
]
CHAINS = [
    (bb.chains.ConvexHull(), 7),
    (bb.chains.ConvexHull(gamma=0.5), 5),
    (bb.chains.ConvexHull(gamma=2.0, steps=bb.chains.Harmonic(1.0, 3.0)), 4),
    (bb.chains.ConvexHull(steps=(0.9, 0.2, 1.0)), 3),
    (bb.chains.Single(), 1),
    (bb.chains.Span(), 6),
    (bb.chains.Additive(first=1.0), 4),
    (bb.chains.Span(gamma=2.0, step=0.4, rate=bb.rates.Power(0.05, 0.5)), 3),
]
GRADIENTS = [
    bb.gradients.Exact(),
    bb.gradients.Stochastic(),
    bb.gradients.OnePoint(0.2),
    bb.gradients.OnePoint(0.2, queries=4),
]
FINER = [
    bb.gradients.TwoPoint(0.2),
    bb.gradients.TwoPoint(0.2, queries=2, ball="l1"),
    bb.gradients.Baseline(0.2, window=20),
    bb.gradients.Residual(0.2, queries=2),
    bb.gradients.Surrogate(0.2),
    bb.gradients.Surrogate(0.2, queries=8, limit=0.5),
    bb.gradients.Surrogate(0.2, queries=3, model="linear"),
    bb.gradients.Surrogate(0.2, queries=8, model="isotropic"),
    bb.gradients.Surrogate(0.2, queries=8, model="diagonal"),
    bb.gradients.Fitted(0.2, queries=3),
    bb.gradients.Fitted(0.2, queries=4, model="diagonal", scaled=True),
    bb.gradients.Fitted(0.2, queries=5, scaled=True),
    bb.gradients.Budget(bb.gradients.Fitted(0.2, queries=8), 6, exactly=True),
    bb.gradients.Budget(bb.gradients.OnePoint(0.2, queries=4), 1),
    bb.gradients.Budget(bb.gradients.Surrogate(0.2, queries=8, model="isotropic"), 5),
    bb.gradients.Budget(bb.gradients.Surrogate(0.2, queries=8), 3, exactly=True),
    bb.gradients.Budget(bb.gradients.TwoPoint(0.2, queries=4), 2),
    bb.gradients.Budget(bb.gradients.Baseline(0.2, queries=4), 1, exactly=True),
    bb.gradients.Budget(bb.gradients.Residual(0.2, queries=4), 2),
]
"""Those beside the paper's."""
SPACES = [
    bb.spaces.Interval(-1.0, 1.0),
    bb.spaces.Interval(0.5, 2.0),
    bb.spaces.Box((-1.0, 0.2), (1.0, 1.0)),
    bb.spaces.Ball(3, 1.0),
    bb.spaces.Ball(2, 0.5, (1.0, 1.0)),
]
ROUNDS, LONG = 250, 1000
"""A formula that is wrong shows within a few rounds; numbers that drift apart show in a thousand."""


def world_for(space: bb.spaces.Space, loss: bb.losses.Loss, rounds: int = ROUNDS) -> bb.worlds.Supervised:
    rng = np.random.default_rng(42)
    contexts = rng.uniform(-1, 1, (rounds, 4))
    spread = rng.uniform(-1, 1, (rounds, *space.shape)) * space.inner_radius / max(1, space.size)
    labels = space.inner_centre + spread + 0.1 * contexts[:, :1].reshape(rounds, *(1,) * len(space.shape))
    return bb.worlds.Supervised(contexts, space.project(labels), loss, bb.noise.Uniform(0.1), seed=9)


def agree(booster: bb.Booster, world: bb.worlds.Supervised, learned: str = "weights") -> None:
    """Compare both paths; `learned` is the array of the bank that tells whether anything was learned at all."""
    quick, plain = bb.Booster.from_spec(booster.spec), bb.Booster.from_spec(booster.spec)
    one = bb.evaluate.progressive(quick, world, compiled=True)
    two = bb.evaluate.progressive(plain, world, compiled=False)
    assert one.compiled
    assert not two.compiled
    for name in ("predictions", "losses", "paid"):
        scale = 1 + np.abs(getattr(two, name))
        np.testing.assert_allclose(getattr(one, name) / scale, getattr(two, name) / scale, rtol=0, atol=1e-9)
    assert quick.bank is not None
    assert plain.bank is not None
    np.testing.assert_allclose(quick.bank.arrays()[learned], plain.bank.arrays()[learned], rtol=1e-9, atol=1e-9)
    assert quick.rounds == plain.rounds == len(world)
    # Both have drawn equally from their streams, so that either can go on where the other stopped.
    assert streams.state(quick.streams["directions"]) == streams.state(plain.streams["directions"])
    assert streams.state(quick.streams["coins"]) == streams.state(plain.streams["coins"])
    assert np.abs(quick.bank.arrays()[learned]).max() > 0
    # What is summed up or divided by such sums over all rounds may differ by a little more than a trajectory.
    for name, array in plain.arrays().items():
        np.testing.assert_allclose(quick.arrays()[name], array, rtol=1e-8, atol=1e-8)


@pytest.mark.long
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_loss(loss: bb.losses.Loss) -> None:
    """With values and with gradients, and with chains of one kind."""
    space = SPACES[1] if isinstance(loss, bb.losses.Bregman) else SPACES[0]
    learner = bb.learners.Linear(radius=0.8, rate=bb.rates.Power(0.03, 0.5))
    for (chain, copies), gradient in zip(CHAINS, GRADIENTS, strict=False):
        agree(bb.Booster(learner, copies, chain, gradient, space, seed=1), world_for(space, loss))


@pytest.mark.long
@pytest.mark.parametrize("gradient", GRADIENTS, ids=str)
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_every_chain_and_gradient(gradient: bb.gradients.Gradient, chain: tuple[bb.chains.Chain, int]) -> None:
    learner = bb.learners.Linear(radius=0.8, rate=bb.rates.Power(0.03, 0.5))
    booster = bb.Booster(learner, chain[1], chain[0], gradient, SPACES[0], seed=1)
    agree(booster, world_for(SPACES[0], bb.losses.Squared(), LONG))


def innermost(gradient: bb.gradients.Gradient) -> type[bb.gradients.Gradient]:
    return type(gradient.gradient if isinstance(gradient, bb.gradients.Budget) else gradient)


INNERMOST = list(dict.fromkeys(innermost(gradient) for gradient in FINER))


@pytest.mark.long
@pytest.mark.parametrize("gradient", FINER, ids=str)
def test_every_finer_gradient(gradient: bb.gradients.Gradient) -> None:
    """On lines with one chain, beyond the line with another: chains, spaces and both answers to `inside` come in turn."""
    kind = INNERMOST.index(innermost(gradient))
    chains = (bb.chains.ConvexHull(gamma=0.8), bb.chains.Span(), bb.chains.Additive(first=1.0))
    beyond = SPACES[2:3] if kind % 2 else SPACES[3:]
    for k, space in [(kind, space) for space in SPACES[:2]] + [(kind + 1, space) for space in beyond]:
        learner = bb.learners.Linear(radius=3.0, rate=bb.rates.Power(0.003, 0.5), intercept=space.size == 1)
        booster = bb.Booster(learner, 5, chains[k % 3], gradient, space, inside=k % 4 < 2, seed=2)
        agree(booster, world_for(space, bb.losses.Squared()))


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES, ids=str)
@pytest.mark.parametrize("inside", [True, False])
def test_every_space(space: bb.spaces.Space, inside: bool) -> None:
    learner = bb.learners.Linear(radius=3.0, rate=bb.rates.Power(0.1, 0.5), intercept=False)
    for gradient, loss in (
        (bb.gradients.Exact(), bb.losses.Absolute()),
        (bb.gradients.OnePoint(0.1, queries=2), bb.losses.Squared()),
    ):
        booster = bb.Booster(learner, 5, bb.chains.ConvexHull(gamma=0.8), gradient, space, inside=inside, seed=2)
        agree(booster, world_for(space, loss, LONG if space is SPACES[3] else ROUNDS))


@pytest.mark.parametrize(
    "learner",
    [
        bb.learners.Linear(radius=None, rate=bb.rates.Constant(1e-3)),
        bb.learners.Scaled(bb.learners.Scaled(bb.learners.Linear(rate=bb.rates.Theory(2.0, 50.0)), 0.5), 3.0),
    ],
    ids=str,
)
def test_every_learner(learner: bb.learners.Learner) -> None:
    booster = bb.Booster(learner, 6, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2), seed=3)
    agree(booster, world_for(SPACES[0], bb.losses.Squared()))


@pytest.mark.parametrize("noise", [bb.noise.Silent(), bb.noise.Rademacher(0.3), bb.noise.TruncatedGaussian()], ids=str)
@pytest.mark.parametrize("gradient", GRADIENTS, ids=str)
def test_every_noise(noise: bb.noise.Noise, gradient: bb.gradients.Gradient) -> None:
    world = world_for(SPACES[0], bb.losses.Squared())
    world.noise = noise
    agree(bb.Booster(copies=4, gradient=gradient, space=SPACES[0], seed=4), world)


def test_stopping_between_the_two_paths_changes_nothing() -> None:
    world = world_for(SPACES[0], bb.losses.Squared(), 300)
    whole = bb.Booster(copies=5, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    bb.evaluate.progressive(whole, world)
    parts = bb.Booster.from_spec(whole.spec)
    rng = streams.stream(world.seed, "noise")
    trace = bb.evaluate.Trace(np.empty(300), np.empty(300), np.empty(300))
    compiled_loop.run(parts, world, 0, 100, drawing(rng), trace)
    plain_run(parts, world, 100, 200, rng, trace)
    compiled_loop.run(parts, world, 200, 300, drawing(rng), trace)
    assert whole.bank is not None
    assert parts.bank is not None
    np.testing.assert_allclose(parts.bank.arrays()["weights"], whole.bank.arrays()["weights"], rtol=1e-9)


class OwnLoss(bb.losses.Squared):
    """A user's loss whose value is its own: what the form of its base says is no longer true."""

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        return super().value(points, label, ndim)


def test_foreign_parts_take_the_plain_path_and_say_why() -> None:
    world = world_for(SPACES[0], OwnLoss(), 20)
    booster = bb.Booster(copies=3, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    assert not bb.evaluate.progressive(booster, world).compiled
    with pytest.raises(ValueError, match="there is no compiled loop for the loss OwnLoss"):
        bb.evaluate.progressive(booster, world, compiled=True)


def test_progress_is_reported_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    booster = bb.Booster(copies=2, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
    bb.evaluate.progressive(
        booster, world_for(SPACES[0], bb.losses.Squared(), 10_000), progress=lambda *a: seen.append(a)
    )
    assert seen[-1] == (10_000, 10_000)
    assert len(seen) == 3


def test_overflow_is_refused_on_both_paths() -> None:
    world = world_for(SPACES[0], bb.losses.Squared(), 100)
    labels = world.labels().copy()
    labels[50] = 1e49
    wild = bb.worlds.Supervised(world.contexts(), labels, noise=world.noise)
    after = []
    for compiled in (True, False):
        booster = bb.Booster(copies=5, space=SPACES[0], gradient=bb.gradients.OnePoint(0.2))
        with pytest.raises(ValueError, match="losses must lie between"):
            bb.evaluate.progressive(booster, wild, compiled=compiled)
        assert booster.rounds == 50
        after.append(booster.arrays()["weights"])
    np.testing.assert_allclose(after[0], after[1], rtol=1e-9)
