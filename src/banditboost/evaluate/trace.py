"""The trace of a run: its losses round by round, at the predictions and at the queries."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count, finite
from banditboost.bands import FEWEST, LEVEL
from banditboost.drifts import Alarm
from banditboost.evaluate.plots import Plots

if TYPE_CHECKING:
    import polars

Keep = Literal["all", "losses", "means"]
"""What a trace keeps: everything, everything but predictions, or means of losses over blocks of rounds."""


class Block(NamedTuple):
    """Results of some consecutive rounds, one row for each."""

    losses: Array
    paid: Array
    predictions: Array
    answered: Array
    bands: Array
    """This and the former are empty where bands are not kept."""


@dataclass(eq=False)
class Trace:
    """The losses of a run.

    A trace keeps two losses of every round: that of the *prediction* (the decision without exploration) and the mean loss *paid* at
    the points asked, which is what a round costs where decisions are played to learn from them. Means, sums, running means and
    regrets exist for both: `mean` and `mean_paid`, and so on. Comparators play what they predict, so that theirs are one.

    The trace of a long run may keep only means over blocks of rounds. Then `ends` has the round at which each block ends, `losses`,
    `paid` and comparators have one entry per block, and sums, running means and regrets are those at the ends of blocks.

    Examples
    --------
    >>> trace = Trace(losses=np.array([4.0, 2.0, 0.0]), paid=np.array([5.0, 3.0, 1.0]), predictions=np.zeros(3))
    >>> trace.compare("always zero", np.ones(3))
    >>> trace.mean, trace.running.tolist(), trace.regret("always zero").tolist()
    (2.0, [4.0, 3.0, 2.0], [3.0, 4.0, 3.0])
    >>> trace.mean_paid, trace.running_paid.tolist(), trace.regret("always zero", paid=True).tolist()
    (3.0, [5.0, 4.0, 3.0], [4.0, 6.0, 6.0])
    """

    losses: Array
    """True loss of the prediction in each round (or its mean over each block)."""
    paid: Array
    """Mean true loss of the round's queries, which are the decisions played (or its mean over each block).

    In a round without queries, and where gradients are told, the prediction is played, and its loss is what is paid.
    """
    predictions: Array
    """Predictions, shape (T, *shape); empty, shape (0, *shape), where they are not kept."""
    compiled: bool = False
    """True where the compiled loop ran."""
    comparators: dict[str, Array] = field(default_factory=dict)
    """Losses of comparators round by round, by name."""
    ends: NDArray[np.intp] | None = None
    """Number of rounds done at the end of each block; None where every round has an entry of its own."""
    told: bool = False
    """True where gradients were told: nothing was played in order to learn, and the loss paid is that of the prediction."""
    answered: Array | None = None
    """Mean of the values told in each round, as losses and with their noise, shape (T,); NaN where none were. Kept with bands."""
    bands: Array | None = None
    """Bands for these at the level 0.9, each made before its round was told, shape (T, 2); None where the booster has none, or
    only means are kept."""
    drifts: tuple[Alarm, ...] | None = None
    """The alarms raised in this run, with rounds counted from its beginning; None where the booster has no detector."""

    @classmethod
    def blank(
        cls,
        rounds: int,
        shape: tuple[int, ...],
        keep: Keep,
        block: int,
        compiled: bool,
        told: bool = False,
        banded: bool = False,
    ) -> Trace:
        """Return an empty trace for a run in blocks of `block` rounds, the last of which may be shorter."""
        ends = np.append(np.arange(block, rounds, block), rounds) if keep == "means" else None
        entries = rounds if ends is None else len(ends)
        predictions = np.empty((rounds if keep == "all" else 0, *shape))
        made = cls(np.empty(entries), np.empty(entries), predictions, compiled, ends=ends, told=told)
        if banded and ends is None:
            made.answered, made.bands = np.empty(rounds), np.empty((rounds, 2))
        return made

    @contextmanager
    def block(self, begin: int, end: int) -> Iterator[Block]:
        """Yield arrays for the results of rounds begin ... end-1; means are stored when the block ends without an error."""
        size, kept, everything = end - begin, self.ends is None, len(self.predictions) > 0
        losses = self.losses[begin:end] if kept else np.empty(size)
        paid = self.paid[begin:end] if kept else np.empty(size)
        predictions = self.predictions[begin:end] if everything else np.empty((size, *self.predictions.shape[1:]))
        if self.answered is None or self.bands is None:
            yield Block(losses, paid, predictions, np.empty(0), np.empty((0, 2)))
        else:
            yield Block(losses, paid, predictions, self.answered[begin:end], self.bands[begin:end])
        if self.told:
            paid[...] = losses
        if self.ends is not None:
            entry = np.searchsorted(self.ends, end)
            self.losses[entry], self.paid[entry] = losses.mean(), paid.mean()

    def first(self, rounds: int) -> Trace:
        """Return the trace of the first rounds, where every round has an entry of its own; without comparators."""
        rows = [None if column is None else column[:rounds] for column in (self.answered, self.bands)]
        cut = (self.losses[:rounds], self.paid[:rounds], self.predictions[:rounds])
        return Trace(*cut, self.compiled, told=self.told, answered=rows[0], bands=rows[1], drifts=self.drifts)

    def __len__(self) -> int:
        return len(self.losses) if self.ends is None else int(self.ends[-1])

    @property
    def rounds(self) -> NDArray[np.intp]:
        """The last round of each entry, counted from 1."""
        return np.arange(1, len(self) + 1) if self.ends is None else self.ends

    def total(self, losses: Array) -> Array:
        """Return cumulative sums of entries, each multiplied by its number of rounds."""
        return np.cumsum(losses if self.ends is None else losses * np.diff(self.ends, prepend=0))

    @property
    def mean(self) -> float:
        """Mean loss of the predictions: the progressive validation loss."""
        return float(self.losses.mean() if self.ends is None else self.running[-1])

    @property
    def mean_paid(self) -> float:
        """Mean loss paid at the points asked."""
        return float(self.paid.mean() if self.ends is None else self.running_paid[-1])

    @property
    def cumulative(self) -> Array:
        """Total loss of the predictions up to each round."""
        return self.total(self.losses)

    @property
    def cumulative_paid(self) -> Array:
        """Total loss paid up to each round; of a round's points it counts their mean."""
        return self.total(self.paid)

    @property
    def running(self) -> Array:
        """Mean loss of the predictions up to each round."""
        return self.cumulative / self.rounds

    @property
    def running_paid(self) -> Array:
        """Mean loss paid up to each round."""
        return self.cumulative_paid / self.rounds

    def compare(self, name: str, losses: Array) -> None:
        """Add the losses of a comparator, one per round, under a name."""
        found = finite("losses", losses, (len(self),))
        if self.ends is not None:
            found = np.diff(np.cumsum(found)[self.ends - 1], prepend=0.0) / np.diff(self.ends, prepend=0)
        self.comparators[name] = found

    def regret(self, comparator: str, paid: bool = False) -> Array:
        """Return the cumulative regret against a named comparator: of the predictions or, with `paid`, of the loss paid."""
        if comparator not in self.comparators:
            known = ", ".join(sorted(self.comparators)) or "none was added"
            raise ValueError(f"comparator must be one that was added with compare ({known}), got {comparator!r}.")
        return self.total((self.paid if paid else self.losses) - self.comparators[comparator])

    def told_and_bands(self, since: int = 0) -> tuple[Array, Array, Array]:
        """Return what was told from round `since` on, and both ends of the bands, of rounds in which anything was told."""
        if self.answered is None or self.bands is None:
            raise ValueError("bands must be kept for this: make the booster with bands=True, and keep more than means.")
        if count("since", since, least=0) >= len(self):
            raise ValueError(f"since must be below the number of rounds ({len(self)}), got {since}.")
        told = ~np.isnan(self.answered[since:])
        low, high = self.bands[since:][told].T
        return self.answered[since:][told], low, high

    def coverage(self, since: int = FEWEST) -> float:
        """Return the share of rounds whose told values had their mean within the band at the level 0.9.

        Parameters
        ----------
        since
            The first round that counts, where the first round of all is 0; the first 20 of a fresh booster have infinite bands.
        """
        told, low, high = self.told_and_bands(since)
        return float(((low <= told) & (told <= high)).mean())

    def band_width(self, since: int = FEWEST) -> float:
        """Return the mean width of the bands at the level 0.9."""
        _, low, high = self.told_and_bands(since)
        return float((high - low).mean())

    def band_score(self, since: int = FEWEST) -> float:
        """Return the mean interval score of the bands at the level 0.9 (Gneiting and Raftery 2007, eq. 43); low is good.

        It is the width of a band, and 2/(1 - 0.9) times the distance of what was told from it, so that neither empty nor infinite
        bands do well, whatever they cover.
        """
        told, low, high = self.told_and_bands(since)
        missed = np.maximum(low - told, 0.0) + np.maximum(told - high, 0.0)
        return float((high - low + 2.0 / (1.0 - LEVEL) * missed).mean())

    def to_frame(self) -> polars.DataFrame:
        """Return one row per round (or block) as a polars DataFrame (needs the extra `cli`)."""
        try:
            import polars as pl
        except ImportError:
            raise ImportError("to_frame needs polars: pip install 'banditboost[cli]'.") from None
        columns: dict[str, Any] = {
            "round": self.rounds,
            "loss": self.losses,
            "paid": self.paid,
            "running": self.running,
            "running_paid": self.running_paid,
            "cumulative": self.cumulative,
            "cumulative_paid": self.cumulative_paid,
        }
        if self.answered is not None and self.bands is not None:
            columns |= {"answered": self.answered, "low": self.bands[:, 0], "high": self.bands[:, 1]}
        for name in self.comparators:
            columns[f"regret against {name}"] = self.regret(name)
            columns[f"paid regret against {name}"] = self.regret(name, paid=True)
        return pl.DataFrame(columns)

    @property
    def plot(self) -> Plots:
        """Plots of this run, one method each; ``plot()`` itself draws both running mean losses (needs the extra `cli`)."""
        return Plots(self)
