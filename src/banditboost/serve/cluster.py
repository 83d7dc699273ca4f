"""Beyond one machine: boosters in processes of their own, anywhere in a cluster of Ray, behind Ray Serve.

A booster has one writer, so that scale is many boosters. Each belongs to one of a fixed number of *shards*, by its name; a shard is
an actor of Ray, which opens a booster's journal when it is first asked for it. Where a shard dies, Ray starts it again, on this
machine or on another, and it goes on from the last snapshot and the journal on shared storage: what was acknowledged is there. The
journal's lock keeps a shard that Ray has given up, and that lives on, from writing beside its successor.

Names, tenants and keys are in SQLite, which one process uses: the front, a single replica of Ray Serve. Ray starts it again, too.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from banditboost.serve import claim
from banditboost.serve.app import Settings, make_app
from banditboost.serve.catalog import Catalog
from banditboost.serve.house import House
from banditboost.serve.kept import Kept
from banditboost.serve.models import Given, take_in
from banditboost.serve.problems import Problem
from banditboost.serve.server import Log, check_host
from banditboost.serve.shards import shard_of
from banditboost.serve.writer import UNKNOWN, Writer

NAMESPACE = "banditboost"
FRONT = "banditboost"


def _ray() -> Any:
    """Return Ray with its parts, which is imported when it is needed."""
    for part in ("ray.exceptions", "ray.serve"):
        import_module(part)
    return import_module("ray")


class Shard:
    """Some of the boosters: their writers, in a process of its own."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._writers = settings, dict[str, Writer]()

    async def do(self, folder: str, call: Callable[[Kept], Any], records: bool) -> tuple[Any, dict[str, float]]:
        """Carry out a call on the booster in a folder; return what came of it, and the booster's numbers."""
        writer = self._writers.get(folder)
        if writer is None:
            writer = self._writers[folder] = Writer(partial(self._open, folder), self._settings.durability, self._say)
        try:
            found = await writer.do(call, records)
        except Problem as problem:
            found = problem
        return found, writer.numbers()

    async def close(self, folder: str) -> None:
        """Close the journal of a booster."""
        if (writer := self._writers.pop(folder, None)) is not None:
            await writer.stop()

    async def process(self) -> int:
        """Return the number of this process."""
        return os.getpid()

    def _open(self, folder: str) -> Kept:
        chosen = self._settings
        every = 1 if chosen.durability == "each" else 2**62
        return Kept(Path(folder), every, snapshot_every=chosen.snapshot_every, keep_days=chosen.keep_days)

    def _say(self, event: str, **more: Any) -> None:
        Log(sys.stderr)(event, process=os.getpid(), **more)


def shard_actor(number: int, settings: Settings) -> Any:
    """Return a shard, which is started where it is not there yet, and started again wherever it dies."""
    ray = _ray()
    options = ray.remote(Shard).options(
        name=f"shard-{number}",
        namespace=NAMESPACE,
        get_if_exists=True,
        lifetime="detached",
        max_restarts=-1,
        max_task_retries=0,  # a call that may have happened is for its caller to repeat
        max_concurrency=10_000,
        num_cpus=0,
    )
    return options.remote(settings)


class RemoteWriter:
    """What the front knows of a booster: the shard that it belongs to."""

    def __init__(self, actor: Any, folder: Path) -> None:
        self._actor, self._folder, self._numbers = actor, str(folder), dict[str, float]()

    async def do(self, call: Callable[[Kept], Any], records: bool = True) -> Any:
        """Carry out a call in the shard, as `Writer.do` does."""
        try:
            found, self._numbers = await self._actor.do.remote(self._folder, call, records)
        except _ray().exceptions.RayActorError:
            raise Problem(503, UNKNOWN.replace("The disk has failed", "The process has ended")) from None
        if isinstance(found, Problem):
            raise found
        return found

    async def stop(self) -> None:
        """Close the journal."""
        try:
            await self._actor.close.remote(self._folder)
        except _ray().exceptions.RayActorError:  # a process that has ended has nothing open
            return

    def numbers(self) -> dict[str, float]:
        """Return the numbers that came with the last answer."""
        return self._numbers


class ClusterHouse(House):
    """All boosters of a service, each in its shard."""

    def __init__(self, settings: Settings, shards: int, catalog: Catalog, say: Callable[..., None]) -> None:
        super().__init__(catalog, settings.durability, say, settings.snapshot_every, settings.keep_days)
        self._actors = [shard_actor(number, settings) for number in range(shards)]

    def _new_writer(self, tenant: str, name: str, folder: Path) -> Any:
        return RemoteWriter(self._actors[shard_of(tenant, name, len(self._actors))], folder)


def front(settings: Settings, shards: int) -> Any:
    """Return the application of Ray Serve."""
    ray = _ray()

    def build() -> Any:
        return make_app(settings, Log(sys.stderr), lambda catalog, say: ClusterHouse(settings, shards, catalog, say))

    @ray.serve.deployment(name=FRONT, num_replicas=1, max_ongoing_requests=2_000, ray_actor_options={"num_cpus": 0})
    @ray.serve.ingress(build)
    class Front:
        """The one process that callers reach."""

    deployed: Any = Front
    return deployed.bind()


def start(settings: Settings, host: str, port: int, shards: int = 2, address: str | None = None) -> None:
    """Serve on a cluster, and return when the service answers.

    Parameters
    ----------
    settings
        As for one machine; the folder is on storage that all machines share, under one name.
    host, port
        Where to listen, on the machine that this is called on.
    shards
        In how many processes boosters are.
    address
        Of a cluster that runs already; a cluster on this machine is started when not given.
    """
    ray = _ray()
    check_host(host, settings.data)
    settings = settings._replace(data=settings.data.resolve())
    ray.init(
        address=address, namespace=NAMESPACE, log_to_driver=True, include_dashboard=False if address is None else None
    )
    ray.serve.start(http_options={"host": host, "port": port})
    ray.serve.run(front(settings, shards), name=FRONT, route_prefix="/")


def stop(shards: int) -> None:
    """Finish what was begun, close all journals, and end the processes."""
    ray = _ray()
    ray.serve.shutdown()
    for number in range(shards):
        try:
            ray.kill(ray.get_actor(f"shard-{number}", namespace=NAMESPACE))
        except ValueError:  # it was never asked for
            continue
    ray.shutdown()


def serve(
    settings: Settings, host: str, port: int, shards: int, address: str | None, models: Sequence[Given] = ()
) -> None:
    """Take models in, and serve until a signal says to stop."""
    ended = threading.Event()
    check_host(host, settings.data)
    with claim.folder(settings.data):
        claim.check_port(host, port)
        take_in(settings.data, models, Log(sys.stderr))
        start(settings, host, port, shards, address)
        for number in (
            signal.SIGTERM,
            signal.SIGINT,
        ):  # in place of Ray's own, which ends the process without closing journals
            signal.signal(number, lambda *_: ended.set())
        Log(sys.stderr)("serving", address=f"http://{host}:{port}", data=str(settings.data), shards=shards)
        try:
            ended.wait()
        finally:
            stop(shards)
