"""Signal handlers in the middle of a call: they neither wait forever nor see, save or leave half a call.

Models ring a real signal while they predict and learn, so that the handler runs at a known place: after some copies have learned
from a round, and before the others have.
"""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.evaluate import compiled, undo
from banditboost.learners.wrapped import LeastSquares

X = np.array([0.5, -1.0])
COPIES = 4
RING = signal.SIGUSR1 if hasattr(signal, "SIGUSR1") else signal.SIGTERM

Handler = Callable[[], object]


class Bell:
    """Rings once when the copy with this number predicts or learns."""

    where: str | None = None

    @classmethod
    def ring(cls, where: str) -> None:
        if cls.where == where:
            cls.where = None
            signal.raise_signal(RING)


class Ringing(LeastSquares):
    """A model that rings the bell; the third copy of four does."""

    made = 0

    def __init__(self) -> None:
        super().__init__()
        self.number = Ringing.made % COPIES
        Ringing.made += 1

    def predict_one(self, x: dict[str, float]) -> float:
        if self.number == 2:
            Bell.ring("ask")
        return super().predict_one(x)

    def learn_one(self, x: dict[str, float], y: float) -> None:
        if self.number == 2:
            Bell.ring("tell")
        super().learn_one(x, y)


def make() -> bb.Booster:
    Ringing.made = 0
    booster = bb.Booster(bb.learners.Wrapped(bb.Named("ringing", Ringing)), COPIES, space=bb.spaces.Interval(-1, 1))
    for t in range(3):
        booster.tell(booster.ask(X * t), np.linspace(0.0, 1.0, COPIES) * t)
    return booster


@pytest.fixture
def on_ring() -> Iterator[Callable[[Handler], None]]:
    """Sets what the handler does."""
    before = signal.getsignal(RING)
    yield _set
    signal.signal(RING, before)
    Bell.where = None


def _set(do: Handler) -> None:
    signal.signal(RING, _handler(do))


def _handler(do: Handler) -> Callable[[int, FrameType | None], None]:
    def handler(number: int, frame: FrameType | None) -> None:
        do()

    return handler


def act(booster: bb.Booster, where: str, ring: bool = True) -> None:
    """Make a call that the bell interrupts."""
    if where == "ask":
        Bell.where = where if ring else None
        booster.ask(X)
    else:
        ticket = booster.ask(X)
        Bell.where = where if ring else None
        booster.tell(ticket, np.linspace(1.0, 2.0, COPIES))
    assert Bell.where is None


WHERE = pytest.mark.parametrize("where", ["ask", "tell"])


@WHERE
def test_a_handler_that_saves_saves_the_whole_call(where: str, tmp_path: Path, on_ring: Any) -> None:
    booster, quiet, path = make(), make(), tmp_path / "model.bb"
    written: list[bool] = []

    def save() -> None:
        booster.save(path)
        written.append(path.exists())

    on_ring(save)
    act(booster, where)
    act(quiet, where, ring=False)
    assert written == [False]  # not before the call is over
    loaded = bb.Booster.load(path, booster.spec.callables())
    assert loaded.digest() == booster.digest() == quiet.digest()


@WHERE
def test_a_handler_may_predict(where: str, on_ring: Any) -> None:
    booster, quiet, found = make(), make(), []
    on_ring(lambda: found.append((booster.predict(X), booster.predict_many([X, -X]))))
    act(booster, where)
    act(quiet, where, ring=False)
    ((one, many),) = found
    assert booster.spec.space.contains(one)
    assert booster.spec.space.contains(many).all()
    assert booster.digest() == quiet.digest()


@WHERE
def test_a_handler_that_closes_the_journal_closes_it_after_the_call(where: str, tmp_path: Path, on_ring: Any) -> None:
    path, booster = tmp_path / "run.journal", make()
    journal = bb.Journal(path, booster)
    on_ring(journal.close)
    act(booster, where)
    assert booster.journal is None
    found = bb.Journal.replay(path, booster.spec.callables())
    assert found.booster.digest() == booster.digest()
    assert found.calls == {"ask": 1, "tell": 2}[where]


@pytest.mark.parametrize("what", ["flush", "snapshot"])
def test_a_handler_may_flush_a_journal(what: str, tmp_path: Path, on_ring: Any) -> None:
    path, booster = tmp_path / "run.journal", make()
    with bb.Journal(path, booster, sync_every=100) as journal:
        on_ring(getattr(journal, what))
        act(booster, "tell")
        assert journal.durable == 2
        found = bb.Journal.replay(path, booster.spec.callables())
        assert found.booster.digest() == booster.digest()


class StopError(Exception):
    """What a handler raises."""


def test_half_a_call_is_never_saved(tmp_path: Path, on_ring: Any) -> None:
    booster, path = make(), tmp_path / "model.bb"
    booster.save(path)
    before = path.read_bytes()

    def save_and_stop() -> None:
        booster.save(path)
        raise StopError

    on_ring(save_and_stop)
    with (
        pytest.warns(RuntimeWarning, match=r"the save of .*model\.bb.* was not made: the call failed half way"),
        pytest.raises(StopError),
    ):
        act(booster, "tell")
    assert path.read_bytes() == before


