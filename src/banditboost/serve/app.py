"""The addresses of the service, and what each of them does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from starlette.types import ASGIApp, Scope

from banditboost._core.version import __version__
from banditboost.serve import export, forms, hot
from banditboost.serve.access import Access
from banditboost.serve.answered import Answered
from banditboost.serve.catalog import Catalog, Key
from banditboost.serve.gate import Gate
from banditboost.serve.house import House
from banditboost.serve.kept import SNAPSHOT_EVERY
from banditboost.serve.live import add_live
from banditboost.serve.metrics import Metrics
from banditboost.serve.problems import Problem
from banditboost.serve.writer import Writer

BOOSTER = "/v1/boosters/{name}"
PARQUET = "application/vnd.apache.parquet"


class Settings(NamedTuple):
    """How a service is run."""

    data: Path
    durability: str = "group"
    rate: float | None = None
    """Most requests a second of one key, or of one address where there are no keys; None for no limit."""
    most_bytes: int = 2**20
    body_seconds: float = 10.0
    log_requests: bool = False
    snapshot_every: int = SNAPSHOT_EVERY
    keep_days: float | None = None
    """Days after which rounds are erased; None for never."""


MakesHouse = Callable[[Catalog, Callable[..., None]], House]


class Service:
    """What all requests share."""

    def __init__(self, settings: Settings, say: Callable[..., None], house: MakesHouse | None = None) -> None:
        self.catalog = Catalog(settings.data)
        if house is None:
            self.house = House(self.catalog, settings.durability, say, settings.snapshot_every, settings.keep_days)
        else:
            self.house = house(self.catalog, say)
        self.metrics = Metrics()
        self.access = Access(self.catalog, settings.rate)

    def use(self, request: Request, name: str, role: str) -> tuple[Key, Writer]:
        """Return who calls and the writer of a booster of theirs; raise where they may not."""
        return (caller := allowed(request, role)), self.house.writer(caller.tenant, name)

    def writer_for(self, scope: Scope, name: str, role: str) -> Writer:
        """Return the writer of a booster for whoever has made a request; raise where they may not."""
        return self.house.writer(_allowed(scope["caller"], role).tenant, name)


def allowed(request: Request, role: str) -> Key:
    """Return who calls; raise where their key has too small a role."""
    return _allowed(request.scope["caller"], role)


def _allowed(caller: Key, role: str) -> Key:
    if not caller.may(role):
        raise Problem(403, f"The key has the role {caller.role!r}, and this needs {role!r}.")
    return caller


def make_app(
    settings: Settings, say: Callable[..., None] = lambda what, **more: None, house: MakesHouse | None = None
) -> ASGIApp:
    """Return the application; `say` writes a line to the log, and `house` may keep boosters elsewhere than in this process."""
    service = Service(settings, say, house)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        opening = asyncio.create_task(service.house.start())
        yield
        opening.cancel()
        await service.house.stop()
        service.catalog.close()
        say("stopped")

    problems: dict[int | str, dict[str, Any]] = {
        "default": {"model": forms.ProblemDocument, "description": "A problem"}
    }
    app = FastAPI(
        title="banditboost",
        version=__version__,
        description="Decisions that learn from what they cost: ask, play, tell.",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        default_response_class=Answered,
        redirect_slashes=False,
        responses=problems,
    )
    app.state.service = service
    hot.describe(app, service.writer_for)
    _decisions(app, service)
    _watched(app, service)
    _boosters(app, service)
    _snapshots(app, service)
    _guards(app, service)
    add_live(app, service)
    _errors(app)
    limits = settings.most_bytes, settings.body_seconds, settings.log_requests
    return Gate(hot.Hot(app, service.writer_for), service.access, service.metrics, say, *limits)


def _watched(app: FastAPI, service: Service) -> None:
    @app.get("/health", summary="Whether the process is alive")
    async def health() -> Response:
        return Answered({"status": "alive", "version": __version__})

    @app.get("/ready", summary="Whether all boosters are open")
    async def ready() -> Response:
        if not service.house.ready:
            raise Problem(503, "The service is opening or closing its boosters.")
        return Answered({"status": "ready"})

    @app.get("/metrics", summary="Numbers for Prometheus, of the caller's tenant")
    async def metrics(request: Request) -> Response:
        tenant = allowed(request, "read").tenant
        return Response(
            service.metrics.text(service.house.of(tenant)), media_type="text/plain; version=0.0.4; charset=utf-8"
        )


def _boosters(app: FastAPI, service: Service) -> None:
    @app.get("/v1/boosters", summary="The names of all boosters")
    async def names(request: Request) -> Response:
        tenant = allowed(request, "read").tenant
        return Answered({"boosters": [name for _, name, _ in service.catalog.boosters(tenant)]})

    @app.put(BOOSTER, status_code=201, summary="Make a booster from a recipe; 200 where the same one is there already")
    async def create(request: Request, name: str, creation: forms.Creation) -> Response:
        caller = allowed(request, "admin")
        guard = None if creation.guard is None else creation.guard.model_dump(exclude_none=True)
        settings = {"deadline": creation.deadline, "max_in_flight": creation.max_in_flight, "guard": guard}
        made = await service.house.create(caller.tenant, name, creation.recipe, settings)
        info = await service.house.writer(caller.tenant, name).do(lambda kept: kept.info(), records=False)
        return Answered({"name": name, **info}, status_code=201 if made else 200)

    @app.get(BOOSTER, summary="What there is to know about a booster")
    async def show(request: Request, name: str, digest: bool = False) -> Response:
        _, writer = service.use(request, name, "read")
        return Answered({"name": name, **await writer.do(lambda kept: kept.info(digest))})

    @app.delete(BOOSTER, summary="Remove a booster with all that was recorded of it")
    async def delete(request: Request, name: str) -> Response:
        caller = allowed(request, "admin")
        await service.house.delete(caller.tenant, name)
        return Answered({"deleted": name})

    @app.get(BOOSTER + "/model", summary="The booster as a model file, which Booster.load reads")
    async def model(request: Request, name: str) -> Response:
        _, writer = service.use(request, name, "admin")
        return Response(await writer.do(lambda kept: kept.model()), media_type="application/octet-stream")


def _decisions(app: FastAPI, service: Service) -> None:
    @app.post(BOOSTER + "/forget", summary="Give up tickets whose answers will not come")
    async def forget(request: Request, name: str, given: forms.Tickets) -> Response:
        _, writer = service.use(request, name, "decide")
        found = await writer.do(lambda kept: [kept.forget(one) for one in given.tickets])
        return Answered({"forgotten": sum(found)})

    @app.post(BOOSTER + "/erase", summary="Erase all that is kept of some people, at once")
    async def erase(request: Request, name: str, given: forms.Erasure) -> Response:
        _, writer = service.use(request, name, "admin")
        if (given.subject is None) == (given.subjects is None):
            raise Problem(422, "subject or subjects must be given, and not both.")
        people = given.subjects or [str(given.subject)]
        return Answered({"erased": await writer.do(lambda kept: kept.erase(people))})

    @app.get(
        BOOSTER + "/log",
        summary="All rounds that were told, as a Parquet file, which Log.read reads",
        response_class=Response,
        responses={200: {"content": {PARQUET: {"schema": {"type": "string", "format": "binary"}}}}},
    )
    async def log(request: Request, name: str) -> Response:
        _, writer = service.use(request, name, "admin")
        contents = await writer.do(lambda kept: kept.contents(), records=False)
        try:
            file, size = await asyncio.to_thread(export.parquet, contents)
        except FileNotFoundError:  # a part was erased meanwhile
            raise Problem(503, "The log is being written anew: try again in a second.") from None
        except ImportError as error:
            raise Problem(501, str(error)) from None
        headers = {"content-length": str(size), "content-disposition": f'attachment; filename="{name}.parquet"'}
        return StreamingResponse(export.sent(file), headers=headers, media_type=PARQUET)


def _snapshots(app: FastAPI, service: Service) -> None:
    @app.get(BOOSTER + "/snapshots", summary="The snapshots of a booster")
    async def snapshots(request: Request, name: str) -> Response:
        _, writer = service.use(request, name, "read")
        return Answered({"snapshots": await writer.do(lambda kept: kept.snapshots(), records=False)})

    @app.post(BOOSTER + "/snapshots", status_code=201, summary="Keep the present state")
    async def snapshot(request: Request, name: str, given: forms.Label) -> Response:
        _, writer = service.use(request, name, "admin")
        return Answered(await writer.do(lambda kept: kept.snapshot(given.label)), status_code=201)

    @app.delete(BOOSTER + "/snapshots/{number}", summary="Remove a snapshot")
    async def delete_snapshot(request: Request, name: str, number: int) -> Response:
        _, writer = service.use(request, name, "admin")
        await writer.do(lambda kept: kept.delete_snapshot(number))
        return Answered({"deleted": number})

    @app.post(BOOSTER + "/rollback", summary="Go back to a snapshot; tickets that were asked since are void")
    async def roll_back(request: Request, name: str, given: forms.Back) -> Response:
        _, writer = service.use(request, name, "admin")
        await writer.do(lambda kept: kept.roll_back(given.snapshot))
        return Answered({"name": name, **await writer.do(lambda kept: kept.info(), records=False)})


def _guards(app: FastAPI, service: Service) -> None:
    @app.get(BOOSTER + "/guard", summary="How the booster compares with its baseline")
    async def guard(request: Request, name: str) -> Response:
        _, writer = service.use(request, name, "read")
        return Answered(await writer.do(lambda kept: kept.guard_status(), records=False))

    @app.put(BOOSTER + "/guard", summary="Give the booster a guard, or another one")
    async def set_guard(request: Request, name: str, given: forms.GuardForm) -> Response:
        caller, writer = service.use(request, name, "admin")
        wanted = given.model_dump(exclude_none=True)
        return Answered(await writer.do(lambda kept: kept.set_guard(wanted, caller.id)))

    @app.post(BOOSTER + "/guard", summary="Let the booster play again, or the baseline every round")
    async def set_state(request: Request, name: str, given: forms.GuardState) -> Response:
        caller, writer = service.use(request, name, "admin")
        return Answered(await writer.do(lambda kept: kept.set_state(given.state, caller.id)))

    @app.delete(BOOSTER + "/guard", summary="Let the booster play every round, and compare nothing")
    async def remove_guard(request: Request, name: str) -> Response:
        caller, writer = service.use(request, name, "admin")
        await writer.do(lambda kept: kept.remove_guard(caller.id))
        return Answered({"name": name, "guard": None})

    @app.get(BOOSTER + "/events", summary="Fall-backs, alarms, and what admins have decided")
    async def events(request: Request, name: str) -> Response:
        _, writer = service.use(request, name, "read")
        return Answered({"events": await writer.do(lambda kept: kept.events(), records=False)})


def _errors(app: FastAPI) -> None:
    async def problem(request: Request, error: Exception) -> Response:
        if isinstance(error, RequestValidationError):
            error = hot.unfitting(error.errors()[0])
        elif isinstance(error, HTTPException):
            detail = error.detail if error.detail.endswith(".") else f"{error.detail}."
            error = Problem(error.status_code, detail)
        elif not isinstance(error, Problem):  # which is raised once more after this, and comes to the log
            error = Problem(500, "The service has made a mistake, which is in its log.")
        body = json.dumps(error.document())
        return Response(body, error.status, error.headers, media_type="application/problem+json")

    for kind in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, problem)
