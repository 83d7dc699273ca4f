"""The run: spoil, read, note what happens."""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import importlib
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from tests.fuzz.mutations import TRAPS
from tests.fuzz.targets import Target, targets

SLOW = 2.0
"""Seconds of its own after which a reader is said to hang."""
LARGE = 500 * 2**20
"""Bytes of memory beyond which a reader is said to take too much."""
MEMORY = 8 * 2**30
"""Bytes of address space: a reader that asks for more gets a MemoryError, which is a finding."""
FORBIDDEN = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.connect",
    "import",
)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC


class Hang(BaseException):
    """Time is up; not an Exception, so that no reader catches it."""


class Guard:
    """Watches what the interpreter does while a reader runs."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.armed = str(folder), False
        self.seen: list[str] = []
        sys.addaudithook(self.hook)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.armed:
            return
        if event in FORBIDDEN:
            self.seen.append(f"{event} {arguments[:1]!r}")
        elif event == "open" and isinstance(arguments[0], str | bytes):
            path, mode, flags = arguments
            writing = bool((flags or 0) & WRITES) if mode is None else bool(set(mode) & set("wax+"))
            if writing and not os.path.abspath(os.fsdecode(path)).startswith(self.folder):
                self.seen.append(f"wrote to {path!r}")
        elif event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.link", "os.symlink", "shutil.rmtree"):
            self.seen.append(f"{event} {arguments!r}")


clock = {"wall": 0.0, "own": 0.0}
"""When the reader began, by the clock and by the time that this process had been given."""


def too_long(number: int, frame: FrameType | None) -> None:
    """Stop a reader, unless other processes have had the processor most of the time."""
    spent = time.process_time() - clock["own"]
    if spent < SLOW and time.perf_counter() - clock["wall"] < 10 * SLOW:
        signal.setitimer(signal.ITIMER_REAL, max(0.01, SLOW - spent))
    else:
        raise Hang


class Memory:
    """How much memory this process takes, and has taken at most since it was asked last; nothing where the system does not say."""

    status, reset = Path("/proc/self/status"), Path("/proc/self/clear_refs")

    def begin(self) -> None:
        self.before = 0
        with contextlib.suppress(OSError):
            self.reset.write_text("5")
            self.before = self._said("VmRSS")

    def taken(self) -> int:
        with contextlib.suppress(OSError):
            return self._said("VmHWM") - self.before
        return 0

    def _said(self, name: str) -> int:
        text = self.status.read_text()
        return int(text[text.index(name) :].split(maxsplit=2)[1]) * 1024


sprung: list[str] = []
"""Names of traps that were called."""


def attempt(target: Target, path: Path, data: bytes, guard: Guard) -> tuple[str, str]:
    """Read one file; return what happened, in one word, and the details of a finding."""
    path.write_bytes(data)
    memory = Memory()
    memory.begin()
    outcome, details = read_once(target, path, guard)
    taken = memory.taken()
    if not details and taken > LARGE:
        outcome, details = "large", f"took {taken / 2**20:.0f} MB"
    if guard.seen:
        outcome, details = "acted", "; ".join(guard.seen[:5])
    if sprung:
        outcome, details = "called", "; ".join(sprung[:5])
        sprung.clear()
    return outcome, details


def read_once(target: Target, path: Path, guard: Guard) -> tuple[str, str]:
    """Read a file, watched."""
    guard.seen.clear()
    clock["wall"], clock["own"] = time.perf_counter(), time.process_time()
    signal.setitimer(signal.ITIMER_REAL, SLOW)
    guard.armed = True
    try:
        target.read(path)
        outcome, details = "read", ""
    except (ValueError, OSError) as error:
        outcome, details = "refused", ""
        if "\n" in str(error) or len(str(error)) > 2000:
            outcome, details = "wordy", repr(error)[:2000]
    except Hang:
        outcome, details = "hang", traceback.format_exc()
    except BaseException:  # whatever else comes is what we look for
        outcome, details = "crash", traceback.format_exc()
    finally:
        guard.armed = False
        signal.setitimer(signal.ITIMER_REAL, 0)
    return outcome, details


def fuzz(target: Target, files: int, seed: int, folder: Path, guard: Guard, findings: Path | None) -> Counter[str]:
    """Spoil files of one kind and read them."""
    rng, counts, kept = random.Random(f"{seed} {target.name}"), Counter[str](), Counter[str]()
    path, begin = folder / f"case.{target.suffix}", time.perf_counter()
    for data in target.seeds:  # what readers import on the way is imported now, and valid files are no finding
        path.write_bytes(data)
        try:
            target.read(path)
        except ValueError:
            counts["seeds refused"] += 1
    for k in range(files):
        data = rng.choice(target.mutations)(rng.choice(target.seeds), rng)
        outcome, details = attempt(target, path, data, guard)
        counts[outcome] += 1
        if details:
            last = details.strip().splitlines()[-1]
            kept[last] += 1
            if kept[last] == 1:
                print(f"\n{target.name}, file {k}: {outcome}\n{details}", flush=True)
                if findings is not None:
                    findings.mkdir(parents=True, exist_ok=True)
                    (findings / f"{target.name}-{k}.{target.suffix}").write_bytes(data)
    seconds = time.perf_counter() - begin
    told = ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))
    print(f"{target.name:<8}{files:>8} files  {files / max(seconds, 1e-9):>7.0f}/s   {told}", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--files", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="one target")
    parser.add_argument("--findings", type=Path, help="where to keep files that make a finding")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, too_long)
    with tempfile.TemporaryDirectory() as place:
        folder, outside = Path(place, "target"), Path(place, "outside")
        folder.mkdir()
        outside.mkdir()
        findings = given.findings.absolute() if given.findings else None
        os.chdir(outside)
        for trap in TRAPS:
            module, _, name = trap.partition(":")
            setattr(importlib.import_module(module), name, lambda *arguments, trap=trap: sprung.append(trap))
        guard, total = Guard(folder), Counter[str]()
        for target in targets(folder):
            if given.only in (None, target.name):
                total += fuzz(target, round(given.files * target.share), given.seed, folder, guard, findings)
        stray = sorted(path.name for path in outside.iterdir())
        os.chdir(place)
    bad = sum(total[name] for name in ("crash", "hang", "large", "wordy", "acted", "called"))
    print(
        f"{sum(total[n] for n in ('read', 'refused')) + bad} files: {total['crash']} crashes, {total['called']} calls, "
        f"{total['hang']} over {SLOW:g} s, {total['large']} over {LARGE >> 20} MB, {total['acted']} acts beyond "
        f"reading, {total['wordy']} errors of more than a line, "
        f"{len(stray)} files outside the folder {stray or ''}".rstrip()
    )
    return int(bool(bad or stray))


if __name__ == "__main__":
    sys.exit(main())
