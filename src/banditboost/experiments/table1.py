"""The paper's Table 1, measured: the regret of four projection-free algorithms, and its cost.

The losses are finite sums of quadratics with stochastic gradients, on the simplex, the l2 ball and the nuclear ball. Horizons form
a geometric grid, with one run per horizon and seed. Each algorithm's grid ends where its prescribed calls of the linear oracle
exceed a budget.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Unpack

import numpy as np

from banditboost import algorithms
from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.experiments.cells import Cell, ParallelOptions, run_cells
from banditboost.experiments.exponents import fit
from banditboost.spaces import Ball, CountingSpace, NuclearBall, Simplex, Space
from banditboost.theory import projection_free_copies
from banditboost.worlds import Convex, CountingWorld, finite_sum

Algorithm = Literal["online_frank_wolfe", "projection_free", "morgfw", "meta_frank_wolfe"]
ALGORITHMS: tuple[Algorithm, ...] = ("online_frank_wolfe", "projection_free", "morgfw", "meta_frank_wolfe")
TITLES = {
    "online_frank_wolfe": "Online-FW",
    "projection_free": "Algorithm 1",
    "morgfw": "MORGFW",
    "meta_frank_wolfe": "Meta-FW",
}
THEORY = {"online_frank_wolfe": 0.75, "projection_free": 0.5, "morgfw": 0.5, "meta_frank_wolfe": 0.5}
SPACES: tuple[Space, ...] = (Simplex(10), Ball(10), NuclearBall(6, 6))
SAMPLES = 10
"""Number of quadratics in the sum of a round."""
LAST = 5
"""Number of longest horizons on which an exponent is fitted."""


@dataclass(frozen=True)
class Race(Cell, kind="experiments.Race"):
    """One algorithm on one space to one horizon, for a few seeds."""

    algorithm: Algorithm = "projection_free"
    space: Space = Simplex(10)  # noqa: RUF009 - specs are frozen
    horizon: int = 64
    seeds: int = 5

    @property
    def calls(self) -> int:
        """Number of linear-oracle calls that the theory prescribes for a whole run."""
        return self.horizon * prescribed_calls(self.algorithm, self.horizon, self.space)

    def booster(self, world: Convex, space: Space, seed: int) -> Booster:
        """Build the algorithm with the settings that its theorem prescribes."""
        T, sigma = self.horizon, world.sigma
        match self.algorithm:
            case "online_frank_wolfe":
                return algorithms.online_frank_wolfe(space, horizon=T, gradient_bound=world.lipschitz)
            case "projection_free":
                return algorithms.projection_free(space, horizon=T, smoothness=world.smoothness, sigma=sigma, seed=seed)
            case "morgfw":
                return algorithms.morgfw(space, horizon=T, sigma=sigma, seed=seed)
            case "meta_frank_wolfe":
                return algorithms.meta_frank_wolfe(space, horizon=T, sigma=sigma, seed=seed)

    def run(self) -> dict[str, Any]:
        """Run every seed; return the regrets, and calls and time per round."""
        regrets, seconds, oracle, gradients = [], 0.0, 0, 0
        for seed in range(self.seeds):
            inner = finite_sum(self.space, self.horizon, SAMPLES, seed=seed)
            world, counted = CountingWorld(inner), CountingSpace(self.space)
            booster = self.booster(inner, counted, seed)
            counted.reset()
            rng, losses, noisy = stream(seed, "noise"), np.empty(self.horizon), booster.spec.gradient.noisy
            for t in range(self.horizon):
                begin = time.perf_counter()
                ticket = booster.ask()
                booster.tell(ticket, losses=world.answer(t, ticket, noisy, rng))
                seconds += time.perf_counter() - begin
                losses[t] = inner.values(t, ticket.prediction)
            oracle += counted.oracle_calls
            gradients += world.gradient_calls
            regrets.append(float((losses - inner.best().losses).sum()))
        rounds = self.horizon * self.seeds
        return {
            "regrets": regrets,
            "oracle_calls": oracle / rounds,
            "gradient_calls": gradients / rounds,
            "seconds": seconds / rounds,
        }


def prescribed_calls(algorithm: Algorithm, horizon: int, space: Space) -> int:
    """Return the number of linear-oracle calls per round that the algorithm's theorem prescribes."""
    world = finite_sum(space, 1, 1)
    if algorithm == "online_frank_wolfe":
        return 1
    if algorithm == "projection_free":
        return projection_free_copies(horizon, world.smoothness, space.diameter, world.sigma)
    return horizon if algorithm == "morgfw" else int(np.ceil(round(horizon**1.5, 9)))


