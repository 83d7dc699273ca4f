"""A log of a run: the losses, written to a file during the run."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import IO, Any

import numpy as np

from banditboost._core.checks import Array, count
from banditboost._storage.atomic_file import atomic, begin, sweep
from banditboost.evaluate.callbacks import Callback, Event

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that has no room: it may have some later, and a run must not be lost for its log."""
HEADINGS = ("round", "loss", "paid", "running", "running_paid")


class Log(Callback):
    """Writes one row per round: its number, the loss of the prediction, the loss paid at the queries, and both means so far.

    A file that ends in ``.csv`` begins anew with every run and grows block by block, so that it can be read during the run; a run
    that is interrupted or killed leaves complete rows of complete blocks. A log that was there before is replaced when the first
    block is on the disk. A file that ends in ``.parquet`` (which needs polars, extra `cli`) cannot grow; it is written at the end
    of a run, even an interrupted one, completely or not at all.

    Where the disk becomes full, the log ends with the last complete block, the run goes on, and an OSError is raised at its end.

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
        self.file: IO[bytes] | None = None
        if not self.grows:
            _polars()

    def start(self, event: Event) -> None:
        """Begin a CSV file with its headings, under a temporary name until there are rows."""
        self.sums = np.zeros(2)
        self._failure: OSError | None = None
        self._unnamed, self._rounds, self._length = "", 0, 0
        if not self.grows:
            return
        self._target = Path(os.path.realpath(self.path))
        if self._target.exists() and not self._target.is_file():
            raise OSError(f"{self.path} is no plain file: nothing takes its place.")
        self._target.parent.mkdir(parents=True, exist_ok=True)
        try:
            sweep(self._target)
            handle, self._unnamed = begin(self._target)
            self.file = os.fdopen(handle, "wb", buffering=0)
            self._append(",".join(HEADINGS) + "\n")
        except OSError as error:
            self._give_up(error)
            if error.errno not in FULL:
                raise

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
        try:
            self._append("".join(f"{t},{','.join(map(repr, row))}\n" for t, row in zip(rounds, rows, strict=True)))
            self._rounds = event.end
            if self._unnamed:
                os.replace(self._unnamed, self._target)
                self._unnamed = ""
        except OSError as error:
            self._give_up(error)

    def end(self, event: Event) -> None:
        """Close a CSV file, or write a Parquet file; raise where a CSV file could not be written on the way."""
        if not self.grows:
            self._write(event.trace.losses[: event.end], event.trace.paid[: event.end])
            return
        self._close()
        if self._failure is not None:
            error, was = self._failure, "is as it was" if self._target.is_file() else "was not made"
            if self._rounds and not self._unnamed:
                was = f"ends with round {self._rounds}"
            raise OSError(error.errno, f"{self.path} could not be written and {was}: {error.strerror or error}")

    def _append(self, text: str) -> None:
        """Write some lines, all or none."""
        assert self.file is not None
        data = text.encode()
        try:
            while data:
                data = data[self.file.write(data) :]
        except OSError:
            self.file.truncate(self._length)
            raise
        self._length += len(text)

    def _give_up(self, error: OSError) -> None:
        self._failure = error
        self._close()

    def _close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None
        if self._unnamed and (self._failure is not None or not self._rounds):
            with contextlib.suppress(OSError):
                os.unlink(self._unnamed)

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
