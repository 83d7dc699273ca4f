"""Callbacks of a run: the base class, and all built-in ones except the log (`evaluate.run_log`) and `evaluate.snapshots`.

A run is played in blocks of rounds. Callbacks are called at the start of the run, after every block, and at its end, however it
ends. Where a callback has a number `every`, no block goes beyond a multiple of it, so that it is called at every multiple.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from banditboost._core.checks import Array, at_least_zero, count
from banditboost.booster import Booster
from banditboost.drifts import Alarm
from banditboost.evaluate.trace import Trace
from banditboost.worlds import World

if TYPE_CHECKING:
    from rich.console import Console

Why = Literal["running", "finished", "stopped", "interrupted", "failed"]
"""State of a run, or why it ended."""


class Event(NamedTuple):
    """The state of a run, which callbacks receive."""

    booster: Booster
    world: World
    trace: Trace
    """The trace, filled up to `end`; entries beyond are undefined."""
    begin: int
    """The first round of the last block, counted from 0."""
    end: int
    """Number of rounds played so far."""
    total: int
    """Number of rounds of the world."""
    why: Why = "running"
    """At the end of a run: all rounds were played, a callback stopped it, Ctrl-C was pressed, or an error was raised."""

    @property
    def losses(self) -> Array:
        """Losses of the predictions in the last block."""
        return self.trace.losses[self.begin : self.end]

    @property
    def paid(self) -> Array:
        """Losses paid in the last block, each the mean over the points that its round asked about."""
        return self.trace.paid[self.begin : self.end]


class Callback:
    """Base class of callbacks, whose methods do nothing; subclasses override those they need.

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
    """Blocks end at the multiples of this number of rounds; with None the run chooses their length."""

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
        Number of consecutive windows without a new best mean loss after which the run ends.
    window
        Number of rounds over which a mean is taken.
    least
        Amount by which a mean must be below the best so far to count as better.
    paid
        Whether the loss paid is watched, instead of that of the predictions.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=20_000, features=3, noise=bb.noise.Uniform(0.1))
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-2, 2))
    >>> trace = bb.evaluate.progressive(booster, world, callbacks=[EarlyStopping(patience=3, window=500)])
    >>> len(trace) < 20_000, booster.rounds == len(trace), len(trace) % 500
    (True, True, 0)
    """

    def __init__(self, patience: int = 5, window: int = 1000, least: float = 0.0, paid: bool = False) -> None:
        self.patience, self.every = count("patience", patience), count("window", window)
        self.least, self.paid = at_least_zero("least", least), paid

    def start(self, event: Event) -> None:
        """Reset the best mean loss and the number of windows since."""
        self.best, self.waited = float("inf"), 0

    def block(self, event: Event) -> bool:
        """Compare the mean loss of a window that has just ended with the best so far; True ends the run."""
        assert self.every is not None
        if event.end % self.every:
            return False
        losses = event.trace.paid if self.paid else event.trace.losses
        mean = float(losses[event.end - self.every : event.end].mean())
        if mean < self.best - self.least:
            self.best, self.waited = mean, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


class Checkpoint(Callback):
    """Saves the booster every so many rounds, and at the end of a run unless an error was raised.

    The file is always complete: it is written under another name and renamed. After Ctrl-C it holds the booster as after the
    last block; after an error, as at the last multiple of `every`.

    Parameters
    ----------
    path
        The file, overwritten every time; `Booster.load` reads it.
    every
        Number of rounds between two saves.

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
        """Save the booster at multiples of `every`."""
        assert self.every is not None
        if event.end % self.every == 0:
            event.booster.save(self.path)

    def end(self, event: Event) -> None:
        """Save the booster, unless the run failed in the middle of a block."""
        if event.why != "failed":
            event.booster.save(self.path)


class OnDrift(Callback):
    """Calls a function for every alarm that is raised during a run of a booster with a detector (``drifts=True``).

    Parameters
    ----------
    act
        Called as ``act(alarm, event)``, with the rounds of the alarm counted from the beginning of the run; True ends the run.
    every
        Blocks end at the multiples of this number of rounds, after which alarms are looked for: one is at most so many rounds old.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.Flip(noise=bb.noise.Uniform(0.1))
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(-7, 7), answers=2, drifts=True)
    >>> said = OnDrift(lambda alarm, event: print(f"About round {alarm.since:,}, seen in round {event.end:,}."))
    >>> trace = bb.evaluate.progressive(booster, world, callbacks=[said])
    About round 4,997, seen in round 5,100.
    """

    def __init__(self, act: Callable[[Alarm, Event], bool | None], every: int = 100) -> None:
        if not callable(act):
            raise ValueError(f"act must be a function of an alarm and an event, got {act!r:.100}.")
        self.act, self.every, self.seen = act, count("every", every), 0

    def start(self, event: Event) -> None:
        """Begin with no alarm seen, where the booster has a detector."""
        if event.trace.drifts is None:
            raise ValueError("drifts must be turned on for OnDrift: make the booster with drifts=True.")
        self.seen = 0

    def block(self, event: Event) -> bool:
        """Call the function for alarms that were raised since the last block; True ends the run."""
        news = (event.trace.drifts or ())[self.seen :]
        self.seen += len(news)
        wishes = [self.act(alarm, event) for alarm in news]  # all are told, whatever the first one wishes
        return any(wishes)


class ProgressBar(Callback):
    """Shows the progress of a run and its mean losses so far on standard error: a bar where rich is installed, else lines.

    The losses are that of the predictions and the one paid at the points asked.

    Parameters
    ----------
    title
        Text before the bar.
    console
        The rich console to draw on; by default one on standard error.
    """

    every = 1000

    def __init__(self, title: str = "Rounds", console: Console | None = None) -> None:
        self.title, self.console = title, console
        self.bar: Any = None
        self.tenths_shown = 0

    def start(self, event: Event) -> None:
        """Draw an empty bar."""
        self.total_loss, self.total_paid, self.tenths_shown = 0.0, 0.0, 0
        try:
            from rich import progress
            from rich.console import Console
        except ImportError:
            return
        columns = (
            progress.TextColumn(self.title),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TextColumn("loss {task.fields[loss]}, paid {task.fields[paid]}"),
            progress.TimeElapsedColumn(),
            progress.TextColumn("left"),
            progress.TimeRemainingColumn(),
        )
        self.bar = progress.Progress(*columns, console=self.console or Console(stderr=True))
        self.task = self.bar.add_task(self.title, total=event.total, loss="-", paid="-")
        self.bar.start()

    def block(self, event: Event) -> None:
        """Update the bar, or print a line for every tenth of the run."""
        self.total_loss += float(event.losses.sum())
        self.total_paid += float(event.paid.sum())
        loss, paid = f"{self.total_loss / event.end:.4g}", f"{self.total_paid / event.end:.4g}"
        if self.bar is not None:
            self.bar.update(self.task, completed=event.end, loss=loss, paid=paid)
        elif event.end * 10 // event.total > self.tenths_shown or event.end == event.total:
            self.tenths_shown = event.end * 10 // event.total
            print(f"{self.title}: {event.end:,} of {event.total:,}, loss {loss}, paid {paid}", file=sys.stderr)

    def end(self, event: Event) -> None:
        """Stop updating the bar."""
        if self.bar is not None:
            self.bar.stop()
            self.bar = None
