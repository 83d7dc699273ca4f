"""Off-policy evaluation beside Open Bandit Pipeline (obp): errors and intervals on logs of its synthetic data.

obp 0.5.5 has what is compared here, and asks for Python below 3.10 and for torch, so that it cannot be installed beside current
libraries. Its generator `SyntheticContinuousBanditDataset` and its estimator `KernelizedDoublyRobust` are therefore written again
from what its documentation and its sources say they compute:

    contexts        standard normal, 5 of them
    rewards         linear: |x·c - a|^p + b; quadratic: c a (x·d) + (x·e) a + (a - x·f)²; each with standard normal noise
    logging policy  uniform; or normal around x·g + h, with a given deviation, cut off at the bounds
    policies        the mean of x; 1 + sign(mean of x - 1.5)
    estimate        mean of q + K((π - a)/h) (r - q)/(h p), with q at the policy's action in both places, and Epanechnikov's kernel

Coefficients are drawn once a world, so that all logs of a setting have one truth. Rewards are taken as losses: their sign does not
matter to errors. Both sides get the same cross-fitted regression, and obp's bandwidth is the one of ten that has the least
mean squared error over all logs of its setting, in hindsight. What is ours was settled on the logs of 33 other sets of
coefficients, and on a loss with a kink where the policy
plays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from banditboost._core.checks import Array, count, one_of
from banditboost.evaluate import off_policy
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.statistics import rounded
from banditboost.logs import Log
from banditboost.spaces import Interval

ROWS = 1000
FEATURES = 5
BANDWIDTHS = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
SETTINGS: dict[str, tuple[str, float, float, str]] = {
    "linear, uniform": ("linear", 0.0, 5.0, "mean"),
    "linear, normal": ("linear", 3.0, 10.0, "threshold"),
    "quadratic, uniform": ("quadratic", 0.0, 5.0, "threshold"),
    "quadratic, normal": ("quadratic", 3.0, 10.0, "mean"),
}
"""The reward, the deviation of the logging policy (0 where it is uniform), the largest absolute action, and the policy."""
MODELS = ("ridge", "forest")
"""Regressions that both sides are given: a quadratic with a ridge, and a random forest."""
SAME_LIMIT, OWN_LIMIT, COVERAGE = 1.25, 1.0, 0.93
"""Largest mean ratio of errors with the same regression, and with our critic; least coverage of intervals of
95 % in any setting."""
TRUTH = 400_000
"""Contexts on which a policy's true value is computed."""
OURS: dict[str, dict[str, Any]] = {
    "critic": {},
    "slope": {"bandwidth": "slope"},
    "ips": {"estimator": "ips"},
    "snips": {"estimator": "snips"},
    "direct": {"estimator": "direct"},
    "widest": {"bandwidth": 10.0},
}
"""Ours without a regression of somebody else's; the last has a bandwidth that covers all actions, and must be seen to miss."""


class World:
    """A setting: its reward, its logging policy, and the policy that is evaluated."""

    def __init__(self, name: str) -> None:
        self.reward, self.noise, self.most, self.policy = SETTINGS[name]
        rng = np.random.default_rng([2022, list(SETTINGS).index(name)])
        self.weights = rng.normal(size=(5, FEATURES))
        self.power, self.level, self.offset = rng.uniform(size=3)
        self.slope = float(rng.normal())

    def loss(self, x: Array, a: Array) -> Array:
        """Return expected losses."""
        by = x @ self.weights.T
        if self.reward == "linear":
            return np.asarray(np.abs(by[:, 0] - a) ** self.power + self.level)
        return np.asarray(self.slope * a * by[:, 1] + by[:, 2] * a + np.square(a - by[:, 3]))

    def plays(self, x: Array) -> Array:
        """Return what the policy plays."""
        mean = x.mean(axis=1)
        return np.asarray(mean if self.policy == "mean" else 1.0 + np.sign(mean - 1.5))

    def log(self, rows: int, seed: int) -> tuple[Array, Array, Array, Array]:
        """Draw contexts, actions, losses and densities."""
        from scipy.stats import truncnorm

        rng = np.random.default_rng([seed, 1])
        x = rng.normal(size=(rows, FEATURES))
        if self.noise == 0:
            a, p = rng.uniform(-self.most, self.most, rows), np.full(rows, 0.5 / self.most)
        else:
            centre = x @ self.weights[4] + self.offset
            low, high = ((end - centre) / self.noise for end in (-self.most, self.most))
            law = truncnorm(low, high, loc=centre, scale=self.noise)
            a = np.asarray(law.ppf(rng.random(rows)))
            p = np.asarray(law.pdf(a))
        return x, a, self.loss(x, a) + rng.normal(size=rows), p

    def truth(self) -> float:
        """Return the policy's value."""
        x = np.random.default_rng([2022, 99]).normal(size=(TRUTH, FEATURES))
        return float(self.loss(x, self.plays(x)).mean())


