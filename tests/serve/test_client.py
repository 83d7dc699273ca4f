"""The client reads like the library, and a service that does not answer for a moment costs no answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import banditboost as bb
from banditboost.serve import client as clients
from banditboost.serve.client import ServiceError
from tests.serve.common import running

SPACE = bb.spaces.Interval(0, 20)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("service") / "data") as service:
        yield service.url


def test_it_reads_like_the_library(url: str) -> None:
    rng = np.random.default_rng(0)
    with bb.Client(url) as client:
        shop = client.create(
            "shop", "boosted", SPACE, answers=1, copies=3, memory=None, explore=bb.explore.Explore(most=2.0)
        )
        own = bb.algorithms.boosted(SPACE, answers=1, copies=3, memory=None, explore=bb.explore.Explore(most=2.0))
        for x in rng.uniform(-1, 1, (20, 2)):
            theirs, ours = shop.ask(x, space=(2, 19)), own.ask(x, space=(2, 19))
            assert (theirs.action, theirs.prediction) == (ours.action, ours.prediction)
            np.testing.assert_array_equal(theirs.density, ours.density)
            shop.tell(theirs, [float(theirs.action) ** 2])
            own.tell(ours, [float(ours.action) ** 2])
        assert shop.predict([0.1, 0.2]) == own.predict([0.1, 0.2])
        np.testing.assert_array_equal(
            shop.predict_many([[0.1, 0.2], [0.3, 0.4]]), own.predict_many([[0.1, 0.2], [0.3, 0.4]])
        )
        one, two = shop.ask_many([[0.1, 0.2], [0.3, 0.4]])
        assert shop.forget(one) == 1
        shop.tell(two.name, rewards=1.0)  # by name, as another process would
        number = shop.snapshot("here")
        digest = shop.info(digest=True)["digest"]
        shop.ask([0.1, 0.2])
        shop.roll_back(number)
        assert shop.info(digest=True)["digest"] == digest
        assert client.boosters() == ["shop"]
        assert client.booster("shop").info()["rounds"] == 21
        with pytest.raises(ServiceError, match="was told already") as error:
            shop.tell(two, rewards=2.0)
        assert error.value.status == 409
        shop.delete()
        with pytest.raises(ServiceError, match="no booster"):
            shop.ask([0.1, 0.2])


def test_several_queries_and_gradients(url: str) -> None:
    with bb.Client(url) as client:
        spec = bb.algorithms.ogd(bb.spaces.Ball(2)).spec
        told = client.create("told", spec)
        with pytest.raises(TypeError, match="a BoosterSpec, which holds nothing that was learned, got Booster"):
            client.create("warm", bb.Booster.from_spec(spec))
        ticket = told.ask([0.5])
        assert (ticket.asks, ticket.queries.shape) == ("gradients", (1, 2))
        told.tell(ticket, [[1.0, 0.0]])
        many = client.create("many", "bandit-boosting", SPACE, copies=3)
        ticket = many.ask([0.5])
        assert ticket.queries.shape == (3,)
        with pytest.raises(ValueError, match="one query"):
            _ = ticket.action
        many.tell(ticket, [1.0, 2.0, 3.0])
        assert client.create("many", "bandit-boosting", SPACE, copies=3).info()["rounds"] == 1


def test_the_twin_that_is_awaited(url: str) -> None:
    async def main() -> None:
        async with bb.AsyncClient(url) as client:
            shop = await client.create("twin", "boosted", SPACE, answers=1, copies=3, memory=None, deadline=60.0)
            tickets = await asyncio.gather(*(shop.ask([0.1 * k]) for k in range(5)))
            await asyncio.gather(*(shop.tell(ticket, losses=1.0) for ticket in tickets[:4]))
            assert await shop.forget(tickets[4]) == 1
            assert 0 <= await client.booster("twin").predict([0.3]) <= 20
            assert (await shop.info())["rounds"] == 4

    asyncio.run(main())


def flaky(seen: list[httpx.Request], failures: list[Any]) -> Callable[[httpx.Request], httpx.Response]:
    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        if failures:
            failure = failures.pop(0)
            if isinstance(failure, int):
                return httpx.Response(failure, json={"detail": "Not now."})
            raise failure
        return httpx.Response(200, json={"ticket": "0-1", "prediction": 1.0, "queries": [1.5]})

    return handler


@pytest.mark.parametrize("awaited", [False, True])
def test_a_request_without_an_answer_is_made_again_under_the_same_key(
    awaited: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clients, "PAUSE", 0.001)
    seen: list[httpx.Request] = []
    transport = httpx.MockTransport(flaky(seen, [httpx.ConnectError("gone"), 503, httpx.ReadError("cut"), 429]))

    async def twin() -> str:
        http = httpx.AsyncClient(base_url="http://127.0.0.1:1", transport=transport)
        return (await bb.AsyncClient("", "key", http=http).booster("shop").ask([0.5])).name

    if awaited:
        assert asyncio.run(twin()) == "0-1"
    else:
        http = httpx.Client(base_url="http://127.0.0.1:1", transport=transport)
        assert bb.Client("", "key", http=http).booster("shop").ask([0.5]).name == "0-1"
    assert len(seen) == 5
    assert len({request.headers["idempotency-key"] for request in seen}) == 1
    assert {request.headers["authorization"] for request in seen} == {"Bearer key"}


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("failure", [httpx.ConnectError("gone"), 503, 400])
def test_patience_ends(awaited: bool, failure: Any) -> None:
    transport = httpx.MockTransport(flaky([], [failure] * 10))

    async def twin() -> None:
        http = httpx.AsyncClient(base_url="http://127.0.0.1:1", transport=transport)
        await bb.AsyncClient("", patience=0.0, http=http).booster("shop").info()

    wanted: Any = httpx.ConnectError if isinstance(failure, Exception) else ServiceError
    http = httpx.Client(base_url="http://127.0.0.1:1", transport=transport)
    shop = bb.Client("", patience=0.0, http=http).booster("shop")
    with pytest.raises(wanted):
        asyncio.run(twin()) if awaited else shop.info()


def test_answers_that_are_no_json(tmp_path: Path) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(502, text="<html>"))
    with pytest.raises(ServiceError, match="answered with 502"):
        bb.Client("", http=httpx.Client(base_url="http://127.0.0.1:1", transport=transport)).boosters()
    with pytest.raises(AttributeError, match="no attribute 'Server'"):
        _ = bb.Server
