"""Who may not: each row of the table on docs/serve.md, with the status that comes; no traceback, no hang, nothing changed."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from banditboost.serve import server
from banditboost.serve.access import Access
from banditboost.serve.catalog import Catalog, check_name
from banditboost.serve.problems import Problem
from banditboost.serve.server import check_host
from tests.serve.common import RECIPE, SHOP, Running, running
from tests.serve.random_bodies import target

X = [0.3, 1.0]
OTHER = "/v1/boosters/other"


class Keys:
    """A service with two tenants and a key of every role."""

    def __init__(self, data: Path) -> None:
        catalog = Catalog(data)
        self.admin, self.decide, self.read = (catalog.add_key("a", role) for role in ("admin", "decide", "read"))
        self.stranger = catalog.add_key("b", "admin")
        catalog.close()


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Any:
    data = tmp_path_factory.mktemp("guarded") / "data"
    made = Keys(data)
    with running(data, body_seconds=0.3, log_requests=True) as service:
        assert service.call("PUT", SHOP, {"recipe": RECIPE}, made.admin)[0] == 201
        yield service, made


def digest(service: Running, made: Keys) -> str:
    return str(service.call("GET", f"{SHOP}?digest=true", key=made.admin)[1]["digest"])


CALLS: list[tuple[str, str, Any, str]] = [
    ("GET", "/v1/boosters", None, "read"),
    ("GET", SHOP, None, "read"),
    ("GET", f"{SHOP}/snapshots", None, "read"),
    ("POST", f"{SHOP}/predict", {"context": X}, "read"),
    ("POST", f"{SHOP}/ask", {"context": X}, "decide"),
    ("POST", f"{SHOP}/tell", {"ticket": "0-999", "losses": 1.0}, "decide"),
    ("POST", f"{SHOP}/forget", {"tickets": []}, "decide"),
    ("POST", f"{SHOP}/learn", {"context": X, "action": 3.0, "loss": 1.0, "density": 0.1}, "decide"),
    ("GET", f"{SHOP}/log", None, "admin"),
    ("POST", f"{SHOP}/erase", {"subject": "somebody"}, "admin"),
    ("PUT", OTHER, {"recipe": RECIPE}, "admin"),
    ("DELETE", OTHER, None, "admin"),
    ("GET", f"{SHOP}/model", None, "admin"),
    ("POST", f"{SHOP}/snapshots", {"label": ""}, "admin"),
    ("POST", f"{SHOP}/rollback", {"snapshot": 999}, "admin"),
    ("DELETE", f"{SHOP}/snapshots/999", None, "admin"),
    ("GET", f"{SHOP}/guard", None, "read"),
    ("GET", f"{SHOP}/events", None, "read"),
    ("PUT", f"{SHOP}/guard", {"baseline": {"snapshot": 999}}, "admin"),
    ("POST", f"{SHOP}/guard", {"state": "on"}, "admin"),
    ("DELETE", f"{SHOP}/guard", None, "admin"),
]


@pytest.mark.parametrize(("method", "path", "sent", "role"), CALLS)
def test_keys_and_roles(keys: Any, method: str, path: str, sent: Any, role: str) -> None:
    service, made = keys
    before = digest(service, made)
    for wrong in (None, "nonsense", "bb_00000000_" + "x" * 43, made.admin[:-1], made.admin + "x"):
        status, problem = service.call(method, path, sent, wrong)
        assert (status, problem["title"]) == (401, "Unauthorized")
    for name in ("read", "decide"):
        if ("read", "decide", "admin").index(name) < ("read", "decide", "admin").index(role):
            assert service.call(method, path, sent, getattr(made, name))[0] == 403
    if path not in ("/v1/boosters", OTHER):
        assert service.call(method, path, sent, made.stranger)[0] == 404  # not even that it is there
    assert digest(service, made) == before
    given = {"authorization": f"Bearer {getattr(made, role)}"}
    assert service.http.request(method, path, json=sent, headers=given).status_code in (200, 201, 404)


def test_every_address_is_in_the_table(keys: Any) -> None:
    service, _ = keys
    known = set()
    for method, path, _, _ in CALLS:
        pattern = path.replace("shop", "{name}").replace("other", "{name}")
        known.add((method, re.sub(r"/999$", "/{number}", pattern)))
    page = service.http.get("/openapi.json").json()["paths"]
    for path in ("/health", "/ready", "/metrics", "/v1/live"):
        del page[path]
    assert {(method.upper(), path) for path, calls in page.items() for method in calls} == known


def test_a_tenant_sees_its_own_alone(keys: Any) -> None:
    service, made = keys
    assert service.call("PUT", SHOP, {"recipe": RECIPE | {"copies": 2}}, made.stranger)[0] == 201  # a name of their own
    service.call("POST", f"{SHOP}/ask", {"context": X}, made.admin)
    text = service.http.get("/metrics", headers={"authorization": f"Bearer {made.stranger}"}).text
    assert 'asks_total{booster="shop"} 0.0' in text
    assert service.http.get("/metrics").status_code == 401
    assert service.call("DELETE", SHOP, None, made.stranger)[0] == 200
    assert service.call("GET", SHOP, None, made.admin)[0] == 200


def test_bodies_that_are_too_large(keys: Any) -> None:
    service, made = keys
    given = {"authorization": f"Bearer {made.admin}", "content-type": "application/json"}
    long = b'{"context": [' + b"1," * 2**20 + b"1]}"
    answer = service.http.post(f"{SHOP}/ask", content=long, headers=given)
    assert (answer.status_code, answer.json()["detail"]) == (413, "The body must have at most 1048576 bytes.")
    answer = service.http.post(f"{SHOP}/ask", content=iter([long[:10], long]), headers=given)  # without saying how long
    assert answer.status_code == 413
    assert service.http.post(f"{SHOP}/ask", content=long).status_code == 401  # nobody reads a stranger's body


def plain(service: Running, head: str, wait: float = 5.0, rest: bytes = b"") -> tuple[bytes, float]:
    """Send a text and wait for the end of what comes; return it, and how long it took."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", service.port), timeout=wait) as link:
        link.sendall(head.encode() + rest)
        found = b""
        while data := link.recv(65536):
            found += data
    return found, time.monotonic() - begin


