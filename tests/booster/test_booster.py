"""The loop's promises: pure predictions, legal queries, late answers, exact continuation, refusals that change nothing."""

from __future__ import annotations

import copy
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import banditboost as bb
from banditboost._core import spec, streams
from banditboost._storage import model_file
from banditboost.booster.geometry import corrected

SPACE = bb.spaces.Interval(-1.0, 1.0)


def make(**changes: Any) -> bb.Booster:
    parts: dict[str, Any] = {"copies": 4, "gradient": bb.gradients.OnePoint(0.2), "space": SPACE}
    return bb.Booster(**(parts | changes))


def fingerprint(booster: bb.Booster) -> tuple[Any, ...]:
    """All of a booster's state, bit for bit."""
    arrays = {} if booster.bank is None else {k: v.tobytes() for k, v in booster.bank.arrays().items()}
    stands = {role: streams.state(rng) for role, rng in booster.streams.items()}
    return (arrays, stands, booster.rounds, booster.features, set(booster._pending), booster._asked)


def trained(rounds: int = 10, **changes: Any) -> bb.Booster:
    booster, rng = make(**changes), np.random.default_rng(0)
    for _ in range(rounds):
        x = rng.uniform(-1, 1, 3)
        booster.step(x, lambda queries, x=x: (queries - x[0]) ** 2)  # type: ignore[misc]
    return booster


# Refusals: each is one sentence, and the state stays as it was to the last bit.

BAD_CALLS: dict[str, tuple[Callable[[bb.Booster, bb.Ticket], Any], str]] = {
    "wrong number of features": (lambda b, t: b.ask([1.0, 2.0]), "x must have 3 features, got 2"),
    "context with two axes": (lambda b, t: b.ask([[1.0, 2.0, 3.0]]), "x must be one context with one axis"),
    "NaN in the context": (lambda b, t: b.ask([1.0, np.nan, 0.0]), "x must be finite, got NaN or infinity"),
    "a context beyond all squares": (
        lambda b, t: b.ask([1.0, 1e200, 0.0]),
        r"x must lie between -1e\+50 and 1e\+50, got 1e\+200",
    ),
    "infinity in the context": (lambda b, t: b.ask([1.0, np.inf, 0.0]), "x must be finite, got NaN or infinity"),
    "text in the context": (lambda b, t: b.ask(["a", "b", "c"]), "x must be numbers"),
    "no context": (lambda b, t: b.ask(), "x must be given"),
    "predicting in a wrong context": (lambda b, t: b.predict([1.0]), "x must have 3 features, got 1"),
    "NaN in the losses": (lambda b, t: b.tell(t, [1.0, 2.0, np.nan, 1.0]), "losses must be finite"),
    "infinity in the losses": (lambda b, t: b.tell(t, [1.0, 2.0, -np.inf, 1.0]), "losses must be finite"),
    "too few losses": (lambda b, t: b.tell(t, [1.0, 2.0, 3.0]), r"losses must have shape \(4,\), got \(3,\)"),
    "too many losses": (lambda b, t: b.tell(t, np.ones(5)), r"losses must have shape \(4,\), got \(5,\)"),
    "losses that overflow": (lambda b, t: b.tell(t, np.full(4, 1e308)), "losses must lie between"),
    "losses whose gradients overflow": (lambda b, t: b.tell(t, np.full(4, 9e49)), "these overflow"),
    "text for losses": (lambda b, t: b.tell(t, ["a", "b", "c", "d"]), "losses must be numbers"),
    "a ticket of another booster": (lambda b, t: b.tell(make().ask(np.zeros(3)), np.ones(4)), "from this booster"),
    "no ticket at all": (lambda b, t: b.tell(None, np.ones(4)), "ticket must be what ask returned, got NoneType"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_bad_calls_are_refused_and_change_nothing(name: str) -> None:
    call, message = BAD_CALLS[name]
    booster = trained()
    ticket = booster.ask(np.ones(3))
    before = copy.deepcopy(fingerprint(booster))
    with pytest.raises(ValueError, match=message) as error:
        call(booster, ticket)
    assert str(error.value).count(".") >= 1
    assert "\n" not in str(error.value)
    assert fingerprint(booster) == before
    booster.tell(ticket, np.ones(4))  # and the ticket is still good


def test_a_ticket_is_told_once() -> None:
    booster = trained()
    ticket = booster.ask(np.ones(3))
    booster.tell(ticket, np.ones(4))
    before = copy.deepcopy(fingerprint(booster))
    with pytest.raises(ValueError, match="must not be told twice"):
        booster.tell(ticket, np.ones(4))
    assert fingerprint(booster) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"copies": 0}, "copies must be a whole number of at least 1, got 0"),
        ({"copies": 2.5}, "copies must be a whole number"),
        ({"copies": True}, "copies must be a whole number"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"space": None}, "space must be given"),
        ({"space": 3}, "space must be a Space, got 3"),
        ({"learner": "linear"}, "learner must be a Learner"),
        ({"gradient": bb.gradients.OnePoint(1.0)}, "delta must be below the space's inner radius 1"),
        ({"chain": bb.chains.Single()}, "copies must be 1 with the chain Single"),
        ({"features": -1}, "features must be a whole number of at least 0"),
    ],
)
def test_bad_parts_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_a_failing_oracle_leaves_no_ticket_behind() -> None:
    booster = trained()

    def broken(queries: np.ndarray) -> np.ndarray:
        raise RuntimeError("the world is down")

    with pytest.raises(RuntimeError, match="the world is down"):
        booster.step(np.ones(3), broken)
    with pytest.raises(ValueError, match="losses must have shape"):
        booster.step(np.ones(3), lambda queries: np.ones(3))
    assert not booster._pending
    assert booster.rounds == 10


