"""The report of `banditboost evaluate`: value against bandwidth, support, and how well the critic is calibrated."""

from __future__ import annotations

import html
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.evaluate import OffPolicy
from banditboost.experiments.html import html_table, picture, side_by_side, write
from banditboost.experiments.terminal import primary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOUBT = ", not to be trusted"
"""What is said beside an estimate that something speaks against."""


def values(found: OffPolicy) -> Figure:
    """Draw the value against the bandwidth."""
    figure, ax = _axes()
    widths = [point.bandwidth[0] for point in found.curve]
    middle, half = (np.array([getattr(point, name) for point in found.curve]) for name in ("value", "half_width"))
    ax.errorbar(widths, middle, yerr=half, fmt="o-", capsize=3, label="estimate, and what chance does to it")
    ax.axhline(found.logged, linestyle="--", color="grey", label="the log's own mean")
    ax.axhline(found.value, color="C1", label="the answer, and its interval")
    ax.axhspan(*found.interval, color="C1", alpha=0.15)
    _against_bandwidth(ax, found)
    ax.set(ylabel=_unit(found))
    figure.legend(loc="outside lower center", fontsize="small")
    return figure


def _unit(found: OffPolicy) -> str:
    """Return what values are."""
    return "reward" if found.rewards else "loss"


def support(found: OffPolicy) -> Figure:
    """Draw the effective sample against the bandwidth."""
    figure, ax = _axes()
    ax.plot([point.bandwidth[0] for point in found.curve], [point.effective for point in found.curve], "o-")
    _against_bandwidth(ax, found)
    scale = "log" if any(point.effective > 0 for point in found.curve) else "linear"
    ax.set(yscale=scale, ylabel="effective sample, rows")
    return figure


def _axes() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 4), layout="constrained")
    return figure, figure.subplots()


def _against_bandwidth(ax: Axes, found: OffPolicy) -> None:
    """Write bandwidths as plain numbers, few enough to be read, and mark the one in use."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    ax.set(xscale="log", xlabel="bandwidth (first coordinate)")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda width, _: f"{width:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    if found.bandwidth is not None:
        ax.axvline(found.bandwidth[0], color="C1", linewidth=0.8, linestyle=":", label="bandwidth in use, in the mean")


def calibration(found: OffPolicy) -> Figure:
    """Draw what came against what the critic predicted, for rows that it had not seen."""
    figure, ax = _axes()
    predicted, observed = ([getattr(point, name) for point in found.calibration] for name in ("predicted", "observed"))
    ax.plot(predicted, observed, "o-", label="a tenth of the rows each")
    ends = [min(predicted + observed), max(predicted + observed)]
    ax.plot(ends, ends, linestyle="--", color="grey", label="as predicted")
    ax.set(xlabel=f"{_unit(found)} that the critic predicted", ylabel=f"mean {_unit(found)} that came")
    ax.legend()
    return figure


def report(results: dict[str, Any], found: OffPolicy, folder: Path) -> Path:
    """Write the report and return its file."""
    title = f"{Path(results['file']).name}: {results['policy']}"
    low, high = found.interval
    doubt, trust = (
        ("", "Nothing speaks against this answer.") if found.trusted else (DOUBT, f"Not to be trusted. {found.trust}")
    )
    rows = [
        [f"mean {_unit(found)} of the policy{doubt}", f"{found.value:.5g}"],
        [f"{found.level:.0%} interval, bootstrap{doubt}", f"{low:.5g} to {high:.5g}"],
        [
            f"{found.level:.0%} interval, empirical Bernstein{doubt}",
            f"{found.bernstein[0]:.5g} to {found.bernstein[1]:.5g}",
        ],
        [f"mean {_unit(found)} in the log", f"{found.logged:.5g}"],
        ["rows", f"{found.rows:,}"],
        ["rows left out", f"{found.missing:,}"],
        ["effective sample", f"{found.effective:,.0f}"],
        ["share of the policy without support, at least", f"{found.unsupported:.1%}"],
        ["estimator", found.estimator],
        ["bandwidth", "none" if found.bandwidth is None else ", ".join(f"{width:.4g}" for width in found.bandwidth)],
        ["rule of the bandwidth", found.rule or "none"],
        ["bound on the bias of smoothing, in both intervals", f"{found.bias:.4g}" if found.rule else "none"],
    ]
    body = [
        f"<h1>{html.escape(title)}</h1>",
        f"<p><b>{html.escape(trust)}</b></p>",
        html_table(("", "value"), primary(rows), words=True),
    ]
    if found.curve:
        body += [
            "<h2>Value and support against the bandwidth</h2>",
            side_by_side(
                [
                    picture(values(found), "Estimates with all bandwidths"),
                    picture(support(found), "Effective samples with all bandwidths"),
                ]
            ),
        ]
    if found.calibration:
        body += [
            "<h2>Calibration of the critic</h2>",
            picture(calibration(found), "What came against what was predicted"),
        ]
    return write(folder / "evaluate.html", f"banditboost: {title}", body)
