"""Networks against loops written out, slopes against differences, weights against their bounds, losses against linear models."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners import Network
from banditboost.learners.network import NetworkBank
from banditboost.spaces import Ball, Interval, Space

BOTH = pytest.mark.parametrize("activation", ["tanh", "relu"])
Activation = Literal["tanh", "relu"]


class SlowNetwork:
    """One copy as lists of floats; slopes by the chain rule, one weight at a time."""

    def __init__(self, spec: Network, inner: Array, outputs: int) -> None:
        self.spec, self.U = spec, inner.tolist()
        self.V = [[0.0] * (spec.hidden + 1) for _ in range(outputs)]
        self.QU = [[0.0] * len(row) for row in self.U]
        self.QV = [[0.0] * len(row) for row in self.V]

    def units(self, x: list[float]) -> list[float]:
        signals = [sum(u * v for u, v in zip(row, x, strict=True)) for row in self.U]
        return [math.tanh(s) if self.spec.activation == "tanh" else max(s, 0.0) for s in signals] + [1.0]

    def play(self, x: list[float]) -> list[float]:
        return [sum(v * h for v, h in zip(row, self.units(x), strict=True)) for row in self.V]

    def update(self, x: list[float], g: list[float]) -> None:
        units, plays = self.units(x), self.play(x)
        charge = [part + self.spec.curvature * a for part, a in zip(g, plays, strict=True)]
        slopes_v = [[e * h for h in units] for e in charge]
        slopes_u = []
        for k in range(self.spec.hidden):
            through = sum(e * row[k] for e, row in zip(charge, self.V, strict=True))
            through *= 1 - units[k] ** 2 if self.spec.activation == "tanh" else float(units[k] > 0)
            slopes_u.append([through * value for value in x])
        for W, Q, S in ((self.V, self.QV, slopes_v), (self.U, self.QU, slopes_u)):
            for row, squares, slopes in zip(W, Q, S, strict=True):
                for k, s in enumerate(slopes):
                    squares[k] += s * s
                    row[k] -= self.spec.rate * s / math.sqrt(squares[k]) if squares[k] > 0 else 0.0
        for rows in ([row] for row in self.U):
            self.shrink(rows)
        self.shrink(self.V)

    def shrink(self, rows: list[list[float]]) -> None:
        length = math.sqrt(sum(w * w for row in rows for w in row))
        for row in rows:
            row[:] = [w * min(1.0, self.spec.radius / length) if length else w for w in row]


@BOTH
@pytest.mark.parametrize("curvature", [0.0, 1.3])
@pytest.mark.parametrize("space", [Interval(-1.0, 1.0), Ball(2, 1.0)], ids=repr)
def test_bank_equals_loops(space: Space, activation: Activation, curvature: float) -> None:
    spec = Network(hidden=4, activation=activation, rate=0.3, curvature=curvature, radius=1.5)
    copies, rng = 3, np.random.default_rng(1)
    bank = spec.start(copies, space, 3, np.random.default_rng(2))
    slow = [SlowNetwork(spec, inner, space.size) for inner in bank.inner]
    assert bank.play(np.ones(3)).tolist() == np.zeros((copies, *space.shape)).tolist()
    for t in range(1, 151):
        x, gradients = rng.normal(size=3), rng.normal(size=(copies, *space.shape))
        seen = [*x.tolist(), 1.0]
        expected = np.array([one.play(seen) for one in slow]).reshape(copies, *space.shape)
        np.testing.assert_allclose(bank.play(x), expected, rtol=1e-9, atol=1e-9)
        bank.update(x, gradients, t)
        for one, g in zip(slow, gradients.reshape(copies, -1), strict=True):
            one.update(seen, g.tolist())
    assert np.abs(bank.play(x)).min() > 0


@BOTH
def test_steps_follow_the_slope_of_the_charge(activation: Activation) -> None:
    # AdaGrad's first step divides a slope by itself: the first sum of squares holds the slope itself.
    spec = Network(hidden=5, activation=activation, curvature=0.7, radius=1e6)
    rng = np.random.default_rng(3)
    bank = spec.start(2, Ball(2, 1.0), 3, rng)
    bank.outer[...] = rng.normal(size=bank.outer.shape)
    x, gradients = rng.normal(size=3), rng.normal(size=(2, 2))

    def charge(weights: Array, at: tuple[int, ...], step: float) -> float:
        old = weights[at]
        weights[at] = old + step
        plays = bank.play(x)
        weights[at] = old
        return float((gradients * plays + 0.35 * plays**2).sum())

    found = {}
    for name, weights in (("inner", bank.inner), ("outer", bank.outer)):
        slopes = np.empty_like(weights)
        for at in np.ndindex(weights.shape):
            slopes[at] = (charge(weights, at, 1e-6) - charge(weights, at, -1e-6)) / 2e-6
        found[name] = slopes
    bank.update(x, gradients, 1)
    np.testing.assert_allclose(np.sqrt(bank.inner_squares), np.abs(found["inner"]), atol=1e-7)
    np.testing.assert_allclose(np.sqrt(bank.outer_squares), np.abs(found["outer"]), atol=1e-7)


@BOTH
def test_linear_losses_do_not_run_away(activation: Activation) -> None:
    spec = Network(hidden=6, activation=activation, curvature=0.0, radius=2.0, rate=1.0)
    bank = spec.start(2, Interval(-1.0, 1.0), 3, np.random.default_rng(4))
    x = np.array([0.5, -0.5, 1.0])
    for t in range(1, 500):
        bank.update(x, np.array([1e6, -1e-6]), t)
    assert np.sqrt((bank.inner**2).sum(axis=2)).max() <= 2.0 + 1e-9
    np.testing.assert_allclose(np.sqrt((bank.outer**2).sum(axis=(1, 2))), 2.0)
    # The best bounded answer to a constant loss: as far as the ball allows, against it; whatever the loss's scale.
    assert bank.play(x)[0] < -3 < 3 < bank.play(x)[1]


def test_scale_of_linear_losses_does_not_matter() -> None:
    spec, rng = Network(curvature=0.0), np.random.default_rng(5)
    one, two = (spec.start(2, Interval(-1.0, 1.0), 3, np.random.default_rng(6)) for _ in range(2))
    for t in range(1, 100):
        x, gradients = rng.normal(size=3), rng.normal(size=2)
        one.update(x, gradients, t)
        two.update(x, 1024.0 * gradients, t)
    np.testing.assert_allclose(one.inner, two.inner, rtol=1e-9)
    np.testing.assert_allclose(one.outer, two.outer, rtol=1e-9)


def test_it_learns_what_no_linear_model_can() -> None:
    rng = np.random.default_rng(7)
    X = rng.choice([-1.0, 1.0], (3000, 2))
    world = bb.worlds.Supervised(X, X[:, 0] * X[:, 1])  # the best linear predictor is zero and loses 1 a round
    booster = bb.Booster(Network(), 1, gradient=bb.gradients.Exact(), space=Interval(-2.0, 2.0))
    losses = bb.evaluate.progressive(booster, world).losses
    assert losses.sum() < 150
    assert losses[1500:].mean() < 0.01


def test_memory_is_fixed_and_copies_differ() -> None:
    bank = Network(hidden=4).start(3, Ball(2, 1.0), 5, np.random.default_rng(8))
    assert isinstance(bank, NetworkBank)
    assert {name: array.shape for name, array in bank.arrays().items()} == {
        "inner": (3, 4, 6),
        "outer": (3, 2, 5),
        "inner_squares": (3, 4, 6),
        "outer_squares": (3, 2, 5),
    }
    assert len(np.unique(bank.inner)) == bank.inner.size


@pytest.mark.parametrize(
    ("field", "bad"),
    [("hidden", 0), ("activation", "sin"), ("rate", 0.0), ("curvature", -1.0), ("radius", -1.0), ("spread", math.inf)],
)
def test_bad_fields_are_named(field: str, bad: object) -> None:
    with pytest.raises(ValueError, match=rf"^{field} must"):
        Network(**{field: bad})  # type: ignore[arg-type]
