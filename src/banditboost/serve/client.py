"""A client that reads like the library: `ask`, `tell`, `predict`, against a running service.

Requests that may be repeated are repeated where the service does not answer: a tell is taken once however often it comes, and every
ask carries an idempotency key of its own. So a service that is killed and started again costs its callers a moment and no answer.
"""

from __future__ import annotations

import asyncio
import math
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx
import numpy as np

from banditboost._core.checks import Array
from banditboost._core.spec import Spec
from banditboost._storage.atomic_file import atomic
from banditboost.logs import Log

REPEATED = {429, 503}
"""Statuses after which a request is made again."""
PAUSE = 0.05
"""Seconds before the first repetition; each further pause is twice as long, up to a second."""


class ServiceError(Exception):
    """What a service has turned away, with its sentence."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class RemoteTicket(NamedTuple):
    """A ticket of a booster of a service."""

    name: str
    """Its name, by which it is told: a text that can be kept anywhere."""
    prediction: Array
    queries: Array
    """The points to ask about, shape (M, *shape)."""
    density: Array | None
    asks: str
    policy: str | None = None
    """Who decides, where the booster has a guard: ``"booster"`` or ``"baseline"``."""
    names: tuple[str, ...] = ()
    """What the coordinates of a decision are called, where the recipe says so."""

    @property
    def action(self) -> Array:
        """The one point to play, for boosters that ask one question a round."""
        if len(self.queries) != 1:
            raise ValueError(f"action must be read from a ticket with one query, got one with {len(self.queries)}.")
        return np.asarray(self.queries[0])[()]

    @property
    def decision(self) -> dict[str, float]:
        """The same by name, where the recipe names decisions."""
        if not self.names:
            raise AttributeError("The decisions of this booster have no names: `action` has the numbers.")
        return dict(zip(self.names, np.ravel(self.action).tolist(), strict=True))


class _Call(NamedTuple):
    """A request, and whether it may be made again where no answer came."""

    method: str
    path: str
    body: Any = None
    key: str | None = None


class _Remote:
    """What the calls on a booster are, whoever makes them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = f"/v1/boosters/{quote(name, safe='')}"

    def _ask(self, contexts: list[Any], many: bool, space: Any, subject: str | None) -> _Call:
        body: dict[str, Any] = {"contexts": contexts} if many else {"context": contexts[0]}
        if space is not None:
            body["space"] = [_point(end) for end in space]
        return _Call("POST", f"{self._path}/ask", body | _about(subject), secrets.token_hex(16))

    def _tell(self, ticket: RemoteTicket | str, values: Any, told: dict[str, Any]) -> _Call:
        given = {"values": values, "losses": told.get("losses"), "rewards": told.get("rewards")}
        answers = {way: _plain(value) for way, value in given.items() if value is not None}
        if told.get("actions") is not None:
            answers["actions"] = [_point(one) for one in told["actions"]]
        if told.get("answered") is not None:
            answers["answered"] = np.asarray(told["answered"]).tolist()
        return _Call("POST", f"{self._path}/tell", {"ticket": _name(ticket), **answers})

    def _learn(self, x: Any, action: Any, subject: str | None, given: dict[str, Any]) -> _Call:
        body = {"context": _context(x), "action": _point(action)} | _about(subject)
        body |= {way: _plain(value) for way, value in given.items() if value is not None}
        return _Call("POST", f"{self._path}/learn", body, secrets.token_hex(16))

    def _erase(self, subjects: Sequence[str]) -> _Call:
        return _Call("POST", f"{self._path}/erase", {"subjects": list(subjects)})

    def _log(self) -> _Call:
        return _Call("GET", f"{self._path}/log")

    def _predict(self, contexts: list[Any], many: bool) -> _Call:
        return _Call("POST", f"{self._path}/predict", {"contexts": contexts} if many else {"context": contexts[0]})

    def _forget(self, tickets: Sequence[RemoteTicket | str]) -> _Call:
        return _Call("POST", f"{self._path}/forget", {"tickets": [_name(ticket) for ticket in tickets]})

    def _guard(self, settings: dict[str, Any]) -> _Call:
        return _Call("PUT", f"{self._path}/guard", settings) if settings else _Call("GET", f"{self._path}/guard")

    def _set_state(self, state: str) -> _Call:
        return _Call("POST", f"{self._path}/guard", {"state": state})

    def _events(self) -> _Call:
        return _Call("GET", f"{self._path}/events")

    def _info(self, digest: bool) -> _Call:
        return _Call("GET", f"{self._path}?digest={str(digest).lower()}")


