"""Time of a compiled run against copies, features, non-zeros, label dimensions and rounds: log-log slopes over two decades.

A round costs a fixed amount, plus some per copy (random directions, noise, the copy's place in the chain), plus some per copy and
feature. Slopes therefore lie below 1 where sizes begin small: with 16 features and one copy the fixed amount is most of a round,
and what a copy costs by itself is the price of about 50 non-zeros. For copies, features and non-zeros there are two curves over two
decades each: one from small sizes, which shows those costs, and one at sizes for which a user would ask how time grows: 10 to 1,000
copies with 100 features, 100 to 10,000 features, 100 to 10,000 non-zeros among 100,000 features (the different words of a
paragraph, of a book). Rounds have one curve, since a call costs little beside 1,000 rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Group
from rich.table import Table
from scipy.sparse import csr_array

import banditboost as bb
from benchmarks import ours
from benchmarks.sweep import swept
from benchmarks.timing import Contestant, interleaved

LEAST, MOST = 0.9, 1.1
"""Slopes aimed at where time should be proportional; never asserted anywhere."""


class Curve(NamedTuple):
    """One size that grows while all others stay."""

    variable: str
    setting: str
    sizes: tuple[int, ...]
    make: Callable[[int], Contestant]
    targeted: bool
    """Whether a slope near 1 is aimed at."""


def dense(rounds: int, features: int, copies: int, dimensions: int = 0) -> Contestant:
    """A run on dense rows; labels are numbers, or vectors in a box where dimensions are given."""
    rng = np.random.default_rng(0)
    contexts = rng.random((rounds, features))
    labels = rng.random((rounds, dimensions) if dimensions else rounds)
    space = bb.spaces.Box((0.0,) * dimensions, (1.0,) * dimensions) if dimensions else None
    world = bb.worlds.Supervised(contexts, labels, noise=bb.noise.Uniform(0.1))
    return ours.contestant(ours.linear_boosting(copies, space), world)


def sparse(rounds: int, features: int, copies: int, nonzeros: int, different: int | None = None) -> Contestant:
    """A run on rows that each have so many features other than zero; after `different` rows the first comes again."""
    rng, rows = np.random.default_rng(0), different or rounds
    columns = [np.sort(rng.choice(features, nonzeros, replace=False, shuffle=False)) for _ in range(rows)]
    starts = np.arange(0, rows * nonzeros + 1, nonzeros)
    contexts = csr_array((rng.random(rows * nonzeros), np.concatenate(columns), starts), shape=(rows, features))
    world = bb.worlds.Supervised(contexts, rng.random(rows), noise=bb.noise.Uniform(0.1))
    if rounds > rows:  # a table of them all would not fit into everybody's memory
        world = world._reordered(np.arange(rounds) % rows, 0)
    return ours.contestant(ours.linear_boosting(copies), world)


CURVES = (
    Curve("copies", "16 features", (1, 2, 5, 10, 20, 50, 100), lambda n: dense(4000, 16, n), True),
    Curve("copies", "100 features", (10, 20, 50, 100, 200, 500, 1000), lambda n: dense(4000, 100, n), True),
    Curve("features", "10 copies", (10, 20, 50, 100, 200, 500, 1000), lambda p: dense(2000, p, 10), False),
    Curve("features", "10 copies", (100, 200, 500, 1000, 2000, 5000, 10_000), lambda p: dense(500, p, 10), False),
    Curve(
        "non-zeros",
        "10,000 features, 10 copies",
        (4, 10, 20, 40, 100, 200, 400),
        lambda k: sparse(2000, 10_000, 10, k),
        True,
    ),
    Curve(
        "non-zeros",
        "100,000 features, 10 copies",
        (100, 200, 500, 1000, 2000, 5000, 10_000),
        lambda k: sparse(4096, 100_000, 10, k, 1000),
        True,
    ),
    Curve(
        "label dimensions", "16 features, 10 copies", (1, 2, 5, 10, 20, 50, 100), lambda d: dense(500, 16, 10, d), False
    ),
    Curve(
        "rounds",
        "16 features, 10 copies",
        (1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
        lambda rounds: dense(rounds, 16, 10),
        True,
    ),
    Curve(
        "replicas",
        "16 features, 10 copies, swept together",
        (10, 20, 50, 100, 200, 500, 1000),
        lambda replicas: swept(16, 10, replicas, 1000),
        True,
    ),
)
"""What is measured: a line here is a curve more. A part of its own with other curves calls `grown` and `table`."""


def measure(curves: tuple[Curve, ...] = CURVES, repetitions: int = 9) -> list[dict[str, Any]]:
    return [grown(curve, repetitions) for curve in curves]


def grown(curve: Curve, repetitions: int = 9, clock: Callable[[], float] = time.perf_counter) -> dict[str, Any]:
    """Time a curve's points in turn and fit a line to their logarithms, by least squares over all points."""
    contestants = {size: curve.make(size) for size in curve.sizes}
    times = interleaved(contestants, repetitions, clock)
    points = [
        {
            "size": size,
            "milliseconds": time["microseconds"] * time["rounds"] / 1e3,
            "microseconds": time["microseconds"],
            "noise": time["noise"],
        }
        for size, time in times.items()
    ]
    slope = slope_of(points)
    return {
        "variable": curve.variable,
        "setting": curve.setting,
        "slope": slope,
        "upper": slope_of(points[len(points) // 2 :]),
        "target": [LEAST, MOST] if curve.targeted else None,
        "met": curve.targeted and LEAST <= slope <= MOST,
        "points": points,
    }


def slope_of(points: list[dict[str, Any]]) -> float:
    """Return by which power of the size the time of a run grows."""
    sizes, times = ([point[key] for point in points] for key in ("size", "milliseconds"))
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def table(results: list[dict[str, Any]]) -> Group:
    title = "Time of a run grows with which power of a size: slope over two decades"
    slopes = Table("variable", "setting", "sizes", "slope", "upper half", "target", title=title, title_justify="left")
    times = Table("variable", "setting", "milliseconds of a run, by size", title_justify="left")
    times.title = "Points: milliseconds of a run (times that the median repetition took)"
    for row in results:
        points, target = row["points"], row["target"]
        verdict = f"{target[0]} to {target[1]}: {'met' if row['met'] else 'missed'}" if target else ""
        sizes = f"{points[0]['size']:,} to {points[-1]['size']:,}"
        slopes.add_row(row["variable"], row["setting"], sizes, f"{row['slope']:.2f}", f"{row['upper']:.2f}", verdict)
        shown = (f"{p['size']:,}: {p['milliseconds']:.3g} ({p['noise']:.2f})" for p in points)
        times.add_row(row["variable"], row["setting"], "  ".join(shown))
    return Group(slopes, times)


def figure(results: list[dict[str, Any]], path: Path) -> None:
    """Draw every curve, its slope in the legend."""
    import matplotlib.pyplot as plt

    drawing, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    for row in results:
        sizes, times = ([point[key] for point in row["points"]] for key in ("size", "milliseconds"))
        label = f"{row['variable']} ({row['setting']}): slope {row['slope']:.2f}"
        ax.plot(sizes, times, "o-", markersize=3, label=label)
    ax.set(xscale="log", yscale="log", xlabel="size", ylabel="milliseconds of a run", title="Compiled linear boosting")
    ax.legend(fontsize=7)
    drawing.savefig(path, dpi=110)
    plt.close(drawing)
