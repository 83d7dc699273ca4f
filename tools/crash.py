"""`make crash`: kill a journalled run at random points, reopen it every time, and count what was lost.

Ways to hurt a journal, each held against a run that nothing interrupted, whose digest after every call is known:

- timer: SIGKILL from outside after a random time;
- call: SIGKILL within a random system call of the journal (write, fsync, truncate, rename), a write being torn at a random byte;
- disk: files may not grow beyond a size that is soon reached, calls that fail are made again, and SIGKILL comes in between;
- signal: signals whose handlers raise, close the journal or wait for the disk, one after the other, and SIGKILL at last;
- processor: SIGKILL, and the journal is opened next by libraries that take their arithmetic for another processor;
- cut: the file ends at a random byte, as a power failure may leave what was not on the disk yet;
- flip: one bit of what was on the disk is changed. That no journal can mend, but it must not go unseen.

Half of the runs open the journal by a symbolic link, and half write their snapshots in a thread. *Silent* counts states that differ
from what was recorded without a word.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from crash_child import FULL, Call, Child, fresh, in_flight, keep_back, make_call, story

import banditboost as bb
from banditboost._storage.atomic_file import atomic
from banditboost.journal.framing import scan

HEADINGS = ("times", "different places", "answers lost", "states between", "silent", "refused")
FIGURES = ("points", "places", "lost", "between", "silent", "refused")
WAYS = {
    "timer": "killed by a timer",
    "call": "killed in a system call",
    "disk": "killed on a full disk",
    "signal": "signalled and killed",
    "processor": "opened on another processor",
}


def undisturbed(calls: list[Call], way: str = "") -> list[str]:
    """The digest of the state after every call of a run without a journal."""
    booster, tickets = fresh(way), dict[int, bb.Ticket]()
    digests = [booster.digest()]
    for call in calls:
        make_call(booster, tickets, call)
        digests.append(booster.digest())
    return digests


class Kills:
    """Runs that are killed again and again, and reopened every time."""

    def __init__(self, folder: Path, way: str, rng: random.Random, broken: bool, others: list[Elsewhere]) -> None:
        self.way, self.rng, self.broken, self.others = way, rng, broken, others
        self.path, self.link = folder / f"{way}.journal", folder / f"{way} by link.journal"
        self.link.symlink_to(self.path)
        # The last call that returned, whether the journal is open, and how often the disk was full.
        self.returned = mmap.mmap(-1, 24)
        self.count: Counter[str] = Counter()
        self.places: set[tuple[int, int]] = set()
        self.stories = 0
        self.begin_story()

    def begin_story(self) -> None:
        """Begin a run from the beginning."""
        self.path.unlink(missing_ok=True)
        self.calls, self.before, self.stories = story(self.rng, self.way), 0, self.stories + 1
        self.digests = undisturbed(self.calls) if self.way != "processor" else []

    def go_on(self, kills: int) -> Counter[str]:
        """Kill until it was done often enough; return what was counted."""
        while self.count["points"] < kills:
            if self.before >= len(self.calls):
                self.begin_story()
            struct.pack_into("<qB", self.returned, 0, self.before, 0)
            status = self.killed()
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) not in (0, FULL):
                raise RuntimeError(f"The child failed with exit code {os.WEXITSTATUS(status)}.")
            self.count["points"] += os.WIFSIGNALED(status)
            self.reopen()
        self.count["places"] = len(self.places)
        self.count["full"] = struct.unpack_from("<q", self.returned, 16)[0]
        return self.count

    def killed(self) -> int:
        """Run a child and end it; return how it ended."""
        rng, path = random.Random(self.rng.random()), self.rng.choice([self.path, self.link])
        process = os.fork()
        if process == 0:
            try:
                if self.broken:
                    keep_back(3)
                Child(self.way, path, self.calls, self.returned, rng).run()
            except (KeyboardInterrupt, SystemExit):  # by a signal, where nothing caught it
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(70)  # an error in the child, which must not become a second parent
        return os.waitpid(process, 0)[1] if self.way == "call" else self.wait_and_kill(process)

    def wait_and_kill(self, process: int) -> int:
        """Kill a child after a random time, mostly once it has opened the journal; return how it ended."""
        longest = {"timer": 0.01, "disk": 0.1, "signal": 0.01, "processor": 0.5}[self.way]
        patient = self.rng.random() < 0.9 or self.way in ("signal", "processor")
        while patient and not self.returned[8]:
            ended, status = os.waitpid(process, os.WNOHANG)
            if ended:
                return status
            time.sleep(0.0005)
        if self.way == "signal":
            for _ in range(self.rng.randrange(1, 5)):
                time.sleep(self.rng.uniform(0, 0.008))
                chosen = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGUSR2, signal.SIGUSR2)
                os.kill(process, self.rng.choice(chosen))
        time.sleep(self.rng.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        return os.waitpid(process, 0)[1]

    def reopen(self) -> None:
        """Open the journal and compare."""
        promised = struct.unpack_from("<q", self.returned, 0)[0]
        booster = fresh()
        try:
            if self.way == "processor" and self.path.exists():
                self.open_elsewhere(promised)
                return
            journal = bb.Journal(self.path, booster)
        except ValueError:  # damaged by us
            self.count["lost"] += 1
            self.before = len(self.calls)
            return
        self.before = journal.calls
        self.places.add((self.stories, self.before))
        self.count["lost"] += self.before < promised
        self.count["between"] += self.before > promised + 1 or booster.digest() != self.digests[self.before]
        if self.rng.random() < 0.5:
            journal.close()
        else:
            journal._let_go()
            booster.journal = None

    def open_elsewhere(self, promised: int) -> None:
        """Open the journal on another processor, and compare what can be."""
        here = bb.Journal.replay(self.path).booster.digest()
        found = self.rng.choice(self.others).open(self.path)
        self.before = found["calls"]
        self.places.add((self.stories, self.before))
        self.count["lost"] += self.before < promised
        waiting = in_flight(self.calls[: self.before])
        self.count["between"] += self.before > promised + 1 or found["in_flight"] != waiting
        self.count["silent"] += found["digest"] != here and not found["said"]
        self.count["differing"] += found["digest"] != here


class Elsewhere:
    """A process whose libraries take their arithmetic for another kind of processor."""

    def __init__(self, **environment: str) -> None:
        self.environment = environment
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("crash_child.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def open(self, path: Path) -> dict[str, Any]:
        """Open a journal there, and return what was found."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"A journal could not be opened with {self.environment}.")
        found: dict[str, Any] = json.loads(answer)
        return found


