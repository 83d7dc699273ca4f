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


WRONG = (800, 1050)
"""The rounds from which and up to which predictions are wrong, where the shape of losses says so."""


def worst(found: Array, wanted: Array) -> float:
    return float((np.abs(found - wanted) / (1 + np.abs(wanted))).max())


def losses(shape: str, away: Array, t: int, rng: np.random.Generator) -> Array:
    """Losses of actions that are so far from the label: with noise, or of predictions that get better and better."""
    noise = 0.1 * rng.uniform(-1, 1, len(away))
    if shape == "vanishing":
        return np.asarray(7 * np.square(away).sum(axis=1) + 0.97**t * noise)
    if shape == "wrong":
        return np.asarray(1 + 7 * np.square(away).sum(axis=1) + 0.02 * noise)
    return np.asarray(1 + 7 * (np.abs(away) if shape == "absolute" else np.square(away)).sum(axis=1) + noise)


def compare(
    gradient: Remembered, space: Space, rounds: int, slow: Slow, units: Any = lambda t: 1.0, shape: str = "squared"
) -> float:
    """The largest relative difference of gradients and memory in some rounds; predictions wander, often onto the border."""
    rng, streams = np.random.default_rng(3), {"directions": np.random.default_rng(4)}
    memory, extent, apart, moves = gradient.start(4, space), space.extents, 0.0, np.random.default_rng(5)
    for t in range(rounds):
        middle, size = np.asarray(space.inner_centre), 1.3 * space.inner_radius
        point = space.project(middle + size * rng.uniform(-1, 1, space.shape))
        anchors = space.project(middle + size * rng.uniform(-1, 1, (4, *space.shape)))
        label = space.project(middle + 0.5 * size * rng.uniform(-1, 1, space.shape))
        if shape == "vanishing":
            label = point + 0.97**t * (label - point)
        elif shape == "absolute":  # no kink near any prediction, where it would look like curvature
            label = point + 0.4 * extent.reshape(space.shape) * np.sign(label - point)
        elif shape == "wrong":  # predictions are good, but for a while
            label = point + (4.0 if WRONG[0] <= t < WRONG[1] else 0.1) * (label - middle)
        probe = gradient.begin(Moment(anchors, point, None, None), space, streams, memory)
        away = ((probe.queries - label).reshape(gradient.answers, -1)) / extent
        answers = units(t) * losses(shape, away, t, rng)
        assert probe.law is not None
        law, u = probe.law, probe.law[1] * probe.directions.reshape(gradient.lines, space.size)
        flat = np.asarray(point).reshape(-1)
        slope, _ = slow.read(law, u, answers, flat / extent)
        mine = slow.gradients(slope, flat, anchors.reshape(4, -1), extent)
        told = slow.levels and slow.curvature > 0
        if told:
            mine[0] = 2 * (anchors[0].reshape(-1) - extent * slow.constant(slope, flat / extent, law[1]))
        mine = np.where(law[1] > 0, mine, 0.0)
        apart = max(apart, worst(gradient.estimate(answers, probe, space, memory).reshape(4, -1), mine))
        moved = 0.3 * moves.normal(size=space.size)
        path = np.concatenate([anchors, [point + (moved * extent).reshape(space.shape)]])
        share = slow.followed(law, u, answers, slope, moved)
        late = np.where(law[1] > 0, slow.gradients(slope, flat, anchors.reshape(4, -1), extent, share), 0.0)
        late[0] = mine[0] if told else late[0]
        apart = max(apart, worst(gradient.estimate_at(path, answers, probe, space, memory).reshape(4, -1), late))
        gradient.learn(answers, probe, space, memory)
        slow.remember(law, u, answers, flat / extent)
        kept = slow.arrays()
        assert {name: array.shape for name, array in kept.items()} == {n: a.shape for n, a in memory.items()}
        apart = max(apart, *(worst(memory[name], array) for name, array in kept.items()))
    assert memory["facts"][4] > 0, "the curvature is in use by now"
    return apart


def twin(gradient: Remembered, space: Space, kind: type[Slow] = Slow) -> Slow:
    declared = None if gradient.curvature is None else gradient.curvature * space.extents**2
    made = kind(
        gradient.answers,
        space.size,
        space.rank,
        space.bounds is None,
        gradient.explore.exponent(gradient.answers),
        gradient.unbiased,
        declared,
    )
    made.lasting, made.wary, made.levels = gradient.lasting, gradient.wary, gradient.levels
    made.changes = gradient.changes
    made.centre = np.asarray(space.inner_centre, dtype=float).reshape(-1) / space.extents
    return made


