"""A second, slow implementation of the gradient from memory, in whole arrays: what a round says, and what is remembered of it.

Written from the formulas in `banditboost.gradients.remembered`, not from the kernel's loops. The law of a round is taken as given.
Lengths are over the extents of the space. With one answer, or two, a round has one *item* for the regression on ½u²; with more,
items are the means of pairs and the answer without a partner, less its slope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from banditboost._core.checks import Array

CLIP, GUESS, FIRST, GROWN, ROUNDING = 10.0, 100.0, 30, 4.0, 1e-13


@dataclass
class Slow:
    """A critic, in words: everything that the kernel keeps in two arrays."""

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
    surprises: tuple[float, float] = (0.0, 0.0)
    answer: float = 0.0
    same: int = 0
    near: int = 0
    squares: Array = field(default_factory=lambda: np.empty(0))
    products: Array = field(default_factory=lambda: np.empty(0))
    bend: Array = field(default_factory=lambda: np.empty(0))
    edge: Array = field(default_factory=lambda: np.empty(0))
    edges: Array = field(default_factory=lambda: np.empty(0))
    square: Array = field(default_factory=lambda: np.empty(0))
    mean: Array = field(default_factory=lambda: np.empty(0))
    varied: Array = field(default_factory=lambda: np.empty(0))

    def __post_init__(self) -> None:
        for name in ("squares", "products", "bend", "edge", "edges", "square", "mean", "varied"):
            setattr(self, name, np.zeros(self.d))
        if self.declared is not None:
            self.bend, self.curvature = self.declared.copy(), float(self.declared.mean())

    @property
    def h(self) -> Array:
        """The curvature along every coordinate, zero while it is not known."""
        if self.curvature <= 0:
            return np.zeros(self.d)
        return np.full(self.d, self.bend[0]) if self.ball else self.bend.copy()

    def s(self, law: Array) -> Array:
        """The slope at the prediction that the critic expects."""
        return np.zeros(self.d) if self.ball else self.edge * law[3]

    def expects(self, law: Array, v: Array) -> Array:
        """The critic's c(v) for rows v."""
        return np.asarray(self.level + v @ self.s(law) + 0.5 * np.square(v) @ self.h)

    def read(self, law: Array, u: Array, answers: Array) -> tuple[Array, float]:
        """The slope at the prediction, and the mean surprise."""
        m, w, h, s = law[0], law[1], self.h, self.s(law)
        share = 1 / (self.rank + 1) if self.ball else self.rim / (self.rim + 2)
        precision = np.divide(1.0, share * w**2, out=np.zeros(self.d), where=w > 0)
        pairs = self.answers // 2
        signed = np.concatenate([np.stack([u[:pairs], -u[:pairs]], axis=1).reshape(-1, self.d), u[pairs:]])
        surprise = float((answers - self.expects(law, m + signed)).mean())
        if pairs == 0:
            most = math.inf if self.unbiased or self.rounds <= 20 else CLIP * self.spread
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

    def step(self, slope: Array) -> Array:
        """From the prediction to where the loss would be least, over the extents; the other way round."""
        if self.curvature <= 0:
            return np.zeros(self.d)
        step = slope / self.h
        if self.ball:
            return np.asarray(step * min(1.0, 3.0 / max(float(np.linalg.norm(step)), 1e-300)))
        return np.clip(step, -3.0, 3.0)

    def gradients(self, slope: Array, point: Array, anchors: Array, extent: Array) -> Array:
        """Twice the way from the target to the anchors; nothing while the curvature is not known."""
        if self.curvature <= 0:
            return np.zeros_like(anchors)
        return np.asarray(2 * (anchors - (point - self.step(slope) * extent)))

    def regress(self, law: Array, u: Array, answers: Array, slope: Array) -> tuple[Array, Array, float]:
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
                rest = rest - self.level - self.s(law) @ m - 0.5 * h @ np.square(m)
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

    def remember(self, law: Array, u: Array, answers: Array, point: Array) -> None:
        """Learn from a round; `point` is its prediction over the extents."""
        unit, (slope, surprise) = self.unit, self.read(law, u, answers)
        squares, products, residual = self.regress(law, u, answers, slope)
        if self.rounds > 0 and self._flat(answers):
            return
        rate = max(0.01, 1 / (self.rounds + 1))
        away = point - self.mean
        self.mean = self.mean + rate * away
        self.varied = self.varied + rate * ((1 - rate) * away**2 - self.varied)
        self.rounds += 1
        if self.rounds == 1:
            self.level, self.low = self.level + surprise, float(answers.min())
            self.spread = float(np.abs(answers - self.level).mean()) if len(answers) > 1 else 0.0
            if self.spread <= ROUNDING * abs(self.level):
                self.spread = 0.0
        else:
            if self.near >= 5 and self.rounds <= FIRST:
                self.__init__(  # type: ignore[misc]
                    self.answers, self.d, self.rank, self.ball, self.rim, self.unbiased, self.declared
                )
                self.bend, self.curvature = np.zeros(self.d), 0.0
                return
            surprise = self._tame(surprise)
            self.spread += (abs(surprise) - self.spread) * rate
            self.level += surprise * rate
        self.square = self.square + rate * (law[0] ** 2 + (u**2).mean(axis=0) - self.square)
        if self.rounds > 1:
            self._follow_low(answers)
            if not self.ball:
                self._follow_edges(law, slope)
            self._follow_scale(surprise)
        self._follow_curvature(squares, products, residual, unit)

    def _flat(self, answers: Array) -> bool:
        top, change = float(answers.max()), abs(float(answers.max()) - self.answer)
        rounding = ROUNDING * float(np.abs(answers).max())
        self.answer = top
        self.same = self.same + 1 if np.ptp(answers) <= rounding and change <= rounding else 0
        self.near = self.near + 1 if 0 < change < 1e-3 * self.spread else 0
        return self.same > 10

    def _tame(self, surprise: float) -> float:
        surprise = 0.0 if abs(surprise) <= ROUNDING * abs(self.level) else surprise
        three = (*self.surprises, surprise)
        self.surprises = three[1:]
        if self.rounds <= 3:
            return surprise
        lasting = float(np.median(three))
        if abs(lasting) > 20 * self.spread:
            self.level, self.low, surprise = self.level + lasting, self.low + lasting, surprise - lasting
            self.surprises = (three[1] - lasting, three[2] - lasting)
        most = 10 * self.spread if self.spread > 0 else math.inf
        return min(max(surprise, -most), most)

    def _follow_low(self, answers: Array) -> None:
        step = self.spread * max(0.02, 1 / math.sqrt(self.rounds)) / len(answers)
        for answer in answers:
            if self.rounds <= FIRST:
                self.low = min(self.low, float(answer))
            else:
                self.low += step * (0.05 if answer > self.low else -0.95)

    def _follow_edges(self, law: Array, slope: Array) -> None:
        near = law[3]
        seen = (near != 0) & (law[1] > 0)
        most = 40 * self.spread
        missed = np.clip(slope, -most, most) - self.edge * near
        self.edges = np.where(seen, 0.995 * self.edges + near**2, self.edges)
        self.edge = np.where(seen, self.edge + missed * near / (self.edges + 10), self.edge)

    def _follow_scale(self, surprise: float) -> None:
        size = abs(surprise)
        if self.rounds > 30 and self.slow > 0:
            size = min(size, 10 * self.slow)
        self.fast += (size - self.fast) / min(self.rounds, 30)
        self.slow += (size - self.slow) / min(self.rounds, 400)
        if self.rounds > 60 and self.fast > GROWN * self.slow and self.declared is None:
            growth, self.slow = self.fast / self.slow, self.fast
            self.spread, self.curvature, self.unit = (growth * x for x in (self.spread, self.curvature, self.unit))
            self.edge, self.bend = growth * self.edge, growth * self.bend
            self.squares, self.products = 0.1 * self.squares, 0.1 * self.products

    def _follow_curvature(self, squares: Array, products: Array, residual: float, unit: float) -> None:
        """Add a round to the sums; `unit` is what products were measured in when the round was read."""
        if self.declared is not None:
            return
        noise = self.spread
        if self.answers > 2:
            self.contrast += (residual - self.contrast) * max(0.01, 1 / self.rounds)
            noise = max(self.contrast, 0.02 * self.spread)
        if noise <= 0:
            return
        if self.unit <= 0:
            self.unit = noise
        products = products / (unit if unit > 0 else self.unit)
        weight, early = (self.unit / noise) ** 2, self.rounds <= FIRST
        forget = 1 - 1 / (self.rounds + 21)
        self.squares = forget * self.squares + squares * (1.0 if early else weight)
        self.products = forget * self.products + products * (1.0 if early else weight)
        if self.rounds == FIRST:
            self.squares, self.products = weight * self.squares, weight * self.products
        whole = weight if self.rounds < FIRST else 1.0
        self._use(whole)

    def _use(self, whole: float) -> None:
        """Say which curvature is in use from now on."""
        seen = whole * self.squares.sum()
        if seen <= 0:
            return
        guess = GUESS * max(self.level - self.low, 0.5 * self.spread) / self.unit
        total = seen + guess**-2
        error = total**-0.5
        mean = (whole * self.products.sum() + 1 / guess) / total
        mean = max(mean + error * 30 / (30 + self.rounds), 0.01 * guess)
        soon = {1: 20, 2: 8}.get(self.answers, 3)
        if self.curvature <= 0 and self.rounds < 60 and (self.rounds < soon or error > 0.33 * mean):
            return
        self.curvature = mean * self.unit
        groups = 1 if self.ball else self.d
        own = np.full(groups, mean)
        if groups > 1:
            prior = 4 / mean**2
            own = (whole * self.products + prior * mean) / (whole * self.squares + prior)
            own = np.maximum(own, max(0.125 * mean, 0.01 * guess))
        change = own * self.unit - self.bend[:groups]
        self.bend[:groups] = own * self.unit
        self.level -= float(0.5 * (np.broadcast_to(change, self.d) @ self.square))

    def arrays(self) -> tuple[Array, Array]:
        """The memory as the kernel keeps it."""
        facts = [self.rounds, self.level, self.low, self.spread, self.curvature]
        facts += [self.unit, self.fast, self.slow, self.contrast]
        rows = [self.squares, self.products, self.bend, self.edge, self.edges, self.square, self.mean, self.varied]
        return np.array(facts, dtype=float), np.array(rows)
