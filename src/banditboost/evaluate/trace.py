"""What a run leaves behind: losses round by round, kept apart by where they were paid."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from banditboost.evaluate.plots import Plots
from banditboost.require import Array, finite

if TYPE_CHECKING:
    import polars


@dataclass(eq=False)
class Trace:
    """Losses of a run.

    A trace keeps two losses apart: at the *prediction* (what the booster would do) and at the points *asked* (what exploring
    costs a world that charges for every question).

    Examples
    --------
    >>> trace = Trace(losses=np.array([4.0, 2.0, 0.0]), asked=np.array([5.0, 3.0, 1.0]), predictions=np.zeros(3))
    >>> trace.compare("always zero", np.ones(3))
    >>> trace.mean, trace.running.tolist(), trace.regret("always zero").tolist()
    (2.0, [4.0, 3.0, 2.0], [3.0, 4.0, 3.0])
    """

    losses: Array
    """True loss of the prediction in each round."""
    asked: Array
    """Mean true loss of the round's queries."""
    predictions: Array
    """What was predicted, shape (T, *shape)."""
    compiled: bool = False
    """Whether the compiled loop ran."""
    comparators: dict[str, Array] = field(default_factory=dict)
    """Losses round by round of what this run is compared with, by name."""

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def mean(self) -> float:
        """Mean loss of the predictions: the progressive validation loss."""
        return float(self.losses.mean())

    @property
    def cumulative(self) -> Array:
        """Total loss up to each round."""
        return np.cumsum(self.losses)

    @property
    def running(self) -> Array:
        """Mean loss up to each round."""
        return self.cumulative / np.arange(1, len(self) + 1)

    def compare(self, name: str, losses: Array) -> None:
        """Add a comparator's losses, one per round, under a name."""
        self.comparators[name] = finite("losses", losses, (len(self),))

    def regret(self, comparator: str) -> Array:
        """Return the cumulative regret against a named comparator."""
        if comparator not in self.comparators:
            known = ", ".join(sorted(self.comparators)) or "none was added"
            raise ValueError(f"comparator must be one of those added with compare ({known}), got {comparator!r}.")
        return np.cumsum(self.losses - self.comparators[comparator])

    def to_frame(self) -> polars.DataFrame:
        """Return one row per round as a polars DataFrame (needs the extra `cli`)."""
        try:
            import polars as pl
        except ImportError:
            raise ImportError("to_frame needs polars: pip install 'banditboost[cli]'.") from None
        columns: dict[str, Any] = {
            "round": np.arange(1, len(self) + 1),
            "loss": self.losses,
            "asked": self.asked,
            "running": self.running,
            "cumulative": self.cumulative,
        }
        columns |= {f"regret against {name}": self.regret(name) for name in self.comparators}
        return pl.DataFrame(columns)

    @property
    def plot(self) -> Plots:
        """Pictures of this run, one method each; called itself, it draws the running mean loss (needs the extra `cli`)."""
        return Plots(self)
