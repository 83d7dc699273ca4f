"""Matrix spaces: the oracle beside a full decomposition, and equal time against projections."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table

import banditboost as bb
from benchmarks.timing import best_of

ORACLE_SIZES = (200, 500, 1000, 2000)
CROSSOVER_SIZES = (16, 32, 48, 64, 96, 128, 192, 256)
RACE_SIZES = (50, 100, 200, 300, 500, 700, 1000)
SECONDS_PER_ROW = 0.01
"""Time that each run of the race has: ten seconds for 1,000 x 1,000."""
TUNING = (0.2, 0.5, 5.0, 25.0)
"""Every method of the race runs with σ divided by each of these, and shows its best."""

ALL_THREADS = True
"""Full decompositions, the rivals here, may use every core."""

Rows = list[dict[str, Any]]


def measure() -> dict[str, Rows]:
    return {"oracle": oracle(), "crossover": crossover(), "race": race()}


def oracle() -> Rows:
    """One linear minimisation on the nuclear ball, by Lanczos and by NumPy's full SVD, which is what a projection needs."""
    rows = []
    for n in ORACLE_SIZES:
        space, gradients = bb.spaces.NuclearBall(n, n), _gradients(n)
        row: dict[str, Any] = {"size": n}
        for name, gradient in gradients.items():
            values = np.linalg.svd(gradient, compute_uv=False)
            left, right = space.minimize_factored(gradient)
            row |= {
                f"svd, {name}": 1e3 * best_of(lambda g=gradient: np.linalg.svd(g, full_matrices=False), 2),  # type: ignore[misc]
                f"ours, {name}": 1e3 * best_of(lambda s=space, g=gradient: s.minimize_factored(g)),  # type: ignore[misc]
                f"missing, {name}": float(1 + left @ gradient @ right / values[0]),
            }
            row[f"ratio, {name}"] = row[f"svd, {name}"] / row[f"ours, {name}"]
        rows.append(row)
    return rows


def crossover() -> Rows:
    """From which size on Lanczos pays: what `banditboost.spaces.rank_one.FULL_UP_TO` rests on."""
    rows = []
    for n in CROSSOVER_SIZES:
        row: dict[str, Any] = {"size": n}
        for space in (bb.spaces.NuclearBall(n, n), bb.spaces.Spectrahedron(n)):
            for name, gradient in _gradients(n).items():
                stack = np.broadcast_to(gradient, (20, n, n))
                full = best_of(lambda s=space, g=stack: s._decompose(g))  # type: ignore[misc]
                ours = best_of(lambda s=space, g=stack: [s._search(matrix, None) for matrix in g])  # type: ignore[misc]
                row[f"{type(space).__name__}, {name}"] = full / ours
        rows.append(row)
    return rows


def race() -> Rows:
    """Online matrix completion for the same time: how far does each method come?"""
    return [_race(n) for n in RACE_SIZES]


