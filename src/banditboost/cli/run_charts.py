"""The pictures of the report of `banditboost run`."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost.cli.run_insight import LOOKED, POINTS, Calibration, Insight, Mattered, Moves
from banditboost.evaluate import Trace
from banditboost.experiments.html import framed
from banditboost.experiments.svg import Bar, Chart, Line, bars, chart_of_lines, stretches

STYLES = ("s0 dashed", "s2 dashed", "s3 dashed", "s5 dashed")
"""Of comparators, in their order."""


def loss_lines(trace: Trace) -> list[Line]:
    """Return the mean losses of every stretch of a run, ours with two standard errors around them, and the comparators'."""
    parts = stretches(len(trace))
    at = np.array([(part.start + part.stop) / 2 for part in parts])
    lines = []
    for place, (name, losses) in enumerate(trace.comparators.items()):
        lines.append(Line(name, at, _means(losses, parts), STYLES[place % len(STYLES)]))
    ours = [("this run, predicted", trace.losses, "s1")]
    if not trace.told:
        ours.insert(0, ("this run, paid", trace.paid, "s4 thick"))
    for name, losses, style in ours:
        mean, error = _means(losses, parts), np.array([_error(losses[part]) for part in parts])
        lines.append(Line(name, at, mean, style, mean - 2 * error, mean + 2 * error))
    return lines


def _means(losses: Array, parts: list[slice]) -> Array:
    return np.array([losses[part].mean() for part in parts])


def _error(losses: Array) -> float:
    return float(losses.std(ddof=1) / np.sqrt(len(losses))) if len(losses) > 1 else 0.0


def losses(trace: Trace) -> str:
    """Return the losses along the run, with marks where the world changed."""
    lines = loss_lines(trace)
    # The first rounds of all are chance: they may not decide the scale.
    late = [line.y[1:] if len(line.y) > 4 else line.y for line in lines]
    top, bottom = max(float(y.max()) for y in late), min(0.0, *(float(y.min()) for y in late))
    marks = [float(alarm.since + 1) for alarm in trace.drifts or ()]
    said = f" Dotted: the world changed, about in round {', '.join(f'{mark:,.0f}' for mark in marks)}." if marks else ""
    drawn = chart_of_lines(
        "Mean loss along the run: " + ", ".join(f"{line.name} ends at {line.y[-1]:.4g}" for line in lines) + ".",
        lines,
        "round",
        "mean loss of a stretch",
        y=(bottom, 1.1 * top or 1.0),
        marks=marks,
    )
    return framed(
        "Loss along the run",
        drawn,
        f"Each point is the mean of a stretch of about {max(1, len(trace) // len(lines[0].x)):,} rounds; the pale bands are two "
        f"standard errors wide on either side.{said}",
    )


def banded(trace: Trace) -> str:
    """Return what was told and the bands made for it."""
    told, low, high = trace.told_and_bands()
    parts = stretches(len(told))
    at = np.array([(part.start + part.stop) / 2 for part in parts])
    ends = [_means(end, parts) for end in (low, high)]
    line = Line("mean of what was told", at, _means(told, parts), "s2", *ends)
    drawn = chart_of_lines("What was told, within the bands made before", [line], "round", "loss told")
    return framed(
        "Bands", drawn, "What was told, within the bands that were made before each round, as means of stretches."
    )


def actual(found: Insight) -> str:
    """Return predicted beside actual, of the last half."""
    rows = np.unique(np.linspace(0, len(found.predicted) - 1, min(POINTS, len(found.predicted))).astype(int))
    x, y = found.predicted[rows], found.actual[rows]
    chart = Chart.of(
        f"Actual {found.output} against predicted: {len(rows):,} rounds of the last half; the diagonal is a perfect prediction.",
        (float(x.min()), float(x.max())),
        (float(y.min()), float(y.max())),
        "predicted",
        "actual",
    )
    chart.diagonal()
    chart.points(x, y, "s2")
    return framed(
        "Predicted and actual", str(chart), f"{len(rows):,} rounds of the last half; on the dashed line both are equal."
    )


def calibrated(found: Calibration, classes: bool, level: float | None = None) -> str:
    """Return what came, group by group of similar predictions."""
    both = np.concatenate([found.predicted, found.low, found.high])
    limits = (float(both.min()), float(both.max()))
    what = (
        ("probability of the class predicted", "share of classes hit") if classes else ("mean prediction", "mean label")
    )
    if level is not None and not classes:
        what = ("mean prediction", f"quantile {level:g} of labels")
    pairs = ", ".join(f"{a:.3g}: {b:.3g}" for a, b in zip(found.predicted, found.actual, strict=True))
    chart = Chart.of(f"Calibration, {what[0]} and {what[1]}: {pairs}.", limits, limits, *what)
    chart.diagonal()
    chart.whiskers(found.predicted, found.low, found.high, "s1")
    chart.points(found.predicted, found.actual, "s1", 3.5)
    return framed(
        "Calibration",
        str(chart),
        f"Rounds of the last half in {len(found.predicted)} groups of similar predictions, with about 95 % intervals; on the "
        "dashed line predictions can be taken at their word.",
    )


def important(found: Mattered) -> str:
    """Return how much larger the loss becomes without each column."""
    shown = [
        Bar(name, max(0.0, float(more)), "s1", f"+{more:.3g} ± {2 * error:.1g}" if more > 0 else f"{more:.3g}")
        for name, more, error in zip(found.names, found.increases, found.errors, strict=True)
    ]
    said = "; ".join(f"{row.name} {row.said}" for row in shown)
    looked = (
        ""
        if found.features is None
        else f" Of {found.features:,} features, the {LOOKED} that are there most often were tried."
    )
    return framed(
        "How much larger the loss becomes when a column is shuffled",
        bars(f"Permutation importance: {said}.", shown),
        f"Among the latest {found.rounds:,} rounds, where the model's loss is {found.loss:.4g}; it has learned from these rounds. "
        f"Columns that say the same share what they are worth.{looked}",
    )


def moved(found: Moves, output: str) -> str:
    """Return how the mean prediction moves with a column."""
    title = f"{output}, by {found.name}"
    if found.words:
        low = min(0.0, float(found.mean.min()))
        rows = [
            Bar(word, float(mean) - low, "s3", f"{mean:.4g}")
            for word, mean in zip(found.words, found.mean, strict=True)
        ]
        said = "; ".join(f"{row.name}: {row.said}" for row in rows)
        return framed(title, bars(f"Mean prediction of {title}: {said}.", rows))
    name = f"{found.name} (year)" if found.date else found.name
    ends = f"{found.mean[0]:.4g} at {found.at[0]:.4g}, {found.mean[-1]:.4g} at {found.at[-1]:.4g}"
    about = f"Mean prediction of {title}: {ends}, between {found.mean.min():.4g} and {found.mean.max():.4g}."
    line = Line("", found.at, found.mean, "s3 thick")
    return framed(title, chart_of_lines(about, [line], name, "mean prediction"))
