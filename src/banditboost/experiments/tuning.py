"""Tuning by progressive loss: every setting on short worlds, a race of ever fewer settings on long ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from banditboost.booster import Booster
from banditboost.evaluate import sweep
from banditboost.worlds import Supervised, World

S = TypeVar("S")

FULL = 12_000
"""Worlds up to this long are given to every setting whole."""
LONGER = 4
"""Each stretch of a race is so many times as long as the one before it."""


class Tried(NamedTuple):
    """How a setting fared: its mean loss on the last stretch it was given, and how long that was."""

    setting: int
    loss: float
    rounds: int


TOGETHER = 128
"""Settings that are swept together: all of them are held in memory."""


def tune(
    settings: Sequence[S],
    build: Callable[[S], Booster],
    world: Supervised,
    view: Callable[[Supervised], World],
    keep: int = LONGER,
    known: dict[tuple[S, int], float] | None = None,
) -> list[Tried]:
    """Return what was tried, the best last.

    A world longer than `FULL` rounds is raced: all settings play its beginning, the best of them play four times as much, and
    so on until few play all of it, or one is left. Every stretch begins at the first round, so that a setting is judged as a
    fresh model.

    Parameters
    ----------
    settings
        What to choose from.
    build
        Makes a fresh booster from a setting.
    world
        The rounds to tune on.
    view
        How the booster sees the world.
    keep
        A race goes on with one in so many settings.
    known
        Mean losses by setting and number of rounds: those found here are not worked out again, and new ones are added.
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
            traces = sweep([build(settings[i]) for i in part], view(world.head(rounds)), keep="means")
            known |= {(settings[i], rounds): trace.mean for i, trace in zip(part, traces, strict=True)}
        scores = [Tried(i, known[settings[i], rounds], rounds) for i in left]
        # Of settings that fare equally, such as two balls neither of which was ever touched, the first named is the better.
        scores.sort(key=lambda score: (-score.loss if np.isfinite(score.loss) else -np.inf, -score.setting))
        tried += scores
        left = [score.setting for score in scores[-max(1, len(left) // keep) :]]
    return tried
