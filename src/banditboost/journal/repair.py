"""Looking at a journal without repeating it, and bringing back what a damaged one still holds."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from banditboost.booster import Booster
from banditboost.booster.header import read_spec
from banditboost.journal.copies import keep_copy
from banditboost.journal.file import JournalFile, begin_beside, reopened, sweep
from banditboost.journal.framing import Record, read_plain, was_safe, whole
from banditboost.journal.kinds import CALLS, KNOWN, Kind
from banditboost.journal.lock import lock_name, open_locked
from banditboost.journal.replay import FailedCallError, Replay, Replayed
from banditboost.journal.snapshot import read_snapshot, read_tickets


class Contents(NamedTuple):
    """What stands in a journal, as far as it can be read without repeating a call."""

    header: dict[str, Any]
    """What the snapshot says beside arrays."""
    arrays: list[Any]
    found: list[Record]
    """The records that can be read, from the first on."""
    tickets: int
    """How many tickets were in flight when the snapshot was taken."""
    size: int
    """The length of the file."""
    damaged: bool
    """Whether something after the last of these records was on the disk and can no longer be read."""

    @property
    def end(self) -> int:
        """Where the readable records end."""
        return self.found[-1].end

    @property
    def kinds(self) -> dict[str, int]:
        """How many records there are of each kind."""
        return dict(Counter(kind_name(record) for record in self.found))

    @property
    def calls(self) -> int:
        """How many calls the readable records hold, those before the snapshot included."""
        return int(self.header["calls"]) + sum(record.kind in CALLS for record in self.found)


class Repaired(NamedTuple):
    """What `repair` has kept and what it has not."""

    calls: int
    """How many calls the repaired journal holds."""
    left_out: int
    """How many records that can be read are not in it."""
    lost_bytes: int
    """How many bytes that cannot be read are not in it."""
    reasons: tuple[str, ...]
    """Why, in sentences; empty where the journal was in order, and was not touched."""
    kept: Path | None
    """The copy of the file as it was; None where it was not touched."""


def kind_name(record: Record) -> str:
    """Return what a record holds, in a word."""
    if (record.kind, record.version) not in KNOWN:
        return f"kind {record.kind}, version {record.version}"
    return Kind(record.kind).name.lower().replace("_", " ")


def contents(path: str | os.PathLike[str], data: bytes | None = None) -> Contents:
    """Read a journal's records and the head of its snapshot; a damaged one is read up to the damage."""
    name, data = os.fspath(path), read_plain(path) if data is None else data
    found = whole(data)
    if not found:
        raise ValueError(f"{name} is not a journal, or it is damaged at byte 0, and nothing in it can be brought back.")
    header, arrays = read_snapshot(name, found[0])
    if type(header.get("calls")) is not int or not {"rounds", "features"} <= set(header["booster"]):
        raise ValueError(f"{name} is damaged: its snapshot does not describe a booster.")
    tickets, _ = read_tickets(name, header, arrays, found)
    end = found[-1].end
    return Contents(header, arrays, found, len(tickets), len(data), end < len(data) and was_safe(data, end))


def repair(path: str | os.PathLike[str], parts: Mapping[str, Any] | None = None) -> Repaired:
    """Keep what a damaged journal holds before its damage, so that it can be opened again; a copy of the file is kept beside it.

    What cannot be read, and all that stands after it, is left out, since it depends on what was lost; so is a last call that fails
    here. Calls before it that fail here stay: opening the journal leaves them out, and says so. A file that a hard link has kept
    while the journal went on elsewhere becomes a journal of its own. A journal in order is not touched, and one with records of a
    later version is refused.

    Parameters
    ----------
    path
        The file; nobody may have it open.
    parts
        Functions and specs that the journal names and does not hold, as in `Journal.replay`.
    """
    whole_path = Path(os.path.realpath(path))
    if not whole_path.exists():
        raise FileNotFoundError(f"There is no file {os.fspath(path)}.")
    lock = lock_name(whole_path)
    file = JournalFile(whole_path, None)
    try:
        file = JournalFile(whole_path, open_locked(whole_path))
        sweep(whole_path)
        return _repaired(file, parts)
    finally:
        file.let_go()
        os.close(lock)


def _repaired(file: JournalFile, parts: Mapping[str, Any] | None) -> Repaired:
    name, data = os.fspath(file.path), read_plain(file.path)
    held = contents(name, data)
    reasons, failing = list[str](), dict[int, str]()
    if held.damaged:
        reasons.append(f"From byte {held.end} on, something was on the disk and can no longer be read.")
    elif held.end < held.size:
        reasons.append(f"From byte {held.end} on, a record was torn, which nobody was told had happened.")
    replay = _replay(name, held, parts, failing)
    try:
        while True:
            try:
                done = replay.run()
                break
            except FailedCallError as error:
                failing[error.position] = error.why
                replay = _replay(name, held, parts, failing)
    except ValueError as error:
        if replay.unknown:
            raise
        reasons.append(str(error))
        end, calls = replay.end, replay.calls
    else:
        end, calls = done.end, done.calls
        reasons += _reasons(done)
    if not reasons:
        return Repaired(calls, 0, 0, (), None)
    kept = keep_copy(file.path, data)
    _write_anew(file, data[:end])
    left = sum(record.position >= end and record.kind in CALLS for record in held.found)
    return Repaired(calls, left, held.size - held.end, tuple(reasons), kept)


def _reasons(done: Replayed) -> list[str]:
    reasons = [f"Its last record is left out: {done.failed}."] if done.failed else []
    if done.superseded:
        reasons.append(
            f"It went on in another file under the name {done.superseded!a}, and is a journal of its own now."
        )
    return reasons


def _replay(name: str, held: Contents, parts: Mapping[str, Any] | None, failing: Mapping[int, str]) -> Replay:
    spec = read_spec(name, held.header["booster"], sum(array.size for array in held.arrays), parts)
    return Replay(name, Booster.from_spec(spec), held.header, held.arrays, held.found, failing)


def _write_anew(file: JournalFile, data: bytes) -> None:
    temporary, handle = begin_beside(file.path, file.handle)
    os.close(handle)
    handle = reopened(temporary)
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
    os.fsync(handle)
    file.take_place(temporary, handle, len(data))
