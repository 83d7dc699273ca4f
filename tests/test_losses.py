"""Losses: gradients, convexity, the constants on a space, and whether projecting can only help."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banditboost._core.checks import Array
from banditboost.losses import Absolute, Bregman, Huber, Logistic, Loss, Quantile, Sale, Squared
from banditboost.spaces import Ball, Box, Interval, Space

steady = settings(derandomize=True, deadline=None, max_examples=200)

FLOOR = 0.05
ENTROPY = Bregman("entropy", floor=FLOOR)
LOSSES: tuple[Loss, ...] = (
    Squared(),
    Absolute(),
    Huber(0.7),
    Huber(3.0),
    Logistic(),
    Quantile(0.1),
    Quantile(0.5),
    Quantile(0.8),
    Bregman("euclidean"),
    ENTROPY,
)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def labels_for(loss: Loss, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Labels that the loss is made for: positive for the entropy, in [-1, 1] for the logistic loss."""
    if loss is ENTROPY:
        return rng.uniform(FLOOR, 3.0, shape)
    return rng.uniform(-1.0, 1.0, shape) if isinstance(loss, Logistic) else rng.normal(0.0, 2.0, shape)


def away_from_kinks(loss: Loss, point: Array, label: Array) -> bool:
    """Say whether the loss is twice differentiable within a hundredth of the point."""
    if isinstance(loss, Quantile):
        return bool(np.abs(point - label).min() > 0.01)
    if loss is ENTROPY:
        return bool(np.abs(point - FLOOR).min() > 0.01)
    distance = float(np.sqrt(np.square(point - label).sum()))
    if isinstance(loss, Huber):
        return abs(distance - loss.threshold) > 0.01
    return distance > 0.1 if isinstance(loss, Absolute) else True


def differences(loss: Loss, point: Array, label: Array, h: float = 1e-6) -> Array:
    """Central differences, one coordinate at a time."""
    slopes = np.zeros(point.shape)
    for j in np.ndindex(*point.shape):
        above, below = point.copy(), point.copy()
        above[j] += h
        below[j] -= h
        slopes[j] = (float(loss.value(above, label)) - float(loss.value(below, label))) / (2 * h)
    return slopes


