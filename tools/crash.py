"""`make crash`: kill a journalled run at random points, reopen it every time, and count what was lost.

Four ways to hurt a journal, each held against a run that nothing interrupted, whose digest after every call is known:

- timer: SIGKILL from outside after a random time;
- call: SIGKILL within a random system call of the journal (write, fsync, truncate, rename), a write being torn at a random byte;
- cut: the file ends at a random byte, as a power failure may leave what was not on the disk yet;
- flip: one bit of what was on the disk is changed. That no journal can mend, but it must not go unseen.
"""

from __future__ import annotations

import argparse
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
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import banditboost as bb
from banditboost._storage.atomic_file import atomic
from banditboost.journal.framing import scan

CALLS = 400
HEADINGS = ("times", "different places", "answers lost", "states between", "refused")
FIGURES = ("points", "places", "lost", "between", "refused")
SPACE = bb.spaces.Interval(-1.0, 1.0)


def fresh() -> bb.Booster:
    """A small booster: what is tested does not depend on its size."""
    return bb.Booster(bb.learners.Linear(radius=2.0), 3, gradient=bb.gradients.OnePoint(0.2), space=SPACE, seed=1)


def story(rng: random.Random) -> list[tuple[str, Any]]:
    """A run's calls: asked and told in any order, some forgotten."""
    calls: list[tuple[str, Any]] = []
    waiting: list[int] = []
    asked = 0
    while len(calls) < CALLS:
        chance = rng.random()
        if not waiting or chance < 0.5:
            asked += 1
            waiting.append(asked)
            calls.append(("ask", [rng.uniform(-1, 1), rng.uniform(-1, 1)]))
        elif chance < 0.95:
            calls.append(("tell", (waiting.pop(rng.randrange(len(waiting))), [rng.gauss(0, 1) for _ in range(3)])))
        else:
            calls.append(("forget", waiting.pop(0)))
    return calls


def make_call(booster: bb.Booster, tickets: dict[int, bb.Ticket], call: tuple[str, Any]) -> None:
    """Make one call of the story."""
    match call:
        case ("ask", x):
            ticket = booster.ask(x)
            tickets[ticket.number] = ticket
        case ("tell", (number, noise)):
            booster.tell(tickets[number], tickets[number].queries ** 2 + np.array(noise))
        case ("forget", number):
            booster.forget(tickets[number])


def undisturbed(calls: list[tuple[str, Any]]) -> list[str]:
    """The digest of the state after every call of a run without a journal."""
    booster, tickets = fresh(), dict[int, bb.Ticket]()
    digests = [booster.digest()]
    for call in calls:
        make_call(booster, tickets, call)
        digests.append(booster.digest())
    return digests


def child(path: Path, calls: list[tuple[str, Any]], returned: mmap.mmap, settings: dict[str, int]) -> NoReturn:
    """Go on with a run from where its journal stands, and say after every call that it has returned."""
    booster = fresh()
    journal = bb.Journal(path, booster, sync_every=settings["sync"], snapshot_every=settings["snapshot"])
    tickets = dict(journal.tickets)
    returned[8] = 1
    for k in range(journal.calls, len(calls)):
        make_call(booster, tickets, calls[k])
        struct.pack_into("<q", returned, 0, k + 1)
    journal.close()
    os._exit(0)


def die_in_a_system_call(rng: random.Random) -> None:
    """Have this process killed in one of the next system calls that a journal makes."""
    left = rng.randrange(1, 60)

    def mined(name: str) -> None:
        plain = getattr(os, name)

        def call(*args: Any, **options: Any) -> Any:
            nonlocal left
            left -= 1
            if left == 0:
                if name == "write":
                    plain(args[0], args[1][: rng.randrange(len(args[1]) + 1)])
                elif rng.random() < 0.5:  # done, but nobody hears of it
                    plain(*args, **options)
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*args, **options)

        setattr(os, name, call)

    for name in ("write", "fsync", "ftruncate", "replace", "open"):
        mined(name)


def kill(folder: Path, kills: int, way: str, rng: random.Random, broken: bool) -> Counter[str]:
    """Kill a run again and again, and reopen its journal every time."""
    count: Counter[str] = Counter()
    returned = mmap.mmap(-1, 9)  # the last call that returned, and whether the journal is open
    places: set[tuple[int, int]] = set()
    stories = 0
    path, calls, digests = folder / f"{way}.journal", [("", None)], [""]
    before = len(calls)
    while count["points"] < kills:
        if before >= len(calls):
            path.unlink(missing_ok=True)
            calls, before, stories = story(rng), 0, stories + 1
            digests = undisturbed(calls)
        struct.pack_into("<qB", returned, 0, before, 0)
        settings = {"sync": rng.choice([1, 8, 64]), "snapshot": rng.choice([3, 20, 1000])}
        process = os.fork()
        if process == 0:
            try:
                if broken:
                    keep_back(3)
                if way == "call":
                    die_in_a_system_call(random.Random(rng.random()))
                child(path, calls, returned, settings)
            finally:
                os._exit(70)  # an error in the child, which must not become a second parent
        status = wait_and_kill(process, returned, rng) if way == "timer" else os.waitpid(process, 0)[1]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError(f"The child failed with exit code {os.WEXITSTATUS(status)}.")
        count["points"] += os.WIFSIGNALED(status)
        promised = struct.unpack_from("<q", returned, 0)[0]
        booster = fresh()
        try:
            with bb.Journal(path, booster) as journal:
                before = journal.calls
        except ValueError:  # damaged by us
            count["lost"] += 1
            before = len(calls)
            continue
        places.add((stories, before))
        count["lost"] += before < promised
        count["between"] += before > promised + 1 or booster.digest() != digests[before]
    count["places"] = len(places)
    return count


