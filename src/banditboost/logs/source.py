"""Where the rows of a log come from: arrays in memory, or files that are read in blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array
from banditboost.datasets.blocks import TableBlocks, few, numeric_columns, open_table
from banditboost.logs.block import LogBlock

Columns = str | Sequence[str] | None


class Source(Protocol):
    """Rows of a log as they are written: losses that have not come are NaN, and nothing was checked."""

    features: int
    dimension: int
    rows: int
    has_densities: bool
    has_tickets: bool
    context_names: tuple[str, ...]
    action_names: tuple[str, ...]

    def pieces(self) -> Iterator[LogBlock]:
        """Give all rows in order, in blocks of any size; rows are numbered as they are written."""


class Names(NamedTuple):
    """The columns of a log, by name."""

    context: tuple[str, ...]
    action: tuple[str, ...]
    loss: str | None
    density: str | None
    ticket: str | None
    time: str | None


class Arrays:
    """Rows in memory."""

    def __init__(
        self,
        contexts: ArrayLike | None,
        actions: ArrayLike,
        losses: ArrayLike,
        densities: ArrayLike | None,
        tickets: ArrayLike | None,
        times: ArrayLike | None,
    ) -> None:
        found = numbers("losses", losses)
        if found.ndim != 1:
            raise ValueError(f"losses must be one number a row, got the shape {found.shape}.")
        n = len(found)
        played = numbers("actions", actions)
        played = played.reshape(n, -1) if n and len(played) == n else played.reshape(len(played), -1)
        table = np.empty((n, 0)) if contexts is None else numbers("contexts", contexts)
        if table.ndim == 1:
            table = table[:, np.newaxis]
        columns: list[Any] = [table, played, found]
        for name, given in (("densities", densities), ("tickets", tickets), ("times", times)):
            column = None if given is None else numbers(name, given) if name != "tickets" else whole(given)
            columns.append(column)
        for name, column in zip(
            ("contexts", "actions", "losses", "densities", "tickets", "times"), columns, strict=True
        ):
            if column is not None and (len(column) != n or (name in ("densities", "times") and column.ndim != 1)):
                raise ValueError(
                    f"{name} must have one entry for each of the {n} losses, got the shape {column.shape}."
                )
        self.block = LogBlock(columns[0], columns[1], columns[2], columns[3], columns[4], columns[5], 0)
        self.features, self.dimension, self.rows = table.shape[1], played.shape[1], n
        self.has_densities, self.has_tickets = densities is not None, tickets is not None
        self.context_names, self.action_names = context_names(self.features), action_names(self.dimension)

    def pieces(self) -> Iterator[LogBlock]:
        """Give all rows at once."""
        yield self.block


class Files:
    """Rows of one file, or of the parts in a folder, in the order of their names."""

    def __init__(self, path: Path, names: Names, negated: bool = False) -> None:
        self.negated = negated
        self.names, self.parts = names, [_open(part, names) for part in parts_of(path)]
        self.features, self.dimension = len(names.context), len(names.action)
        self.rows = sum(part.rows for part in self.parts)
        self.has_densities, self.has_tickets = names.density is not None, names.ticket is not None
        self.context_names, self.action_names = names.context, names.action

    def pieces(self) -> Iterator[LogBlock]:
        """Read block by block; a missing loss or density is NaN, and any other missing value is refused with its row."""
        names, begin = self.names, 0
        may_miss = tuple(name for name in (names.loss, names.density) if name is not None)
        for part in self.parts:
            place = {name: i for i, name in enumerate(part.columns)}
            for block in range(len(part.starts) - 1):
                values = part.values(block, may_miss)
                row = begin + part.starts[block]
                taken = {name: _column(values, place, name) for name in (names.density, names.time)}
                losses = _column(values, place, names.loss)
                if losses is not None and self.negated:
                    losses = -losses
                tickets = _column(values, place, names.ticket)
                yield LogBlock(
                    np.ascontiguousarray(values[:, [place[name] for name in names.context]]),
                    np.ascontiguousarray(values[:, [place[name] for name in names.action]]),
                    np.full(len(values), np.nan) if losses is None else losses,
                    taken[names.density],
                    None if tickets is None else whole(tickets, row),
                    taken[names.time],
                    row,
                )
            begin += part.rows


def _column(values: Array, place: dict[str, int], name: str | None) -> Array | None:
    return None if name is None else np.ascontiguousarray(values[:, place[name]])


def _open(path: Path, names: Names) -> TableBlocks:
    single = (names.density, names.ticket, names.time, names.loss)
    columns = [*names.context, *names.action, *(name for name in single if name is not None)]
    blocks = open_table(path, target=columns[-1], features=columns[:-1])
    blocks.hint = "context can leave it out"
    return blocks


def parts_of(path: Path) -> list[Path]:
    """Return a file, or the files of a folder in the order of their names."""
    if not path.is_dir():
        return [path]
    found = sorted(
        part for part in path.iterdir() if part.suffix.lower() in (".parquet", ".csv") and part.name[0] != "."
    )
    if not found:
        raise FileNotFoundError(f"path must be a file or a folder with .parquet or .csv files, got the folder {path}.")
    return found


def named(
    path: Path,
    action: Columns,
    loss: str | None,
    density: str | None,
    context: Columns,
    ticket: str | None,
    time: str | None,
    late: bool,
) -> Names:
    """Return the columns to read; raise a sentence where one is not there, or stands for two things."""
    known = numeric_columns(parts_of(path)[0])
    columns = list(known)
    actions = several("action", action)
    if not actions:
        raise ValueError("action must name at least one column.")
    if late and loss is not None and loss not in known:
        loss = None  # all losses come from elsewhere
    single = {"loss": loss, "density": density, "ticket": ticket, "time": time}
    chosen: dict[str, str] = {}
    for what, name in [*(("action", name) for name in actions), *single.items()]:
        if name is None:
            continue
        if name not in known:
            raise ValueError(f"{what} must be a column of {path} ({few(columns)}), got {name!r}.")
        if chosen.setdefault(name, what) != what or (what == "action" and list(actions).count(name) > 1):
            raise ValueError(f"{what} must be another column than {chosen[name]}, got {name!r} for both.")
    if late and ticket is None:
        raise ValueError("ticket must name the column by which late losses find their rows.")
    if context is None:
        contexts = tuple(name for name in columns if known[name] and name not in chosen)
    else:
        contexts = several("context", context)
        for name in contexts:
            if name not in known:
                raise ValueError(f"context must be columns of {path} ({few(columns)}), got {name!r}.")
            if name in chosen or contexts.count(name) > 1:
                raise ValueError(
                    f"context must not contain a column twice, got {name!r} as {chosen.get(name, 'context')} too."
                )
    for name in (*chosen, *contexts):
        if not known[name]:
            raise ValueError(_no_numbers(path, name, chosen.get(name, "context")))
    return Names(contexts, actions, loss, density, ticket, time)


def _no_numbers(path: Path, name: str, what: str) -> str:
    """Return a sentence about a column of words, with what to write in place of them."""
    said = f"column {name!r} of {path} must hold numbers to be the {what}, got words"
    if what != "context":
        return f"{said} among its values."
    return f"{said}: put a column of 0 and 1 for each word into the file and name those in its place, or leave it out."


def require_worth(path: Path, loss: str | None, reward: str | None) -> None:
    """Raise where neither a loss nor a reward is named, and no column is called loss."""
    if loss is not None or reward is not None:
        return
    columns = list(numeric_columns(parts_of(path)[0]))
    if "loss" not in columns:
        raise ValueError(
            f"loss or reward (in the shell --loss or --reward) must name the column of what came of a decision, one of {path} "
            f"({few(columns)}), got neither."
        )


def several(name: str, given: Columns) -> tuple[str, ...]:
    """Return names of columns, of which there may be one, several or none."""
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(entry, str) for entry in found):
        raise ValueError(f"{name} must be names of columns, got {given!r:.200}.")
    return found


def numbers(name: str, values: ArrayLike) -> Array:
    """Return an array of floats, which may hold anything a float can; rows are checked with their numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers in a regular array, got {type(values).__name__}.") from None


def whole(values: ArrayLike, row: int = 0) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return ticket numbers; raise a sentence with the row number where one is no whole number."""
    given = np.asarray(values)
    if given.ndim == 1 and given.dtype.kind in "iu":
        return given.astype(np.int64)
    found = numbers("tickets", values)
    if found.ndim != 1:
        raise ValueError(f"tickets must be one number a row, got the shape {found.shape}.")
    good = (np.abs(found) < 2.0**53) & (found == np.round(found))
    if not good.all():
        i = int(np.argmin(good))
        raise ValueError(f"ticket must be a whole number, got {found[i]:g} in row {row + i + 1}.")
    return found.astype(np.int64)


def context_names(features: int) -> tuple[str, ...]:
    """Return the columns that contexts without names get."""
    return tuple(f"x{i}" for i in range(features))


def action_names(dimension: int) -> tuple[str, ...]:
    """Return the columns that actions without names get."""
    return ("action",) if dimension == 1 else tuple(f"action{i}" for i in range(dimension))


def path_of(path: str | os.PathLike[str]) -> Path:
    """Return a path that exists."""
    found = Path(path)
    if not found.exists():
        raise FileNotFoundError(f"path must be an existing file, got {found}.")
    return found
