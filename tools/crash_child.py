"""The processes that `crash.py` kills: a journalled run, hurt in one of several ways, and a reader on another processor.

`python crash_child.py` reads paths of journals from standard input, one a line, opens each, and answers with one line of JSON.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import random
import resource
import signal
import struct
import sys
import warnings
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import banditboost as bb
from banditboost.journal import snapshot
from banditboost.journal.file import JournalFile

CALLS = 400
FULL = 3
"""The exit code of a child that could not even open its journal, for want of space."""
SPACE = bb.spaces.Interval(-1.0, 1.0)

Call = tuple[str, Any]


def fresh(way: str = "") -> bb.Booster:
    """A small booster, or one whose arithmetic shows which processor it runs on."""
    if way == "processor":
        return bb.algorithms.boosted(SPACE, answers=2, copies=6, seed=1)
    return bb.Booster(bb.learners.Linear(radius=2.0), 3, gradient=bb.gradients.OnePoint(0.2), space=SPACE, seed=1)


def story(rng: random.Random, way: str = "") -> list[Call]:
    """A run's calls: asked and told in any order, some forgotten."""
    features, answers = (20, 2) if way == "processor" else (2, 3)
    calls: list[Call] = []
    waiting: list[int] = []
    asked = 0
    while len(calls) < CALLS:
        chance = rng.random()
        if not waiting or chance < 0.5:
            asked += 1
            waiting.append(asked)
            calls.append(("ask", [rng.uniform(-1, 1) for _ in range(features)]))
        elif chance < 0.95:
            calls.append(
                ("tell", (waiting.pop(rng.randrange(len(waiting))), [rng.gauss(0, 1) for _ in range(answers)]))
            )
        else:
            calls.append(("forget", waiting.pop(0)))
    return calls


def in_flight(calls: list[Call]) -> list[int]:
    """The tickets that wait after some calls of a story."""
    waiting: set[int] = set()
    asked = 0
    for name, given in calls:
        if name == "ask":
            asked += 1
            waiting.add(asked)
        else:
            waiting.discard(given[0] if name == "tell" else given)
    return sorted(waiting)


def make_call(booster: bb.Booster, tickets: dict[int, bb.Ticket], call: Call) -> None:
    """Make one call of the story."""
    match call:
        case ("ask", x):
            ticket = booster.ask(x)
            tickets[ticket.number] = ticket
        case ("tell", (number, noise)):
            booster.tell(tickets[number], tickets[number].queries ** 2 + np.array(noise))
        case ("forget", number):
            booster.forget(tickets[number])


class Child:
    """A journalled run in a process of its own, which goes on from where its journal stands."""

    def __init__(self, way: str, path: Path, calls: list[Call], returned: mmap.mmap, rng: random.Random) -> None:
        self.way, self.path, self.calls, self.returned, self.rng = way, path, calls, returned, rng
        if rng.random() < 0.5:  # snapshots are written by a thread, however small
            snapshot.SMALL_TICKETS = -1

    def run(self) -> NoReturn:
        """Make calls until the end, or until something ends this process."""
        warnings.simplefilter("ignore", bb.JournalWarning)
        if self.way == "call":
            die_in_a_system_call(self.rng)
        if self.way == "disk":
            self.fill_the_disk()
        booster = fresh(self.way)
        settings = {"sync_every": self.rng.choice([1, 8, 64]), "snapshot_every": self.rng.choice([3, 20, 1000])}
        try:
            journal = bb.Journal(self.path, booster, **settings)
        except OSError:
            os._exit(FULL if self.way == "disk" else 70)
        if self.way == "signal":
            self.listen(booster, journal)
        self.returned[8] = 1
        with contextlib.suppress(KeyboardInterrupt, SystemExit):
            self.go_on(booster, journal)
        self.leave(journal)

    def leave(self, journal: bb.Journal) -> NoReturn:
        """Close the journal, and have that interrupted, too."""
        for _ in range(20):
            try:
                journal.close()
                break
            except (KeyboardInterrupt, SystemExit):
                continue
            except OSError:
                self.make_room()
        os._exit(0)

    def go_on(self, booster: bb.Booster, journal: bb.Journal) -> None:
        """Make one call after the other, and say of each that it has returned."""
        tickets = dict(journal.tickets)
        for k in range(journal.calls, len(self.calls)):
            for attempt in range(3):
                try:
                    make_call(booster, tickets, self.calls[k])
                    break
                except RuntimeError:
                    # A handler has closed the journal within this call, has asked for something after it broke it off, or has
                    # interrupted the interpreter's own locks.
                    if self.way == "signal":
                        return
                    raise
                except OSError:  # the disk is full: the call has not happened, and is made again
                    struct.pack_into("<q", self.returned, 16, struct.unpack_from("<q", self.returned, 16)[0] + 1)
                    if attempt == 2 or self.rng.random() < 0.3:
                        os.kill(os.getpid(), signal.SIGKILL)
                    self.make_room()
            if journal.calls != k + 1:  # a handler has closed the journal before this call
                return
            struct.pack_into("<q", self.returned, 0, k + 1)
            if booster.journal is None:
                return
            if self.way == "disk" and self.rng.random() < 0.02:
                self.fill_the_disk()

    def fill_the_disk(self) -> None:
        """Let no file grow beyond a size that the next few records reach."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        size = self.path.stat().st_size if self.path.exists() else 0
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(9, size + self.rng.randrange(-size // 2, 600)), most))

    def make_room(self) -> None:
        """Let files grow again."""
        _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    def listen(self, booster: bb.Booster, journal: bb.Journal) -> None:
        """Let signals end calls, or close the journal, or wait for the disk, whatever is going on."""

        def leave(*_: object) -> None:
            raise SystemExit

        def close(*_: object) -> None:
            journal.close()

        def flush(*_: object) -> None:
            with contextlib.suppress(RuntimeError):  # where the journal is closed, or holds a call that was interrupted
                journal.flush()

        signal.signal(signal.SIGTERM, leave)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGUSR1, close)
        signal.signal(signal.SIGUSR2, flush)


def die_in_a_system_call(rng: random.Random) -> None:
    """Have this process killed in one of the next system calls that a journal makes."""
    left = rng.randrange(1, 80)

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

    for name in ("write", "fsync", "ftruncate", "replace", "open", "unlink", "fchmod"):
        mined(name)


def keep_back(records: int) -> None:
    """Break the journal: it writes every few records together, after their calls have returned."""
    plain, kept = JournalFile.append, list[bytes]()

    def late(file: JournalFile, data: bytes) -> None:
        kept.append(data)
        if len(kept) == records:
            for held in kept:
                plain(file, held)
            kept.clear()

    JournalFile.append = late  # type: ignore[method-assign]


def serve() -> None:
    """Open the journals whose paths come in, and say what state each was in; close one, leave the next as a crash would."""
    for number, line in enumerate(sys.stdin):
        booster = fresh("processor")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            journal = bb.Journal(line.rstrip("\n"), booster)
        answer = {
            "calls": journal.calls,
            "digest": booster.digest(),
            "in_flight": list(booster.in_flight),
            "difference": journal.difference,
            "said": [str(warning.message) for warning in said if issubclass(warning.category, bb.JournalWarning)],
        }
        if number % 2:
            journal.close()
        else:
            journal._let_go()
            booster.journal = None
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    serve()