def wait_and_kill(process: int, returned: mmap.mmap, rng: random.Random) -> int:
    """Kill a child after a random time, mostly once it has opened the journal; return how it ended."""
    patient = rng.random() < 0.9
    while patient and not returned[8]:
        if os.waitpid(process, os.WNOHANG)[0]:
            raise RuntimeError("The child ended before it had opened the journal.")
        time.sleep(0.0005)
    time.sleep(rng.uniform(0, 0.01))
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def written(folder: Path, calls: list[tuple[str, Any]]) -> Path:
    """A whole journal of some calls."""
    path, booster, tickets = folder / "whole.journal", fresh(), dict[int, bb.Ticket]()
    path.unlink(missing_ok=True)
    with bb.Journal(path, booster, sync_every=7):
        for call in calls:
            make_call(booster, tickets, call)
    return path


def cut(folder: Path, times: int, rng: random.Random) -> Counter[str]:
    """End the file anywhere."""
    count: Counter[str] = Counter()
    calls = story(rng)[:60]
    digests, whole = undisturbed(calls), written(folder, calls).read_bytes()
    ends = [record.end for record in scan("whole", whole)[0]]
    path, places = folder / "cut.journal", set[int]()
    for _ in range(times):
        length = rng.randrange(len(whole))
        places.add(length)
        path.write_bytes(whole[:length])
        count["points"] += 1
        try:
            found = bb.Journal.replay(path)
        except ValueError:
            count["refused"] += 1
            count["lost"] += (
                length >= ends[0]
            )  # nothing but the snapshot, which is written all or not at all, is needed
            continue
        kept = sum(end <= length for end in ends[1:])
        count["lost"] += found.calls < min(kept, len(calls))
        count["between"] += found.calls > kept or found.booster.digest() != digests[found.calls]
    count["places"] = len(places)
    return count


def flip(folder: Path, times: int, rng: random.Random) -> Counter[str]:
    """Change one bit anywhere: it must be refused, or be in what was not acknowledged yet when the last record was written."""
    count: Counter[str] = Counter()
    calls = story(rng)[:60]
    digests, whole = undisturbed(calls), written(folder, calls).read_bytes()
    last = scan("whole", whole)[0][-1]
    path, places = folder / "flip.journal", set[int]()
    for _ in range(times):
        place = rng.randrange(len(whole))
        places.add(place)
        data = bytearray(whole)
        data[place] ^= 1 << rng.randrange(8)
        path.write_bytes(data)
        count["points"] += 1
        try:
            found = bb.Journal.replay(path)
        except ValueError:
            count["refused"] += 1
            continue
        count["lost"] += place < last.synced
        count["between"] += found.booster.digest() != digests[found.calls]
    count["places"] = len(places)
    return count


def keep_back(records: int) -> None:
    """Break the journal: it writes every few records together, after their calls have returned."""
    plain, kept = os.write, list[bytes]()

    def late(file: int, data: bytes) -> int:
        kept.append(data)
        if len(kept) == records:
            plain(file, b"".join(kept))
            kept.clear()
        return len(data)

    os.write = late  # type: ignore[assignment]


def main() -> None:
    """Print the figures; exit code 1 where anything was lost."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=500, help="half by a timer, half within a system call")
    options.add_argument("--cuts", type=int, default=3000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument(
        "--broken", action="store_true", help="keep records back, to see that these figures can show it"
    )
    options.add_argument("--json", type=Path, help="write the figures to this file")
    given = options.parse_args()

    def rng(way: str) -> random.Random:
        return random.Random(f"{given.seed} {way}")

    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        results = {
            "killed by a timer": kill(folder, given.kills - given.kills // 2, "timer", rng("timer"), given.broken),
            "killed in a system call": kill(folder, given.kills // 2, "call", rng("call"), given.broken),
            "cut at a random byte": cut(folder, given.cuts, rng("cut")),
            "one bit changed": flip(folder, given.cuts, rng("flip")),
        }
    print(f"{'':26}" + "".join(f"{heading:>17}" for heading in HEADINGS))
    for name, count in results.items():
        print(f"{name:26}" + "".join(f"{count[key]:>17}" for key in FIGURES))
    print(f"{time.perf_counter() - begin:.0f} seconds, seed {given.seed}")
    if given.json is not None:
        rows = [{"way": name, **{key: count[key] for key in FIGURES}} for name, count in results.items()]
        with atomic(given.json) as file:
            file.write(json.dumps({"seed": given.seed, "rows": rows}, indent=1).encode())
    if any(count["lost"] or count["between"] for count in results.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
