"""Answers that come late, out of order, twice or never; tickets that travel."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core import streams
from banditboost._storage import model_file
from banditboost.spaces.stacks import Entries, Factored
from tests.booster.slow_booster import COPIES, SlowBooster, make
from tests.checks.discovery import Target, answers, boosters


@pytest.mark.parametrize("seed", range(5))
def test_any_order_gives_the_state_that_a_slow_loop_computes(seed: int) -> None:
    rng, booster, slow = np.random.default_rng(seed), make(seed), SlowBooster()
    waiting: list[bb.Ticket] = []
    for _ in range(300):
        if waiting and rng.random() < 0.5:
            ticket = waiting.pop(int(rng.integers(len(waiting))))
            losses = 3 * rng.normal(size=COPIES)
            booster.tell(ticket, losses)
            slow.tell(ticket.number, losses.tolist(), ticket.probe.directions.tolist())
        elif rng.random() < 0.9:
            x = rng.uniform(-1, 1, 2)
            waiting.append(booster.ask(x))
            expected = slow.in_flight[slow.ask(x.tolist())]
            np.testing.assert_allclose(waiting[-1].prediction, expected.prediction, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(waiting[-1].probe.anchors, expected.anchors, rtol=1e-9, atol=1e-12)
        elif waiting:
            lost = waiting.pop(0)
            assert booster.forget(lost)
            del slow.in_flight[lost.number]
        assert booster.rounds == slow.rounds
        assert booster.in_flight == tuple(slow.in_flight)
        if booster.bank is not None:
            np.testing.assert_allclose(booster.bank.arrays()["weights"], slow.weights, rtol=1e-9, atol=1e-12)
    assert booster.rounds > 100


def test_the_oldest_is_forgotten_when_there_are_too_many() -> None:
    booster = make(max_in_flight=3)
    tickets = [booster.ask([0.1, 0.2]) for _ in range(3)]
    booster.tell(tickets[1], np.ones(COPIES))
    tickets += [booster.ask([0.1, 0.2]) for _ in range(3)]
    assert list(booster.in_flight) == [4, 5, 6]
    before = booster.digest()
    for gone in tickets[:3]:
        with pytest.raises(bb.NotInFlightError, match="this one is no longer in flight"):
            booster.tell(gone, np.ones(COPIES))
    assert booster.digest() == before
    booster.limit_in_flight(1)
    assert list(booster.in_flight) == [6]
    booster.tell(tickets[5], np.ones(COPIES))
    with pytest.raises(ValueError, match="limit must be a whole number of at least 1, got 0"):
        booster.limit_in_flight(0)
    with pytest.raises(ValueError, match="in_flight must be a whole number of at least 1"):
        make(max_in_flight=0)


def test_memory_does_not_grow_with_answers_that_never_come() -> None:
    booster = make(max_in_flight=50)
    for _ in range(2000):
        booster.ask([0.1, 0.2])
    assert booster.in_flight == tuple(range(1951, 2001))


def test_the_oldest_is_found_wherever_it_is() -> None:
    # Few tickets far apart, many told in between; then a limit that one after the other passes.
    rng, booster, slow = np.random.default_rng(0), make(max_in_flight=5), SlowBooster(limit=5)
    for t in range(600):
        ticket = booster.ask([0.1, 0.2])
        slow.ask([0.1, 0.2])
        if rng.random() > (0.02 if t < 400 else 0.7):
            booster.tell(ticket, np.zeros(COPIES))
            slow.tell(ticket.number, [0.0] * COPIES, [1.0] * COPIES)
        assert booster.in_flight == tuple(slow.in_flight)


def test_deadlines_count_rounds_asked() -> None:
    booster = make()
    tickets = [booster.ask([0.0, 0.0]) for _ in range(10)]
    booster.tell(tickets[3], np.ones(COPIES))
    assert booster.forget_older_than(20) == 0
    assert booster.forget_older_than(5) == 3  # 1, 2, 3; 4 was told, and 5 others were asked after 5
    assert list(booster.in_flight) == [5, 6, 7, 8, 9, 10]
    assert booster.forget_older_than(5) == 0
    assert booster.forget(tickets[4])
    assert not booster.forget(tickets[4])
    assert booster.forget_older_than(0) == 4
    assert list(booster.in_flight) == [10]
    with pytest.raises(ValueError, match="rounds must be a whole number of at least 0, got -1"):
        booster.forget_older_than(-1)
    with pytest.raises(ValueError, match="issued by another"):
        booster.forget(make().ask([0.0, 0.0]))


def test_forgetting_leaves_what_was_learned() -> None:
    one, two = make(), make()
    for booster in (one, two):
        booster.tell(booster.ask([0.5, 0.5]), [1.0, 2.0, 3.0])
    one.forget(one.ask([0.1, 0.1]))
    two.ask([0.1, 0.1])
    assert one.predict([0.5, 0.5]) == two.predict([0.5, 0.5])
    assert one.ask([0.2, 0.2]).queries.tobytes() == two.ask([0.2, 0.2]).queries.tobytes()


def test_answers_about_an_earlier_phase_are_checked_too() -> None:
    booster = bb.algorithms.projection_free_bandit(bb.spaces.Ball(2, 1.0))
    late = booster.ask()
    for _ in range(16):
        booster.step(None, lambda queries: np.square(queries).sum(axis=-1))
    assert booster.phase == 1
    before = booster.digest()
    for bad in (np.full(len(late.queries), np.nan), np.ones(len(late.queries) + 1), "text"):
        with pytest.raises(ValueError, match="losses must"):
            booster.tell(late, bad)
    assert booster.digest() == before
    booster.tell(late, np.ones(len(late.queries)))
    assert booster.rounds == 16
    with pytest.raises(bb.NotInFlightError):
        booster.tell(late, np.ones(len(late.queries)))


# Tickets in files.

BOOSTERS = list(boosters())
each_booster = pytest.mark.parametrize("booster", [b for _, b in BOOSTERS], ids=[name for name, _ in BOOSTERS])


@each_booster
def test_told_from_files_is_told(booster: bb.Booster, tmp_path: Path) -> None:
    world, booster = Target(booster), bb.Booster.from_spec(booster.spec)
    for t in range(3):
        ticket = booster.ask(world.context(t))
        booster.tell(ticket, answers(world, ticket, t))
    waiting = [booster.ask(world.context(t)) for t in (3, 4)]
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts=booster.spec.callables())
    assert loaded.digest() == booster.digest()
    for t, ticket in reversed(list(enumerate(waiting, start=3))):
        ticket.save(tmp_path / "ticket.bb")
        again = bb.Ticket.load(tmp_path / "ticket.bb")
        assert again.queries.tobytes() == ticket.queries.tobytes()
        assert again.draws.tolist() == ticket.draws.tolist()
        given = answers(world, again, t)
        booster.tell(ticket, given)
        loaded.tell(again, given)
        assert loaded.digest() == booster.digest()
        with pytest.raises(bb.NotInFlightError):
            loaded.tell(again, given)


def large() -> tuple[bb.Booster, bb.Ticket, Entries]:
    space = bb.spaces.NuclearBall(70, 80, radius=1.0)
    booster = bb.Booster(bb.learners.FPL(), 3, gradient=bb.gradients.Stochastic(), space=space)
    rows, columns = np.array([1, 2]), np.array([3, 4])
    return booster, booster.ask(), Entries((3, 70, 80), rows, columns, np.ones((3, 2)))


def test_described_matrices_travel(tmp_path: Path) -> None:
    booster, ticket, given = large()
    assert isinstance(ticket.path, Factored)
    ticket.save(tmp_path / "ticket.bb")
    booster.save(tmp_path / "model.bb")
    loaded, again = bb.Booster.load(tmp_path / "model.bb"), bb.Ticket.load(tmp_path / "ticket.bb")
    assert isinstance(again.path, Factored)
    assert np.asarray(again.queries).tobytes() == np.asarray(ticket.queries).tobytes()
    booster.tell(ticket, given.array())
    loaded.tell(again, given.array())
    assert loaded.digest() == booster.digest()


def test_a_stack_of_ones_own_cannot_be_saved(tmp_path: Path) -> None:
    _, ticket, _ = large()
    ticket.path = bb.spaces.stacks.Stack.array(Mine((3, 70, 80)))
    with pytest.raises(TypeError, match="A Mine cannot be saved"):
        ticket.save(tmp_path / "ticket.bb")
    assert not list(tmp_path.iterdir())


class Mine(bb.spaces.stacks.Stack):
    finite = True

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def matrix(self, i: int) -> Any:
        return np.zeros(self.shape[1:])

    def part(self, which: slice) -> Mine:
        return self

    def add_to(self, totals: Any) -> None:
        pass


def rewritten(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    """Change a file's header and arrays."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    header = json.loads(arrays.pop("header").tobytes())
    del arrays["checksum"]
    change(header, arrays)
    with open(path, "wb") as out:
        text = json.dumps(header).encode()
        arrays["checksum"] = np.frombuffer(
            model_file._checksum(text, arrays), np.uint8
        )  # who changes a file can do that too
        np.savez(out, header=np.frombuffer(text, dtype=np.uint8), **arrays)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: header["ticket"].pop("path"),
        lambda header, arrays: header["ticket"].update(path=99),
        lambda header, arrays: header["ticket"].update(path="0"),
        lambda header, arrays: header["ticket"].update(raw=None),
        lambda header, arrays: header["ticket"].update(asks="lies"),
        lambda header, arrays: header["ticket"].update(number=1.5),
        lambda header, arrays: header["ticket"].update(probe=[0, 1]),
        lambda header, arrays: header.update(ticket=[]),
        lambda header, arrays: arrays.update({"array.0": np.full_like(arrays["array.0"], np.nan)}),
        lambda header, arrays: arrays.update({"array.1": np.zeros(9)}),
        lambda header, arrays: arrays.pop("array.0"),
    ],
)
def test_damaged_tickets_are_refused(tmp_path: Path, change: Callable[..., Any]) -> None:
    make().ask([0.5, 0.5]).save(tmp_path / "ticket.bb")
    rewritten(tmp_path / "ticket.bb", change)
    with pytest.raises(ValueError, match="is damaged: its arrays do not make a ticket"):
        bb.Ticket.load(tmp_path / "ticket.bb")


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    booster = make()
    booster.ask([0.5, 0.5]).save(tmp_path / "ticket.bb")
    booster.save(tmp_path / "model.bb")
    with pytest.raises(ValueError, match="does not hold a booster"):
        bb.Booster.load(tmp_path / "ticket.bb")
    with pytest.raises(ValueError, match="does not hold a ticket"):
        bb.Ticket.load(tmp_path / "model.bb")


