"""What a policy would have cost, from a log that another policy wrote.

With weights w = π(a|x)/p, where p is the density with which the log's policy drew a, and a model q of the loss,

    ips    mean of w l                                  unbiased
    snips  mean of w l over the mean of w               its bias falls like 1/n
    dr     mean of q(x, π) + w (l - q(x, a))            unbiased whatever q is, and precise where q is good (Dudík et al. 2011)
    direct mean of q(x, π)                              as good as q

where q(x, π) is the mean of q over the policy's law. q is fitted on the other half of the rounds (cross-fitting), so that it
has not
seen the loss that it is compared with. A policy that always plays one action has no density: it is evaluated as if it played
actions
near it, with a kernel as its density (Kallus, Zhou 2018), of all widths together, each by its share (`balance`), or of the one
that SLOPE chooses (Su et al. 2020). With dr, smoothing then biases only what q has left
over: the term q(x, π) is taken at the policy's own action.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.evaluate.ope import intervals
from banditboost.evaluate.ope.choice import RULES, choose, tried
from banditboost.evaluate.ope.critic import LossModel, Regressor
from banditboost.evaluate.ope.kernels import KERNELS, smoothed
from banditboost.evaluate.ope.policies import Deterministic, Drawing, resolved
from banditboost.evaluate.ope.result import AtBandwidth, Calibrated, OffPolicy
from banditboost.evaluate.ope.slope import grid
from banditboost.evaluate.ope.sums import Sums
from banditboost.evaluate.ope.survey import Numbered, Survey, numbered, survey
from banditboost.evaluate.ope.trust import doubts
from banditboost.logs.log import Log
from banditboost.spaces import Space

ESTIMATORS = ("dr", "ips", "snips", "direct")
SAMPLE = 100_000
"""Rows of a log on which critics are fitted, about half of them for each."""
WIDEST, NARROWEST, RATIO = 2.0, 1 / 16, 2.0**0.5
"""Bandwidths are tried from so many standard deviations of the logged actions down to such a share of how widely they are
drawn."""
FULL = 1000
"""Beyond so many rows the narrowest bandwidth falls with the root of their number."""
MOST = 24
"""Most bandwidths that are tried."""
PIECE = 8_192
"""Most rows that are weighed at a time, for every bandwidth."""
BINS = 10
"""Groups of rows by which the critic's calibration is shown."""


class Setting(NamedTuple):
    """How a policy is evaluated."""

    policy: Deterministic | Drawing | None
    estimator: str
    kernel: str
    widths: Array
    """Bandwidths that are tried, shape (bandwidths, d); one row where there is no kernel."""
    bounds: tuple[Array, Array] | None
    models: tuple[Any, Any] | None
    """The critics: the first was fitted on rounds of the second fold, and the second on those of the first."""


