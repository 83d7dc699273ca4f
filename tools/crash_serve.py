"""`make crash-serve`: kill the service under load, start it again, and count what was lost or done twice.

Callers ask and teach under idempotency keys and tell, and note every call that was acknowledged; one of them asks and tells about a
person and then has that person erased. The service ends in one of three ways:

- timer: SIGKILL after a random time;
- call: SIGKILL within a random system call of a journal (write, fsync, rename), a write being torn at a random byte;
- power: SIGKILL, and what no sync had covered is cut off the journal, as a power failure may do.

After every start, every call since the last one is made again. What was acknowledged and is unknown now is *lost*; rounds or asks
beyond those that callers have made are *twice*; the state must have the digest that a replay of the journal gives; the log must
have all rounds but those that were erased; and the folder is searched for the contexts of everybody who was erased.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import mmap
import os
import random
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from serve_http import GoneError, Line, free_port, get, put

import banditboost as bb
from banditboost._storage.atomic_file import atomic
from banditboost.journal.opening import resumed, written_spec
from banditboost.serve import kept
from banditboost.serve.app import Settings
from banditboost.serve.archive import Archive
from banditboost.serve.ledger import ServiceLedger
from banditboost.serve.server import serve

PATH, CALLERS = "/v1/boosters/shop", 8
RECIPE = {"algorithm": "streaming", "space": {"kind": "Interval", "low": 0, "high": 20}, "copies": 3, "answers": 1}
GUARD = {"baseline": 9.5, "share": 0.3, "after": 0}
WAYS = ("timer", "call", "power")
HEADINGS = ("kills", "acknowledged", "lost", "twice", "other digests", "rows missing", "erasures", "found again")
BAD = ("lost", "twice", "other digests", "rows missing", "found again")
_SYNCED = struct.Struct("<qqq")


class Child:
    """What a forked process does: it serves, and dies at a random call where that is its way."""

    def __init__(self, way: str, rng: random.Random, synced: mmap.mmap) -> None:
        self.way, self.rng, self.synced, self.left = way, rng, synced, rng.randrange(2, 120)

    def serve(self, data: Path, port: int, durability: str) -> None:
        """Serve until killed."""
        plain_write, plain_sync, plain_replace = os.write, os.fsync, os.replace

        def write(handle: int, part: Any) -> int:
            if bytes(part[:3]) == b"bbJ" and self.now():
                plain_write(handle, bytes(part[: self.rng.randrange(len(part))]))
                os.kill(os.getpid(), signal.SIGKILL)
            return plain_write(handle, part)

        def sync(handle: int) -> None:
            size, number = os.fstat(handle).st_size, os.fstat(handle).st_ino
            if self.now():
                os.kill(os.getpid(), signal.SIGKILL)
            if self.way == "power":
                time.sleep(0.002)  # in which nothing may be acknowledged that this sync does not cover
            plain_sync(handle)
            count, place, _ = _SYNCED.unpack_from(self.synced, 0)
            if (
                place != number
            ):  # the one before is kept, too: a new file is synced before it takes the former one's place
                self.synced[_SYNCED.size : 2 * _SYNCED.size] = self.synced[: _SYNCED.size]
            _SYNCED.pack_into(self.synced, 0, count + 1, number, size)

        def replace(name: Any, target: Any) -> None:
            if self.now():
                os.kill(os.getpid(), signal.SIGKILL)
            plain_replace(name, target)

        os.write, os.fsync, os.replace = write, sync, replace
        kept.ROUNDS_A_PART = 120  # so that rounds go to part files often
        serve(Settings(data, durability, snapshot_every=300), "127.0.0.1", port)

    def now(self) -> bool:
        """Whether this is the call to die in."""
        self.left -= self.way == "call"
        return self.way == "call" and self.left < 0


class Callers:
    """Those who call the service, and what they remember."""

    def __init__(self, port: int, rng: random.Random) -> None:
        self.port, self.rng = port, rng
        self.count: Counter[str] = Counter()
        self.keys = self.rounds = 0
        """How many asks and how many tells have happened, by what callers know."""
        self.open: list[dict[str, Any]] = []
        self.asks: list[tuple[str, bytes, bytes | None]] = []
        """Asks since the last start: their key, their body, and the answer where one came."""
        self.tells: list[tuple[bytes, bool]] = []
        """Tells since the last start, and whether they were acknowledged."""
        self.lessons: list[tuple[str, bytes, bool]] = []
        """Actions of others since the last start: their key, their body, and whether they were acknowledged."""
        self.people: list[tuple[bytes, bool]] = []
        """Erasures since the last start, and whether they were acknowledged."""
        self.erased_rounds = 0
        self.contexts: list[float] = []
        """Numbers of people who were erased."""

    async def load_and_erase(self, line: Line) -> None:
        """Ask and tell about one person after the other, and have each erased, until the service has gone."""
        while True:
            person, told_bodies = self.rng.randbytes(6).hex(), set[bytes]()
            numbers = [self.rng.random() for _ in "ab"]
            body = json.dumps({"context": numbers, "subject": person}).encode()
            for _ in range(3):
                key = self.rng.randbytes(8).hex()
                answer = await self.ask(line, key, body)
                self.asks.append((key, body, answer))
                if answer is None:
                    return
                ticket = json.loads(answer)
                answers = json.dumps({"ticket": ticket["ticket"], "losses": 1.0}).encode()
                self.tells.append((answers, await self.tell(line, answers) == "told"))
                if not self.tells[-1][1]:
                    return
                told_bodies.add(answers)
            # All of it was acknowledged, and after an erasure nobody knows of it: it is not to be repeated.
            self.asks[:] = [one for one in self.asks if one[1] != body]
            self.tells[:] = [one for one in self.tells if one[0] not in told_bodies]
            await self.erase(line, person, numbers, len(told_bodies))
            if not self.people[-1][1]:
                return

    async def erase(self, line: Line, person: str, numbers: list[float], told: int) -> None:
        """Have a person erased, and note it."""
        self.keys, self.rounds = self.keys + told, self.rounds + told
        self.erased_rounds += told
        self.contexts += numbers
        self.count["acknowledged"] += 2 * told
        body = json.dumps({"subject": person}).encode()
        self.people.append((body, False))
        self.people[-1] = body, await self.erased(line, body)

    async def erased(self, line: Line, body: bytes) -> bool:
        """Ask for an erasure; return whether it was acknowledged."""
        try:
            return (await line.post(f"{PATH}/erase", body))[0] == 200
        except GoneError:
            return False

    async def learn(self, line: Line, key: str, body: bytes) -> bool:
        """Teach an action of somebody else under a key; return whether it was acknowledged."""
        try:
            return (await line.post(f"{PATH}/learn", body, f"idempotency-key: {key}\r\n"))[0] == 200
        except GoneError:
            return False

    async def load(self, line: Line) -> None:
        """Ask, tell and teach until the service has gone."""
        while True:
            if self.rng.random() < 0.15:
                key, action = self.rng.randbytes(8).hex(), 20 * self.rng.random()
                lesson = {"context": [self.rng.random() for _ in "ab"], "action": action, "loss": 1.0, "density": 0.05}
                body = json.dumps(lesson).encode()
                self.lessons.append((key, body, await self.learn(line, key, body)))
                if not self.lessons[-1][2]:
                    return
            elif self.open and self.rng.random() < 0.5:
                ticket = self.open.pop(self.rng.randrange(len(self.open)))
                body = json.dumps({"ticket": ticket["ticket"], "losses": (ticket["action"] - 7.0) ** 2}).encode()
                self.tells.append((body, await self.tell(line, body) == "told"))
                if not self.tells[-1][1]:
                    return
            else:
                key, body = (
                    self.rng.randbytes(8).hex(),
                    json.dumps({"context": [self.rng.random() for _ in "ab"]}).encode(),
                )
                answer = await self.ask(line, key, body)
                self.asks.append((key, body, answer))
                if answer is None:
                    return
                self.open.append(json.loads(answer))

    async def ask(self, line: Line, key: str, body: bytes) -> bytes | None:
        """Ask under a key; return the answer, or None where none came."""
        try:
            status, answer = await line.post(f"{PATH}/ask", body, f"idempotency-key: {key}\r\n")
        except GoneError:
            return None
        return answer if status == 200 else None

    async def tell(self, line: Line, body: bytes) -> str:
        """Tell; return what the service says of it."""
        try:
            status, answer = await line.post(f"{PATH}/tell", body)
        except GoneError:
            return "gone"
        return str(json.loads(answer)["result"]) if status == 200 else f"status {status}"

    async def until_gone(self, seconds: float, kill: Callable[[], None]) -> None:
        """Call until the service has gone, or kill it after some seconds."""
        lines = [Line(self.port) for _ in range(CALLERS)]
        loads = [asyncio.create_task(self.load(line)) for line in lines[1:]]
        loads.append(asyncio.create_task(self.load_and_erase(lines[0])))
        await asyncio.wait(loads, timeout=seconds)
        kill()
        await asyncio.gather(*loads)
        for line in lines:
            line.close()

    async def again(self) -> None:
        """Make every call since the last start again, and count what was lost."""
        line = Line(self.port)
        for key, body, answer in self.asks:
            found = await self.ask(line, key, body)
            self.count["acknowledged"] += answer is not None
            self.count["lost"] += found is None or (answer is not None and found != answer)
            if answer is None and found is not None:
                self.open.append(json.loads(found))
        for body, acknowledged in self.tells:
            found_again = await self.tell(line, body)
            self.count["acknowledged"] += acknowledged
            self.count["lost"] += found_again != "repeated" if acknowledged else found_again not in ("told", "repeated")
        for key, body, acknowledged in self.lessons:
            self.count["acknowledged"] += acknowledged
            self.count["lost"] += not await self.learn(line, key, body)
        for body, _ in self.people:
            self.count["erasures"] += 1
            self.count["lost"] += not await self.erased(line, body)
        self.keys, self.rounds = self.keys + len(self.asks), self.rounds + len(self.tells) + len(self.lessons)
        self.asks, self.tells, self.lessons, self.people = [], [], [], []
        line.close()


class Trial:
    """One service that is killed again and again."""

    def __init__(self, folder: Path, rng: random.Random, durability: str) -> None:
        self.data, self.rng, self.durability = folder / "data", rng, durability
        self.log, self.synced = folder / "log", mmap.mmap(-1, 2 * _SYNCED.size)
        self.port = free_port()
        self.callers = Callers(self.port, rng)
        self.process = 0
        self.totals: dict[str, Counter[str]] = {way: Counter() for way in WAYS}

    def start(self, way: str) -> None:
        """Fork a service, and wait until it is ready."""
        rng = random.Random(self.rng.random())
        self.process = os.fork()
        if self.process == 0:
            handle = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            try:
                Child(way, rng, self.synced).serve(self.data, self.port, self.durability)
            finally:
                os._exit(70)
        for _ in range(2000):
            try:
                if get(self.port, "/ready"):
                    return
            except OSError:
                time.sleep(0.01)
            if os.waitpid(self.process, os.WNOHANG)[0]:  # it may die in a call before it is ready
                if way != "call":
                    raise RuntimeError(f"The service has ended:\n{self.log.read_text()[-3000:]}")
                self.process = 0
                return
        raise RuntimeError(f"The service does not become ready:\n{self.log.read_text()[-3000:]}")

    def kill(self) -> None:
        """Kill the service."""
        if self.process:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
            self.process = 0

    @property
    def journal(self) -> Path:
        """The journal of the one booster."""
        return next(self.data.glob("booster-*/booster.journal"))

    def cut(self) -> None:
        """Cut off what no sync has covered."""
        known = {}
        for place in (_SYNCED.size, 0):
            _, number, size = _SYNCED.unpack_from(self.synced, place)
            known[number] = size
        at = os.stat(self.journal)
        if at.st_ino in known and known[at.st_ino] < at.st_size:
            os.truncate(self.journal, known[at.st_ino])

    def once(self, way: str) -> None:
        """Start, load, kill, start again, and compare."""
        callers, before = self.callers, Counter(self.callers.count)
        self.start(way)
        if self.process:
            seconds = 5.0 if way == "call" else self.rng.uniform(0.02, 0.4)
            asyncio.run(callers.until_gone(seconds, self.kill))
        if way == "power":
            self.cut()
        self.start("timer")
        asyncio.run(callers.again())
        info = get(self.port, f"{PATH}?digest=true")
        twice = max(info["asked"] - callers.keys, 0) + max(info["rounds"] - callers.rounds, 0)
        other = bb.Journal.replay(self.journal).booster.digest() != info["digest"]
        self.kill()
        missing = abs(rounds_in(self.journal.parent) - info["rounds"] + callers.erased_rounds)
        again = self.search()
        callers.keys, callers.rounds = info["asked"], info["rounds"]
        self.totals[way] += Counter(callers.count - before) + Counter(
            {"kills": 1, "twice": twice, "other digests": int(other), "rows missing": missing, "found again": again}
        )

    def search(self) -> int:
        """Return how many numbers of people who were erased are found in the folder; those of the last hundred are looked for."""
        data = b"".join(path.read_bytes() for path in self.data.rglob("*") if path.is_file())
        return sum(struct.pack("<d", number) in data for number in self.callers.contexts[-200:])


def rounds_in(folder: Path) -> int:
    """Return how many rounds are in the log of a booster, by part files and journal."""
    ledger, archive = ServiceLedger(), Archive(folder / kept.LOG)
    path = folder / kept.JOURNAL
    resumed(path, bb.Booster.from_spec(written_spec(path)), ledger)
    last, total = archive.last, ledger.noted.total
    parts = sum(int((block.numbers <= total).sum()) for block in archive.blocks())
    return parts + sum(one.number > last for one in ledger.noted.rounds)


def main() -> None:
    """Print the figures; exit code 1 where anything was lost or done twice."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--broken", action="store_true", help="acknowledge before the disk has it, to see that figures show it"
    )
    options.add_argument("--guard", action="store_true", help="a baseline plays some of the rounds")
    options.add_argument("--json", type=Path, help="write the figures to this file")
    given = options.parse_args()
    begin, rng = time.perf_counter(), random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        trial = Trial(Path(name), rng, "off" if given.broken else "group")
        trial.start("timer")
        put(trial.port, PATH, {"recipe": RECIPE} | ({"guard": GUARD} if given.guard else {}))
        trial.kill()
        for k in range(given.kills):
            trial.once(WAYS[k % len(WAYS)])
            if (k + 1) % 50 == 0:
                print(f"{k + 1} kills, {time.perf_counter() - begin:.0f} seconds", flush=True)
    print(f"{'':10}" + "".join(f"{heading:>16}" for heading in HEADINGS))
    for way, count in trial.totals.items():
        print(f"{way:10}" + "".join(f"{count[heading]:>16}" for heading in HEADINGS))
    if given.json is not None:
        rows = [
            {"way": way, **{heading: count[heading] for heading in HEADINGS}} for way, count in trial.totals.items()
        ]
        with atomic(given.json) as file:
            file.write(json.dumps({"seed": given.seed, "rows": rows}, indent=1).encode())
    if any(count[heading] for count in trial.totals.values() for heading in BAD):
        sys.exit(1)


if __name__ == "__main__":
    main()
