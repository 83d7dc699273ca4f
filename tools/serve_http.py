"""A small generator of requests for load and crash tests: plain HTTP/1.1 over connections that are kept, to this machine alone."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any


class GoneError(Exception):
    """The service has closed the connection before it has answered."""


class Line:
    """One connection, used by one request at a time."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: bytes, headers: str = "") -> tuple[int, bytes]:
        """Make a request; return the status and the body of the answer."""
        try:
            if self._streams is None:
                self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            reader, writer = self._streams
            writer.write(
                f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n{headers}"
                f"content-length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = await reader.readuntil(b"\r\n\r\n")
            begin = head.index(b"content-length: ") + 16
            answer = await reader.readexactly(int(head[begin : head.index(b"\r", begin)]))
            if b"connection: close" in head:
                self.close()
            return int(head[9:12]), answer
        except (OSError, asyncio.IncompleteReadError, ValueError) as error:
            self.close()
            raise GoneError from error

    def close(self) -> None:
        """Close the connection."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def start(port: int, log: Path, *arguments: object) -> subprocess.Popen[bytes]:
    """Start a process of `serve_child.py` and wait until it answers; what it says goes to a file."""
    command = [
        sys.executable,
        str(Path(__file__).with_name("serve_child.py")),
        "--port",
        str(port),
        *map(str, arguments),
    ]
    with log.open("ab") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    path = "/docs" if "--empty" in arguments else "/ready"
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=2):
                return process
        except OSError:
            if process.poll() is not None:
                raise RuntimeError(f"The service has ended:\n{log.read_text()[-2000:]}") from None
            time.sleep(0.05)
    raise RuntimeError(f"The service does not answer:\n{log.read_text()[-2000:]}")


def put(port: int, path: str, body: Any) -> Any:
    """Make a PUT request and return what was answered."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"}, method="PUT"
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def get(port: int, path: str) -> Any:
    """Make a GET request and return what was answered."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return json.loads(answer.read())
