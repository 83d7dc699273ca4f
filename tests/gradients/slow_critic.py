"""A second, slow implementation of the gradient from memory, in whole arrays: what the critic expects, and what a round says.

Written from the formulas in `banditboost.gradients.remembered`, not from the kernel's loops. The law of a round is taken as given.
Lengths are over the extents of the space. With one answer, or two, a round has one *item* for the regression on ½u²; with more,
items are the means of pairs and the answer without a partner, less its slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array

CLIP, ROUNDING = 10.0, 1e-13
ROWS: tuple[str, ...] = ("squares", "products", "bend", "edge", "edges", "square", "mean", "varied")
ROWS += ("steep", "steeps", "steepness", "trend", "trends", "reach")
ROWS += ("heavy", "pointed", "away", "aways", "cubes", "sloped")
"""What is kept for every coordinate, in the kernel's order."""


@dataclass
class SlowCritic:
    """A critic, in words: everything that the kernel keeps in three arrays."""

    answers: int
    d: int
    rank: int
    ball: bool
    rim: float
    unbiased: bool = False
    declared: Array | None = None

    rounds: int = 0
    level: float = 0.0
    low: float = 0.0
    spread: float = 0.0
    curvature: float = 0.0
    unit: float = 0.0
    fast: float = 0.0
    slow: float = 0.0
    contrast: float = 0.0
    began: float = 0.0
    regressed: float = 0.0
    lasting: float = 0.0
    wary: float = 0.0
    levels: bool = False
    changes: bool = False
    steeply: float = 0.0
    sizes: float = 0.0
    gone: float = 0.0
    centre: Array | None = None
    surprises: tuple[float, float] = (0.0, 0.0)
    answer: float = 0.0
    same: int = 0
    near: int = 0
    settling: int = 0
    longest: int = 0
    high: float = 0.0
    bowed: float = 0.0
    grew: float = 0.0
    falling: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    squares: Array = field(default_factory=lambda: np.empty(0))
    products: Array = field(default_factory=lambda: np.empty(0))
    bend: Array = field(default_factory=lambda: np.empty(0))
    edge: Array = field(default_factory=lambda: np.empty(0))
    edges: Array = field(default_factory=lambda: np.empty(0))
    square: Array = field(default_factory=lambda: np.empty(0))
    mean: Array = field(default_factory=lambda: np.empty(0))
    varied: Array = field(default_factory=lambda: np.empty(0))
    steep: Array = field(default_factory=lambda: np.empty(0))
    steeps: Array = field(default_factory=lambda: np.empty(0))
    steepness: Array = field(default_factory=lambda: np.empty(0))
    trend: Array = field(default_factory=lambda: np.empty(0))
    trends: Array = field(default_factory=lambda: np.empty(0))
    reach: Array = field(default_factory=lambda: np.empty(0))
    heavy: Array = field(default_factory=lambda: np.empty(0))
    pointed: Array = field(default_factory=lambda: np.empty(0))
    away: Array = field(default_factory=lambda: np.empty(0))
    aways: Array = field(default_factory=lambda: np.empty(0))
    cubes: Array = field(default_factory=lambda: np.empty(0))
    sloped: Array = field(default_factory=lambda: np.empty(0))
    matrix: Array = field(default_factory=lambda: np.empty(0))
    column: Array = field(default_factory=lambda: np.empty(0))
    coefficients: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ROWS:
            setattr(self, name, np.zeros(self.d))
        n = 1 if self.ball or self.d > 16 else 2 * self.d + 1
        self.matrix, self.column, self.coefficients = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        if self.declared is not None:
            self.bend, self.curvature = self.declared.copy(), float(self.declared.mean())

    @property
    def h(self) -> Array:
        """The curvature along every coordinate, zero while it is not known."""
        if self.curvature <= 0:
            return np.zeros(self.d)
        return np.full(self.d, self.bend[0]) if self.ball else self.bend.copy()

    @property
    def share(self) -> float:
        """The law's variance along a coordinate, over its squared half-width."""
        return 1 / (self.rank + 1) if self.ball else self.rim / (self.rim + 2)

    def s(self, law: Array) -> Array:
        """The slope at the prediction that the critic expects: its mean in the open, the border's at the border."""
        most = np.divide(2 * self.spread, law[1], out=np.full(self.d, math.inf), where=law[1] > 0)
        return np.asarray((1 - np.abs(law[3])) * np.clip(self.trend, -most, most) + law[3] * self.edge)

    def terms(self, point: Array) -> Array:
        """What the level is linear in: 1, the prediction in standard deviations from its mean, and the squares of that less 1."""
        if len(self.column) == 1:
            return np.ones(1)
        z = np.divide(point - self.mean, np.sqrt(self.varied), out=np.zeros(self.d), where=self.varied > 1e-12)
        z = np.clip(z, -3.0, 3.0)
        return np.concatenate([[1.0], z, z**2 - 1])

    def b(self, point: Array) -> float:
        """The level at a prediction."""
        return self.level + float(self.coefficients @ self.terms(point))

    def expects(self, law: Array, v: Array, point: Array) -> Array:
        """The critic's c(v) for rows v."""
        return np.asarray(self.b(point) + v @ self.s(law) + 0.5 * np.square(v) @ self.h)

    def read(self, law: Array, u: Array, answers: Array, point: Array) -> tuple[Array, float]:
        """The slope at the prediction, and the mean surprise."""
        m, w, h, s = law[0], law[1], self.h, self.s(law)
        precision = np.divide(1.0, self.share * w**2, out=np.zeros(self.d), where=w > 0)
        pairs = self.answers // 2
        signed = np.concatenate([np.stack([u[:pairs], -u[:pairs]], axis=1).reshape(-1, self.d), u[pairs:]])
        surprise = float((answers - self.expects(law, m + signed, point)).mean())
        if pairs == 0:
            most = math.inf if self.unbiased or self.rounds <= 20 else CLIP * self.spread
            if not self.unbiased and self.silent(answers):
                most = 0.0
            return s + np.clip(surprise, -most, most) * u[0] * precision, surprise
        paired = answers[: 2 * pairs].reshape(pairs, 2)
        slope = s + h * m
        scaled = u[:pairs] * np.sqrt(precision)
        left = (paired[:, 0] - paired[:, 1]) / 2 - u[:pairs] @ slope
        if self.unbiased:
            slope = slope + (scaled.T @ left / pairs) * np.sqrt(precision)
        else:
            moments = scaled.T @ scaled / pairs
            ridge = 1e-9 if self.d == 1 else 0.3 * self.rank / pairs**2
            solved = np.linalg.solve(
                moments + ridge * np.eye(self.d), np.column_stack([moments, scaled.T @ left / pairs])
            )
            kappa = (self.rank - (w == 0).sum()) / max(np.trace(solved[:, : self.d]), 1e-12)
            slope = slope + kappa * solved[:, self.d] * np.sqrt(precision)
        if self.answers % 2:
            base = (paired.mean(axis=1) - 0.5 * np.square(u[:pairs]) @ h).mean()
            more = answers[-1] - base - 0.5 * np.square(u[-1]) @ h - slope @ u[-1]
            slope = slope + more * u[-1] * precision / self.answers
        return slope - h * m, surprise

    def silent(self, answers: Array) -> bool:
        """Whether all answers have been one number for longer than three times what has been usual, and ten rounds more."""
        known = np.append(answers, self.answer)
        one = np.ptp(known) <= ROUNDING * float(np.abs(answers).max())
        return bool(one) and self.same > 10 + 3 * self.longest

    @property
    def usual_height(self) -> float:
        """How far losses stand above the lowest ones."""
        return max(self.level - self.low, 0.5 * self.spread)

    def height(self, law: Array, u: Array, answers: Array, slope: Array) -> float:
        """How far the loss at a round's prediction stands above the lowest ones: the means of pairs, less what curves them."""
        pairs, h, m = self.answers // 2, self.h, law[0]
        centre = (answers[: 2 * pairs].reshape(pairs, 2).mean(axis=1) - 0.5 * np.square(u[:pairs]) @ h).mean()
        return max(float(centre - slope @ m - 0.5 * h @ np.square(m)) - self.low, 0.0)

    @property
    def power(self) -> float:
        """The power of the loss, by how slopes grow with heights, with thirty rounds that have shown 3/2."""
        weight = max(float(self.falling[0]), 1.0)
        height, fall, square, product = self.falling[1:] / weight
        if height <= 0 or fall <= 0:
            return 1.5
        prior = 30.0 / weight * 0.25
        variance = max(square / height**2 - 1, 0.0) + prior  # both relative
        covariance = product / (height * fall) - 1 + prior * 2 / 3
        return 1 / (1 - float(min(max(0.5 * covariance / variance, 0.0), 0.5)))

    def followed(self, law: Array, u: Array, answers: Array, slope: Array, moved: Array) -> float:
        """The share of the way to the target that is left, where predictions have moved so far, over the extents."""
        if self.unbiased or self.curvature <= 0:
            return 1.0
        step = slope / self.h
        if self.answers > 1:
            most, fall = self.height(law, u, answers, slope), float(slope @ step)
        else:
            mean = max(self.falling[2], 0.0) / max(self.falling[0], 1.0) * self.usual_height
            most = self.usual_height
            fall = float(((self.steep + 0.5 * self.trend**2) / self.h).sum() + 0.5 * mean)
        share = self.power * most / fall if fall > 0 else 1.0
        done = -float(step @ moved)
        if share >= 1 or done <= 0:
            return 1.0
        return 1 - (1 - share) * min(done / max(0.5 * share * float(step @ step), 1e-300), 1.0)

    def step(self, slope: Array, share: float = 1.0) -> Array:
        """From the prediction to where the loss would be least, over the extents; the other way round."""
        if self.curvature <= 0:
            return np.zeros(self.d)
        step = slope / self.h
        if not self.unbiased:
            farthest = np.where(self.reach > 0, 8 * self.reach, math.inf)
            step = np.clip(step, -farthest, farthest)
        if self.ball:
            return np.asarray(step * min(share, 3.0 / max(float(np.linalg.norm(step)), 1e-300)))
        return np.clip(share * step, -3.0, 3.0)

    def constant(self, slope: Array, point: Array, width: Array) -> Array:
        """The best constant by the targets of all rounds and this one, each weighted by what it says; over the extents."""
        assert self.centre is not None
        weight = self.share * width**2 * self.relative(self.rounds + 1)
        target = point - self.step(slope)
        total = np.where(width > 0, self.heavy + weight, 1.0)
        return np.clip((self.pointed + weight * target) / total, self.centre - 0.5, self.centre + 0.5)

    def relative(self, rounds: int) -> float:
        """The weight of a round's loss against that of the first one of known noise."""
        return (self.unit / self.spread) ** 2 if rounds >= 30 and self.spread > 0 else 1.0

    def gradients(self, slope: Array, point: Array, anchors: Array, extent: Array, share: float = 1.0) -> Array:
        """Twice the way from the target to the anchors; nothing while the curvature is not known."""
        if self.curvature <= 0:
            return np.zeros_like(anchors)
        return np.asarray(2 * (anchors - (point - self.step(slope, share) * extent)))

    def regress(self, law: Array, u: Array, answers: Array, slope: Array, point: Array) -> tuple[Array, Array, float]:
        """What the round adds to both sums of the regression on ½u², in losses; and the mean absolute residual."""
        pairs, h, m = self.answers // 2, self.h, law[0]
        heights = answers[: 2 * pairs].reshape(pairs, 2).mean(axis=1)
        if self.answers % 2:
            own = answers[-1] - ((slope + h * m) @ u[-1] if pairs else 0.0)
            heights = np.append(heights, own)
        groups = [np.ones(self.d, dtype=bool)] if self.ball else list(np.eye(self.d, dtype=bool))
        squares, products, residual = np.zeros(self.d), np.zeros(self.d), 0.0
        for g, mine in enumerate(groups):
            half = 0.5 * np.square(u) @ mine
            rest = heights - 0.5 * np.square(u) @ np.where(mine, 0.0, h)
            size = np.abs(rest)
            most = 10 * (self.spread if len(heights) == 1 else self.contrast)
            most = most if self.rounds > 20 and most > 0 else math.inf
            if len(heights) == 1:
                about = half - 0.5 * law[2, g]
                rest = rest - self.b(point) - self.s(law) @ m - 0.5 * h @ np.square(m)
                if pairs == 0:
                    rest = rest - u @ (self.s(law) + h * m)
                rest = np.clip(rest, -most, most)
            else:
                about = half - half.mean()
                left = rest - rest.mean() - h[g] * about
                left = np.clip(np.where(np.abs(left) <= ROUNDING * size, 0.0, left), -most, most)
                rest = h[g] * about + left
                residual += float(np.abs(left).mean()) / len(groups)
            squares[g], products[g] = about @ about, about @ rest
        return squares, products, residual
