"""Writing a log while decisions are made: rows are kept for a while and then appended, many at a time.

Text grows in place. A Parquet file cannot grow: rows are written to part files in a folder beside it, each of which is complete,
and become one file, in groups of rows, when the log is closed. Whoever crashes before that finds the parts there, and the next
writer of the same log takes them over.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, count, finite
from banditboost._storage.atomic_file import atomic
from banditboost.logs.block import LogBlock
from banditboost.logs.source import action_names, context_names

EVERY = 65_536
"""Rows that are kept before they are written, and the rows of a group in a Parquet file."""


class LogWriter:
    """Appends decisions to a log on disk, which `Log.read` reads again.

    Parameters
    ----------
    path
        A file that ends in .csv, or in .parquet (which needs polars, the extra `cli`). What is there stays, and rows are added.
    context, action
        Names of the columns of contexts and of actions; ``x0``, ``x1``, ... and ``action``, or ``action0``, ``action1``, ..., when
        not given. The other columns are ``loss``, ``density`` and ``ticket``.
    every
        How many rows are kept in memory before they are written; `flush` writes them at once.
    fresh
        Whether to begin anew where a file is there.

    Notes
    -----
    Rows of density zero are left out, since nothing can be learned from an action about which there was no choice; `left_out`
    counts them. A log in Parquet that is not closed has its rows in the folder ``path.parts``, which `Log.read` reads too.

    Examples
    --------
    >>> import banditboost as bb, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1)
    >>> with LogWriter(path) as writer:
    ...     for x in (0.2, 0.7):
    ...         ticket = booster.ask([x])
    ...         losses = (ticket.queries - 9.0) ** 2
    ...         booster.tell(ticket, losses)
    ...         writer.append(ticket.context, ticket.queries, losses, ticket.density, ticket.number)
    >>> bb.Log.read(path, action="action", density="density", ticket="ticket")
    Log: 2 rows, 1 feature, actions of 1 dimension, with densities and tickets
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        context: Sequence[str] | None = None,
        action: Sequence[str] | None = None,
        every: int = EVERY,
        fresh: bool = False,
    ) -> None:
        self.path, self.every = Path(path), count("every", every)
        if self.path.suffix.lower() not in (".csv", ".parquet"):
            raise ValueError(f"path must end in .csv or .parquet, got {os.fspath(path)!r}.")
        if self.path.is_dir():
            raise ValueError(f"path must be a file, got the folder {os.fspath(path)!r}.")
        self.left_out = 0
        """How many rows of density zero were left out."""
        self._names = (context, action)
        self._columns: tuple[str, ...] = ()
        self._rows: list[Array] = []
        self._held = 0
        self._open = True
        self._file: _Text | _Parts = (_Text if self.path.suffix.lower() == ".csv" else _Parts)(self.path, fresh)

    def append(
        self, context: ArrayLike | None, actions: ArrayLike, losses: ArrayLike, densities: ArrayLike | None, ticket: int
    ) -> None:
        """Add the rows of one round.

        Parameters
        ----------
        context
            The context, or None where there is none.
        actions, losses
            What was played and what it cost: k actions and k numbers.
        densities
            With what density each action was drawn, NaN for actions of which that is not known, or None.
        ticket
            The number of the round's ticket.
        """
        paid = finite("losses", np.ravel(np.asarray(losses, dtype=np.float64)))
        k = len(paid)
        x = np.empty(0) if context is None else finite("context", context).ravel()
        if not k:
            return
        played = finite("actions", actions).reshape(k, -1)
        drawn = None if densities is None else np.array(densities, dtype=np.float64).reshape(k)
        tickets = np.full(k, int(ticket), dtype=np.int64)
        self.write(LogBlock(np.tile(x, (k, 1)), played, paid, drawn, tickets, None, 0))

    def write(self, block: LogBlock) -> None:
        """Add the rows of a block."""
        if not self._open:
            raise ValueError(f"{self.path} is closed: nothing can be added to this log.")
        if block.densities is not None and (block.densities == 0).any():
            there = block.densities != 0
            self.left_out += int((~there).sum())
            block = block.take(there, block.row)
        columns = self._named(block)
        if not self._columns:
            self._file.begin(columns)
            self._columns = columns
        elif columns != self._columns:
            raise ValueError(f"rows must have the columns {', '.join(self._columns)}, got {', '.join(columns)}.")
        parts: list[Any] = [block.contexts, block.actions, block.losses]
        parts += [part for part in (block.densities, block.tickets, block.times) if part is not None]
        self._rows.append(np.column_stack(parts))
        self._held += len(block.losses)
        if self._held >= self.every:
            self.flush()

    def flush(self) -> None:
        """Write the rows that are kept."""
        if self._held:
            self._file.add(self._columns, np.concatenate(self._rows))
            self._rows, self._held = [], 0

    def close(self) -> None:
        """Write what is left; a Parquet file takes its name now."""
        if self._open:
            self.flush()
            self._file.close()
            self._open = False

    def __enter__(self) -> LogWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _named(self, block: LogBlock) -> tuple[str, ...]:
        features, dimension = block.contexts.shape[1], block.actions.shape[1]
        context = context_names(features) if self._names[0] is None else tuple(self._names[0])
        action = action_names(dimension) if self._names[1] is None else tuple(self._names[1])
        if (len(context), len(action)) != (features, dimension):
            raise ValueError(
                f"context and action must name {features} and {dimension} column(s), got {len(context)} and {len(action)}."
            )
        rest = (("density", block.densities), ("ticket", block.tickets), ("time", block.times))
        return (*context, *action, "loss", *(name for name, column in rest if column is not None))


