"""Every public call of a booster takes its lock, so that no thread sees half of another's call."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.learners.wrapped import LeastSquares

X = np.array([0.5, -1.0])
COPIES = 3


class CountedLock:
    """A lock that notes how often it was taken."""

    def __init__(self, lock: Any) -> None:
        self.lock, self.taken = lock, 0

    def __enter__(self) -> None:
        self.lock.acquire()
        self.taken += 1

    def __exit__(self, *error: object) -> None:
        self.lock.release()


CALLS: dict[str, Callable[[bb.Booster, Path], object]] = {
    "adopt": lambda booster, path: booster.adopt(3),
    "arrays": lambda booster, path: booster.arrays(),
    "ask": lambda booster, path: booster.ask(X),
    "between_calls": lambda booster, path: booster.between_calls(lambda: None)(),
    "digest": lambda booster, path: booster.digest(),
    "drifts": lambda booster, path: booster.drifts,
    "forget": lambda booster, path: booster.forget(booster.ask(X)),
    "forget_older_than": lambda booster, path: booster.forget_older_than(1),
    "header": lambda booster, path: booster.header(),
    "in_flight": lambda booster, path: booster.in_flight,
    "learn": lambda booster, path: booster.learn(X, 0.1, 0.2),
    "learn_from": lambda booster, path: booster.learn_from(bb.Log.from_arrays([X], [0.1], [0.2])),
    "limit_in_flight": lambda booster, path: booster.limit_in_flight(5),
    "erase": lambda booster, path: booster.erase([1], [X]),
    "log_to": lambda booster, path: booster.log_to(None),
    "predict": lambda booster, path: booster.predict(X),
    "predict_loss": lambda booster, path: booster.predict_loss(X),
    "predict_many": lambda booster, path: booster.predict_many([X]),
    "predict_outcome": lambda booster, path: booster.predict_outcome(X),
    "reset": lambda booster, path: booster.reset([0]),
    "save": lambda booster, path: booster.save(path),
    "step": lambda booster, path: booster.step(X, lambda queries: queries**2),
    "tell": lambda booster, path: booster.tell(booster.ask(X), np.ones(COPIES)),
    "wait_for_growth": lambda booster, path: booster.wait_for_growth(),
    "warned_since": lambda booster, path: booster.warned_since,
    "pickle.dumps": lambda booster, path: pickle.dumps(booster),
    "copy.deepcopy": lambda booster, path: copy.deepcopy(booster),
    "progressive": lambda booster, path: bb.evaluate.progressive(
        booster, bb.worlds.SyntheticLinear(rounds=5, features=2)
    ),
}
NO_CALLS = {"from_spec", "load", "restore", "become", "advance"}
"""What makes a booster, or is a step of a call that has the lock."""


def make() -> bb.Booster:
    space, bands = bb.spaces.Interval(-1, 1), bb.bands.Conformal(outcomes=True)
    booster = bb.algorithms.boosted(space, copies=COPIES, answers=COPIES, loss="squared", bands=bands, drifts=True)
    booster.step(X, lambda queries: queries**2)
    return booster


def test_every_public_name_is_known_here() -> None:
    public = {name for name in dir(bb.Booster) if not name.startswith("_")}
    assert public - set(CALLS) - NO_CALLS == set()


@pytest.mark.parametrize("name", CALLS)
def test_every_public_call_takes_the_lock(name: str, tmp_path: Path) -> None:
    booster = make()
    lock = CountedLock(booster._lock)
    booster._lock = lock  # type: ignore[assignment]
    CALLS[name](booster, tmp_path / "model.bb")
    assert lock.taken > 0


class Halting(LeastSquares):
    """A model that, where it is told to, lets another thread try its luck after the first copy has learned."""

    made = 0
    try_now: Callable[[], None] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.number = Halting.made % COPIES
        Halting.made += 1

    def learn_one(self, x: dict[str, float], y: float) -> None:
        if self.number == 1 and Halting.try_now is not None:
            wait, Halting.try_now = Halting.try_now, None
            wait()
        super().learn_one(x, y)


def learned(booster: bb.Booster) -> list[float]:
    return [float(model.weights.sum()) for (model,) in booster.bank.models]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "look",
    [
        lambda booster: booster.predict(X).tolist(),
        lambda booster: booster.predict_many([X]).tolist(),
        lambda booster: booster.digest(),
        lambda booster: learned(pickle.loads(pickle.dumps(booster))),
        lambda booster: learned(copy.deepcopy(booster)),
    ],
    ids=["predict", "predict_many", "digest", "pickle", "deepcopy"],
)
def test_no_thread_sees_half_a_call(look: Callable[[bb.Booster], Any]) -> None:
    Halting.made = 0
    booster = bb.Booster(bb.learners.Wrapped(Halting), COPIES, space=bb.spaces.Interval(-1, 1))
    for _ in range(2):
        booster.step(X, lambda queries: 0.01 * queries)
    before, seen = look(booster), []
    ticket = booster.ask(X)
    thread = threading.Thread(target=lambda: seen.append(look(booster)))

    def halt() -> None:
        thread.start()
        thread.join(timeout=0.2)  # it cannot get in, however long one waits

    Halting.try_now = halt
    booster.tell(ticket, np.array([0.02, -0.03, 0.05]))
    thread.join()
    assert Halting.try_now is None
    assert seen == [look(booster)]
    assert seen != [before]


def test_a_pickle_is_of_one_moment() -> None:
    # Whoever pickles reads the arrays after the lock was given back: they must not be the ones that go on learning.
    booster = bb.Booster(copies=COPIES, space=bb.spaces.Interval(-1, 1), features=2)
    booster.step(X, lambda queries: queries**2)
    state = booster.__getstate__()
    kept = state["bank"].arrays()["weights"].copy()
    booster.step(X, lambda queries: queries - 5.0)
    np.testing.assert_array_equal(state["bank"].arrays()["weights"], kept)
    assert state["rounds"] == 1
    assert state["spec"] is booster.spec
