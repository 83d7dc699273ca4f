"""The addresses that are called again and again, answered before the web framework sees them.

A route of the framework looks for its address among all, makes objects of request and answer, and looks at the parameters of its
function, for every request; all of that takes longer than to read the body. The framework has these addresses too, for its OpenAPI
document and for methods that they do not take.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, TypeVar

from fastapi import FastAPI
from pydantic import BaseModel, ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from banditboost.serve import forms
from banditboost.serve.answered import Answered, encoded
from banditboost.serve.problems import Problem

PREFIX = "/v1/boosters/"
LONGEST_KEY = 200
"""Most characters of an Idempotency-Key."""
Form = TypeVar("Form", bound=BaseModel)


class Called(NamedTuple):
    """A request, as far as these addresses are concerned."""

    writer: Any
    """The writer of the booster that it is about."""
    body: bytes
    key: str | None
    """Its Idempotency-Key."""


Handler = Callable[[Called], Awaitable[tuple[int, Any]]]


async def ask(called: Called) -> tuple[int, Any]:
    """Begin one round or many."""
    question, key = read(called.body, forms.Question), checked(called.key)
    contexts, space, subject = contexts_of(question), question.space, question.subject
    issued = await called.writer.do(lambda kept: kept.ask(contexts, space, key, subject))
    return 200, issued[0] if question.contexts is None else {"tickets": issued}


async def tell(called: Called) -> tuple[int, Any]:
    """End one round or many."""
    answers = read(called.body, forms.Answers)
    many = _tells(answers)
    results = await called.writer.do(lambda kept: [_told(kept, one) for one in many])
    if answers.tells is None:
        if isinstance(results[0], Problem):
            raise results[0]
        return 200, {"ticket": answers.ticket, "result": results[0]}
    shown = [
        {"ticket": one["ticket"], **({"result": r} if isinstance(r, str) else r.document())}
        for one, r in zip(many, results, strict=True)
    ]
    return 200 if all(isinstance(result, str) for result in results) else 207, {"results": shown}


async def predict(called: Called) -> tuple[int, Any]:
    """Predict, and change nothing."""
    look = read(called.body, forms.Look)
    contexts = contexts_of(look)
    found = await called.writer.do(lambda kept: kept.predict(contexts), records=False)
    return 200, {"prediction": found[0]} if look.contexts is None else {"predictions": found}


async def learn(called: Called) -> tuple[int, Any]:
    """Learn from an action that somebody else has chosen."""
    lesson, key = read(called.body, forms.Lesson).model_dump(), checked(called.key)
    return 200, await called.writer.do(lambda kept: kept.learn(lesson, key))


class Address(NamedTuple):
    """One of these addresses."""

    handler: Handler
    role: str
    form: type[BaseModel]
    answer: type[BaseModel] | None
    path: str
    """The pattern by which metrics know it."""


def _address(handler: Handler, role: str, form: type[BaseModel], answer: type[BaseModel] | None = None) -> Address:
    return Address(handler, role, form, answer, f"{PREFIX}{{name}}/{handler.__name__}")


ADDRESSES = {
    "ask": _address(ask, "decide", forms.Question, forms.Issued),
    "tell": _address(tell, "decide", forms.Answers),
    "predict": _address(predict, "read", forms.Look),
    "learn": _address(learn, "decide", forms.Lesson),
}


class Hot:
    """Answers these addresses, and leaves all others to the application.

    Parameters
    ----------
    app
        The application.
    use
        Returns the writer of a booster, by its name, for whoever has made a request; raises where they may not use it.
    """

    def __init__(self, app: FastAPI, use: Callable[[Scope, str, str], Any]) -> None:
        self.app, self._use = app, use
        self.state, self.openapi = app.state, app.openapi

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        path: str = scope.get("path", "")
        name, _, what = path[len(PREFIX) :].partition("/")
        address = ADDRESSES.get(what) if path.startswith(PREFIX) and scope.get("method") == "POST" else None
        if address is None or not name or "body" not in scope:
            await self.app(scope, receive, send)
            return
        scope["route"] = address
        key = next(
            (value.decode("latin-1") for header, value in scope["headers"] if header == b"idempotency-key"), None
        )
        status, content = await address.handler(Called(self._use(scope, name, address.role), scope["body"], key))
        body = encoded(content).encode()
        headers = [(b"content-length", b"%d" % len(body)), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


def describe(app: FastAPI, use: Callable[[Scope, str, str], Any]) -> None:
    """Add these addresses to an application, so that they are in its description."""
    for address in ADDRESSES.values():
        summary = (address.handler.__doc__ or "").rstrip(".")
        app.post(address.path, summary=summary, response_model=address.answer)(_described(address, use))


def _described(address: Address, use: Callable[[Scope, str, str], Any]) -> Callable[..., Any]:
    async def described(request: Request, name: str, body: Any) -> Response:
        key = request.headers.get("idempotency-key")
        writer = use(request.scope, name, address.role)
        status, content = await address.handler(Called(writer, await request.body(), key))
        return Answered(content, status_code=status)

    described.__name__ = address.handler.__name__
    described.__annotations__ |= {"request": Request, "name": str, "body": address.form, "return": Response}
    return described


def read(body: bytes, form: type[Form]) -> Form:
    """Return the body of a request as a form; raise a sentence where it does not fit."""
    try:
        return form.model_validate_json(body)
    except ValidationError as error:
        raise unfitting(error.errors(include_url=False, include_input=False)[0]) from None


def unfitting(first: Any) -> Problem:
    """Return the sentence about the first thing that does not fit."""
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    return Problem(422, f"The request does not fit: {where or 'the body'} - {first['msg']}.")


def checked(key: str | None) -> str | None:
    """Return an idempotency key; raise where it is none."""
    if key is not None and not 0 < len(key) <= LONGEST_KEY:
        raise Problem(422, f"Idempotency-Key must have 1 to {LONGEST_KEY} characters.")
    return key


def contexts_of(given: forms.Question | forms.Look) -> list[Any]:
    """Return the contexts of a request."""
    if given.contexts is None:
        return [given.context]
    if given.context is not None or not given.contexts:
        raise Problem(422, "context or contexts must be given, not both, and contexts must not be empty.")
    return given.contexts


WAYS = ("values", "losses", "rewards", "actions", "answered")


def _tells(answers: forms.Answers) -> list[dict[str, Any]]:
    given = {way: value for way in WAYS if (value := getattr(answers, way)) is not None}
    if answers.tells is None:
        if answers.ticket is None:
            raise Problem(422, "ticket must be given, or tells with many.")
        return [{"ticket": answers.ticket, **given}]
    if answers.ticket is not None or not answers.tells or given:
        raise Problem(422, "ticket or tells must be given, not both, and tells must not be empty.")
    return [one.model_dump(exclude_none=True) for one in answers.tells]


def _told(kept: Any, one: dict[str, Any]) -> str | Problem:
    """Tell one of many; a problem with it is no problem of the others, unless it is one of the disk."""
    try:
        result: str = kept.tell(one["ticket"], one)
        return result
    except Problem as problem:
        return problem
    except ValueError as error:
        return Problem(422, str(error))
