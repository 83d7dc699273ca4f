"""What a log is worth: boosters that have read the prices of another policy beside boosters that begin with nothing.

Protocol: in one shop, 300 customers are asked what they would pay, and a ridge regression of that on their features makes a policy:
0.8 times the answer that is expected. It sells to the next 5,000 customers, with prices uniform within 0.5 of its own, on a range
from 0 to 10; the log holds contexts, prices, losses and densities. A booster reads the log and sells to the 5,000 customers after
that; what it fails to earn in expectation, exploration included, is its regret.

Logs that could do harm are read as well: one without densities, one of a policy that charges far too much, and more to those who
would pay less, and one whose losses are shuffled among rows, so that it teaches nonsense. Numbers of the library were chosen on
the shops with the seeds 0 to 2, which have no part in this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, Unpack

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._core.streams import stream
from banditboost.algorithms import boosted, pricing
from banditboost.booster import Booster
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.statistics import grouped, means, rounded
from banditboost.explore import Explore
from banditboost.logs.explored import explored
from banditboost.worlds import Shop

SURVEYED, LOGGED, SOLD = 300, 5_000, 5_000
"""How many customers are asked, how many the log has, and to how many the booster sells."""
WIDTH = 0.5
"""How far prices in the log lie from the policy's own, at most."""
FIRST_SEED = 10
"""The first of the seeds that are used here."""
LOGS = {
    "none": "no log",
    "ridge": "a ridge policy",
    "no_density": "the same without densities",
    "bad": "a bad policy",
    "shuffled": "shuffled losses",
}
"""Logs by name, with their titles in tables."""


class Rows(NamedTuple):
    """A log in memory, as one block (`banditboost.booster.logged.Block`)."""

    contexts: Array
    actions: Array
    losses: Array
    densities: Array | None
    row: int = 0

    def blocks(self) -> Iterable[Rows]:
        """Give all rows."""
        yield self


WAYS: dict[str, Callable[[Any, int, Rows | None], Booster]] = {
    "pricing": lambda space, seed, rows: pricing(space, seed=seed),
    "boosted": lambda space, seed, rows: boosted(
        space, answers=1, seed=seed, explore=Explore(most=None if rows is None else explored(rows))
    ),
}
"""Boosters by name, made for what they will read: `boosted` explores no more widely than the log."""


def logged(shop: Shop, name: str) -> Rows:
    """Return the log of that name."""
    rng, contexts = stream(shop.seed, "coins"), shop.contexts()
    terms = np.column_stack([np.ones(len(contexts)), contexts])
    asked = terms[:SURVEYED]
    ridge = asked.T @ asked + np.eye(asked.shape[1])
    expected = terms @ np.linalg.solve(ridge, asked.T @ shop.labels(0, SURVEYED))
    aims = 0.8 * expected[SURVEYED : SURVEYED + LOGGED]
    if name == "bad":
        aims = 8.5 - 2.0 * (aims - aims.mean())
    low, high = shop.space.low + WIDTH, shop.space.high - WIDTH
    prices = np.clip(aims, low, high) + rng.uniform(-WIDTH, WIDTH, LOGGED)
    losses = np.array([float(shop.values(SURVEYED + t, price)) for t, price in enumerate(prices)])
    if name == "shuffled":
        losses = rng.permutation(losses)
    densities = None if name == "no_density" else np.full(LOGGED, 0.5 / WIDTH)
    return Rows(contexts[SURVEYED : SURVEYED + LOGGED], prices[:, np.newaxis], losses, densities)


@dataclass(frozen=True)
class Warm(Cell, kind="experiments.warm.Warm"):
    """One booster in one shop, after it has read one log."""

    way: str = "pricing"
    log: str = "ridge"
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return the regret, and the share of the best revenue that was earned, in all and in the last tenth."""
        begin = SURVEYED + LOGGED
        shop = Shop(customers=begin + SOLD, seed=self.seed)
        rows = None if self.log == "none" else logged(shop, self.log)
        booster = WAYS[self.way](shop.space, self.seed, rows)
        found: dict[str, Any] = {}
        if rows is not None:
            report = booster.learn_from(rows)
            found = {"critic_only": report.critic_only, "effective": rounded(report.effective)}
        prices = np.zeros(len(shop))
        for t in range(begin, len(shop)):
            ticket = booster.ask(shop.context(t))
            prices[t] = float(ticket.action)
            booster.tell(ticket, losses=[float(shop.values(t, prices[t]))])
        earned, best = shop.expected(prices)[begin:], shop.expected(shop.best_prices)[begin:]
        tenth = -max(1, SOLD // 10)
        return found | {
            "regret": rounded(float((best - earned).sum())),
            "share": rounded(float(earned.sum() / best.sum())),
            "share_tenth": rounded(float(earned[tenth:].sum() / best[tenth:].sum())),
        }


def reproduce(*, runs: int = 10, **options: Unpack[ParallelOptions]) -> dict[str, Any]:
    """Let all boosters read all logs, and return plain data.

    Parameters
    ----------
    runs
        Number of shops.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    seeds = range(FIRST_SEED, FIRST_SEED + count("runs", runs))
    cells = [Warm(way, log, seed) for seed in seeds for way in WAYS for log in LOGS]
    done: dict[Cell, dict[str, Any]] = run_distinct([cells], **options)
    rows = [
        {"way": cell.way, "log": cell.log} | means(found)
        for cell, found in grouped(cells, done)
        if isinstance(cell, Warm)
    ]
    by = {(row["way"], row["log"]): row for row in rows}
    for row in rows:
        cold = by[row["way"], "none"]
        row["saved"] = rounded(1.0 - row["regret"] / cold["regret"])
        row["end"] = rounded(row["share_tenth"] - cold["share_tenth"])
    protocol = {"runs": runs, "surveyed": SURVEYED, "logged": LOGGED, "sold": SOLD, "width": WIDTH}
    return {"experiment": "warm", "protocol": protocol, "rows": rows}


def failures(results: dict[str, Any]) -> list[str]:
    """Return a sentence for everything that does not hold: half of the regret is saved, and no harm lasts."""
    found = []
    for row in results["rows"]:
        name = f"{row['way']}, {LOGS[row['log']]}"
        if row["log"] == "ridge" and row["saved"] < 0.5:
            found.append(f"{name}: {row['saved']:.0%} of the cold start's regret is saved, and not half.")
        if row["log"] in ("no_density", "bad") and row["end"] < -0.02:
            found.append(f"{name}: the last tenth earns {-row['end']:.1%} less of the best revenue than a cold start.")
    return found
