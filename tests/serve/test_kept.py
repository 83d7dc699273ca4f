"""One booster of a service: each call happens once or not at all, whatever crashes, snapshots and full disks come between."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.algorithms.recipes import from_recipe
from banditboost.serve.kept import MOST_SNAPSHOTS, Kept
from banditboost.serve.problems import Problem
from tests.serve.common import LINE, RECIPE, crash, kept

X = [0.3, 1.0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "shop"


def status(call: Any, *arguments: Any) -> int:
    with pytest.raises(Problem) as problem:
        call(*arguments)
    assert problem.value.detail.endswith(".")
    return problem.value.status


def test_a_service_decides_what_the_library_decides(folder: Path) -> None:
    one, plain, rng = kept(folder), from_recipe(RECIPE), np.random.default_rng(0)
    for t in range(40):
        x = rng.uniform(-1, 1, 2)
        answer, ticket = one.ask([x.tolist()])[0], plain.ask(x)
        assert (answer["action"], answer["prediction"]) == (float(ticket.action), float(ticket.prediction))
        assert answer["density"] == ticket.density.tolist()
        one.tell(answer["ticket"], {"losses": float(t)})
        plain.tell(ticket, [float(t)])
    assert one.booster.digest() != plain.digest()  # since the limit of tickets in flight is another
    plain.limit_in_flight(one.booster.in_flight_limit)
    assert one.booster.digest() == plain.digest()
    assert one.predict([X, [0.0, 0.0]]) == [float(plain.predict(X)), float(plain.predict([0.0, 0.0]))]
    assert one.predict([X]) == [float(plain.predict(X))]


def test_the_same_tell_is_taken_once_and_another_is_noticed(folder: Path) -> None:
    one = kept(folder, RECIPE | {"algorithm": "boosted", "maximize": True, "memory": None})
    name = one.ask([X])[0]["ticket"]
    assert one.tell(name, {"rewards": [7.0]}) == "told"
    digest = one.booster.digest()
    for _ in range(2):
        for same in ({"rewards": 7.0}, {"losses": [-7.0]}, {"values": 7.0}):
            assert one.tell(name, same) == "repeated"
        for other in ({"rewards": 8.0}, {"losses": 7.0}, {"values": [-7.0]}, {"losses": [-7.0, -7.0]}):
            assert status(one.tell, name, other) == 409
        with pytest.raises(ValueError, match="given once"):
            one.tell(name, {"losses": 7.0, "rewards": 7.0})
        assert one.booster.digest() == digest
        crash(one)
        one = kept(folder)
    assert (one.tells, one.repeated) == (0, 0)


def test_a_key_makes_an_ask_repeatable_whatever_happens_in_between(folder: Path) -> None:
    one = kept(folder)
    first = one.ask([X, [0.0, 0.0]], None, "key")
    one.tell(first[0]["ticket"], {"losses": 1.0})
    for how in ("crash", "snapshot", "close"):
        digest = one.booster.digest()
        assert one.ask([X, [0.0, 0.0]], None, "key") == first
        assert one.booster.digest() == digest
        assert status(one.ask, [[0.1, 0.0]], None, "key") == 422
        assert status(one.ask, [X], [1.0, 5.0], "key") == 422
        if how == "crash":
            crash(one)
            one = kept(folder)
        elif how == "snapshot":
            one.journal.snapshot()
        else:
            one.close()
            one = kept(folder)
    assert one.ask([X], None, "another")[0] != first[0]
    assert one.booster._asked == 3


def test_tickets_that_are_not_there(folder: Path) -> None:
    one = kept(folder)
    names = [ticket["ticket"] for ticket in one.ask([X, X])]
    assert (one.forget(names[0]), one.forget(names[0])) == (True, False)
    assert status(one.tell, names[0], {"losses": 1.0}) == 410
    assert status(one.tell, "0-9", {"losses": 1.0}) == 404
    assert status(one.forget, "nonsense") == 404
    before = one.booster.digest()
    for bad in ({"losses": [1.0, 2.0]}, {"losses": float("nan")}, {}, {"losses": "much"}):
        with pytest.raises(ValueError, match=r"\.$"):
            one.tell(names[1], bad)
    assert one.booster.digest() == before
    one.tell(names[1], {"losses": 1.0})


def test_answers_may_come_late_until_the_deadline(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    Kept.create(folder, RECIPE, {"deadline": 60.0})
    one = Kept(folder, clock=lambda: now[0])
    names = [ticket["ticket"] for ticket in one.ask([X, X, X])]
    now[0] += 60.0
    one.tell(names[1], {"losses": 1.0})
    crash(one)
    one = Kept(folder, clock=lambda: now[0])
    now[0] += 1.0
    assert status(one.tell, names[0], {"losses": 1.0}) == 410
    later = one.ask([X])[0]["ticket"]  # which also forgets what is late
    assert one.booster.in_flight == (4,)
    now[0] -= 500.0  # a clock that is set back loses nothing
    one.tell(later, {"losses": 1.0})
    digest = one.booster.digest()
    crash(one)
    assert kept(folder).booster.digest() == digest


def test_all_of_many_questions_are_asked_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = kept(folder)
    with pytest.raises(ValueError, match="one length"):
        one.ask([X, [0.1]])
    assert one.booster.features == 0
    one.ask([X])
    digest = one.booster.digest()
    for bad in ([X, [0.1]], [X, [float("inf"), 0.0]], [X, None]):
        with pytest.raises(ValueError, match=r"\.$"):
            one.ask(bad)
    with pytest.raises(ValueError, match="in common"):
        one.ask([X, X], [30.0, 40.0])
    assert one.booster.digest() == digest

    plain, calls = os.write, [0]

    def full(handle: int, data: bytes) -> int:
        calls[0] += 1
        if calls[0] > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        return plain(handle, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        one.ask([X] * 5)
    assert not one.broken
    assert one.predict([X])
    with pytest.raises(OSError, match="No space"):
        one.tell("0-1", {"losses": 1.0})
    monkeypatch.undo()
    # Nobody was told of the two tickets that were asked, and they are given up as soon as that can be written down.
    assert one.ask([X])[0]["ticket"] == "0-4"
    assert one.booster.in_flight == (1, 4)
    digest = one.booster.digest()
    crash(one)
    assert kept(folder).booster.digest() == digest


def test_going_back_to_a_snapshot(folder: Path) -> None:
    one = kept(folder)
    names = [ticket["ticket"] for ticket in one.ask([X, X])]
    one.tell(names[0], {"losses": 3.0})
    said, digest = one.snapshot("before the sale"), one.booster.digest()
    assert (said["snapshot"], said["label"], said["rounds"]) == (1, "before the sale", 1)
    one.tell(names[1], {"losses": 1.0})
    lost = one.ask([X])[0]["ticket"]
    one.tell(lost, {"losses": 2.0})
    one.roll_back(1)
    for _ in range(2):
        assert one.booster.digest() == digest
        assert one.tell(names[0], {"losses": 3.0}) == "repeated"
        assert status(one.tell, lost, {"losses": 2.0}) == 404  # not taken for the ticket that gets its number next
        crash(one)
        one = kept(folder)
    found = one.ask([X])[0]["ticket"]
    assert found != lost
    assert one.tell(names[1], {"losses": 5.0}) == "told"  # another answer than the one that was undone
    one.tell(found, {"losses": 2.0})
    one.snapshot("")
    one.delete_snapshot(1)
    assert [said["snapshot"] for said in one.snapshots()] == [2]
    assert status(one.roll_back, 1) == 404
    assert status(one.delete_snapshot, 1) == 404


def test_a_crash_in_a_roll_back_leaves_the_former_state(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = kept(folder)
    one.snapshot("")
    one.ask([X])
    digest = one.booster.digest()

    plain = os.replace

    def dies(name: Any, target: Any) -> None:
        if Path(name).name == "next.journal":
            raise KeyboardInterrupt
        plain(name, target)

    monkeypatch.setattr(os, "replace", dies)
    with pytest.raises(KeyboardInterrupt):
        one.roll_back(1)
    monkeypatch.undo()
    crash(one)
    one = kept(folder)
    assert one.booster.digest() == digest
    assert not (folder / "next.journal").exists()


def test_snapshots_are_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banditboost.serve.kept.MOST_SNAPSHOTS", 2)
    one = kept(folder)
    one.snapshot("")
    one.snapshot("")
    assert status(one.snapshot, "") == 409
    assert MOST_SNAPSHOTS == 100


def test_a_model_file_comes_out_and_nothing_is_left(folder: Path, tmp_path: Path) -> None:
    one = kept(folder)
    one.ask([X])
    (tmp_path / "model.bb").write_bytes(one.model())
    assert bb.Booster.load(tmp_path / "model.bb").digest() == one.booster.digest()
    assert sorted(path.name for path in folder.iterdir()) == ["booster.journal", "booster.journal.lock", "snapshots"]


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"algorithm": "magic", "space": LINE}, "algorithm must be one of"),
        ({"algorithm": "boosted"}, "space must be"),
        ({"algorithm": "boosted", "space": {"kind": "Sphere"}}, "not known here"),
        ({"algorithm": "boosted", "space": {"kind": "learners.Linear"}}, "space must be"),
        ({"algorithm": "boosted", "space": LINE, "copies": 10**9}, "copies must be"),
        ({"algorithm": "boosted", "space": LINE, "copies": "many"}, "copies must be"),
        ({"algorithm": "boosted", "space": LINE, "copies": 2.5}, "copies must be"),
        ({"algorithm": "boosted", "space": LINE, "answers": {"a": 1}}, "answers"),
        ({"algorithm": "boosted", "space": LINE, "learner": "x"}, "learner must be left out"),
        ({"algorithm": "boosted", "space": LINE, "memory": 10**12}, "memory must be"),
        ({"algorithm": "boosted", "space": LINE, "answers": 10**400}, "numbers"),
        ({"algorithm": "boosted", "space": LINE, "answers": 10**9}, "numbers"),
        ({"algorithm": "ogd", "space": {"kind": "Ball", "dimension": 10**9}}, "numbers"),
        ({"algorithm": "ogd", "space": {"kind": "Oracle", "function": {"function": "os:system"}}}, "function|field"),
        ({"spec": {"kind": "learners.Linear"}}, "spec must be"),
        ({"spec": {}, "algorithm": "boosted"}, "nothing beside"),
    ],
)
def test_a_recipe_that_cannot_be_made_is_one_sentence(folder: Path, recipe: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Kept.create(folder, recipe, {})
    assert not folder.exists()


def test_settings_are_checked(folder: Path) -> None:
    for bad in ({"deadline": -1.0}, {"max_in_flight": 0}):
        with pytest.raises(ValueError, match="must be"):
            Kept.create(folder, RECIPE, bad)
    Kept.create(folder, RECIPE, {"max_in_flight": 2})
    one = kept(folder)
    one.ask([X, X, X])
    assert one.booster.in_flight == (2, 3)
    assert status(one.tell, "0-1", {"losses": 1.0}) == 410


def test_a_first_context_that_needs_much_memory_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("banditboost.algorithms.recipes.MOST_NUMBERS", 20_000)
    one = kept(folder)
    with pytest.raises(ValueError, match="at most 20000 numbers"):
        one.ask([[0.5] * 5_000])
    one.ask([X])


def test_a_booster_that_could_not_be_read_again_is_refused_at_once(folder: Path) -> None:
    with pytest.raises(ValueError, match="can be read again"):
        Kept.create(folder, RECIPE | {"algorithm": "boosted", "memory": None, "answers": 2_000_000}, {})
