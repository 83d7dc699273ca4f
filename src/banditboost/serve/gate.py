"""What every request passes before anything else sees it: limits of size and time, who calls, and what became of it."""

from __future__ import annotations

import asyncio
import json
import time
import traceback
from collections.abc import Callable
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from banditboost.serve.access import Access
from banditboost.serve.metrics import Metrics
from banditboost.serve.pages import PATHS
from banditboost.serve.problems import Problem

OPEN = {"/health", "/ready", "/openapi.json", *PATHS}
"""Paths that need no key."""
STREAM = "/v1/live"
"""The path of the live page's stream."""
WHOLE = "banditboost.whole"
"""Stands in the scope of a request whose body has come as a whole before anybody asks for it."""
NOTHING: Message = {"type": "http.request", "body": b"", "more_body": False}


class Gate:
    """Middleware of one layer: reads the body within its limits, finds the caller, and turns every error into one sentence.

    Parameters
    ----------
    app
        The application.
    access
        Says who may call.
    metrics
        Hears how long requests took.
    say
        Writes a line to the log.
    most_bytes
        Most bytes of a body.
    seconds
        Seconds within which a body must have come.
    log_requests
        Whether every request gets a line in the log.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        metrics: Metrics,
        say: Callable[..., None],
        most_bytes: int = 2**20,
        seconds: float = 10.0,
        log_requests: bool = False,
    ) -> None:
        self.app, self.access, self.metrics, self.say = app, access, metrics, say
        self.most_bytes, self.seconds, self.log_requests = most_bytes, seconds, log_requests
        self.closing = False
        """Whether the service was told to stop: streams end then."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0
        scope["gate"] = self

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), (b"x-content-type-options", b"nosniff")]
            await send(message)

        try:
            await self.app(scope, await self._body(scope, receive), sending)
        except Problem as problem:
            await respond(problem, sending)
        except Exception as error:
            self.say("error", error=f"{type(error).__name__}: {error}", where=traceback.format_exc())
            if not status:
                await respond(Problem(500, "The service has made a mistake, which is in its log."), sending)
        route = getattr(scope.get("route"), "path", "other")
        took = time.perf_counter() - begin
        if route != STREAM:  # which lasts as long as somebody looks
            self.metrics.request(scope["method"], route, status, took)
        if self.log_requests:
            caller = scope.get("caller")
            who = {"tenant": caller.tenant, "key": caller.id} if caller else {}
            self.say("request", method=scope["method"], route=route, status=status, ms=round(took * 1e3, 2), **who)

    async def _body(self, scope: Scope, receive: Receive) -> Receive:
        """Find the caller, read the body, and return what gives the body to the application."""
        headers: dict[bytes, bytes] = dict(scope["headers"])
        if scope["path"] not in OPEN:
            said, host = (
                headers.get(b"authorization", b"").decode("latin-1"),
                headers.get(b"host", b"").decode("latin-1"),
            )
            scope["caller"] = self.access.caller(said, host, (scope.get("client") or ("",))[0])
        length = headers.get(b"content-length")
        if length is None and b"transfer-encoding" not in headers:
            return receive
        if length is not None and not (length.isdigit() and int(length) <= self.most_bytes):
            raise self._too_large()
        kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if kind != b"application/json" and length != b"0":
            raise Problem(415, "The body must be JSON, with the header 'Content-Type: application/json'.")
        if WHOLE in scope:  # nothing is waited for
            body = await self._read(receive)
        else:
            body = await self._read_in_time(receive)
        scope["body"] = body
        messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receiving() -> Message:
            return messages.pop() if messages else await receive()

        return receiving

    async def _read_in_time(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self.seconds):
                return await self._read(receive)
        except TimeoutError:
            raise Problem(408, f"The body must come within {self.seconds:g} seconds.") from None

    async def _read(self, receive: Receive) -> bytes:
        parts, size = list[bytes](), 0
        while True:
            message: dict[str, Any] = dict(await receive())
            if message["type"] == "http.disconnect":
                raise Problem(400, "The caller has gone.")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self.most_bytes:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> Problem:
        return Problem(413, f"The body must have at most {self.most_bytes} bytes.")


async def respond(problem: Problem, send: Send) -> None:
    """Send a problem as a whole answer."""
    body = json.dumps(problem.document()).encode()
    headers = {"content-type": "application/problem+json", "content-length": str(len(body)), **problem.headers}
    if problem.status in (408, 413):  # the rest of the body is not read
        headers["connection"] = "close"
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
