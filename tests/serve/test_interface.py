"""Named fields, decisions by name, actions of others, and the log: over HTTP, by the client."""

from __future__ import annotations

import asyncio
import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banditboost as bb
from banditboost.serve.client import ServiceError
from tests.serve.common import LINE, RECIPE, SHOP, running

BOX = bb.spaces.Box((0.0, 0.0), (20.0, 0.5))


def alone_like_the_service(space: bb.spaces.Space, **options: Any) -> bb.Booster:
    """A booster in this process, with the limit of one of the service, which is part of its digest."""
    booster = bb.algorithms.boosted(space, **options)
    booster.limit_in_flight(10_000)
    return booster


WHO: dict[str, Any] = {"city": "Rome", "age": 41, "since": "2026-05-01", "coupon": None}


def test_fields_and_decisions_have_names_and_bits_are_those_of_the_library(tmp_path: Path) -> None:
    alone = alone_like_the_service(BOX, answers=1, encoder=True)
    with running(tmp_path / "data") as service, bb.Client(service.url) as client:
        shop = client.create("shop", "boosted", BOX, answers=1, encoder=True, decision=["price", "discount"])
        rng = np.random.default_rng(0)
        for k in range(12):
            who = WHO | {"city": ["Rome", "Bonn", "Oslo"][k % 3], "age": float(rng.integers(20, 60))}
            who["since"] = datetime.date(2026, 5, 1 + k)
            ticket, own = shop.ask(who), alone.ask(who)
            assert list(ticket.decision) == ["price", "discount"]
            assert list(ticket.decision.values()) == own.action.tolist()
            shop.tell(ticket, losses=[float(k)])
            alone.tell(own, losses=[float(k)])
        assert shop.info(digest=True)["digest"] == alone.digest()
        found = service.call("POST", f"{SHOP}/predict", {"context": WHO})[1]
        assert found["prediction"] == dict(zip(("price", "discount"), alone.predict(WHO).tolist(), strict=True))
        low, high = {"price": 5, "discount": 0}, {"discount": 0.1, "price": 6}
        limited = service.call("POST", f"{SHOP}/ask", {"context": WHO, "space": [low, high]})[1]["action"]
        assert 5 <= limited["price"] <= 6
        assert limited["discount"] <= 0.1
        for body in (
            {"context": WHO, "space": [{"price": 5}, high]},
            {"context": [1.0, 2.0]},
            {"context": {"a": {"b": [1, 2]}}},
        ):
            status, problem = service.call("POST", f"{SHOP}/ask", body)
            assert status == 422, problem


@pytest.mark.parametrize(
    "names", [["price"], ["price", "price"], ["price", ""], "price", ["price", "discount", "more"], [1, 2]]
)
def test_names_of_decisions_must_fit(tmp_path: Path, names: Any) -> None:
    recipe = RECIPE | {"space": {"kind": "Box", "low": [0, 0], "high": [1, 1]}, "decision": names}
    with running(tmp_path / "data") as service:
        assert service.call("PUT", SHOP, {"recipe": recipe})[0] == 422


def test_names_without_an_encoder_are_refused(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        service.create()
        status, problem = service.call("POST", f"{SHOP}/ask", {"context": WHO})
        assert status == 422
        assert "encoder" in problem["detail"]


@pytest.mark.parametrize("encoder", [False, True])
def test_actions_of_others_are_learned_from_once(tmp_path: Path, encoder: bool) -> None:
    alone = alone_like_the_service(bb.spaces.Interval(0, 20), answers=1, encoder=encoder or None)
    recipe = {"algorithm": "boosted", "space": LINE, "answers": 1} | ({"encoder": True} if encoder else {})
    data = tmp_path / "data"
    with running(data) as service:
        service.create(recipe=recipe)
        for k in range(8):
            x: Any = {"city": f"city {k % 3}"} if encoder else [0.1 * k, 1.0]
            body = {"context": x, "action": 1.5 * k, "loss": float(k), "density": 0.05}
            for _ in range(2):  # the second has the same key
                found = service.call("POST", f"{SHOP}/learn", body, idempotency_key=f"lesson {k}")
                assert found == (200, {"result": "learned"})
            alone.learn(x, 1.5 * k, loss=float(k), density=0.05)
        other = service.call("POST", f"{SHOP}/learn", body | {"loss": 99.0}, idempotency_key="lesson 7")
        assert other[0] == 422
        spoiled: list[dict[str, Any]] = [{"action": 50}, {"density": -1}, {"reward": 3.0}, {"aim": 3.0}]
        for wrong in (*spoiled, {"action": {"price": 3}}, {"action": {}}):
            assert service.call("POST", f"{SHOP}/learn", body | wrong)[0] == 422
        info = service.call("GET", f"{SHOP}?digest=true")[1]
        assert (info["rounds"], info["digest"]) == (8, alone.digest())
    with running(data) as service:
        assert service.call("GET", f"{SHOP}?digest=true")[1]["digest"] == info["digest"]
        again = service.call("POST", f"{SHOP}/learn", body, idempotency_key="lesson 7")
        assert again == (200, {"result": "learned"})
        assert service.call("GET", SHOP)[1]["rounds"] == 8


def test_what_was_played_instead_and_answers_that_are_missing(tmp_path: Path) -> None:
    alone = alone_like_the_service(bb.spaces.Interval(0, 20), answers=2)
    data = tmp_path / "data"
    with running(data) as service, bb.Client(service.url) as client:
        shop = client.create("shop", "boosted", bb.spaces.Interval(0, 20), answers=2)
        first, second, third = (shop.ask([0.1 * k]) for k in range(3))
        own = [alone.ask([0.1 * k]) for k in range(3)]
        moved = np.floor(first.queries) + 0.5
        shop.tell(first, losses=[1.0, 2.0], actions=moved)
        alone.tell(own[0], losses=[1.0, 2.0], actions=moved)
        shop.tell(second, losses=[3.0], answered=[False, True])
        alone.tell(own[1], losses=[3.0], answered=[False, True])
        shop.tell(third, losses=[1.0, 2.0], actions=third.queries)
        alone.tell(own[2], losses=[1.0, 2.0], actions=own[2].queries)
        assert shop.info(digest=True)["digest"] == alone.digest()
    told: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        first.name: ({"losses": [1.0, 2.0], "actions": moved.tolist()}, {"losses": [1.0, 2.0]}),
        second.name: ({"losses": [3.0], "answered": [False, True]}, {"losses": [3.0], "answered": [True, False]}),
        third.name: ({"losses": [1.0, 2.0], "actions": third.queries.tolist()}, {"losses": [1.0, 2.5]}),
    }
    with running(data) as service:
        for name, (same, other) in told.items():
            found = service.call("POST", f"{SHOP}/tell", {"ticket": name, **same})
            assert found == (200, {"ticket": name, "result": "repeated"})
            assert service.call("POST", f"{SHOP}/tell", {"ticket": name, **other})[0] == 409
        assert service.call("GET", f"{SHOP}?digest=true")[1]["digest"] == alone.digest()


