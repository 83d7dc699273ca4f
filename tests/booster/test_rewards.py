"""Losses and rewards: given once, by name or as the booster was made; worlds always speak losses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.booster import answers as answers_module
from banditboost.spaces.stacks import Entries, Factored

SPACE = bb.spaces.Interval(0.0, 10.0)


def make(maximize: bool = False, gradient: bb.gradients.Gradient | None = None) -> bb.Booster:
    chosen = bb.gradients.OnePoint(0.5) if gradient is None else gradient
    return bb.Booster(copies=3, gradient=chosen, space=SPACE, maximize=maximize)


def played(booster: bb.Booster, tell: Callable[[bb.Booster, bb.Ticket, np.ndarray], Any]) -> str:
    """The digest of a booster after some rounds whose losses are told in some way, without what its spec says."""
    rng = np.random.default_rng(0)
    for x in rng.uniform(-1, 1, (20, 2)):
        ticket = booster.ask(x)
        losses = (ticket.queries - 7.0 - x[0]) ** 2
        tell(booster, ticket, losses if ticket.asks == "values" else 2 * (ticket.queries - 7.0 - x[0]))
    return booster.digest(written={})


WAYS: dict[str, tuple[bool, Callable[[bb.Booster, bb.Ticket, np.ndarray], Any]]] = {
    "losses by name": (False, lambda b, t, losses: b.tell(t, losses=losses)),
    "rewards by name": (False, lambda b, t, losses: b.tell(t, rewards=-losses)),
    "rewards as values": (True, lambda b, t, losses: b.tell(t, -losses)),
    "rewards by name to one that maximizes": (True, lambda b, t, losses: b.tell(t, rewards=-losses)),
    "losses by name to one that maximizes": (True, lambda b, t, losses: b.tell(t, losses=losses)),
}


def same_whatever_the_words(gradient: bb.gradients.Gradient) -> None:
    wanted = played(make(gradient=gradient), lambda b, t, losses: b.tell(t, losses))
    for name, (maximize, tell) in WAYS.items():
        assert played(make(maximize, gradient), tell) == wanted, name


@pytest.mark.parametrize("gradient", [bb.gradients.OnePoint(0.5), bb.gradients.Exact(), bb.gradients.Remembered(2)])
def test_the_same_is_learned_whatever_the_answers_are_called(gradient: bb.gradients.Gradient) -> None:
    same_whatever_the_words(gradient)


@pytest.mark.parametrize("gradient", [bb.gradients.OnePoint(0.5), bb.gradients.Exact()])
def test_rewards_that_keep_their_sign_are_caught(
    gradient: bb.gradients.Gradient, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = answers_module.told

    def unsigned(ticket: Any, maximize: Any, *said: Any) -> Any:
        return right(ticket, False, *said)

    monkeypatch.setattr("banditboost.booster.booster.told", unsigned)
    with pytest.raises(AssertionError, match="rewards as values"):
        same_whatever_the_words(gradient)


def test_step_follows_the_same_rule() -> None:
    one, two = make(), make(maximize=True)
    for x in ([0.1, 0.2], [0.5, -0.4]):
        one.step(x, lambda queries: (queries - 7.0) ** 2)
        two.step(x, lambda queries: -((queries - 7.0) ** 2))
    assert one.digest(written={}) == two.digest(written={})


BAD: dict[str, tuple[Callable[[bb.Booster, bb.Ticket], Any], str]] = {
    "nothing": (lambda b, t: b.tell(t), "answers must be given once, as values or losses= or rewards=, got nothing"),
    "None": (lambda b, t: b.tell(t, None), "answers must be given once, .* got nothing"),
    "values and losses": (lambda b, t: b.tell(t, [1, 2, 3], losses=[1, 2, 3]), "given once, .* got two of them"),
    "losses and rewards": (lambda b, t: b.tell(t, losses=[1, 2, 3], rewards=[1, 2, 3]), "got two of them"),
    "all": (lambda b, t: b.tell(t, [1, 2, 3], losses=[1, 2, 3], rewards=[1, 2, 3]), "got all three"),
    "too few rewards": (lambda b, t: b.tell(t, rewards=[1, 2]), r"rewards must have shape \(3,\), got \(2,\)"),
    "rewards without numbers": (lambda b, t: b.tell(t, rewards=[1, 2, np.nan]), "rewards must be finite"),
    "too few losses": (lambda b, t: b.tell(t, losses=[1, 2]), r"losses must have shape \(3,\), got \(2,\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_answers_are_refused_and_change_nothing(name: str) -> None:
    call, message = BAD[name]
    booster = make()
    ticket = booster.ask([0.1, 0.2])
    before = booster.digest()
    with pytest.raises(ValueError, match=message) as error:
        call(booster, ticket)
    assert "\n" not in str(error.value)
    assert booster.digest() == before
    booster.tell(ticket, rewards=[1.0, 2.0, 3.0])


def test_an_error_names_what_was_given() -> None:
    booster = make(maximize=True)
    with pytest.raises(ValueError, match=r"rewards must have shape \(3,\), got \(2,\)"):
        booster.tell(booster.ask([0.1, 0.2]), [1, 2])
    with pytest.raises(ValueError, match="maximize must be True or False, got 'yes'"):
        make(maximize="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("compiled", [False, None])
def test_worlds_tell_losses_to_boosters_that_maximize_too(compiled: bool | None) -> None:
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (300, 2))
    world = bb.worlds.Supervised(X, 5.0 + X[:, 0], noise=bb.noise.Uniform(0.1))
    traces = [bb.evaluate.progressive(make(maximize), world, compiled=compiled) for maximize in (False, True)]
    assert traces[0].predictions.tobytes() == traces[1].predictions.tobytes()
    bb.testing.check_booster(make(maximize=True))


def test_gradients_of_matrices_turn_their_sign_without_being_made() -> None:
    rng = np.random.default_rng(2)
    factored = Factored(rng.normal(size=(3, 4)), rng.normal(size=(3, 5)), None, rng.normal(size=(4, 5)), np.ones(3))
    entries = Entries((2, 4, 5), np.array([0, 3]), np.array([1, 1]), rng.normal(size=(2, 2)))
    for stack in (factored, entries):
        assert type(-stack) is type(stack)
        assert np.array_equal(np.asarray(-stack), -np.asarray(stack))


def test_a_booster_that_maximizes_says_so_and_is_saved(tmp_path: Path) -> None:
    booster = make(maximize=True)
    booster.step([0.1, 0.2], lambda queries: queries)
    assert "1 round told, maximizing, seed 0" in repr(booster)
    assert "maximizing" not in repr(make())
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert loaded.spec == booster.spec
    assert copy.deepcopy(loaded).spec.maximize


def test_boosted_learns_from_rewards() -> None:
    booster = bb.algorithms.boosted(SPACE, answers=2, maximize=True)
    rng = np.random.default_rng(3)
    for x in rng.uniform(0, 4, (400, 1)):
        booster.step(x, lambda queries, x=x: 30.0 - (queries - 3.0 - x) ** 2)  # type: ignore[misc]
    assert abs(float(booster.predict([2.0])) - 5.0) < 0.3


@pytest.mark.parametrize(
    "form", [float, np.float64, np.array, lambda x: [x]], ids=["float", "NumPy's", "array", "list"]
)
def test_one_answer_needs_no_list(form: Any) -> None:
    one, other = (bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=1) for _ in range(2))
    for t in range(5):
        mine, theirs = one.ask([float(t)]), other.ask([float(t)])
        one.tell(mine, rewards=form(t + 0.5), actions=form(float(np.floor(mine.action))))
        other.tell(theirs, rewards=[t + 0.5], actions=[np.floor(theirs.action)])
    assert one.digest() == other.digest()


def test_one_number_is_no_answer_to_two_queries() -> None:
    booster = bb.algorithms.boosted(bb.spaces.Interval(0, 10), answers=2)
    with pytest.raises(ValueError, match=r"losses must have shape \(2,\), got \(\)"):
        booster.tell(booster.ask([1.0]), 3.0)
