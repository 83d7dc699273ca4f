"""A critic for sales: the probability of a sale as a function of context and price, learned online.

Idea: the log-odds of a sale are linear in the price, with coefficients that depend on the context. With z the scaled features
(`critics.terms`), u = (price - low) / (high - low) - 1/2, φ = (1, z, products of two features) and ψ = (1, z),

    log-odds(x, price) = β·φ(x) + σ·ψ(x) u = θ·f,        θ = (β, σ),  f = (φ, u ψ).

The weights have a normal posterior N(θ, P). A round with the answer y (1 for a sale, 0 for none) replaces it by the maximum and the
curvature of posterior times likelihood, which is a search for one number k. With s(η) = 1 / (1 + exp(-η)) and v = f'Pf,

    k = y - s(θ·f + v k),     θ ← θ + k P f,     P ← P - r/(1 + r v) P f f' P     with r = s(1 - s) at the new log-odds.

For one answer that maximum is exact. The usual Newton step divides by s(1 - s) at the *old* log-odds instead, and throws log-odds
by hundreds where a sale came as a surprise. Prior: θ = 0 but for the slope, which is -4 over the whole interval. The variances of
intercept and slope are so large that both are as good as free. The other coefficients share a fixed variance among them, so that
log-odds vary as much with many features as with few.

The expected loss is -price · s(log-odds). Where log-odds fall with the price, as α - κ·price, it has a single minimum, at
(1 + ω)/κ with ω exp(ω) = exp(α - 1), or at the end of the interval next to it. It is not convex in the price.

References
----------
Spiegelhalter, Lauritzen (1990), "Sequential updating of conditional probabilities on directed graphical structures"; Kulis,
Bartlett (2010), "Implicit Online Learning", for steps that are solved for the new weights.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtr, wrightomega

from banditboost._core.checks import Array, count
from banditboost._core.spec import Memory
from banditboost.critics import terms
from banditboost.critics.base import Critic
from banditboost.critics.suspicion import Suspicion
from banditboost.losses import Loss, Sale
from banditboost.spaces import Interval, Space

FREE = 1000.0
"""Prior variance of the intercept and of the slope."""
STEEPNESS = 4.0
"""By how much log-odds fall from the lowest to the highest price, before the first answer."""
LINEAR = 4.0
"""Prior variance of the part of log-odds that is linear in the features, and of the part of the slope that is."""
QUADRATIC = 1.0
"""Prior variance of the part of log-odds that is made of products."""
GENTLEST = 2.0
"""A slope that falls by less than this over the whole interval is taken for one that does, where prices are compared with it."""


class Line(NamedTuple):
    """The log-odds of a sale in one context, level + slope · u, and what they are made of."""

    level: float
    slope: float
    features: Array
    """φ, and ψ after it."""
    z: Array


@dataclass(frozen=True)
class Sales(Critic, kind="critics.Sales"):
    """Learns from prices and their losses (-price for a sale, 0 for none) how likely a sale is.

    Parameters
    ----------
    products_up_to
        Most features for which products of two features enter the log-odds; with more, log-odds are linear in the context.
        The critic remembers a square matrix with about half as many rows as the square of this number.

    Examples
    --------
    >>> from banditboost.worlds import Shop
    >>> shop, critic, rng = Shop(customers=1000, seed=1), Sales(), np.random.default_rng(0)
    >>> memory = critic.start(shop.features, shop.space)
    >>> for t in range(1000):
    ...     x, price = shop.context(t), rng.uniform(0, 10)
    ...     critic.learn(memory, x, price, float(shop.values(t, price)))
    >>> prices = [critic.best(memory, x, shop.space) for x in shop.contexts()]
    >>> round(shop.share(prices), 2)
    0.99
    """

    products_up_to: int = 12

    loss: ClassVar[Loss] = Sale()

    def __post_init__(self) -> None:
        super().__post_init__()
        count("products_up_to", self.products_up_to, least=0)

    def check(self, space: Space) -> None:
        """Raise an error where decisions are not prices."""
        if not isinstance(space, Interval) or space.low < 0:
            raise ValueError(f"space must be an Interval of prices, none of them negative, got {space!r:.200}.")

    def suspicion(self) -> Suspicion:
        """Return what notices that sales are told as 1, whatever the price."""
        return Suspicion()

    def _pairs(self, features: int) -> int:
        return features * (features + 1) // 2 if features <= self.products_up_to else 0

    def n_floats(self, features: int) -> int:
        """Return how many numbers the memory has: a square matrix of all weights is the largest part."""
        weights = 2 * (1 + features) + self._pairs(features)
        return weights * (weights + 1) + 2 * features + 3

    def start(self, features: int, space: Space) -> Memory:
        """Return the memory before the first round."""
        self.check(space)
        assert isinstance(space, Interval)
        pairs = self._pairs(features)
        linear = [LINEAR / max(features, 1)] * features
        variances = np.array([FREE, *linear, *[QUADRATIC / max(pairs, 1)] * pairs, FREE, *linear])
        weights = np.zeros(len(variances))
        weights[-1 - features] = -STEEPNESS
        ends = np.array([space.low, space.high])
        return {**terms.statistics(features), "ends": ends, "weights": weights, "covariance": np.diag(variances)}

    def chances(self, memory: Memory, context: Array | None, points: ArrayLike) -> Array:
        """Return the probability of a sale at each price."""
        line = self._line(memory, context)
        return np.asarray(expit(line.level + line.slope * _units(memory, points)))

    def curve(self, memory: Memory, context: Array | None, points: ArrayLike) -> Array:
        """Return the expected loss of each price, -price · P(sale)."""
        return -np.asarray(points, dtype=np.float64) * self.chances(memory, context, points)

    def slope(self, memory: Memory, context: Array | None, points: ArrayLike) -> Array:
        """Return the derivative of the expected loss at each price."""
        line, prices = self._line(memory, context), np.asarray(points, dtype=np.float64)
        chances = expit(line.level + line.slope * _units(memory, prices))
        return np.asarray(-chances * (1 + prices * (1 - chances) * line.slope / _length(memory)))

    def best(self, memory: Memory, context: Array | None, space: Interval) -> float:
        """Return the price of the least expected loss in a space; the highest where log-odds do not fall with the price."""
        return float(space.project(np.asarray(_peak(memory, self._line(memory, context))[0])))

    def uncertainty(self, memory: Memory, context: Array | None, space: Interval) -> float:
        """Return the standard deviation of the best price under the posterior, to first order in the weights.

        It is small where an end of the space is best for sure. Prices drawn uniformly within √3 times this number of the best one
        explore as far as the posterior doubts.
        """
        line = self._line(memory, context)
        peak, by_level, by_slope = _peak(memory, line)
        if not math.isfinite(peak):
            return 0.5 * space.diameter  # that of the two ends, each with probability 1/2
        terms_of_level = len(line.features) - 1 - len(line.z)
        change = np.concatenate([by_level * line.features[:terms_of_level], by_slope * line.features[terms_of_level:]])
        spread = math.sqrt(max(float(change @ memory["covariance"] @ change), 0.0))
        return _cut_off_spread(peak, spread, space)

    def scale(self, memory: Memory, context: Array | None) -> float:
        """Return the change of the price that changes log-odds by one, at most half the interval: the unit of careful steps."""
        return _length(memory) / max(-self._line(memory, context).slope, GENTLEST)

    def learn(self, memory: Memory, context: Array | None, point: float, loss: float) -> None:
        """Learn from the loss of a price: -price for a sale, 0 for none, anything between for a part of a sale.

        A price of zero has no loss either way: only the context's statistics learn from it.
        """
        price = float(point)
        if price > 0:
            line, u = self._line(memory, context), float(_units(memory, price))
            f = line.features.copy()
            f[-1 - len(line.z) :] *= u
            _update(memory, f, min(max(-float(loss) / price, 0.0), 1.0))
        terms.see(memory, context)

    def _line(self, memory: Memory, context: Array | None) -> Line:
        z = terms.scaled(memory, context)
        more = terms.products(z) if len(z) <= self.products_up_to else z[:0]
        features = np.concatenate([(1.0,), z, more, (1.0,), z])
        parts, cut = features * memory["weights"], len(features) - 1 - len(z)
        return Line(float(parts[:cut].sum()), float(parts[cut:].sum()), features, z)


def _length(memory: Memory) -> float:
    low, high = memory["ends"].tolist()
    return float(high - low)


def _units(memory: Memory, points: ArrayLike) -> Array:
    """Return prices as numbers u, from -1/2 at the lowest to 1/2 at the highest."""
    return np.asarray((np.asarray(points, dtype=np.float64) - memory["ends"][0]) / _length(memory) - 0.5)


def _update(memory: Memory, f: Array, y: float) -> None:
    """Replace the posterior by the maximum of posterior times likelihood and by the curvature there."""
    weights, covariance = memory["weights"], memory["covariance"]
    along = covariance @ f
    variance, log_odds = float(f @ along), float(f @ weights)
    step = _step(log_odds, variance, y)
    chance = _chance(log_odds + variance * step)
    rate = chance * (1 - chance)
    weights += step * along
    covariance -= np.outer(along, rate / (1 + rate * variance) * along)


def _step(log_odds: float, variance: float, y: float) -> float:
    """Return the k with k = y - s(log-odds + variance · k), by Newton's steps that never leave a bracket."""
    first = y - _chance(log_odds)
    low, high = min(0.0, first), max(0.0, first)
    k = first / (1 + 0.25 * variance)
    for _ in range(100):
        chance = _chance(log_odds + variance * k)
        excess = k - y + chance
        low, high = (low, k) if excess > 0 else (k, high)
        new = k - excess / (1 + variance * chance * (1 - chance))
        new = new if low < new < high else 0.5 * (low + high)
        if abs(new - k) <= 1e-14:
            break
        k = new
    return k