# Predictions.


def test_predict_is_what_ask_predicts_and_ask_does_not_change_it() -> None:
    booster = trained()
    x = np.array([0.3, -0.2, 0.9])
    first = booster.predict(x)
    before = copy.deepcopy(fingerprint(booster))
    assert booster.predict(x) == first
    assert fingerprint(booster) == before
    assert booster.ask(x).prediction == first
    assert booster.ask(x).prediction == first
    assert booster.predict(x) == first


def test_predicting_first_does_not_fix_the_number_of_features() -> None:
    booster = make()
    assert booster.predict([1.0, 2.0]) == 0.0
    booster.ask([1.0, 2.0, 3.0])
    assert booster.features == 3


def test_told_late_and_out_of_order() -> None:
    # The rule: a ticket's own plays and directions, the state and the schedule at the time of telling.
    booster = make(learner=bb.learners.Linear(radius=None, rate=bb.rates.Power(0.1, 0.5)), inside=False)
    rng = np.random.default_rng(1)
    contexts = rng.uniform(-1, 1, (3, 2))
    tickets = [booster.ask(x) for x in contexts]
    expected = np.zeros((4, 3))
    for t, which in enumerate([2, 0, 1], start=1):
        losses = rng.normal(size=4)
        booster.tell(tickets[which], losses)
        gradients = losses * tickets[which].probe.directions / 0.2
        expected -= 0.1 * t**-0.5 * np.outer(gradients, np.append(contexts[which], 1.0))
        assert booster.bank is not None
        np.testing.assert_allclose(booster.bank.arrays()["weights"], expected, rtol=1e-12)


# Legal queries.


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    space=st.sampled_from(
        [s for kind in (bb.spaces.Interval, bb.spaces.Box, bb.spaces.Ball) for s in kind.examples()]
        + [bb.spaces.Interval(1.0, 29.0), bb.spaces.Interval(-7.0, -2.0)]
    ),
    share=st.floats(0.001, 0.99),
    gamma=st.sampled_from([0.3, 1.0, 2.5]),
    scale=st.sampled_from([1e-3, 1.0, 1e3]),
    chain=st.sampled_from(["paper", "slow", "single"]),
    seed=st.integers(0, 100),
)
def test_no_query_leaves_the_space(
    space: bb.spaces.Space, share: float, gamma: float, scale: float, chain: str, seed: int
) -> None:
    delta = share * space.inner_radius
    chains = {
        "paper": (bb.chains.ConvexHull(gamma), 5),
        "slow": (bb.chains.ConvexHull(gamma, bb.chains.Harmonic(1.0, 3.0)), 5),
        "single": (bb.chains.Single(gamma), 1),
    }
    part, copies = chains[chain]
    booster = bb.Booster(
        bb.learners.Linear(radius=50.0 * scale, rate=bb.rates.Constant(scale)),
        copies,
        part,
        bb.gradients.OnePoint(delta, queries=2),
        space,
        seed=seed,
    )
    rng = np.random.default_rng(seed)
    for _ in range(25):
        ticket = booster.ask(rng.normal(size=3) * scale)
        assert space.contains(ticket.queries).all()
        assert space.contains(ticket.prediction)
        assert space.contains(ticket.path).all()
        booster.tell(ticket, rng.normal(size=len(ticket.queries)))


def test_outside_queries_do_leave_when_allowed() -> None:
    booster = bb.Booster(
        copies=3, gradient=bb.gradients.OnePoint(0.5), space=bb.spaces.Interval(-0.1, 0.1), inside=False
    )
    ticket = booster.ask([1.0])
    assert not bb.spaces.Interval(-0.1, 0.1).contains(ticket.queries).any()
    assert bb.spaces.Interval(-0.1, 0.1).contains(ticket.prediction)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(seed=st.integers(0, 10_000), space=st.sampled_from([*bb.spaces.Ball.examples(), *bb.spaces.Box.examples()]))
