"""Random sequences of everything a caller may do with a booster, against a loop over plain numbers.

Hypothesis makes the sequences up and shortens those that fail. The loop knows nothing of files: whatever is saved, loaded, reopened
or told from a file must leave the booster in agreement with it.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import banditboost as bb
from tests.booster.slow_booster import COPIES, SlowBooster, make

# Memory in place of a disk, where there is one: what is waited for here thousands of times is tested elsewhere.
FOLDER = "/dev/shm" if Path("/dev/shm").is_dir() else None
NUMBERS = st.sampled_from([-2.0, -0.5, 0.0, 0.3, 1.0])
CONTEXTS = st.lists(NUMBERS, min_size=2, max_size=2)
LOSSES = st.lists(NUMBERS, min_size=COPIES, max_size=COPIES)


class Machine(RuleBasedStateMachine):
    """A booster, its journal where it has one, the slow loop, and every ticket that was ever issued."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(dir=FOLDER))
        self.booster, self.slow = make(), SlowBooster()
        self.journal: bb.Journal | None = None
        self.tickets: dict[int, bb.Ticket] = {}
        self.journals = 0

    @initialize(limit=st.sampled_from([2, 4, 100]))
    def begin(self, limit: int) -> None:
        self.booster.limit_in_flight(limit)
        self.slow.limit = limit

    @property
    def path(self) -> Path:
        return self.folder / f"{self.journals}.journal"

    def picked(self, place: int, in_flight: bool) -> bb.Ticket | None:
        """One of the tickets that wait, or that no longer do."""
        found = [t for n, t in self.tickets.items() if (n in self.slow.in_flight) == in_flight]
        return found[place % len(found)] if found else None

    @rule(x=CONTEXTS)
    def ask(self, x: list[float]) -> None:
        predicted = self.booster.predict(x)
        ticket = self.booster.ask(x)
        number = self.slow.ask(x)
        assert ticket.number == number
        assert ticket.prediction == predicted
        np.testing.assert_allclose(predicted, self.slow.play(x).prediction, rtol=1e-9, atol=1e-12)
        self.tickets[number] = ticket

    @rule(place=st.integers(0, 20), losses=LOSSES)
    def tell(self, place: int, losses: list[float]) -> None:
        ticket = self.picked(place, in_flight=True)
        if ticket is not None:
            self.booster.tell(ticket, losses)
            self.slow.tell(ticket.number, losses, ticket.probe.directions.tolist())

    @rule(place=st.integers(0, 20), losses=LOSSES)
    def tell_again(self, place: int, losses: list[float]) -> None:
        ticket = self.picked(place, in_flight=False)
        if ticket is not None:
            with pytest.raises(bb.NotInFlightError):
                self.booster.tell(ticket, losses)
            assert not self.booster.forget(ticket)

    @rule(place=st.integers(0, 20), bad=st.sampled_from(["nan", "short", "overflowing"]))
    def tell_badly(self, place: int, bad: str) -> None:
        ticket = self.picked(place, in_flight=True)
        if ticket is not None:
            before = self.booster.digest()
            given = {"nan": [np.nan] * COPIES, "short": [1.0], "overflowing": [1e308] * COPIES}[bad]
            with pytest.raises(ValueError, match="losses must"):
                self.booster.tell(ticket, given)
            assert self.booster.digest() == before

    @rule(x=CONTEXTS)
    def tell_of_another(self, x: list[float]) -> None:
        before = self.booster.digest()
        with pytest.raises(ValueError, match="issued by another"):
            self.booster.tell(make().ask(x), [0.0] * COPIES)
        assert self.booster.digest() == before

    @rule(place=st.integers(0, 20))
    def forget(self, place: int) -> None:
        ticket = self.picked(place, in_flight=True)
        if ticket is not None:
            assert self.booster.forget(ticket)
            del self.slow.in_flight[ticket.number]

    @rule(rounds=st.integers(0, 4))
    def forget_older_than(self, rounds: int) -> None:
        assert self.booster.forget_older_than(rounds) == self.slow.forget_older_than(rounds)

    @rule(x=CONTEXTS)
    def predict(self, x: list[float]) -> None:
        before = self.booster.digest()
        np.testing.assert_allclose(self.booster.predict(x), self.slow.play(x).prediction, rtol=1e-9, atol=1e-12)
        assert self.booster.digest() == before

    @rule(place=st.integers(0, 20), in_flight=st.booleans())
    def send_a_ticket(self, place: int, in_flight: bool) -> None:
        ticket = self.picked(place, in_flight)
        if ticket is not None:
            ticket.save(self.folder / "ticket.bb")
            self.tickets[ticket.number] = bb.Ticket.load(self.folder / "ticket.bb")

    @precondition(lambda self: self.journal is None)
    @rule()
    def save_and_load(self) -> None:
        before = self.booster.digest()
        self.booster.save(self.folder / "model.bb")
        self.booster = bb.Booster.load(self.folder / "model.bb")
        assert self.booster.digest() == before

    @precondition(lambda self: self.journal is None and not self.slow.in_flight)
    @rule(every=st.sampled_from([1, 3, 100]))
    def record(self, every: int) -> None:
        self.journals += 1
        self.journal = bb.Journal(self.path, self.booster, sync_every=1000, snapshot_every=every)

    @precondition(lambda self: self.journal is not None)
    @rule(orderly=st.booleans(), every=st.sampled_from([1, 3, 100]), keep=st.booleans())
    def reopen(self, orderly: bool, every: int, keep: bool) -> None:
        assert self.journal is not None
        before = self.booster.digest()
        if orderly:
            self.journal.close()
        else:
            self.journal._let_go()  # all that a process leaves behind that is killed now
        self.booster = make()
        self.journal = bb.Journal(self.path, self.booster, sync_every=1000, snapshot_every=every)
        assert self.booster.digest() == before
        assert set(self.journal.tickets) == set(self.slow.in_flight)
        if not keep:  # the caller has lost its tickets too
            self.tickets |= self.journal.tickets

    @precondition(lambda self: self.journal is not None)
    @rule()
    def go_on_without(self) -> None:
        assert self.journal is not None
        self.journal.close()
        self.journal = None

    @invariant()
    def agrees(self) -> None:
        assert self.booster.rounds == self.slow.rounds
        assert self.booster.in_flight == tuple(sorted(self.slow.in_flight))
        if self.booster.bank is not None:
            weights = self.booster.bank.arrays()["weights"]
            np.testing.assert_allclose(weights, self.slow.weights, rtol=1e-9, atol=1e-12)

    def teardown(self) -> None:
        if self.journal is not None:
            self.journal.close()
        shutil.rmtree(self.folder)


steady = settings(max_examples=300, stateful_step_count=16, derandomize=True, deadline=None, database=None)
Machine.TestCase.settings = steady
TestBooster = Machine.TestCase


class LongMachine(Machine):
    """The same for longer: `make torture`."""


LongMachine.TestCase.settings = settings(steady, max_examples=2000)
TestBoosterForLong = pytest.mark.torture(LongMachine.TestCase)
