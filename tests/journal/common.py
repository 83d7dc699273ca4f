"""What tests of journals share: rounds to record, crashes, and records that are written anew."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import banditboost as bb
from banditboost.journal import framing
from tests.booster.slow_booster import COPIES, make

ROOT = Path(__file__).parent.parent.parent
X = np.array([0.3, -0.2])


def play(booster: bb.Booster, rounds: int, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        booster.step(rng.uniform(-1, 1, 2), lambda queries: queries**2 + rng.normal(size=COPIES))


def crash(journal: bb.Journal) -> None:
    """What a process that dies leaves behind: nothing is written any more."""
    journal._let_go()
    journal.booster.journal = None


def written(path: Path, rounds: int = 10, sync_every: int = 1) -> list[framing.Record]:
    """The records of a run that ended in a crash."""
    booster = make()
    journal = bb.Journal(path, booster, sync_every=sync_every)
    play(booster, rounds)
    crash(journal)
    return records(path)


def records(path: Path) -> list[framing.Record]:
    return framing.scan("journal", path.read_bytes())[0]


def rewrite(path: Path, changed: Iterable[framing.Record]) -> None:
    """Frame records anew, with the right positions and checksums."""
    made = b""
    for record in changed:
        made += framing.frame(
            record.kind, record.payload, len(made), 0, record.last_ask_checksum, record.shown, record.version
        )
    path.write_bytes(made)


def python(code: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, in which other processors may be pretended."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=os.environ | environment)


class Stumbles(bb.learners.Linear):
    """Fails in its fourth update, after it has changed its weights."""

    def start(self, *args: Any, **kwargs: Any) -> Any:
        bank = super().start(*args, **kwargs)
        plain = bank.update

        def update(context: Any, gradients: Any, t: int) -> None:
            plain(context, gradients, t)
            if t == 4:
                raise ZeroDivisionError("a part's own mistake")

        bank.update = update  # type: ignore[method-assign]
        return bank