class RemoteBooster(_Remote):
    """A booster of a service, as `Client.booster` and `Client.create` return it."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__(name)
        self._client = client

    def ask(self, x: Any = None, *, space: Any = None, subject: str | None = None) -> RemoteTicket:
        """Begin a round; the ticket is on the service's disk when this returns.

        Parameters
        ----------
        x
            The context: numbers, or fields by name where the recipe has an encoder.
        space
            The lowest and the highest decision of this round alone.
        subject
            Your key for the person whom it is about, by which it can be erased.
        """
        return _ticket(self._client._do(self._ask([_context(x)], False, space, subject)))

    def ask_many(self, contexts: Any, *, space: Any = None, subject: str | None = None) -> list[RemoteTicket]:
        """Begin a round in each of some contexts."""
        found = self._client._do(self._ask(_table(contexts), True, space, subject))
        return [_ticket(one) for one in found["tickets"]]

    def tell(self, ticket: RemoteTicket | str, values: Any = None, **told: Any) -> None:
        """End a round, as `Booster.tell` does, by values, ``losses`` or ``rewards``, with ``actions`` and ``answered`` if wanted.

        The answer is on the service's disk when this returns.
        """
        self._client._do(self._tell(ticket, values, told))

    def learn(
        self,
        x: Any,
        action: Any,
        value: float | None = None,
        density: float | None = None,
        *,
        loss: float | None = None,
        reward: float | None = None,
        aim: Any = None,
        spread: Any = None,
        subject: str | None = None,
    ) -> None:
        """Learn from an action that somebody else has chosen, as `Booster.learn` does."""
        given = {"value": value, "loss": loss, "reward": reward, "density": density, "aim": aim, "spread": spread}
        self._client._do(self._learn(x, action, subject, given))

    def log(self, path: str | os.PathLike[str]) -> Log:
        """Write all rounds that the service keeps to a Parquet file, and return it as a log."""
        with self._client._stream(self._log()) as response, atomic(path) as file:
            for piece in response.iter_bytes():
                file.write(piece)
        return _opened(path, self.info())

    def erase(self, *subjects: str) -> dict[str, int]:
        """Erase all that is kept of some people, and return what that was; nothing is left when this returns."""
        return dict(self._client._do(self._erase(subjects))["erased"])

    def predict(self, x: Any = None) -> Array:
        """Return what the next `ask` in a context would predict."""
        return _decision(self._client._do(self._predict([_context(x)], False))["prediction"])

    def predict_many(self, contexts: Any) -> Array:
        """Return predictions for the rows of a table."""
        found = self._client._do(self._predict(_table(contexts), True))["predictions"]
        return np.array([_decision(one) for one in found])

    def forget(self, *tickets: RemoteTicket | str) -> int:
        """Give up tickets; return how many were in flight."""
        return int(self._client._do(self._forget(tickets))["forgotten"])

    def guard(self, **settings: Any) -> dict[str, Any]:
        """Return how the booster compares with its baseline; with settings, such as ``baseline``, it gets a guard first."""
        return dict(self._client._do(self._guard(settings)))

    def resume(self) -> dict[str, Any]:
        """Let the booster play again after a fall-back."""
        return dict(self._client._do(self._set_state("on")))

    def fall_back(self) -> dict[str, Any]:
        """Let the baseline play every round."""
        return dict(self._client._do(self._set_state("fallen back")))

    def events(self) -> list[dict[str, Any]]:
        """Return fall-backs, alarms, and what admins have decided, the oldest first."""
        return list((self._client._do(self._events()))["events"])

    def info(self, digest: bool = False) -> dict[str, Any]:
        """Return what there is to know about the booster, with the digest of its state if wanted."""
        return dict(self._client._do(self._info(digest)))

    def snapshot(self, label: str = "") -> int:
        """Keep the present state; return its number."""
        return int(self._client._do(_Call("POST", f"{self._path}/snapshots", {"label": label}))["snapshot"])

    def roll_back(self, snapshot: int) -> None:
        """Go back to a snapshot; tickets that were asked since are void."""
        self._client._do(_Call("POST", f"{self._path}/rollback", {"snapshot": snapshot}))

    def delete(self) -> None:
        """Remove the booster with all that was recorded of it."""
        self._client._do(_Call("DELETE", self._path))


class AsyncRemoteBooster(_Remote):
    """The same with calls that are awaited, as `AsyncClient.booster` and `AsyncClient.create` return it."""

    def __init__(self, client: AsyncClient, name: str) -> None:
        super().__init__(name)
        self._client = client

    async def ask(self, x: Any = None, *, space: Any = None, subject: str | None = None) -> RemoteTicket:
        """Begin a round, as `RemoteBooster.ask` does."""
        return _ticket(await self._client._do(self._ask([_context(x)], False, space, subject)))

    async def tell(self, ticket: RemoteTicket | str, values: Any = None, **told: Any) -> None:
        """End a round, as `RemoteBooster.tell` does."""
        await self._client._do(self._tell(ticket, values, told))

    async def learn(self, x: Any, action: Any, *, subject: str | None = None, **given: Any) -> None:
        """Learn from an action that somebody else has chosen, with arguments as `RemoteBooster.learn` names them."""
        await self._client._do(self._learn(x, action, subject, given))

    async def log(self, path: str | os.PathLike[str]) -> Log:
        """Write all rounds that the service keeps to a Parquet file, and return it as a log."""
        response = await self._client._send(self._log())
        if response.status_code >= 400:
            _read(response)
        with atomic(path) as file:
            file.write(response.content)
        return _opened(path, await self.info())

    async def erase(self, *subjects: str) -> dict[str, int]:
        """Erase all that is kept of some people, as `RemoteBooster.erase` does."""
        return dict((await self._client._do(self._erase(subjects)))["erased"])

    async def predict(self, x: Any = None) -> Array:
        """Return what the next `ask` in a context would predict."""
        return _decision((await self._client._do(self._predict([_context(x)], False)))["prediction"])

    async def forget(self, *tickets: RemoteTicket | str) -> int:
        """Give up tickets; return how many were in flight."""
        return int((await self._client._do(self._forget(tickets)))["forgotten"])

    async def guard(self, **settings: Any) -> dict[str, Any]:
        """Return how the booster compares with its baseline; with settings, such as ``baseline``, it gets a guard first."""
        return dict(await self._client._do(self._guard(settings)))

    async def resume(self) -> dict[str, Any]:
        """Let the booster play again after a fall-back."""
        return dict(await self._client._do(self._set_state("on")))

    async def fall_back(self) -> dict[str, Any]:
        """Let the baseline play every round."""
        return dict(await self._client._do(self._set_state("fallen back")))

    async def events(self) -> list[dict[str, Any]]:
        """Return fall-backs, alarms, and what admins have decided, the oldest first."""
        return list((await self._client._do(self._events()))["events"])

    async def info(self, digest: bool = False) -> dict[str, Any]:
        """Return what there is to know about the booster, with the digest of its state if wanted."""
        return dict(await self._client._do(self._info(digest)))


class Client:
    """A connection to a service.

    Parameters
    ----------
    url
        The address of the service.
    key
        A key of the service; none where it has no keys.
    patience
        Seconds for which requests are made again where the service does not answer, or says that it cannot at the moment.
    http
        A client of httpx to use in place of one that is made here, for certificates of one's own, proxies, or tests.

    Examples
    --------
    With ``banditboost serve --data shop`` running::

        client = bb.Client("http://127.0.0.1:8000")
        shop = client.create("shop", "boosted", bb.spaces.Interval(0, 20), answers=1, maximize=True)
        ticket = shop.ask([0.3, 1.0])
        shop.tell(ticket, earned_at(ticket.action))
    """

    def __init__(
        self, url: str, key: str | None = None, *, patience: float = 10.0, http: httpx.Client | None = None
    ) -> None:
        self._http = http or httpx.Client(base_url=url, timeout=30.0)
        self._headers, self._patience = _headers(key), patience

    def create(self, name: str, algorithm: Any, space: Any = None, **options: Any) -> RemoteBooster:
        """Make a booster, or find the same one that was made before.

        Parameters
        ----------
        name
            Its name: letters, digits, dots, hyphens and underscores.
        algorithm
            The name of an algorithm, or a `BoosterSpec`.
        space
            Where predictions must land, with the name of an algorithm.
        options
            Options of the algorithm; and ``deadline``, ``max_in_flight`` and ``guard`` of the service.
        """
        self._do(_creation(name, algorithm, space, options))
        return RemoteBooster(self, name)

    def booster(self, name: str) -> RemoteBooster:
        """Return a booster that was made before."""
        return RemoteBooster(self, name)

    def boosters(self) -> list[str]:
        """Return the names of all boosters."""
        return list(self._do(_Call("GET", "/v1/boosters"))["boosters"])

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @contextmanager
    def _stream(self, call: _Call) -> Iterator[httpx.Response]:
        """Give an answer that is read while it comes."""
        with self._http.stream(call.method, call.path, headers=self._headers) as response:
            if response.status_code >= 400:
                response.read()
                _read(response)
            yield response

    def _do(self, call: _Call) -> Any:
        until, pause = time.monotonic() + self._patience, PAUSE
        while True:
            try:
                response = self._http.request(
                    call.method, call.path, json=call.body, headers=self._headers | _own(call)
                )
                if response.status_code not in REPEATED or time.monotonic() >= until:
                    return _read(response)
            except httpx.TransportError:
                if time.monotonic() >= until:
                    raise
            time.sleep(pause)
            pause = min(2 * pause, 1.0)


class AsyncClient:
    """The same with calls that are awaited: see `Client`."""

    def __init__(
        self, url: str, key: str | None = None, *, patience: float = 10.0, http: httpx.AsyncClient | None = None
    ) -> None:
        self._http = http or httpx.AsyncClient(base_url=url, timeout=30.0)
        self._headers, self._patience = _headers(key), patience

    async def create(self, name: str, algorithm: Any, space: Any = None, **options: Any) -> AsyncRemoteBooster:
        """Make a booster, or find the same one that was made before: see `Client.create`."""
        await self._do(_creation(name, algorithm, space, options))
        return AsyncRemoteBooster(self, name)

    def booster(self, name: str) -> AsyncRemoteBooster:
        """Return a booster that was made before."""
        return AsyncRemoteBooster(self, name)

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _do(self, call: _Call) -> Any:
        return _read(await self._send(call))

    async def _send(self, call: _Call) -> httpx.Response:
        until, pause = time.monotonic() + self._patience, PAUSE
        while True:
            try:
                response = await self._http.request(
                    call.method, call.path, json=call.body, headers=self._headers | _own(call)
                )
                if response.status_code not in REPEATED or time.monotonic() >= until:
                    return response
            except httpx.TransportError:
                if time.monotonic() >= until:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)


def _headers(key: str | None) -> dict[str, str]:
    return {} if key is None else {"authorization": f"Bearer {key}"}


def _own(call: _Call) -> dict[str, str]:
    return {} if call.key is None else {"idempotency-key": call.key}


def _creation(name: str, algorithm: Any, space: Any, options: dict[str, Any]) -> _Call:
    settings = {key: options.pop(key) for key in ("deadline", "max_in_flight", "guard") if key in options}
    if isinstance(algorithm, str):
        recipe = {"algorithm": algorithm, "space": _part(space)} | {key: _part(value) for key, value in options.items()}
    elif isinstance(algorithm, Spec):
        recipe = {"spec": algorithm.to_dict()}
    else:
        raise TypeError(
            "algorithm must be the name of an algorithm or a BoosterSpec, which holds nothing that was learned, "
            f"got {type(algorithm).__name__}; `banditboost serve --model {name}=FILE` takes in a booster that has learned."
        )
    return _Call("PUT", f"/v1/boosters/{quote(name, safe='')}", {"recipe": recipe, **settings})


def _read(response: httpx.Response) -> Any:
    try:
        found = response.json()
    except ValueError:
        raise ServiceError(response.status_code, f"The service answered with {response.status_code}.") from None
    if response.status_code >= 400:
        detail = found.get("detail") if isinstance(found, dict) else None
        raise ServiceError(response.status_code, str(detail))
    return found


def _ticket(found: dict[str, Any]) -> RemoteTicket:
    density, prediction = found.get("density"), found["prediction"]
    return RemoteTicket(
        found["ticket"],
        _decision(prediction),
        np.array([_decision(one) for one in found["queries"]]),
        None if density is None else np.asarray(density, dtype=float),
        found.get("asks", "values"),
        found.get("policy"),
        tuple(prediction) if isinstance(prediction, dict) else (),
    )


def _decision(found: Any) -> Array:
    """Return a decision that may come by name as numbers, in the order of the names; one name stands for a number."""
    if isinstance(found, dict):
        found = list(found.values())
        found = found[0] if len(found) == 1 else found
    return np.asarray(found, dtype=float)[()]


def _opened(path: str | os.PathLike[str], info: dict[str, Any]) -> Log:
    """Return a log that a service has written: contexts stand before the actions, which the recipe names or nobody does."""
    import polars

    columns = list(polars.scan_parquet(Path(path), glob=False).collect_schema())
    names = info["recipe"].get("decision")
    names = [names] if isinstance(names, str) else names
    action = names or [name for name in columns if re.fullmatch(r"action\d*", name)]
    context = columns[: columns.index(action[0])]
    return Log.read(path, action=action, context=context, density="density", ticket="ticket", time="time")


def _name(ticket: RemoteTicket | str) -> str:
    return ticket if isinstance(ticket, str) else ticket.name


def _about(subject: str | None) -> dict[str, Any]:
    return {} if subject is None else {"subject": subject}


def _context(x: Any) -> Any:
    return {key: _field(value) for key, value in x.items()} if isinstance(x, Mapping) else x if x is None else _plain(x)


def _table(contexts: Any) -> list[Any]:
    return [_context(x) for x in contexts]


def _field(value: Any) -> Any:
    """Return a value under a name as JSON has it: dates as text, missing numbers as null."""
    if isinstance(value, Mapping):
        return {key: _field(one) for key, one in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and math.isnan(value) else value


def _point(point: Any) -> Any:
    return dict(point) if isinstance(point, Mapping) else _plain(point)


def _plain(values: Any) -> Any:
    return np.asarray(values, dtype=float).tolist()


def _part(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value
