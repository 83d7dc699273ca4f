"""The one writer: nothing is acknowledged before the disk has it, many calls share one wait, and a disk that fails is survived."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from banditboost.serve import writer as writers
from banditboost.serve.kept import Kept
from banditboost.serve.problems import Problem
from banditboost.serve.writer import Writer
from tests.serve.common import RECIPE, crash, kept

X = [0.3, 1.0]


def ask(one: Kept) -> Any:
    return one.ask([X])[0]["ticket"]


def work(folder: Path, body: Callable[[Writer], Any], durability: str = "group") -> list[str]:
    """Let a writer do something; return what it has said."""
    said: list[str] = []

    async def main() -> None:
        sync_every = 1 if durability == "each" else 2**62
        writer = Writer(lambda: Kept(folder, sync_every), durability, lambda event, **more: said.append(event))
        try:
            await body(writer)
        finally:
            await writer.stop()

    asyncio.run(main())
    return said


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    Kept.create(tmp_path / "shop", RECIPE, {})
    return tmp_path / "shop"


class Disk:
    """Holds every wait for the disk up until it is let go on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waiting, self.go, self.syncs = threading.Event(), threading.Event(), 0
        self.errors: list[int] = []
        plain = os.fsync

        def slow(handle: int) -> None:
            self.syncs += 1
            self.waiting.set()
            assert self.go.wait(20)
            if self.errors:
                raise OSError(self.errors.pop(), "the disk has failed")
            plain(handle)

        monkeypatch.setattr(os, "fsync", slow)


def test_calls_that_wait_share_one_sync_and_none_is_acknowledged_before_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(writer: Writer) -> None:
        await writer.do(ask)
        disk = Disk(monkeypatch)
        first = asyncio.create_task(writer.do(ask))
        await asyncio.to_thread(disk.waiting.wait, 20)
        others = [asyncio.create_task(writer.do(ask)) for _ in range(20)]
        look = asyncio.create_task(writer.do(lambda one: one.predict([X]), records=False))
        await asyncio.sleep(0.05)
        assert not first.done()
        assert not any(task.done() for task in others)
        disk.go.set()
        found = await asyncio.gather(first, *others)
        await look
        assert found == [f"0-{k}" for k in range(2, 23)]
        assert disk.syncs == 2
        assert (writer.groups, writer.grouped) == (3, 22)
        assert writer.numbers()["journal_lag_calls"] == 0
        monkeypatch.undo()

    assert work(folder, body) == []


def test_a_tell_that_is_repeated_waits_for_the_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(writer: Writer) -> None:
        name = await writer.do(ask)
        disk = Disk(monkeypatch)
        blocker = asyncio.create_task(writer.do(ask))
        await asyncio.to_thread(disk.waiting.wait, 20)
        twice = [asyncio.create_task(writer.do(lambda one: one.tell(name, {"losses": 1.0}))) for _ in range(2)]
        disk.waiting.clear()
        disk.go.set()
        assert await asyncio.gather(*twice) == ["told", "repeated"]
        await blocker
        assert disk.syncs == 2  # the second tell has waited for the sync of the first, and caused none
        monkeypatch.undo()

    work(folder, body)


@pytest.mark.parametrize(("durability", "syncs"), [("each", 5), ("off", 0)])
def test_other_durabilities(folder: Path, monkeypatch: pytest.MonkeyPatch, durability: str, syncs: int) -> None:
    async def body(writer: Writer) -> None:
        await writer.do(lambda one: one.info(), records=False)
        disk = Disk(monkeypatch)
        disk.go.set()
        await asyncio.gather(*(writer.do(ask) for _ in range(5)))
        assert disk.syncs == syncs
        monkeypatch.undo()

    work(folder, body, durability)
    assert kept(folder).booster._asked == 5


