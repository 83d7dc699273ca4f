"""Running the service: one process, one port, on this machine unless told otherwise."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import socket
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from banditboost._compiled.waiting import when_compiling
from banditboost.serve import claim
from banditboost.serve.app import Settings, make_app
from banditboost.serve.catalog import Catalog
from banditboost.serve.gate import WHOLE, Gate
from banditboost.serve.models import Given, take_in

HEAD_SECONDS = 10.0
"""Seconds within which the head of a request must have come; a connection that takes longer is closed."""
MOST_CONNECTIONS = 2_000
DRAIN_SECONDS = 20
"""Seconds that requests have to end after the service was told to stop."""


class Log:
    """Writes one JSON object a line; nothing that came in a header is ever among it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, event: str, **more: Any) -> None:
        """Write a line."""
        self._stream.write(json.dumps({"time": round(time.time(), 3), "event": event, **more}) + "\n")
        self._stream.flush()


class Forwarded(logging.Handler):
    """Lets what libraries log stand in the service's log, in its form."""

    def __init__(self, say: Log) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        self._say("log", source=record.name, text=record.getMessage())


class Together:
    """A transport that sends the head and the body of an answer together: what is written within one turn goes out at once."""

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._waiting: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Send some bytes at the end of this turn."""
        if not self._waiting:
            self._loop.call_soon(self._send)
        self._waiting.append(data)

    def close(self) -> None:
        """Send what waits, and close."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._waiting:
            data, self._waiting = b"".join(self._waiting), []
            if not self._transport.is_closing():
                self._transport.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Patient(H11Protocol):
    """HTTP whose callers have a few seconds for the head of a request, and no more."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to count."""
        super().connection_made(Together(transport, self.loop))  # type: ignore[arg-type]
        self._timer = self.loop.call_later(HEAD_SECONDS, self._close_if_waiting)

    def data_received(self, data: bytes) -> None:
        """Begin to count again where a new head has begun and not ended; say where a request has come as a whole."""
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:
            if self._timer is None:
                self._timer = self.loop.call_later(HEAD_SECONDS, self._close_if_waiting)
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self.cycle.more_body:
            self.scope[WHOLE] = True  # type: ignore[literal-required]

    def connection_lost(self, exc: Exception | None) -> None:
        """Count no more."""
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _close_if_waiting(self) -> None:
        self._timer = None
        if (self.cycle is None or self.cycle.response_complete) and not self.transport.is_closing():
            self.transport.close()


class Draining(uvicorn.Server):
    """A server that, once told to stop, also closes connections that came in that very moment, when each has its answer."""

    async def shutdown(self, sockets: Any = None) -> None:
        """Stop listening, and end when all requests are answered."""
        if isinstance(self.config.app, Gate):
            self.config.app.closing = True
        closing = asyncio.create_task(self._close_all())
        try:
            await super().shutdown(sockets)
        finally:
            closing.cancel()

    async def _close_all(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            for connection in list(self.server_state.connections):
                if not connection.transport.is_closing():
                    connection.shutdown()


def check_host(host: str, data: Path) -> None:
    """Raise where other machines would be served without keys."""
    try:
        here = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        here = False
    catalog = Catalog(data)
    try:
        if not here and not catalog.all_keys():
            raise ValueError(
                f"host must be 127.0.0.1 as long as there are no keys, got {host!r:.100}: make one by `banditboost keys add`."
            )
    finally:
        catalog.close()


def serve(
    settings: Settings,
    host: str,
    port: int,
    certificate: Path | None = None,
    private_key: Path | None = None,
    models: Sequence[Given] = (),
) -> None:
    """Take models in, and serve until a signal says to stop; then finish what was begun, and close all journals."""
    check_host(host, settings.data)
    if (certificate is None) != (private_key is None):
        raise ValueError("certificate and private key must be given together.")
    with claim.folder(settings.data):
        sockets, say = claim.sockets(host, port), Log(sys.stderr)
        take_in(settings.data, models, say)
        _serve(settings, (host, port), sockets, say, (certificate, private_key))


def _serve(
    settings: Settings,
    address: tuple[str, int],
    sockets: list[socket.socket],
    say: Log,
    tls: tuple[Path | None, Path | None],
) -> None:
    """Serve from a folder that no other service uses, at sockets that listen."""
    logging.getLogger().addHandler(Forwarded(say))
    when_compiling(lambda: say("compiling", text="What a booster needs is compiled, once, which can take minutes."))
    warnings.showwarning = lambda message, *rest, **more: say("warning", text=str(message))
    sys.setswitchinterval(0.0005)  # so that requests are read while boosters learn
    config = uvicorn.Config(
        make_app(settings, say),
        http=Patient,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=DRAIN_SECONDS,
        ssl_certfile=tls[0],
        ssl_keyfile=tls[1],
    )
    scheme = "http" if tls[0] is None else "https"
    say(
        "serving",
        address=f"{scheme}://{address[0]}:{address[1]}",
        data=str(settings.data),
        durability=settings.durability,
    )
    Draining(config).run(sockets)
