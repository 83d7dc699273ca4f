"""Every bound of the paper compared with measured regrets, by rows that can fail and that are shown to fail.

A row is evidence only where its bound is below what a booster suffers that learns nothing: that booster is run, too (it is told
zeros), and rows whose bound is higher are listed as not informative, with the horizon from which they would be. Every row is also
run with boosters that are broken on purpose. Losses are fixed in advance (an oblivious adversary); seeds change the randomness of
the learner and of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Unpack

from banditboost.experiments.bounds_boosting import BoostingGame
from banditboost.experiments.bounds_broken import BLIND, GRADIENTS_TOLD, STILL_LEARNING, BrokenName
from banditboost.experiments.bounds_games import (
    FAILURE,
    NOISE,
    BanditGame,
    Game,
    LinearGame,
    OptimizerName,
    Perturbation,
    ProjectionFreeGame,
)
from banditboost.experiments.cells import Cell, ParallelOptions, run_cells
from banditboost.experiments.exponents import exponent_cells, summary_of_exponents
from banditboost.experiments.statistics import mean_limits, rate_limits, runs_to_reject
from banditboost.spaces import Ball, Interval, Simplex

EXPECTED, LIKELY, IDENTITY = "in expectation", f"with probability {1 - FAILURE:g}", "identity"
SEEDS = max(30, runs_to_reject(2 * FAILURE))
"""Seeds of every row: thirty, and enough to reject a failure rate of 2ρ where none fails."""
BROKEN_SEEDS = 8
"""Seeds of every broken variant."""
DEVIATIONS = 5.0
"""Standard errors by which the identity may be missed."""
THEOREMS = {
    LinearGame: {EXPECTED: "Definition 1", LIKELY: "Definition 12"},
    ProjectionFreeGame: {EXPECTED: "Theorem 2", LIKELY: "Theorem 3"},
    BanditGame: {EXPECTED: "Theorem 14", LIKELY: "Theorem 14"},
    BoostingGame: {EXPECTED: "Theorem 9", LIKELY: "Theorem 9"},
}
"""Statements of the paper, by its own counter, for a game and a kind of bound."""
PROVED = ("Theorem 2", "Theorem 3", "Theorem 9", "Theorem 14")
"""The theorems, each of which needs an informative row."""
FROM_VALUES = ("Theorem 9", "Theorem 14")
"""Those about algorithms that are told loss values."""


def games(quick: bool = False) -> Iterator[Game]:
    """Yield the grid: for every theorem rows that are informative, rows at its own prescription, and rows for the identity."""
    perturbations: tuple[Perturbation, ...] = ("gaussian", "laplace", "uniform")
    optimizers: tuple[OptimizerName, ...] = ("fpl", "ogd", "ftrl")
    for space in (Simplex(5), Ball(5)):
        for name in perturbations:
            yield LinearGame(1024, SEEDS, perturbation=name, space=space)
        yield LinearGame(1024, 1, optimizer="ogd", space=space)
        yield LinearGame(1024, 1, optimizer="ftrl", space=space)
    for optimizer in optimizers:
        yield ProjectionFreeGame(4096, SEEDS, space=Ball(2), optimizer=optimizer)
    yield ProjectionFreeGame(1024, SEEDS, space=Ball(5))
    yield ProjectionFreeGame(4096, SEEDS, space=Simplex(3))
    yield BanditGame(4096, SEEDS)
    yield BanditGame(4096, SEEDS, loss="quadratic")
    yield BanditGame(4096, SEEDS, copies=150, delta=0.2)
    yield BoostingGame(2048, SEEDS, copies=30, gamma=0.5)
    yield BoostingGame(2048, SEEDS, loss="squared", copies=30)
    yield BoostingGame(8192, SEEDS, copies=200)
    if not quick:
        yield ProjectionFreeGame(32768, SEEDS, space=Ball(2))
        yield ProjectionFreeGame(32768, SEEDS, space=Interval(-1.0, 1.0), optimizer="ogd")
        yield BanditGame(65536, SEEDS)
        yield BanditGame(8192, SEEDS, dimension=2, copies=400, delta=0.25)
        yield BanditGame(65536, SEEDS, optimizer="ftrl", copies=300, delta=0.2)
        yield BanditGame(131072, SEEDS, copies=200, delta=0.2)
        yield BoostingGame(16384, SEEDS, copies=800, gamma=0.5)
        yield BoostingGame(65536, SEEDS, copies=300)
    yield from identities()


def identities() -> Iterator[Game]:
    """Yield short games among quadratics, for which the unrolled lemma is an identity."""
    common: dict[str, Any] = {"horizon": 1024, "seeds": 100, "identity": True, "copies": 8}
    yield ProjectionFreeGame(**common, exact=True)
    yield ProjectionFreeGame(**common)
    yield ProjectionFreeGame(**common, optimizer="ogd")
    yield BanditGame(**common, loss="quadratic", delta=0.5)
    yield BanditGame(**common, loss="quadratic", delta=0.5, dimension=2)
    yield BoostingGame(**common, loss="squared", gamma=0.5, exact=True)
    yield BoostingGame(**common, loss="squared", gamma=0.5, delta=0.5)
    yield BoostingGame(**common, loss="squared", delta=0.5)


def variants(game: Game) -> dict[BrokenName, Game]:
    """Return a game with every booster that is broken on purpose; the identity is cheap enough for all seeds."""
    seeds = game.seeds if game.identity else BROKEN_SEEDS
    return {name: replace(game, broken=name, seeds=seeds) for name in game.variants}


def reproduce(*, quick: bool = False, **options: Unpack[ParallelOptions]) -> dict[str, Any]:
    """Play every game, right and broken, and fit every exponent; return rows with a verdict each, and what is missing."""
    grid, fits = list(games(quick)), list(exponent_cells(quick))
    played = [cell for game in grid for cell in (game, *variants(game).values())]
    cells: list[Cell] = list(dict.fromkeys([*played, *fits]))
    done = dict(zip(cells, run_cells(cells, threads=False, cost=cost, **options), strict=True))
    rows = [row for game in grid for row in rows_of(game, done)]
    exponents = summary_of_exponents(fits, [done[fit] for fit in fits])
    protocol = {
        "failure": FAILURE,
        "noise": NOISE,
        "quick": quick,
        "seeds": SEEDS,
        "broken_seeds": BROKEN_SEEDS,
        "seeds_that_reject_twice_the_rate": runs_to_reject(2 * FAILURE),
        "deviations": DEVIATIONS,
    }
    results = {"experiment": "bounds", "protocol": protocol, "rows": rows, "exponents": exponents}
    return results | {"complaints": complaints(results)}


def cost(cell: Cell) -> float:
    """Return a measure of the time of a cell: rounds times seeds times copies, roughly."""
    if not isinstance(cell, Game):
        return float(getattr(cell, "horizon", 0)) * 1000.0
    copies: float = getattr(cell, "copies", None) or cell.horizon**0.5
    return cell.horizon * cell.seeds * copies


def rows_of(game: Game, done: dict[Any, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a game: both bounds, or the identity."""
    right, broken = done[game], {name: done[cell] for name, cell in variants(game).items()}
    common = {"setting": game.describe(), "horizon": game.horizon, "seeds": right["seeds"]}
    if game.identity:
        yield common | _identity_row(game, right, broken)
        return
    for kind, failure in ((EXPECTED, None), (LIKELY, FAILURE)):
        bound = game.bound(game.horizon, failure)
        if bound is not None:
            found = {"theorems": [THEOREMS[type(game)][kind]], "kind": kind}
            yield common | found | _bound_row(game, bound, failure, right, broken)


