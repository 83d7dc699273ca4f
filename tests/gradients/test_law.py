"""The law that actions are drawn from: its density, its mean and its variance by quadrature, also at a border and in limits."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._compiled import critic
from banditboost.explore import Explore
from banditboost.gradients import Remembered, remembered

module: Any = remembered
"""Some of its names are replaced in tests of broken variants."""

LINE, BOX = bb.spaces.Interval(0.0, 20.0), bb.spaces.Box((-2.0, 0.0), (8.0, 1.0))
FINE = {1: 40_000, 2: 500}
"""Points of a quadrature along each coordinate."""

CASES: dict[str, tuple[bb.spaces.Space, Any, Any]] = {
    "a line, in the open": (LINE, 10.0, None),
    "a line, near a border": (LINE, 0.3, None),
    "a line, at its end": (LINE, 20.0, None),
    "a line, limits on both sides": (LINE, 9.0, (8.5, 10.0)),
    "a line, a floor above the prediction": (LINE, 5.0, (12.0, 20.0)),
    "a box, in the open": (BOX, (3.0, 0.5), None),
    "a box, near a corner": (BOX, (-1.9, 0.98), None),
    "a box, at a corner": (BOX, (8.0, 0.0), None),
    "a box, limits": (BOX, (3.0, 0.5), ((4.0, 0.2), (5.0, 0.45))),
}
SETTINGS = [
    Remembered(1),
    Remembered(2, curvature=2.0),
    Remembered(3),
    Remembered(1, Explore(rim=1.0, least=0.5), curvature=2.0),
    Remembered(5, Explore(most=0.8)),
]


def asked(name: str, gradient: Remembered) -> tuple[bb.Booster, bb.Ticket]:
    """A ticket whose prediction is the start, after some rounds that have taught the critic."""
    space, start, limits = CASES[name]
    booster = bb.Booster(
        learner=bb.learners.Linear(rate=bb.rates.Constant(1e-12)),
        copies=2,
        chain=bb.chains.Additive(),
        gradient=gradient,
        space=space,
        start=start,
    )
    rng = np.random.default_rng(0)
    for _ in range(7):
        booster.step([0.0], lambda q: np.square(q - start).reshape(len(q), -1).sum(axis=1) + rng.uniform(0, 1, len(q)))
    return booster, booster.ask([0.0], space=limits)


def law_of(booster: bb.Booster, ticket: bb.Ticket) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and half-width of the actions in units of the decision, and the law's variances as the kernel has them."""
    space, gradient, law = booster.spec.space, booster.spec.gradient, ticket.probe.law
    assert law is not None
    assert isinstance(gradient, Remembered)
    moment = getattr(critic.moment, "py_func", critic.moment)
    rules = module._rules(gradient, space)
    variance = np.array([moment(rules, width) for width in law[1]]) * space.extents**2
    return np.ravel(ticket.prediction) + space.extents * law[0], space.extents * law[1], variance


def density(booster: bb.Booster, ticket: bb.Ticket, points: np.ndarray) -> np.ndarray:
    """The density that a ticket would report for actions, shape (n, d); zero beyond the law."""
    gradient, (mean, width, _) = booster.spec.gradient, law_of(booster, ticket)
    assert isinstance(gradient, Remembered)
    directions = (points - mean) / width
    inside = (np.abs(directions) <= 1.0).all(axis=1)
    rules = module._rules(gradient, booster.spec.space)
    found = module.density_in(rules, np.asarray(ticket.probe.law), np.clip(directions, -1.0, 1.0))
    return np.where(inside, found, 0.0)


def quadrature(booster: bb.Booster, ticket: bb.Ticket) -> tuple[float, np.ndarray, np.ndarray]:
    """The mass, the mean and the variance of the reported density over all that a round's actions may be, by midpoints."""
    space = booster.spec.space
    bounds = space.bounds if ticket.limits is None else ticket.limits
    assert bounds is not None
    low, high = bounds
    mean, width, _ = law_of(booster, ticket)
    begin, end = np.maximum(low, mean - width), np.minimum(high, mean + width)  # it jumps to zero there
    fine = FINE[space.size]
    sides = [a + (b - a) * (np.arange(fine) + 0.5) / fine for a, b in zip(begin, end, strict=True)]
    points = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, space.size)
    mass = density(booster, ticket, points) * np.prod((end - begin) / fine)
    total = float(mass.sum())
    middle = mass @ points / total
    return total, middle, mass @ np.square(points - middle) / total


def check_density(name: str, gradient: Remembered) -> None:
    booster, ticket = asked(name, gradient)
    total, mean, variance = quadrature(booster, ticket)
    wanted = law_of(booster, ticket)
    assert total == pytest.approx(1.0, abs=1e-4), "the density does not integrate to one"
    np.testing.assert_allclose(mean, wanted[0], atol=1e-4 * wanted[1].min(), err_msg="the mean is another")
    np.testing.assert_allclose(variance, wanted[2], rtol=1e-3, err_msg="the variance is another")
    own = density(booster, ticket, ticket.queries.reshape(len(ticket.queries), -1))
    np.testing.assert_allclose(ticket.density, own, rtol=1e-6, err_msg="a query has another density")


