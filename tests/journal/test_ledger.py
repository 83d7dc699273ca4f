"""What the owner of a journal keeps beside a booster: it is in the same record, and a crash leaves both at the same call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage.array_table import ArrayTable, take
from banditboost.booster import Ticket
from banditboost.journal.kinds import Kind
from banditboost.journal.repair import repair
from tests.booster.slow_booster import COPIES, make
from tests.journal.common import X, crash, records


class Heard:
    """A ledger that keeps all it hears."""

    def __init__(self) -> None:
        self.calls: list[list[Any]] = []

    def happened(self, kind: int, payload: bytes, note: bytes, issued: Ticket | None) -> None:
        self.calls.append([kind, payload.hex(), note.decode(), None if issued is None else issued.number])

    def attend(self, booster: bb.Booster, tickets: Mapping[int, Ticket]) -> None:
        self.tickets = sorted(tickets)

    def to_plain(self, table: ArrayTable) -> dict[str, Any]:
        return {"calls": list(self.calls), "length": table.put(np.array([len(self.calls)]))}

    def restore(self, plain: Mapping[str, Any] | None, arrays: list[Any]) -> None:
        self.calls = [] if plain is None else [list(call) for call in plain["calls"]]
        if plain is not None and take(plain["length"], arrays)[0] != len(self.calls):
            raise ValueError("another length")


def play(journal: bb.Journal, begin: int, end: int) -> None:
    """Rounds whose asks have notes, one in three without; one in four is not told."""
    booster = journal.booster
    for t in range(begin, end):
        journal.annotate(f"note {t}".encode() if t % 3 else b"")
        ticket = booster.ask(X * t)
        if t % 4:
            booster.tell(ticket, np.full(COPIES, 0.1 * t))


def opened(path: Path, **settings: Any) -> tuple[Heard, bb.Journal]:
    ledger = Heard()
    return ledger, bb.Journal(path, make(), ledger=ledger, **settings)


@pytest.mark.parametrize("snapshot_every", [3, 10_000])
def test_a_replay_gives_the_ledger_back(tmp_path: Path, snapshot_every: int) -> None:
    path = tmp_path / "run.journal"
    ledger, journal = opened(path, snapshot_every=snapshot_every)
    for part in range(3):
        play(journal, 8 * part, 8 * part + 8)
        heard = ledger.calls
        crash(journal)
        ledger, journal = opened(path, snapshot_every=snapshot_every)
        assert ledger.calls == heard
    assert [call[2] for call in heard if call[0] == Kind.ASK] == [f"note {t}" if t % 3 else "" for t in range(24)]
    journal.close()
    assert opened(path)[0].calls == heard


def test_a_crash_at_any_byte_leaves_booster_and_ledger_at_the_same_call(tmp_path: Path) -> None:
    path, cut = tmp_path / "run.journal", tmp_path / "cut.journal"
    ledger, journal = opened(path, sync_every=100)
    play(journal, 0, 4)
    journal.snapshot()
    play(journal, 4, 9)
    crash(journal)
    data, begin = path.read_bytes(), records(path)[0].end
    notes = [record for record in records(path) if record.kind == Kind.NOTE]
    assert len(notes) == 4
    between = {record.end for record in notes}  # where a note stands alone
    for length in sorted({*range(begin, len(data), 7), *between}):
        cut.write_bytes(data[:length])
        try:
            found, again = opened(cut)
        except ValueError:  # within the tickets of the snapshot
            assert length < records(path)[3].position
            continue
        assert found.calls == ledger.calls[: again.calls]
        # A note whose ask did not happen is not taken for one of the next ask.
        again.annotate(b"")
        number = again.booster.ask(X).number
        assert found.calls[-1][2:] == ["", number]
        heard = found.calls
        crash(again)
        found, again = opened(cut)
        assert found.calls == heard
        crash(again)


def test_a_note_alone_is_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    _, journal = opened(path)
    play(journal, 0, 2)
    crash(journal)
    whole = records(path)
    assert [record.kind for record in whole[-3:]] == [Kind.NOTE, Kind.ASK, Kind.TELL]
    path.write_bytes(path.read_bytes()[: whole[-3].end])
    assert repair(path).reasons == ()
    assert bb.Journal.replay(path).calls == 1


def test_a_record_that_fails_takes_its_note_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.journal"
    ledger, journal = opened(path)
    play(journal, 0, 3)
    size, heard = path.stat().st_size, list(ledger.calls)
    monkeypatch.setattr("os.write", lambda handle, data: len(data) - 1)
    with pytest.raises(OSError, match="is the disk full"):
        play(journal, 4, 5)
    monkeypatch.undo()
    assert (path.stat().st_size, ledger.calls) == (size, heard)
    play(journal, 5, 6)
    crash(journal)
    assert opened(path)[0].calls[: len(heard)] == heard


def test_a_journal_with_a_ledger_is_not_opened_without_one(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    opened(path)[1].close()
    with pytest.raises(ValueError, match="belongs to a service that keeps a ledger in it"):
        bb.Journal(path, make())
    assert bb.Journal.replay(path).calls == 0


def test_a_ledger_that_does_not_fit_is_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.journal"
    monkeypatch.setattr(Heard, "to_plain", lambda ledger, table: {"calls": 3})
    opened(path)[1].close()
    with pytest.raises(ValueError, match="its ledger cannot be read"):
        opened(path)


def test_what_an_owner_decides_is_heard_again(tmp_path: Path) -> None:
    path = tmp_path / "run.journal"
    ledger, journal = opened(path)
    journal.remark(b"before all")
    play(journal, 0, 3)
    digest = journal.booster.digest()
    journal.remark(b"\x00\xff")
    assert journal.booster.digest() == digest
    heard = ledger.calls
    assert heard[0] == [Kind.REMARK, b"before all".hex(), "", None]
    assert heard[-1] == [Kind.REMARK, "00ff", "", None]
    crash(journal)
    ledger, journal = opened(path)
    assert (ledger.calls, journal.booster.digest()) == (heard, digest)