@pytest.mark.long
@pytest.mark.parametrize("answers", range(1, 7))
@pytest.mark.parametrize("name", SPACES)
def test_both_implementations_agree(answers: int, name: str) -> None:
    for more in ({}, {"unbiased": True}, {"curvature": 2.0}):
        gradient = Remembered(answers, **more)
        assert compare(gradient, SPACES[name], 300, twin(gradient, SPACES[name])) < 1e-9


@pytest.mark.parametrize("name", ["1", "2", "ball 2"])
def test_both_implementations_agree_on_a_curvature_that_falls_slowly(name: str) -> None:
    """Every fiftieth loss is a thousand times larger; without the rule the twin goes another way."""
    gradient, space = Remembered(lasting=0.9), SPACES[name]

    def units(t: int) -> float:
        return 1e3 if t % 50 == 49 else 1.0

    assert compare(gradient, space, 400, twin(gradient, space), units) < 1e-9
    assert compare(gradient, space, 400, twin(Remembered(), space), units) > 1e-3


@pytest.mark.parametrize("name", ["1", "2", "ball 2"])
def test_both_implementations_agree_on_errors_of_the_curvature(name: str) -> None:
    """Without the rule the twin goes another way."""
    gradient, space = Remembered(wary=4.0), SPACES[name]
    assert compare(gradient, space, 400, twin(gradient, space)) < 1e-9
    assert compare(gradient, space, 400, twin(Remembered(), space)) > 1e-3


@pytest.mark.parametrize("name", ["1", "2"])
@pytest.mark.parametrize("curvature", [None, 2.0])
def test_both_implementations_agree_on_the_best_constant(name: str, curvature: float | None) -> None:
    """Without the rule the twin goes another way."""
    gradient, space = Remembered(levels=True, curvature=curvature), SPACES[name]
    assert compare(gradient, space, 300, twin(gradient, space)) < 1e-9
    assert compare(gradient, space, 300, twin(Remembered(curvature=curvature), space)) > 1e-3


@pytest.mark.parametrize(("d", "terms"), [(16, 33), (17, 1)])
@pytest.mark.parametrize("answers", [1, 2, 5])
def test_both_implementations_agree_in_many_dimensions(answers: int, d: int, terms: int) -> None:
    """Above sixteen the level is one number."""
    gradient, space = Remembered(answers), Box((0.0,) * d, tuple(float(1 + j % 3) for j in range(d)))
    assert gradient.start(4, space)["levels"].shape == (terms, terms + 2)
    assert compare(gradient, space, 150, twin(gradient, space)) < 1e-9


@pytest.mark.long
@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("name", ["1", "3", "ball 2"])
def test_both_implementations_agree_where_the_scale_changes(answers: int, name: str) -> None:
    gradient = Remembered(answers)
    for later, when in ((1e3, 150), (1e-3, 1100)):  # which grow, and which shrink: that counts after a thousand rounds
        units = lambda t, later=later, when=when: 1.0 if t < when else later  # noqa: E731
        assert compare(gradient, SPACES[name], when + 250, twin(gradient, SPACES[name]), units) < 1e-9


class Certain(Slow):
    """Losses that have grown always come in other units."""

    def _gone_wrong(self, growth: float) -> bool:
        return False


class Credulous(Slow):
    """Losses that have grown are never of other units."""

    def _gone_wrong(self, growth: float) -> bool:
        return True


class Resentful(Slow):
    """Predictions that were wrong once are never right again."""

    def _follow_scale(self, size: float) -> None:
        super()._follow_scale(size)
        self.gone = 0.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("answers", "name", "happens"),
    [(1, "1", True), (1, "3", True), (1, "ball 2", True), (2, "1", True), (2, "ball 2", True), (5, "3", False)],
)
def test_both_implementations_agree_on_why_losses_have_grown(answers: int, name: str, happens: bool) -> None:
    """Predictions become wrong, or units change: twins that always say the one or the other are noticed.

    Five answers are judged by how much they differ within a round, which wrong predictions hardly change here.
    """
    gradient, space = Remembered(answers, changes=True), SPACES[name]

    def units(t: int) -> float:
        return 1.0 if t < 150 else 1e3

    def apart(kind: type[Slow]) -> tuple[float, float]:
        wrong = compare(gradient, space, WRONG[1] - 50, twin(gradient, space, kind), shape="wrong")
        return wrong, compare(gradient, space, 300, twin(gradient, space, kind), units)

    assert max(apart(Slow)) < 1e-9
    assert apart(Credulous)[1] > 1e-3
    assert not happens or apart(Certain)[0] > 1e-3