def off_policy(
    log: Log,
    policy: Any,
    estimator: str = "dr",
    bandwidth: str | float | Sequence[float] = "balanced",
    *,
    level: float = 0.95,
    space: Space | None = None,
    model: Regressor | None = None,
    kernel: str = "epanechnikov",
    sample: int = SAMPLE,
    seed: int = 0,
) -> OffPolicy:
    """Estimate the mean loss that a policy would have had in the contexts of a log.

    Parameters
    ----------
    log
        Decisions on record; with densities, except for the direct method. It is read twice, in blocks.
    policy
        A `Booster`, which is evaluated as it is now, without exploring; `Exploring(booster)`, which is evaluated with it; a
        function
        that gives actions for contexts of shape (n, features); a constant; an object with ``density(contexts, actions)``
        (`HasDensity`) and, for a critic, ``draw(contexts, rng)``; or "logging", the policy that wrote the log.
    estimator
        "dr", "ips", "snips" or "direct".
    bandwidth
        For policies that play one action in each context: "balanced", a combination of all bandwidths that weighs their noise
        against the bias that they may have; "slope", the one that SLOPE chooses; or a number in units of the decision, or one
        for each coordinate. The interval includes a bound on the bias of smoothing with the first two; around a given bandwidth it
        does not.
    level
        How often intervals shall hold the truth.
    space
        Where actions lie: rows outside are refused, and kernels are cut off at the borders of an `Interval` or a `Box`. Anywhere
        when not given; that of the booster where the policy is one.
    model
        The critic, for dr and direct: any regressor with `fit` and `predict`, which is copied; `LossModel` when not given.
    kernel
        "epanechnikov", "gaussian", "triangular" or "uniform".
    sample
        Rows of longer logs on which critics are fitted.
    seed
        Seed of the bootstrap, and of draws from a policy's law.

    Returns
    -------
    The value, with intervals, and `trust`: why it should not be trusted, where something speaks against it.

    References
    ----------
    Dudík, Langford, Li (2011), "Doubly Robust Policy Evaluation and Learning"; Kallus, Zhou (2018), "Policy Evaluation and
    Optimization with Continuous Treatments"; Su, Srinath, Krishnamurthy (2020), Algorithm 1; Thomas, Brunskill (2016),
    "Data-Efficient Off-Policy Policy Evaluation for Reinforcement Learning"; Maurer, Pontil (2009), Theorem 4.

    Examples
    --------
    Prices were drawn between 0 and 10, and the best one is 4 + x; the log knows what it would have cost:

    >>> import banditboost as bb
    >>> rng = np.random.default_rng(0)
    >>> x, price = rng.normal(size=(5000, 1)), rng.uniform(0, 10, 5000)
    >>> loss = np.abs(price - 4.0 - x[:, 0]) + rng.normal(size=5000)
    >>> log = bb.Log.from_arrays(x, price, loss, densities=np.full(5000, 0.1))
    >>> found = off_policy(log, lambda x: 4.0 + x[:, 0], space=bb.spaces.Interval(0, 10))
    >>> print(f"{found.value:.1f} instead of {found.logged:.1f}"), found.trust
    0.2 instead of 2.7
    (None, None)
    """
    if not isinstance(log, Log):
        raise ValueError(f"log must be a Log, got {type(log).__name__}.")
    checks.one_of("estimator", estimator, ESTIMATORS)
    checks.one_of("kernel", kernel, KERNELS)
    checks.between("level", level, 0.0, 1.0)
    checks.count("sample", sample, least=2)
    if space is not None and space.size != log.dimension:
        raise ValueError(f"space must have {log.dimension} coordinate(s) as the log's actions, got {space.size}.")
    if estimator != "direct" and not log.has_densities:
        raise ValueError(
            f"log must have densities for the estimator {estimator!r}: without them there is 'direct' alone (in the shell "
            "--estimator direct)."
        )
    rng = np.random.default_rng(seed)
    if space is None:
        space = _space_of(policy)
    whom = resolved(policy, log.dimension, space, rng)
    rule, given = _given(bandwidth, log.dimension)
    weighted = whom is not None and estimator != "direct"
    found = survey(log, space, sample, weighted)
    smooths = isinstance(whom, Deterministic) and estimator != "direct"
    widths = (
        (given if given is not None else _widths(found, log.dimension)) if smooths else np.empty((1, log.dimension))
    )
    models = _fitted(found, model, log.dimension) if whom is not None and estimator in ("dr", "direct") else None
    setting = Setting(whom, estimator, kernel, widths, space.bounds if space is not None else None, models)
    sums, curve_of = Sums(len(widths), estimator == "snips"), _Calibration()
    for part in (piece for whole in numbered(log, weighted) for piece in whole.pieces(PIECE)):
        terms, weights = _terms(setting, part, curve_of)
        sums.add(part.rounds, terms, weights)
    result = _result(sums, setting, found, curve_of, level, rule if smooths else None, space, rng)
    return result.as_rewards() if log.in_rewards else result


def _terms(setting: Setting, part: Numbered, calibration: _Calibration) -> tuple[Array, Array]:
    """Return the terms and the weights of rows, for each bandwidth."""
    block, whom, estimator = part.block, setting.policy, setting.estimator
    x, a, losses, row, n = block.contexts, block.actions, block.losses, block.row, len(block.losses)
    if whom is None:  # what was played is what would be played
        return losses[:, np.newaxis], np.ones((n, 1))
    plays = whom.actions(x, row) if isinstance(whom, Deterministic) else None
    q = _Cross(setting.models, part.rounds % 2) if setting.models is not None else None
    if q is None:
        value = rest = None
    else:
        played = q(x, a)
        calibration.add(played, losses)
        value = q(x, plays) if plays is not None else whom.averaged(x, row, q)  # type: ignore[union-attr]
        rest = losses - played
    if estimator == "direct":
        assert value is not None
        return value[:, np.newaxis], np.ones((n, 1))
    assert block.densities is not None
    if isinstance(whom, Drawing):
        densities = whom.densities(x, a, row)[:, np.newaxis]
    else:
        assert plays is not None
        kernel = KERNELS[setting.kernel]
        densities = np.stack([smoothed(kernel, a, plays, width, setting.bounds) for width in setting.widths], axis=1)
    weights = densities / block.densities[:, np.newaxis]
    if rest is None:
        return weights * losses[:, np.newaxis], weights
    assert value is not None
    return value[:, np.newaxis] + weights * rest[:, np.newaxis], weights


class _Cross:
    """Critics, each for the rows that it was not fitted on."""

    def __init__(self, models: tuple[Any, Any], folds: NDArray[np.int64]) -> None:
        self.models, self.folds = models, folds

    def __call__(self, contexts: Array, actions: Array) -> Array:
        table, out = np.concatenate([contexts, actions], axis=1), np.empty(len(contexts))
        for fold, model in enumerate(self.models):
            mine = self.folds == fold
            if mine.any():
                out[mine] = model.predict(table[mine])
        return out


