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


def failing(monkeypatch: pytest.MonkeyPatch, method: str, *numbers: int) -> None:
    """Let the calls of a method fail whose numbers are given; calls that are made again count again, as the same."""
    plain = getattr(bb.learners.linear.LinearBank, method)
    known: dict[bytes, int] = {}

    def changed(bank: Any, context: Any, *more: Any) -> Any:
        number = known.setdefault(np.asarray(context).tobytes(), len(known) + 1)
        if number in numbers:
            raise TypeError("a part was changed since")
        return plain(bank, context, *more)

    monkeypatch.setattr(bb.learners.linear.LinearBank, method, changed)


def contexts(n: int) -> Any:
    return np.random.default_rng(7).uniform(0.1, 1, (n, 2))


def recorded(path: Path, n: int = 8) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    for x in contexts(n):
        booster.tell(booster.ask(x), np.ones(3))
    crash(journal)


def test_calls_that_fail_at_the_end_are_all_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(path)
    failing(monkeypatch, "update", 7, 8)
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.booster.rounds, sorted(replayed.tickets)) == (1, 6, [7, 8])
    assert replayed.failed
    assert replayed.booster.ask(X).number == 9, "numbers that were given are not given again"


def test_tickets_that_are_pushed_out_since_a_call_was_left_out_are_left_out_too(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster, (a, b, c, d) = make(), contexts(4)
    booster.limit_in_flight(2)
    journal = bb.Journal(path, booster)
    first, second = booster.ask(a), booster.ask(b)
    booster.tell(second, np.ones(3))
    third = booster.ask(c)
    booster.tell(first, np.ones(3))
    booster.tell(third, np.ones(3))
    booster.ask(d)
    crash(journal)
    failing(monkeypatch, "update", 1)  # the context of the first update is b
    replayed = bb.Journal.replay(path)
    assert (replayed.left_out, replayed.booster.rounds, sorted(replayed.tickets)) == (2, 1, [2, 4])
    assert set(replayed.tickets) == set(replayed.booster.in_flight)


def test_of_tickets_that_are_forgotten_together_those_are_that_were_asked(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster = make()
    journal = bb.Journal(path, booster)
    for x in contexts(4):
        booster.ask(x)
    booster.forget_older_than(1)
    booster.ask(X)
    crash(journal)
    failing(monkeypatch, "play", 2)
    replayed = bb.Journal.replay(path)
    assert replayed.booster.in_flight == (3, 4, 5)
    assert replayed.left_out == 1


def test_nothing_of_a_call_that_is_left_out_stays(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(path)
    update = bb.learners.linear.LinearBank.update

    def half(bank: Any, context: Any, gradients: Any, t: int) -> None:
        update(bank, context, gradients, t)
        if np.array_equal(context, contexts(8)[4]):
            raise TypeError("after it has learned")

    monkeypatch.setattr(bb.learners.linear.LinearBank, "update", half)
    replayed = bb.Journal.replay(path)
    monkeypatch.undo()
    expected = make()
    for t, x in enumerate(contexts(8)):
        ticket = expected.ask(x)
        if t != 4:
            expected.tell(ticket, np.ones(3))
    assert (replayed.left_out, sorted(replayed.tickets)) == (1, [5])
    for name, array in expected.arrays().items():
        np.testing.assert_array_equal(replayed.booster.arrays()[name], array)
