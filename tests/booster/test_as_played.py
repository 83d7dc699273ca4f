"""What was played, told as what it was: rounded, replaced, or without an answer; and rounds that are written to a log."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import banditboost as bb
from banditboost.gradients import Remembered

LINE, BOX = bb.spaces.Interval(0.0, 10.0), bb.spaces.Box((0.0, -1.0), (10.0, 1.0))


def make(answers: int = 1, space: Any = LINE) -> bb.Booster:
    return bb.algorithms.boosted(space, answers=answers, copies=5)


def losses(points: Any) -> Any:
    return np.square(np.reshape(points, (len(points), -1)) - 4.0).sum(axis=1)


def play(booster: bb.Booster, rounds: int) -> None:
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        ticket = booster.ask(rng.uniform(-1, 1, 2))
        booster.tell(ticket, losses(ticket.queries) + rng.normal(0, 0.1, len(ticket.queries)))


def pair(answers: int = 1, space: Any = LINE) -> tuple[bb.Booster, bb.Booster, bb.Ticket]:
    """Two boosters in one state, and a ticket that both can be told."""
    booster = make(answers, space)
    play(booster, 60)
    ticket = booster.ask([0.3, 0.4])
    return booster, pickle.loads(pickle.dumps(booster)), ticket


@pytest.mark.parametrize("answers", [1, 2, 5])
@pytest.mark.parametrize("space", [LINE, BOX], ids=["d = 1", "d = 2"])
def test_what_was_asked_about_is_told_as_without_actions(answers: int, space: Any) -> None:
    one, other, ticket = pair(answers, space)
    one.tell(ticket, losses(ticket.queries))
    other.tell(ticket, losses(ticket.queries), actions=ticket.queries, answered=[True] * answers)
    for name, array in one.arrays().items():
        np.testing.assert_allclose(other.arrays()[name], array, rtol=1e-9, atol=1e-12, err_msg=name)
        if answers == 1:
            assert np.array_equal(other.arrays()[name], array), name


def test_a_price_that_was_rounded_is_learned_from_as_what_it_was() -> None:
    one, other, ticket = pair()
    probe, gradient = ticket.probe, one.spec.gradient
    law = np.asarray(probe.law)
    middle = float(ticket.prediction) + 10.0 * law[0, 0]
    price = np.array([middle + 0.5 * (float(ticket.action) - middle)])  # halfway to the middle of the law
    told, _ = gradient.as_played(probe, price, np.array([True]), np.array([1.0]), LINE)
    np.testing.assert_allclose(told.directions, 0.5 * probe.directions, rtol=1e-9)
    one.tell(ticket, [3.0], actions=price)
    other.tell(ticket, [3.0])
    assert any(not np.array_equal(array, other.arrays()[name]) for name, array in one.arrays().items())


def test_of_an_action_beyond_the_law_the_critic_alone_learns() -> None:
    one, other, ticket = pair()
    before = {name: array.copy() for name, array in one.arrays().items()}
    one.tell(ticket, [3.0], actions=[0.0])
    changed = {name for name, array in one.arrays().items() if not np.array_equal(array, before[name])}
    measured = {"known", *(f"inner.1.{name}" for name in ("count", "means", "variations", "sizes"))}
    assert changed <= {"gradient.facts", "gradient.levels", "gradient.bends"} | measured
    assert "gradient.facts" in changed
    other.learn([0.3, 0.4], 0.0, loss=3.0)
    for name, array in one.arrays().items():
        assert np.array_equal(array, other.arrays()[name]), name
    assert one.in_flight == ()


def test_pairs_that_are_whole_and_one_single_answer_are_used() -> None:
    booster, _, ticket = pair(5)
    answered = np.array([True, True, False, True, True])
    values = losses(ticket.queries)[answered]
    probe, kept = booster.spec.gradient.as_played(
        ticket.probe, np.array(ticket.queries), answered, values, booster.spec.space
    )
    assert np.array_equal(probe.queries, ticket.queries[[0, 1, 3]])
    assert np.array_equal(kept, losses(ticket.queries)[[0, 1, 3]])
    np.testing.assert_allclose(probe.directions, [ticket.probe.directions[0], -ticket.probe.directions[1]], rtol=1e-9)


@pytest.mark.parametrize("answers", [2, 3, 5])
def test_a_round_whose_answers_are_missing_learns_what_fewer_questions_would_teach(answers: int) -> None:
    # With all but a pair missing, copies are told what that pair shows: the slope of a square is exact.
    booster, _, ticket = pair(answers)
    gradient, memory = booster.spec.gradient, booster.gradient_memory
    answered = np.arange(answers) < 2
    probe, values = gradient.as_played(
        ticket.probe, np.array(ticket.queries), answered, losses(ticket.queries)[answered], LINE
    )
    found = gradient.estimate(values, probe, LINE, memory)
    alone = Remembered(2, gradient.explore, lasting=0.5, wary=2.0, changes=True)  # type: ignore[attr-defined]
    wanted = alone.estimate(values, probe._replace(importance=None), LINE, memory)
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"losses": [1.0, 2.0], "answered": [True, False, False]}, "losses must have shape"),
        ({"losses": [1.0, np.nan, 2.0]}, "losses must be finite"),
        ({"losses": [], "answered": [False] * 3}, "answered must be True for a query at least"),
        ({"losses": [1.0], "answered": [True]}, "answered must be True or False for each of 3 queries"),
        ({"losses": [1.0], "answered": [0, 1, 0]}, "answered must be True or False for each of 3 queries"),
        ({"losses": [1.0, 1.0, 1.0], "actions": [1.0, 2.0, 11.0]}, "actions must lie in the space"),
        ({"losses": [1.0, 1.0, 1.0], "actions": [1.0, 2.0]}, "actions must have shape"),
        ({"losses": [1.0, 1.0, 1.0], "actions": [1.0, np.nan, 2.0]}, "actions must be finite"),
    ],
)
def test_what_is_wrong_is_said_before_anything_changes(arguments: dict[str, Any], said: str) -> None:
    booster, _, ticket = pair(3)
    before = booster.digest()
    with pytest.raises(ValueError, match=said):
        booster.tell(ticket, **arguments)
    assert booster.digest() == before
    booster.tell(ticket, losses(ticket.queries))


def test_gradients_that_need_all_answers_say_so() -> None:
    for gradient in (bb.gradients.OnePoint(0.2), bb.gradients.TwoPoint(0.2), bb.gradients.Fitted(0.2)):
        booster = bb.Booster(gradient=gradient, space=LINE, copies=3)
        ticket = booster.ask([0.1])
        before = booster.digest()
        with pytest.raises(ValueError, match="needs all answers to its own questions"):
            booster.tell(ticket, losses(ticket.queries), actions=ticket.queries)
        assert booster.digest() == before
    booster = bb.Booster(gradient=bb.gradients.Exact(), space=LINE, copies=3)
    with pytest.raises(ValueError, match="must be left out where gradients are told"):
        booster.tell(booster.ask([0.1]), [1.0, 1.0, 1.0], answered=[True] * 3)


def test_prices_teach_the_critic_of_sales_as_they_were() -> None:
    one, other = (bb.algorithms.pricing(LINE, copies=5) for _ in range(2))
    tickets = [booster.ask([0.1]) for booster in (one, other)]
    one.tell(tickets[0], rewards=[6.99], actions=[6.99])
    other.learn([0.1], 6.99, reward=6.99)
    for name, array in one.arrays().items():
        assert np.array_equal(array, other.arrays()[name]), name


@settings(max_examples=25, deadline=None)
@given(data=st.data(), answers=st.sampled_from([1, 2, 3, 5]))
def test_any_actions_and_any_missing_answers_can_be_told(data: st.DataObject, answers: int) -> None:
    booster = make(answers)
    play(booster, 12)
    for _ in range(4):
        ticket = booster.ask([0.1, 0.2], space=data.draw(st.sampled_from([None, (3.0, 5.0), (4.0, 4.0)])))
        mask = data.draw(st.lists(st.booleans(), min_size=answers, max_size=answers).filter(any))
        count = sum(mask)
        actions = data.draw(st.lists(st.floats(0.0, 10.0), min_size=count, max_size=count))
        values = data.draw(st.lists(st.floats(-1e3, 1e3), min_size=count, max_size=count))
        booster.tell(ticket, losses=values, actions=actions, answered=mask)
        assert LINE.contains(np.asarray(booster.predict([0.5, 0.5])))
    assert booster.rounds == 16
    assert all(np.isfinite(array).all() for name, array in booster.arrays().items() if name.startswith("gradient"))


# Logs.


class Kept:
    """A log in a list, which may fail."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.fails = False

    def append(self, *row: Any) -> None:
        if self.fails:
            raise OSError("no space left")
        self.rows.append(row)