@pytest.mark.parametrize(("number", "status"), [(errno.EIO, 503), (errno.ENOSPC, 507)])
def test_a_sync_that_fails_is_survived(folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, status: int) -> None:
    async def body(writer: Writer) -> None:
        name = await writer.do(ask)
        disk = Disk(monkeypatch)
        disk.errors.append(number)
        disk.go.set()
        with pytest.raises(Problem, match="repeating it is safe") as problem:
            await writer.do(lambda one: one.tell(name, {"losses": 1.0}))
        assert problem.value.status == status
        assert await writer.do(lambda one: one.tell(name, {"losses": 1.0})) in ("told", "repeated")
        await writer.do(ask)
        monkeypatch.undo()

    assert "call failed" in work(folder, body)
    one = kept(folder)
    assert (one.booster.rounds, one.booster._asked) == (1, 2)


def test_a_full_disk_turns_tells_away_and_keeps_predicting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(writer: Writer) -> None:
        name = await writer.do(ask)
        plain = os.write

        def full(handle: int, data: bytes) -> int:
            if bytes(data[:3]) == b"bbJ":
                plain(handle, bytes(data[:5]))  # a part of it still fits
                raise OSError(errno.ENOSPC, "No space left on device")
            return plain(handle, data)  # such as the loop's own pipe

        monkeypatch.setattr(os, "write", full)
        for _ in range(2):
            for call in (lambda one: one.tell(name, {"losses": 1.0}), ask):
                with pytest.raises(Problem, match="disk is full") as problem:
                    await writer.do(call)
                assert problem.value.status == 507
            assert await writer.do(lambda one: one.predict([X]), records=False)
        monkeypatch.undo()
        assert await writer.do(lambda one: one.tell(name, {"losses": 1.0})) == "told"

    work(folder, body)
    assert kept(folder).booster.rounds == 1


def test_a_call_that_breaks_half_way_is_taken_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def body(writer: Writer) -> None:
        name = await writer.do(ask)
        before = await writer.do(lambda one: one.booster.digest())

        def breaks(one: Kept) -> None:
            assert one.booster.bank is not None
            monkeypatch.setattr(one.booster.bank, "update", lambda *arguments: 1 / 0)
            one.tell(name, {"losses": 1.0})

        with pytest.raises(Problem) as problem:
            await writer.do(breaks)
        assert problem.value.status == 503
        monkeypatch.undo()
        assert await writer.do(lambda one: one.booster.digest()) == before
        assert await writer.do(lambda one: one.tell(name, {"losses": 1.0})) == "told"

    assert "call failed" in work(folder, body)


def test_a_journal_that_cannot_be_opened_is_tried_again(folder: Path) -> None:
    other = kept(folder)

    async def body(writer: Writer) -> None:
        with pytest.raises(Problem) as problem:
            await writer.do(ask)
        assert problem.value.status == 503
        crash(other)
        assert await writer.do(ask) == "0-1"

    assert work(folder, body) == ["call failed"]


def test_too_many_calls_are_turned_away(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writers, "MOST_WAITING", 3)

    async def body(writer: Writer) -> None:
        await writer.do(ask)
        disk = Disk(monkeypatch)
        tasks = [asyncio.create_task(writer.do(ask))]
        await asyncio.to_thread(disk.waiting.wait, 20)
        tasks += [asyncio.create_task(writer.do(ask)) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Problem) as problem:
            await writer.do(ask)
        assert (problem.value.status, problem.value.headers) == (503, {"retry-after": "1"})
        tasks[2].cancel()  # a caller that has gone
        disk.go.set()
        await asyncio.gather(*tasks, return_exceptions=True)
        monkeypatch.undo()

    work(folder, body)
    assert kept(folder).booster._asked == 5


def test_what_waits_is_carried_out_before_the_end(folder: Path) -> None:
    async def body(writer: Writer) -> None:
        for _ in range(300):
            asyncio.create_task(writer.do(ask))  # noqa: RUF006 - nobody waits for them
        await asyncio.sleep(0)

    work(folder, body)
    assert kept(folder).booster._asked == 300
