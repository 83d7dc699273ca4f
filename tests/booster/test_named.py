"""Boosters whose contexts have names: they learn, grow, travel and replay as others do."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import banditboost as bb
from banditboost.booster import named as columns_of
from banditboost.encoder import Encoder

LINE = bb.spaces.Interval(-4.0, 4.0)
CITIES = ("Rom", "Wien", "Oslo", "Bern", "Kiew", "Riga")
WORTH = dict(zip(CITIES, (2.0, -2.0, 1.0, -1.0, 0.5, -0.5), strict=True))


def customer(rng: np.random.Generator) -> dict[str, Any]:
    """A context with every kind of value; keys in any order, some missing, baskets of any length."""
    x: dict[str, Any] = {
        "city": str(rng.choice(CITIES)),
        "age": float(rng.uniform(20, 60)),
        "basket": [f"p{k}" for k in rng.choice(5, size=rng.integers(0, 4))],
        "member": bool(rng.integers(2)),
        "when": f"2026-05-{rng.integers(1, 29):02d}T{rng.integers(24):02d}:00",
        "income": None if rng.random() < 0.3 else float(rng.uniform(0, 1)),
    }
    names = list(x)
    rng.shuffle(names)
    return {name: x[name] for name in names}


def truth(x: dict[str, Any]) -> float:
    """What the words, the missing values and the hour are worth."""
    at_night = int(x["when"][11:13]) in (22, 23, 0, 1)
    return float(
        WORTH[x["city"]] + 0.4 * x["basket"].count("p3") + (1.0 if x["income"] is None else 0.0) - 0.8 * at_night
    )


def play(booster: bb.Booster, rounds: int, seed: int = 0, told: Any = lambda x: x) -> np.ndarray[Any, Any]:
    """Play rounds, and return the losses of predictions."""
    rng, losses = np.random.default_rng(seed), np.empty(rounds)
    for t in range(rounds):
        x = customer(rng)
        y = truth(x) + rng.uniform(-0.1, 0.1)
        ticket = booster.ask(told(x))
        losses[t] = (ticket.prediction - y) ** 2
        booster.tell(ticket, (ticket.queries - y) ** 2)
    return losses


def small(**options: Any) -> bb.Booster:
    return bb.Booster(
        bb.learners.Standardized(bb.learners.SecondOrder()),
        2,
        bb.chains.Additive(),
        bb.gradients.Fitted(),
        LINE,
        encoder=True,
        **options,
    )


def test_it_learns_what_names_say_and_what_numbers_alone_do_not() -> None:
    rounds, late = 1500, 900
    with_names = play(bb.algorithms.boosted(LINE, answers=4, encoder=True, copies=5), rounds)
    numbers = play(
        bb.algorithms.boosted(LINE, answers=4, copies=5), rounds, told=lambda x: [x["age"], x["income"] or 0.0]
    )
    rng = np.random.default_rng(0)
    labels = np.array([truth(customer(rng)) + rng.uniform(-0.1, 0.1) for _ in range(rounds)])
    assert with_names[late:].mean() < 0.05 * labels[late:].var()
    assert with_names[late:].mean() < 0.05 * numbers[late:].mean()


def test_the_order_of_keys_changes_no_bit() -> None:
    one, other = small(), small()
    assert np.array_equal(play(one, 80), play(other, 80, told=lambda x: dict(sorted(x.items()))))
    assert one.digest() == other.digest()


def test_a_booster_with_names_is_one_with_columns_in_the_order_of_appearance() -> None:
    """The slow twin: all columns there from the start, filled by a table of names that is kept by hand."""
    booster = small()
    rng, contexts = np.random.default_rng(3), []
    for _ in range(60):
        contexts.append(customer(rng))
    encoder, columns = Encoder(), list[str]()
    for x in contexts:
        pairs = encoder.pairs(x)
        columns += [text for text in pairs.texts if text not in columns]
    twin = bb.Booster.from_spec(replace(booster.spec, encoder=None), len(columns))
    for x in contexts:
        pairs = encoder.pairs(x)
        row = np.zeros(len(columns))
        row[[columns.index(text) for text in pairs.texts]] = pairs.values
        tickets = booster.ask(x), twin.ask(row)
        np.testing.assert_allclose(tickets[0].path, tickets[1].path, atol=1e-9)
        for owner, ticket in zip((booster, twin), tickets, strict=True):
            owner.tell(ticket, (ticket.queries - truth(x)) ** 2)
    assert booster.features >= len(columns)
    named = booster.predict_many(contexts)
    np.testing.assert_allclose(named, [booster.predict(x) for x in contexts], atol=1e-12)


def test_predicting_changes_nothing_and_ignores_what_is_new() -> None:
    booster = small()
    assert booster.predict({"never": "seen"}) == booster.predict({}) == 0.0
    assert booster.predict_many([{"a": 1}, {"b": "c"}]).tolist() == [0.0, 0.0]
    play(booster, 30)
    before = booster.digest()
    x = customer(np.random.default_rng(9))
    assert booster.predict(x | {"new name": "word", "other": 3.0}) == booster.predict(x)
    frame = pl.DataFrame([customer(np.random.default_rng(k)) for k in range(5)])
    assert np.array_equal(booster.predict_many(frame), booster.predict_many(frame.to_dicts()))
    assert booster.predict_many(frame, staged=True).shape == (2, 5)
    assert booster.digest() == before


def test_saved_loaded_copied_and_pickled_it_goes_on_bit_for_bit(tmp_path: Path) -> None:
    booster = bb.algorithms.boosted(LINE, answers=3, copies=6, encoder=Encoder(bits=12, signed=True), bands=True)
    play(booster, 60)
    waiting = booster.ask({"city": "Rom"})
    booster.save(tmp_path / "model.bb")
    waiting.save(tmp_path / "ticket.bb")
    loaded, pickled = bb.Booster.load(tmp_path / "model.bb"), pickle.loads(pickle.dumps(booster))
    assert loaded.digest() == pickled.digest() == booster.digest()
    assert loaded.names is not None
    assert booster.names is not None
    assert loaded.names.explained() == booster.names.explained()
    for one in (booster, loaded, pickled):
        one.ask({"more": {f"f{k}": k for k in range(100)}})  # columns grow while a ticket waits
        one.tell(bb.Ticket.load(tmp_path / "ticket.bb"), [1.0, 2.0, 3.0])
    losses = [play(one, 40, seed=5) for one in (booster, loaded, pickled)]
    assert np.array_equal(losses[0], losses[1])
    assert np.array_equal(losses[0], losses[2])
    assert loaded.digest() == booster.digest()
    twin = copy.deepcopy(booster)
    twin.ask({"only": "here"})
    assert twin.names is not None
    assert len(twin.names.explained()) == len(booster.names.explained()) + 1


def test_a_ticket_from_before_its_booster_grew_is_learned_from(tmp_path: Path) -> None:
    """A name that comes later was zero before: telling before and after it has come gives the same copies."""
    early, late = small(), small()
    tickets = [booster.ask({"a": 1.0, "b": 2.0}) for booster in (early, late)]
    early.tell(tickets[0], [1.0, 3.0])
    tickets[1].save(tmp_path / "ticket.bb")
    for booster in (early, late):
        booster.ask({"c": 1.0, "d": "e"})
    late.tell(bb.Ticket.load(tmp_path / "ticket.bb"), [1.0, 3.0])
    assert early.features == late.features > 2
    for x in ({"a": 1.0}, {"c": 2.0, "b": -1.0}):
        assert early.predict(x) == pytest.approx(late.predict(x), abs=1e-12)


def test_a_journal_replays_names_bit_for_bit(tmp_path: Path) -> None:
    path, gradient = tmp_path / "run.journal", bb.gradients.Remembered(3)

    def fresh() -> bb.Booster:
        return bb.Booster(
            bb.learners.Linear(radius=3.0), 3, gradient=gradient, space=LINE, encoder=Encoder(bits=10), seed=2
        )

    booster = fresh()
    journal = bb.Journal(path, booster, snapshot_every=25)
    play(booster, 40)
    ticket = booster.ask({"city": "Rom", "new": "wörd"}, space=(-1.0, 1.0))
    digest, names = booster.digest(), booster.names
    again = bb.Journal.replay(path)
    assert again.booster.digest() == digest
    assert again.differs_at is None
    assert names is not None
    assert again.booster.names is not None
    assert again.booster.names.explained() == names.explained()
    assert again.booster.names.collisions == names.collisions
    journal.close()
    resumed = fresh()
    with bb.Journal(path, resumed) as reopened:
        resumed.tell(reopened.tickets[ticket.number], [0.1, 0.2, 0.3])
        booster.tell(ticket, [0.1, 0.2, 0.3])
        assert resumed.digest() == booster.digest()
        play(resumed, 10, seed=4)
    play(booster, 10, seed=4)
    assert bb.Journal.replay(path).booster.digest() == booster.digest()


HOSTILE: list[Any] = [
    [1.0, 2.0], np.zeros(2), None, "Rom", {"a": np.inf}, {"a": object()}, {"a": [1]}, {"a": {"b": 1}, "a.b": 1}, {1.5: 2},
    {"x" * 70_000: 1}, {f"f{k}": k for k in range(70_000)},
]  # fmt: skip


def test_hostile_contexts_change_nothing(tmp_path: Path) -> None:
    booster = small(bands=True)
    with bb.Journal(tmp_path / "run.journal", booster):
        play(booster, 5)
        before = booster.digest(), booster._asked
        for x in HOSTILE:
            for call in (booster.ask, booster.predict, booster.predict_loss, lambda x: booster.predict_many([x])):
                with pytest.raises(ValueError, match="must"):
                    call(x)
        assert (booster.digest(), booster._asked) == before
        play(booster, 5)


def test_columns_are_bounded_and_what_finds_none_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns_of, "MOST_COLUMNS", 8)
    booster = small()
    for k in range(30):
        booster.step({"word": f"w{k}"}, lambda queries: queries**2)
    assert booster.names is not None
    assert (booster.features, booster.names.columns, booster.names.left_out) == (8, 8, 22)
    assert "22 values without a column" in repr(booster)
    assert booster.predict({"word": "w29"}) == booster.predict({})


def test_what_cannot_take_names_says_so() -> None:
    with pytest.raises(ValueError, match="encoder must be left out with FPL"):
        bb.Booster(bb.learners.FPL(), 2, space=bb.spaces.Ball(2, 1.0), encoder=True)
    with pytest.raises(ValueError, match="encoder must be left out with FromCritic"):
        bb.Booster(
            gradient=bb.gradients.FromCritic(bb.critics.Sales()), copies=2, space=bb.spaces.Interval(0, 1), encoder=True
        )
    with pytest.raises(ValueError, match="encoder must be True, False or an Encoder"):
        bb.Booster(space=LINE, encoder=12)  # type: ignore[arg-type]
    network = bb.Booster(bb.learners.Network(), 2, space=LINE, encoder=True)
    network.step({"a": 1.0}, lambda queries: queries**2)
    before = network.digest()
    with pytest.raises(ValueError, match="encoder must be left out with Network"):
        network.ask({"b": 1.0})
    assert network.digest() == before
    network.step({"a": 2.0}, lambda queries: queries**2)
    world = bb.worlds.Supervised([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(ValueError, match="contexts with names are read one by one"):
        bb.evaluate.progressive(small(), world, compiled=True)
    with pytest.raises(ValueError, match="x must name its features"):
        bb.evaluate.progressive(small(), world)


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    from banditboost._storage import model_file

    booster, path = small(), tmp_path / "model.bb"
    play(booster, 5)
    booster.save(path)
    header, arrays = model_file.read(path)
    spoiled = [
        {name: array for name, array in arrays.items() if name != "encoder.named"},
        {name: array for name, array in arrays.items() if not name.startswith("encoder.")},
        arrays | {"encoder.columns": np.concatenate([arrays["encoder.columns"], arrays["encoder.columns"][:1]])},
        arrays | {"encoder.text": arrays["encoder.text"][1:]},
    ]
    for damaged in spoiled:
        model_file.write(path, header, damaged)
        with pytest.raises(ValueError, match="is damaged"):
            bb.Booster.load(path)
    without = {**header, "spec": {**header["spec"], "encoder": None}}
    model_file.write(path, without, arrays)
    with pytest.raises(ValueError, match="holds names, and its spec has no encoder"):
        bb.Booster.load(path)


def test_a_booster_without_an_encoder_writes_what_it_always_did() -> None:
    booster = bb.Booster(space=LINE)
    assert "encoder" not in booster.spec.to_dict()
    assert not any(name.startswith("encoder") for name in booster.arrays())


def test_repr_shows_the_encoder() -> None:
    booster = small()
    assert repr(booster).endswith("encoder   Encoder()")
    booster.ask({"city": "Rom"})
    assert repr(booster).endswith("1 indices, 0 of them shared; 0.00% of values at an index of another feature")


MANY = 3000
VALUES = np.random.default_rng(3).normal(size=MANY)


def visitor(rng: np.random.Generator) -> dict[str, Any]:
    """A context with a basket of many possible products, the first of which come often."""
    bought = np.minimum(rng.zipf(1.3, size=6), MANY) - 1
    return {"age": float(rng.uniform(20, 60)), "basket": sorted({f"p{k}" for k in bought.tolist()})}


def bought_worth(x: dict[str, Any]) -> float:
    return float(np.clip(sum(VALUES[int(name[1:])] for name in x["basket"]) / 2, -4, 4))


def losses_of(booster: bb.Booster, rounds: int, seed: int = 0) -> list[float]:
    rng, losses = np.random.default_rng(seed), []
    for _ in range(rounds):
        x = visitor(rng)
        ticket = booster.ask(x)
        losses.append((float(ticket.prediction) - bought_worth(x)) ** 2)
        booster.tell(ticket, (ticket.queries - bought_worth(x)) ** 2)
    return losses


def test_many_names_are_kept_sparse_and_nothing_is_left_out_or_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster = bb.algorithms.boosted(LINE, answers=2, encoder=True)
    losses = losses_of(booster, 900)
    assert booster.names is not None
    assert booster.names.columns > columns_of.MOST_COLUMNS
    assert booster.names.left_out == 0
    ticket = booster.ask(visitor(np.random.default_rng(7)))
    context: Any = ticket.context
    assert len(context.values) < 10 < booster.names.columns <= len(context)
    booster.tell(bb.Ticket.from_bytes(ticket.to_bytes()), (ticket.queries - 1.0) ** 2)
    booster.save(tmp_path / "model")
    contexts = [visitor(np.random.default_rng(k)) for k in range(5)]
    loaded = bb.Booster.load(tmp_path / "model")
    assert np.array_equal(loaded.predict_many(contexts), [booster.predict(x) for x in contexts])
    # What was learned from narrow rows is there after the change: a booster that begins again then is much worse for a while.
    change = next(k for k, width in enumerate(widths(900)) if width > columns_of.MOST_COLUMNS)
    monkeypatch.setattr(columns_of, "MOST_AGAIN", 0)
    forgetful = losses_of(bb.algorithms.boosted(LINE, answers=2, encoder=True), 900)
    assert losses[:change] == forgetful[:change]
    assert np.mean(losses[change : change + 60]) < 0.7 * np.mean(forgetful[change : change + 60])
    # Without room for more names, their values are left out, and are missed.
    monkeypatch.setattr(columns_of.Named, "_most_columns", columns_of.MOST_COLUMNS)
    narrow = bb.algorithms.boosted(LINE, answers=2, encoder=True)
    assert np.mean(losses[700:]) < np.mean(losses_of(narrow, 900)[700:])
    assert narrow.names is not None
    assert narrow.names.left_out > 0


def widths(rounds: int) -> list[int]:
    """How many names have been met after each round."""
    rng, met, found = np.random.default_rng(0), {"age"}, []
    for _ in range(rounds):
        met |= set(visitor(rng)["basket"])
        found.append(len(met))
    return found


def test_a_journal_of_many_names_replays_bit_for_bit(tmp_path: Path) -> None:
    with bb.Journal(tmp_path / "rounds", bb.algorithms.boosted(LINE, answers=2, encoder=True)) as journal:
        losses_of(journal.booster, 300)
        assert journal.booster.features > columns_of.MOST_COLUMNS
        x = visitor(np.random.default_rng(9))
        said = float(journal.booster.predict(x))
    assert float(bb.Journal.replay(tmp_path / "rounds").booster.predict(x)) == said


def test_sparse_contexts_of_numbers_stay_sparse_in_plain_rounds() -> None:
    from scipy.sparse import csr_array

    rng = np.random.default_rng(0)
    rows = csr_array((rng.random((40, 2000)) < 0.005) * rng.normal(size=(40, 2000)))
    both = [bb.algorithms.boosted(LINE, answers=2) for _ in range(2)]
    for t in range(40):
        tickets = [both[0].ask(rows[[t]]), both[1].ask(rows[[t]].toarray()[0])]
        assert tickets[0].prediction == tickets[1].prediction
        assert not isinstance(tickets[0].context, np.ndarray)
        for booster, ticket in zip(both, tickets, strict=True):
            booster.tell(ticket, (ticket.queries - 1.0) ** 2)
    dense = both[0].predict_many(rows.toarray())
    assert np.array_equal(both[0].predict_many(rows), dense)
    with pytest.raises(ValueError, match="x must be finite"):
        both[0].ask(csr_array(([np.nan], ([0], [3])), shape=(1, 2000)))
