"""Tickets travel as bytes and as JSON, and what did not come from one is refused in a sentence."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import numpy as np
import pytest

import banditboost as bb

BOOSTER = bb.algorithms.boosted(bb.spaces.Interval(0, 1), answers=2, seed=3)


def asked() -> tuple[bb.Booster, bb.Ticket]:
    booster = bb.Booster.from_spec(BOOSTER.spec)
    for x in np.random.default_rng(0).random((30, 2)):
        ticket = booster.ask(x)
        booster.tell(ticket, np.square(ticket.queries - x[0]))
    return booster, booster.ask([0.2, 0.7], space=(0.1, 0.6))


@pytest.mark.parametrize("way", ["bytes", "json"])
def test_a_ticket_that_travelled_teaches_the_same(way: str, tmp_path: Path) -> None:
    booster, ticket = asked()
    booster.save(tmp_path / "model.bb")
    other = bb.Booster.load(tmp_path / "model.bb")
    there = bb.Ticket.from_bytes(ticket.to_bytes()) if way == "bytes" else bb.Ticket.from_json(ticket.to_json())
    booster.tell(ticket, [0.3, 0.1])
    other.tell(there, [0.3, 0.1])
    contexts = np.random.default_rng(1).random((20, 2))
    assert np.array_equal(booster.predict_many(contexts), other.predict_many(contexts))
    assert there.number == ticket.number
    assert np.array_equal(there.queries, ticket.queries)
    with pytest.raises(bb.NotInFlightError):
        booster.tell(there, [0.3, 0.1])


def test_bytes_are_those_of_the_file(tmp_path: Path) -> None:
    _, ticket = asked()
    file = tmp_path / "ticket.bb"
    ticket.save(file)
    assert bb.Ticket.from_bytes(file.read_bytes()).number == ticket.number
    file.write_bytes(ticket.to_bytes())
    assert bb.Ticket.load(file).number == ticket.number


def test_every_flipped_byte_is_noticed_or_harmless() -> None:
    _, ticket = asked()
    data = ticket.to_bytes()
    for at in range(0, len(data), 97):
        spoiled = bytearray(data)
        spoiled[at] ^= 0xFF
        try:
            found = bb.Ticket.from_bytes(bytes(spoiled))
        except ValueError as error:
            assert str(error).startswith("The data ")  # noqa: PT017
        else:
            assert np.array_equal(found.queries, ticket.queries)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a ticket's JSON"),
        ("[]", "not a ticket's JSON"),
        ('{"ticket": 1, "number": 1, "data": "%%"}', "not a ticket's JSON"),
        ('{"ticket": 1, "number": 1, "data": "AAAA"}', "The data is not a banditboost file, or it is damaged"),
        ('{"ticket": 2, "number": 1, "data": ""}', "has version 2"),
        ("[" * 100_000, "not a ticket's JSON"),
    ],
)
def test_other_texts_are_refused(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        bb.Ticket.from_json(text)


def test_a_number_that_is_not_the_tickets_is_refused() -> None:
    _, ticket = asked()
    plain = json.loads(ticket.to_json())
    with pytest.raises(ValueError, match="says that its number is 7"):
        bb.Ticket.from_json(json.dumps(plain | {"number": 7}))
    with pytest.raises(ValueError, match="data must be bytes, got str"):
        bb.Ticket.from_bytes(plain["data"])
    model = base64.b64encode(b"PK\x03\x04").decode()
    with pytest.raises(ValueError, match="The data is not a banditboost file"):
        bb.Ticket.from_json(json.dumps(plain | {"data": model}))