def test_slow_callers_are_not_waited_for(keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    service, made = keys
    monkeypatch.setattr(server, "HEAD_SECONDS", 0.3)
    head = f"POST {SHOP}/ask HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {made.admin}\r\n"
    found, _ = plain(service, head + 'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"con')
    assert found.startswith(b"HTTP/1.1 408 ")
    found, _ = plain(service, head)  # a head that never ends
    assert found == b""
    found, _ = plain(service, "")  # not a byte
    assert found == b""
    keeping = "GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    found, _ = plain(service, f"{keeping}\r\n{keeping}")  # a second head that never ends
    assert found.startswith(b"HTTP/1.1 200 ")
    assert service.call("GET", SHOP, None, made.admin)[0] == 200


def test_heads_that_never_end_are_refused(keys: Any) -> None:
    service, _ = keys
    with socket.create_connection(("127.0.0.1", service.port), timeout=10) as link:
        link.sendall(b"GET /health HTTP/1.1\r\nx: ")
        with contextlib.suppress(OSError):
            for _ in range(100):
                link.sendall(b"y" * 10_000)
        with contextlib.suppress(OSError):
            assert link.recv(100).startswith(b"HTTP/1.1 400 ")
    assert service.http.get("/health").status_code == 200


NAMES = (
    "..%2f..%2fetc%2fpasswd",
    "../../etc/passwd",
    "..",
    "%2e",
    "%2e%2e",
    "a/b",
    "a%2Fb",
    "a\\b",
    "%00",
    "shop%00",
    "a b",
    "-a",
)
MARKUP = (
    "<script>alert(1)</script>",
    "%3Cimg%20src=x%3E",
    "shop%0d%0aset-cookie:a=b",
    "名",
    "a'--",
    '"',
    "con:",
    "~root",
    "$HOME",
)


@pytest.mark.parametrize("name", [*NAMES, *MARKUP, "", "x" * 65])
def test_names_are_names(keys: Any, name: str) -> None:
    service, made = keys
    before = sorted(path.name for path in service.service.catalog.data.parent.rglob("*"))
    given = {"authorization": f"Bearer {made.admin}"}
    for method, path, sent in (
        ("PUT", f"/v1/boosters/{name}", {"recipe": RECIPE}),
        ("GET", f"/v1/boosters/{name}", None),
        ("POST", f"/v1/boosters/{name}/ask", {"context": X}),
        ("DELETE", f"/v1/boosters/{name}", None),
    ):
        answer = service.http.request(method, path, json=sent, headers=given)
        assert answer.status_code in (404, 405, 422), (method, answer.status_code)
        assert b"<script" not in answer.content
        assert b"<img" not in answer.content
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
    assert sorted(path.name for path in service.service.catalog.data.parent.rglob("*")) == before


def test_other_kinds_of_bodies(keys: Any) -> None:
    service, made = keys
    given = {"authorization": f"Bearer {made.admin}"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = service.http.post(
            f"{SHOP}/ask", content=b'{"context": [1, 2]}', headers={**given, "content-type": kind}
        )
        assert answer.status_code == 415
    assert service.http.post(f"{SHOP}/ask", headers=given).status_code in (415, 422)
    assert service.http.patch(SHOP, headers=given).status_code == 405
    assert service.http.get("/docs").status_code in (401, 404)


def test_random_bodies(keys: Any) -> None:
    """A few hundred; `make safety-serve` sends 10,000."""
    service, made = keys
    assert target(service.http, made.admin, 400, seed=0) <= {200, 201, 207, 400, 404, 409, 410, 413, 422}
    assert "error" not in {one["event"] for one in service.said}
    assert digest(service, made)


def test_no_key_is_in_the_log_or_on_the_disk(keys: Any) -> None:
    service, made = keys
    service.call("GET", SHOP, None, made.admin)
    service.call("GET", SHOP, None, "bb_11111111_secret")
    said = json.dumps(service.said)
    assert '"request"' in said
    held = b"".join(path.read_bytes() for path in service.service.catalog.data.rglob("*") if path.is_file())
    for key in (made.admin, made.decide, made.read, made.stranger, "bb_11111111_secret"):
        secret = key.split("_", 2)[2]
        assert secret not in said
        assert secret.encode() not in held
    assert made.admin.split("_")[1] in said  # its name is, so that one can tell who called


def test_revoked_keys_are_no_longer_taken(tmp_path: Path) -> None:
    catalog, now = Catalog(tmp_path), [0.0]
    key = catalog.add_key("a", "read")
    access = Access(Catalog(tmp_path), None, clock=lambda: now[0])
    assert access.caller(f"Bearer {key}", "h", "").tenant == "a"
    assert catalog.revoke_key(key.split("_")[1])
    assert not catalog.revoke_key(key.split("_")[1])
    catalog.add_key("b", "read")
    now[0] += 1.1
    with pytest.raises(Problem, match="not known"):
        access.caller(f"Bearer {key}", "h", "")


def test_rates_are_limited(tmp_path: Path) -> None:
    catalog, now = Catalog(tmp_path), [0.0]
    slow, fast = catalog.add_key("a", "read", rate=2.0), catalog.add_key("a", "read")
    access = Access(catalog, 5.0, clock=lambda: now[0])

    def taken(key: str, times: int) -> int:
        met = []
        for _ in range(times):
            try:
                access.caller(f"Bearer {key}", "h", "")
            except Problem as problem:
                met.append(problem)
        assert {problem.status for problem in met} <= {429}
        return times - len(met)

    assert (taken(slow, 10), taken(fast, 10)) == (2, 5)
    now[0] += 0.5
    assert (taken(slow, 10), taken(fast, 10)) == (1, 2)
    now[0] += 60.0
    assert (taken(slow, 10), taken(fast, 10)) == (2, 5)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::2]:1", "1.2.3.4"]
)
def test_without_keys_only_this_machine_is_a_host(tmp_path: Path, host: str) -> None:
    access = Access(Catalog(tmp_path), None)
    for here in ("localhost", "127.0.0.1:8000", "[::1]:80", "LOCALHOST:1", "127.0.0.2"):
        assert access.caller("", here, "127.0.0.1").role == "admin"
    with pytest.raises(Problem) as problem:
        access.caller("", host, "127.0.0.1")
    assert problem.value.status == 421