def test_a_ticket_whose_file_was_changed_to_fit_another_is_refused(tmp_path: Path) -> None:
    booster, other = make(), make(copies=5)
    booster.ask([0.5, 0.5])
    stranger = other.ask([0.5, 0.5])
    stranger.owner = booster.identity
    stranger.save(tmp_path / "ticket.bb")
    before = booster.digest()
    with pytest.raises(ValueError, match="the arrays in its file do not fit this booster"):
        booster.tell(bb.Ticket.load(tmp_path / "ticket.bb"), np.ones(5))
    assert booster.digest() == before


# What a file says about itself.


def saved(tmp_path: Path) -> Path:
    booster = make()
    for _ in range(5):
        booster.step([0.1, 0.2], lambda queries: queries**2)
    booster.ask([0.1, 0.2])
    booster.save(tmp_path / "model.bb")
    return tmp_path / "model.bb"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"phase_rounds": 6}, "phase_rounds must be what rounds and phase say, got 6 of 5"),
        ({"phase_rounds": 4}, "phase_rounds must be what rounds and phase say, got 4 of 5"),
        ({"rounds": -1}, "rounds must be a whole number up to .*, got -1"),
        ({"rounds": True}, "rounds must be a whole number up to .*, got True"),
        ({"phase": 1}, "phase must be 0 without a plan, got 1"),
        ({"features": -2}, "features must be a whole number up to .*, got -2"),
        ({"features": "2"}, "features must be a whole number up to .*, got '2'"),
        ({"features": 3}, "its array 'weights' is missing or does not fit its spec"),
        ({"streams": {}}, "its random streams are not those of a booster"),
        ({"streams": []}, "its random streams are not those of a booster"),
        ({"identity": 7}, "identity must be a short text, got 7"),
        ({"asked": 5}, "its tickets in flight are not among the 5 that were asked"),
        ({"in_flight": [6, 6]}, "its tickets in flight are not among the 6"),
        ({"in_flight": [0]}, "its tickets in flight are not among the 6"),
        ({"in_flight": "6"}, "its tickets in flight are not among the 6"),
        ({"in_flight": [6.0]}, "its tickets in flight are not among the 6"),
        ({"outdated": 7}, "its tickets in flight are not among the 6"),
        ({"limit": 0}, "its tickets in flight are not among the 6"),
    ],
)
def test_headers_that_contradict_themselves_are_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = saved(tmp_path)
    rewritten(path, lambda header, arrays: header.update(change))
    with pytest.raises(ValueError, match=message):
        bb.Booster.load(path)