def _chance(log_odds: float) -> float:
    tail = math.exp(-abs(log_odds))
    return (1.0 if log_odds > 0 else tail) / (1.0 + tail)


def _peak(memory: Memory, line: Line) -> tuple[float, float, float]:
    """Return the best of all prices, and its derivatives by level and slope; infinite where log-odds do not fall."""
    length, low = _length(memory), float(memory["ends"][0])
    fall = -line.slope / length
    if not fall > 0:
        return math.inf, math.inf, math.inf
    shift = low / length + 0.5  # level + slope · u = (level - slope · shift) - fall · price
    omega = float(wrightomega(line.level - line.slope * shift - 1))
    price = (1 + omega) / fall
    by_level = omega / (1 + omega) / fall
    return price, by_level, price / (fall * length) - shift * by_level


def _cut_off_spread(mean: float, spread: float, space: Interval) -> float:
    """Return the standard deviation of a normal number that is moved to the nearer end where it lies outside an interval."""
    if not spread > 0:
        return 0.0
    if not math.isfinite(mean + spread):
        return 0.5 * space.diameter
    centre = float(
        space.project(np.asarray(mean))
    )  # all numbers from here on are distances from it, for the sake of rounding
    low, high, away = space.low - centre, space.high - centre, mean - centre
    a, b = (low - away) / spread, (high - away) / spread
    below, above = float(ndtr(a)), float(ndtr(-b))
    at_a, at_b = (math.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) for x in (a, b))
    inside = max(1 - below - above, 0.0)
    first = low * below + high * above + away * inside + spread * (at_a - at_b)
    squares = (away**2 + spread**2) * inside + 2 * away * spread * (at_a - at_b) + spread**2 * (a * at_a - b * at_b)
    return math.sqrt(max(low * low * below + high * high * above + squares - first * first, 0.0))
