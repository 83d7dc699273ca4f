"""Erasure: a search of the whole folder finds nothing of a person, and everything else goes on."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.encoder.names import Names
from banditboost.learners.grown_bank import GrownBank
from banditboost.learners.tree import TreeBank
from banditboost.serve import erasing
from banditboost.serve.archive import Archive
from banditboost.serve.kept import Kept
from banditboost.serve.ledger import digest
from tests.serve.common import LINE, crash, kept

MEMORY: dict[str, Any] = {"algorithm": "boosted", "space": LINE, "answers": 1, "memory": 2**18}
NAMED = MEMORY | {"encoder": True}
SUBJECT = "ida@example.org"
SECRET = [0.7312345678912, 41.1234567891234]
WORDS = {"city": "Quedlinburg", "size": 0.7312345678912}


def others(named: bool, k: int) -> Any:
    x = 0.01 * (k % 90)
    return {"city": ["Rome", "Bonn"][k % 2], "size": x} if named else [x, 40.0 + x]


def secret(named: bool) -> Any:
    return WORDS if named else SECRET


def traces(named: bool) -> list[bytes]:
    """What a search looks for: the subject, its digest, and each number of the context as bytes and as text."""
    numbers = [WORDS["size"]] if named else SECRET
    found = [SUBJECT.encode(), digest(SUBJECT.encode()), *([b"Quedlinburg"] if named else [])]
    for number in numbers:
        found += [np.array(number, dtype).tobytes() for dtype in ("<f8", "<f4", ">f8")]
        found += [repr(number)[:10].encode()]
    return found


def search(folder: Path, named: bool) -> list[str]:
    """The files in which something is found."""
    wanted = traces(named)
    return sorted(
        {path.name for path in folder.rglob("*") if path.is_file() for one in wanted if one in path.read_bytes()}
    )


def lived(folder: Path, recipe: dict[str, Any], monkeypatch: Any, rounds: int = 60, guarded: bool = False) -> Kept:
    """A booster that has met the person often: told, in flight, learned from, in parts of the log and in snapshots."""
    monkeypatch.setattr("banditboost.serve.kept.ROUNDS_A_PART", 25)
    named, one = "encoder" in recipe, kept(folder, recipe)
    if guarded:
        one.set_guard({"baseline": 9.5, "share": 0.5})
    for k in range(rounds):
        own = k in (1, 20, 33, 50)
        (ticket,) = one.ask([secret(named) if own else others(named, k)], key=f"k{k}", subject=SUBJECT if own else "x")
        one.tell(ticket["ticket"], {"losses": 1.0 + 0.1 * k})
        if k == 35:
            one.ask([secret(named)], subject=SUBJECT)
            one.snapshot("in the middle")
            if guarded:
                one.set_guard({"baseline": {"snapshot": 1}, "share": 0.5})
        if one.due():
            one.tidy()
    one.learn({"context": secret(named), "action": 3.0, "loss": 1.0, "density": 0.05, "subject": SUBJECT})
    one.learn({"context": others(named, 3), "action": 3.0, "loss": 1.0})
    one.ask([secret(named)], subject=SUBJECT)
    one.ask([others(named, 5)], subject="x")
    one.forget(one.ask([secret(named)], subject=SUBJECT)[0]["ticket"])
    one.flush()
    return one


@pytest.mark.parametrize("guarded", [False, True], ids=["alone", "guarded"])
@pytest.mark.parametrize("recipe", [MEMORY, NAMED, MEMORY | {"memory": None}], ids=["memory", "named", "streaming"])
def test_a_search_of_the_folder_finds_nothing(
    tmp_path: Path, recipe: dict[str, Any], guarded: bool, monkeypatch: Any
) -> None:
    named = "encoder" in recipe
    one = lived(tmp_path / "b", recipe, monkeypatch, guarded=guarded)
    assert {"booster.journal", "1.journal"} <= set(search(tmp_path, named))
    assert any(name.startswith("baseline-") for name in search(tmp_path, named)) == guarded
    assert any(name.endswith(".rounds") for name in search(tmp_path, named))
    done = one.erase([SUBJECT])
    assert (done["rounds"], done["snapshots"]) == (5, 1)
    assert done["tickets"] == 2
    assert search(tmp_path, named) == []
    before = one.booster.digest()
    (ticket,) = one.ask([others(named, 7)], subject="x")
    one.tell(ticket["ticket"], {"losses": 2.0})
    after = one.booster.digest()
    one.flush()
    replayed = bb.Journal.replay(one.folder / "booster.journal")
    assert replayed.booster.digest() == after != before
    crash(one)
    again = Kept(one.folder)
    assert again.booster.digest() == after
    assert search(tmp_path, named) == []
    numbers = np.concatenate([block.numbers for block in again.contents().blocks()])
    assert numbers.tolist() == [n for n in range(1, 64) if n - 1 not in (1, 20, 33, 50, 60)]
    assert again.erase([SUBJECT])["rounds"] == 0
    again.roll_back(1)
    assert again.booster.rounds == 36
    assert search(tmp_path, named) == []
    again.close()
    assert search(tmp_path, named) == []


def test_what_is_shown_of_a_person_goes(tmp_path: Path) -> None:
    one = kept(tmp_path / "b", MEMORY, guard={"baseline": 9.5, "share": 0.5}, max_in_flight=2)
    for k in range(8):
        (ticket,) = one.ask([others(False, k)], subject=SUBJECT if k % 2 else "x")
        if k < 4:
            one.tell(ticket["ticket"], {"losses": 1.0})
    one.snapshot("")  # and of the tickets 5 to 8 a limit has left two
    assert set(one.ledger.watch.latest) == set(range(1, 9))
    one.erase([SUBJECT])
    for _ in range(2):
        watch = one.ledger.watch
        assert set(watch.latest) | set(watch.waiting) <= {1, 3, 5, 7}
        one.roll_back(1)


def test_a_person_who_was_only_asked_about_is_erased(tmp_path: Path) -> None:
    one = kept(tmp_path / "b", NAMED)
    for k in range(6):
        one.tell(one.ask([others(True, k)])[0]["ticket"], {"losses": 1.0})
    one.ask([WORDS], subject=SUBJECT)
    one.snapshot("")
    assert one.erase([SUBJECT]) == {"rounds": 0, "tickets": 1, "remembered_rows": 0, "snapshots": 1}
    assert search(tmp_path, True) == []


@pytest.mark.parametrize("broken", [False, True])
def test_words_of_a_ticket_that_was_forgotten_before_go_too(tmp_path: Path, monkeypatch: Any, broken: bool) -> None:
    """Nobody knows any more whose they were, so that the names of all columns go that nothing else has."""
    if broken:  # the names of columns alone that are known to be the person's
        forget = Names.forget
        monkeypatch.setattr(
            Names, "forget", lambda self, columns: forget(self, [column for column in columns if column < 2])
        )
    one = kept(tmp_path / "b", NAMED)
    for k in range(6):
        one.tell(one.ask([others(True, k)])[0]["ticket"], {"losses": 1.0})
    (ticket,) = one.ask([{"city": "Quedlinburg"}], subject=SUBJECT)
    one.snapshot("")
    one.forget(ticket["ticket"])
    one.flush()
    assert set(search(tmp_path, True)) == {"booster.journal", "1.journal"}
    one.erase([SUBJECT])
    assert (search(tmp_path, True) == []) != broken
    assert one.booster.names is not None
    assert {"city=Rome", "city=Bonn"} <= {text for texts in one.booster.names.explained().values() for text in texts}


def test_a_baseline_of_rounds_that_were_undone_holds_none_of_them(tmp_path: Path) -> None:
    one = kept(tmp_path / "b", MEMORY)

    def play(context: list[float], subject: str) -> None:
        one.tell(one.ask([context], subject=subject)[0]["ticket"], {"losses": 1.0})

    for k in range(12):
        play(others(False, k), "x")
    one.snapshot("first")
    play(SECRET, SUBJECT)
    play(others(False, 30), "x")
    one.snapshot("second")
    one.set_guard({"baseline": {"snapshot": 2}, "share": 0.5})
    assert any(name.startswith("baseline-") for name in search(tmp_path, False))
    one.roll_back(1)
    assert not any(name.startswith("baseline-") for name in search(tmp_path, False))
    with pytest.raises(ValueError, match="no roll-back has undone"):
        one.set_guard({"baseline": {"snapshot": 2}})
    one.erase([SUBJECT])
    assert search(tmp_path, False) == []
    assert one.guard_status()["baseline"]["snapshot"] == 2
    crash(one)
    assert {ticket["policy"] for ticket in Kept(tmp_path / "b").ask([[0.1, 40.0]] * 12)} == {"booster", "baseline"}


BROKEN: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "memory": (GrownBank, "forget", lambda self, erased: 0),
    "sample": (TreeBank, "forget", lambda self, erased: 0),
    "extremes": (bb.Booster, "_round_off", lambda self, contexts: None),
    "parts": (Archive, "erase", lambda self, chosen: 0),
    "snapshots": (erasing, "_erase_snapshot", lambda *given: None),
    "journal": (bb.Journal, "rewriting", lambda self: None),
    "baseline": (erasing, "_erase_baseline", lambda *given: None),
}


@pytest.mark.parametrize("what", list(BROKEN))
def test_the_search_notices_what_is_left_out(tmp_path: Path, monkeypatch: Any, what: str) -> None:
    one = lived(tmp_path / "b", MEMORY, monkeypatch, guarded=what == "baseline")
    monkeypatch.setattr(*BROKEN[what])
    if what in ("memory", "sample"):
        monkeypatch.setattr(bb.Booster, "_round_off", lambda self, contexts: None)
    one.erase([SUBJECT])
    assert search(tmp_path, False)


def test_names_of_others_stay(tmp_path: Path, monkeypatch: Any) -> None:
    one = lived(tmp_path / "b", NAMED, monkeypatch)
    one.erase([SUBJECT])
    assert one.booster.names is not None
    assert set(one.booster.names.column_names(8)) >= {"size", "city=Bonn", "city=Rome"}


def test_a_disk_that_fails_leaves_all_as_it_was(tmp_path: Path, monkeypatch: Any) -> None:
    one = lived(tmp_path / "b", MEMORY, monkeypatch)
    one.delete_snapshot(1)
    info = one.info(True)

    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr("banditboost.journal.snapshot.begin_beside", full)
        with pytest.raises(OSError, match="No space"):
            one.erase([SUBJECT])
        assert one.broken
    one.reopen()
    assert one.info(True)["rounds"] == info["rounds"]
    assert one.erase([SUBJECT])["rounds"] == 5
    assert search(tmp_path, False) == []


def test_what_is_older_than_it_may_be_kept_goes(tmp_path: Path) -> None:
    now = [1000.0 * 86_400]
    Kept.create(tmp_path / "b", MEMORY, {})
    one = Kept(tmp_path / "b", clock=lambda: now[0], keep_days=2.0)
    for day in range(5):
        for k in range(3):
            context = SECRET if day == 1 and k == 2 else others(False, 3 * day + k)
            (ticket,) = one.ask([context])
            if k:
                one.tell(ticket["ticket"], {"losses": 1.0})
        one.snapshot(str(day))
        if one.due():
            one.tidy()
        now[0] += 86_400
    one.tidy()
    times = np.concatenate([block.times for block in one.contents().blocks()])
    assert times.tolist() == [86_400.0 * day for day in (1003, 1003, 1004, 1004)]
    assert [snapshot["label"] for snapshot in one.snapshots()] == ["3", "4"]
    assert len(one.journal.tickets) == 2
    assert search(tmp_path, False) == []
    assert one.due() is False
    digest_before = one.booster.digest()
    crash(one)
    assert Kept(tmp_path / "b").booster.digest() == digest_before


def test_a_snapshot_that_a_roll_back_has_undone_is_removed(tmp_path: Path, monkeypatch: Any) -> None:
    one = kept(tmp_path / "b", MEMORY)

    def play(context: list[float]) -> None:
        (ticket,) = one.ask([context], subject=SUBJECT)
        one.tell(ticket["ticket"], {"losses": 1.0})

    play(others(False, 1))
    one.snapshot("first")
    play(SECRET)
    one.snapshot("undone")
    one.roll_back(1)
    play(others(False, 2))
    one.snapshot("last")
    one.erase([SUBJECT])
    assert [snapshot["label"] for snapshot in one.snapshots()] == ["first", "last"]
    assert search(tmp_path, False) == []


def test_a_journal_of_the_first_version_is_read(tmp_path: Path) -> None:
    golden = Path(__file__).parent / "golden"
    known = json.loads((golden / "first.json").read_text())
    folder = tmp_path / "b"
    (folder / "snapshots").mkdir(parents=True)
    (folder / "booster.journal").write_bytes((golden / "first.journal").read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", bb.JournalWarning
        )  # which says that the last digits of rounds have changed since
        one = Kept(folder)
    assert one.booster.rounds == known["rounds"]
    assert sorted(one.journal.tickets) == known["in_flight"]
    assert sorted(one.ledger.told) == known["told"]
    assert (len(one.ledger.keyed), one.ledger.asked) == (known["keyed"], known["asked"])
    assert one.ask([[0.1 * 7, 1.0]], key="key 7")[0]["ticket"] == known["answer"]["ticket"]
    # Rounds that were told before its snapshot are in no record any more; those after it are in the log.
    assert [block.numbers.tolist() for block in one.contents().blocks()] == [[1, 2, 3, 4]]
    one.tell("0-3", {"losses": 1.0})
    (ticket,) = one.ask([SECRET], subject=SUBJECT)
    one.tell(ticket["ticket"], {"losses": 1.0})
    assert one.erase([SUBJECT])["rounds"] == 1
    assert search(tmp_path, False) == []
