"""Small tables and pure noise: the default beside online ridge and the running mean, where there is little to learn, or nothing.

Protocol: all rows of a table, in shuffles, are predicted one by one, each before it is learned from. Ours, with nothing tuned,
are told values of the squared loss with noise uniform on ±0.1; online ridge and the running mean are told labels. Ridge is run as
it is, drawn to zero, and on labels measured from the middle of their range, which ours are told, too. Noise is a table whose
labels, drawn anew for every run, do not depend on contexts.

Two boosters are broken on purpose: one is told the losses of other rows, from which nothing can be learned about labels, and the
linear copy of the other has no prior. The first must be above the limit on tables, the second on noise. The paper's data sets may
be named, too, of whose first half a thousand rows are taken: choices are made on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Unpack

import numpy as np

from banditboost import datasets
from banditboost._core.checks import Array, count, one_of
from banditboost.algorithms.default_parts import linear_part, steady, tree_part
from banditboost.booster import Booster
from banditboost.chains import Trusted
from banditboost.evaluate import online_ridge, progressive, running_mean
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import scaled
from banditboost.experiments.fair import MEMORY, OURS, REMEMBERING
from banditboost.experiments.further import SMALL, read
from banditboost.experiments.peers_settings import ours
from banditboost.experiments.small_shows import LATE, REFERENCES, broken_that_pass, shows_of
from banditboost.experiments.statistics import grouped, means, rounded
from banditboost.noise import Uniform
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

ROWS = 1000
"""Most rows of a run."""
NOISE = {"noise_300": (300, 3), "noise_500": (500, 10), "noise_1000": (1000, 30)}
"""Tables of pure noise by name, with their numbers of rows and of features."""
WIDTH = 0.1
"""Half-width of the noise on answers."""
ANSWERS = {who: answers for who, answers in (OURS | REMEMBERING).items() if answers}
"""Ours by name, with the number of answers a round."""
BROKEN = ("other_rows", "no_prior")
"""Boosters that are broken on purpose; both have thirty answers a round, and the first remembers."""
NO_PRIOR = 1e-9
"""The ridge of a linear copy without a prior."""
NAMES = (*SMALL, *NOISE)
"""Everything that is run when nothing is named."""


@lru_cache(maxsize=8)
def _table(name: str) -> tuple[Array, Array]:
    """Return contexts in [0, 1] and labels with a standard deviation of one, read once."""
    if name in SMALL:
        return read(name)
    data = scaled(name)
    half = Supervised(data.X, data.y).shuffled(0).halves()[0].head(ROWS)
    contexts, labels = half.contexts(), half.labels()
    return contexts if isinstance(contexts, np.ndarray) else contexts.toarray(), labels / labels.std()


def _noise(name: str, seed: int) -> tuple[Array, Array]:
    """Return contexts, and labels that do not depend on them."""
    rows, features = NOISE[name]
    rng = np.random.default_rng([rows, features, seed])
    contexts, labels = rng.random((rows, features)), rng.standard_normal(rows)
    return contexts, labels / labels.std()


def world_of(name: str, seed: int, rows: int = ROWS) -> tuple[Supervised, Interval]:
    """Return a shuffle of a table, and where predictions lie.

    Examples
    --------
    >>> world, space = world_of("noise_500", seed=0)
    >>> len(world), world.features, f"{world.labels().std():.3f}", bool(space.low == world.labels().min())
    (500, 10, '1.000', True)
    """
    contexts, labels = _noise(name, seed) if name in NOISE else _table(name)
    world = Supervised(contexts, labels, noise=Uniform(WIDTH)).shuffled(seed + 1)
    return world.head(rows), Interval(float(labels.min()), float(labels.max()))


@dataclass(frozen=True)
class Small(Cell, kind="experiments.small.Small"):
    """One learner on one shuffle of one table."""

    table: str = "noise_500"
    who: str = "ours_30"
    seed: int = 0
    rows: int = ROWS

    def run(self) -> dict[str, Any]:
        """Return the mean loss over all rounds, that from round 200 on, and what was paid over all rounds."""
        world, space = world_of(self.table, self.seed, self.rows)
        paid: dict[str, float] = {}
        if self.who == "mean":
            losses = running_mean(world, (space.low + space.high) / 2)
        elif self.who == "ridge":
            losses = online_ridge(world, space=space)
        elif self.who == "ridge_middle":
            losses = ridge_from_middle(world, space)
        elif self.who == "other_rows":
            losses = told_of_other_rows(ours(space, 30, {}, self.seed, MEMORY), world, self.seed)
        else:
            trace = progressive(self._booster(space), world)
            losses, paid = trace.losses, {"paid": rounded(trace.mean_paid)}
        return {"loss": float(losses.mean()), "late": float(losses[LATE:].mean())} | paid

    def _booster(self, space: Interval) -> Booster:
        if self.who == "no_prior":
            return without_prior(space, self.seed)
        return ours(space, ANSWERS[self.who], {}, self.seed, MEMORY if self.who in REMEMBERING else None)


def ridge_from_middle(world: Supervised, space: Interval) -> Array:
    """Return the losses of online ridge on labels measured from the middle of their range, so that its prior draws it there.

    Examples
    --------
    >>> world = Supervised(np.zeros((2, 1)), [9.0, 11.0])
    >>> ridge_from_middle(world, Interval(8.0, 12.0)).tolist(), online_ridge(world, space=Interval(8.0, 12.0)).tolist()
    ([1.0, 1.7777777777777777], [1.0, 9.0])
    """
    middle = (space.low + space.high) / 2
    moved = Supervised(world.contexts(), world.labels() - middle)
    return online_ridge(moved, space=Interval(space.low - middle, space.high - middle))


def told_of_other_rows(booster: Booster, world: Supervised, seed: int) -> Array:
    """Return the losses of a booster that is told losses of labels which belong to other rows."""
    labels = np.random.default_rng([seed, 1]).permutation(world.labels())
    wrong = Supervised(world.contexts(), labels, noise=world.noise, seed=world.seed)
    return world.loss.value(progressive(booster, wrong).predictions, world.labels(), 0)


def without_prior(space: Interval, seed: int) -> Booster:
    """Return the default of thirty answers whose linear copy has next to no ridge, and is followed from the first round on."""
    plain = ours(space, 30, {}, seed).spec
    learner = steady(linear_part(ridge=NO_PRIOR), tree_part(space), plain.copies)
    return Booster.from_spec(replace(plain, learner=learner, chain=Trusted(step=0.2, first=1.0)))


def reproduce(
    names: Sequence[str] = NAMES,
    *,
    runs: int = 10,
    rows: int = ROWS,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run everyone on every table and return plain data.

    Parameters
    ----------
    names
        Names of tables: of `SMALL`, of `NOISE`, or the paper's data sets.
    runs
        Number of shuffles.
    rows
        Most rows of a run, more than 200.
    quick
        True: thirty answers only.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    if not names:
        raise ValueError("datasets must name at least one table, got none.")
    for name in names:
        if one_of("datasets", name, (*NAMES, *datasets.NAMES)) not in NOISE:
            _table(name)
    everyone = (*(who for who, k in ANSWERS.items() if k == 30 or not quick), *REFERENCES, *BROKEN)
    rows, seeds = count("rows", rows, least=LATE + 1), range(count("runs", runs))
    cells = [Small(name, who, seed, rows) for name in names for who in everyone for seed in seeds]
    done: dict[Cell, dict[str, Any]] = run_distinct([cells], **options)
    found = [
        {"table": cell.table, "who": cell.who} | means(of)
        for cell, of in grouped(cells, done)
        if isinstance(cell, Small)
    ]
    shows = shows_of(found)
    protocol = {
        "runs": runs,
        "rows": rows,
        "late": LATE,
        "noise": WIDTH,
        "answers": max(ANSWERS.values()),
        "memory": MEMORY,
    }
    return {
        "experiment": "small",
        "protocol": protocol,
        "tables": [{"table": name} | _size(name, rows) for name in dict.fromkeys(names)],
        "rows": found,
        "shows": shows,
        "complaints": broken_that_pass(shows),
    }


def _size(name: str, rows: int) -> dict[str, int]:
    """Return the numbers of rows and of features of a table."""
    world = world_of(name, 0, rows)[0]
    return {"rows": len(world), "features": world.features}
