"""The report of `banditboost evaluate`: value against bandwidth, support, and how well the critic is calibrated."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.evaluate import OffPolicy
from banditboost.experiments.html import html_table, picture, write
from banditboost.experiments.terminal import primary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def curves(found: OffPolicy) -> Figure:
    """Draw the value and the effective sample against the bandwidth."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    widths = [point.bandwidth[0] for point in found.curve]
    values, half = (np.array([getattr(point, name) for point in found.curve]) for name in ("value", "half_width"))
    left.errorbar(widths, values, yerr=half, fmt="o-", capsize=3, label="estimate, and what chance does to it")
    left.axhline(found.logged, linestyle="--", color="grey", label="the log's own mean")
    left.axhline(found.value, color="C1", label="the answer, and its interval")
    left.axhspan(*found.interval, color="C1", alpha=0.15)
    if found.bandwidth is not None:
        for ax in (left, right):
            ax.axvline(
                found.bandwidth[0], color="C1", linewidth=0.8, linestyle=":", label="bandwidth in use, in the mean"
            )
    left.set(xscale="log", xlabel="bandwidth (first coordinate)", ylabel="loss")
    left.legend()
    right.plot(widths, [point.effective for point in found.curve], "o-")
    scale = "log" if any(point.effective > 0 for point in found.curve) else "linear"
    right.set(xscale="log", yscale=scale, xlabel="bandwidth (first coordinate)", ylabel="effective sample, rows")
    return figure


def calibration(found: OffPolicy) -> Figure:
    """Draw what came against what the critic predicted, for rows that it had not seen."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 4), layout="constrained")
    ax = figure.subplots()
    predicted, observed = ([getattr(point, name) for point in found.calibration] for name in ("predicted", "observed"))
    ax.plot(predicted, observed, "o-", label="a tenth of the rows each")
    ends = [min(predicted + observed), max(predicted + observed)]
    ax.plot(ends, ends, linestyle="--", color="grey", label="as predicted")
    ax.set(xlabel="loss that the critic predicted", ylabel="mean loss that came")
    ax.legend()
    return figure


def report(results: dict[str, Any], found: OffPolicy, folder: Path) -> Path:
    """Write the report and return its file."""
    title = f"{Path(results['file']).name}: {results['policy']}"
    low, high = found.interval
    rows = [
        ["mean loss of the policy", f"{found.value:.5g}"],
        [f"{found.level:.0%} interval, bootstrap", f"{low:.5g} to {high:.5g}"],
        [f"{found.level:.0%} interval, empirical Bernstein", f"{found.bernstein[0]:.5g} to {found.bernstein[1]:.5g}"],
        ["mean loss in the log", f"{found.logged:.5g}"],
        ["rows", f"{found.rows:,}"],
        ["rows left out", f"{found.missing:,}"],
        ["effective sample", f"{found.effective:,.0f}"],
        ["share of the policy without support", f"{found.unsupported:.1%}"],
        ["estimator", found.estimator],
        ["bandwidth", "none" if found.bandwidth is None else ", ".join(f"{width:.4g}" for width in found.bandwidth)],
        ["rule of the bandwidth", found.rule or "none"],
        ["bound on the bias of smoothing, in both intervals", f"{found.bias:.4g}" if found.rule else "none"],
    ]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p><b>{html.escape(found.trust or 'Nothing speaks against this answer.')}</b></p>",
        html_table(("", "value"), primary(rows)),
    ]
    if found.curve:
        body += [
            "<h2>Value and support against the bandwidth</h2>",
            picture(curves(found), "Estimates with all bandwidths, and effective samples"),
        ]
    if found.calibration:
        body += [
            "<h2>Calibration of the critic</h2>",
            picture(calibration(found), "What came against what was predicted"),
        ]
    return write(folder / "evaluate.html", f"banditboost: {title}", body)
