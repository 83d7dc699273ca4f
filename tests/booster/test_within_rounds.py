"""A handler of a signal may predict between any two lines of a round: what is learned is the same to the last bit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost._core.checks import Array
from banditboost.learners.forgetting import ForgettingBank

CONTEXTS = np.random.default_rng(0).normal(size=(6, 3))
PARTS = ("learners/forgetting.py", "learners/standardized.py", "chains/mix.py", "gradients/remembered.py")


def rounds(booster: bb.Booster) -> None:
    """A few rounds, some of them told late."""
    tickets = list[bb.Ticket]()
    for x in CONTEXTS:
        tickets.append(booster.ask(x))
        if len(tickets) == 2:
            for ticket in tickets:
                booster.tell(ticket, [float(ticket.action - 0.1 * ticket.context[0]) ** 2])  # type: ignore[index]
            tickets.clear()


def interrupted(rounds: Callable[[], None], handler: Callable[[], None]) -> None:
    """Play rounds, with a handler called before every line of the default's parts, as that of a signal would be."""
    busy = False

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal busy
        if not frame.f_code.co_filename.replace("\\", "/").endswith(PARTS):
            return trace if event == "call" else None
        if event == "line" and not busy:
            busy = True
            handler()
            busy = False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        rounds()
    finally:
        sys.settrace(before)


def differs() -> bool:
    """Whether rounds leave another state where a handler predicts meanwhile, and teaches another booster."""
    alone, disturbed, other = (bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=1) for _ in range(3))
    rounds(alone)

    def handler() -> None:
        if disturbed.bank is not None:
            disturbed.predict(10.0 * CONTEXTS[3])
        ticket = other.ask(CONTEXTS[1])
        other.tell(ticket, [0.3])

    interrupted(lambda: rounds(disturbed), handler)
    return alone.digest() != disturbed.digest()


def test_a_round_in_which_a_handler_predicts_is_the_same() -> None:
    assert not differs()


def test_copies_that_are_shown_contexts_before_they_learn_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, seen = ForgettingBank.update, dict[int, Array]()

    def play(self: ForgettingBank, context: Array | None) -> Array:
        assert context is not None
        seen[id(self)] = context
        return self.play_many(context[np.newaxis])[:, 0]

    def update(self: ForgettingBank, context: Array | None, gradients: Array, t: int) -> None:
        play(self, context)
        plain(self, seen[id(self)], gradients, t)  # before this line a handler may have played in another context

    update.__code__ = update.__code__.replace(co_filename="learners/forgetting.py")
    monkeypatch.setattr(ForgettingBank, "play", play)
    monkeypatch.setattr(ForgettingBank, "update", update)
    assert differs()
