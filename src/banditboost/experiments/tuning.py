"""Tuning by progressive loss: all settings on short worlds, and a race (successive halving) on long ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from banditboost.booster import Booster
from banditboost.evaluate import sweep
from banditboost.worlds import Supervised, World

S = TypeVar("S")

FULL = 12_000
"""Largest number of rounds of which every setting plays all; longer worlds are raced."""
LONGER = 4
"""Factor by which each stretch of a race is longer than the one before it."""


class Tried(NamedTuple):
    """The result of one setting on one stretch: its index, its mean loss, and the length of the stretch."""

    setting: int
    loss: float
    rounds: int


TOGETHER = 128
"""Largest number of settings that are swept together, since all of them are in memory at the same time."""


def tune(
    settings: Sequence[S],
    build: Callable[[S], Booster],
    world: Supervised,
    view: Callable[[Supervised], World],
    keep: int = LONGER,
    known: dict[tuple[S, int], float] | None = None,
) -> list[Tried]:
    """Return the results of all settings that were tried, the best last: a `race` of boosters.

    Parameters
    ----------
    settings, world, keep, known
        As for `race`.
    build
        Makes a fresh booster from a setting.
    view
        Turns labelled rounds into the world that the booster plays.
    """

    def means(part: Sequence[S], rounds: Supervised) -> list[float]:
        traces = sweep([build(setting) for setting in part], view(rounds), keep="means")
        return [trace.mean for trace in traces]

    return race(settings, means, world, keep, known)


def race(
    settings: Sequence[S],
    means: Callable[[Sequence[S], Supervised], Sequence[float]],
    world: Supervised,
    keep: int = LONGER,
    known: dict[tuple[S, int], float] | None = None,
) -> list[Tried]:
    """Return the results of all settings that were tried, the best last.

    A world longer than `FULL` rounds is raced: all settings play its beginning, the best of them play four times as many rounds,
    and so on until the remaining settings play all of it, or one setting is left. Every stretch begins at the first round with a
    fresh model.

    Parameters
    ----------
    settings
        The settings to choose from.
    means
        Plays rounds with fresh models, and returns the mean loss of every setting that it is given.
    world
        The rounds to tune on.
    keep
        A race continues after each stretch with the best 1/keep of the settings.
    known
        Mean losses by setting and number of rounds, which are not computed again; new ones are added.
    """
    known = {} if known is None else known
    stretches = [len(world)]
    while stretches[0] > FULL:
        stretches.insert(0, -(-stretches[0] // LONGER))
    left = list(range(len(settings)))
    tried: list[Tried] = []
    for rounds in stretches:
        if tried and len(left) == 1:
            break  # the race is decided
        new = [i for i in left if (settings[i], rounds) not in known]
        for begin in range(0, len(new), TOGETHER):
            part = new[begin : begin + TOGETHER]
            losses = means([settings[i] for i in part], world.head(rounds))
            known |= {(settings[i], rounds): loss for i, loss in zip(part, losses, strict=True)}
        scores = [Tried(i, known[settings[i], rounds], rounds) for i in left]
        # Of settings with equal losses, such as two balls whose borders were never reached, the first one wins.
        scores.sort(key=lambda score: (-score.loss if np.isfinite(score.loss) else -np.inf, -score.setting))
        tried += scores
        left = [score.setting for score in scores[-max(1, len(left) // keep) :]]
    return tried
