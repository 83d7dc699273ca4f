"""What the critic of a gradient from memory knows: a level that depends on the prediction, and a curvature that slopes bound.

Every check is shown to fail on a critic that lacks the idea.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from banditboost._compiled import critic
from banditboost._compiled import remembered as kernel
from banditboost._core.checks import Array
from banditboost._core.spec import Memory
from banditboost.explore import Explore
from banditboost.gradients import Remembered
from banditboost.gradients import remembered as module
from banditboost.gradients.base import Moment, Probe
from banditboost.spaces import Box, Interval, Space

SPACE = Interval(-2.0, 2.0)
ROUNDS = 2000
Loss = Callable[[Array, float, np.random.Generator], Array]


def play(gradient: Remembered, loss: Loss, forget: Callable[[Memory], None] = lambda memory: None) -> Memory:
    """The memory after rounds with predictions from -1.5 to 1.5; broken critics forget something before each round is learned."""
    memory, rng, streams = gradient.start(1, SPACE), np.random.default_rng(0), {"directions": np.random.default_rng(1)}
    for _ in range(ROUNDS):
        probe = asked(gradient, memory, rng.uniform(-1.5, 1.5), streams)
        answers = loss(probe.queries, float(probe.anchors[0]), rng)
        forget(memory)
        gradient.learn(answers, probe, SPACE, memory)
    forget(memory)
    return memory


def asked(gradient: Remembered, memory: Memory, point: float, streams: dict[str, np.random.Generator]) -> Probe:
    return gradient.begin(Moment(np.array([point]), np.array(point), None, None), SPACE, streams, memory)


# A level that depends on the prediction.


def spread(point: float) -> float:
    """How far labels lie from predictions: predictions are less certain where they are higher."""
    return 0.1 + 0.3 * (point + 1.5)


def uneven(queries: Array, point: float, rng: np.random.Generator) -> Array:
    return np.asarray(np.square(queries - (point + spread(point) * rng.choice([-1.0, 1.0]))))


def level(gradient: Remembered, memory: Memory, point: float) -> float:
    """What the critic expects at a prediction: minus the surprise at answers of zero, all of which are at the prediction."""
    lesson, law, at = critic.empty_lesson(gradient.lines, 1), np.zeros((4, 1)), np.array([[point]])
    lesson.u[:] = 0.0
    rules, answers = module._rules(gradient, SPACE), np.zeros(gradient.answers)
    kernel.study(rules, module._critic(memory), law, answers, lesson, at, at, at, np.empty((1, 1)))
    return -float(lesson.surprise[0])


def without_coefficients(memory: Memory) -> None:
    memory["levels"][:, -1] = 0.0


def check_level(gradient: Remembered, memory: Memory) -> None:
    for point in (-1.0, 1.0):
        wanted = spread(point) ** 2
        assert level(gradient, memory, point) == pytest.approx(wanted, abs=0.1), "the level is another"
    apart = level(gradient, memory, 1.0) - level(gradient, memory, -1.0)
    assert apart == pytest.approx(spread(1.0) ** 2 - spread(-1.0) ** 2, rel=0.25), "the levels do not differ as they do"


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_the_level_differs_between_predictions_as_the_losses_do(answers: int) -> None:
    gradient = Remembered(answers)
    memory = play(gradient, uneven)
    check_level(gradient, memory)
    without_coefficients(memory)
    with pytest.raises(AssertionError, match="level"):
        check_level(gradient, memory)


def slopes(gradient: Remembered, memory: Memory) -> Array:
    """Steps to the target, which are slopes over one curvature, in fresh rounds that nothing is learned from."""
    rng, streams, found = np.random.default_rng(2), {"directions": np.random.default_rng(3)}, []
    for _ in range(ROUNDS):
        probe = asked(gradient, memory, rng.uniform(-1.5, 1.5), streams)
        answers = uneven(probe.queries, float(probe.anchors[0]), rng)
        found.append(0.5 * gradient.estimate(answers, probe, SPACE, memory)[0])
    return np.array(found)


def test_slopes_vary_less_where_the_level_depends_on_the_prediction() -> None:
    gradient = Remembered(1)
    memory = play(gradient, uneven)
    mean = {name: array.copy() for name, array in memory.items()}
    without_coefficients(mean)
    both = slopes(gradient, memory), slopes(gradient, mean)
    assert np.mean(both[0]) == pytest.approx(0.0, abs=4 * np.std(both[0]) / np.sqrt(ROUNDS))
    assert np.var(both[0]) < 0.8 * np.var(both[1])


# A curvature that is no less than slopes and heights tell.

NEAREST, FURTHEST = 0.2, 0.8
"""How far labels lie from predictions: seldom within reach of an action, so that the regression sees hardly any curvature."""
REACH = Explore(most=0.35)


def absolute(queries: Array, point: float, rng: np.random.Generator) -> Array:
    return np.asarray(np.abs(queries - (point + rng.choice([-1.0, 1.0]) * rng.uniform(NEAREST, FURTHEST))))


def check_curvature(gradient: Remembered, memory: Memory) -> None:
    """A parabola with slope s falls by s²/2h: with slopes of ±1 it would fall below zero where h is less than this."""
    least = (1.0 if gradient.answers == 1 else 0.5) / (2 * 0.5 * (NEAREST + FURTHEST))
    assert memory["bends"][critic.BEND, 0] / SPACE.extents[0] ** 2 > 0.9 * least, "the curvature is too small"


def without_steepness(memory: Memory) -> None:
    memory["bends"][[critic.STEEP, critic.STEEPNESS]] = 0.0


@pytest.mark.parametrize("answers", [1, 2, 30])
def test_slopes_bound_the_curvature_of_the_absolute_loss(answers: int) -> None:
    gradient = Remembered(answers, REACH)
    memory = play(gradient, absolute)
    check_curvature(gradient, memory)
    assert memory["facts"][critic.REGRESSED] < 0.7 * memory["bends"][critic.BEND, 0], "the regression alone tells less"
    with pytest.raises(AssertionError, match="too small"):
        check_curvature(gradient, play(gradient, absolute, without_steepness))


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_slopes_leave_the_curvature_of_the_squared_loss_alone(answers: int) -> None:
    """For the squared loss slopes and heights tell the curvature itself, or half of it."""
    memory = play(Remembered(answers), uneven)
    assert memory["bends"][critic.BEND, 0] / SPACE.extents[0] ** 2 == pytest.approx(2.0, rel=0.15)


# A larger space: a round that is learned there teaches what it would have taught before.

ROWS = ("BENT", "BENDING", "SQUARE", "MEAN", "VARIED", "STEEP", "STEEPS", "STEEPNESS", "TREND", "TRENDS", "EDGE")
Resize = Callable[[Memory, Space, Space], None]


def learned(gradient: Remembered, memory: Memory, space: Space, probe: Probe, answers: Array) -> None:
    """Learn a round of the old space in another one, where its law has the same size."""
    law = np.array(probe.law)
    law[:2] *= SPACE.extents / space.extents
    law[2] *= (SPACE.extents / space.extents) ** 2
    gradient.learn(answers, probe._replace(law=law), space, memory)


def check_resize(gradient: Remembered, resize: Resize) -> None:
    """No slope may be cut in either space, as cuts are at so many spreads over an extent."""
    memory, larger = play(gradient, uneven), Interval(-2.0, 3.0)
    moved = {name: array.copy() for name, array in memory.items()}
    resize(moved, SPACE, larger)
    for name, power in (("STEEP", 2), ("TREND", 1), ("BEND", 2)):
        row, grown = getattr(critic, name), 1.25**power
        assert memory["bends"][row, 0] != 0.0 or (name == "TREND" and gradient.answers > 1)
        np.testing.assert_allclose(moved["bends"][row], grown * memory["bends"][row], err_msg=f"{name} does not grow")
    assert moved["facts"][critic.REGRESSED] == pytest.approx(1.25**2 * memory["facts"][critic.REGRESSED])
    for point in (-1.9, -1.0, 0.4):  # one round from here: what is guessed of the next depends on the extents
        probe = asked(gradient, memory, point, {"directions": np.random.default_rng(4)})
        answers = uneven(probe.queries, point, np.random.default_rng(5))
        here, there = ({name: array.copy() for name, array in kept.items()} for kept in (memory, moved))
        learned(gradient, here, SPACE, probe, answers)
        learned(gradient, there, larger, probe, answers)
        gradient.resize(there, larger, SPACE)
        for name in ROWS:
            row = getattr(critic, name)
            np.testing.assert_allclose(there["bends"][row], here["bends"][row], rtol=1e-9, err_msg=f"{name} differs")
        np.testing.assert_allclose(there["levels"], here["levels"], rtol=1e-9, err_msg="the level differs")


@pytest.mark.parametrize("answers", [1, 2, 5])
def test_a_larger_space_changes_nothing_but_units(answers: int) -> None:
    check_resize(Remembered(answers), Remembered(answers).resize)


@pytest.mark.parametrize("row", ["STEEP", "STEEPS", "STEEPNESS", "TREND", "MEAN", "VARIED"])
def test_a_row_that_is_left_behind_is_noticed(row: str) -> None:
    def broken(memory: Memory, old: Space, new: Space) -> None:
        kept = memory["bends"][getattr(critic, row)].copy()
        Remembered(1).resize(memory, old, new)
        memory["bends"][getattr(critic, row)] = kept

    with pytest.raises(AssertionError, match=r"grow|differs"):
        check_resize(Remembered(1), broken)


def test_every_coordinate_has_its_own_units() -> None:
    old, new = Box((0.0, 0.0), (1.0, 2.0)), Box((0.0, -1.0), (3.0, 9.0))
    memory = Remembered(2).start(1, old)
    memory["bends"][:] = 1.0
    Remembered(2).resize(memory, old, new)
    for name, power in (("STEEP", 2), ("STEEPS", -4), ("STEEPNESS", -2), ("TREND", 1), ("TRENDS", 0), ("REACH", -1)):
        np.testing.assert_allclose(memory["bends"][getattr(critic, name)], np.array([3.0, 5.0]) ** power)