@lru_cache(maxsize=8)
def world_of(name: str) -> tuple[World, float]:
    """Return a world and the policy's value in it."""
    world = World(name)
    return world, world.truth()


def regression(name: str) -> Any:
    """Return a regression of scikit-learn."""
    if name == "ridge":
        from sklearn.linear_model import Ridge
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import PolynomialFeatures

        return make_pipeline(PolynomialFeatures(2), Ridge(1.0))
    from sklearn.ensemble import RandomForestRegressor

    return RandomForestRegressor(30, min_samples_leaf=5, random_state=0)


def kernelized(x: Array, a: Array, losses: Array, densities: Array, plays: Array, model: Callable[[], Any]) -> Array:
    """Return obp's kernelised doubly robust estimates with all bandwidths, with a regression that is cross-fitted as ours is.

    Examples
    --------
    Where the regression is right, every bandwidth gives its mean:

    >>> class Right:
    ...     def fit(self, table, losses): return self
    ...     def predict(self, table): return np.full(len(table), 2.0)
    >>> kernelized(np.zeros((10, 1)), np.arange(10.0), np.full(10, 2.0), np.ones(10), np.zeros(10), Right).tolist()[:2]
    [2.0, 2.0]
    """
    q, fold = np.empty(len(a)), np.arange(len(a)) % 2
    for part in range(2):
        fitted = model().fit(np.column_stack([x, a])[fold != part], losses[fold != part])
        q[fold == part] = fitted.predict(np.column_stack([x, plays])[fold == part])
    found = []
    for h in BANDWIDTHS:
        kernel = 0.75 * np.maximum(1.0 - np.square((plays - a) / h), 0.0)
        found.append(float((q + kernel * (losses - q) / (h * densities)).mean()))
    return np.array(found)


@dataclass(frozen=True)
class OneLog(Cell, kind="experiments.off_policy.OneLog"):
    """All estimates from one log."""

    setting: str = "linear, uniform"
    seed: int = 0
    rows: int = ROWS

    def run(self) -> dict[str, Any]:
        """Return errors, whether intervals hold the truth, and how wide they are."""
        world, truth = world_of(self.setting)
        x, a, losses, densities = world.log(self.rows, self.seed)
        log, space = Log.from_arrays(x, a, losses, densities=densities), Interval(-world.most, world.most)
        results: dict[str, Any] = {}
        for name in MODELS:
            found = kernelized(x, a, losses, densities, world.plays(x), lambda name=name: regression(name))  # type: ignore[misc]
            results[f"obp, {name}"] = {"errors": [rounded(value) for value in (found - truth).tolist()]}
        for name, options in ({name: {"model": regression(name)} for name in MODELS} | OURS).items():
            ours = off_policy(log, world.plays, space=space, **options)
            low, high = ours.interval
            below, above = ours.bernstein
            results[name] = {
                "error": rounded(ours.value - truth),
                "covered": bool(low <= truth <= high),
                "width": rounded(high - low),
                "bernstein": bool(below <= truth <= above),
                "bernstein_width": rounded(above - below),
                "trusted": ours.trust is None,
            }
        return results


