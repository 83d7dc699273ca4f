"""What may listen to a run: a base class with three calls, and the built-in listeners but for the log (`evaluate.log`).

A run is played in blocks of rounds. Callbacks are called at its start, after every block, and at its end, however it ends. A
callback with a number `every` finds that no block reaches beyond a multiple of it, so that what it does there does not hang on how
long blocks happen to be.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from banditboost._core.checks import Array, at_least_zero, count
from banditboost.booster import Booster
from banditboost.evaluate.trace import Trace
from banditboost.worlds import World

if TYPE_CHECKING:
    from rich.console import Console

Why = Literal["running", "finished", "stopped", "interrupted", "failed"]


class Event(NamedTuple):
    """Where a run stands."""

    booster: Booster
    world: World
    trace: Trace
    """Filled up to `end`; what lies beyond means nothing yet."""
    begin: int
    """The first round of the block, counted from 0."""
    end: int
    """How many rounds have been played."""
    total: int
    """How many rounds there are."""
    why: Why = "running"
    """At the end: all rounds were played, a callback stopped the run, Ctrl-C was pressed, or something was raised."""

    @property
    def losses(self) -> Array:
        """Losses of the block's predictions."""
        return self.trace.losses[self.begin : self.end]


class Callback:
    """Base of all that listens to a run; overrides what it needs.

    Examples
    --------
    >>> import banditboost as bb
    >>> class Count(Callback):
    ...     every = 400
    ...     def block(self, event):
    ...         print(event.begin, event.end)
    ...         return event.end >= 800
    >>> world = bb.worlds.SyntheticLinear(rounds=2000, features=3)
    >>> trace = bb.evaluate.progressive(bb.algorithms.boosted(bb.spaces.Interval(-2, 2)), world, callbacks=[Count()])
    0 400
    400 800
    >>> len(trace)
    800
    """

    every: int | None = None
    """Blocks end at its multiples; None leaves their length to the run."""

    def start(self, event: Event) -> None:
        """Called once, before the first round."""

    def block(self, event: Event) -> bool | None:
        """Called after every block of rounds; True ends the run here."""

    def end(self, event: Event) -> None:
        """Called once, when no more rounds will be played, also where the run was interrupted or failed."""


class EarlyStopping(Callback):
    """Ends a run whose loss no longer falls.

    Parameters
    ----------
    patience
        After so many windows in a row without a new best mean loss the run ends.
    window
        How many rounds a mean is taken over.
    least
        By how much a mean must be below the best so far to count as better.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=20_000, features=3, noise=bb.noise.Uniform(0.1))
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-2, 2))
    >>> trace = bb.evaluate.progressive(booster, world, callbacks=[EarlyStopping(patience=3, window=500)])
    >>> len(trace) < 20_000, booster.rounds == len(trace), len(trace) % 500
    (True, True, 0)
    """

    def __init__(self, patience: int = 5, window: int = 1000, least: float = 0.0) -> None:
        self.patience, self.every = count("patience", patience), count("window", window)
        self.least = at_least_zero("least", least)

    def start(self, event: Event) -> None:
        """Nothing seen."""
        self.best, self.waited = float("inf"), 0

    def block(self, event: Event) -> bool:
        """Judge the last window, where one has just ended."""
        assert self.every is not None
        if event.end % self.every:
            return False
        mean = float(event.trace.losses[event.end - self.every : event.end].mean())
        if mean < self.best - self.least:
            self.best, self.waited = mean, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


class Checkpoint(Callback):
    """Saves the booster every so many rounds, and at the end unless something was raised.

    A file is complete or not there: it is written under another name and renamed. After Ctrl-C it holds the booster as after the
    last block; after an error in the middle of a block, as at the last multiple of `every`.

    Parameters
    ----------
    path
        The file, overwritten every time; `Booster.load` reads it.
    every
        How many rounds lie between two saves.

    Examples
    --------
    >>> import banditboost as bb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     world, file = bb.worlds.SyntheticLinear(rounds=1500, features=3), f"{folder}/model.bb"
    ...     booster = bb.algorithms.boosted(bb.spaces.Interval(-2, 2))
    ...     trace = bb.evaluate.progressive(booster, world, callbacks=[Checkpoint(file, every=400)])
    ...     bb.Booster.load(file).rounds
    1500
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 10_000) -> None:
        self.path, self.every = Path(path), count("every", every)

    def block(self, event: Event) -> None:
        """Save at multiples."""
        assert self.every is not None
        if event.end % self.every == 0:
            event.booster.save(self.path)

    def end(self, event: Event) -> None:
        """Save what there is, where a block has just ended."""
        if event.why != "failed":
            event.booster.save(self.path)


class ProgressBar(Callback):
    """Shows on standard error how far a run is, with the mean loss so far: a bar where rich is there, else lines.

    Parameters
    ----------
    title
        What stands before the bar.
    console
        Where rich draws; standard error when not given.
    """

    every = 1000

    def __init__(self, title: str = "Rounds", console: Console | None = None) -> None:
        self.title, self.console = title, console
        self.bar: Any = None
        self.told = 0

    def start(self, event: Event) -> None:
        """Draw an empty bar."""
        self.total_loss, self.told = 0.0, 0
        try:
            from rich import progress
            from rich.console import Console
        except ImportError:
            return
        columns = (
            progress.TextColumn(self.title),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("loss {task.fields[loss]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
        )
        self.bar = progress.Progress(*columns, console=self.console or Console(stderr=True))
        self.task = self.bar.add_task(self.title, total=event.total, loss="-")
        self.bar.start()

    def block(self, event: Event) -> None:
        """Move it."""
        self.total_loss += float(event.losses.sum())
        loss = f"{self.total_loss / event.end:.4g}"
        if self.bar is not None:
            self.bar.update(self.task, completed=event.end, loss=loss)
        elif event.end * 10 // event.total > self.told or event.end == event.total:
            self.told = event.end * 10 // event.total
            print(f"{self.title}: {event.end:,} of {event.total:,}, loss {loss}", file=sys.stderr)

    def end(self, event: Event) -> None:
        """Leave it where it is."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
