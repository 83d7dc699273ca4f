"""Nothing is cut off in silence: what becomes of a record that cannot be repeated, or that this version does not know."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.journal.kinds import Kind
from tests.booster.slow_booster import make
from tests.journal.common import Stumbles, X, crash, play, python, records, rewrite, written


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.journal"


@pytest.mark.parametrize("error", [MemoryError("no room"), OSError("no disk"), ImportError("no module")])
def test_what_this_machine_lacks_is_no_reason_to_cut(
    path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    last = written(path)[-1]
    before, update = path.read_bytes(), bb.learners.linear.LinearBank.update

    def lacking(bank: Any, context: Any, gradients: Any, t: int) -> None:
        if t == 10:
            raise error
        update(bank, context, gradients, t)

    monkeypatch.setattr(bb.learners.linear.LinearBank, "update", lacking)
    for read in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(type(error), match=rf"cannot be read now: the call at byte {last.position} fails"):
            read(path)
    assert path.read_bytes() == before
    monkeypatch.undo()
    booster = make()
    with bb.Journal(path, booster) as journal:
        assert (journal.calls, booster.rounds) == (20, 10)


def test_a_last_call_that_fails_again_is_left_out_aloud_and_kept(path: Path) -> None:
    booster = make(learner=Stumbles())
    journal = bb.Journal(path, booster)
    play(booster, 3)
    ticket = booster.ask(X)
    before = booster.digest()
    with pytest.raises(ZeroDivisionError):
        booster.tell(ticket, np.ones(3))
    crash(journal)  # killed before it could take the call back
    whole = path.read_bytes()
    again = make(learner=Stumbles())
    with pytest.warns(bb.JournalWarning, match=r"ZeroDivisionError.* is left out; .* kept as run\.journal\.kept-1"):
        journal = bb.Journal(path, again)
    assert (again.digest(), journal.calls) == (before, 7)
    assert path.with_name("run.journal.kept-1").read_bytes() == whole
    again.forget(journal.tickets[4])
    before = again.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == before


def test_a_call_that_failed_is_taken_back_on_closing(path: Path) -> None:
    booster = make(learner=Stumbles())
    journal = bb.Journal(path, booster)
    play(booster, 3)
    ticket = booster.ask(X)
    size, before = path.stat().st_size, booster.digest()
    with pytest.raises(ZeroDivisionError):
        booster.tell(ticket, np.ones(3))
    journal.close()
    assert path.stat().st_size == size
    with pytest.raises(RuntimeError, match="is closed"):
        booster.ask(X)
    found = bb.Journal.replay(path)
    assert (found.booster.digest(), found.failed) == (before, "")


FAILS = """
import sys, numpy as np, banditboost as bb
from tests.booster.slow_booster import make
from tests.journal.common import Stumbles, X, play
booster = make(learner=Stumbles())
journal = bb.Journal(sys.argv[1], booster)
play(booster, 3)
booster.tell(booster.ask(X), np.ones(3))
"""


def test_a_call_that_failed_is_taken_back_when_its_error_ends_the_program(path: Path) -> None:
    done = python(FAILS, path)
    assert "ZeroDivisionError" in done.stderr
    again = make(learner=Stumbles())
    with bb.Journal(path, again) as journal:
        assert (journal.calls, again.in_flight) == (7, (4,))


def test_a_failing_call_among_others_is_left_out_aloud_and_the_file_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, before = written(path), path.read_bytes()
    update = bb.learners.linear.LinearBank.update

    def changed(bank: Any, context: Any, gradients: Any, t: int) -> None:
        if float(np.sum(gradients)) == at[0]:
            raise TypeError("a part was changed since")
        seen.append(float(np.sum(gradients)))
        update(bank, context, gradients, t)

    at, seen = [np.inf], list[float]()
    monkeypatch.setattr(bb.learners.linear.LinearBank, "update", changed)
    bb.Journal.replay(path)
    at[0] = seen[4]
    said = f"1 calls were left out: the call at byte {found[10].position} fails with TypeError"
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.booster.rounds, sorted(replayed.tickets)) == (1, 9, [5])
    assert said in replayed.report()
    assert path.read_bytes() == before, "reading changes nothing"
    with pytest.warns(bb.JournalWarning, match=said):
        journal = bb.Journal(path, make())
    assert sorted(journal.tickets) == [5]
    assert path.with_name("run.journal.kept-1").read_bytes() == before
    digest = journal.booster.digest()
    crash(journal)
    assert bb.Journal.replay(path).booster.digest() == digest, "it goes on from there"


def test_what_is_told_about_an_ask_that_fails_is_left_out_with_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, predict = written(path), bb.learners.linear.LinearBank.play

    def changed(bank: Any, context: Any) -> Any:
        calls.append(context)
        if len(calls) == 5:
            raise TypeError("a part was changed since")
        return predict(bank, context)

    calls = list[Any]()
    monkeypatch.setattr(bb.learners.linear.LinearBank, "play", changed)
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.booster.rounds, replayed.tickets) == (2, 9, {})
    assert f"2 calls were left out: the call at byte {found[9].position} fails with TypeError" in replayed.report()
    assert replayed.booster.ask(X).number == 11, "tickets keep their numbers"


@pytest.mark.parametrize(("kind", "version"), [(99, 1), (int(Kind.TELL), 2), (0, 1)])
@pytest.mark.parametrize("where", [-1, 5])
def test_records_that_are_not_known_stop_the_reading_and_stay(path: Path, kind: int, version: int, where: int) -> None:
    found = written(path)
    found[where] = found[where]._replace(kind=kind, version=version)
    rewrite(path, found)
    before, position = path.read_bytes(), records(path)[where].position
    wanted = (
        rf"at byte {position} of kind {kind}, version {version}, which this version of banditboost .* does not know"
    )
    for open_it in (bb.Journal.replay, lambda path: bb.Journal(path, make())):
        with pytest.raises(ValueError, match=wanted) as caught:
            open_it(path)
        assert "is left as it is" in str(caught.value)
    assert path.read_bytes() == before


def test_a_snapshot_among_the_calls_is_refused(path: Path) -> None:
    found = written(path)
    found[5] = found[0]
    rewrite(path, found)
    with pytest.raises(ValueError, match=re.escape("a snapshot stands among the calls")):
        bb.Journal.replay(path)