def test_rounds_are_appended_to_a_log_when_they_are_told() -> None:
    booster, log = make(3), Kept()
    booster.log_to(log)
    ticket, later = booster.ask([0.1, 0.2]), booster.ask([0.3, 0.4])
    assert not log.rows
    booster.tell(later, rewards=[1.0, 2.0, 3.0])
    moved = np.array([ticket.queries[0], 4.5])
    booster.tell(ticket, [1.0, 2.0], actions=moved, answered=[True, False, True])
    context, actions, told, densities, number = log.rows[0]
    assert (context.tolist(), told.tolist(), number) == ([0.3, 0.4], [-1.0, -2.0, -3.0], 2)
    assert np.array_equal(actions, later.queries)
    assert np.array_equal(densities, later.density)
    _, actions, told, densities, number = log.rows[1]
    assert np.array_equal(actions, moved)
    assert (told.tolist(), number) == ([1.0, 2.0], 1)
    assert densities[0] == ticket.density[0]
    assert np.isnan(densities[1])
    booster.log_to(None)
    booster.step([0.1, 0.2], losses)
    assert len(log.rows) == 2


def test_a_log_that_fails_leaves_the_round_told() -> None:
    one, other, ticket = pair()
    log = Kept()
    log.fails = True
    one.log_to(log)
    other.tell(ticket, [1.0])
    with pytest.raises(OSError, match="no space left"):
        one.tell(ticket, [1.0])
    assert one.digest() == other.digest()
    log.fails = False
    one.step([0.1, 0.2], losses)
    assert len(log.rows) == 1


def test_copies_have_no_log_and_what_is_no_log_is_refused() -> None:
    booster, log = make(), Kept()
    booster.log_to(log)
    for other in (copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))):
        other.step([0.1, 0.2], losses)
    assert not log.rows
    with pytest.raises(ValueError, match="writer must have a method append"):
        booster.log_to("log.csv")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="it is told gradients"):
        bb.Booster(gradient=bb.gradients.Exact(), space=LINE).log_to(log)


def test_one_decision_stands_for_a_list_of_one() -> None:
    boosters = [bb.algorithms.boosted(bb.spaces.Box((0, 0, 0), (1, 1, 1)), answers=1, copies=4) for _ in range(2)]
    for _ in range(3):
        tickets = [booster.ask([0.5]) for booster in boosters]
        boosters[0].tell(tickets[0], 1.0, actions=tickets[0].action)
        boosters[1].tell(tickets[1], [1.0], actions=[tickets[1].action])
    assert boosters[0].digest() == boosters[1].digest()
    with pytest.raises(ValueError, match="actions must"):
        boosters[0].tell(boosters[0].ask([0.5]), 1.0, actions=[[0.1], [0.2, 0.3]])
