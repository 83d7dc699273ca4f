"""The cells of the experiment on paid losses: one contestant on one game, and what is kept of its losses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from banditboost import algorithms
from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_cells
from banditboost.experiments.paid_games import Boxed, Played, Table
from banditboost.experiments.paid_peers import Setting, play
from banditboost.experiments.statistics import rounded
from banditboost.gradients import Exact
from banditboost.spaces import Space

TOLD = 0
"""The number of answers that stands for gradients told."""


_TABLE, _BOX = Table(), Boxed()


def ours(space: Space, answers: int, declared: str = "", seed: int = 0) -> Booster:
    """Build the library's default with nothing tuned.

    Parameters
    ----------
    space
        Where decisions lie.
    answers
        Loss values a round; `TOLD` for gradients told.
    declared
        The loss that the booster is told about, by name; nothing where it must find out.
    seed
        Seed of the booster.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> type(ours(Interval(0, 1), TOLD).spec.gradient).__name__
    'Exact'
    """
    if answers == TOLD:
        return algorithms.boosted(space, gradient=Exact(), seed=seed, memory=None)
    more: dict[str, Any] = {"loss": declared} if declared else {}
    return algorithms.boosted(space, answers=answers, seed=seed, **({"memory": None} | more))


def can_declare() -> bool:
    """Return whether this version of the default can be told which loss it is charged."""
    return "loss" in signature(algorithms.boosted).parameters


def judged(played: Played) -> dict[str, Any]:
    """Return mean losses, paid and at predictions, over all rounds, their second half, their last tenth and their quarters."""
    found: dict[str, Any] = {}
    for name, losses in (("predicted", played.proposed), ("paid", played.paid)):
        rounds = len(losses)
        found[name] = _mean(losses)
        found[f"{name}_late"] = _mean(losses[rounds // 2 :])
        found[f"{name}_tenth"] = _mean(losses[-max(1, rounds // 10) :])
        found[f"{name}_quarters"] = [_mean(part) for part in np.array_split(losses, 4)]
    return found


def _mean(losses: Array) -> float:
    return rounded(float(losses.mean()))


@dataclass(frozen=True)
class Ours(Cell, kind="experiments.paid.Ours"):
    """The library's default on labelled rows."""

    game: Table = _TABLE
    answers: int = 1
    declared: str = ""

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        booster = ours(self.game.space(), self.answers, self.declared, self.game.seed)
        trace = progressive(booster, self.game.world(), keep="losses")
        return judged(Played(trace.losses if self.answers == TOLD else trace.paid, trace.losses))


@dataclass(frozen=True)
class OursBoxed(Cell, kind="experiments.paid.OursBoxed"):
    """The library's default on a box; the best fixed point in hindsight stands beside it."""

    game: Boxed = _BOX
    answers: int = 1

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        booster = ours(self.game.space(), self.answers, seed=self.game.seed)
        trace = progressive(booster, self.game.world(), keep="losses")
        fixed = judged(Played(self.game.best_point(), self.game.best_point()))
        beside = {
            f"fixed{name.removeprefix('paid')}": value for name, value in fixed.items() if name.startswith("paid")
        }
        return judged(Played(trace.losses if self.answers == TOLD else trace.paid, trace.losses)) | beside


@dataclass(frozen=True)
class Theirs(Cell, kind="experiments.paid.Theirs"):
    """A peer with one setting on labelled rows."""

    game: Table = _TABLE
    peer: str = "running_mean"
    setting: Setting = ()

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        return judged(play(self.peer, self.game, self.setting))


class Desk:
    """Runs cells once, however often they are asked for, and keeps ours and those of peers in folders of their own.

    So `ours` may be removed and run again after a change of the library, while peers stay as they are.

    Parameters
    ----------
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """

    def __init__(self, **options: Unpack[ParallelOptions]) -> None:
        self._options = options
        self._done: dict[Cell, dict[str, Any]] = {}

    def __getitem__(self, cell: Cell) -> dict[str, Any]:
        return self._done[cell]

    def run(self, part: str, cells: Sequence[Cell]) -> None:
        """Run those cells that were not run yet; their results are kept in the subfolder `part` of the folder."""
        new = [cell for cell in dict.fromkeys(cells) if cell not in self._done]
        before, folder, progress = len(self._done), self._options.get("folder"), self._options.get("progress")
        options: ParallelOptions = self._options | {"folder": None if folder is None else Path(folder) / part}
        if progress is not None:
            options["progress"] = lambda done, total: progress(before + done, before + total)
        self._done |= zip(new, run_cells(new, **options), strict=True)