def test_other_addresses_need_keys(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.0.1", "example.com"):
        with pytest.raises(ValueError, match="as long as there are no keys"):
            check_host(host, tmp_path)
    for host in ("127.0.0.1", "localhost", "::1"):
        check_host(host, tmp_path)
    Catalog(tmp_path).add_key("a", "read")
    check_host("0.0.0.0", tmp_path)


def test_tenants_and_roles_are_checked(tmp_path: Path) -> None:
    catalog = Catalog(tmp_path)
    with pytest.raises(ValueError, match="tenant must be"):
        catalog.add_key("../x", "read")
    with pytest.raises(ValueError, match="role must be one of"):
        catalog.add_key("a", "root")
    assert catalog.all_keys() == []
    assert check_name("name", "a.b-c_1") == "a.b-c_1"


def test_a_mistake_of_ours_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path / "data") as service:
        monkeypatch.setattr(service.service.catalog, "boosters", lambda tenant: 1 / 0)
        status, problem = service.call("GET", "/v1/boosters")
        assert (status, problem["detail"]) == (500, "The service has made a mistake, which is in its log.")
        monkeypatch.undo()
        assert service.call("GET", "/v1/boosters")[0] == 200
    assert ["ZeroDivisionError" in one["where"] for one in service.said if one["event"] == "error"] == [True]
