"""The addresses of the service, over a real connection."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from banditboost.serve.kept import Kept
from tests.serve.common import LINE, RECIPE, SHOP, Running, running

X = [0.3, 1.0]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with running(tmp_path_factory.mktemp("service") / "data") as service:
        yield service


@pytest.fixture
def service(shared: Running) -> Any:
    for name in shared.call("GET", "/v1/boosters")[1]["boosters"]:
        assert shared.call("DELETE", f"/v1/boosters/{name}")[0] == 200
    return shared


def test_three_calls_are_useful(service: Running) -> None:
    status, made = service.call("PUT", SHOP, {"recipe": RECIPE})
    assert (status, made["rounds"], made["features"]) == (201, 0, None)
    status, ticket = service.call("POST", f"{SHOP}/ask", {"context": X})
    assert status == 200
    assert set(ticket) == {"ticket", "prediction", "queries", "action", "density"}
    status, told = service.call("POST", f"{SHOP}/tell", {"ticket": ticket["ticket"], "losses": 3.5})
    assert (status, told) == (200, {"ticket": "0-1", "result": "told"})
    assert service.call("POST", f"{SHOP}/tell", {"ticket": "0-1", "losses": 3.5})[1]["result"] == "repeated"
    status, problem = service.call("POST", f"{SHOP}/tell", {"ticket": "0-1", "losses": 4.5})
    assert (status, problem["status"], problem["title"]) == (409, 409, "Conflict")
    status, info = service.call("GET", f"{SHOP}?digest=true")
    assert (info["rounds"], info["asked"], info["in_flight"], len(info["digest"])) == (1, 1, 0, 64)


def test_many_at_once(service: Running) -> None:
    service.create()
    status, found = service.call("POST", f"{SHOP}/ask", {"contexts": [X, [0.1, 0.2], X], "space": [5, 12]})
    tickets = found["tickets"]
    assert [one["ticket"] for one in tickets] == ["0-1", "0-2", "0-3"]
    assert all(5 <= one["action"] <= 12 for one in tickets)
    tells = [{"ticket": "0-2", "losses": [1.0]}, {"ticket": "0-1", "rewards": 1}]
    status, found = service.call("POST", f"{SHOP}/tell", {"tells": tells})
    assert (status, [one["result"] for one in found["results"]]) == (200, ["told", "told"])
    tells = [
        {"ticket": "0-1", "losses": 5.0},
        {"ticket": "9-9", "losses": 5.0},
        {"ticket": "0-3", "losses": [1, 2]},
        tells[0],
    ]
    status, found = service.call("POST", f"{SHOP}/tell", {"tells": tells})
    assert status == 207
    assert [one.get("status", one.get("result")) for one in found["results"]] == [409, 404, 422, "repeated"]
    assert service.call("POST", f"{SHOP}/forget", {"tickets": ["0-3", "0-1"]}) == (200, {"forgotten": 1})
    status, found = service.call("POST", f"{SHOP}/predict", {"contexts": [X, [0.0, 0.0]]})
    one = service.call("POST", f"{SHOP}/predict", {"context": X})[1]["prediction"]
    assert found["predictions"][0] == one
    assert service.call("GET", SHOP)[1]["rounds"] == 2


def test_asks_are_repeatable_by_a_key(service: Running) -> None:
    service.create()
    first = service.call("POST", f"{SHOP}/ask", {"context": X}, idempotency_key="once")
    assert service.call("POST", f"{SHOP}/ask", {"context": X}, idempotency_key="once") == first
    assert service.call("POST", f"{SHOP}/ask", {"context": [0.0, 0.0]}, idempotency_key="once")[0] == 422
    assert service.call("POST", f"{SHOP}/ask", {"context": X}, idempotency_key="x" * 300)[0] == 422
    assert service.call("GET", SHOP)[1]["asked"] == 1


def test_creating_twice_and_deleting(service: Running) -> None:
    service.create(deadline=60.0)
    same = {"recipe": RECIPE, "deadline": 60.0}
    assert service.call("PUT", SHOP, same)[0] == 200
    assert service.call("PUT", SHOP, {"recipe": RECIPE | {"copies": 4}})[0] == 409
    assert service.call("GET", "/v1/boosters")[1] == {"boosters": ["shop"]}
    (folder,) = (folder for _, _, folder in service.service.catalog.boosters())
    assert folder.is_dir()
    assert service.call("DELETE", SHOP) == (200, {"deleted": "shop"})
    assert not folder.exists()
    assert service.call("GET", SHOP)[0] == service.call("DELETE", SHOP)[0] == 404
    assert service.call("PUT", SHOP, {"recipe": RECIPE | {"copies": 4}})[0] == 201


def test_a_recipe_that_cannot_be_made_leaves_nothing(service: Running) -> None:
    status, problem = service.call("PUT", SHOP, {"recipe": {"algorithm": "boosted", "space": LINE, "speed": 3}})
    assert (status, problem["detail"]) == (422, "speed must be left out: the algorithm 'boosted' has no such option.")
    assert service.call("GET", "/v1/boosters")[1] == {"boosters": []}
    assert list(service.service.catalog.data.glob("booster-*")) == []


def test_snapshots(service: Running) -> None:
    service.create()
    ticket = service.call("POST", f"{SHOP}/ask", {"context": X})[1]["ticket"]
    digest = service.call("GET", f"{SHOP}?digest=true")[1]["digest"]
    status, said = service.call("POST", f"{SHOP}/snapshots", {"label": "start"})
    assert (status, said["snapshot"]) == (201, 1)
    service.call("POST", f"{SHOP}/tell", {"ticket": ticket, "losses": 1.0})
    status, info = service.call("POST", f"{SHOP}/rollback", {"snapshot": 1})
    assert (status, info["rounds"], info["in_flight"]) == (200, 0, 1)
    assert service.call("GET", f"{SHOP}?digest=true")[1]["digest"] == digest
    assert [one["label"] for one in service.call("GET", f"{SHOP}/snapshots")[1]["snapshots"]] == ["start"]
    assert service.call("DELETE", f"{SHOP}/snapshots/1")[0] == 200
    assert service.call("POST", f"{SHOP}/rollback", {"snapshot": 1})[0] == 404
    assert service.http.get(f"{SHOP}/model").content[:4]


def test_what_is_watched(service: Running) -> None:
    service.create()
    service.call("POST", f"{SHOP}/ask", {"context": X})
    service.call("POST", f"{SHOP}/tell", {"ticket": "0-1", "losses": 2.5})
    service.call("POST", f"{SHOP}/ask", {"context": X})
    assert service.http.get("/health").json()["status"] == "alive"
    assert service.http.get("/ready").status_code == 200
    text = service.http.get("/metrics").text
    for line in (
        'banditboost_asks_total{booster="shop"} 2.0',
        'banditboost_tells_total{booster="shop"} 1.0',
        'banditboost_paid_losses{booster="shop"} 2.5',
        'banditboost_tickets_in_flight{booster="shop"} 1.0',
        'banditboost_journal_lag_calls{booster="shop"} 0.0',
    ):
        assert line in text
    assert re.search(r'request_seconds_count{method="POST",route="/v1/boosters/{name}/ask",status="200"} \d+', text)
    assert "banditboost_exploration_width" in text


def test_the_description_has_examples_for_all_that_is_sent(service: Running) -> None:
    page = service.http.get("/openapi.json").json()
    assert page["info"]["title"] == "banditboost"
    shown = {name: schema.get("examples", []) for name, schema in page["components"]["schemas"].items()}
    for name, schema in page["components"]["schemas"].items():
        if name not in ("HTTPValidationError", "ValidationError", "JsonValue"):  # which the framework adds by itself
            assert schema.get("examples"), name
    assert shown["ProblemDocument"]
    calls = [call for path in page["paths"].values() for call in path.values()]
    assert len(calls) >= 16
    for call in calls:
        assert call["summary"]
        assert "default" in call["responses"]
    # The examples are true: each is taken.
    named, guarded = "/v1/boosters/named", "/v1/boosters/guarded"
    for path, example in zip((SHOP, named, guarded), shown["Creation"], strict=True):
        assert service.call("PUT", path, example)[0] == 201
    for example in shown["GuardForm"]:
        assert service.call("PUT", f"{guarded}/guard", example)[0] == 200, example
    for example in shown["GuardState"]:
        assert service.call("POST", f"{guarded}/guard", example)[0] == 200, example
    for form, what in (("Question", "ask"), ("Look", "predict"), ("Lesson", "learn"), ("Erasure", "erase")):
        for example in shown[form]:
            path = named if isinstance(example.get("context"), dict) else SHOP
            assert service.call("POST", f"{path}/{what}", example)[0] == 200, example
    for example in shown["Answers"]:
        assert service.call("POST", f"{SHOP}/tell", example)[0] in (200, 207, 409)


def test_a_restart_goes_on(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        service.create()
        ticket = service.call("POST", f"{SHOP}/ask", {"context": X})[1]["ticket"]
        before = service.call("GET", f"{SHOP}?digest=true")[1]
    assert service.said[-1]["event"] == "stopped"
    with running(tmp_path / "data") as service:
        assert {"event": "opened", "tenant": "local", "booster": "shop", "rounds": 0, "in_flight": 1} in service.said
        assert service.call("GET", f"{SHOP}?digest=true")[1] == before
        assert service.call("POST", f"{SHOP}/tell", {"ticket": ticket, "losses": 1.0})[1]["result"] == "told"


def test_a_damaged_booster_does_not_keep_others_from_being_served(tmp_path: Path) -> None:
    with running(tmp_path / "data") as service:
        service.create()
        service.create("/v1/boosters/other")
        folders = {name: folder for _, name, folder in service.service.catalog.boosters()}
    (folders["shop"] / "booster.journal").write_bytes(b"nonsense")
    with running(tmp_path / "data") as service:
        status, problem = service.call("GET", SHOP)
        assert (status, problem["title"]) == (503, "Service Unavailable")
        assert str(tmp_path) not in problem["detail"]
        assert service.call("GET", "/v1/boosters/other")[0] == 200
        assert [one["booster"] for one in service.said if one["event"] == "not opened"] == ["shop"]


def test_a_crash_while_a_booster_is_made_or_deleted_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path / "data") as service:
        catalog = service.service.catalog
        half = catalog.begin()
        Kept.create(half, RECIPE, {})
        service.create()
        catalog.remove("local", "shop")  # and the process dies before the folder is gone
    assert len(list((tmp_path / "data").glob("booster-*"))) == 2
    with running(tmp_path / "data") as service:
        assert service.call("GET", "/v1/boosters")[1] == {"boosters": []}
        assert list((tmp_path / "data").glob("booster-*")) == []


def test_a_full_disk_over_the_wire(service: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    service.create()
    ticket = service.call("POST", f"{SHOP}/ask", {"context": X})[1]["ticket"]

    def full(kind: Any, payload: Any) -> None:
        raise OSError(28, "No space left on device")

    (_, writer) = service.service.house.of("local")[0]
    monkeypatch.setattr(writer.kept.journal, "_append", full)
    status, problem = service.call("POST", f"{SHOP}/tell", {"ticket": ticket, "losses": 1.0})
    assert (status, problem["title"]) == (507, "Insufficient Storage")
    assert service.call("POST", f"{SHOP}/tell", {"tells": [{"ticket": ticket, "losses": 1.0}]})[0] == 507
    assert service.call("POST", f"{SHOP}/predict", {"context": X})[0] == 200
    monkeypatch.undo()
    assert service.call("POST", f"{SHOP}/tell", {"ticket": ticket, "losses": 1.0})[0] == 200


def test_a_connection_that_came_while_it_stops_is_answered_and_closed(tmp_path: Path) -> None:
    service = Running(tmp_path / "data")
    server = service._server
    plain, late = server.server_state.connections, []

    class Late(set[Any]):
        """Hides connections from the first look, as if they had come right after it."""

        def __iter__(self) -> Any:
            late.append(1)
            return iter(()) if len(late) == 1 else super().__iter__()

    assert service.http.get("/health").status_code == 200
    assert len(plain) == 1
    server.server_state.connections = Late(plain)
    for one in plain:
        one.connections = server.server_state.connections
    service._server.should_exit = True
    service._thread.join(10)
    assert not service._thread.is_alive()
    assert len(late) > 1
    service.http.close()