@pytest.mark.parametrize("change", [{"phase": 61}, {"phase": 0}, {"rounds": 19}, {"phase_rounds": 32, "rounds": 48}])
def test_headers_of_plans_are_held_against_their_phases(tmp_path: Path, change: dict[str, Any]) -> None:
    booster = bb.algorithms.projection_free(bb.spaces.Ball(2, 1.0))
    for _ in range(20):
        booster.step(None, lambda queries: queries)
    booster.save(tmp_path / "model.bb")
    rewritten(tmp_path / "model.bb", lambda header, arrays: header.update(change))
    with pytest.raises(ValueError, match="is damaged: phase"):
        bb.Booster.load(tmp_path / "model.bb")


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = saved(tmp_path)
    before = bb.Booster.load(path)
    rewritten(
        path, lambda header, arrays: [header.pop(k) for k in ("identity", "asked", "in_flight", "outdated", "limit")]
    )
    loaded = bb.Booster.load(path)
    assert (loaded.rounds, loaded.in_flight, loaded.in_flight_limit) == (5, (), 100_000)
    assert loaded.identity != before.identity
    assert loaded.ask([0.3, 0.3]).queries.tobytes() == before.ask([0.3, 0.3]).queries.tobytes()


def test_saving_and_loading_keep_limit_and_border(tmp_path: Path) -> None:
    booster = bb.algorithms.projection_free(bb.spaces.Ball(2, 1.0))
    booster.limit_in_flight(7)
    late = booster.ask()
    for _ in range(16):
        booster.step(None, lambda queries: queries)
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert loaded.in_flight_limit == 7
    loaded.tell(late, np.ones_like(late.queries))  # of an earlier phase, so that nothing is learned
    assert loaded.rounds == 16


