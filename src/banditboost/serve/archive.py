"""The rounds of a booster that are no longer in its journal: part files, each written once and whole.

A round is noted with the call that ends it, and so is in the journal; when many have gathered, they go to a part file, and only
once that is on the disk are they left out of the journal's next snapshot. Rounds are numbered, and a part says in its name which it
covers, so that a crash in between leaves none twice and none missing.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from banditboost._storage import array_table
from banditboost._storage.atomic_file import atomic
from banditboost.journal.file import sync_folder
from banditboost.serve.rounds import Block

NAME = re.compile(r"(\d{1,18})-(\d{1,18})\.rounds")
CRC = 4


class Archive:
    """The part files of one booster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def parts(self) -> list[tuple[int, int, Path]]:
        """Return the first and the last number that each part covers, and its file, in order."""
        if not self.folder.is_dir():
            return []
        found = ((NAME.fullmatch(path.name), path) for path in self.folder.iterdir())
        return sorted((int(match[1]), int(match[2]), path) for match, path in found if match)

    @property
    def last(self) -> int:
        """The last number that a part covers; 0 where there is none."""
        return max((last for _, last, _ in self.parts()), default=0)

    def add(self, first: int, last: int, block: Block) -> None:
        """Write a part, which covers the rounds from `first` to `last`; those missing in the block were erased."""
        with atomic(self.folder / f"{first:012}-{last:012}.rounds") as file:
            data = array_table.pack({"rounds": 1}, [np.ascontiguousarray(part) for part in block])
            file.write(data + zlib.crc32(data).to_bytes(CRC, "little"))
        sync_folder(self.folder)

    def cut(self, last: int) -> None:
        """Remove rounds after a number: a roll-back has undone them, or a power failure has taken them from the journal."""
        for first, end, path in self.parts():
            if end <= last:
                continue
            if first <= last:
                block = read(path)
                self.add(first, last, block.take(block.numbers <= last))
            path.unlink()

    def erase(self, chosen: Callable[[Block], NDArray[np.bool_]]) -> int:
        """Rewrite the parts that have some of the chosen rounds, without them; return how many these were."""
        total, parts = 0, self.parts()
        for first, last, path in parts:
            block = read(path)
            gone = chosen(block)
            if gone.any():
                total += int(gone.sum())
                if gone.all() and last != parts[-1][1]:
                    path.unlink()
                else:  # the last one says how far parts reach, whatever is left in it
                    self.add(first, last, block.take(~gone))
        return total

    def blocks(self) -> Iterator[Block]:
        """Give all parts in order."""
        for _, _, path in self.parts():
            yield read(path)


def read(path: Path) -> Block:
    """Return the rounds of a part; raise ValueError where it is damaged."""
    data = path.read_bytes()
    try:
        body = data[:-CRC]
        if zlib.crc32(body) != int.from_bytes(data[-CRC:], "little"):
            raise ValueError("checksum")
        header, arrays = array_table.unpack(body)
        if header != {"rounds": 1}:
            raise ValueError("header")
        return Block(*arrays)
    except (ValueError, TypeError, LookupError, RecursionError):
        raise ValueError(f"{path} is damaged: bring it back from a copy, or remove it.") from None