def _identity_row(game: Game, right: dict[str, Any], broken: dict[BrokenName, dict[str, Any]]) -> dict[str, Any]:
    found = {name: deviations(result) for name, result in broken.items()}
    return {
        "theorems": list(dict.fromkeys(THEOREMS[type(game)].values())),
        "kind": IDENTITY,
        "measured": right["rest"],
        "deviations": deviations(right),
        "held": deviations(right) <= DEVIATIONS,
        "broken": {name: {"deviations": away, "caught": away > DEVIATIONS} for name, away in found.items()},
    }


def _bound_row(
    game: Game,
    bound: float,
    failure: float | None,
    right: dict[str, Any],
    broken: dict[BrokenName, dict[str, Any]],
) -> dict[str, Any]:
    nothing = mean_limits(broken["zeros"]["mean"], broken["zeros"]["error"], broken["zeros"]["seeds"])[0]
    informative = bound < nothing
    measured = right["mean"] if failure is None else right["largest"]
    return {
        "measured": measured,
        "bound": bound,
        "ratio": measured / bound,
        "nothing": nothing,
        "informative": informative,
        "informative_from": informative_from(game, nothing / game.horizon, failure),
        "held": held(right, bound, failure),
        "exceeding": right["exceeding"],
        "rate_at_most": None if failure is None else rate_limits(right["exceeding"], right["seeds"])[1],
        "broken": {
            name: {"measured": result["mean"], "caught": informative and caught(result, bound, failure)}
            for name, result in broken.items()
        },
    }


