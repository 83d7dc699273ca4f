"""What tests of the service share: a small booster, a service in a thread, and a service in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from banditboost.serve.app import Settings, make_app
from banditboost.serve.kept import Kept
from banditboost.serve.server import Draining, Patient

ROOT = Path(__file__).parent.parent.parent
LINE = {"kind": "Interval", "low": 0, "high": 20}
RECIPE: dict[str, Any] = {"algorithm": "streaming", "space": LINE, "copies": 3, "answers": 1}
SHOP = "/v1/boosters/shop"
JSON = {"content-type": "application/json"}


def kept(folder: Path, recipe: dict[str, Any] = RECIPE, **settings: Any) -> Kept:
    """A booster that was just made, or one that was made before."""
    if not folder.exists():
        Kept.create(folder, recipe, settings)
    return Kept(folder)


def crash(one: Kept) -> None:
    """What a process that dies leaves behind: nothing is written any more."""
    one.journal._let_go()
    one.booster.journal = None


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Running:
    """A service that is served by a thread."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.said: list[dict[str, Any]] = []
        made: Any = make_app(Settings(data, **settings), self._say)
        self.service, self.app = made.app.state.service, made
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = uvicorn.Config(
            self.app,
            host="127.0.0.1",
            port=self.port,
            http=Patient,
            ws="none",
            log_config=None,
            access_log=False,
            timeout_keep_alive=2,
        )
        self._server = Draining(config)
        self._thread = threading.Thread(target=self._server.run)
        self._thread.start()
        while not (self._server.started and self.service.house.ready):
            assert self._thread.is_alive()
            time.sleep(0.005)
        self.http = httpx.Client(base_url=self.url, timeout=20.0)

    def _say(self, event: str, **more: Any) -> None:
        self.said.append({"event": event, **more})

    def stop(self) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join()

    def call(self, method: str, path: str, body: Any = None, key: str | None = None, **headers: str) -> Any:
        """Make a request; return the status and what was answered."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if key is not None:
            given["authorization"] = f"Bearer {key}"
        answer = self.http.request(method, path, json=body, headers=given)
        return answer.status_code, answer.json()

    def create(self, path: str = SHOP, recipe: dict[str, Any] = RECIPE, **settings: Any) -> None:
        assert self.call("PUT", path, {"recipe": recipe, **settings})[0] == 201


@contextmanager
def running(data: Path, **settings: Any) -> Iterator[Running]:
    """A service in a thread, which ends with the block."""
    one = Running(data, **settings)
    try:
        yield one
    finally:
        one.stop()


class Process:
    """A service in a process of its own, as a user starts it."""

    def __init__(self, data: Path, *arguments: str, port: int | None = None) -> None:
        self.port, self.log = port or free_port(), data.parent / "service.log"
        self.url = f"http://127.0.0.1:{self.port}"
        command = [
            sys.executable,
            "-m",
            "banditboost",
            "serve",
            "--data",
            str(data),
            "--port",
            str(self.port),
            *arguments,
        ]
        with self.log.open("ab") as said:
            self.process = subprocess.Popen(command, stderr=said, env=os.environ | {"OPENBLAS_NUM_THREADS": "1"})
        self.http = httpx.Client(base_url=self.url, timeout=30.0)
        for _ in range(1200):
            try:
                if self.http.get("/ready").status_code == 200:
                    return
            except httpx.TransportError:
                assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.05)
        raise AssertionError(self.log.read_text())

    def end(self, number: int = signal.SIGTERM) -> int:
        """End the process by a signal; return how it ended."""
        self.http.close()
        self.process.send_signal(number)
        return self.process.wait(60)

    def events(self) -> list[dict[str, Any]]:
        """What it has said."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]
