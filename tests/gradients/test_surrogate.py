"""Surrogate is unbiased, by exact enumeration; a planted leak is caught by the same test; its variance is a fraction."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

import banditboost as bb
from banditboost import losses
from banditboost._core import spec
from banditboost._core.checks import Array
from banditboost.gradients import Baseline, Budget, OnePoint, Probe, Residual, Sphere, Surrogate, TwoPoint, jackknife
from banditboost.spaces import Ball, Interval, Simplex

SPACE = Interval(-9.0, 9.0)
ANCHORS = np.array([0.0, 0.7, 0.2, -0.4])
DELTA = 0.5


def loss(z: Array) -> Array:
    """Convex, and no quadratic."""
    return np.asarray(np.abs(z - 0.3) ** 1.7 + 0.2 * np.exp(z))


def everything(gradient: Sphere, copies: int, masks: Iterator[tuple[bool, ...]]) -> Iterator[tuple[Array, Probe]]:
    """All directions, all signs of Rademacher noise, all given choices of who asks."""
    for chosen in masks:
        for signs in itertools.product((-1.0, 1.0), repeat=copies):
            probe = gradient.ask(ANCHORS[:copies], np.array(signs), np.array(chosen))
            for noise in itertools.product((-0.3, 0.3), repeat=len(probe.queries)):
                yield loss(probe.queries) + np.array(noise), probe


def mean_over_everything(gradient: Sphere, copies: int, estimate: Callable[[Array, Probe], Array]) -> Array:
    every = [estimate(*round_) for round_ in everything(gradient, copies, iter([(True,) * copies]))]
    return np.asarray(np.mean(every, axis=0))


def smoothed_gradient(copies: int) -> Array:
    y = ANCHORS[:copies]
    return (loss(y + DELTA) - loss(y - DELTA)) / (2 * DELTA)


@pytest.mark.parametrize("copies", [2, 3, 4])
@pytest.mark.parametrize("limit", [0.3, 10.0])
@pytest.mark.parametrize("model", ["auto", "level", "linear", "isotropic", "diagonal"])
def test_unbiased_by_enumeration(copies: int, model: str, limit: float) -> None:
    gradient = Surrogate(DELTA, model=model, limit=limit)  # type: ignore[arg-type]
    mean = mean_over_everything(gradient, copies, lambda answers, probe: gradient.estimate(answers, probe, SPACE, {}))
    np.testing.assert_allclose(mean, smoothed_gradient(copies), rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("gradient", "memory"),
    [
        (OnePoint(DELTA), {}),
        (TwoPoint(DELTA), {}),
        (TwoPoint(DELTA, ball="l1"), {}),
        (Baseline(DELTA), {"baseline": np.array([3.0, 1.7])}),
        (Residual(DELTA), {"last": np.array([0.4, -1.0, 2.0])}),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, Sphere) else "",
)
def test_the_others_are_unbiased_by_enumeration(gradient: Sphere, memory: dict[str, Array]) -> None:
    mean = mean_over_everything(gradient, 3, lambda answers, probe: gradient.estimate(answers, probe, SPACE, memory))
    np.testing.assert_allclose(mean, smoothed_gradient(3), rtol=0, atol=1e-9)


@pytest.mark.parametrize("copies", [2, 3, 4])
@pytest.mark.parametrize("exactly", [False, True])
@pytest.mark.parametrize("model", ["auto", "linear", "isotropic"])
def test_budget_on_top_is_unbiased_by_enumeration(copies: int, exactly: bool, model: str) -> None:
    inner = Surrogate(DELTA, model=model)  # type: ignore[arg-type]
    for asked in range(1, copies):
        gradient, chance = Budget(inner, asked, exactly), asked / copies
        total, weights = np.zeros(copies), 0.0
        for chosen in itertools.product((True, False), repeat=copies):
            if exactly and sum(chosen) != asked:
                continue
            weight = 1.0 if exactly else float(np.prod(np.where(chosen, chance, 1 - chance)))
            every = [gradient.estimate(*r, SPACE, {}) for r in everything(inner, copies, iter([chosen]))]
            total += weight * np.mean(every, axis=0)
            weights += weight
        np.testing.assert_allclose(total / weights, smoothed_gradient(copies), rtol=0, atol=1e-9)


def test_a_fixed_number_of_answers_needs_its_own_weights() -> None:
    # Weighted as if drawn independently, a draw of exactly two in four leaks whether i asked into its model.
    inner = Surrogate(DELTA, model="linear", ridge=0.1)
    total, count = np.zeros(4), 0
    for pair in itertools.combinations(range(4), 2):
        chosen = tuple(k in pair for k in range(4))
        for answers, probe in everything(inner, 4, iter([chosen])):
            total += inner.combine(answers, probe, SPACE, {}, chance=0.5, exactly=False)
            count += 1
    assert np.abs(total / count - smoothed_gradient(4)).max() > 0.01


@pytest.mark.parametrize("copies", [3, 4])
def test_a_leak_through_the_centre_is_caught(copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Centring by the queries instead of the anchors lets z_i into q_{-i}: the same enumeration must see it.
    right = jackknife.leave_one_out

    def leaky(anchors: Array, points: Array, *rest: object) -> jackknife.Fit:
        fit = right(points, points, *rest)  # type: ignore[arg-type]
        return fit._replace(slopes=right(anchors, points, *rest).slopes)  # type: ignore[arg-type]

    monkeypatch.setattr("banditboost.gradients.surrogate.leave_one_out", leaky)
    gradient = Surrogate(DELTA, model="isotropic", ridge=0.1)
    mean = mean_over_everything(gradient, copies, lambda answers, probe: gradient.estimate(answers, probe, SPACE, {}))
    assert np.abs(mean - smoothed_gradient(copies)).max() > 0.01


def test_a_leak_through_the_limit_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    # Measuring how far a model may go by all answers, one's own among them, is a leak too.
    def own_too(answers: Array, chosen: Array) -> tuple[Array, Array]:
        return np.full(len(answers), answers.mean()), np.full(len(answers), np.ptp(answers))

    monkeypatch.setattr(jackknife, "_others", own_too)
    gradient = Surrogate(DELTA, model="isotropic", limit=0.3)
    mean = mean_over_everything(gradient, 3, lambda answers, probe: gradient.estimate(answers, probe, SPACE, {}))
    assert np.abs(mean - smoothed_gradient(3)).max() > 0.01


def test_unbiased_in_three_dimensions_over_the_octahedron() -> None:
    # Two copies, six directions each: for a quadratic loss the mean over all pairs is the exact gradient.
    space, gradient, square = Ball(3, 9.0), Surrogate(0.4, model="isotropic"), losses.Squared()
    anchors, label = np.array([[0.5, -1.0, 2.0], [0.0, 0.3, 0.1]]), np.array([1.0, 0.0, -0.5])
    corners = np.concatenate([np.eye(3), -np.eye(3)])
    total = np.zeros((2, 3))
    for one, two in itertools.product(corners, corners):
        probe = gradient.ask(anchors, np.stack([one, two]), np.ones(2, dtype=bool))
        total += gradient.estimate(square.value(probe.queries, label), probe, space, {}) / 36
    np.testing.assert_allclose(total, 2 * (anchors - label), atol=1e-9)


@pytest.mark.parametrize("shape", ["level", "linear", "isotropic", "diagonal"])
def test_leaving_one_out_is_refitting_without_it(shape: str) -> None:
    rng, delta = np.random.default_rng(1), 0.5
    anchors, directions, answers = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), rng.normal(size=9)
    chosen = np.array([True] * 7 + [False] * 2)
    queries = anchors + delta * directions
    fit = jackknife.leave_one_out(anchors, queries, answers, chosen, delta, shape, ridge=0.1, limit=1e9)
    center = anchors.mean(axis=0)
    scale = delta + np.sqrt(((anchors - center) ** 2).mean())

    def features(points: Array) -> Array:
        u = (points - center) / scale
        bends = {"isotropic": [(u**2).sum(axis=1) / 2], "diagonal": [u**2 / 2]}.get(shape, [])
        return np.column_stack([np.ones(len(u)), *([] if shape == "level" else [u]), *bends])

    for i in range(9):
        others = (np.arange(9) != i) & chosen
        phi = features(queries[others])
        penalty = np.diag([1e-6] + [0.1] * (phi.shape[1] - 1))
        mean = answers[others].mean()
        theta = np.linalg.solve(phi.T @ phi + penalty, phi.T @ (answers[others] - mean))
        assert fit.values[i] == pytest.approx(mean + features(queries[i : i + 1])[0] @ theta, rel=1e-7)
        h = 1e-6
        for j in range(2):
            step = h * np.eye(2)[j]
            up, down = (features((anchors[i] + s)[np.newaxis])[0] @ theta for s in (step, -step))
            assert fit.slopes[i, j] == pytest.approx((up - down) / (2 * h), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("offset", [1e3, 1e6, -1e6, 1e9])
@pytest.mark.parametrize("model", ["auto", "level", "linear", "isotropic", "diagonal"])
@pytest.mark.parametrize(
    ("d", "limit", "budget"), [(1, 10.0, 7), (1, 0.3, 7), (1, 10.0, 3), (3, 10.0, 12), (3, 10.0, 5)]
)
def test_a_common_offset_of_the_losses_changes_nothing(
    d: int, limit: float, budget: int, model: str, offset: float
) -> None:
    # Before, gradients moved with the offset, since the ridge drew the level towards zero.
    rng, space, copies = np.random.default_rng(7), Ball(d, 9.0), 7 if d == 1 else 12
    gradient = Surrogate(DELTA, model=model, limit=limit)  # type: ignore[arg-type]
    anchors = np.cumsum(0.3 * rng.normal(size=(copies, d)), axis=0)
    chosen = rng.permutation(copies) < budget
    probe = gradient.ask(anchors, space.directions(rng, copies), chosen)
    answers = (np.square(probe.queries - 1.0).sum(axis=1) + rng.uniform(-0.1, 0.1, budget)).astype(np.float32)
    exact = answers.astype(np.float64)  # few enough digits for the sums with the offset to be exact
    at_zero = gradient.combine(exact, probe, space, {}, chance=budget / copies)
    away = gradient.combine(exact + offset, probe, space, {}, chance=budget / copies)
    rounding = np.abs((exact + offset) - offset - exact).max() + 1e-15 * abs(offset)
    np.testing.assert_allclose(away, at_zero, rtol=1e-9, atol=100 * d / DELTA * rounding)


@dataclass(frozen=True)
class Offset(bb.noise.Noise, kind="tests:Offset"):
    """The same number on every loss, as fixed costs are."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.full(shape, self.bound)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("gradient", [Surrogate(DELTA), Budget(Surrogate(DELTA), 6)], ids=["all", "some"])
