"""Journals are read as if anybody had written them: sizes are checked before memory is taken, and time is linear in the size."""

from __future__ import annotations

import struct
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage import array_table
from banditboost.journal import framing
from banditboost.journal.kinds import Kind
from tests.booster.slow_booster import make
from tests.journal.common import X, crash, records, rewrite, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


def change_header(path: Path, changes: dict[str, Any], booster: dict[str, Any]) -> None:
    found = records(path)
    header, arrays = array_table.unpack(found[0].payload)
    header |= changes
    header["booster"] |= booster
    rewrite(path, [found[0]._replace(payload=array_table.pack(header, arrays)), *found[1:]])


@pytest.mark.parametrize("features", [2**30, 2**40, 10**9])
def test_a_small_file_cannot_ask_for_a_large_booster(path: Path, features: int) -> None:
    bb.Journal(path, make()).close()
    change_header(path, {}, {"features": features})
    assert path.stat().st_size < 2000
    tracemalloc.start()
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match=r"is damaged: its spec asks for \d+ numbers, and its arrays hold \d+"):
            read(path)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def square() -> bb.Booster:
    return bb.Booster(
        bb.learners.SecondOrder(), 2, gradient=bb.gradients.OnePoint(0.2), space=bb.spaces.Interval(-1, 1)
    )


def test_a_first_context_cannot_ask_for_a_large_booster(path: Path) -> None:
    booster = square()
    journal = bb.Journal(path, booster)
    booster.ask(X)
    crash(journal)
    found = records(path)
    payload = b"x" + np.zeros(50_000).tobytes()  # of which these copies hold the square
    rewrite(path, [found[0], found[1]._replace(payload=payload), found[1]])
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, square())):
        with pytest.raises(
            ValueError, match=r"its 50000 features ask for \d+ numbers, which stand nowhere in the file"
        ):
            read(path)


def test_a_large_booster_is_in_the_file_before_its_first_ask_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("calls", "journal"):
        monkeypatch.setattr(f"banditboost.journal.{module}.SPARE", 100)  # in place of a booster that fills the memory
    booster = square()
    kept = bb.Journal(path, booster)
    ask = records(path)
    first = booster.ask(np.ones(20))
    found = records(path)
    assert [record.kind for record in found] == [Kind.SNAPSHOT, Kind.TICKET]
    booster.tell(first, [1.0, 2.0])
    before = booster.digest()
    crash(kept)
    assert bb.Journal.replay(path).booster.digest() == before
    # A crash in between: nobody was told of the ask, which is left out aloud.
    rewrite(path, [*ask, found[0]._replace(kind=Kind.ASK, payload=b"x" + np.ones(20).tobytes(), last_ask_checksum=0)])
    with pytest.warns(bb.JournalWarning, match=r"its 20 features ask for \d+ numbers.* is left out"):
        bb.Journal(path, square()).close()


@pytest.mark.parametrize("key", ["rounds", "asked", "phase", "streams", "in_flight"])
@pytest.mark.parametrize("value", [2**70, -1, "1", None, [1, 1], {}])
def test_entries_that_do_not_fit_are_refused(path: Path, key: str, value: Any) -> None:
    written(path, 2)
    change_header(path, {}, {key: value})
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match="is damaged"):
            read(path)


@pytest.mark.parametrize("key", ["calls", "seen", "tickets", "arrays", "booster", "journal"])
@pytest.mark.parametrize("value", ["x", None, [1], {"a": 0}])
def test_a_snapshot_whose_entries_are_no_such_things_is_refused(path: Path, key: str, value: Any) -> None:
    found = written(path, 2)
    header, arrays = array_table.unpack(found[0].payload)
    header[key] = value
    rewrite(path, [found[0]._replace(payload=array_table.pack(header, arrays)), *found[1:]])
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match=r"is damaged|has format"):
            read(path)