def test_a_call_that_is_refused_keeps_nobody_from_saving(tmp_path: Path, on_ring: Any) -> None:
    booster, path = make(), tmp_path / "model.bb"
    ticket = booster.ask(X)

    class Answers:
        """Numbers that ring when they are read, and are too few."""

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            signal.raise_signal(RING)
            return np.zeros(COPIES - 1)

    on_ring(lambda: booster.save(path))
    with pytest.raises(ValueError, match="must have"):
        booster.tell(ticket, Answers())
    assert bb.Booster.load(path, booster.spec.callables()).digest() == booster.digest()


@WHERE
def test_a_handler_that_waits_may_raise(where: str, tmp_path: Path, on_ring: Any) -> None:
    booster, quiet, path = make(), make(), tmp_path / "model.bb"

    def stop() -> None:
        booster.save(path)
        booster.digest()
        raise SystemExit(3)

    on_ring(booster.between_calls(stop))
    with pytest.raises(SystemExit):
        act(booster, where)
    act(quiet, where, ring=False)
    assert booster.digest() == quiet.digest()
    assert bb.Booster.load(path, booster.spec.callables()).digest() == quiet.digest()


def test_a_handler_that_waits_is_called_at_once_between_calls() -> None:
    booster, said = make(), []
    booster.between_calls(lambda word, more: said.append((word, more)))("now", more=1)
    assert said == [("now", 1)]


@pytest.mark.parametrize(
    "call",
    [
        lambda booster, ticket: booster.ask(X),
        lambda booster, ticket: booster.tell(ticket, np.ones(COPIES)),
        lambda booster, ticket: booster.forget(ticket),
        lambda booster, ticket: booster.limit_in_flight(1),
        lambda booster, ticket: booster.reset([0]),
        lambda booster, ticket: booster.adopt(1),
        lambda booster, ticket: booster.digest(),
        lambda booster, ticket: pickle.dumps(booster),
    ],
)
def test_what_cannot_wait_is_refused_in_the_middle_of_a_call(call: Any, on_ring: Any) -> None:
    booster, quiet, said = make(), make(), []
    other = booster.ask(-X)
    quiet.ask(-X)

    def nested() -> None:
        try:
            call(booster, other)
        except RuntimeError as error:
            said.append(str(error))

    on_ring(nested)
    act(booster, "tell")
    act(quiet, "tell", ring=False)
    assert len(said) == 1
    assert "must not be made in the middle of another call" in said[0]
    assert booster.digest() == quiet.digest()
    call(booster, other)  # and works again


def test_a_save_that_fails_when_its_time_comes_is_an_error_of_the_call(tmp_path: Path, on_ring: Any) -> None:
    booster, quiet = make(), make()
    (tmp_path / "file").touch()
    on_ring(lambda: booster.save(tmp_path / "file" / "model.bb"))
    with pytest.raises(OSError, match="could not be written and was not made") as caught:
        act(booster, "tell")
    assert "put off until this call was over" in caught.value.__notes__[0]
    act(quiet, "tell", ring=False)
    assert booster.digest() == quiet.digest()  # the call has happened


def test_an_interrupt_at_the_end_of_a_call_blocks_nothing() -> None:
    # An exception may keep the bookkeeping of a call from being put back, but never its lock.
    booster = make()
    booster._turn.__enter__()
    booster.ask(X)
    booster.digest()


def test_a_block_of_a_compiled_run_is_saved_whole(
    tmp_path: Path, on_ring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, path = bb.worlds.SyntheticLinear(rounds=300, features=2), tmp_path / "model.bb"
    booster, check = bb.algorithms.ogd(bb.spaces.Interval(-2, 2)), undo.check_block

    def ring(*arguments: Any) -> None:  # after the loop has changed the arrays, and before rounds are counted
        check(*arguments)
        signal.raise_signal(RING)

    monkeypatch.setattr(compiled, "check_block", ring)
    on_ring(lambda: booster.save(path))
    assert bb.evaluate.progressive(booster, world).compiled
    assert bb.Booster.load(path).digest() == booster.digest()


def test_signals_at_any_time(tmp_path: Path) -> None:
    booster, path, rang = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), copies=4, seed=1), tmp_path / "model.bb", []
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(5000, 2))

    def handler(number: int, frame: FrameType | None) -> None:
        rang.append(booster.predict(X))
        booster.save(path)

    def play(one: bb.Booster, t: int) -> None:
        ticket = one.ask(contexts[t])
        if t % 3:
            one.tell(ticket, (ticket.queries - 0.3) ** 2)

    play(booster, 0)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        t = 1
        while len(rang) < 48:
            if (
                signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
            ):  # one at a time: a busy machine may be slower than any rhythm
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, 5e-4))
            play(booster, t % len(contexts))
            t += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    quiet = bb.algorithms.boosted(bb.spaces.Interval(-1, 1), copies=4, seed=1)
    loaded, t = bb.Booster.load(path), 0
    while (quiet._asked, quiet.rounds) != (loaded._asked, loaded.rounds):
        ticket = quiet.ask(contexts[t % len(contexts)])
        if t % len(contexts) % 3 and (quiet._asked, quiet.rounds) != (loaded._asked, loaded.rounds):
            quiet.tell(ticket, (ticket.queries - 0.3) ** 2)
        t += 1
        assert t < 10**6
    assert loaded.digest() == quiet.digest()