def cells(quick: bool = False) -> Iterator[Race]:
    """Yield the grid: horizons from 2^4 on, as far as the budget of oracle calls allows."""
    seeds, longest = (3, 12) if quick else (8, 17)
    for space in SPACES:
        budget = 2 ** ((14 if quick else 18) if isinstance(space, NuclearBall) else (17 if quick else 22))
        for algorithm in ALGORITHMS:
            for power in range(4, longest + 1):
                race = Race(algorithm, space, 2**power, seeds)
                if race.calls <= budget:
                    yield race


def reproduce(
    *,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run every race; return one row per space and algorithm, with the regret at equal cost."""
    races = list(cells(quick))
    results = run_cells(races, threads=False, cost=lambda race: race.calls, **options)
    found = dict(zip(races, results, strict=True))
    rows = []
    for space in SPACES:
        group = [_row(algorithm, space, found) for algorithm in ALGORITHMS]
        for key, unit in (("total_calls", "at_equal_calls"), ("total_seconds", "at_equal_time")):
            most = min(row[key][-1] for row in group)
            for row in group:
                row[unit] = {"budget": most, "regret_per_round": _interpolated(row[key], row["regret_per_round"], most)}
        rows += group
    return {"experiment": "table1", "protocol": {"samples": SAMPLES, "quick": quick}, "rows": rows}


def _calls(cell: Cell) -> float:
    assert isinstance(cell, Race)
    return float(cell.calls)


def _row(algorithm: Algorithm, space: Space, found: dict[Race, dict[str, Any]]) -> dict[str, Any]:
    mine = [(race, result) for race, result in found.items() if race.algorithm == algorithm and race.space == space]
    mine.sort(key=lambda pair: pair[0].horizon)
    horizons = np.array([race.horizon for race, _ in mine])
    regrets = np.array([result["regrets"] for _, result in mine])
    # Exponents describe long horizons: the local slope of Online-FW is 0.4 at T = 500 and still rises past 0.7 at 100,000.
    slope, low, high = fit(horizons[-LAST:].tolist(), regrets[-LAST:])
    calls = np.array([result["oracle_calls"] for _, result in mine])
    seconds = np.array([result["seconds"] for _, result in mine])
    return {
        "algorithm": algorithm,
        "space": str(space),
        "horizons": horizons.tolist(),
        "exponent": slope,
        "interval": [low, high],
        "theory": THEORY[algorithm],
        "oracle_calls": calls.tolist(),
        "prescribed_calls": [prescribed_calls(algorithm, race.horizon, space) for race, _ in mine],
        "gradient_calls": [result["gradient_calls"] for _, result in mine],
        "microseconds": (1e6 * seconds).tolist(),
        "mean_regret": regrets.mean(axis=1).tolist(),
        "regret_per_round": (regrets.mean(axis=1) / horizons).tolist(),
        "total_calls": (calls * horizons).tolist(),
        "total_seconds": (seconds * horizons).tolist(),
    }


def _interpolated(costs: Sequence[float], regrets: Sequence[float], at: float) -> float:
    """Return the regret per round of a run with a given cost, interpolated between horizons on logarithmic scales."""
    x: Array = np.log(np.asarray(costs))
    y: Array = np.log(np.maximum(np.asarray(regrets), 1e-12))
    return float(np.exp(np.interp(np.log(at), x, y)))
