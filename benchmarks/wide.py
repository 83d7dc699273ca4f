"""Wide, sparse contexts: the default beside Vowpal Wabbit, from 300 to 1,000,000 features and from 10 to 300 non-zeros a row.

The stream: in every round different columns are drawn, column k with a probability proportional to k^-1.1, and are 1; labels are
linear in them, with normal weights, and have mean 0 and variance 1. Vowpal Wabbit is told labels; ours is told 30 values of the
squared loss with noise, or two. Numbers in the default were chosen on seeds from 100 on, and the seeds here are 0 to 4.
Times are the processor's, since our run takes longer than the slices in which a busy machine works.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from scipy.sparse import csr_array

import banditboost as bb
from benchmarks import ours
from benchmarks.growth import Curve, grown
from benchmarks.peers import vowpal_wabbit_in_memory
from benchmarks.timing import interleaved, peak_memory

ROUNDS, NONZEROS, SEEDS = 3000, 30, range(5)
WIDTHS = (300, 1000, 3000, 10_000, 100_000, 1_000_000)
ANSWERS = (30, 2)
EXPONENT = 1.1
SPACE = bb.spaces.Interval(-4.0, 4.0)
TIMES, MEMORY, PER_NONZERO, PER_FEATURE = 10.0, 1000.0, 1.0, 0.1
"""Aimed at: times Vowpal Wabbit's time at most, megabytes, and slopes of time against non-zeros and against features."""


def stream(features: int, seed: int, nonzeros: int = NONZEROS, rounds: int = ROUNDS) -> tuple[csr_array, Any]:
    """Return contexts and labels."""
    rng = np.random.default_rng([seed, features, nonzeros])
    share = np.cumsum(np.arange(1.0, features + 1) ** -EXPONENT)
    share /= share[-1]
    columns = []
    for _ in range(rounds):
        found = np.unique(np.searchsorted(share, rng.random(nonzeros)))
        while len(found) < nonzeros:
            more = np.searchsorted(share, rng.random(nonzeros - len(found)))
            found = np.unique(np.concatenate([found, more]))
        columns.append(found)
    ends = np.arange(0, rounds * nonzeros + 1, nonzeros, dtype=np.int32)
    contexts = csr_array(
        (np.ones(rounds * nonzeros), np.concatenate(columns).astype(np.int32), ends), shape=(rounds, features)
    )
    labels: Any = contexts @ rng.normal(size=features)
    return contexts, (labels - labels.mean()) / labels.std()


def world(features: int, seed: int, nonzeros: int = NONZEROS) -> bb.worlds.Supervised:
    return bb.worlds.Supervised(*stream(features, seed, nonzeros), noise=bb.noise.Uniform(0.1), seed=seed)


def texts(features: int, seed: int) -> list[str]:
    """The stream as Vowpal Wabbit reads it."""
    contexts, labels = stream(features, seed)
    rows = contexts.indices.reshape(ROUNDS, NONZEROS).tolist()
    return [f"{label} | " + " ".join(map(str, row)) for label, row in zip(labels.tolist(), rows, strict=True)]


def vowpal_wabbit(features: int, seed: int) -> float:
    """Mean squared error of the predictions that it makes before it is told a label."""
    from vowpalwabbit import Workspace

    model, errors = Workspace("--quiet"), []
    for text, label in zip(texts(features, seed), stream(features, seed)[1], strict=True):
        example = model.parse(text)
        model.learn(example)
        errors.append((example.get_simplelabel_prediction() - label) ** 2)
        model.finish_example(example)
    model.finish()
    return float(np.mean(errors))


def booster(answers: int, seed: int = 0) -> bb.Booster:
    return bb.algorithms.boosted(SPACE, answers=answers, seed=seed)


def losses(features: int, answers: int) -> list[float]:
    return [
        float(bb.evaluate.progressive(booster(answers, seed), world(features, seed), compiled=True).losses.mean())
        for seed in SEEDS
    ]