# A foreign model that plays no numbers.


class Breaks:
    told = 0

    def predict_one(self, x: dict[str, float]) -> float:
        return float("nan") if self.told >= 2 else 0.0

    def learn_one(self, x: dict[str, float], y: float) -> None:
        self.told += 1


class Wild(bb.learners.Linear):
    """A user's own learner, which divides by zero one day."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        bank.weights[...] = np.inf
        return bank


def test_a_model_that_predicts_no_number_is_named() -> None:
    booster = make(learner=bb.learners.Wrapped(Breaks()))
    for _ in range(2):
        booster.step([0.1, 0.2], lambda queries: queries**2)
    before = copy.deepcopy({role: streams.state(rng) for role, rng in booster.streams.items()})
    for call in (booster.ask, booster.predict):
        with pytest.raises(ValueError, match="got NaN or infinity from the wrapped model Breaks"):
            call([0.1, 0.2])
    assert (booster.rounds, booster.in_flight) == (2, ())
    assert {role: streams.state(rng) for role, rng in booster.streams.items()} == before
    with pytest.raises(ValueError, match="learner must play finite numbers, got NaN or infinity from Wild"):
        make(learner=Wild()).ask([0.1, 0.2])


def test_archive_reads_what_it_wrote(tmp_path: Path) -> None:
    model_file.write(tmp_path / "x.bb", {"holds": "something"}, {"a": np.arange(3.0)})
    header, arrays = model_file.read(tmp_path / "x.bb")
    assert (header["holds"], arrays["a"].tolist()) == ("something", [0.0, 1.0, 2.0])
