"""`make safety-serve`: what should not work against a service, and the statuses that come; then 10,000 random bodies."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.serve import test_safety as safety
from tests.serve.common import RECIPE, SHOP, Running, running
from tests.serve.random_bodies import target


def statuses(service: Running, made: safety.Keys) -> dict[str, Callable[[], set[Any]]]:
    """The attempts, each of which returns the statuses that came."""

    def everywhere(key: str | None, above: str = "read") -> set[Any]:
        roles = ("read", "decide", "admin")
        calls = [call for call in safety.CALLS if roles.index(call[3]) >= roles.index(above)]
        return {service.call(method, path, sent, key)[0] for method, path, sent, _ in calls}

    def strangers() -> set[Any]:
        calls = [call for call in safety.CALLS if call[1].startswith(SHOP)]
        return {service.call(method, path, sent, made.stranger)[0] for method, path, sent, _ in calls}

    def named(names: tuple[str, ...]) -> set[Any]:
        came = set()
        for name in names:
            came.add(service.call("PUT", f"/v1/boosters/{name}", {"recipe": RECIPE}, made.admin)[0])
            came.add(service.call("GET", f"/v1/boosters/{name}", None, made.admin)[0])
        return came

    def large() -> set[Any]:
        given = {"authorization": f"Bearer {made.admin}", "content-type": "application/json"}
        whole = service.http.post(f"{SHOP}/ask", content=b"[" + b"1," * 2**20, headers=given).status_code
        parts = service.http.post(f"{SHOP}/ask", content=iter([b"1," * 2**10] * 2**10), headers=given).status_code
        return {whole, parts}

    def slow(rest: str) -> set[Any]:
        head = f"POST {SHOP}/ask HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {made.admin}\r\n"
        found, _ = safety.plain(service, head + rest, wait=30.0)
        return {int(found[9:12]) if found else "closed"}

    return {
        "no key": lambda: everywhere(None),
        "a key that does not exist": lambda: everywhere("bb_00000000_" + "x" * 43),
        "a key for reading that asks, tells or manages": lambda: everywhere(made.read, "decide"),
        "a key for deciding that creates, rolls back or deletes": lambda: everywhere(made.decide, "admin"),
        "the booster of another tenant": strangers,
        "a body of two megabytes, with and without saying so": large,
        "a body that never ends": lambda: slow('content-type: application/json\r\ncontent-length: 9\r\n\r\n{"con'),
        "a head that never ends": lambda: slow(""),
        "paths in names": lambda: named(safety.NAMES),
        "markup in names": lambda: named(safety.MARKUP),
    }


def main() -> None:
    """Try all, print what came, and write it where wanted; exit code 1 where the service has made a mistake."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--bodies", type=int, default=10_000)
    options.add_argument("--json", type=Path, help="write the table to this file")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        made = safety.Keys(data)
        with running(data, body_seconds=1.0) as service:
            assert service.call("PUT", SHOP, {"recipe": RECIPE}, made.admin)[0] == 201
            rows = [
                {"attempt": what, "statuses": sorted(map(str, tries()))}
                for what, tries in statuses(service, made).items()
            ]
            came = target(service.http, made.admin, given.bodies, seed=1)
            rows.append({"attempt": f"{given.bodies:,} random bodies", "statuses": sorted(map(str, came))})
            alive = service.call("GET", SHOP, None, made.admin)[0] == 200
        mistakes = [one for one in service.said if one["event"] == "error"]
    for row in rows:
        print(f"{row['attempt']:60} {', '.join(row['statuses'])}")
    print(f"Mistakes of the service: {len(mistakes)}; alive: {alive}.")
    if given.json is not None:
        given.json.write_text(json.dumps({"rows": rows, "mistakes": len(mistakes)}, indent=1) + "\n")
    sys.exit(bool(mistakes) or not alive or any(status.startswith("5") for row in rows for status in row["statuses"]))


if __name__ == "__main__":
    main()
