"""What a service knows of its tickets: names that are never given twice, keys, and what was told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._storage.array_table import ArrayTable, pack, unpack
from banditboost.journal.calls import pack_forget, pack_tell
from banditboost.journal.kinds import Kind
from banditboost.serve import ledger as ledgers
from banditboost.serve.ledger import Note, ServiceLedger, digest, digest_of_answers


def asked(ledger: ServiceLedger, booster: bb.Booster, key: bytes | None = None, at: float = 5.0) -> bb.Ticket:
    ticket = booster.ask([0.5])
    note = Note(at) if key is None else Note(at, digest(key), digest(b"question"))
    ledger.happened(Kind.ASK, b"", note.pack(), ticket)
    return ticket


@pytest.fixture
def booster() -> bb.Booster:
    return bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1), copies=2)


def content(ledger: ServiceLedger) -> Any:
    return ledger.asked, ledger.epochs, ledger.asked_at, list(ledger.told.items()), list(ledger.keyed.items())


def again(ledger: ServiceLedger) -> ServiceLedger:
    """The same ledger after a snapshot."""
    table, other = ArrayTable(), ServiceLedger()
    plain = ledger.to_plain(table)
    header, arrays = unpack(pack({"ledger": plain}, table.arrays))
    other.restore(header["ledger"], arrays)
    return other


def test_a_snapshot_gives_all_of_it_back(booster: bb.Booster) -> None:
    ledger = ServiceLedger()
    assert content(again(ledger)) == content(ledger)
    for k in range(5):
        asked(ledger, booster, f"key {k}".encode() if k % 2 else None, at=float(k))
    ledger.happened(Kind.TELL, pack_tell(2, np.array([0.5, 1.5])), b"", None)
    ledger.happened(Kind.FORGET, pack_forget([3]), b"", None)
    other = again(ledger)
    assert content(other) == content(ledger)
    assert sorted(other.asked_at) == [1, 4, 5]
    assert other.told[2] == digest_of_answers(np.array([0.5, 1.5]))
    assert len(other.keyed) == 2


@pytest.mark.parametrize(
    "name", ["", "0-3", "1-1", "0-0", "0--1", "0-1 ", "a-1", "0-1.0", "0-٣", "0-" + "1" * 60, "0", "-"]
)
def test_no_other_name_is_taken_for_a_ticket(booster: bb.Booster, name: str) -> None:
    ledger = ServiceLedger()
    asked(ledger, booster)
    assert ledger.number_of(ledger.name_of(1)) == 1
    assert ledger.number_of(name) is None


def test_a_roll_back_makes_names_that_none_had_before(booster: bb.Booster) -> None:
    ledger = ServiceLedger()
    asked(ledger, booster)
    past = again(ledger)
    later = asked(ledger, booster)
    former = ledger.name_of(later.number)
    past.begin_epoch(ledger)
    past.happened(Kind.ASK, b"", b"", later)  # the same number is given out again
    assert past.name_of(later.number) != former
    assert past.number_of(former) is None
    assert past.number_of("0-1") == 1
    # Also where a state is gone back to twice.
    third = ServiceLedger()
    third.begin_epoch(past)
    third.happened(Kind.ASK, b"", b"", later)
    assert third.name_of(later.number) not in (former, past.name_of(later.number))


def test_memory_is_bounded_and_the_oldest_goes_first(booster: bb.Booster, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MOST_TOLD", "MOST_KEYED", "MOST_IN_FLIGHT"):
        monkeypatch.setattr(ledgers, name, 3)
    ledger = ServiceLedger()
    for k in range(8):
        asked(ledger, booster, f"key {k}".encode())
    assert list(ledger.asked_at) == [6, 7, 8]
    assert list(ledger.keyed) == [digest(f"key {k}".encode()) for k in (5, 6, 7)]
    for k in range(1, 9):
        ledger.happened(Kind.TELL, pack_tell(k, np.array([float(k)])), b"", None)
    assert list(ledger.told) == [6, 7, 8]
    monkeypatch.setattr(ledgers, "MOST_KEYED_BYTES", 1)
    asked(ledger, booster, b"one more")
    assert list(ledger.keyed) == [digest(b"one more")]


def test_zeros_have_one_sign_and_parts_have_ends() -> None:
    assert digest_of_answers(np.array([0.0])) == digest_of_answers(np.array([-0.0]))
    assert digest_of_answers(np.array([1.0])) != digest_of_answers(np.array([-1.0]))
    assert digest(b"ab", b"c") != digest(b"a", b"bc")
