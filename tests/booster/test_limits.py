"""Limits that hold for one round: predictions and actions keep to them, and where they leave one point only the critic learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.gradients import Limits, Remembered

LINE = bb.spaces.Interval(0.0, 20.0)
BOX = bb.spaces.Box((-2.0, 0.0), (8.0, 1.0))


def make(space: bb.spaces.Space = LINE, gradient: bb.gradients.Gradient | None = None, **changes: Any) -> bb.Booster:
    return bb.Booster(
        learner=bb.learners.SecondOrder(),
        copies=3,
        chain=bb.chains.Additive(),
        gradient=Remembered() if gradient is None else gradient,
        space=space,
        **changes,
    )


def trained(booster: bb.Booster, rounds: int = 80) -> bb.Booster:
    rng, centre = np.random.default_rng(0), booster.spec.space.inner_centre
    for x in rng.uniform(-1, 1, (rounds, 2)):
        target = centre * (1 + 0.3 * x[0])
        booster.step(x, lambda queries, z=target: np.square(queries - z).reshape(len(queries), -1).sum(axis=1))  # type: ignore[misc]
    return booster


def within(booster: bb.Booster, seed: int = 0, rounds: int = 300) -> None:
    """Ask in random limits, some of which leave one value: predictions and actions lie within them and within the space."""
    rng, space = np.random.default_rng(seed), booster.spec.space
    own = space.bounds
    assert own is not None
    for _ in range(rounds):
        ends = np.sort(rng.uniform(own[0], own[1], (2, space.size)), axis=0)
        ends[1] = np.where(rng.random(space.size) < 0.2, ends[0], ends[1])
        low, high = ends.reshape(2, *space.shape)
        x = rng.uniform(-1, 1, 2)
        ticket, free = booster.ask(x, space=(low, high)), booster.predict(x)
        assert np.array_equal(ticket.prediction, np.clip(free, low, high))
        assert np.shape(ticket.prediction) == space.shape
        assert ((ticket.queries >= low) & (ticket.queries <= high)).all(), "an action leaves its limits"
        booster.tell(ticket, losses=np.square(ticket.queries).reshape(len(ticket.queries), -1).sum(axis=1))


@dataclass(frozen=True)
class Deaf(Remembered):
    """Broken: does not look at the limits."""

    def begin(self, moment: Any, space: Any, streams: Any, memory: Any) -> Any:
        return super().begin(moment._replace(limits=None), space, streams, memory)


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("curvature", [None, 2.0])
def test_actions_never_leave_the_limits(space: bb.spaces.Space, answers: int, curvature: float | None) -> None:
    within(make(space, Remembered(answers, curvature=curvature)))
    within(make(space, Remembered(answers, bb.explore.Explore(least=3.0), curvature=curvature)), seed=1)


@pytest.mark.parametrize("space", [LINE, BOX])
def test_a_gradient_that_does_not_look_is_caught(space: bb.spaces.Space) -> None:
    with pytest.raises(AssertionError, match="an action leaves its limits"):
        within(make(space, Deaf()))


def test_limits_are_those_of_the_space_and_of_the_round() -> None:
    booster = make(start=8.0)
    for given in (bb.spaces.Interval(12, 30), (12, 30), [12.0, np.float64(30.0)], (np.array(12), 30)):
        ticket = booster.ask([0.1, 0.2], space=given)  # type: ignore[arg-type]
        assert ticket.limits is not None
        assert (ticket.limits.low.tolist(), ticket.limits.high.tolist()) == ([12.0], [20.0])
        assert float(ticket.prediction) == 12.0
        assert isinstance(ticket.prediction, np.float64)
    assert booster.ask([0.1, 0.2]).limits is None
    assert float(booster.ask([0.1, 0.2], space=LINE).prediction) == 8.0
    inner = make(BOX, start=(0.0, 0.5)).ask([0.1, 0.2], space=bb.spaces.Box((1.0, -5.0), (3.0, 0.25)))
    assert inner.prediction.tolist() == [1.0, 0.25]


def test_limits_that_do_not_bind_change_nothing() -> None:
    one, two = make(), make()
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (50, 2)):
        tickets = one.ask(x), two.ask(x, space=(-100.0, 100.0))
        assert tickets[0].queries.tobytes() == tickets[1].queries.tobytes()
        assert tickets[0].density.tobytes() == tickets[1].density.tobytes()
        for booster, ticket in zip((one, two), tickets, strict=True):
            booster.tell(ticket, (ticket.queries - 7.0) ** 2)
    assert one.digest() == two.digest()


BAD: dict[str, tuple[Callable[[], bb.Booster], Any, str]] = {
    "nothing in common": (
        make,
        (21, 30),
        r"space must have points in common with Interval\(low=0.0, high=20.0\), got \(21, 30\)",
    ),
    "an interval that is elsewhere": (
        make,
        bb.spaces.Interval(-5, -1),
        r"points in common with .* got Interval\(low=-5",
    ),
    "the wrong way round": (make, (5, 4), "space must have its lowest values below its highest"),
    "one number": (make, 5.0, "space must be an Interval, a Box, or a pair"),
    "three numbers": (make, (1, 2, 3), "space must be an Interval, a Box, or a pair"),
    "NaN": (make, (1.0, np.nan), "the highest values of space must be finite"),
    "infinity": (make, (-np.inf, 3.0), "the lowest values of space must be finite"),
    "words": (make, ("low", "high"), "the lowest values of space must be numbers"),
    "another shape": (make, ((1, 2), (3, 4)), r"the lowest values of space must have shape \(\), got \(2,\)"),
    "a box for a line": (make, bb.spaces.Box((1.0,), (2.0,)), r"an Interval or a Box of the shape \(\)"),
    "a ball": (make, bb.spaces.Ball(2, 1.0), r"an Interval or a Box of the shape \(\)"),
    "a gradient that asks anywhere": (
        lambda: make(gradient=bb.gradients.OnePoint(0.2)),
        (1, 2),
        "space must be left out: the gradient OnePoint cannot keep to limits that hold for one round, as Remembered can",
    ),
    "a space without bounds": (
        lambda: make(bb.spaces.Ball(2, 1.0)),
        bb.spaces.Ball(2, 0.5),
        "space must be left out where decisions lie in a Ball: limits for one round need an Interval or a Box",
    ),
    "one coordinate that is elsewhere": (
        lambda: make(BOX),
        ((0.0, 2.0), (1.0, 3.0)),
        r"space must have points in common with Box",
    ),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("fresh", [True, False])
def test_bad_limits_are_refused_and_change_nothing(name: str, fresh: bool) -> None:
    begin, given, message = BAD[name]
    booster = begin() if fresh else trained(begin(), 3)
    before = booster.digest()
    with pytest.raises(ValueError, match=message) as error:
        booster.ask([0.1, 0.2], space=given)
    assert "\n" not in str(error.value)
    assert booster.digest() == before
    booster.ask([0.1, 0.2])


# One point.


def nothing_but_the_critic(booster: bb.Booster) -> None:
    """Where limits leave one point, all gradients are exactly zero, and the critic learns."""
    trained(booster)
    space, x = booster.spec.space, np.array([0.3, -0.9])
    point = 0.7 * booster.predict(x) + 0.3 * space.minimize(np.ones(space.shape))
    ticket = booster.ask(x, space=(point, point))
    assert (ticket.queries == point).all()
    assert (ticket.density == 0.0).all()
    answers = np.linspace(5.0, 6.0, len(ticket.queries))
    gradients = booster.spec.gradient.estimate(answers, ticket.probe, space, booster.gradient_memory)
    assert not gradients.any(), "a gradient was made of nothing"
    before, facts = booster.predict(x), booster.gradient_memory["facts"].copy()
    booster.tell(ticket, answers)
    assert booster.predict(x) == pytest.approx(before, rel=1e-12)
    assert (booster.gradient_memory["facts"] != facts).any()


@dataclass(frozen=True)
class Credulous(Remembered):
    """Broken: takes the point that was left for the best one, as the formula does."""

    def estimate(self, answers: Any, probe: Any, space: Any, memory: Any) -> Any:
        return 2 * (probe.anchors - probe.prediction)


@pytest.mark.parametrize("space", [LINE, BOX])
@pytest.mark.parametrize("answers", [1, 2, 3, 6])
@pytest.mark.parametrize("curvature", [None, 2.0])
def test_only_the_critic_learns_from_a_single_point(
    space: bb.spaces.Space, answers: int, curvature: float | None
) -> None:
    nothing_but_the_critic(make(space, Remembered(answers, curvature=curvature), start=space.inner_centre))


def test_a_gradient_that_believes_in_a_single_point_is_caught() -> None:
    with pytest.raises(AssertionError, match="a gradient was made of nothing"):
        nothing_but_the_critic(make(LINE, Credulous(2), start=8.0))


def test_a_coordinate_that_is_left_one_value_learns_nothing_and_the_others_do() -> None:
    booster = trained(make(BOX, Remembered(2, curvature=2.0)))
    ticket = booster.ask([0.1, 0.2], space=((-2.0, 0.9), (8.0, 0.9)))
    assert (ticket.queries[:, 1] == 0.9).all()
    gradients = booster.spec.gradient.estimate(
        np.array([1.0, 3.0]), ticket.probe, booster.spec.space, booster.gradient_memory
    )
    assert not gradients[:, 1].any()
    assert gradients[:, 0].all()


@dataclass(frozen=True)
class Crowded(Remembered):
    """Broken: counts coordinates that were left one value among those that were explored."""

    def _lesson(self, probe: Any, space: Any, memory: Any) -> Any:
        rules, *rest = super()._lesson(probe, space, memory)
        return rules._replace(rank=space.size), *rest


def slope_beside_a_single_value(gradient: Remembered) -> None:
    """Pairs know the slope of a square exactly: along one coordinate also where the other is left one value."""
    booster = make(bb.spaces.Box((0.0, 0.0), (1.0, 1.0)), gradient, start=(0.5, 0.5))
    rng = np.random.default_rng(0)
    for _ in range(30):  # losses that vary, so that there is something to explore for
        booster.forget(booster.ask([0.0, 0.0]))
        ticket = booster.ask([0.0, 0.0])
        booster.spec.gradient.learn(
            np.square(ticket.queries - 0.4).sum(axis=1) + rng.uniform(0, 0.05),
            ticket.probe,
            booster.spec.space,
            booster.gradient_memory,
        )
    found = []
    for _ in range(400):
        ticket = booster.ask([0.0, 0.0], space=((0.0, 0.5), (1.0, 0.5)))
        answers = np.square(ticket.queries - 0.4).sum(axis=1)
        found.append(
            booster.spec.gradient.estimate(answers, ticket.probe, booster.spec.space, booster.gradient_memory)[0]
        )
    mean = np.mean(found, axis=0)
    assert mean[1] == 0.0
    assert mean[0] == pytest.approx(0.2, abs=0.02), "the slope along the other coordinate is another"


@pytest.mark.parametrize("answers", [2, 3, 4, 9])
def test_the_slope_beside_a_single_value_is_that_of_the_loss(answers: int) -> None:
    slope_beside_a_single_value(Remembered(answers, curvature=2.0))


def test_counting_single_values_as_explored_is_caught() -> None:
    with pytest.raises(AssertionError, match="the slope along the other coordinate is another"):
        slope_beside_a_single_value(Crowded(2, curvature=2.0))


# Narrow limits.


@dataclass(frozen=True)
class Gullible(Remembered):
    """Broken: believes a round with narrow limits as much as any other."""

    def _weight(self, rules: Any, memory: Any, point: Any, space: Any, law: Any) -> Any:
        return np.ones_like(law[1])


def free_rounds(gradient: Remembered, limits: Any) -> None:
    """Every second round, by chance, has limits far from the best points: predictions in the others stay good."""
    booster = dataclasses.replace(bb.algorithms.boosted(bb.spaces.Interval(0, 10)).spec, gradient=gradient)
    rng, losses, played = np.random.default_rng(0), [], bb.Booster.from_spec(booster)
    for t, x in enumerate(rng.uniform(-1, 1, (1200, 2))):
        chosen = limits if rng.random() < 0.5 else None
        ticket = played.ask(x, space=chosen)
        best = 5.0 + 2.0 * x[0]
        played.tell(ticket, losses=(ticket.queries - best) ** 2 + rng.normal(0, 1.0, gradient.answers))
        if t >= 600 and chosen is None:
            losses.append((float(ticket.prediction) - best) ** 2)
    assert np.mean(losses) < 0.5, "rounds with limits spoil the others"  # the best constant has 1.33


@pytest.mark.parametrize("limits", [(9.0, 9.0), (8.99, 9.01), (8.9, 9.1), (8.0, 10.0), (4.9, 5.1)])
@pytest.mark.parametrize("answers", [1, 2, 5])
def test_rounds_with_limits_do_not_spoil_the_others(answers: int, limits: Any) -> None:
    free_rounds(Remembered(answers), limits)


def test_believing_narrow_limits_is_caught() -> None:
    with pytest.raises(AssertionError, match="rounds with limits spoil the others"):
        free_rounds(Gullible(1), (8.9, 9.1))


def test_a_round_counts_less_the_narrower_its_limits_are() -> None:
    for gradient in (Remembered(1), Remembered(2, curvature=2.0), Remembered(5)):
        booster = trained(make(LINE, gradient, start=10.0))
        seen = []
        for half in (10.0, 1.0, 0.1, 0.01, 0.0):
            ticket = booster.ask([0.1, 0.2], space=(max(9.0 - half, 0.0), min(9.0 + half, 20.0)))
            assert ticket.probe.weight is not None
            seen.append(float(ticket.probe.weight[0]))
        assert seen == sorted(seen, reverse=True)
        assert seen[-1] == 0.0
        assert seen[-2] < 0.01
        assert booster.ask([0.1, 0.2]).probe.weight is None
        assert booster.ask([0.1, 0.2], space=LINE).probe.weight == 1.0
    whole = trained(make(LINE, Remembered(2, unbiased=True), start=10.0)).ask([0.1, 0.2], space=(9.0, 9.1))
    assert whole.probe.weight is None


# Tickets.


@pytest.mark.parametrize("space", [LINE, BOX])
def test_a_ticket_with_limits_is_saved_and_told_elsewhere(space: bb.spaces.Space, tmp_path: Path) -> None:
    booster = trained(make(space), 5)
    centre, far = space.inner_centre, space.minimize(-np.ones(space.shape))
    ticket = booster.ask([0.1, 0.2], space=(centre, far))
    ticket.save(tmp_path / "ticket.bb")
    booster.save(tmp_path / "model.bb")
    again, elsewhere = bb.Ticket.load(tmp_path / "ticket.bb"), bb.Booster.load(tmp_path / "model.bb")
    assert again.limits is not None
    assert ticket.limits is not None
    assert isinstance(again.limits, Limits)
    assert [end.tolist() for end in again.limits] == [end.tolist() for end in ticket.limits]
    assert np.array_equal(again.prediction, ticket.prediction)
    assert np.array_equal(again.density, ticket.density)
    booster.tell(ticket, rewards=[1.5])
    elsewhere.tell(again, rewards=[1.5])
    assert booster.digest() == elsewhere.digest()