def written(folder: Path, calls: list[Call]) -> Path:
    """A whole journal of some calls, with a snapshot that holds tickets among them."""
    path, booster, tickets = folder / "whole.journal", fresh(), dict[int, bb.Ticket]()
    path.unlink(missing_ok=True)
    journal = bb.Journal(path, booster, sync_every=7)
    for k, call in enumerate(calls):
        make_call(booster, tickets, call)
        if k == len(calls) // 4:
            journal.snapshot()
    journal._let_go()
    booster.journal = None
    return path


def cut(folder: Path, times: int, rng: random.Random) -> Counter[str]:
    """End the file anywhere."""
    count: Counter[str] = Counter()
    calls = story(rng)[:60]
    digests, whole = undisturbed(calls), written(folder, calls).read_bytes()
    found = scan("whole", whole)[0]
    begun = len(calls) // 4 + 1
    ends = [
        record.end for record in found[len(found) - len(calls) + begun - 1 :]
    ]  # of the snapshot, and of every call after it
    path, places = folder / "cut.journal", set[int]()
    for _ in range(times):
        length = rng.randrange(len(whole))
        places.add(length)
        path.write_bytes(whole[:length])
        count["points"] += 1
        try:
            replayed = bb.Journal.replay(path)
        except ValueError:
            count["refused"] += 1
            # Nothing but the snapshot, which is written all or not at all, is needed.
            count["lost"] += length >= ends[0]
            continue
        kept = begun + sum(end <= length for end in ends[1:])
        count["lost"] += replayed.calls < min(kept, len(calls))
        count["between"] += replayed.calls > kept or replayed.booster.digest() != digests[replayed.calls]
        count["silent"] += replayed.differs_at is not None
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
        count["silent"] += place < last.synced
    count["places"] = len(places)
    return count


def main() -> None:
    """Print the figures; exit code 1 where anything was lost."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=500, help="divided among the ways to kill a run")
    options.add_argument("--cuts", type=int, default=3000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--quick", action="store_true", help="compile nothing for another processor")
    options.add_argument(
        "--broken", action="store_true", help="keep records back, to see that these figures can show it"
    )
    options.add_argument("--json", type=Path, help="write the figures to this file")
    given = options.parse_args()
    warnings.simplefilter("ignore", bb.JournalWarning)

    def rng(way: str) -> random.Random:
        return random.Random(f"{given.seed} {way}")

    begin = time.perf_counter()
    others = [Elsewhere(OPENBLAS_CORETYPE="Haswell"), Elsewhere(OPENBLAS_CORETYPE="Nehalem")]
    if not given.quick:
        others.append(Elsewhere(NUMBA_CPU_NAME="generic"))
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, (way, label) in enumerate(WAYS.items()):
            share = (given.kills * (number + 1)) // len(WAYS) - (given.kills * number) // len(WAYS)
            results[label] = Kills(folder, way, rng(way), given.broken, others).go_on(share)
        results["cut at a random byte"] = cut(folder, given.cuts, rng("cut"))
        results["one bit changed"] = flip(folder, given.cuts, rng("flip"))
    for other in others:
        other.process.communicate()
    print(f"{'':28}" + "".join(f"{heading:>17}" for heading in HEADINGS))
    for name, count in results.items():
        print(f"{name:28}" + "".join(f"{count[key]:>17}" for key in FIGURES))
    differing = results[WAYS["processor"]]["differing"]
    print(f"Other processors gave other bits {differing} times, and said so.")
    print(f"The disk was full {results[WAYS['disk']]['full']} times.")
    print(f"{time.perf_counter() - begin:.0f} seconds, seed {given.seed}")
    if given.json is not None:
        rows = [{"way": name, **{key: count[key] for key in FIGURES}} for name, count in results.items()]
        with atomic(given.json) as file:
            file.write(json.dumps({"seed": given.seed, "differing": differing, "rows": rows}, indent=1).encode())
    if any(count[key] for count in results.values() for key in ("lost", "between", "silent")):
        sys.exit(1)


if __name__ == "__main__":
    main()