def _race(n: int) -> dict[str, Any]:
    world = bb.worlds.ratings(rounds=500, rows=n, columns=n, rank=5, batch=5 * n)
    space = world.space
    # Entries have variance 1, hence the first gradients this length.
    length = 1 / np.sqrt(world.batch)
    exact, single = bb.gradients.Exact(), bb.chains.Single()
    methods: dict[str, Callable[[float, int], bb.Booster]] = {
        "projected": lambda sigma, T: bb.Booster(
            learner=bb.learners.OGD(sigma=sigma), copies=1, chain=single, gradient=exact, space=space
        ),
        "one call": lambda sigma, T: bb.algorithms.online_frank_wolfe(space, horizon=T, gradient_bound=sigma),
        "algorithm 1": lambda sigma, T: bb.Booster(
            learner=bb.learners.FPL(sigma=sigma, horizon=T, fresh=False), copies=10, gradient=exact, space=space
        ),
    }
    row: dict[str, Any] = {"size": n}
    seconds = SECONDS_PER_ROW * n
    for name, make in methods.items():
        pace = _timed(make(length, 100), world, seconds / 10)[1]
        runs = [_timed(make(length / factor, max(10, int(seconds / pace))), world, seconds) for factor in TUNING]
        losses, pace = min(runs, key=lambda run: float(run[0][-max(1, len(run[0]) // 10) :].mean()))
        row |= {
            f"rounds, {name}": len(losses),
            f"pace, {name}": 1e3 * pace,
            f"loss, {name}": float(losses[-max(1, len(losses) // 10) :].mean()),
        }
    return row


def _timed(booster: bb.Booster, world: Any, seconds: float) -> tuple[Any, float]:
    begin = time.perf_counter()
    losses = _play(booster, world, lambda t: time.perf_counter() - begin < seconds)
    return losses, (time.perf_counter() - begin) / len(losses)


def _play(booster: bb.Booster, world: Any, going: Callable[[int], bool]) -> Any:
    """Play without keeping predictions, as `progressive` does: 400 of 1,000 x 1,000 are three gigabytes."""
    losses: list[float] = []
    rng = np.random.default_rng(0)
    while going(len(losses)):
        t = len(losses) % len(world)
        ticket = booster.ask()
        losses.append(float(world.values(t, ticket.prediction)))
        booster.tell(ticket, world.answer(t, ticket, booster.spec.gradient.noisy, rng))
    return np.array(losses)


def _gradients(n: int) -> dict[str, Any]:
    """The hardest matrix for Lanczos, whose singular values crowd at the top, and one as learning meets it: a signal in noise."""
    rng = np.random.default_rng(n)
    noise = rng.standard_normal((n, n))
    vector = rng.standard_normal(n)
    return {"noise": noise, "signal": noise - 5 / np.sqrt(n) * np.outer(vector, vector)}


def table(results: dict[str, Rows]) -> Group:
    return Group(
        _table(
            "NuclearBall oracle beside NumPy's full SVD: milliseconds",
            results["oracle"],
            {
                "size": ("size", "d"),
                "full SVD": ("svd, noise", ".1f"),
                "ours, hardest": ("ours, noise", ".2f"),
                "SVD / ours": ("ratio, noise", ".0f"),
                "missing": ("missing, noise", ".0e"),
                "ours, typical": ("ours, signal", ".2f"),
                "SVD / ours ": ("ratio, signal", ".0f"),
            },
        ),
        _table(
            "LAPACK / Lanczos: from 1 on Lanczos pays",
            results["crossover"],
            {"size": ("size", "d")}
            | {
                f"{space}, {kind}": (f"{space}, {kind}", ".1f")
                for space in ("NuclearBall", "Spectrahedron")
                for kind in ("noise", "signal")
            },
        ),
        _table(
            "Matrix completion for the same time, a second per 100 rows: loss at its end, and milliseconds a round",
            results["race"],
            {"size": ("size", "d")}
            | {
                f"{name}, {key}": (f"{key}, {name}", form)
                for name in METHODS
                for key, form in (("loss", ".3f"), ("pace", ".1f"))
            },
        ),
    )


METHODS = {
    "projected": "projected gradient descent",
    "one call": "online Frank-Wolfe",
    "algorithm 1": "Algorithm 1, N = 10",
}


def figure(results: dict[str, Rows], path: Path) -> None:
    """Draw loss at equal time, and time per round, over the size of the matrix."""
    import matplotlib.pyplot as plt

    drawing, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes = [row["size"] for row in results["race"]]
    for name, label in METHODS.items():
        for ax, key in ((left, "loss"), (right, "pace")):
            ax.plot(sizes, [row[f"{key}, {name}"] for row in results["race"]], "o-", label=label)
    for size in crossings(results["race"]).values():
        left.axvline(size, color="grey", linestyle=":", linewidth=1)
    left.set(ylabel="loss after one second per 100 rows", title="Online matrix completion at equal time")
    right.set(ylabel="milliseconds a round", title="Price of a round")
    for ax in (left, right):
        ax.set(xlabel="rows and columns", xscale="log", yscale="log")
        ax.set_xticks(sizes, labels=map(str, sizes))
        ax.minorticks_off()
        ax.legend()
    drawing.savefig(path)
    plt.close(drawing)


def crossings(rows: Rows) -> dict[str, int]:
    """Return for each projection-free method the size from which on it is ahead of projected gradient descent at equal time."""
    result = {}
    for name in METHODS:
        behind = [row["size"] for row in rows if row[f"loss, {name}"] >= row["loss, projected"]]
        ahead = [row["size"] for row in rows if row["size"] > max(behind, default=0)]
        if name != "projected" and ahead:
            result[name] = ahead[0]
    return result


def _table(title: str, rows: Rows, columns: dict[str, tuple[str, str]]) -> Table:
    result = Table(title=title, title_justify="left")
    for heading in columns:
        result.add_column(heading, justify="right")
    for row in rows:
        result.add_row(*(format(row[key], form) for key, form in columns.values()))
    return result
