"""Troubles: what may happen to a stream of rounds while the default learns from it.

A stream is the rows of a data set, shuffled again and again, with labels scaled to [0, 1] and the squared loss. A trouble changes
what is told of some rounds, what contexts look like, or when answers come; the true loss at predictions is what counts. Some
troubles last a sixteenth of the rounds, from five sixteenths on; others begin when those end, and stay.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, one_of
from banditboost.experiments.data import scaled

SPELL = (5 / 16, 6 / 16)
"""When troubles that pass begin and end, as shares of the rounds; those that stay begin at the end of them."""
LONGEST = 1 / 2
"""Delays that are longer than this share of the rounds are left out."""

When = Callable[[int, np.random.Generator], NDArray[np.int64]]
"""Returns for every round after which round it is told: the round itself where that is at once, and -1 for never."""
What = Callable[[Array, int, np.random.Generator], Array]
"""Returns what is told instead of a round's losses, given how many rounds ago the trouble began."""
Where = Callable[[Array, int], Array]
"""Returns the context that is seen instead of a round's own."""


def at_once(rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Tell every round before the next is asked."""
    return np.arange(rounds)


def later(delay: int) -> When:
    """Tell every round when so many others have been asked."""
    return lambda rounds, rng: np.arange(rounds) + delay


def in_batches(size: int) -> When:
    """Tell so many rounds together."""
    return lambda rounds, rng: np.arange(rounds) // size * size + size - 1


def in_random_order(most: int) -> When:
    """Tell every round after a delay of its own, up to some number of rounds."""
    return lambda rounds, rng: np.arange(rounds) + rng.integers(0, most, rounds)


def lost(delay: int, share: float) -> When:
    """Tell rounds late, and a share of them never."""
    return lambda rounds, rng: np.where(rng.random(rounds) < share, -1, np.arange(rounds) + delay)


def unanswered(rounds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Tell no round while the trouble lasts."""
    when, (begin, end) = np.arange(rounds), spell(rounds)
    when[begin:end] = -1
    return when


class Trouble(NamedTuple):
    """What happens: at most one of the three."""

    title: str
    late: bool = False
    """True for troubles that last from the first round to the last and only change when answers come."""
    stays: bool = False
    """True for troubles that change the world for good; False for those that pass."""
    once: bool = False
    """True for troubles of a single round."""
    when: When = at_once
    what: What | None = None
    where: Where | None = None
    delay: int = 0
    """The longest delay, which must fit into the rounds."""


TROUBLES: dict[str, Trouble] = {
    "none": Trouble("nothing"),
    **{
        f"delay_{delay}": Trouble(
            f"every answer {delay:,} round{'s' if delay > 1 else ''} late", late=True, when=later(delay), delay=delay
        )
        for delay in (1, 10, 100, 300, 1000, 5000)
    },
    "batches": Trouble("answers in batches of 500", late=True, when=in_batches(500), delay=500),
    "order": Trouble("random order, up to 1,000 late", late=True, when=in_random_order(1000), delay=1000),
    "lost": Trouble("half of the answers lost, others 100 late", late=True, when=lost(100, 0.5), delay=100),
    "unanswered": Trouble("no answers for a while", when=unanswered),
    "flat_round": Trouble("one round a millionth as steep", once=True, what=lambda told, age, rng: 1e-6 * told),
    "outlier": Trouble("one round 1e40 times as steep", once=True, what=lambda told, age, rng: 1e40 * told),
    "saturated": Trouble("all losses 1 for a while", what=lambda told, age, rng: np.ones_like(told)),
    "grown": Trouble("losses 1,000 times as large from then on", stays=True, what=lambda told, age, rng: 1e3 * told),
    "shrunk": Trouble("losses a thousandth from then on", stays=True, what=lambda told, age, rng: 1e-3 * told),
    "tenfold": Trouble("losses 10 times as large from then on", stays=True, what=lambda told, age, rng: 10.0 * told),
    "cauchy": Trouble(
        "Cauchy noise of 0.01 for a while", what=lambda told, age, rng: told + 0.01 * rng.standard_cauchy(told.shape)
    ),
    "alternating": Trouble(
        "every other round in units of 1/100, for a while",
        what=lambda told, age, rng: 100.0 * told if age % 2 else told,
    ),
    "contexts": Trouble("contexts 100 times as large for a while", where=lambda x, age: 100.0 * x),
    "drift": Trouble(
        "contexts that grow tenfold in 1,000 rounds, and stay",
        stays=True,
        where=lambda x, age: x * (1.0 + 9.0 * min(age, 1000) / 1000),
    ),
}
"""Troubles by name. A noise of 0.01 is about the loss of a constant."""


def spell(rounds: int) -> tuple[int, int]:
    """Return the rounds between which troubles that pass last.

    Examples
    --------
    >>> spell(16_000)
    (5000, 6000)
    """
    begin, end = (int(share * rounds) for share in SPELL)
    return begin, end


def lasting(trouble: Trouble, rounds: int) -> range:
    """Return the rounds in which contexts or answers are changed."""
    begin, end = spell(rounds)
    if trouble.once:
        return range(begin, begin + 1)
    return range(end, rounds) if trouble.stays else range(begin, end)


def possible(rounds: int) -> list[str]:
    """Return the names of the troubles that fit into so many rounds."""
    return [name for name, trouble in TROUBLES.items() if trouble.delay <= LONGEST * rounds]


def stream_of(dataset: str, rounds: int, seed: int) -> tuple[Array, Array]:
    """Return contexts and labels in [0, 1]: the rows of a data set, shuffled as often as rounds need.

    Examples
    --------
    >>> contexts, labels = stream_of("abalone", 5000, seed=0)
    >>> contexts.shape, float(labels.min()), float(labels.max())
    ((5000, 10), 0.0, 1.0)
    """
    data, rng = scaled(dataset), np.random.default_rng(seed)
    rows = len(data.y)
    order = np.concatenate([rng.permutation(rows) for _ in range(-(-rounds // rows))])[:rounds]
    low, high = float(data.y.min()), float(data.y.max())
    chosen = data.X[order]
    return np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray()), (data.y[order] - low) / (
        high - low
    )


def named(trouble: str) -> Trouble:
    """Return a trouble by its name."""
    return TROUBLES[one_of("trouble", trouble, tuple(TROUBLES))]
