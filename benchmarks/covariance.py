"""Algorithm 1 on large covariances that drift: time, memory, and the price of searching leaders no finer than a round needs."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.table import Table

import banditboost as bb
from banditboost.learners import fpl_matrices
from benchmarks.timing import peak_memory

SAMPLES = 16
"""Samples in a round of the drifting covariance, as in the experiment of Xie et al. (2020)."""
SCALES: dict[str, Callable[[float, int], bb.learners.FPL]] = {
    "adaptive": lambda sigma, T: bb.learners.FPL(scale="adaptive"),
    "theory, once": lambda sigma, T: bb.learners.FPL(sigma=sigma, horizon=T, fresh=False),
    "theory, fresh": lambda sigma, T: bb.learners.FPL(sigma=sigma, horizon=T),
    "a fiftieth of theory's, once": lambda sigma, T: bb.learners.FPL(sigma=sigma / 50, horizon=T, fresh=False),
}
"""Perturbations by the rule for their scale, and whether they are drawn once or every round."""
EXACTLY = 1e-6
"""Searches that leave this share of what they save find leaders to about the last digit of sums in single precision."""


def measure() -> list[dict[str, Any]]:
    """Every row in a process of its own, for the sake of its peak."""
    # 2,000 x 2,000 with N = 50 is there for the memory: after twenty rounds all factors that wait have been multiplied out.
    settings = (
        *((1000, 400, 20, scale, False) for scale in SCALES),
        *((1000, 400, 20, scale, True) for scale in SCALES),
        (2000, 20, 50, "adaptive", False),
        (2000, 20, 50, "theory, once", False),
    )
    with multiprocessing.get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
        return [pool.apply(played, setting) for setting in settings]


def played(n: int, rounds: int, copies: int, scale: str, exactly: bool) -> dict[str, Any]:
    """One row; it changes how finely leaders are searched in its process."""
    if exactly:
        fpl_matrices.SHARE = fpl_matrices.FRESH_SHARE = EXACTLY
    world = bb.worlds.drifting_covariance(n=n, rounds=rounds, samples=SAMPLES)
    booster = bb.Booster(
        learner=SCALES[scale](world.sigma, rounds), copies=copies, gradient=bb.gradients.Stochastic(), space=world.space
    )
    begin, processor = time.perf_counter(), time.process_time()
    losses = losses_of(booster, world)
    seconds, processor = time.perf_counter() - begin, time.process_time() - processor
    return {
        "size": n,
        "rounds": rounds,
        "copies": copies,
        "perturbations": scale,
        "leaders": "exact" if exactly else "as the round needs",
        "seconds": seconds,
        "processor": processor,
        "gigabytes": peak_memory() / 1024,
        "loss": float(losses.mean()),
        "best": float(world.best().losses.mean()),
        "start": float(np.mean([world.values(t, world.space.inner_centre) for t in range(rounds)])),
    }


def losses_of(booster: bb.Booster, world: Any) -> Any:
    """Play without keeping predictions, as `progressive` does: 400 of 1,000 x 1,000 are three gigabytes."""
    losses, rng = [], np.random.default_rng(0)
    for t in range(len(world)):
        ticket = booster.ask()
        losses.append(float(world.values(t, ticket.prediction)))
        booster.tell(ticket, world.answer(t, ticket, booster.spec.gradient.noisy, rng))
    return np.array(losses)


COLUMNS = {
    "size": ("size", "d"),
    "T": ("rounds", "d"),
    "N": ("copies", "d"),
    "perturbations": ("perturbations", "s"),
    "leaders": ("leaders", "s"),
    "seconds": ("seconds", ".0f"),
    "of processor": ("processor", ".0f"),
    "peak GB": ("gigabytes", ".2f"),
    "mean loss": ("loss", ".5f"),
    "best fixed matrix": ("best", ".4f"),
    "centre": ("start", ".4f"),
}


def table(rows: list[dict[str, Any]]) -> Table:
    shown = Table(title="Algorithm 1 on drifting covariances", title_justify="left")
    for heading in COLUMNS:
        shown.add_column(heading, justify="right")
    for row in rows:
        shown.add_row(*(format(row[key], form) for key, form in COLUMNS.values()))
    return shown