@pytest.mark.parametrize("answers", [1, 2])
def test_both_implementations_agree_where_predictions_are_right_again(answers: int) -> None:
    gradient, space = Remembered(answers, changes=True), SPACES["ball 2"]
    assert compare(gradient, space, WRONG[1] + 150, twin(gradient, space), shape="wrong") < 1e-9
    assert compare(gradient, space, WRONG[1] + 150, twin(gradient, space, Resentful), shape="wrong") > 1e-3


@pytest.mark.parametrize("shape", ["absolute", "vanishing"])
@pytest.mark.parametrize("answers", [1, 2, 3, 30])
@pytest.mark.parametrize("name", ["1", "3", "ball 2"])
def test_both_implementations_agree_on_slopes_that_bound_curvatures_and_losses_that_vanish(
    answers: int, name: str, shape: str
) -> None:
    gradient = Remembered(answers)
    assert compare(gradient, SPACES[name], 300, twin(gradient, SPACES[name]), shape=shape) < 1e-9


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


@pytest.mark.parametrize(("later", "when"), [(1e3, 150), (1e-3, 1100)])
def test_a_twin_that_does_not_notice_the_scale_is_noticed(
    later: float, when: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_memory, "GROWN", 1e9)
    gradient, space = Remembered(5), SPACES["1"]
    assert compare(gradient, space, when + 250, twin(gradient, space), lambda t: 1.0 if t < when else later) > 1e-3


class Flat(Slow):
    """A level that does not depend on the prediction."""

    def _follow_levels(self, terms: Array, missed: float) -> None:
        super()._follow_levels(np.eye(len(terms))[0], missed)


class Exactly(Slow):
    """A regression of the level that is solved, not swept."""

    def _follow_levels(self, terms: Array, missed: float) -> None:
        super()._follow_levels(terms, missed)
        if self.column.any():
            ridge = slow_memory.RIDGE * (self.unit / self.spread) ** 2 * np.eye(len(terms))
            self.coefficients = np.asarray(np.linalg.solve(self.matrix + ridge, self.column), float)


class Level(Slow):
    """Slopes whose mean is zero."""

    def s(self, law: Array) -> Array:
        return np.asarray(self.edge * law[3])


class Tightening(Slow):
    """A prior of the curvature that counts more as losses vanish."""

    def _use(self, whole: float) -> None:
        self.regressed = 0.0
        super()._use(whole)


class Eager(Slow):
    """A first round whose sums count, though there was nothing to compare it with."""

    def remember(self, law: Array, u: Array, answers: Array, point: Array) -> None:
        if self.rounds == 0:
            squares, products, _ = self.regress(law, u, answers, np.zeros(self.d), point)
            super().remember(law, u, answers, point)
            self.squares, self.products = squares, products / (self.unit if self.unit > 0 else 1.0)
            return
        super().remember(law, u, answers, point)


class Unset(Slow):
    """A declared curvature without a unit, so that the level never learns how it varies."""

    def _follow_curvature(self, squares: Array, products: Array, residual: float, unit: float) -> None:
        super()._follow_curvature(squares, products, residual, unit)
        self.unit = 0.0 if self.declared is not None else self.unit


class Followed(Slow):
    """Late rounds are followed to the end."""

    def followed(self, law: Array, u: Array, answers: Array, slope: Array, moved: Array) -> float:
        return 1.0


class Squares(Slow):
    """Losses are taken for squares."""

    @property
    def power(self) -> float:
        return 2.0


WITHOUT: dict[type[Slow], tuple[Remembered, str]] = {
    Flat: (Remembered(1), "squared"),
    Exactly: (Remembered(1), "squared"),
    Level: (Remembered(1), "squared"),
    Tightening: (Remembered(2), "vanishing"),
    Eager: (Remembered(2), "squared"),
    Unset: (Remembered(1, curvature=2.0), "squared"),
    Followed: (Remembered(2), "absolute"),
    Squares: (Remembered(2), "absolute"),
}


@pytest.mark.parametrize("kind", WITHOUT)
def test_a_twin_without_one_of_the_ideas_is_noticed(kind: type[Slow]) -> None:
    (gradient, shape), space = WITHOUT[kind], SPACES["1"]
    assert compare(gradient, space, 300, twin(gradient, space, kind), shape=shape) > 1e-3


@pytest.mark.parametrize(
    ("name", "answers"), [("FLOOR", 2), ("FLOOR", 30), ("CUT", 1), ("RIDGE", 1), ("GUESS", 1), ("FALLS_KEPT", 1)]
)
def test_a_twin_with_another_number_is_noticed(name: str, answers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    gradient, space = Remembered(answers), SPACES["1"]
    monkeypatch.setattr(slow_memory, name, 0.8 * getattr(slow_memory, name))
    assert compare(gradient, space, 300, twin(gradient, space), shape="absolute") > 1e-3


@pytest.mark.long
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
