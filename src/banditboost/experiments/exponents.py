"""The growth of regret: the exponent of T, fitted to one run per horizon, with an interval over seeds."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from banditboost import algorithms
from banditboost._core.checks import Array
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell
from banditboost.noise import Uniform
from banditboost.spaces import Ball, Simplex, Space
from banditboost.worlds import Adaptive, Quadratic, stationary

TARGETS = {"projection_free": 0.55, "projection_free_bandit": 0.8}
"""Largest exponent on stationary losses that counts as in line with the theory, 1/2 and 3/4, for finite horizons."""


@dataclass(frozen=True)
class Horizon(Cell, kind="experiments.Horizon"):
    """An algorithm run to one horizon, with the number of copies that its theorem prescribes, for a few seeds."""

    algorithm: Literal["projection_free", "projection_free_bandit"] = "projection_free"
    world: Literal["stationary", "adaptive"] = "stationary"
    space: Space = Simplex(5)  # noqa: RUF009 - specs are frozen
    horizon: int = 256
    seeds: int = 8

    def run(self) -> dict[str, Any]:
        """Return the regret of every seed against the best fixed point in hindsight."""
        regrets = []
        for seed in range(self.seeds):
            world: Quadratic
            if self.world == "stationary":
                world = stationary(self.space, self.horizon, noise=Uniform(0.1), seed=seed)
            else:
                world = Adaptive(self.space, self.horizon, noise=Uniform(0.1), seed=seed)
            if self.algorithm == "projection_free":
                booster = algorithms.projection_free(
                    self.space, horizon=self.horizon, smoothness=world.smoothness, sigma=world.sigma, seed=seed
                )
            else:
                booster = algorithms.projection_free_bandit(
                    self.space, horizon=self.horizon, loss_bound=world.bound, noise_bound=0.1, seed=seed
                )
            trace = progressive(booster, world)
            regrets.append(float((trace.losses - world.best().losses).sum()))
        return {"regrets": regrets, "copies": booster.spec.copies}


def exponent_cells(quick: bool = False) -> Iterator[Horizon]:
    """Yield a geometric grid of horizons for every algorithm, space and world."""
    powers, seeds = (range(8, 12), 4) if quick else (range(8, 15), 8)
    for algorithm, space, power in itertools.product(TARGETS, (Simplex(5), Ball(5)), powers):
        yield Horizon(algorithm, "stationary", space, 2**power, seeds)  # type: ignore[arg-type]
    for space, power in itertools.product((Simplex(5), Ball(5)), powers):
        yield Horizon("projection_free", "adaptive", space, 2**power, seeds)


def fit(horizons: Sequence[int], regrets: Array) -> tuple[float, float, float]:
    """Return the slope of log mean regret against log T, and a 95 % bootstrap interval over seeds (columns)."""
    logs = np.log(np.asarray(horizons, dtype=np.float64))

    def slope(sample: Array) -> float:
        means = np.maximum(sample.mean(axis=1), 1e-12)
        return float(np.polyfit(logs, np.log(means), 1)[0])

    rng = np.random.default_rng(0)
    seeds = regrets.shape[1]
    draws = [slope(regrets[:, rng.integers(seeds, size=seeds)]) for _ in range(1000)]
    low, high = np.quantile(draws, (0.025, 0.975))
    return slope(regrets), float(low), float(high)


def summary_of_exponents(fits: Sequence[Horizon], results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fit one exponent per algorithm, world and space."""
    groups: dict[tuple[str, str, str], list[tuple[int, list[float], int]]] = {}
    for cell, result in zip(fits, results, strict=True):
        key = (cell.algorithm, cell.world, type(cell.space).__name__)
        groups.setdefault(key, []).append((cell.horizon, result["regrets"], result["copies"]))
    summary = []
    for (algorithm, world, space), found in groups.items():
        horizons, regrets = [h for h, _, _ in found], np.array([r for _, r, _ in found])
        slope, low, high = fit(horizons, regrets)
        summary.append(
            {
                "algorithm": algorithm,
                "world": world,
                "space": space,
                "horizons": horizons,
                "copies": [n for _, _, n in found],
                "mean_regret": regrets.mean(axis=1).tolist(),
                "regret_per_round": (regrets.mean(axis=1) / np.array(horizons)).tolist(),
                "exponent": slope,
                "interval": [low, high],
                "target": TARGETS[algorithm] if world == "stationary" else None,
            }
        )
    return summary
