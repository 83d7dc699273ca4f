"""A service takes in boosters that have learned before: they go on from there, by name, and are erased as far as is known whose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.serve.catalog import Catalog
from banditboost.serve.models import Given, given, take_in
from tests.serve.common import crash, kept, running

SPACE = bb.spaces.Interval(0, 20)
ROUNDS = 80


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A booster that has learned from a log, knows the names of its columns, and has a ticket in flight."""
    rng = np.random.default_rng(0)
    x, prices = rng.uniform(0, 1, (ROUNDS, 2)), rng.uniform(0, 20, ROUNDS)
    booster = bb.algorithms.boosted(SPACE, answers=1, copies=4)
    booster.learn_from(bb.Log.from_arrays(x, prices, (prices - 9) ** 2, densities=np.full(ROUNDS, 0.05)))
    booster.extra["context"] = ["age", "distance"]
    booster.ask([0.1, 0.2])
    booster.save(tmp_path / "model.bb")
    return tmp_path / "model.bb"


def silent(event: str, **more: Any) -> None:
    return


def test_it_goes_on_from_what_was_learned(tmp_path: Path, model: Path) -> None:
    data, plain = tmp_path / "data", bb.Booster.load(model)
    plain._remove(plain.in_flight)
    said: list[str] = []
    for _ in range(2):  # the second time it is there, and goes on
        take_in(data, [given(f"shop={model}"), given(f"acme/shop={model}")], lambda event, **more: said.append(event))
    assert said == ["model taken in"] * 2 + ["model not needed"] * 2
    with running(data) as service:
        fields = {"distance": 0.7, "age": 0.3}
        answer = service.call("POST", "/v1/boosters/shop/ask", {"context": fields})[1]
        ticket = plain.ask([0.3, 0.7])
        assert (answer["action"], answer["ticket"]) == (float(ticket.action), f"0-{ticket.number}")
        body = {"ticket": answer["ticket"], "losses": 3.0}
        assert service.call("POST", "/v1/boosters/shop/tell", body)[0] == 200
        plain.tell(ticket, [3.0])
        info = service.call("GET", "/v1/boosters/shop?digest=true")[1]
        assert (info["rounds"], info["digest"]) == (ROUNDS + 1, plain.digest())
        assert info["recipe"] == {"spec": plain.spec.to_dict()}
        with bb.Client(service.url) as client:
            assert client.create("shop", plain.spec).predict(fields) == plain.predict([0.3, 0.7])
        status, problem = service.call("POST", "/v1/boosters/shop/predict", {"context": {"age": 0.3}})
        assert (status, "got none under 'distance'" in problem["detail"]) == (422, True)


def test_decisions_keep_the_names_that_a_log_gave_them(tmp_path: Path, model: Path) -> None:
    booster, data = bb.Booster.load(model), tmp_path / "data"
    booster.extra["decision"] = ["price"]
    booster.save(tmp_path / "named.bb")
    take_in(data, [given(f"named={tmp_path / 'named.bb'}"), given(f"plain={model}")], silent)
    with running(data) as service, bb.Client(service.url) as client:
        named, plain = client.booster("named"), client.booster("plain")
        ticket = named.ask([0.3, 0.7])
        assert ticket.decision == {"price": float(ticket.action)}
        named.tell(ticket, 3.0)
        assert client.booster("named").info()["rounds"] == ROUNDS + 1
        with pytest.raises(AttributeError, match="have no names"):
            plain.ask([0.3, 0.7]).decision  # noqa: B018


def test_it_comes_back_after_a_crash_and_rounds_of_people_are_erased(tmp_path: Path, model: Path) -> None:
    data = tmp_path / "data"
    take_in(data, [given(f"shop={model}")], silent)
    folder = Catalog(data).folder("local", "shop")
    assert folder is not None
    one = kept(folder)
    for subject in ("anna", "bert", "anna"):
        one.tell(one.ask([[0.123456789, 0.5]], subject=subject)[0]["ticket"], {"losses": 1.0})
    digest = one.booster.digest()
    crash(one)
    one = kept(folder)
    assert one.booster.digest() == digest
    assert one.erase(["anna"])["rounds"] == 2
    assert one.booster.rounds == ROUNDS + 3
    one.close()


def test_what_cannot_be_taken_in_is_one_sentence_and_nothing_is_made(tmp_path: Path, model: Path) -> None:
    data, table = tmp_path / "data", tmp_path / "table.bb"
    booster = bb.Booster.load(model)
    booster.extra["table"] = {}
    booster.save(table)
    with pytest.raises(ValueError, match="got a model of a table"):
        take_in(data, [given(f"shop={model}"), Given("local", "other", table)], silent)
    assert Catalog(data).boosters() == []
    for text in ("shop", "=model.bb", "shop="):
        with pytest.raises(ValueError, match="must be"):
            given(text)
    with (
        pytest.raises(TypeError, match="banditboost serve --model shop=FILE"),
        bb.Client("http://127.0.0.1:1") as client,
    ):
        client.create("shop", booster)
