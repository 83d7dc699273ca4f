"""A log of a run: the losses, written to a file during the run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._storage.atomic_file import atomic
from banditboost.evaluate.callbacks import Callback, Event

HEADINGS = ("round", "loss", "paid", "running", "running_paid")


class Log(Callback):
    """Writes one row per round: its number, the loss of the prediction, the loss paid at the queries, and both means so far.

    A file that ends in ``.csv`` begins anew with every run and grows block by block, so that it can be read during the run; a run
    that is interrupted or killed leaves complete rows of complete blocks. A file that ends in ``.parquet`` (which needs polars,
    extra `cli`) cannot grow; it is written at the end of a run, even an interrupted one, completely or not at all.

    Parameters
    ----------
    path
        The file.
    every
        Largest number of rounds between two writes.

    Examples
    --------
    >>> import banditboost as bb, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file, world = Path(folder) / "log.csv", bb.worlds.SyntheticLinear(rounds=100, features=3)
    ...     trace = bb.evaluate.progressive(bb.algorithms.ogd(bb.spaces.Interval(-2, 2)), world, callbacks=[Log(file)])
    ...     lines = file.read_text().splitlines()
    >>> len(lines), lines[0], lines[-1].split(",")[3:] == [str(trace.running[-1]), str(trace.running_paid[-1])]
    (101, 'round,loss,paid,running,running_paid', True)
    """

    def __init__(self, path: str | os.PathLike[str], every: int = 1000) -> None:
        self.path, self.every = Path(path), count("every", every)
        if self.path.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"path must end in .csv or .parquet, got {os.fspath(path)!r}.")
        self.grows = self.path.suffix.lower() == ".csv"
        self.file: IO[str] | None = None
        if not self.grows:
            _polars()

    def start(self, event: Event) -> None:
        """Begin a CSV file anew, with its headings."""
        self.sums = np.zeros(2)
        if self.grows:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = open(self.path, "w", encoding="utf-8", newline="")  # noqa: SIM115 - closed in `end`
            self.file.write(",".join(HEADINGS) + "\n")
            self.file.flush()

    def block(self, event: Event) -> None:
        """Append the rows of a block to a CSV file."""
        if self.file is None:
            return
        # The sums are taken in the order in which the trace takes them, so that the numbers agree to the last digit.
        both = np.column_stack([event.losses, event.paid])
        sums = np.cumsum(np.vstack([self.sums, both]), axis=0)[1:]
        self.sums = sums[-1]
        rounds = np.arange(event.begin + 1, event.end + 1)
        rows = np.hstack([both, sums / rounds[:, np.newaxis]]).tolist()
        self.file.write("".join(f"{t},{','.join(map(repr, row))}\n" for t, row in zip(rounds, rows, strict=True)))
        self.file.flush()

    def end(self, event: Event) -> None:
        """Close a CSV file, or write a Parquet file."""
        if self.file is not None:
            self.file.close()
            self.file = None
        elif not self.grows:
            self._write(event.trace.losses[: event.end], event.trace.paid[: event.end])

    def _write(self, losses: Array, paid: Array) -> None:
        rounds = np.arange(1, len(losses) + 1)
        means = (np.cumsum(losses) / rounds, np.cumsum(paid) / rounds)
        columns = dict(zip(HEADINGS, (rounds, losses, paid, *means), strict=True))
        with atomic(self.path) as file:
            _polars().DataFrame(columns).write_parquet(file)


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise ImportError("A log in Parquet needs polars: pip install 'banditboost[cli]'.") from None
    return polars