@every_loss
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_gradient_is_the_slope_of_the_value(loss: Loss, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    checked = 0
    while checked < 60:
        label, point = labels_for(loss, rng, shape), np.asarray(rng.normal(0.0, 3.0, shape))
        if away_from_kinks(loss, point, label):
            np.testing.assert_allclose(
                loss.gradient(point, label), differences(loss, point, label), rtol=1e-5, atol=1e-6
            )
            checked += 1


def test_values_by_hand() -> None:
    z, y = np.array([1.0, 4.0, -2.0]), np.array([3.0, 4.5, 1.0])
    distance = math.sqrt(4 + 0.25 + 9)
    assert Squared().value(z, y) == pytest.approx(13.25)
    assert Absolute().value(z, y) == pytest.approx(distance)
    assert Huber(1.5).value(z, y) == pytest.approx(1.5 * (distance - 0.75))
    assert Huber(5.0).value(z, y) == pytest.approx(13.25 / 2)
    assert Logistic().value(z, y) == pytest.approx(
        sum(math.log(1 + math.exp(-a * b)) for a, b in zip(z, y, strict=True))
    )
    assert Quantile(0.8).value(z, y) == pytest.approx(0.8 * (2 + 0.5 + 3))
    assert Quantile(0.8).value(y, z) == pytest.approx(0.2 * (2 + 0.5 + 3))
    assert Bregman("euclidean").value(z, y) == pytest.approx(13.25 / 2)
    expected = 3 * math.log(3.0) - 3 + 1 + 4.5 * math.log(4.5 / 4) - 4.5 + 4
    tangent = 1 * math.log(1 / FLOOR) - 1 + FLOOR + (1 - 1 / FLOOR) * (-2 - FLOOR)
    assert ENTROPY.value(z, y) == pytest.approx(expected + tangent)


def test_far_points_cost_no_overflow() -> None:
    assert Logistic().value(-1e4, 1.0) == 1e4
    assert Logistic().value(1e4, 1.0) == 0.0
    assert Logistic().gradient(np.array([-1e4, 1e4]), 1.0).tolist() == [-1.0, 0.0]
    assert np.isfinite(ENTROPY.value(np.array([-1e6, 0.0, 1e6]), 1.0)).all()
    assert ENTROPY.value(0.5, 0.0) == pytest.approx(0.5)  # 0·log 0 is 0


@pytest.mark.parametrize("dimension", [1, 3])
@steady
@given(data=st.data(), which=st.sampled_from(LOSSES))
def test_convexity(dimension: int, data: st.DataObject, which: Loss) -> None:
    """Midpoints lie below chords, and every gradient supports the loss from below, at kinks too."""
    shape = () if dimension == 1 else (dimension,)

    def draw(low: float, high: float) -> Array:
        numbers = data.draw(st.lists(st.floats(low, high), min_size=dimension, max_size=dimension))
        return np.array(numbers).reshape(shape)

    label = draw(0.0, 5.0) if which is ENTROPY else draw(-1.0, 1.0) if isinstance(which, Logistic) else draw(-5.0, 5.0)
    a, b = draw(-10.0, 10.0), draw(-10.0, 10.0)
    if data.draw(st.booleans()):
        a = label.copy()  # a kink of Absolute and Quantile, the bottom of the others
    at_a, at_b = float(which.value(a, label)), float(which.value(b, label))
    slack = 1e-9 * (1 + abs(at_a) + abs(at_b))
    assert float(which.value(0.5 * (a + b), label)) <= 0.5 * (at_a + at_b) + slack
    assert at_b >= at_a + float(np.sum(which.gradient(a, label) * (b - a))) - slack


def test_subgradients_at_kinks() -> None:
    rng = np.random.default_rng(2)
    others = rng.normal(0.0, 2.0, (500, 3))
    label = np.array([0.3, -1.0, 2.0])
    half = np.array([0.3, 0.5, 2.0])  # on the kink in two coordinates of three
    for loss in (Absolute(), Quantile(0.1), Quantile(0.8)):
        for kink in (label, half):
            support = float(loss.value(kink, label)) + (others - kink) @ loss.gradient(kink, label)
            assert (loss.value(others, label) >= support - 1e-12).all()
    assert Absolute().gradient(label, label).tolist() == [0.0, 0.0, 0.0]
    # The joins of Huber and of the floored entropy are smooth: both sides have one slope.
    for k in (-0.7, 0.7):
        sides = Huber(0.7).gradient(np.array([k - 1e-9, k + 1e-9]), 0.0)
        assert sides[0] == pytest.approx(sides[1], abs=1e-8)
    sides = ENTROPY.gradient(np.array([FLOOR - 1e-9, FLOOR + 1e-9]), 2.0)
    assert sides[0] == pytest.approx(sides[1], rel=1e-6)
    below, above = ENTROPY.value(np.array([FLOOR - 1e-9, FLOOR + 1e-9]), 2.0)
    assert below == pytest.approx(above, abs=1e-6)


@every_loss
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)], ids=str)
def test_batches_of_labels_equal_one_by_one(loss: Loss, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(3)
    labels, points = labels_for(loss, rng, (7, *shape)), rng.normal(0.0, 2.0, (7, *shape))
    values, gradients = loss.value(points, labels, len(shape)), loss.gradient(points, labels, len(shape))
    assert values.shape == (7,)
    for t in range(7):
        np.testing.assert_array_equal(values[t], loss.value(points[t], labels[t]))
        np.testing.assert_array_equal(gradients[t], loss.gradient(points[t], labels[t]))
    # Several points against one label each: labels get an axis of ones.
    many = rng.normal(0.0, 2.0, (7, 4, *shape))
    values = loss.value(many, labels[:, np.newaxis], len(shape))
    gradients = loss.gradient(many, labels[:, np.newaxis], len(shape))
    assert values.shape == (7, 4)
    for t in range(7):
        np.testing.assert_array_equal(values[t], loss.value(many[t], labels[t]))
        np.testing.assert_array_equal(gradients[t], loss.gradient(many[t], labels[t]))


# The constants on Y/γ + δB.

SPACES: tuple[Space, ...] = (
    Interval(-1.0, 1.0),
    Interval(0.0, 30.0),
    Interval(5.0, 6.0),
    Interval(-3.0, -1.0),
    Box((-1.0, -2.0, -0.5), (1.0, 0.5, 2.0)),
    Box((1.0, 2.0), (3.0, 3.0)),
    Ball(3, 1.5),
    Ball(2, 0.5, (2.0, 1.0)),
    Ball(1, 2.0),
)
POSITIVE: tuple[Space, ...] = (
    Interval(0.0, 1.0),
    Interval(0.2, 4.0),
    Box((0.0, 0.5, 1.0), (1.0, 2.0, 1.5)),
    Ball(2, 0.5, (1.0, 2.0)),
)
UNIT: tuple[Space, ...] = (
    Interval(-1.0, 1.0),
    Interval(0.2, 1.0),
    Box((-1.0, -1.0, 0.0), (1.0, 0.5, 1.0)),
    Ball(3, 1.0),
    Ball(2, 0.3, (0.5, -0.4)),
)


def spaces_for(loss: Loss) -> tuple[Space, ...]:
    return POSITIVE if loss is ENTROPY else UNIT if isinstance(loss, Logistic) else SPACES


def axes(space: Space) -> tuple[int, ...]:
    return tuple(range(-len(space.shape), 0))


def lengths(space: Space, vectors: Array) -> Array:
    return np.asarray(np.sqrt(np.square(vectors).sum(axis=axes(space))))


def members(space: Space, rng: np.random.Generator, n: int) -> Array:
    """Half of them inside, half of them on the boundary."""
    spread = rng.normal(0.0, space.diameter / 2, (n, *space.shape))
    inside = space.project(space.inner_centre + spread[: n // 2])
    return np.concatenate([inside, space.minimize(spread[n // 2 :])])


def reachable(space: Space, gamma: float, delta: float, rng: np.random.Generator, n: int) -> tuple[Array, Array]:
    """Labels in Y, and points of Y/γ + δB: random pairs, and pairs as far apart as a direction allows."""
    labels, played = members(space, rng, n), members(space, rng, n)
    pull = rng.normal(0.0, 1.0, (n, *space.shape))
    pull /= lengths(space, pull).reshape(n, *(1,) * len(space.shape))
    pull[: n // 4] *= rng.random(n // 4).reshape(-1, *(1,) * len(space.shape))
    far = slice(n // 2, None)
    # With the centre's own direction in the sample, balls and intervals meet their reach; corners do for boxes.
    outward = np.asarray(space.inner_centre) if np.any(space.inner_centre != 0) else pull[-1]
    for k, sign in ((-1, 1.0), (-2, -1.0)):
        pull[k] = sign * outward / np.sqrt(np.square(outward).sum())
    labels[far], played[far] = space.minimize(pull[far]), space.minimize(-pull[far])
    return labels, played / gamma + delta * pull


def test_samples_stay_where_they_should() -> None:
    rng = np.random.default_rng(4)
    for space in SPACES + POSITIVE + UNIT:
        labels, points = reachable(space, 0.5, 0.25, rng, 400)
        assert space.contains(labels).all()
        distance = lengths(space, points - space.project(points * 0.5) / 0.5)
        assert distance.max() <= 0.25 + 1e-9


CASES = [(loss, space) for loss in LOSSES for space in spaces_for(loss)]


@pytest.mark.parametrize("delta", [0.0, 0.5])
@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("loss", "space"), CASES, ids=repr)
def test_constants_hold(loss: Loss, space: Space, gamma: float, delta: float) -> None:
    rng = np.random.default_rng(5)
    known = loss.constants(space, gamma, delta)
    labels, points = reachable(space, gamma, delta, rng, 1500)
    ndim, slack = len(space.shape), 1 + 1e-12
    steepest = lengths(space, loss.gradient(points, labels, ndim)).max()
    largest = np.abs(loss.value(points, labels, ndim)).max()
    assert steepest <= known.lipschitz * slack
    assert largest <= known.bound * slack

    if math.isfinite(known.smoothness):
        _, others = reachable(space, gamma, delta, rng, 1500)
        others[::2] = points[::2] + 1e-3 * (others[::2] - points[::2])  # half of the pairs close together
        change = lengths(space, loss.gradient(points, labels, ndim) - loss.gradient(others, labels, ndim))
        assert (change <= known.smoothness * lengths(space, points - others) + 1e-10).all()

    if isinstance(loss, Squared | Absolute | Huber | Quantile):
        # Where Y/γ lies to one side of Y, only one of a tilted loss's two slopes is ever met.
        tilt = max(loss.level, 1 - loss.level) / min(loss.level, 1 - loss.level) if isinstance(loss, Quantile) else 1.0
        factor = 3.0 if gamma == 1 else 3.0 * tilt
        assert steepest >= known.lipschitz / factor
        assert largest >= known.bound / factor


def test_kinks_have_no_smoothness_and_curves_have_theirs() -> None:
    space = Interval(-2.0, 2.0)
    assert math.isinf(Absolute().constants(space).smoothness)
    assert math.isinf(Quantile(0.3).constants(space).smoothness)
    # Attained: by the curvature everywhere, at the label, at zero, and at the floor.
    assert Squared().constants(space).smoothness == 2.0
    assert Huber(1.0).constants(space).smoothness == 1.0
    slope = differences_of_gradient(Logistic(), 0.0, 1.0)
    assert slope == pytest.approx(Logistic().constants(space).smoothness, rel=1e-6)
    slope = differences_of_gradient(ENTROPY, FLOOR + 2e-6, 2.0)
    assert slope == pytest.approx(ENTROPY.constants(Interval(0.0, 2.0)).smoothness, rel=1e-3)


def differences_of_gradient(loss: Loss, point: float, label: float, h: float = 1e-6) -> float:
    return float(loss.gradient(point + h, label) - loss.gradient(point - h, label)) / (2 * h)


def test_constants_by_hand() -> None:
    space = Interval(0.0, 30.0)
    assert Squared().constants(space) == (60.0, 2.0, 900.0)
    # γ = 1/2 sends a play of 30 to 60; half a step further lies the farthest query.
    assert Squared().constants(space, gamma=0.5, delta=0.5) == (121.0, 2.0, 60.5**2)
    assert Absolute().constants(Ball(3, 2.0)) == (1.0, math.inf, 4.0)
    assert Quantile(0.9).constants(Box((0.0, 0.0), (3.0, 4.0))).bound == pytest.approx(0.9 * math.sqrt(2) * 5)


@every_loss
@pytest.mark.parametrize(("gamma", "delta", "name"), [(0.0, 0.1, "gamma"), (-1.0, 0.1, "gamma"), (1.0, -0.1, "delta")])
def test_constants_refuse_impossible_arguments(loss: Loss, gamma: float, delta: float, name: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} must"):
        loss.constants(Interval(0.5, 1.0), gamma, delta)


# The paper's Assumption 3: ℓ(Πz) ≤ ℓ(z).

ABOVE_THE_FLOOR: tuple[Space, ...] = (Interval(FLOOR, 1.0), Box((0.1, 0.5), (1.0, 2.0)), Ball(1, 0.5, (1.0,)))


@pytest.mark.parametrize("space", [*SPACES, *UNIT, *ABOVE_THE_FLOOR], ids=repr)
def test_projecting_never_raises_losses_of_a_distance_or_separable_ones_on_boxes(space: Space) -> None:
    rng = np.random.default_rng(6)
    labels = members(space, rng, 4000)
    points = space.inner_centre + rng.normal(0.0, 1.0, labels.shape) * rng.choice([0.5, 3.0, 30.0], 4000).reshape(
        -1, *(1,) * len(space.shape)
    )
    unharmed: list[Loss] = [Squared(), Absolute(), Huber(0.7), Bregman("euclidean")]
    if isinstance(space, Interval | Box) or space.size == 1:  # each coordinate is clipped towards its label
        unharmed.append(Quantile(0.3))
    if space in ABOVE_THE_FLOOR:
        unharmed.append(ENTROPY)
    for loss in unharmed:
        before = loss.value(points, labels, len(space.shape))
        after = loss.value(space.project(points), labels, len(space.shape))
        assert (after <= before + 1e-12 * (1 + np.abs(before))).all(), loss


def raised_by_projecting(loss: Loss, space: Space, point: Array, label: Array) -> float:
    """How much the loss of a point outside rises when it is projected, for a label in the space."""
    assert space.contains(label)
    assert not space.contains(point)
    return float(loss.value(space.project(point), label) - loss.value(point, label))


def test_logistic_loss_suffers_from_clipping() -> None:
    rise = raised_by_projecting(Logistic(), Interval(-1.0, 1.0), np.array(3.0), np.array(1.0))
    assert rise == pytest.approx(math.log1p(math.exp(-1)) - math.log1p(math.exp(-3)))
    assert rise > 0.26
    assert raised_by_projecting(Logistic(), Ball(2, 1.0), np.array([2.0, 2.0]), np.array([0.6, 0.6])) > 0.1


def test_quantile_loss_suffers_from_projecting_on_a_disc() -> None:
    # Towards the centre both coordinates move; the one that was right becomes wrong.
    label, point = np.array([0.8, 0.6]), np.array([1.1, 0.6])
    assert raised_by_projecting(Quantile(0.9), Ball(2, 1.0), point, label) > 0.02


def test_entropy_suffers_from_projecting_on_a_disc() -> None:
    # The coordinate that was nearly right is small, and moving it weighs more than what the other gains.
    space, loss = Ball(2, 0.45, (0.5, 0.5)), Bregman("entropy", floor=0.01)
    assert raised_by_projecting(loss, space, np.array([0.09, 0.93]), np.array([0.06, 0.58])) > 0.015


def test_entropy_suffers_where_labels_may_fall_below_the_floor() -> None:
    # Below the floor the divergence goes on as a line; for a label below it too, that line falls for ever.
    space = Interval(0.0, 1.0)
    assert raised_by_projecting(ENTROPY, space, np.array(-1.0), np.array(0.0)) == pytest.approx(1.0)
    assert raised_by_projecting(ENTROPY, space, np.array(-1.0), np.array(FLOOR / 2)) == pytest.approx(0.5)


def test_the_footnotes_order_of_the_divergence_fails() -> None:
    """Reading notes, slip 7: on the simplex, KL(·, label) may rise under the KL projection; KL(label, ·) never does."""

    def divergence(p: Array, q: Array) -> float:
        return float((p * np.log(p / q) - p + q).sum())

    label, point = np.array([0.5, 0.5]), np.array([0.4, 0.01])
    projected = point / point.sum()  # the KL projection on the simplex
    footnote = divergence(point, label), divergence(projected, label)
    assert (round(footnote[0], 3), round(footnote[1], 3)) == (0.462, 0.578)
    loss = Bregman("entropy", floor=0.001)
    assert loss.value(point, label) == pytest.approx(divergence(label, point))
    rng = np.random.default_rng(8)
    labels, points = rng.dirichlet(np.ones(3), 2000) + 1e-9, rng.uniform(0.01, 3.0, (2000, 3))
    labels /= labels.sum(axis=1, keepdims=True)
    before, after = loss.value(points, labels, 1), loss.value(points / points.sum(axis=1, keepdims=True), labels, 1)
    assert loss.value(projected, label) <= loss.value(point, label)
    assert (after <= before + 1e-12).all()


def test_bad_parameters_are_named() -> None:
    with pytest.raises(ValueError, match="threshold must be positive"):
        Huber(0.0)
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        Quantile(1.0)
    with pytest.raises(ValueError, match="potential must be one of entropy, euclidean"):
        Bregman("burg")
    with pytest.raises(ValueError, match="floor must be positive"):
        Bregman("entropy", floor=0.0)
    with pytest.raises(ValueError, match="threshold must be a number, got '1'"):
        Huber("1")  # type: ignore[arg-type]


def test_curvature_is_the_second_derivative_at_the_label() -> None:
    for loss in LOSSES:
        if loss.curvature is None:
            continue
        slope = (loss.gradient(0.501, 0.5) - loss.gradient(0.499, 0.5)) / 0.002
        assert float(slope) == pytest.approx(loss.curvature), loss
    assert {type(loss) for loss in LOSSES if loss.curvature is not None} == {Squared, Huber, Bregman}


def test_translation_invariant_losses_depend_on_the_difference_alone() -> None:
    rng = np.random.default_rng(9)
    points, labels = rng.uniform(0.1, 1.0, 200), rng.uniform(0.1, 1.0, 200)
    for loss in LOSSES:
        shifted = np.allclose(loss.value(points + 2.0, labels + 2.0, 0), loss.value(points, labels, 0), rtol=1e-12)
        assert shifted == loss.translation_invariant, loss


def test_a_sale_falls_jumps_and_stays() -> None:
    prices, w = np.array([-1.0, 0.0, 2.0, 4.0, 4.0 + 1e-12, 9.0]), 4.0
    assert Sale().value(prices, w).tolist() == [1.0, 0.0, -2.0, -4.0, 0.0, 0.0]
    assert Sale().gradient(prices, w).tolist() == [-1.0, -1.0, -1.0, -1.0, 0.0, 0.0]
    # Two goods, each bought or not.
    assert Sale().value([3.0, 5.0], [4.0, 4.0]).tolist() == -3.0
    assert not Sale().convex
    assert all(loss.convex for loss in LOSSES)
    assert Sale().constants(Interval(0.0, 10.0)) == (math.inf, math.inf, 10.0)
    assert Sale().constants(Box((0.0, 0.0), (3.0, 4.0)), gamma=0.5, delta=1.0).bound == pytest.approx(math.sqrt(2) * 11)
