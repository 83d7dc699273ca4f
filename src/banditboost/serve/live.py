"""The live page, and the stream of server-sent events that it reads."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from starlette.responses import StreamingResponse

from banditboost.serve import pages
from banditboost.serve.problems import Problem
from banditboost.serve.writer import Writer

if TYPE_CHECKING:
    from banditboost.serve.app import Service

EVERY = 0.5
"""Seconds between two events of a stream."""
LONGEST = 60.0
"""Seconds after which a stream ends and is asked for again, so that a key that was revoked sees no more."""
MOST_VIEWERS, MOST_SHOWN = 50, 200
"""Most streams at a time, and most boosters in one."""


class Live:
    """What all viewers share."""

    def __init__(self, service: Service) -> None:
        self._service, self.viewers = service, 0
        self._known: dict[tuple[str, str], tuple[float, str]] = {}

    async def stream(self, request: Request, tenant: str, name: str) -> AsyncIterator[str]:
        """Return events until a viewer goes, the service stops, or a minute is over."""
        self.viewers += 1
        try:
            until = time.monotonic() + LONGEST
            while time.monotonic() < until and not request.scope["gate"].closing:
                yield f"data: {await self._now(tenant, name)}\n\n"
                await asyncio.sleep(EVERY)
        finally:
            self.viewers -= 1

    async def _now(self, tenant: str, name: str) -> str:
        """Return what is shown now, as JSON; viewers of the same share it."""
        now = time.monotonic()
        when, text = self._known.get((tenant, name), (0.0, ""))
        if now - when < 0.9 * EVERY:
            return text
        writers = sorted(self._service.house.of(tenant))[:MOST_SHOWN]
        lines = await asyncio.gather(*(_line(booster, writer) for booster, writer in writers))
        chosen = name if any(name == booster for booster, _ in writers) else writers[0][0] if writers else ""
        detail = None
        for booster, writer in writers:
            if booster == chosen:
                detail = await _asked(writer, "live")
        shown = {"time": time.time(), "boosters": lines, "chosen": chosen, "booster": detail}
        text = json.dumps(shown, allow_nan=False)
        self._known = {key: one for key, one in self._known.items() if now - one[0] < EVERY}
        self._known[tenant, name] = now, text
        return text


async def _line(name: str, writer: Writer) -> dict[str, Any]:
    return {
        "name": name,
        **(await _asked(writer, "summary") or {"problem": "This booster cannot be used at the moment."}),
    }


async def _asked(writer: Writer, what: str) -> Any:
    try:
        return await writer.do(lambda kept: getattr(kept, what)(), records=False)
    except Problem:
        return None


def add_live(app: FastAPI, service: Service) -> None:
    """Add the page and its stream to the addresses."""
    live = Live(service)

    async def page(request: Request) -> Response:
        found = pages.read(request.url.path, service.access.needs_key())
        return Response(found.body, headers=found.headers)

    for path in pages.PATHS:
        app.add_api_route(path, page, methods=["GET"], include_in_schema=False)

    @app.get("/v1/live", summary="What the live page shows, as server-sent events; it ends after a minute")
    async def stream(request: Request, booster: str = "") -> Response:
        from banditboost.serve.app import allowed

        tenant = allowed(request, "read").tenant
        if live.viewers >= MOST_VIEWERS:
            raise Problem(503, f"At most {MOST_VIEWERS} viewers are shown the live page.")
        return StreamingResponse(
            live.stream(request, tenant, booster), media_type="text/event-stream", headers={"cache-control": "no-store"}
        )