class _Text:
    """Comma-separated text, which grows in place."""

    def __init__(self, path: Path, fresh: bool) -> None:
        self.path, self.fresh = path, fresh
        self.file: IO[bytes] | None = None

    def begin(self, columns: tuple[str, ...]) -> None:
        """Open the file, and write the names of columns where it is new."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        heading = ",".join(map(_quoted, columns)) + "\n"
        if not self.fresh and self.path.exists() and self.path.stat().st_size:
            with self.path.open("rb") as file:
                found = file.readline()
            if found.decode(errors="replace").rstrip("\r\n") != heading.rstrip("\n"):
                raise ValueError(f"{self.path} has other columns than {heading.strip()}: choose another file.")
            self.file = self.path.open("ab")
            return
        self.file = self.path.open("wb")
        self.file.write(heading.encode())
        self.file.flush()

    def add(self, columns: tuple[str, ...], rows: Array) -> None:
        """Append rows."""
        assert self.file is not None
        at = columns.index("ticket") if "ticket" in columns else None
        lines = []
        for row in rows.tolist():
            if at is not None:
                row[at] = int(row[at])
            lines.append(",".join("" if value != value else repr(value) for value in row))
        self.file.write(("\n".join(lines) + "\n").encode())
        self.file.flush()

    def close(self) -> None:
        """Close the file."""
        if self.file is not None:
            self.file.close()


class _Parts:
    """Part files in a folder, which become one Parquet file."""

    def __init__(self, path: Path, fresh: bool) -> None:
        _polars()
        self.path, self.fresh = path, fresh
        self.folder = path.with_name(path.name + ".parts")
        if fresh and self.folder.exists():
            shutil.rmtree(self.folder)
        self.parts = len(list(self.folder.glob("part-*.parquet"))) if self.folder.is_dir() else 0

    def begin(self, columns: tuple[str, ...]) -> None:
        """Make the folder; raise where rows of other columns are there already."""
        there = [
            *([] if self.fresh or not self.path.exists() else [self.path]),
            *sorted(self.folder.glob("part-*.parquet"))[:1],
        ]
        for file in there:
            if tuple(_polars().scan_parquet(file, glob=False).collect_schema().names()) != columns:
                raise ValueError(f"{self.path} has other columns than {', '.join(columns)}: choose another file.")
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, columns: tuple[str, ...], rows: Array) -> None:
        """Write one part."""
        frame = {
            name: rows[:, i].astype(np.int64) if name == "ticket" else rows[:, i] for i, name in enumerate(columns)
        }
        with atomic(self.folder / f"part-{self.parts:08}.parquet") as file:
            _polars().DataFrame(frame, nan_to_null=True).write_parquet(file)
        self.parts += 1

    def close(self) -> None:
        """Make one file of all parts, and of what was there before."""
        if not self.parts:
            return
        pl = _polars()
        files = sorted(self.folder.glob("part-*.parquet"))
        if not self.fresh and self.path.exists():
            files = [self.path, *files]
        whole = self.folder / "whole"
        pl.scan_parquet(files, glob=False).sink_parquet(whole, row_group_size=EVERY)
        os.replace(whole, self.path)
        with contextlib.suppress(OSError):
            shutil.rmtree(self.folder)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if any(mark in name for mark in ',"\n\r') else name


def _polars() -> Any:
    try:
        import polars
    except ImportError:
        raise ImportError("A log in Parquet needs polars: pip install 'banditboost[cli]'.") from None
    return polars
