"""All boosters of a service, by tenant and name: opened when the service starts, and closed when it ends."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from banditboost.serve.catalog import Catalog, check_name
from banditboost.serve.kept import SNAPSHOT_EVERY, Kept
from banditboost.serve.problems import Problem
from banditboost.serve.writer import Writer

NO_BOOSTER = "There is no booster of this name."


class House:
    """The writers of all boosters."""

    def __init__(
        self,
        catalog: Catalog,
        durability: str,
        say: Callable[..., None],
        snapshot_every: int = SNAPSHOT_EVERY,
        keep_days: float | None = None,
    ) -> None:
        self.catalog, self.durability, self.say, self.snapshot_every = catalog, durability, say, snapshot_every
        self.keep_days = keep_days
        self.ready = False
        """Whether all boosters were opened, as far as they can be."""
        self._writers: dict[tuple[str, str], Writer] = {}
        self._making: set[tuple[str, str]] = set()
        self._leaving: set[tuple[str, str]] = set()

    async def start(self) -> None:
        """Open all boosters, one after the other; a damaged one says so, and the others are served."""
        self.catalog.sweep()
        for tenant, name, _ in self.catalog.boosters():
            try:
                found = await self.writer(tenant, name).do(lambda kept: kept.info(), records=False)
                self.say("opened", tenant=tenant, booster=name, rounds=found["rounds"], in_flight=found["in_flight"])
            except Problem as problem:
                self.say("not opened", tenant=tenant, booster=name, error=problem.detail)
        self.ready = True

    async def stop(self) -> None:
        """Carry out what waits, and close all journals."""
        self.ready = False
        await asyncio.gather(*(writer.stop() for writer in self._writers.values()))
        self._writers.clear()

    def writer(self, tenant: str, name: str) -> Writer:
        """Return the writer of a booster; raise where there is no such booster."""
        found = self._writers.get((tenant, name))
        if found is None:
            folder = self.catalog.folder(tenant, name)
            if folder is None or (tenant, name) in self._leaving:
                raise Problem(404, NO_BOOSTER)
            found = self._writers[tenant, name] = self._new_writer(tenant, name, folder)
        return found

    def _new_writer(self, tenant: str, name: str, folder: Path) -> Writer:
        say = partial(self.say, tenant=tenant, booster=name)
        return Writer(partial(self._open, folder), self.durability, say)

    def of(self, tenant: str) -> list[tuple[str, Writer]]:
        """Return the boosters of a tenant that are open, by name."""
        return [(name, writer) for (owner, name), writer in self._writers.items() if owner == tenant]

    def _open(self, folder: Path) -> Kept:
        every = 1 if self.durability == "each" else 2**62
        return Kept(folder, sync_every=every, snapshot_every=self.snapshot_every, keep_days=self.keep_days)

    async def create(self, tenant: str, name: str, recipe: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
        """Make a booster; return False where it is there already, made of the same."""
        try:
            check_name("name", name)
        except ValueError as error:
            raise Problem(422, str(error)) from None
        if (tenant, name) in self._making | self._leaving:
            raise Problem(409, f"The booster {name} is being made or deleted.")
        self._making.add((tenant, name))
        try:
            if self.catalog.folder(tenant, name) is not None:
                return await self._check_same(tenant, name, recipe, settings)
            folder = await asyncio.to_thread(self.catalog.begin)
            try:
                await asyncio.to_thread(Kept.create, folder, recipe, settings)
                await asyncio.to_thread(self.catalog.finish, tenant, name, folder)
            except BaseException as error:
                await asyncio.to_thread(self.catalog.sweep_one, folder)
                raise self._not_made(tenant, name, error) from None
        finally:
            self._making.discard((tenant, name))
        return True

    def _not_made(self, tenant: str, name: str, error: BaseException) -> BaseException:
        if isinstance(error, ValueError):
            return Problem(422, str(error))
        if not isinstance(error, OSError | sqlite3.Error):
            return error
        self.say("creating failed", tenant=tenant, booster=name, error=str(error))
        return Problem(507, "The booster cannot be written: is the disk full?")

    async def _check_same(self, tenant: str, name: str, recipe: Any, settings: Mapping[str, Any]) -> bool:
        found = await self.writer(tenant, name).do(lambda kept: kept.info(), records=False)
        if any(found[name] != given for name, given in ({"recipe": recipe} | dict(settings)).items() if name in found):
            raise Problem(409, f"There is another booster named {name} already.")
        return False

    async def delete(self, tenant: str, name: str) -> None:
        """Remove a booster with all that was recorded of it."""
        folder = self.catalog.folder(tenant, name)
        if folder is None or (tenant, name) in self._leaving:
            raise Problem(404, NO_BOOSTER)
        self._leaving.add((tenant, name))
        try:
            writer = self._writers.pop((tenant, name), None)
            await asyncio.to_thread(self.catalog.remove, tenant, name)
            if writer is not None:
                await writer.stop()
            await asyncio.to_thread(self.catalog.sweep_one, folder)
        finally:
            self._leaving.discard((tenant, name))