def test_a_run_does_not_notice_fixed_costs(gradient: Sphere, compiled: bool) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 3))
    means = []
    for cost in (0.0, 2.0**20):
        world = bb.worlds.Supervised(X, np.clip(X @ [1.0, -0.5, 0.2], -3, 3), noise=Offset(cost))
        booster = bb.Booster(copies=10, gradient=gradient, space=Interval(-4.0, 4.0), seed=1)
        means.append(bb.evaluate.progressive(booster, world, compiled=compiled).predictions)
    np.testing.assert_allclose(means[1], means[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize("d", [1, 3])
def test_the_norm_is_bounded_as_stated(d: int) -> None:
    # Wild answers, few of them: models that extrapolate are flattened.
    rng, space, limit = np.random.default_rng(4), Ball(d, 99.0), 2.0
    gradient = Surrogate(0.1, model="isotropic", ridge=1e-6, limit=limit)
    worst = 0.0
    for _ in range(300):
        probe = gradient.probe(3 * rng.normal(size=(d + 3, d)), space, {"directions": rng})
        answers = rng.uniform(-5, 5, d + 3)
        estimate = gradient.estimate(answers, probe, space, {})
        worst = max(worst, float(np.linalg.norm(estimate, axis=1).max()) / np.ptp(answers))
    assert worst <= (d * (1 + limit) + limit) / 0.1


@pytest.mark.parametrize(("d", "largest"), [(1, 0.03), (5, 0.01), (10, 0.01)])
@pytest.mark.parametrize("kind", [losses.Squared(), losses.Absolute()], ids=str)
def test_the_variance_is_a_fraction(d: int, largest: float, kind: losses.Loss) -> None:
    rng, space, copies = np.random.default_rng(2), Ball(d, 99.0), 30
    square = [0.0, 0.0]
    for _ in range(200):
        label, anchors = rng.normal(size=d), np.cumsum(0.1 * rng.normal(size=(copies, d)), axis=0)
        for k, gradient in enumerate((Surrogate(0.5), OnePoint(0.5))):
            probe = gradient.probe(anchors, space, {"directions": rng})
            answers = kind.value(probe.queries, label) + rng.uniform(-0.1, 0.1, copies)
            wrong = gradient.estimate(answers, probe, space, {}) - kind.gradient(anchors, label)
            square[k] += float((wrong**2).sum(axis=1).mean())
    assert square[0] < largest * square[1]


def test_gradients_stay_in_the_tangent_space() -> None:
    space, gradient = Simplex(4), Surrogate(0.05)
    probe = gradient.probe(np.tile(space.inner_centre, (8, 1)), space, {"directions": np.random.default_rng(0)})
    estimate = gradient.estimate(losses.Squared().value(probe.queries, np.eye(4)[0]), probe, space, {})
    np.testing.assert_allclose(estimate.sum(axis=1), 0.0, atol=1e-9)


def test_alone_it_is_the_one_point_estimator() -> None:
    one, two = Surrogate(0.5), OnePoint(0.5)
    probe = one.ask(np.array([0.0]), np.array([1.0]), np.ones(1, dtype=bool))
    assert one.estimate(np.array([3.0]), probe, SPACE, {}) == two.estimate(np.array([3.0]), probe, SPACE, {})


def test_a_ridge_that_leaves_a_model_open_is_named() -> None:
    # As many coefficients as answers: without one of them nothing is determined, and that is no fault of the losses.
    booster = bb.Booster(
        copies=3, gradient=Surrogate(0.2, ridge=1e-300, model="isotropic"), space=bb.spaces.Ball(1, 1.0)
    )
    ticket = booster.ask([1.0])
    with pytest.raises(
        ValueError, match=r"ridge must be larger for 3 answers to determine the 3 coefficients .* got 1e-300"
    ):
        booster.tell(ticket, [1.0, 2.0, 3.0])
    assert booster.rounds == 0


def test_data_of_earlier_versions_are_fitted_as_they_were_and_written_as_they_were() -> None:
    old = {"kind": "gradients.Surrogate", "delta": 0.2, "queries": 1, "model": "auto", "ridge": 0.001, "limit": 10.0}
    read = spec.from_dict(old)
    assert not read.centred
    assert read.to_dict() == old
    assert Surrogate(0.2).to_dict() == old | {"centred": True}
    assert spec.from_dict(Surrogate(0.2).to_dict()) == Surrogate(0.2) != read