@pytest.mark.parametrize(
    "text",
    [
        '{"header": {"a": NaN}, "arrays": []}',
        '{"header": {"a": 1e999}, "arrays": [["<f8", [1, 1, 1, 1, 1, 1, 1, 1, 1]]]}',
        '{"header": {}, "arrays": [["<f8", [1099511627776]]]}',
        '{"header": {}, "arrays": [["<f8", [0, 4611686018427387904]]]}',
        '{"header": {}, "arrays": [["<f8", [-1]]]}',
        '{"header": {}, "arrays": [["O", [1]]]}',
        '{"header": {}, "arrays": []}   more',
        "[" * 100_000,
    ],
)
def test_what_no_snapshot_holds_is_refused(path: Path, text: str) -> None:
    path.write_bytes(framing.frame(Kind.SNAPSHOT, struct.pack("<I", len(text)) + text.encode() + bytes(8), 0, 0, 0))
    with pytest.raises(ValueError, match="does not begin with a snapshot"):
        bb.Journal.replay(path)


def test_bytes_that_belong_to_no_array_are_refused() -> None:
    packed = array_table.pack({"a": 1}, [np.ones(3)])
    assert array_table.unpack(packed)[0] == {"a": 1}
    for spoilt in (packed + b"\0", packed[:-1]):
        with pytest.raises(ValueError, match=r"\w"):
            array_table.unpack(spoilt)


@pytest.mark.parametrize("size", [2**12, 2**15])
def test_looking_for_what_was_safe_takes_time_in_proportion_to_the_file(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    # Places that look like records and claim all that follows: each would be checked to the end.
    head = framing.frame(Kind.ASK, b"", 0, 0, 0)
    data = bytearray(head)
    while len(data) < size:
        at = len(data)
        left = size + 64 - at - framing.HEAD.size - framing.TAIL.size
        data += framing.HEAD.pack(framing.MAGIC, left, 2, 1, 0, at, 0, 0)
    data += bytes(200)
    looked, crc32 = 0, zlib.crc32

    def counted(part: Any, *start: int) -> int:
        nonlocal looked
        looked += len(part)
        return crc32(part, *start)

    monkeypatch.setattr(zlib, "crc32", counted)
    with pytest.raises(ValueError, match=f"is damaged at byte {len(head)}"):
        framing.scan("x", bytes(data))
    assert looked <= (framing.PATIENCE + 2) * len(data)


def test_a_file_that_is_torn_within_much_that_looks_like_records_is_still_read(path: Path) -> None:
    found = written(path)
    whole = path.read_bytes()
    torn = whole[: found[-1].position] + framing.MAGIC * 5 + bytes(40)
    path.write_bytes(torn)
    assert bb.Journal.replay(path).calls == 19


@pytest.mark.parametrize("shape", [[3, 2**21, 2**21], [2**31, 2**31, 1], [-1, 2, 2]])
def test_answers_cannot_claim_a_larger_shape_than_was_asked(path: Path, shape: list[int]) -> None:
    space = bb.spaces.NuclearBall(70, 80, radius=1.0)
    booster = bb.Booster(bb.learners.FPL(), 3, gradient=bb.gradients.Stochastic(), space=space)
    journal = bb.Journal(path, booster)
    booster.tell(booster.ask(), np.ones((3, 70, 80)))
    booster.ask()
    crash(journal)
    found = records(path)
    tell = next(record for record in found if record.kind == Kind.TELL)
    entries = array_table.pack(
        {"answers": {"entries": [0, 1, 2], "shape": shape}},
        [np.zeros(2, np.int64), np.zeros(2, np.int64), np.ones((3, 2))],
    )
    changed = tell._replace(payload=struct.pack("<QB", 1, 1) + entries)
    rewrite(path, [changed if record is tell else record for record in found])
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.booster.rounds) == (1, 0)
    assert f"1 calls were left out: the call at byte {tell.position} fails with ValueError" in replayed.report()
