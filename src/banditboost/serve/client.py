"""A client that reads like the library: `ask`, `tell`, `predict`, against a running service.

Requests that may be repeated are repeated where the service does not answer: a tell is taken once however often it comes, and every
ask carries an idempotency key of its own. So a service that is killed and started again costs its callers a moment and no answer.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, Self
from urllib.parse import quote

import httpx
import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array

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

    @property
    def action(self) -> Array:
        """The one point to play, for boosters that ask one question a round."""
        if len(self.queries) != 1:
            raise ValueError(f"action must be read from a ticket with one query, got one with {len(self.queries)}.")
        return np.asarray(self.queries[0])[()]


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

    def _ask(self, contexts: list[Any], many: bool, space: Any) -> _Call:
        body: dict[str, Any] = {"contexts": contexts} if many else {"context": contexts[0]}
        if space is not None:
            body["space"] = [_plain(end) for end in space]
        return _Call("POST", f"{self._path}/ask", body, secrets.token_hex(16))

    def _tell(self, ticket: RemoteTicket | str, values: Any, losses: Any, rewards: Any) -> _Call:
        given = {"values": values, "losses": losses, "rewards": rewards}
        answers = {way: _plain(value) for way, value in given.items() if value is not None}
        return _Call("POST", f"{self._path}/tell", {"ticket": _name(ticket), **answers})

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

    def ask(self, x: ArrayLike | None = None, *, space: Any = None) -> RemoteTicket:
        """Begin a round; the ticket is on the service's disk when this returns."""
        return _ticket(self._client._do(self._ask([_context(x)], False, space)))

    def ask_many(self, contexts: ArrayLike, *, space: Any = None) -> list[RemoteTicket]:
        """Begin a round in each of some contexts."""
        found = self._client._do(self._ask(_plain(contexts), True, space))
        return [_ticket(one) for one in found["tickets"]]

    def tell(self, ticket: RemoteTicket | str, values: Any = None, *, losses: Any = None, rewards: Any = None) -> None:
        """End a round, as `Booster.tell` does; the answer is on the service's disk when this returns."""
        self._client._do(self._tell(ticket, values, losses, rewards))

    def predict(self, x: ArrayLike | None = None) -> Array:
        """Return what the next `ask` in a context would predict."""
        return np.asarray(self._client._do(self._predict([_context(x)], False))["prediction"])[()]

    def predict_many(self, contexts: ArrayLike) -> Array:
        """Return predictions for the rows of a table."""
        return np.asarray(self._client._do(self._predict(_plain(contexts), True))["predictions"])

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

    async def ask(self, x: ArrayLike | None = None, *, space: Any = None) -> RemoteTicket:
        """Begin a round; the ticket is on the service's disk when this returns."""
        return _ticket(await self._client._do(self._ask([_context(x)], False, space)))

    async def tell(
        self, ticket: RemoteTicket | str, values: Any = None, *, losses: Any = None, rewards: Any = None
    ) -> None:
        """End a round, as `Booster.tell` does; the answer is on the service's disk when this returns."""
        await self._client._do(self._tell(ticket, values, losses, rewards))

    async def predict(self, x: ArrayLike | None = None) -> Array:
        """Return what the next `ask` in a context would predict."""
        return np.asarray((await self._client._do(self._predict([_context(x)], False)))["prediction"])[()]

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
        until, pause = time.monotonic() + self._patience, PAUSE
        while True:
            try:
                response = await self._http.request(
                    call.method, call.path, json=call.body, headers=self._headers | _own(call)
                )
                if response.status_code not in REPEATED or time.monotonic() >= until:
                    return _read(response)
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
    else:
        recipe = {"spec": algorithm.to_dict()}
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
    density = found.get("density")
    return RemoteTicket(
        found["ticket"],
        np.asarray(found["prediction"], dtype=float)[()],
        np.asarray(found["queries"], dtype=float),
        None if density is None else np.asarray(density, dtype=float),
        found.get("asks", "values"),
        found.get("policy"),
    )


def _name(ticket: RemoteTicket | str) -> str:
    return ticket if isinstance(ticket, str) else ticket.name


def _context(x: ArrayLike | None) -> Any:
    return None if x is None else np.asarray(x, dtype=float).tolist()


def _plain(values: Any) -> Any:
    return np.asarray(values, dtype=float).tolist()


def _part(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else value