def test_the_log_has_all_rounds_through_snapshots_and_restarts(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("banditboost.serve.kept.ROUNDS_A_PART", 7)
    data, rows = tmp_path / "data", list[tuple[float, ...]]()
    for part in range(3):
        with running(data, snapshot_every=5) as service, bb.Client(service.url) as client:
            shop = client.create("shop", "boosted", bb.spaces.Interval(0, 20), answers=1)
            if not part:
                with pytest.raises(ServiceError, match="no round"):
                    shop.log(tmp_path / "log.parquet")
            for k in range(10):
                x = [0.1 * k, float(part)]
                ticket = shop.ask(x)
                shop.tell(ticket, losses=[k + 0.5])
                assert ticket.density is not None
                rows.append((*x, float(ticket.action), k + 0.5, float(ticket.density[0])))
            shop.learn([0.5, 0.5], 3.0, loss=1.0)
            rows.append((0.5, 0.5, 3.0, 1.0, np.nan))
            log = shop.log(tmp_path / "log.parquet")
            (block,) = log.blocks()
            assert block.densities is not None
            found = np.column_stack([block.contexts, block.actions, block.losses, block.densities])
            np.testing.assert_array_equal(found, np.array(rows))
            assert block.tickets is not None
            assert len(set(block.tickets.tolist())) == len(rows)
            folder = next(data.glob("booster-*"))
            assert not list(folder.glob("export-*"))
    assert len(list((folder / "log").iterdir())) == 4
    replay = bb.algorithms.boosted(bb.spaces.Interval(0, 20), answers=1)
    assert replay.learn_from(log).rows == len(rows)


def test_a_roll_back_takes_its_rounds_out_of_the_log(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("banditboost.serve.kept.ROUNDS_A_PART", 4)
    with running(tmp_path / "data") as service, bb.Client(service.url) as client:
        shop = client.create("shop", "boosted", bb.spaces.Interval(0, 20), answers=1)
        for k in range(5):
            shop.tell(shop.ask([1.0 * k]), losses=[1.0 * k])
        number = shop.snapshot()
        for k in range(5, 10):
            shop.tell(shop.ask([1.0 * k]), losses=[1.0 * k])
        shop.roll_back(number)
        shop.tell(shop.ask([77.0]), losses=[77.0])
        (block,) = shop.log(tmp_path / "log.parquet").blocks()
        assert block.losses.tolist() == [0, 1, 2, 3, 4, 77]
        assert block.tickets is not None
        assert block.tickets.tolist() == [1, 2, 3, 4, 5, 10**12 + 6]


def test_a_named_booster_s_log_has_its_names(tmp_path: Path) -> None:
    async def calls(url: str) -> bb.Log:
        async with bb.AsyncClient(url) as client:
            shop = await client.create("shop", "boosted", BOX, answers=1, encoder=True, decision=["price", "loss rate"])
            for city in ("Rome", "Bonn"):
                ticket = await shop.ask({"city": city, "loss": 0.5}, subject=city)
                await shop.tell(ticket, [1.0])
            await shop.learn({"city": "Oslo"}, {"price": 3.0, "loss rate": 0.1}, loss=2.0, density=0.1)
            log = await shop.log(tmp_path / "log.parquet")
            assert (await shop.erase("Rome"))["rounds"] == 1
            assert log.rows == 3
            return log

    with running(tmp_path / "data") as service:
        log = asyncio.run(calls(service.url))
    assert log.action_names == ("price", "loss rate")
    assert set(log.context_names) >= {"city=Rome", "city=Bonn", "city=Oslo", "loss (2)"}
    (block,) = log.blocks()
    np.testing.assert_array_equal(block.contexts[:, log.context_names.index("city=Rome")], [1.0, 0.0, 0.0])
