"""Confidence sequences: intervals for a mean that hold at all times at once, so that they may be watched after every round.

An interval for a fixed number of rounds is wrong sooner or later for whoever looks at it again and again. A *confidence sequence*
is wrong at any time at all with the promised probability only, however long it is watched and whatever is done on seeing it.

What is estimated is the mean of the terms' conditional means, (E_0 X_1 + ... + E_{t-1} X_t) / t: it may change from round to round,
and terms may depend on the past, as those of a learner do.

- Where terms are bounded, the empirical Bernstein sequence of Howard et al. (2021), Theorem 4, holds for every number of rounds:
  with predictions m_i from earlier terms, V = Σ (X_i - m_i)², and c at least |X_i - m_i|, exp(λ Σ (X_i - E X_i) - ψ(λ) V) is a
  supermartingale for every λ in [0, 1/c), where ψ(λ) = (-log(1 - cλ) - cλ) / c². Their mixture (2021, Proposition 9)
  averages it over λ.
- Where they are not, the *asymptotic* sequence of Waudby-Smith et al. (2024), Theorem 2.5, which is Howard et al.'s one-sided
  normal mixture (Proposition 6) with the estimated variance: it holds nearly once there are many rounds, and is no promise before.

Each side is a one-sided bound at half of what may go wrong.

References
----------
Howard, Ramdas, McAuliffe, Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics
49; Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), "Time-uniform central limit theory and asymptotic confidence sequences",
Annals of Statistics 52; Ville (1939), "Étude critique de la notion de collectif".
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.optimize import brentq
from scipy.special import gammainc, gammaln, log_ndtr

from banditboost._core import checks

TIGHTEST_BOUNDED, TIGHTEST_ASYMPTOTIC = 10.0, 1000.0
"""Where mixtures are tightest: at this V in units of c², and after so many rounds. They hold everywhere."""


def log_gamma_exponential(s: float, v: float, rho: float, scale: float) -> float:
    """Return the logarithm of the gamma-exponential mixture of Howard et al. (2021), Proposition 9.

    Parameters
    ----------
    s
        How far a sum lies above the sum of its conditional means, at least 0.
    v
        The sum of squared errors of its terms' predictions.
    rho
        Where the mixture is tightest.
    scale
        The largest error of a prediction (c).

    Examples
    --------
    The mixture is an integral over λ = (1 - u) / c, which may as well be summed:

    >>> import numpy as np
    >>> u = (np.arange(200_000) + 0.5) / 200_000
    >>> density = u ** (3.0 - 1) * np.exp(-3.0 * u)
    >>> values = np.exp((1 - u) * 2.0 + 5.0 * (np.log(u) + 1 - u))
    >>> bool(np.isclose(np.log((density * values).sum() / density.sum()), log_gamma_exponential(2.0, 5.0, rho=3.0, scale=1.0)))
    True
    """
    a, b, z = rho / scale**2, (v + rho) / scale**2, (scale * s + v + rho) / scale**2
    prior = a * math.log(a) - float(gammaln(a)) - math.log(float(gammainc(a, a)))
    return prior + float(gammaln(b)) + math.log(float(gammainc(b, z))) - b * math.log(z) + (scale * s + v) / scale**2


def log_half_normal(s: float, v: float, rho: float) -> float:
    """Return the logarithm of the one-sided normal mixture of Howard et al. (2021), Proposition 6.

    Examples
    --------
    >>> import numpy as np
    >>> rate = (np.arange(200_000) + 0.5) * 1e-4
    >>> density = np.exp(-3.0 * rate**2 / 2)
    >>> values = np.exp(rate * 2.0 - rate**2 * 5.0 / 2)
    >>> bool(np.isclose(np.log((density * values).sum() / density.sum()), log_half_normal(2.0, 5.0, rho=3.0)))
    True
    """
    both = v + rho
    return math.log(2.0) + 0.5 * math.log(rho / both) + s * s / (2.0 * both) + float(log_ndtr(s / math.sqrt(both)))


def tightest(v: float, alpha: float) -> float:
    """Return the parameter of a mixture that is tightest near v (Howard et al. 2021, Section 3.5, to leading order)."""
    log = 2.0 * math.log(1.0 / alpha)
    return v / (log + math.log1p(log))


class ConfidenceSequence:
    """Lower and upper bounds for a mean that hold at all times with the promised probability.

    Parameters
    ----------
    bounds
        Between which values all terms lie, for the empirical Bernstein sequence; None for the asymptotic one.
    confidence
        How often the interval shall hold the mean at all times.
    mean_bounds
        Between which values the conditional means lie, where that is less than for terms.
    fewest
        How many terms the asymptotic sequence needs before it says anything.

    Examples
    --------
    A coin, watched after every toss:

    >>> import numpy as np
    >>> sequence = ConfidenceSequence(bounds=(0, 1), confidence=0.95)
    >>> for x in np.random.default_rng(0).integers(0, 2, 5000):
    ...     sequence.learn(x)
    >>> print("{:.3f} to {:.3f}".format(*sequence.interval()))
    0.475 to 0.529
    >>> sequence.above(0.4), sequence.above(0.49)
    (True, False)
    """

    def __init__(
        self,
        bounds: Sequence[float] | None = None,
        confidence: float = 0.95,
        mean_bounds: Sequence[float] | None = None,
        fewest: int = 100,
    ) -> None:
        self.alpha = 1.0 - checks.between("confidence", confidence, 0.0, 1.0)
        """What may go wrong, both sides together."""
        self.bounds = None if bounds is None else _ends("bounds", bounds)
        self.means = self.bounds if mean_bounds is None else _ends("mean_bounds", mean_bounds)
        self.fewest = checks.count("fewest", fewest)
        self.n = 0
        """How many terms were learned."""
        self.total = 0.0
        self.squares = 0.0
        """Σ (X_i - m_i)² with predictions from earlier terms; for the asymptotic sequence the sum of squared deviations."""
        self.least_variance = 0.0
        """What the asymptotic sequence takes for the variance of a term where its own estimate is less."""
        self.scale = 0.0
        if self.bounds is not None and self.means is not None:
            self.scale = max(self.bounds[1] - self.means[0], self.means[1] - self.bounds[0])
        most = TIGHTEST_BOUNDED * self.scale**2 if self.scale else TIGHTEST_ASYMPTOTIC
        self._rho = tightest(most, self.alpha / 2)

    def learn(self, x: float) -> None:
        """Learn a term; one beyond the bounds is an error, since nothing would hold any more."""
        x = float(x)
        if self.bounds is not None and not self.bounds[0] <= x <= self.bounds[1]:
            raise ValueError(f"x must lie between {self.bounds[0]:g} and {self.bounds[1]:g}, got {x:g}.")
        if self.scale:
            assert self.means is not None
            predicted = self.total / self.n if self.n else 0.5 * (self.means[0] + self.means[1])
            self.squares += (x - min(max(predicted, self.means[0]), self.means[1])) ** 2
        elif self.n:
            self.squares += (x - self.total / self.n) ** 2 * self.n / (self.n + 1)
        self.n += 1
        self.total += x

    @property
    def mean(self) -> float:
        """The mean of the terms; NaN before the first."""
        return self.total / self.n if self.n else math.nan

    def above(self, value: float, alpha: float | None = None) -> bool:
        """Return whether the mean lies above a value: false at any time at all with probability `alpha` (half of all)."""
        return self._beyond(self.total - self.n * value, self.alpha / 2 if alpha is None else alpha)

    def interval(self) -> tuple[float, float]:
        """Return the bounds for the mean; infinite ones, or those of the mean, where nothing is known yet."""
        low, high = self.means or (-math.inf, math.inf)
        if not self._ready():
            return low, high
        reach = self._boundary(self.alpha / 2) / self.n
        return max(low, self.mean - reach), min(high, self.mean + reach)

    # State as plain numbers, for those who keep it.

    def to_plain(self) -> list[float]:
        """Return what was learned."""
        return [float(self.n), self.total, self.squares]

    def restore(self, plain: Sequence[float]) -> None:
        """Take over what `to_plain` returned."""
        n, total, squares = map(float, plain)
        if not (n >= 0 and n == int(n) and squares >= 0 and math.isfinite(total) and math.isfinite(squares)):
            raise ValueError("What a confidence sequence has learned is damaged.")
        self.n, self.total, self.squares = int(n), total, squares

    # The mixtures.

    def _ready(self) -> bool:
        return self.n > 0 if self.scale else self.n >= self.fewest and self._deviation() > 0

    def _deviation(self) -> float:
        return math.sqrt(max(self.squares / self.n, self.least_variance))

    def _beyond(self, s: float, alpha: float) -> bool:
        """Return whether a sum lies further above what is expected than happens at any time with probability alpha."""
        if s <= 0 or not self._ready():
            return False
        if not self.scale:
            s /= self._deviation()
        # No mixture is more than its largest part, which takes a moment to compare.
        return self._largest(s) >= (limit := -math.log(alpha)) and self._log_mixture(s) >= limit

    def _boundary(self, alpha: float) -> float:
        """Return how far a sum may lie above what is expected."""
        limit, unit = -math.log(alpha), 1.0 if self.scale else self._deviation()
        high = max(self.scale, 1.0)
        while self._log_mixture(high) < limit:
            high *= 2.0
        return unit * float(brentq(lambda s: self._log_mixture(s) - limit, 0.0, high, xtol=1e-9 * high))

    def _log_mixture(self, s: float) -> float:
        if self.scale:
            return log_gamma_exponential(s, self.squares, self._rho, self.scale)
        return log_half_normal(s, float(self.n), self._rho)

    def _largest(self, s: float) -> float:
        if not self.scale:
            return s * s / (2.0 * self.n)
        c, v = self.scale, self.squares
        return (c * s - v * math.log1p(c * s / v)) / c**2 if v > 0 else s / c


def _ends(name: str, ends: Sequence[float]) -> tuple[float, float]:
    low, high = (checks.number(name, end) for end in checks.finite(name, ends, (2,)).tolist())
    if not low < high:
        raise ValueError(f"{name} must be two numbers, the lower first, got {ends!r:.100}.")
    return float(low), float(high)
