"""What the slow implementation of the gradient from memory remembers of a round (`slow_critic` has what it expects of one)."""

from __future__ import annotations

import math

import numpy as np

from banditboost._core.checks import Array
from tests.gradients.slow_critic import ROUNDING, ROWS, SlowCritic

GUESS, FIRST, GROWN, LEARNED, RIDGE, FLOOR, CUT, SETTLED = 100.0, 30, 4.0, 1000, 30.0, 0.5, 5.0, 300
FALLS_KEPT, LARGEST, WRONG = 0.998, 10.0, 8.0


class Slow(SlowCritic):
    """A critic that learns."""

    def remember(self, law: Array, u: Array, answers: Array, point: Array) -> None:
        """Learn from a round; `point` is its prediction over the extents."""
        unit, (slope, surprise) = self.unit, self.read(law, u, answers, point)
        squares, products, residual = self.regress(law, u, answers, slope, point)
        size = float(np.abs(answers - answers.mean()).mean()) if self.answers > 2 else abs(answers[0] - self.answer)
        silent = self.silent(answers)
        self._follow_answers(answers)
        if silent:
            return
        rate = max(0.01, 1 / (self.rounds + 1))
        away = point - self.mean
        self.mean = self.mean + rate * away
        self.varied = self.varied + rate * ((1 - rate) * away**2 - self.varied)
        self.rounds += 1
        if self.rounds == 1:
            self._follow_target(law, u, answers, slope, point)
            self._begin(law, u, answers, surprise)
            some = 1.0 if self.answers > 2 else 0.0  # there was nothing to compare one item with
            self._follow_curvature(some * squares, some * products, residual, unit)
            return
        if self.near >= 5 and self.rounds <= FIRST:
            kept = {name: getattr(self, name) for name in ("lasting", "wary", "levels", "changes", "centre")}
            self.__init__(  # type: ignore[misc]
                self.answers, self.d, self.rank, self.ball, self.rim, self.unbiased, self.declared
            )
            vars(self).update(kept)
            self.bend, self.curvature = np.zeros(self.d), 0.0
            return
        varying = float(self.coefficients @ self.terms(point))
        surprise = self._tame(surprise + varying)
        self._follow_levels(self.terms(point), surprise)
        self.spread += (abs(surprise) - self.spread) * rate
        self.level += surprise * rate
        self.square = self.square + rate * (law[0] ** 2 + (u**2).mean(axis=0) - self.square)
        self._follow_low(answers)
        if not self.ball:
            self._follow_edges(law, slope)
        if self.curvature > 0:
            far = np.abs(slope) / self.h
            usual = np.where(self.reach > 0, self.reach + rate * (np.minimum(far, 3 * self.reach) - self.reach), far)
            self.reach = np.where(law[1] > 0, usual, self.reach)
        pairs = self.answers // 2
        sides = np.concatenate([u[:pairs], -u[:pairs], u[pairs:]])
        bowed = 0.5 * np.square(law[0] + sides) @ self.h
        self.high += (float(answers.mean()) - self.high) / min(self.rounds, 30)
        self.bowed += (float(bowed.mean()) - self.bowed) / min(self.rounds, 30)
        seen = (law[1] > 0) & (self.h > 0)
        falls = float(np.divide(0.5 * slope**2, self.h, out=np.zeros(self.d), where=seen).sum())
        self.steeply += (falls - self.steeply) / min(self.rounds, 30)
        self.sizes += (float(size) - self.sizes) / min(self.rounds, 30)
        self._follow_scale(float(size))
        self._follow_falls(law, u, answers, slope)
        self._follow_slopes(law, u, slope, surprise - varying, rate)
        self._follow_target(law, u, answers, slope, point)
        self._follow_curvature(squares, products, residual, unit)
        self._target_of_first(point)

    def _follow_target(self, law: Array, u: Array, answers: Array, slope: Array, point: Array) -> None:
        """The weights and the weighted sum of targets; sums of powers of v, and of v times losses, before there are targets."""
        if not self.levels or self.ball or self.answers > 1:
            return
        free, v = law[1] > 0, law[0] + u[0]
        if self.curvature > 0:
            weight = np.where(free, self.share * law[1] ** 2 * self.relative(self.rounds), 0.0)
            self.heavy = self.heavy + weight
            self.pointed = self.pointed + weight * (point - self.step(slope))
            return
        for name, more in (("heavy", 1.0), ("pointed", answers[0]), ("away", v), ("aways", v**2), ("cubes", v**3)):
            setattr(self, name, getattr(self, name) + np.where(free, more, 0.0))
        self.sloped = self.sloped + np.where(free, v * answers[0], 0.0)

    def _target_of_first(self, point: Array) -> None:
        """A line through the losses of the first rounds less what is curved of them, by least squares."""
        if not self.levels or self.ball or self.answers > 1 or self.curvature <= 0:
            return
        for j in np.flatnonzero(self.aways > 0):
            n, h = self.heavy[j], self.h[j]
            system = np.array([[n, self.away[j]], [self.away[j], self.aways[j]]])
            right = [self.pointed[j] - 0.5 * h * self.aways[j], self.sloped[j] - 0.5 * h * self.cubes[j]]
            step = np.clip(np.linalg.solve(system, right)[1] / h, -3.0, 3.0)
            self.heavy[j] = np.linalg.det(system) / n * self.relative(self.rounds)
            self.pointed[j] = self.heavy[j] * (point[j] - step)
            self.away[j] = self.aways[j] = self.cubes[j] = self.sloped[j] = 0.0
        if self.rounds == FIRST - 1:
            weight = (self.unit / self.spread) ** 2
            self.heavy, self.pointed = weight * self.heavy, weight * self.pointed

    def _begin(self, law: Array, u: Array, answers: Array, surprise: float) -> None:
        self.level, self.low = self.level + surprise, float(answers.min())
        self.spread = float(np.abs(answers - self.level).mean()) if len(answers) > 1 else 0.0
        if self.spread <= ROUNDING * abs(self.level):
            self.spread = 0.0
        self.square = law[0] ** 2 + (u**2).mean(axis=0)

    def _follow_levels(self, terms: Array, missed: float) -> None:
        """Weighted least squares with a ridge, of what the mean level missed: one sweep of Gauss and Seidel a round."""
        if self.spread <= 0 or self.unit <= 0:
            return
        kept, weight = 1 - 2 / (self.rounds + 40), (self.unit / self.spread) ** 2
        self.matrix = kept * self.matrix + weight * np.outer(terms, terms)
        self.column = kept * self.column + weight * missed * terms
        system = self.matrix + RIDGE * weight * np.eye(len(terms))
        lower = np.tril(system)
        self.coefficients = np.asarray(
            np.linalg.solve(lower, self.column - (system - lower) @ self.coefficients), float
        )

    def _follow_slopes(self, law: Array, u: Array, slope: Array, surprise: float, rate: float) -> None:
        """The mean of squared slopes, and with one answer the mean slope in the open too."""
        free, variance = law[1] > 0, self.share * law[1] ** 2
        if self.answers > 1:
            squared = np.minimum(np.square(slope), (40 * self.spread) ** 2)
            self.steep = np.where(free, self.steep + rate * (squared - self.steep), self.steep)
            return
        if self.unit > 0 and self.spread > 0:
            about = np.where(free, u[0] ** 2 - variance, 0.0)
            kept, weight = np.where(free, 1 - 2 / (self.rounds + 40), 1.0), (self.unit / self.spread) ** 4
            more = min(abs(surprise), CUT * self.spread) ** 2 - 1.5 * self.spread**2
            self.steeps = kept * self.steeps + weight * about**2
            self.steepness = kept * self.steepness + weight * about * more / self.unit**2
            if self.rounds > 200:
                error = self.wary / np.sqrt(self.steeps)
                found = np.maximum(self.steepness / self.steeps - error, 0.0) * self.unit**2
                self.steep = np.where(free, found, self.steep)
        seen = free & (law[3] == 0)
        safe = np.where(free, variance, 1.0)
        self.trends = np.where(seen, 0.98 * self.trends + u[0] ** 2 / safe, self.trends)
        self.trend = np.where(seen, self.trend + surprise * u[0] / safe / (self.trends + 4), self.trend)

    def _follow_falls(self, law: Array, u: Array, answers: Array, slope: Array) -> None:
        """How heights and falls vary together, in units of the usual height."""
        usual = self.usual_height
        if self.curvature <= 0 or usual <= 0:
            return
        if self.answers > 1:
            height, fall, noise = self.height(law, u, answers, slope), float(slope @ (slope / self.h)), 0.0
        else:
            height, fall = float(answers[0]) - self.low, float(slope @ (self.trend / self.h))
            noise = float(self.trend @ (law[0] + u[0]))
        height, fall = (float(np.clip(value / usual, -LARGEST, LARGEST)) for value in (height, fall))
        square = height**2 - min((noise / usual) ** 2, LARGEST**2)
        self.falling = FALLS_KEPT * self.falling + np.array([1.0, height, fall, square, height * fall])

    def _follow_answers(self, answers: Array) -> None:
        top, change = float(answers.max()), abs(float(answers.max()) - self.answer)
        rounding = ROUNDING * float(np.abs(answers).max())
        self.answer = top
        if np.ptp(answers) <= rounding and change <= rounding:
            self.same += 1
        else:
            self.longest, self.same = min(max(self.longest, self.same), 100), 0
        self.near = self.near + 1 if 0 < change < 0.01 * self.spread else 0

    def _tame(self, surprise: float) -> float:
        surprise = 0.0 if abs(surprise) <= ROUNDING * abs(self.level) else surprise
        three = (*self.surprises, surprise)
        self.surprises = three[1:]
        if self.rounds <= 3:
            return surprise
        lasting = float(np.median(three))
        if abs(lasting) > 20 * self.spread:
            self.level, self.low, surprise = self.level + lasting, self.low + lasting, surprise - lasting
            self.began += lasting
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
        missed = np.clip(slope, -most, most) - self.s(law)
        self.edges = np.where(seen, 0.995 * self.edges + near**2, self.edges)
        self.edge = np.where(seen, self.edge + missed * near / (self.edges + 10), self.edge)

    def _follow_scale(self, size: float) -> None:
        before = self.slow
        if self.rounds > 30 and before > 0:
            size = min(size, 10 * before)
        if self.settling > 0:
            self.slow += (size - before) * 2 / (self.settling + 10)
            self.fast = self.slow
            self.settling = self.settling + 1 if self.settling < SETTLED else 0
            self._grow(self.slow / before)
            return
        self.fast += (size - self.fast) / min(self.rounds, 30)
        waits = not 0.5 * before < self.fast < 2 * before
        self.slow += (size - before) / min(self.rounds, 2000 if waits else 400)
        ratio = self.fast / self.slow if self.slow > 0 else 1.0
        least = 1 / GROWN if self.rounds > LEARNED else 0.0
        if self.rounds <= 60 or self.declared is not None or least <= ratio <= GROWN:
            return
        if self.changes and 0 < ratio < 1 and self.gone > 0.7:
            self.gone, self.slow = max(self.gone + math.log(ratio), 0.0), self.fast
            return
        allowed = self.high - self.low >= 0.5 * self.bowed
        if ratio < 1 and self.answers <= 2 and allowed and self.grew <= 0.7:
            return
        if self.changes and ratio > 1 and self._gone_wrong(ratio):
            self.reach, self.steep = math.sqrt(ratio) * self.reach, ratio * self.steep
            self.spread, self.slow = ratio * self.spread, self.fast
            self.gone += math.log(ratio)
            return
        for name in ("squares", "products", "steeps", "steepness"):
            setattr(self, name, 0.1 * getattr(self, name))
        if ratio > 1 or self.answers <= 2:
            self._grow(ratio)
            self.settling = 1
        self.slow = self.fast

    def _gone_wrong(self, growth: float) -> bool:
        """Whether slopes are no steeper than wrong predictions make them; with one answer, whether losses are no larger."""
        if self.answers == 1:
            return self.fast < WRONG * float(0.5 * self.h @ self.varied)
        height = max(self.high - self.bowed - self.low, self.sizes if self.answers == 2 else 0.0)
        return height > 0 and self.steeply < math.sqrt(growth) * height

    def _grow(self, growth: float) -> None:
        """All losses that are remembered have grown; a level that has risen shows by itself."""
        for name in (
            "spread",
            "bowed",
            "curvature",
            "regressed",
            "unit",
            "edge",
            "trend",
            "bend",
            "column",
            "coefficients",
        ):
            setattr(self, name, growth * getattr(self, name))
        self.steep = growth**2 * self.steep
        self.level = self.low + (self.level - self.low) * growth if growth < 1 else self.level
        self.grew += math.log(growth)

    def _follow_curvature(self, squares: Array, products: Array, residual: float, unit: float) -> None:
        """Add a round to the sums; `unit` is what products were measured in when the round was read."""
        if self.declared is not None:
            groups = 1 if self.ball else self.d
            self.bend[:groups], self.curvature = self.declared[:groups], float(self.declared[:groups].mean())
            self.unit = self.unit if self.unit > 0 else self.spread
            self.began = self.level if self.rounds <= FIRST else self.began
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
        seen, height = whole * self.squares.sum(), max(self.level - self.low, 0.5 * self.spread)
        if seen <= 0 or height <= 0:
            return
        least = 0.01 * GUESS * height / self.unit
        guess = max(GUESS * height, self.regressed) / self.unit
        belief = guess**-2
        error = (seen + belief) ** -0.5
        mean = (whole * self.products.sum() + belief * guess) / (seen + belief)
        mean = max(mean + error * 30 / (30 + self.rounds), least)
        soon = {1: 20, 2: 8}.get(self.answers, 3)
        if self.curvature <= 0:
            if self.rounds < 60 and (self.rounds < soon or error > 0.33 * mean):
                return
            self.began = self.level
        elif self.answers == 1:
            mean = max(mean, self.lasting * self.regressed / self.unit)
        if self.answers == 1:
            mean = max(mean, self.wary * error)
        self.regressed = mean * self.unit
        groups = 1 if self.ball else self.d
        own = np.full(groups, mean)
        if groups > 1:
            prior = 4 / mean**2
            own = (whole * self.products + prior * mean) / (whole * self.squares + prior)
            own = np.maximum(own, max(0.125 * mean, least))
        own = own * self.unit
        steep = self.steep.sum(keepdims=True) if self.ball else self.steep
        bound = (FLOOR if self.answers > 1 else 1.0) * steep / (2 * height)
        own = np.maximum(own, np.minimum(bound, 10 * own))
        change, self.curvature = own - self.bend[:groups], float(own.mean())
        self.bend[:groups] = own
        self.level -= float(0.5 * (np.broadcast_to(change, self.d) @ self.square))

    def arrays(self) -> dict[str, Array]:
        """The memory as the kernel keeps it."""
        facts = [self.rounds, self.level, self.low, self.spread, self.curvature, self.unit, self.fast, self.slow]
        facts += [self.contrast, self.began, *self.surprises[::-1], self.answer, self.same, self.near, self.regressed]
        facts += [self.settling, self.longest, 0.0, self.high, self.bowed, self.grew, *self.falling]
        facts += [self.steeply, self.sizes, self.gone] if self.changes else []
        levels = np.column_stack([self.matrix, self.column, self.coefficients])
        bends = np.array([getattr(self, name) for name in ROWS])
        return {"facts": np.array(facts, dtype=float), "bends": bends, "levels": levels}