def measure() -> dict[str, Any]:
    return {
        "protocol": {"rounds": ROUNDS, "non-zeros": NONZEROS, "seeds": len(SEEDS), "exponent": EXPONENT},
        "rows": [row(features) for features in WIDTHS],
        "growth": [grown(curve, 5, time.process_time) for curve in CURVES],
    }


def row(features: int) -> dict[str, Any]:
    from vowpalwabbit import Workspace

    found: dict[str, Any] = {"features": features}
    found["vowpal wabbit"] = [vowpal_wabbit(features, seed) for seed in SEEDS]
    found |= {f"{answers} answers": losses(features, answers) for answers in ANSWERS}
    contestants = {
        "vowpal wabbit": vowpal_wabbit_in_memory(Workspace, "", texts(features, 0)),
        **{f"{k} answers": ours.contestant(booster(k).spec, world(features, 0)) for k in ANSWERS},
    }
    times = interleaved(contestants, clock=time.process_time)
    taken = {name: time["microseconds"] for name, time in times.items()}
    found["microseconds"] = taken
    found["times"] = {f"{k} answers": taken[f"{k} answers"] / taken["vowpal wabbit"] for k in ANSWERS}
    found["MB"] = peak(features)
    return found


def peak(features: int) -> float:
    """Most memory, in MB, that a process of its own takes to make the stream and to play it."""
    call = f"from benchmarks import wide; wide.report_peak({features})"
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", call], cwd=root, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout))


def report_peak(features: int) -> None:
    bb.evaluate.progressive(booster(30), world(features, 0), compiled=True)
    print(json.dumps(peak_memory()))


CURVES = (
    Curve(
        "non-zeros",
        "100,000 features",
        (10, 20, 50, 100, 200, 300),
        lambda k: ours.contestant(booster(30).spec, world(100_000, 0, k)),
        True,
    ),
    Curve(
        "features",
        "30 non-zeros",
        WIDTHS,
        lambda p: ours.contestant(booster(30).spec, world(p, 0)),
        True,
    ),
)


def met(value: float, most: float) -> str:
    return f"{value:.2f}, {'met' if value <= most else 'missed'}"


def table(results: dict[str, Any]) -> Group:
    first = Table(
        title="Wide, sparse contexts: mean loss over five seeds, and microseconds a round", title_justify="left"
    )
    names = ("vowpal wabbit", *(f"{answers} answers" for answers in ANSWERS))
    ratios = [f"{answers} answers / vw (≤ {TIMES:.0f})" for answers in ANSWERS]
    for heading in ("features", *names, "vw µs", "ours µs", *ratios, f"MB (≤ {MEMORY:.0f})"):
        first.add_column(heading, justify="right")
    for one in results["rows"]:
        means = [float(np.mean(one[name])) for name in names]
        shown = [f"{means[0]:.3f}", *(f"{mean:.3f}{'' if mean <= means[0] else ' missed'}" for mean in means[1:])]
        times = [f"{one['microseconds'][name]:.2f}" for name in names[:2]]
        ratios = [met(one["times"][name], TIMES) for name in names[1:]]
        first.add_row(f"{one['features']:,}", *shown, *times, *ratios, f"{one['MB']:.0f}")
    second = Table(title="Growth: slopes of log time", title_justify="left")
    for heading in ("variable", "setting", "from", "to", "slope", "at most"):
        second.add_column(heading, justify="right")
    for curve, most in zip(results["growth"], (PER_NONZERO, PER_FEATURE), strict=True):
        sizes = [point["size"] for point in curve["points"]]
        ends = (f"{size:,}" for size in (sizes[0], sizes[-1]))
        slope = "" if math.isnan(curve["slope"]) else met(curve["slope"], most)
        second.add_row(curve["variable"], curve["setting"], *ends, slope, f"{most}")
    return Group(first, second)
