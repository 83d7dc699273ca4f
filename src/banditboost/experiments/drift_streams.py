"""Streams in their own order: rounds as they came, in which the world may change.

Friedman's function with changes is River's generator `FriedmanDrift` (Ikonomovska, Gama, Džeroski 2011): `gra` exchanges features
everywhere and later undoes it, `gsg` mixes two functions for a while before the new one stays, twice, and `lea` replaces the
function in two regions that grow. `friedman` is the same function without a change, as in CapyMOA's stream Fried.

The other streams are tables inside wheels, in the order of their files: hourly bicycles (`bikes`, the first year of what CapyMOA
calls Bike), polls day by day (`approval`), and chicks weighed as they grow (`chicks`). CapyMOA's own files are not in its wheel: it
downloads them on first use, and nothing here needs a network.

Labels are divided by their standard deviation, so that a loss of 1 is that of a constant.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from banditboost._core.checks import Array, count, one_of
from banditboost.experiments import further
from banditboost.noise import Noise
from banditboost.worlds import Supervised

FRIEDMAN = {"friedman": 0, "gra": 2, "gsg": 2, "lea": 3}
"""River's generators of Friedman's function by name, and how often each changes."""

TABLES = ("bikes", "approval", "chicks")
"""Tables in the order of their rows."""

ROUNDS = 10_000
"""Rounds of a generator where nothing is said."""


def names() -> tuple[str, ...]:
    """Return the names of all streams.

    Examples
    --------
    >>> names()
    ('friedman', 'gra', 'gsg', 'lea', 'bikes', 'approval', 'chicks')
    """
    return (*FRIEDMAN, *TABLES)


def in_order(name: str, rounds: int | None = None, noise: Noise | None = None, seed: int = 0) -> Supervised:
    """Return a stream as a world whose rounds come in their own order.

    Parameters
    ----------
    name
        One of `names`.
    rounds
        How many rounds a generator makes, and how many rows of a table are taken at most; all by default. The standard deviation of
        a table's labels is that of all its rows.
    noise
        As for every world: added to answers.
    seed
        Seed of the generator and of the noise; a table is the same for all seeds.

    Examples
    --------
    >>> world = in_order("gra", rounds=300)
    >>> len(world), world.features, changes("gra", 300)
    (300, 10, (100, 200))
    """
    one_of("name", name, names())
    count("seed", seed, least=0)
    if name in FRIEDMAN:
        contexts, labels = _friedman(name, ROUNDS if rounds is None else count("rounds", rounds), seed)
        return Supervised(contexts, labels / labels.std(), noise=noise, seed=seed)
    world = Supervised(*further.read(name), noise=noise, seed=seed)
    return world if rounds is None else world.head(count("rounds", rounds))


def changes(name: str, rounds: int = ROUNDS) -> tuple[int, ...]:
    """Return the rounds at which a generator changes: they cut all rounds into stretches of equal length.

    Nobody knows when a table changes, if it does; for these there are none.

    Examples
    --------
    >>> changes("lea"), changes("gsg", 30_000), changes("friedman"), changes("bikes")
    ((2500, 5000, 7500), (10000, 20000), (), ())
    """
    how_many = FRIEDMAN.get(one_of("name", name, names()), 0)
    return tuple(k * count("rounds", rounds) // (how_many + 1) for k in range(1, how_many + 1))


@lru_cache(maxsize=8)
def _friedman(name: str, rounds: int, seed: int) -> tuple[Array, Array]:
    """Return contexts and labels as River makes them; a mixture of two functions lasts a twentieth of all rounds."""
    try:
        from river.datasets import synth
    except ImportError:
        raise ImportError(f"{name} is made by river: pip install 'banditboost[bench]'.") from None
    if name == "friedman":
        made = synth.Friedman(seed=seed)
    else:
        at = changes(name, rounds)
        made = synth.FriedmanDrift(drift_type=name, position=at, transition_window=rounds // 20, seed=seed)
    rows = list(made.take(rounds))
    contexts = np.array([[x[j] for j in range(10)] for x, _ in rows])
    return contexts, np.array([y for _, y in rows])