def held(result: dict[str, Any], bound: float, failure: float | None) -> bool:
    """Return whether a bound holds: the mean is below it with 95 % confidence, or a failure rate of 2ρ is rejected."""
    if failure is None:
        return mean_limits(result["mean"], result["error"], result["seeds"])[1] <= bound
    return rate_limits(result["exceeding"], result["seeds"])[1] <= 2 * failure


def caught(result: dict[str, Any], bound: float, failure: float | None) -> bool:
    """Return whether a bound is violated: the mean is above it with 95 % confidence, or the promised failure rate is rejected."""
    if failure is None:
        return mean_limits(result["mean"], result["error"], result["seeds"])[0] > bound
    return rate_limits(result["exceeding"], result["seeds"])[0] > failure


def deviations(result: dict[str, Any]) -> float:
    """Return by how many standard errors the identity is missed; rounding of 1e-9 a seed counts as nothing."""
    return abs(float(result["rest"])) / max(float(result["rest_error"]), 1e-9)


def informative_from(game: Game, nothing: float, failure: float | None) -> int | None:
    """Return the first power of two from which the bound is below `nothing` a round; None where it never is."""
    for power in range(4, 64):
        bound = game.bound(2**power, failure)
        if bound is not None and bound < nothing * 2**power:
            return int(2**power)
    return None


def complaints(results: dict[str, Any]) -> list[str]:
    """Return what is wrong, in sentences: bounds that are violated, theorems without evidence, and broken variants that pass."""
    found = [
        f"{row['theorems'][0]} is violated ({row['kind']}): {row['setting']}, T = {row['horizon']}."
        for row in results["rows"]
        if not row["held"]
    ]
    if results["protocol"]["quick"]:
        return found
    for theorem in PROVED:
        rows = [row for row in results["rows"] if theorem in row["theorems"]]
        evidence = [row for row in rows if row.get("informative")]
        if not evidence:
            found.append(f"{theorem} has no informative row.")
        for name in BLIND if theorem in FROM_VALUES else [name for name in BLIND if name in GRADIENTS_TOLD]:
            if not any(row["broken"][name]["caught"] for row in evidence):
                found.append(f"{theorem} does not notice the variant {name}.")
        sharp = [row for row in rows if row["kind"] == IDENTITY]
        for other in STILL_LEARNING:
            if not any(row["broken"][other]["caught"] for row in sharp):
                found.append(f"The identity of {theorem} does not notice the variant {other}.")
    return found