def test_the_corrected_gradient_bounds_the_regret_of_what_was_played(seed: int, space: bb.spaces.Space) -> None:
    rng = np.random.default_rng(seed)
    wished, gradients = rng.normal(size=(8, *space.shape)) * 3, rng.normal(size=(8, *space.shape))
    played = space.project(wished)
    better = corrected(gradients, wished, played, 1)
    assert (np.linalg.norm(better, axis=1) <= np.linalg.norm(gradients, axis=1) + 1e-12).all()
    for comparator in space.project(rng.normal(size=(20, *space.shape)) * 3):
        paid = (gradients * (played - comparator)).sum(axis=1)
        learned = (better * (wished - comparator)).sum(axis=1)
        assert (paid <= learned + 1e-9).all()


# Saving.


@pytest.mark.parametrize("rounds", [0, 1, 17])
def test_save_load_continue_is_continue(tmp_path: Path, rounds: int) -> None:
    booster = trained(rounds)
    booster.save(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb")
    assert loaded.spec == booster.spec
    rng = np.random.default_rng(5)
    for _ in range(20):
        x, blur = rng.uniform(-1, 1, 3), rng.normal(size=4)
        one, two = booster.ask(x), loaded.ask(x)
        assert one.queries.tobytes() == two.queries.tobytes()
        assert one.prediction.tobytes() == two.prediction.tobytes()
        booster.tell(one, one.queries**2 + blur)
        loaded.tell(two, two.queries**2 + blur)
    assert fingerprint(booster)[:3] == fingerprint(loaded)[:3]


def test_saving_replaces_all_or_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.bb"
    trained(3).save(path)
    before = path.read_bytes()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(OSError, match="No space left"):
        trained(5).save(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.bb"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


def test_damaged_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.bb"
    trained(3).save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="is not a banditboost file, or it is damaged"):
        bb.Booster.load(path)
    path.write_text("hello")
    with pytest.raises(ValueError, match="is not a banditboost file, or it is damaged"):
        bb.Booster.load(path)
    np.savez(path.with_suffix(".npz"), header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="is not a banditboost file, or it is damaged"):
        bb.Booster.load(path.with_suffix(".npz"))
    with pytest.raises(FileNotFoundError, match="There is no file"):
        bb.Booster.load(tmp_path / "nothing.bb")


def test_a_newer_format_is_refused_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "FORMAT", 99)
    trained(3).save(tmp_path / "model.bb")
    monkeypatch.undo()
    with pytest.raises(ValueError, match="has format 99; this version of banditboost"):
        bb.Booster.load(tmp_path / "model.bb")


class Foreign(bb.learners.Linear):
    """A user's own learner."""


def test_parts_that_are_not_known_come_from_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    booster = trained(4, learner=Foreign(radius=2.0))
    booster.save(tmp_path / "model.bb")
    monkeypatch.delitem(spec._KINDS, Foreign.kind)
    with pytest.raises(ValueError, match="is not known here"):
        bb.Booster.load(tmp_path / "model.bb")
    loaded = bb.Booster.load(tmp_path / "model.bb", parts={Foreign.kind: Foreign(radius=2.0)})
    assert fingerprint(loaded)[:2] == fingerprint(booster)[:2]


def test_twenty_copies_and_sparse_rows() -> None:
    assert bb.Booster(space=bb.spaces.Interval(-1, 1)).spec.copies == 20
    booster = bb.Booster(copies=2, space=bb.spaces.Interval(-1, 1))
    row: Any = csr_array(np.array([[0.0, 2.0]]))
    assert booster.ask(row).context is not None
    assert booster.predict(row) == booster.predict([0.0, 2.0])


def test_repr_is_five_readable_lines() -> None:
    wide = bb.spaces.Hull(np.random.default_rng(0).normal(size=(50, 3)).tolist())
    for booster in (
        bb.algorithms.boosted(bb.spaces.Interval(0, 1)),
        bb.algorithms.boosted(wide),
        bb.algorithms.projection_free(bb.spaces.Simplex(4)),
        bb.Booster(space=bb.spaces.Ball(2), features=3),
    ):
        lines = repr(booster).splitlines()
        assert [line.split()[0] for line in lines] == ["Booster:", "learner", "chain", "gradient", "space"]
        assert max(map(len, lines)) <= 112
        assert not any(line.endswith("...") for line in lines[1:4]), "parts are named, and not cut in the middle"
    assert "Mixed(Standardized(SecondOrder), Tree)" in repr(
        bb.algorithms.boosted(bb.spaces.Interval(0, 1), memory=None)
    )
