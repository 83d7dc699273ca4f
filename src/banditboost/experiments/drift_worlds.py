"""The streams of the comparison in worlds that change, by name: how long they are, and the worlds of runs and of trials.

A generated stream is reported for the seeds 0, 1, ..., and settings are tried on the seed 1000, which is never reported, with all
its changes. A table has one order: settings are tried on its first fifth, and the other four fifths are reported.
"""

from __future__ import annotations

from typing import Any

from banditboost._core.checks import one_of
from banditboost.experiments.drift_streams import FRIEDMAN, TABLES, in_order
from banditboost.noise import Uniform
from banditboost.spaces import Interval
from banditboost.worlds import Flip, Gradual, Incremental, Recurring, Supervised, Virtual

WIDTH = 0.1
"""Half-width of the noise on answers."""
SHORT, LONG, TUNING = 10_000, 100_000, 5_000
"""Rounds of a generated stream, of a long one, and of a stream on which settings are tried."""
TUNING_SEED, TUNING_SHARE = 1000, 0.2
"""The seed of generated streams on which settings are tried, and the share of a table."""
LINEAR: dict[str, type[Flip | Recurring | Gradual | Incremental | Virtual]] = {
    "flip": Flip,
    "recurring": Recurring,
    "gradual": Gradual,
    "incremental": Incremental,
    "virtual": Virtual,
}
"""Worlds that know when they change."""
LONGER = {"gra_long": "gra", "gsg_long": "gsg", "lea_long": "lea"}
"""Longer streams by name, each with the stream of the same kind whose settings it takes."""
STREAMS = (*LINEAR, *FRIEDMAN, *LONGER, *TABLES)
"""All streams by name."""


def kind_of(stream: str) -> str:
    """Return the stream on which settings for a stream are tried: that of its kind.

    Examples
    --------
    >>> kind_of("gra_long"), kind_of("flip")
    ('gra', 'flip')
    """
    return LONGER.get(one_of("streams", stream, STREAMS), stream)


def rounds_of(stream: str, most: int | None = None) -> int:
    """Return the rounds of a generated stream, or the most rows that are read of a table (0: all).

    Examples
    --------
    >>> rounds_of("gra"), rounds_of("gra_long"), rounds_of("gra_long", 500), rounds_of("bikes")
    (10000, 100000, 500, 0)
    """
    own = 0 if stream in TABLES else LONG if stream in LONGER else SHORT
    return own if most is None else min(own or most, most)


def world_of(stream: str, rounds: int, seed: int, trial: bool = False) -> tuple[Supervised, Interval]:
    """Return the world of a run or of a trial, and where predictions lie: in the range of all labels.

    Examples
    --------
    >>> world, space = world_of("flip", 500, 0)
    >>> len(world), world.changes, bool(space.low == world.labels().min())
    (500, (250,), True)
    >>> [len(world_of("chicks", 500, 0, trial)[0]) for trial in (True, False)]
    [100, 400]
    """
    noise, kind = Uniform(WIDTH), kind_of(stream)
    world: Supervised
    if kind in LINEAR:
        options: dict[str, Any] = {"every": max(1, rounds // 4)} if kind == "recurring" else {}
        world = LINEAR[kind](rounds=rounds, noise=noise, seed=seed, **options)
    else:
        world = in_order(kind, rounds or None, noise, seed)
    labels = world.labels()
    space = Interval(float(labels.min()), float(labels.max()))
    if kind in TABLES:
        cut, contexts = round(TUNING_SHARE * len(world)), world.contexts()
        part = slice(0, cut) if trial else slice(cut, len(world))
        world = Supervised(contexts[part], labels[part], noise=noise, seed=seed)
    return world, space