def check_draws(name: str, gradient: Remembered) -> None:
    """What is drawn has the law's mean, variance and density: each coordinate at equally spaced uniform numbers."""
    booster, ticket = asked(name, gradient)
    space, law, explore = booster.spec.space, np.asarray(ticket.probe.law), gradient.explore
    uniforms = (np.arange(FINE[1]) + 0.5) / FINE[1]
    directions = explore.directions(gradient.answers, space, np.tile(uniforms[:, np.newaxis], space.size))
    many = dataclasses.replace(gradient, answers=1)
    moves = np.array([module.moves_of(law, row[np.newaxis], many.answers)[0] for row in directions[:: FINE[1] // 4000]])
    points = np.ravel(ticket.prediction) + space.extents * moves
    mean, _, variance = law_of(booster, ticket)
    np.testing.assert_allclose(
        points.mean(axis=0), mean, atol=1e-3 * np.sqrt(variance.max()), err_msg="the mean is another"
    )
    np.testing.assert_allclose(points.var(axis=0), variance, rtol=0.01, err_msg="the variance is another")
    if space.size == 1:  # between two points lies as much of the law as between their uniform numbers
        middles = 0.5 * (points[1:] + points[:-1])
        share = density(booster, ticket, middles) * np.diff(points[:, 0])
        wanted = np.diff(uniforms[:: FINE[1] // 4000])
        kept = np.abs(directions[:: FINE[1] // 4000][1:, 0]) > 0.4  # steep in the middle, where it is thin
        np.testing.assert_allclose(share[kept], wanted[kept], rtol=0.01, err_msg="drawn from another density")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gradient", SETTINGS, ids=str)
def test_the_density_is_one_and_has_the_moments_that_the_kernel_assumes(name: str, gradient: Remembered) -> None:
    check_density(name, gradient)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("gradient", SETTINGS, ids=str)
def test_what_is_drawn_has_the_law(name: str, gradient: Remembered) -> None:
    check_draws(name, gradient)


@pytest.mark.parametrize("name", CASES)
def test_the_law_lies_within_the_space_and_the_limits(name: str) -> None:
    for gradient in SETTINGS:
        booster, ticket = asked(name, gradient)
        bounds = booster.spec.space.bounds if ticket.limits is None else ticket.limits
        assert bounds is not None
        mean, width, _ = law_of(booster, ticket)
        assert (width > 0).all()
        assert (mean - width >= bounds[0] - 1e-9).all()
        assert (mean + width <= bounds[1] + 1e-9).all()


def test_variances_are_the_share_of_the_width_that_the_rim_says() -> None:
    for gradient in SETTINGS:
        booster, ticket = asked("a box, limits", gradient)
        _, width, variance = law_of(booster, ticket)
        rim = gradient.explore.exponent(gradient.answers)
        np.testing.assert_allclose(variance, rim / (rim + 2) * width**2, rtol=1e-12)


# Broken variants.


def test_a_density_without_units_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module.density_in

    def scaled(rules: Any, law: Any, directions: Any) -> Any:
        return right(rules._replace(extent=np.ones_like(rules.extent)), law, directions)

    monkeypatch.setattr(module, "density_in", scaled)
    for name in ("a line, in the open", "a box, limits"):
        with pytest.raises(AssertionError, match="does not integrate to one"):
            check_density(name, SETTINGS[0])


def test_a_density_of_another_law_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    right = module.density_in
    monkeypatch.setattr(module, "density_in", lambda rules, *rest: right(rules._replace(rim=1.0), *rest))
    with pytest.raises(AssertionError, match="the variance is another"):
        check_density("a line, near a border", SETTINGS[0])
    with pytest.raises(AssertionError, match="drawn from another density"):
        check_draws("a line, near a border", SETTINGS[0])


def test_actions_that_are_projected_on_the_limits_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # As where the law stays about the prediction, and what leaves the limits is pushed back: atoms at the border.
    def pushed(law: Any, directions: Any, answers: int) -> Any:
        return np.clip(law[1] * directions, law[0] - law[1], law[0] + law[1])[:answers]

    monkeypatch.setattr(module, "moves_of", pushed)
    for name in ("a line, at its end", "a box, at a corner"):
        with pytest.raises(AssertionError, match="the mean is another"):
            check_draws(name, SETTINGS[0])


def test_uniform_draws_where_the_rim_is_preferred_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Explore, "directions", lambda self, answers, space, uniforms: 2.0 * uniforms - 1.0)
    with pytest.raises(AssertionError, match="the variance is another"):
        check_draws("a line, in the open", SETTINGS[0])


def test_a_variance_that_the_law_does_not_have_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(critic, "moment", lambda rules, width: width * width / 3.0)
    for check in (check_density, check_draws):
        with pytest.raises(AssertionError, match="the variance is another"):
            check("a box, near a corner", SETTINGS[0])


# Balls: the first coordinates of a direction with one coordinate more.


def test_the_density_on_a_ball_is_one_and_has_the_kernels_variance() -> None:
    gradient, space = Remembered(2), bb.spaces.Ball(2, 3.0)
    booster = bb.Booster(gradient=gradient, space=space, chain=bb.chains.Additive(), start=(2.9, 0.0))
    law = np.asarray(booster.ask([0.0]).probe.law)
    rules = module._rules(gradient, space)
    width = law[1, 0] * rules.extent[0]
    angle = (np.arange(2000) + 0.5) / 2000 * np.pi / 2  # r = sin(angle), since the density is infinite at the rim
    radii = np.stack([np.sin(angle), np.zeros_like(angle)], axis=1)
    ring = 2 * np.pi * np.sin(angle) * np.cos(angle) * np.pi / 2 / 2000 * width**2
    mass = module.density_in(rules, law, radii) * ring
    moment = getattr(critic.moment, "py_func", critic.moment)
    assert mass.sum() == pytest.approx(1.0, rel=1e-4)
    assert (mass @ (width * np.sin(angle)) ** 2) / 2 == pytest.approx(moment(rules, width), rel=1e-4)
