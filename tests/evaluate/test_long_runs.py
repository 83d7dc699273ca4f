"""Long runs: what compiled loops keep track of does not drift, and their blocks are played whole or not at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._compiled import round as compiled_round
from banditboost.evaluate import progressive
from tests.checks.discovery import state


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_stay_in_their_ball_for_ten_million_rounds(sparse: bool) -> None:
    X = np.random.default_rng(0).normal(size=(10**5, 2))
    contexts = csr_array(X) if sparse else X
    world = bb.worlds.Supervised(contexts, np.clip(3 * X[:, 0], -1, 1), noise=bb.noise.Uniform(0.1))
    gradient, space = bb.gradients.OnePoint(0.01), bb.spaces.Interval(-1.0, 1.0)
    booster = bb.Booster(
        bb.learners.Linear(radius=0.7, rate=bb.rates.Constant(0.01)), 2, gradient=gradient, space=space
    )
    largest = []
    for _ in range(100):
        trace = progressive(booster, world, compiled=True)
        largest.append(np.sqrt(np.square(booster.arrays()["weights"]).sum(axis=-1)).max())
        assert np.isfinite(trace.losses).all()
    assert booster.rounds == 10**7
    assert 0.7 * (1 - 1e-6) < max(largest) <= 0.7 * (1 + 1e-12)  # the ball was reached, and never left


def test_small_losses_play_the_same_on_both_paths() -> None:
    # Their squares are no numbers: the compiled loop hands such blocks to the plain one.
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    for learner in (bb.learners.Coin(), bb.learners.ScaleFree(), bb.learners.Linear()):
        for size in (1e-300, 1e-160):
            world = bb.worlds.Supervised(X, size * X[:, 0], loss=bb.losses.Absolute())
            space = bb.spaces.Interval(-size, size)
            traces = []
            for compiled in (True, False):
                booster = bb.Booster(learner, 3, gradient=bb.gradients.OnePoint(0.2 * size), space=space)
                traces.append(progressive(booster, world, compiled=compiled))
                assert all(np.isfinite(array).all() for array in booster.arrays().values())
            np.testing.assert_allclose(traces[0].predictions, traces[1].predictions, rtol=1e-9)


def test_an_interrupted_block_is_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).uniform(-1, 1, (6000, 2))
    world = bb.worlds.Supervised(X, X[:, 0], noise=bb.noise.Uniform(0.1))
    made = [
        bb.Booster(copies=3, gradient=bb.gradients.OnePoint(0.2), space=bb.spaces.Interval(-1, 1)) for _ in range(2)
    ]
    play, calls = compiled_round.play_rounds, []

    def interrupted(*arguments: Any) -> None:
        play(*arguments)
        calls.append(0)
        if len(calls) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(compiled_round, "play_rounds", interrupted)
    with pytest.raises(KeyboardInterrupt):
        progressive(made[0], world, compiled=True)
    monkeypatch.undo()
    progressive(made[1], bb.worlds.Supervised(X[:4096], X[:4096, 0], noise=bb.noise.Uniform(0.1)), compiled=True)
    assert made[0].rounds == 4096
    assert state(made[0]) == state(made[1])
