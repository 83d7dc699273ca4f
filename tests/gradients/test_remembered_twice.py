"""A gradient from memory, written twice: the kernel and a slow implementation in whole arrays remember and say the same.

And both paths of the library, plain and compiled, play the same rounds with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.gradients import Remembered
from banditboost.gradients.base import Moment
from banditboost.spaces import Ball, Box, Interval, Simplex, Space
from tests.evaluate.test_compiled import agree
from tests.gradients import slow_memory
from tests.gradients.slow_memory import Slow

SPACES: dict[str, Space] = {
    "1": Interval(-1.0, 3.0),
    "2": Box((0.0, -1.0), (10.0, 1.0)),
    "3": Box((0.0, 0.0, 2.0), (10.0, 4.0, 3.0)),
    "ball 1": Ball(1, 2.0),
    "ball 2": Ball(2, 0.5, (1.0, 1.0)),
    "ball 3": Ball(3, 1.0),
    "simplex": Simplex(3),
}


def worst(found: Array, wanted: Array) -> float:
    return float((np.abs(found - wanted) / (1 + np.abs(wanted))).max())


def compare(gradient: Remembered, space: Space, rounds: int, slow: Slow, units: Any = lambda t: 1.0) -> float:
    """The largest relative difference of gradients and memory in some rounds; predictions wander, often onto the border."""
    rng, streams = np.random.default_rng(3), {"directions": np.random.default_rng(4)}
    memory, extent, apart = gradient.start(4, space), space.extents, 0.0
    for t in range(rounds):
        middle, size = np.asarray(space.inner_centre), 1.3 * space.inner_radius
        point = space.project(middle + size * rng.uniform(-1, 1, space.shape))
        anchors = space.project(middle + size * rng.uniform(-1, 1, (4, *space.shape)))
        label = space.project(middle + 0.5 * size * rng.uniform(-1, 1, space.shape))
        probe = gradient.begin(Moment(anchors, point, None, None), space, streams, memory)
        away = ((probe.queries - label).reshape(gradient.answers, -1)) / extent
        answers = units(t) * (1 + 7 * np.square(away).sum(axis=1) + 0.1 * rng.uniform(-1, 1, gradient.answers))
        assert probe.law is not None
        law, u = probe.law, probe.law[1] * probe.directions.reshape(gradient.lines, space.size)
        slope, _ = slow.read(law, u, answers)
        flat = np.asarray(point).reshape(-1)
        mine = np.where(law[1] > 0, slow.gradients(slope, flat, anchors.reshape(4, -1), extent), 0.0)
        apart = max(apart, worst(gradient.estimate(answers, probe, space, memory).reshape(4, -1), mine))
        gradient.learn(answers, probe, space, memory)
        slow.remember(law, u, answers, flat / extent)
        for name, array in zip(("facts", "bends"), slow.arrays(), strict=True):
            apart = max(apart, worst(memory[name][: len(array)], array))  # what only decides the law comes after these
    assert memory["facts"][4] > 0, "the curvature is in use by now"
    return apart


def twin(gradient: Remembered, space: Space) -> Slow:
    declared = None if gradient.curvature is None else gradient.curvature * space.extents**2
    return Slow(
        gradient.answers,
        space.size,
        space.rank,
        space.bounds is None,
        gradient.explore.exponent(gradient.answers),
        gradient.unbiased,
        declared,
    )


@pytest.mark.parametrize("answers", range(1, 7))
@pytest.mark.parametrize("name", SPACES)
def test_both_implementations_agree(answers: int, name: str) -> None:
    for more in ({}, {"unbiased": True}, {"curvature": 2.0}):
        gradient = Remembered(answers, **more)
        assert compare(gradient, SPACES[name], 300, twin(gradient, SPACES[name])) < 1e-9


@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("name", ["1", "3", "ball 2"])
def test_both_implementations_agree_where_the_scale_changes(answers: int, name: str) -> None:
    gradient = Remembered(answers)
    units = lambda t: 1.0 if t < 150 else 1e3  # noqa: E731
    assert compare(gradient, SPACES[name], 400, twin(gradient, SPACES[name]), units) < 1e-9


@pytest.mark.parametrize("wrong", ["clip", "rim", "rank", "unbiased"])
def test_a_wrong_twin_is_noticed(wrong: str) -> None:
    gradient, space = Remembered(3), SPACES["3"]
    slow = twin(gradient, space)
    if wrong == "clip":
        gradient, space = Remembered(1), SPACES["1"]
        slow = twin(gradient, space)
        slow.unbiased = True
        assert compare(gradient, space, 300, slow, lambda t: 1e3 if t % 100 == 99 else 1.0) > 1e-3
        return
    setattr(slow, wrong, {"rim": 2.1, "rank": 2, "unbiased": True}[wrong])
    assert compare(gradient, space, 300, slow) > 1e-3


def test_a_twin_that_does_not_notice_the_scale_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_memory, "GROWN", 1e9)
    gradient, space = Remembered(5), SPACES["1"]
    assert compare(gradient, space, 400, twin(gradient, space), lambda t: 1.0 if t < 150 else 1e3) > 1e-3


@pytest.mark.parametrize("space", [SPACES["1"], SPACES["3"], SPACES["ball 3"], Simplex(4)], ids=str)
@pytest.mark.parametrize("answers", [1, 2, 3, 5])
def test_compiled_is_plain(answers: int, space: Space) -> None:
    """Linear copies added up: the learner's own compiled form is tested elsewhere."""
    rng = np.random.default_rng(42)
    contexts = rng.uniform(-1, 1, (300, 4))
    spread = space.inner_radius * rng.uniform(-1, 1, (300, *space.shape))
    labels = space.project(space.inner_centre + spread + 0.1 * contexts[:, :1].reshape(300, *(1,) * len(space.shape)))
    world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.05), seed=9)
    learner = bb.learners.Linear(radius=3.0, rate=bb.rates.Power(0.03, 0.5))
    for curvature in (None, 2.0):
        gradient = Remembered(answers, curvature=curvature)
        agree(bb.Booster(learner, 5, bb.chains.Additive(first=1.0), gradient, space, seed=2), world)
