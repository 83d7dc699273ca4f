"""Our boosters that play in worlds that change, by name: with and without memory, and one that is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from banditboost.algorithms.boosted import boosted
from banditboost.booster import Booster
from banditboost.evaluate import progressive
from banditboost.evaluate.callbacks import Callback, Event
from banditboost.evaluate.trace import Trace
from banditboost.experiments.fair import MEMORY
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

ANSWERS = (30, 2, 1)
"""Numbers of answers a round."""
FORGETFUL = 500
"""After how many rounds the booster that is broken on purpose forgets everything."""

Make = Callable[[Interval, int, int], Booster]
"""What makes a booster from where predictions lie, a number of answers a round, and a seed."""


def _plain(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed, memory=None)


def _memory(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed, memory=MEMORY, adaptive=False)


def _adaptive(space: Interval, answers: int, seed: int) -> Booster:
    return boosted(space, answers=answers, seed=seed)


class Variant(NamedTuple):
    """A booster of ours: its title in tables, what makes it, and the variant that is the same without drift handling, if any."""

    title: str
    make: Make
    without: str | None = None


VARIANTS: dict[str, Variant] = {
    "plain": Variant("ours without memory", _plain),
    "memory": Variant("ours without drift handling", _memory),
    "drift": Variant("ours, the default", _adaptive, without="memory"),
}
"""Our boosters by name. A variant that handles drift is one more line here, and names the one without it."""

BROKEN = {"forgetful": Variant(f"broken: forgets everything every {FORGETFUL} rounds", _memory, without="memory")}
"""Boosters that are broken on purpose, which must cost something where nothing changes."""


def of(who: str) -> tuple[str, int]:
    """Return the variant and the number of answers that a name such as "memory_30" means.

    Examples
    --------
    >>> of("memory_30")
    ('memory', 30)
    """
    variant, _, answers = who.rpartition("_")
    return variant, int(answers)


def everyone() -> dict[str, str]:
    """Return all names of ours, such as "memory_30", with their titles.

    Examples
    --------
    >>> list(everyone())[:3], everyone()["plain_1"]
    (['plain_30', 'plain_2', 'plain_1'], 'ours without memory, 1 answer')
    """
    return {
        f"{name}_{k}": f"{variant.title}, {k} answer{'s' if k > 1 else ''}"
        for name, variant in VARIANTS.items()
        for k in ANSWERS
    }


class Forget(Callback):
    """Lets all copies begin again every so many rounds."""

    every = FORGETFUL

    def block(self, event: Event) -> None:
        """Reset the booster at the end of a stretch."""
        if event.end % self.every == 0:
            event.booster.reset(np.arange(event.booster.spec.copies))


def play(variant: str, answers: int, space: Interval, world: Supervised, seed: int) -> Trace:
    """Return the trace of a booster of ours, or of one that is broken on purpose."""
    booster = (VARIANTS | BROKEN)[variant].make(space, answers, seed)
    return progressive(booster, world, keep="losses", callbacks=[Forget()] if variant in BROKEN else [])
