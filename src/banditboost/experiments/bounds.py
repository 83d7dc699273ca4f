"""Every bound of the paper compared with measured regrets, over a grid of horizons, copies, δ and γ.

Bounds in expectation are compared with the mean over seeds, bounds with high probability with the fraction of seeds that exceed
them, and the unrolled lemma with every single run. Losses are fixed in advance (an oblivious adversary); seeds change the
randomness of the learner and of the answers.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Unpack

from banditboost.experiments.bounds_games import (
    FAILURE,
    NOISE,
    BanditGame,
    BoostingGame,
    Game,
    LinearGame,
    OptimizerName,
    Perturbation,
    ProjectionFreeGame,
    WorldName,
)
from banditboost.experiments.cells import ParallelOptions, run_cells
from banditboost.experiments.exponents import exponent_cells, summary_of_exponents
from banditboost.spaces import Ball, Simplex


def cells(quick: bool = False) -> Iterator[Game]:
    """Yield the grid: many seeds on a short horizon for bounds with high probability, fewer on a longer one."""
    many, few = (100, 20) if quick else (1000, 100)
    plans = ((128, many), (256 if quick else 1024, few))
    spaces = (Simplex(5), Ball(5))
    worlds: tuple[WorldName, ...] = ("stationary", "oblivious")
    optimizers: tuple[OptimizerName, ...] = ("fpl", "ogd", "ftrl")
    perturbations: tuple[Perturbation, ...] = ("gaussian", "laplace", "uniform")
    for (T, seeds), space in itertools.product(plans, spaces):
        for name in perturbations:
            yield LinearGame(T, seeds, "fpl", name, space)
        yield LinearGame(T, 1, "ogd", space=space)
        yield LinearGame(T, 1, "ftrl", space=space)
        for world, optimizer in itertools.product(worlds, optimizers):
            yield ProjectionFreeGame(T, seeds, space, world, optimizer)
        yield ProjectionFreeGame(T, seeds, space, "oblivious", "fpl", 3)
        for world in worlds:
            yield BanditGame(T, seeds, space, world)
        yield BanditGame(T, seeds, space, "oblivious", 5, space.inner_radius / 4)
    for (T, seeds), gamma in itertools.product(plans, (0.5, 1.0, 2.0)):
        yield BoostingGame(T, seeds, "squared", 10, gamma, 0.2)
        yield BoostingGame(T, 1, "squared", 10, gamma, None)
    for T, seeds in plans:
        yield BoostingGame(T, seeds, "squared", 30, 1.0, 0.4)
        yield BoostingGame(T, seeds, "absolute", 10, 1.0, 0.2)


TITLES = {
    LinearGame: "online linear optimizer",
    ProjectionFreeGame: "Algorithm 1",
    BanditGame: "Algorithm 1, bandit",
    BoostingGame: "Algorithm 2",
}


def describe(cell: Game, result: dict[str, Any]) -> str:
    """Return a short description of a game."""
    match cell:
        case LinearGame():
            kind = f"fpl, {cell.perturbation}" if cell.optimizer == "fpl" else cell.optimizer
            return f"{kind}, {type(cell.space).__name__}"
        case ProjectionFreeGame():
            return f"{cell.optimizer}, {type(cell.space).__name__}, {cell.world}, N={result['copies']}"
        case BanditGame():
            return f"{type(cell.space).__name__}, {cell.world}, N={result['copies']}, δ={result['delta']:.2g}"
        case BoostingGame():
            feedback = "exact gradients" if cell.delta is None else f"δ={cell.delta:g}"
            return f"{cell.loss}, N={cell.copies}, γ={cell.gamma:g}, {feedback}"
    raise TypeError(f"unknown game {type(cell).__name__}")


def reproduce(
    *,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Play every game and fit every exponent; return rows with the measured regret, the bound, their ratio and a verdict."""
    games, fits = list(cells(quick)), list(exponent_cells(quick))
    results = run_cells([*games, *fits], threads=False, **options)
    rows = [row for game, result in zip(games, results, strict=False) for row in _rows(game, result)]
    exponents = summary_of_exponents(fits, results[len(games) :])
    protocol = {"failure": FAILURE, "noise": NOISE, "quick": quick}
    return {"experiment": "bounds", "protocol": protocol, "rows": rows, "exponents": exponents}


def _rows(game: Game, result: dict[str, Any]) -> Iterator[dict[str, Any]]:
    common = {
        "theorem": TITLES[type(game)],
        "setting": describe(game, result),
        "horizon": game.horizon,
        "seeds": result["seeds"],
    }
    mean, bound = result["mean"], result["expected_bound"]
    yield common | {"kind": "expected", "measured": mean, "bound": bound, "ratio": mean / bound, "held": mean <= bound}
    share = result["exceeding"] / result["seeds"]
    yield common | {
        "kind": f"with probability {1 - FAILURE:g}",
        "measured": result["largest"],
        "bound": result["likely_bound"],
        "ratio": result["largest"] / result["likely_bound"],
        "held": share <= FAILURE,
        "share_exceeding": share,
    }
    if result["least_margin"] is not None:
        yield common | {
            "kind": "unrolled lemma, every run",
            "measured": -result["least_margin"],
            "bound": 0.0,
            "ratio": None,
            "held": result["lemma_violations"] == 0,
        }
