"""A log of decisions: contexts, actions, losses, and with what density actions were drawn, where that is known."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import count
from banditboost.datasets.own_choices import Kind
from banditboost.datasets.own_encoding import Encoding
from banditboost.datasets.own_fields import ENCODING
from banditboost.logs.block import LogBlock, check_inside, check_rows
from banditboost.logs.own import Roles, read_own_log
from banditboost.logs.source import (
    Arrays,
    Columns,
    Files,
    Source,
    named,
    numbers,
    path_of,
    require_worth,
    several,
    whole,
)
from banditboost.logs.tickets import LateLosses, SeenTickets
from banditboost.spaces import Space

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

BLOCK = 65_536
"""Most rows of a block, unless told otherwise."""


class Counts(NamedTuple):
    """How many rows of a log can be used."""

    rows: int
    """All rows."""
    missing: int
    """Rows whose loss never came: they are left out."""
    unknown: int
    """Late losses whose ticket the log does not have: they are left out."""


class Log:
    """Decisions on record, in blocks of rows, so that memory does not grow with the file.

    Make one by `Log.read`, `Log.from_arrays` or `Log.from_journal`. Every row is checked when it is read: numbers are finite,
    densities positive, and no ticket comes twice; an error is one sentence that names the row, counted from 1. Rows whose loss
    never came are left out and counted.

    Rows of one ticket that stand together, with one context and different actions, are the answers of one round.

    Examples
    --------
    >>> x, prices, losses = [[0.1], [0.7], [0.4]], [5.0, 7.0, 6.5], [1.0, 0.5, np.nan]
    >>> log = Log.from_arrays(x, prices, losses, densities=[0.2, 0.2, 0.1], tickets=[1, 2, 3])
    >>> log
    Log: 3 rows, 1 feature, actions of 1 dimension, with densities and tickets
    >>> log.counts()
    Counts(rows=3, missing=1, unknown=0)
    >>> [block.losses.tolist() for block in log.join([3], [0.8]).blocks()]
    [[1.0, 0.5, 0.8]]
    """

    def __init__(self, source: Source, late: LateLosses | None = None) -> None:
        self._source, self._late = source, late
        self.notes: tuple[str, ...] = ()
        """What is to be said about where the rows come from, in sentences."""
        self.in_rewards = False
        """Whether the file has rewards: losses are minus those, and values of policies are rewards."""
        self.encoding: Encoding | None = None
        """How the columns of the file became contexts, where `read_own` made numbers of them."""
        self.columns: tuple[tuple[str, str], ...] = ()
        """For every column of such a file, its name and how it is used."""

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        *,
        action: Columns,
        loss: str | None = None,
        reward: str | None = None,
        density: str | None = None,
        context: Columns = None,
        ticket: str | None = None,
        time: str | None = None,
        losses: str | os.PathLike[str] | None = None,
    ) -> Log:
        r"""Open a Parquet or CSV file, or a folder of such files with the same columns; nothing but the columns is read yet.

        Needs polars (the extra `cli`).

        Parameters
        ----------
        path
            The file. Missing entries are allowed for the loss, which has not come, and for the density, which is not known.
        action
            The column of the action, or the columns of its coordinates.
        loss, reward
            The column of the loss, which is wanted low, or of the reward, which is wanted high: one of the two, and ``"loss"`` when
            neither is given. A reward is kept as a loss, which is minus the reward; values of policies on such a log are rewards.
        density
            The column of the density with which the action was drawn; without it only the direct method can evaluate policies.
        context
            The columns of the context; all other columns that hold numbers when not given.
        ticket, time
            The columns of ticket numbers, which are whole, and of times, which are numbers.
        losses
            A file of losses that came later, or of rewards, with the columns of `ticket` and `loss` or `reward`: see `join`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("customer,price,p,cost\n0.3,5,0.2,1.5\n0.9,7,0.1,0.5\n")
        >>> Log.read(path, action="price", loss="cost", density="p")
        Log: 2 rows, 1 feature, actions of 1 dimension, with densities
        """
        if loss is not None and reward is not None:
            raise ValueError(f"loss must be left out where reward is given, got {loss!r} and {reward!r}.")
        place, worth = path_of(path), reward or loss or "loss"
        require_worth(place if losses is None else path_of(losses), loss, reward)
        names = named(place, action, worth, density, context, ticket, time, late=losses is not None)
        log = cls(Files(place, names, negated=reward is not None))
        log.in_rewards = reward is not None
        if losses is None:
            return log
        assert ticket is not None
        found = Files(path_of(losses), named(Path(losses), worth, None, None, (), ticket, None, late=False))
        tickets, values = [np.empty(0, dtype=np.int64)], [np.empty(0)]
        for block in found.pieces():
            assert block.tickets is not None
            check_rows(block._replace(losses=np.zeros(len(block.actions))))
            tickets.append(block.tickets)
            values.append(block.actions[:, 0])
        late = np.concatenate(values)
        return log.join(np.concatenate(tickets), -late if log.in_rewards else late)

    @classmethod
    def read_own(
        cls,
        path: str | os.PathLike[str],
        *,
        action: Columns,
        loss: str | None = None,
        reward: str | None = None,
        density: str | None = None,
        context: Columns = None,
        ticket: str | None = None,
        time: str | None = None,
        encoding: Encoding | None = None,
        number: Sequence[str] = (),
        category: Sequence[str] = (),
        date: Sequence[str] = (),
        drop: Sequence[str] = (),
    ) -> Log:
        r"""Read a file as people have it: contexts may have words, dates, missing values, and numbers in any common style.

        The whole file is read at once, and columns become numbers as those of a table do in `banditboost run`. ``booster.extra |=
        log.naming()`` lets a booster that has learned from the log take contexts by the names of these columns.

        Parameters
        ----------
        path, action, loss, reward, density, context, ticket, time
            As for `read`; all columns that play no other part are the context when none are named.
        encoding
            How contexts become numbers, as of another log (`Log.encoding`); found in this one when not given.
        number, category, date, drop
            Names of columns that hold numbers, words or dates, or are not to be used: see `datasets.prepare_own`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "log.csv"
        >>> _ = path.write_text("town;age;price;cost\nRom;41;5,5;1\nBonn;;6,5;2\nRom;35;7;0\n")
        >>> log = Log.read_own(path, action="price", loss="cost")
        >>> log.context_names
        ('town=Bonn', 'town=Rom', 'age', 'age is missing')
        >>> next(log.blocks()).contexts[1].tolist()
        [1.0, 0.0, 38.0, 1.0]
        """
        if loss is not None and reward is not None:
            raise ValueError(f"loss must be left out where reward is given, got {loss!r} and {reward!r}.")
        roles = Roles(several("action", action), reward or loss or "loss", density, ticket, time)
        if not roles.action:
            raise ValueError("action must name at least one column.")
        said: dict[Kind, Sequence[str]] = {"number": number, "category": category, "date": date, "drop": drop}
        found = read_own_log(path_of(path), roles, context, reward is not None, encoding, said)
        log = cls(found.rows)
        log.in_rewards, log.encoding, log.columns, log.notes = (
            reward is not None,
            found.encoding,
            found.columns,
            found.notes,
        )
        return log

    def naming(self) -> dict[str, Any]:
        """Return what `Booster.extra` needs so that contexts can be given by the names of this log's columns."""
        named = {"context": list(self.context_names), "decision": list(self.action_names)}
        return named if self.encoding is None else named | {ENCODING: self.encoding.to_dict()}

    @classmethod
    def from_arrays(
        cls,
        contexts: ArrayLike | None,
        actions: ArrayLike,
        losses: ArrayLike,
        *,
        densities: ArrayLike | None = None,
        tickets: ArrayLike | None = None,
        times: ArrayLike | None = None,
    ) -> Log:
        """Make a log from arrays: contexts (n, features), actions (n,) or (n, d), and losses (n,), NaN where none has come."""
        return cls(Arrays(contexts, actions, losses, densities, tickets, times))

    @classmethod
    def from_journal(cls, path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None) -> Log:
        """Return the rounds that a journal holds, each with its actions, losses and densities; the journal is not changed.

        The calls since the journal's last snapshot are made again, as `Journal.replay` makes them. Rounds told before that snapshot
        stand in no file any more: a journal that shall hold a month of rounds is opened with `snapshot_every` so large. Rounds that
        were asked and not told have no loss, and are counted as missing.

        Parameters
        ----------
        path
            The journal; it may be in use.
        parts
            As for `Journal.replay`.
        """
        from banditboost.logs.from_journal import rounds_of

        rows, notes = rounds_of(path, parts)
        log = cls(rows)
        log.notes = notes
        return log

    @property
    def features(self) -> int:
        """Length of a context."""
        return self._source.features

    @property
    def dimension(self) -> int:
        """Number of coordinates of an action."""
        return self._source.dimension

    @property
    def rows(self) -> int:
        """Number of rows, with those whose loss never came."""
        return self._source.rows

    @property
    def has_densities(self) -> bool:
        """Whether rows say with what density their action was drawn."""
        return self._source.has_densities

    @property
    def context_names(self) -> tuple[str, ...]:
        """The names of the columns of contexts."""
        return self._source.context_names

    @property
    def action_names(self) -> tuple[str, ...]:
        """The names of the columns of actions."""
        return self._source.action_names

    def join(self, tickets: ArrayLike, losses: ArrayLike) -> Log:
        """Return this log with losses that came later, by ticket; a loss that came before, or comes twice, is refused when read.

        Where a ticket has several rows, its losses come in their order.
        """
        if not self._source.has_tickets:
            raise ValueError("tickets must be in the log for late losses to find their rows.")
        numbered, found = whole(tickets), numbers("losses", losses)
        if found.shape != numbered.shape:
            raise ValueError(f"losses must be as many as tickets, got {found.shape} for {numbered.shape}.")
        bad = ~np.isfinite(found)
        if bad.any():
            i = int(np.argmax(bad))
            raise ValueError(f"loss must be finite, got {found[i]:g} in row {i + 1} of the late losses.")
        if self._late is not None:
            numbered = np.concatenate([self._late.tickets, numbered])
            found = np.concatenate([self._late.losses, found])
        joined = Log(self._source, LateLosses(numbered, found))
        joined.in_rewards = self.in_rewards
        joined.notes, joined.encoding, joined.columns = self.notes, self.encoding, self.columns
        return joined

    def blocks(self, rows: int = BLOCK) -> Iterator[LogBlock]:
        """Give the complete rows in order, at most so many at a time; rows whose loss never came are left out."""
        size, complete = count("rows", rows), 0
        for block, _ in self._pieces(None):
            there = ~np.isnan(block.losses)
            whole_rows = block if there.all() else block.take(there, 0)
            n = len(whole_rows.losses)
            for begin in range(0, n, size):
                yield whole_rows.take(slice(begin, begin + size), complete + begin)
            complete += n

    def check(self, space: Space | None = None) -> Counts:
        """Read all rows and raise one sentence at the first that cannot be used; return how many there are.

        Parameters
        ----------
        space
            Where actions must lie; anywhere when not given.
        """
        total = missing = unknown = 0
        for block, left in self._pieces(space):
            total += len(block.losses)
            missing += int(np.isnan(block.losses).sum())
            unknown = left
        return Counts(total, missing, unknown)

    counts = check

    def explored(self) -> tuple[float, ...] | None:
        """Return how far from its own aims the policy that wrote this log has explored, along each coordinate.

        For ``explore.Explore(most=log.explored())``: a booster that starts from a log need not explore more widely than was enough
        to teach it. None, which limits nothing, where the log shows no such width: densities are not known, nothing was explored,
        or actions are no linear function of the context (`banditboost.logs.explored`).
        """
        from banditboost.logs.explored import explored

        return explored(self)

    def _pieces(self, space: Space | None) -> Iterator[tuple[LogBlock, int]]:
        """Give all rows, checked, and with each block how many late losses have found no row: at the end, all that never will."""
        seen, late, before = SeenTickets(), self._late, 0
        used = np.zeros(0 if late is None else len(late.tickets), dtype=bool)
        last: int | None = None
        done = 0
        for block in self._source.pieces():
            tickets = block.tickets
            if late is not None and tickets is not None and len(tickets):
                before = before if last is not None and tickets[0] == last else 0
                block = late.fill(block, before, used)
                last = int(tickets[-1])
                others = np.flatnonzero(tickets != last)
                before = len(tickets) - 1 - int(others[-1]) if len(others) else before + len(tickets)
            check_rows(block, missing=True)
            if space is not None:
                check_inside(block, space)
            if block.tickets is not None:
                seen.see(block)
            done += len(block.losses)
            left = 0
            if late is not None and done == self.rows:
                left = late.left_over(used)
            yield block, left

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the complete rows to a .parquet or .csv file, block by block; it takes its name when it is complete."""
        from banditboost.logs.writer import LogWriter

        with LogWriter(path, context=self.context_names, action=self.action_names, fresh=True) as writer:
            for block in self.blocks():
                writer.write(block)

    def __repr__(self) -> str:
        known = [
            name for name, there in (("densities", self.has_densities), ("tickets", self._source.has_tickets)) if there
        ]
        features = f"{self.features} feature{'s' if self.features != 1 else ''}"
        dimensions = f"{self.dimension} dimension{'s' if self.dimension != 1 else ''}"
        return f"Log: {self.rows:,} rows, {features}, actions of {dimensions}" + (
            f", with {' and '.join(known)}" if known else ""
        )