class _Calibration:
    """Predictions of critics, grouped by their size, beside what came."""

    def __init__(self) -> None:
        self.edges: Array | None = None
        self.sums = np.zeros((3, BINS))

    def add(self, predicted: Array, losses: Array) -> None:
        """Add rows; the first block decides where groups end."""
        if self.edges is None:
            self.edges = np.quantile(predicted, np.arange(1, BINS) / BINS)
        group = np.searchsorted(self.edges, predicted)
        for i, values in enumerate((predicted, losses, np.ones(len(losses)))):
            self.sums[i] += np.bincount(group, values, BINS)

    def rows(self) -> tuple[Calibrated, ...]:
        """Return the groups that have rows."""
        return tuple(Calibrated(p / n, l / n, int(n)) for p, l, n in self.sums.T.tolist() if n)


def _fitted(found: Survey, model: Regressor | None, dimension: int) -> tuple[Any, Any]:
    table, losses, folds = found.sample
    fitted = []
    for fold in range(2):
        chosen = folds != fold
        fresh = LossModel(dimension) if model is None else copy.deepcopy(model)
        fresh.fit(table[chosen], losses[chosen])
        fitted.append(fresh)
    return fitted[0], fitted[1]


def _widths(found: Survey, dimension: int) -> Array:
    """Return the bandwidths that are tried, the narrowest first, shape (bandwidths, d)."""
    spread = np.where(found.spread > 0, found.spread, 1.0)
    drawn = float((found.room / np.prod(spread)) ** (1.0 / dimension)) if np.isfinite(found.room) else 1.0
    share = NARROWEST * min(1.0, FULL / found.rows) ** 0.5
    least = max(share * min(drawn, WIDEST), WIDEST / RATIO ** (MOST - 1))
    steps = grid(1.0, WIDEST / least, RATIO)
    return np.array([[WIDEST / step for step in reversed(steps)]]).T * spread


def _given(bandwidth: Any, dimension: int) -> tuple[str | None, Array | None]:
    """Return the rule by which bandwidths are chosen, or the one that is given, shape (1, d)."""
    asked = f"bandwidth must be 'balanced', 'slope', or {dimension} positive number(s), got {bandwidth!r:.100}."
    if isinstance(bandwidth, str):
        if bandwidth not in RULES:
            raise ValueError(asked)
        return bandwidth, None
    widths = checks.finite("bandwidth", bandwidth).ravel()
    widths = np.repeat(widths, dimension) if len(widths) == 1 else widths
    if widths.shape != (dimension,) or not (widths > 0).all():
        raise ValueError(asked)
    return None, widths[np.newaxis]


def _space_of(policy: Any) -> Space | None:
    booster = getattr(policy, "booster", policy)
    spec = getattr(booster, "spec", None)
    space = getattr(spec, "space", None)
    return space if isinstance(space, Space) else None


def _result(
    sums: Sums,
    setting: Setting,
    found: Survey,
    calibration: _Calibration,
    level: float,
    rule: str | None,
    space: Space | None,
    rng: np.random.Generator,
) -> OffPolicy:
    """Choose bandwidths, and put the answer together."""
    smooths = isinstance(setting.policy, Deterministic) and setting.estimator != "direct"
    shares, bias = np.ones(1), 0.0
    if rule is not None:
        shares, bias = choose(sums, setting.widths[:, 0], rule, level)
    used = shares != 0.0
    if not np.isfinite(sums.values[used]).all():
        raise ValueError(
            "log must have actions that the policy could play, but no row has any weight: the log says nothing about it."
        )
    value = float(shares[used] @ sums.values[used])
    there = sums.counts > 0
    low, high = intervals.bootstrap(sums.tops[there], sums.bottoms[there], shares, level, rng)
    variance, reach = sums.spread(shares)
    away = intervals.bernstein(variance, reach, sums.groups if sums.rows <= len(there) else sums.rows, level) + bias
    direct = setting.estimator == "direct"
    notes = (
        ()
        if found.whole or setting.models is None
        else (f"the critic was fitted on {len(found.sample[1]):,} rows of the log",)
    )
    widths = np.abs(shares) @ setting.widths / np.abs(shares).sum()
    return OffPolicy(
        value=value,
        interval=(low - bias, high + bias),
        bernstein=(value - away, value + away),
        bias=bias,
        level=level,
        estimator=setting.estimator,
        effective=sums.effective_of(shares),
        unsupported=0.0 if direct else sums.lacking(shares),
        bandwidth=tuple(widths.tolist()) if smooths else None,
        curve=_curve(sums, setting.widths, shares, level) if smooths else (),
        rows=sums.rows,
        missing=found.missing,
        logged=found.logged,
        trust=doubts(sums, shares, found, setting.estimator, space, log_only=setting.policy is None),
        calibration=calibration.rows(),
        notes=notes,
        rule=rule,
    )


def _curve(sums: Sums, widths: Array, shares: Array, level: float) -> tuple[AtBandwidth, ...]:
    """Return the estimates with all bandwidths that were tried."""
    half, effective = float(ndtri(0.5 + level / 2)) * sums.errors, sums.effective
    return tuple(
        AtBandwidth(
            tuple(widths[i].tolist()), float(sums.values[i]), float(half[i]), float(effective[i]), float(shares[i])
        )
        for i in tried(sums)
    )
