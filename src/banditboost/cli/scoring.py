"""The losses of a run on a user's table, beside those of simple forecasters that see every label."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.bands import FEWEST, LEVEL
from banditboost.cli.setting import Setting
from banditboost.evaluate import Trace, best_linear, online_ridge, running_mean
from banditboost.losses import Logistic, Squared
from banditboost.spaces import Interval, Space
from banditboost.worlds import Classification, Supervised

WORK = 4e9
"""Online ridge is run up to this product of rows and squared features; it is left out for larger tables."""

LINE = "best line in hindsight"

BY = {"predicted": "at the predictions", "paid": "at the points asked, where decisions are played"}
"""The two losses of a run, by name."""


def compare(trace: Trace, world: Supervised, space: Space) -> None:
    """Add comparators to a trace: the running mean of labels; for the squared loss on tables of moderate size two lines."""
    if isinstance(world.loss, Logistic):
        trace.compare("running mean of labels", _running_odds(world))
        return
    trace.compare("running mean of labels", running_mean(world, first=space.inner_centre))
    plain = isinstance(world.loss, Squared) and isinstance(space, Interval)
    if plain and len(world) * (world.features + 1) ** 2 <= WORK:
        trace.compare("online ridge, told labels", _ridge(world, space))
        trace.compare(LINE, best_linear(world))


def _running_odds(world: Supervised) -> Array:
    """Return the losses of the log-odds of the classes seen so far, one of each taken as seen before the first."""
    labels = world.labels()
    before = np.arange(len(labels))
    positive = np.concatenate([[0.0], np.cumsum(labels > 0)[:-1]])
    return world.loss.value(np.log((positive + 1) / (before - positive + 1)), labels, 0)


def _ridge(world: Supervised, space: Space) -> Array:
    """Run online ridge on features brought to [0, 1], for which its regulariser 1 is made."""
    assert isinstance(space, Interval)
    X = world.contexts().toarray() if world.sparse else world.contexts()
    low, high = X.min(axis=0), X.max(axis=0)
    unit = (X - low) / np.where(high > low, high - low, 1.0)
    # Labels are centred, so that the first predictions of ridge are the middle of the space.
    middle = float(space.inner_centre)
    centred = Supervised(unit, world.labels() - middle, world.loss)
    return online_ridge(centred, space=Interval(space.low - middle, space.high - middle))


def score(trace: Trace, world: Supervised, setting: Setting) -> dict[str, Any]:
    """Return the mean losses of a run and its comparators over all rounds and over the last half, and accuracies for classes.

    Losses are those of the predictions, and those paid at the points asked; the regrets against a comparator, of both, are sums
    over all rounds.
    """
    half = len(trace) // 2

    def means(losses: Array, name: str) -> dict[str, float]:
        return {f"mean_{name}": float(losses.mean()), f"last_half_{name}": float(losses[half:].mean())}

    found: dict[str, Any] = means(trace.losses, "loss") | means(trace.paid, "paid")
    found["comparators"] = {
        name: means(losses, "loss")
        | {"regret": float(trace.regret(name)[-1]), "paid_regret": float(trace.regret(name, paid=True)[-1])}
        for name, losses in trace.comparators.items()
    }
    if trace.bands is not None:
        measures = {"coverage": trace.coverage, "width": trace.band_width, "score": trace.band_score}
        names = {name: measure() if len(trace) > FEWEST else np.nan for name, measure in measures.items()}
        found["bands"] = {"level": LEVEL, "since": FEWEST} | {name: _finite(value) for name, value in names.items()}
    if trace.drifts is not None:
        found["drifts"] = [{"round": alarm.round, "since": alarm.since} for alarm in trace.drifts]
    hits = _hits(trace, world, setting)
    if hits is not None:
        found |= {"accuracy": float(hits.mean()), "last_half_accuracy": float(hits[half:].mean())}
        labels = world.labels()
        shares = labels.mean(axis=0) if labels.ndim == 2 else np.array([(labels > 0).mean(), (labels <= 0).mean()])
        found["commonest_share"] = float(shares.max())
    elif isinstance(world.loss, Squared):
        found |= _spread("", trace.losses, world.labels()) | _spread(
            "last_half_", trace.losses[half:], world.labels(half)
        )
    return found


def _spread(when: str, losses: Array, labels: Array) -> dict[str, float | None]:
    """Return the root of the mean squared loss, and the share of the labels' variance that predictions explain."""
    around = float(np.square(labels - labels.mean(axis=0)).sum(axis=tuple(range(1, labels.ndim))).mean())
    mean = float(losses.mean())
    return {f"{when}rmse": float(np.sqrt(mean)), f"{when}r2": 1 - mean / around if around > 0 else None}


def _finite(value: float) -> float | None:
    """Return a number, or None for one that is infinite or none, which JSON cannot hold."""
    return value if np.isfinite(value) else None


def _hits(trace: Trace, world: Supervised, setting: Setting) -> Array | None:
    if isinstance(world, Classification):
        return world.hits(trace.predictions).astype(float)
    if setting.loss == "logistic":
        return np.asarray((trace.predictions > 0) == (world.labels() > 0), dtype=np.float64)
    return None
