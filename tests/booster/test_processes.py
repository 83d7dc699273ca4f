"""Threads share a booster; processes never share a random stream without being told."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import processes
from tests.booster.slow_booster import COPIES, SlowBooster, make

X = np.array([0.3, -0.2])
# Later versions of Python warn of what the library takes care of here.
pytestmark = pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


def trained(rounds: int = 5, **changes: Any) -> bb.Booster:
    booster, rng = make(**changes), np.random.default_rng(0)
    for _ in range(rounds):
        booster.step(rng.uniform(-1, 1, 2), lambda queries: queries**2)
    return booster


# Threads.


def together(work: Callable[[int], None], threads: int) -> None:
    """Run in several threads, and raise what any of them raised."""
    errors: list[BaseException] = []

    def guarded(i: int) -> None:
        try:
            work(i)
        except BaseException as error:
            errors.append(error)

    running = [threading.Thread(target=guarded, args=(i,)) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("journalled", [False, True])
def test_threads_give_what_one_thread_gives(journalled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Threads interleave as they like; the order in which answers were learned is noted, and a slow loop repeats it.
    booster = make()
    if journalled:
        bb.Journal(tmp_path / "run.journal", booster, sync_every=10_000, snapshot_every=100)
    bank_update = bb.learners.linear.LinearBank.update
    order: list[bytes] = []

    def noted(bank: Any, context: Any, gradients: Any, t: int) -> None:
        time.sleep(0)  # let others try to come between
        bank_update(bank, context, gradients, t)
        order.append(context.tobytes())

    monkeypatch.setattr(bb.learners.linear.LinearBank, "update", noted)
    given: dict[bytes, tuple[bb.Ticket, np.ndarray]] = {}

    def work(i: int) -> None:
        rng = np.random.default_rng(i)
        for _ in range(60):
            x = rng.uniform(-1, 1, 2)
            ticket = booster.ask(x)
            booster.predict(x)
            losses = rng.normal(size=COPIES)
            given[x.tobytes()] = (ticket, losses)
            booster.tell(ticket, losses)

    together(work, 4)
    assert booster.rounds == len(order) == 240
    assert booster.in_flight == ()
    told = [given[x] for x in order]
    numbers = {ticket.number for ticket, _ in told}
    assert numbers == set(range(1, 241))  # no number was given out twice
    directions = np.array([ticket.probe.directions for ticket, _ in sorted(told, key=lambda pair: pair[0].number)])
    one_thread = make()
    np.testing.assert_array_equal(directions, [one_thread.ask(X).probe.directions for _ in range(240)])
    slow = SlowBooster()
    for ticket, losses in told:
        assert ticket.context is not None
        number = slow.ask(ticket.context.tolist())
        slow.in_flight[number].wished, slow.in_flight[number].played = ticket.raw.tolist(), ticket.plays.tolist()
        slow.tell(number, losses.tolist(), ticket.probe.directions.tolist())
    assert booster.bank is not None
    np.testing.assert_allclose(booster.bank.arrays()["weights"], slow.weights, rtol=1e-9, atol=1e-12)
    if journalled:
        assert isinstance(booster.journal, bb.Journal)
        booster.journal.close()
        assert bb.Journal.replay(tmp_path / "run.journal").booster.digest() == booster.digest()


def test_one_ticket_told_by_many_threads_is_told_once() -> None:
    booster = trained()
    for _ in range(20):
        ticket = booster.ask(X)
        refused: list[int] = []

        def work(i: int, ticket: bb.Ticket = ticket, refused: list[int] = refused) -> None:
            try:
                booster.tell(ticket, np.ones(COPIES))
            except bb.NotInFlightError:
                refused.append(i)

        together(work, 4)
        assert len(refused) == 3
    assert booster.rounds == 25


# Processes.


def in_a_fork(work: Callable[[], bytes]) -> bytes:
    """Return what a forked child's work returns."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writer, b"=" + work())
        except BaseException as error:
            os.write(writer, b"!" + repr(error).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said[:1] == b"=", said
    return said[1:]


@forks
def test_a_forked_copy_predicts_and_does_no_more() -> None:
    booster = trained()
    ticket = booster.ask(X)
    before = booster.digest()
    world = bb.worlds.SyntheticLinear(rounds=5, features=2)

    def work() -> bytes:
        calls: list[Callable[[], object]] = [
            lambda: booster.ask(X),
            lambda: booster.tell(ticket, np.ones(COPIES)),
            lambda: booster.forget(ticket),
            lambda: booster.forget_older_than(0),
            lambda: booster.limit_in_flight(1),
            lambda: copy.deepcopy(booster).ask(X),
            lambda: pickle.loads(pickle.dumps(booster)).ask(X),
            lambda: bb.evaluate.progressive(booster, world),
        ]
        for call in calls:
            with pytest.raises(RuntimeError, match="was copied from another process"):
                call()
        assert booster.digest() == before
        return booster.predict(X).tobytes()

    assert in_a_fork(work) == booster.predict(X).tobytes()
    booster.tell(ticket, np.ones(COPIES))  # the original goes on


@forks
def test_adopted_copies_have_streams_of_their_own() -> None:
    booster = trained(copies=30)
    ticket = booster.ask(X)

    def drawn(worker: int | None) -> bytes:
        booster.adopt(worker)
        if worker is not None:
            with pytest.raises(ValueError, match="issued by another"):
                booster.tell(ticket, np.ones(30))
        return booster.ask(X).probe.directions.tobytes()

    children = [in_a_fork(lambda worker=worker: drawn(worker)) for worker in (0, 1, 2, 0)]  # type: ignore[misc]
    taken_over = in_a_fork(lambda: drawn(None))
    own = booster.ask(X).probe.directions.tobytes()
    assert taken_over == own  # that is what it asks for
    assert len({own, *children}) == 4
    assert children[0] == children[3]  # reproducible
    with pytest.raises(ValueError, match="worker must be a whole number of at least 0, got -1"):
        booster.adopt(-1)
    # A later fork with the same number draws anew.
    assert in_a_fork(lambda: drawn(0)) != children[0]


def test_streams_of_workers_are_independent() -> None:
    # Signs of 64 workers' first 200 directions: correlations no larger than chance allows.
    signs = []
    for worker in range(64):
        booster = make(copies=200)
        booster.adopt(worker)
        signs.append(booster.ask(X).probe.directions)
    correlations = np.asarray(np.corrcoef(np.array(signs)))[np.triu_indices(64, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(200)
    assert abs(correlations.std() - 1 / np.sqrt(200)) < 0.1 / np.sqrt(200)


def first_directions(booster: bb.Booster, results: Any, worker: int | None) -> None:
    """What a worker process does with a booster that it was handed."""
    try:
        if worker is not None:
            booster.adopt(worker)
        results.put(booster.ask(X).probe.directions.tobytes())
    except RuntimeError as error:
        results.put(str(error))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_what_multiprocessing_hands_over_is_a_copy_that_knows_it(method: str) -> None:
    context: Any = multiprocessing.get_context(method)
    booster = trained(copies=30)
    results = context.Queue()
    said = []
    for worker in (None, 0, 1):
        process = context.Process(target=first_directions, args=(booster, results, worker))
        process.start()
        said.append(results.get(timeout=60))
        process.join()
    results.close()
    results.join_thread()
    assert "This booster was copied from another process" in said[0]
    assert len({said[1], said[2], booster.ask(X).probe.directions.tobytes()}) == 3


def test_what_is_pickled_moves() -> None:
    booster = trained()
    ticket = booster.ask(X)
    moved = pickle.loads(pickle.dumps(booster))
    assert moved.digest() == booster.digest()
    moved.tell(ticket, np.ones(COPIES))
    assert (moved.rounds, booster.rounds) == (6, 5)
    assert not np.shares_memory(moved.arrays()["weights"], booster.arrays()["weights"])


@pytest.mark.parametrize("way", [copy.deepcopy, copy.copy])
def test_a_copy_is_another_booster(way: Callable[[bb.Booster], bb.Booster]) -> None:
    booster = trained(copies=30)
    ticket = booster.ask(X)
    before, first, second = booster.digest(), way(booster), way(booster)
    assert booster.digest() == before
    assert len({booster.identity, first.identity, second.identity}) == 3
    for copied in (first, second):
        assert copied.rounds == booster.rounds
        np.testing.assert_array_equal(copied.predict(X), booster.predict(X))
        assert not np.shares_memory(copied.arrays()["weights"], booster.arrays()["weights"])
        assert copied.in_flight == ()
        with pytest.raises(ValueError, match="issued by another"):
            copied.tell(ticket, np.ones(30))
    drawn = [one.ask(X).probe.directions.tobytes() for one in (booster, first, second, way(first))]
    assert len(set(drawn)) == 4
    worker = pickle.loads(pickle.dumps(trained(copies=30)))
    worker.ask(X)
    worker.adopt(1)
    assert worker.ask(X).probe.directions.tobytes() not in drawn
    booster.tell(ticket, np.ones(30))


def test_copies_are_reproducible() -> None:
    drawn = [[copy.deepcopy(one).ask(X).probe.directions.tolist() for _ in range(2)] for one in (trained(), trained())]
    assert drawn[0] == drawn[1]


@forks
def test_a_fork_waits_for_calls_in_other_threads() -> None:
    # A child must not see a state half way through a call, nor a lock that nobody there will ever release.
    booster = trained(learner=Slow())
    ticket = booster.ask(X)
    begun = threading.Event()
    Slow.begun = begun
    before = booster.digest()
    thread = threading.Thread(target=lambda: booster.tell(ticket, np.ones(COPIES)))
    thread.start()
    begun.wait()
    seen = in_a_fork(lambda: booster.digest().encode() + booster.predict(X).tobytes())
    thread.join()
    Slow.begun = None
    assert seen == booster.digest().encode() + booster.predict(X).tobytes()
    assert booster.digest() != before


class Slow(bb.learners.Linear):
    """Changes its weights, waits, and changes them again."""

    begun: Any = None

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        plain = bank.update

        def update(context: Any, gradients: Any, t: int) -> None:
            plain(context, gradients, t)
            if Slow.begun is not None:
                Slow.begun.set()
                time.sleep(0.2)
            plain(context, gradients, t)

        bank.update = update  # type: ignore[method-assign]
        return bank


class ForksWithin(bb.learners.Linear):
    """Forks in the middle of an update, as a foreign model with workers of its own may."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        plain = bank.update

        def update(context: Any, gradients: Any, t: int) -> None:
            plain(context, gradients, t)
            assert in_a_fork(lambda: b"alive") == b"alive"

        bank.update = update  # type: ignore[method-assign]
        return bank


@forks
def test_a_part_that_forks_within_a_call_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "PATIENCE", 0.01)
    booster = make(learner=ForksWithin())
    booster.tell(booster.ask(X), np.ones(COPIES))
    assert booster.rounds == 1
