"""A booster's log as one Parquet file: made from part files and from what the ledger notes, and gone when it was sent."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from banditboost.logs import LogWriter
from banditboost.logs.block import LogBlock
from banditboost.logs.source import action_names, context_names
from banditboost.logs.writer import EVERY
from banditboost.serve.problems import Problem
from banditboost.serve.rounds import Block

PREFIX = "export-"
NUMBERS_AT_A_TIME = 2**23
"""Numbers of contexts that are in memory at a time while a log is written."""
MOST_COLUMNS = 4096
"""Most columns of a context in a log: each is a column of a table."""
AT_A_TIME = 2**18
"""Bytes of a file that are sent at a time."""


class Contents(NamedTuple):
    """What a log is made of."""

    blocks: Callable[[], Iterator[Block]]
    """Gives all rounds."""
    folder: Path
    """Where to write."""
    columns: tuple[str, ...]
    """Names of the columns of contexts; empty where they are numbered."""
    decision: Sequence[str]
    """Names of the coordinates of a decision; empty where there are none."""


def parquet(contents: Contents) -> tuple[Any, int]:
    """Write a log, and return it as an open file that has no name any more, and its length."""
    path = contents.folder / f"{PREFIX}{secrets.token_hex(8)}.parquet"
    width = max((int(block.widths.max(initial=0)) for block in contents.blocks()), default=0)
    if width > MOST_COLUMNS:
        raise Problem(409, f"A log has at most {MOST_COLUMNS} columns for contexts, and this booster has met {width}.")
    dimension = next((block.dimension for block in contents.blocks() if block.losses.size), 1)
    action = tuple(contents.decision) or action_names(dimension)
    context = _distinct(
        contents.columns[:width] or context_names(width), {*action, "loss", "density", "ticket", "time"}
    )
    try:
        every = min(max(NUMBERS_AT_A_TIME // max(width, 1), 1), EVERY)
        with LogWriter(path, context=context, action=action, every=every, fresh=True) as writer:
            for block in contents.blocks():
                for part in _pieces(block, max(NUMBERS_AT_A_TIME // max(width, 1), 1)):
                    writer.write(_rows(part, width, dimension))
        if not path.exists():
            raise Problem(404, "There is no round in the log yet.")
        file = path.open("rb")
        return file, path.stat().st_size
    finally:
        path.unlink(missing_ok=True)
        shutil.rmtree(path.with_name(path.name + ".parts"), ignore_errors=True)


def sent(file: Any) -> Iterator[bytes]:
    """Give a file in pieces, and close it."""
    with file:
        while piece := file.read(AT_A_TIME):
            yield piece


def sweep(folder: Path) -> None:
    """Remove what a crash has left of an export."""
    for left in folder.glob(f"{PREFIX}*"):
        shutil.rmtree(left, ignore_errors=True) if left.is_dir() else left.unlink(missing_ok=True)


def _pieces(block: Block, most: int) -> Iterator[Block]:
    """Give the rounds of a block, so many at a time at most."""
    place = np.arange(len(block.numbers))
    for begin in range(0, len(place), most):
        yield block if most >= len(place) else block.take((place >= begin) & (place < begin + most))


def _rows(block: Block, width: int, dimension: int) -> LogBlock:
    """Return rounds as rows of a log, one for each answer."""
    k = block.answers
    return LogBlock(
        np.repeat(block.table(width), k, axis=0),
        block.actions.reshape(-1, dimension),
        block.losses,
        block.densities,
        np.repeat(block.tickets, k),
        np.repeat(block.times, k),
        0,
    )


def _distinct(names: Sequence[str], taken: set[str]) -> tuple[str, ...]:
    """Return names each of which is another, and none of those that are taken."""
    found: list[str] = []
    for name in names:
        one, more = name, 2
        while one in taken:
            one, more = f"{name} ({more})", more + 1
        taken.add(one)
        found.append(one)
    return tuple(found)
