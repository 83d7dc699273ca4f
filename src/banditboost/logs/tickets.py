"""Which tickets a log has had: none may come back, and late losses find their rows by them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.logs.block import LogBlock

Numbers = NDArray[np.int64]


class SeenTickets:
    """Notices tickets that come back. Rows of one ticket stand together: they are the answers of one round.

    Tickets that ascend cost nothing but the last one; otherwise all numbers are kept, eight bytes each.
    """

    def __init__(self) -> None:
        self.kept: list[Numbers] = []
        self.last: LogBlock | None = None
        self.highest = -(2**63)

    def see(self, block: LogBlock) -> None:
        """Take note of a block's tickets; raise a sentence with the row number where one came before."""
        assert block.tickets is not None
        if not len(block.tickets):
            return
        joined = block if self.last is None else _after(self.last, block)
        new = _first_rows(joined)
        new = new[1:] if self.last is not None else new
        numbers = joined.tickets[new]  # type: ignore[index]
        order = np.argsort(numbers, kind="stable")
        twice = np.zeros(len(new), dtype=bool)
        twice[order[1:]] = numbers[order[1:]] == numbers[order[:-1]]
        if len(numbers) and numbers[order[0]] <= self.highest:
            known = np.unique(np.concatenate(self.kept))
            self.kept = [known]
            at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
            twice |= known[at] == numbers
        if twice.any():
            i = int(np.argmax(twice))
            raise ValueError(f"ticket must not come twice, got {numbers[i]} again in row {joined.row + new[i] + 1}.")
        if len(numbers):
            self.kept.append(np.sort(numbers))
            self.highest = max(self.highest, int(numbers.max()))
        self.last = block.take(slice(len(block.tickets) - 1, None), block.row + len(block.tickets) - 1)


def _after(last: LogBlock, block: LogBlock) -> LogBlock:
    """Return a block with the last row of the one before in front of it."""
    columns = (None if b is None else np.concatenate([a, b]) for a, b in zip(last[:-1], block[:-1], strict=True))
    return LogBlock(*columns, last.row)  # type: ignore[arg-type, call-arg]


def _first_rows(block: LogBlock) -> NDArray[np.intp]:
    """Return the rows that begin a ticket; those after it with the same context and another action are further answers."""
    tickets, contexts, actions = block.tickets, block.contexts, block.actions
    assert tickets is not None
    again = tickets[1:] == tickets[:-1]
    if again.any():
        again &= (contexts[1:] == contexts[:-1]).all(axis=1) & (actions[1:] != actions[:-1]).any(axis=1)
    return np.concatenate([[0], 1 + np.flatnonzero(~again)])


class LateLosses:
    """Losses that came after the log was written, which find their rows by ticket, and by order within one."""

    def __init__(self, tickets: Numbers, losses: Array) -> None:
        order = np.argsort(tickets, kind="stable")
        self.tickets, self.losses = tickets[order], losses[order]
        self.rows = order.astype(np.int64)
        """In which row of what was given each loss stands, from 0."""

    def fill(self, block: LogBlock, before: int, used: NDArray[np.bool_]) -> LogBlock:
        """Return a block with the losses that have come, and note which were used.

        So many rows of the block's first ticket as `before` says stand in earlier blocks.
        """
        tickets = block.tickets
        if tickets is None or not len(self.tickets) or not len(tickets):
            return block
        begins = np.concatenate([[True], tickets[1:] != tickets[:-1]])
        starts = np.flatnonzero(begins)
        rank = np.arange(len(tickets)) - starts[np.cumsum(begins) - 1]
        rank[: starts[1] if len(starts) > 1 else None] += before
        at = np.searchsorted(self.tickets, tickets) + rank
        inside = np.minimum(at, len(self.tickets) - 1)
        found = (at < len(self.tickets)) & (self.tickets[inside] == tickets)
        twice = found & ~np.isnan(block.losses)
        if twice.any():
            i = int(np.argmax(twice))
            raise ValueError(
                f"loss must come once, got one for ticket {tickets[i]} in row {block.row + i + 1} of the log and again in row "
                f"{self.rows[inside[i]] + 1} of the late losses."
            )
        used[inside[found]] = True
        losses = block.losses.copy()
        losses[found] = self.losses[inside[found]]
        return block._replace(losses=losses)

    def left_over(self, used: NDArray[np.bool_]) -> int:
        """Return how many losses belong to no row; raise where a ticket's losses came more often than it has rows."""
        if used.all():
            return 0
        group = np.cumsum(np.concatenate([[True], self.tickets[1:] != self.tickets[:-1]])) - 1
        filled = np.zeros(int(group[-1]) + 1, dtype=bool)
        filled[group[used]] = True
        twice = ~used & filled[group]
        if twice.any():
            i = int(np.argmax(twice))
            raise ValueError(
                f"loss must come once, got another one for ticket {self.tickets[i]} in row {self.rows[i] + 1} of the late losses."
            )
        return int((~used).sum())
