"""The stream behind the live page, and the page's files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from banditboost.serve import live, pages
from banditboost.serve.catalog import Catalog
from banditboost.serve.history import MOST, History
from tests.serve.common import RECIPE, SHOP, Running, running


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = tmp_path_factory.mktemp("live") / "data"
    catalog = Catalog(data)
    made = {tenant: catalog.add_key(tenant, "admin") for tenant in ("acme", "other")}
    catalog.close()
    with running(data) as service:
        assert service.call("PUT", SHOP, {"recipe": RECIPE}, made["acme"])[0] == 201
        yield service, made


def first(service: Running, key: str, booster: str = "") -> Any:
    given = {"authorization": f"Bearer {key}"}
    with service.http.stream("GET", f"/v1/live?booster={booster}", headers=given) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        line = next(line for line in answer.iter_lines() if line)
    return json.loads(line.removeprefix("data: "))


def test_a_tenant_is_shown_its_own_alone(keys: Any) -> None:
    service, made = keys
    assert service.call("GET", "/v1/live")[0] == 401
    shown = first(service, made["acme"])
    assert (shown["chosen"], [one["name"] for one in shown["boosters"]]) == ("shop", ["shop"])
    assert shown["booster"]["told"] == 0
    shown = first(service, made["other"], "shop")
    assert (shown["chosen"], shown["boosters"], shown["booster"]) == ("", [], None)
    assert "/v1/live" not in service.http.get("/metrics", headers={"authorization": f"Bearer {made['acme']}"}).text


def test_streams_are_bounded_in_number_and_length(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service, made = keys
    monkeypatch.setattr(live, "LONGEST", 0.01)
    given = {"authorization": f"Bearer {made['acme']}"}
    assert service.http.get("/v1/live", headers=given).text.count("data: ") == 1  # it ends by itself
    monkeypatch.setattr(live, "MOST_VIEWERS", 0)
    assert service.http.get("/v1/live", headers=given).status_code == 503


def test_a_service_stops_although_somebody_looks(tmp_path: Path) -> None:
    service = Running(tmp_path / "data")
    with service.http.stream("GET", "/v1/live") as answer:
        lines = answer.iter_lines()
        next(lines)
        service._server.should_exit = True
        assert len(list(lines)) < 20
    service.stop()


def test_the_files_of_the_page(keys: Any) -> None:
    service, _ = keys
    for path, name in pages.PATHS.items():
        answer = service.http.get(path)  # without a key
        assert (answer.status_code, answer.headers["content-security-policy"]) == (200, pages.POLICY)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert name.endswith(".html") == answer.headers["content-type"].startswith("text/html")
    page = service.http.get("/").text
    assert 'data-keys="yes"' in page
    assert 'data-keys="no"' in pages.read("/", keys=False).body.decode()
    for forbidden in ("http://", "https://", "onclick", "style=", "<script>"):
        assert forbidden not in page
    ours = [pages.read(f"/static/{name}", False).body.decode() for name in ("live.js", "plots.js")]
    assert not any(word in text for text in ours for word in ("innerHTML", "insertAdjacent", "eval(", "document.write"))
    assert "MIT" in service.http.get("/static/LICENSE-uPlot.txt").text
    for wrong in ("/static/", "/static/app.py", "/static/%2e%2e/app.py", "/static/live.js/"):
        assert service.http.get(wrong).status_code in (401, 404)


def test_a_history_stays_small_and_loses_no_round() -> None:
    history = History()
    for n in range(1, 5001):
        if history.add(n % 4 == 0, loss=1.0 if n % 4 else 3.0, width=0.5):
            history.close(round=n, time=float(n), low=None, high=None, difference=None)
        assert len(history.points) < MOST
    again = History()
    again.restore(json.loads(json.dumps(history.to_plain())))
    assert again.columns() == history.columns()
    columns = history.columns()
    assert (history.step, columns["round"][-1]) == (32, 4992)
    assert set(columns["booster"]) == {1.0}
    assert set(columns["baseline"]) == {3.0}
    assert set(columns["width"]) == {0.5}
