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
from starlette.types import ASGIApp

from banditboost._core.version import __version__
from banditboost.serve import forms
from banditboost.serve.access import Access
from banditboost.serve.catalog import Catalog, Key
from banditboost.serve.gate import Gate
from banditboost.serve.house import House
from banditboost.serve.kept import SNAPSHOT_EVERY
from banditboost.serve.live import add_live
from banditboost.serve.metrics import Metrics
from banditboost.serve.problems import Problem
from banditboost.serve.writer import Writer

BOOSTER = "/v1/boosters/{name}"
LONGEST_KEY = 200
"""Most characters of an Idempotency-Key."""


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


class Service:
    """What all requests share."""

    def __init__(self, settings: Settings, say: Callable[..., None]) -> None:
        self.catalog = Catalog(settings.data)
        self.house = House(self.catalog, settings.durability, say, settings.snapshot_every)
        self.metrics = Metrics()
        self.access = Access(self.catalog, settings.rate)

    def use(self, request: Request, name: str, role: str) -> tuple[Key, Writer]:
        """Return who calls and the writer of a booster of theirs; raise where they may not."""
        return (caller := allowed(request, role)), self.house.writer(caller.tenant, name)


def allowed(request: Request, role: str) -> Key:
    """Return who calls; raise where their key has too small a role."""
    caller: Key = request.scope["caller"]
    if not caller.may(role):
        raise Problem(403, f"The key has the role {caller.role!r}, and this needs {role!r}.")
    return caller


class Answered(Response):
    """An answer in JSON; numbers are written so that they are read as the same numbers."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, allow_nan=False).encode()


def make_app(settings: Settings, say: Callable[..., None] = lambda what, **more: None) -> ASGIApp:
    """Return the application; `say` writes a line to the log."""
    service = Service(settings, say)

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
    _decisions(app, service)  # first, since routes are looked at in order
    _watched(app, service)
    _boosters(app, service)
    _snapshots(app, service)
    _guards(app, service)
    add_live(app, service)
    _errors(app)
    return Gate(
        app, service.access, service.metrics, say, settings.most_bytes, settings.body_seconds, settings.log_requests
    )


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
    @app.post(BOOSTER + "/ask", summary="Begin one round or many", response_model=forms.Issued)
    async def ask(request: Request, name: str, question: forms.Question) -> Response:
        _, writer = service.use(request, name, "decide")
        key = request.headers.get("idempotency-key")
        if key is not None and not 0 < len(key) <= LONGEST_KEY:
            raise Problem(422, f"Idempotency-Key must have 1 to {LONGEST_KEY} characters.")
        contexts = _contexts(question)
        issued = await writer.do(lambda kept: kept.ask(contexts, question.space, key))
        return Answered(issued[0] if question.contexts is None else {"tickets": issued})

    @app.post(BOOSTER + "/tell", summary="End one round or many")
    async def tell(request: Request, name: str, answers: forms.Answers) -> Response:
        _, writer = service.use(request, name, "decide")
        many = _tells(answers)
        results = await writer.do(lambda kept: [_told(kept, one) for one in many])
        done = [result for result in results if isinstance(result, str)]
        if answers.tells is None:
            if isinstance(results[0], Problem):
                raise results[0]
            return Answered({"ticket": answers.ticket, "result": results[0]})
        shown = [
            {"ticket": one["ticket"], **({"result": r} if isinstance(r, str) else r.document())}
            for one, r in zip(many, results, strict=True)
        ]
        return Answered({"results": shown}, status_code=200 if len(done) == len(results) else 207)

    @app.post(BOOSTER + "/predict", summary="Predict, and change nothing")
    async def predict(request: Request, name: str, look: forms.Look) -> Response:
        _, writer = service.use(request, name, "read")
        contexts = _contexts(look)
        found = await writer.do(lambda kept: kept.predict(contexts), records=False)
        return Answered({"prediction": found[0]} if look.contexts is None else {"predictions": found})

    @app.post(BOOSTER + "/forget", summary="Give up tickets whose answers will not come")
    async def forget(request: Request, name: str, given: forms.Tickets) -> Response:
        _, writer = service.use(request, name, "decide")
        found = await writer.do(lambda kept: [kept.forget(one) for one in given.tickets])
        return Answered({"forgotten": sum(found)})


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
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"] if part != "body")
            error = Problem(422, f"The request does not fit: {where or 'the body'} - {first['msg']}.")
        elif isinstance(error, HTTPException):
            detail = error.detail if error.detail.endswith(".") else f"{error.detail}."
            error = Problem(error.status_code, detail)
        elif not isinstance(error, Problem):  # which is raised once more after this, and comes to the log
            error = Problem(500, "The service has made a mistake, which is in its log.")
        body = json.dumps(error.document())
        return Response(body, error.status, error.headers, media_type="application/problem+json")

    for kind in (Problem, RequestValidationError, HTTPException, Exception):
        app.add_exception_handler(kind, problem)


def _contexts(given: forms.Question | forms.Look) -> list[Any]:
    if given.contexts is None:
        return [given.context]
    if given.context is not None or not given.contexts:
        raise Problem(422, "context or contexts must be given, not both, and contexts must not be empty.")
    return given.contexts


def _tells(answers: forms.Answers) -> list[dict[str, Any]]:
    ways = {"values", "losses", "rewards"}
    if answers.tells is None:
        if answers.ticket is None:
            raise Problem(422, "ticket must be given, or tells with many.")
        return [answers.model_dump(include=ways | {"ticket"})]
    if answers.ticket is not None or not answers.tells or answers.model_dump(include=ways, exclude_none=True):
        raise Problem(422, "ticket or tells must be given, not both, and tells must not be empty.")
    return [one.model_dump() for one in answers.tells]


def _told(kept: Any, one: dict[str, Any]) -> str | Problem:
    """Tell one of many; a problem with it is no problem of the others, unless it is one of the disk."""
    try:
        result: str = kept.tell(one["ticket"], one)
        return result
    except Problem as problem:
        return problem
    except ValueError as error:
        return Problem(422, str(error))