def reproduce(
    *, logs: int = 200, rows: int = ROWS, quick: bool = False, **options: Unpack[ParallelOptions]
) -> dict[str, Any]:
    """Evaluate policies on logs of every setting and return plain data.

    Parameters
    ----------
    logs
        Logs of each setting.
    rows
        Rows of a log.
    quick
        True: 10 logs of each setting.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    n = min(count("logs", logs), 10) if quick else count("logs", logs)
    cells = [
        OneLog(one_of("setting", name, SETTINGS), seed, count("rows", rows, least=100))
        for name in SETTINGS
        for seed in range(n)
    ]
    done = run_distinct([cells], **options)
    found = []
    for name in SETTINGS:
        of = [done[cell] for cell in cells if cell.setting == name]
        found += summarized(name, world_of(name)[1], of)
    return {
        "experiment": "off_policy",
        "protocol": {"logs": n, "rows": rows, "features": FEATURES, "bandwidths": list(BANDWIDTHS), "level": 0.95},
        "rows": found,
        "shows": shows_of(found),
    }


def summarized(name: str, truth: float, results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the mean squared errors in one setting, over those of obp at its best bandwidth; and coverage and widths."""
    best: dict[str, tuple[float, float]] = {}
    rows: list[dict[str, Any]] = []
    for model in MODELS:
        errors = np.array([result[f"obp, {model}"]["errors"] for result in results])
        squares = np.square(errors).mean(axis=0)
        best[model] = float(squares.min()), BANDWIDTHS[int(squares.argmin())]
        rows.append(
            {
                "setting": name,
                "who": f"obp, {model}",
                "mse": rounded(best[model][0]),
                "bandwidth": best[model][1],
                "truth": rounded(truth),
            }
        )
    for who in (*MODELS, *OURS):
        of = [result[who] for result in results]
        mse = float(np.mean([one["error"] ** 2 for one in of]))
        row: dict[str, Any] = {"setting": name, "who": who, "mse": rounded(mse)}
        row |= {f"over {model}": rounded(mse / best[model][0]) for model in (MODELS if who in OURS else (who,))}
        row |= {key: rounded(float(np.mean([one[of_key] for one in of]))) for key, of_key in COLUMNS.items()}
        rows.append(row)
    return rows


COLUMNS = {
    "coverage": "covered",
    "width": "width",
    "bernstein": "bernstein",
    "bernstein_width": "bernstein_width",
    "trusted": "trusted",
}


def shows_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratios of errors in the geometric mean over settings, for all of ours and every regression that obp has.

    Examples
    --------
    >>> rows = [{"who": "critic", "over ridge": ratio, "coverage": 0.95} for ratio in (0.5, 2.0)]
    >>> [(show["ratio"], show["largest"], show["met"], show["covers"]) for show in shows_of(rows)]
    [(1.0, 2.0, True, True)]
    """
    shows = []
    for who in (*MODELS, *OURS):
        of = [row for row in rows if row["who"] == who]
        for model in MODELS:
            ratios = [row[f"over {model}"] for row in of if f"over {model}" in row]
            if not ratios:
                continue
            ratio, limit = float(np.exp(np.mean(np.log(ratios)))), SAME_LIMIT if who in MODELS else OWN_LIMIT
            coverage, least = (float(of_all([row["coverage"] for row in of])) for of_all in (np.mean, np.min))
            show: dict[str, Any] = {"who": who, "over": model, "ratio": rounded(ratio), "largest": rounded(max(ratios))}
            show |= {"limit": limit, "met": ratio <= limit}
            covers = {"coverage": rounded(coverage), "least": rounded(least), "covers": least >= COVERAGE}
            shows.append(show | covers)
    return shows
