"""Write a golden journal of the present format: ``python -m tests.journal.write_golden FOLDER``.

The folder gets ``run.journal``, with calls of every kind, which ends as a crash leaves it, ``closed.journal``, which was closed,
and ``within.journal``, with limits of single rounds; and ``expected.json``: what the version that wrote them did next. A folder
that is committed is never written again: write a new one when the format changes, and keep the old ones. Journals of formats 1 and
2 are among the files in ``tests/_storage``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import banditboost as bb
from tests.journal.common import crash

BOX = bb.spaces.Box((0.0, -1.0), (2.0, 1.0))
DIGITS = 12


def fresh(name: str) -> bb.Booster:
    """The booster of a golden journal."""
    gradient = bb.gradients.Remembered(3) if name == "within" else bb.gradients.OnePoint(0.2)
    return bb.Booster(bb.learners.Linear(radius=2.0), 3, gradient=gradient, space=BOX, seed=7)


def play(booster: bb.Booster, begin: int, end: int) -> list[list[float]]:
    """Play rounds; return the predictions."""
    seen = []
    for t in range(begin, end):
        limits = ((0.5, -0.5), (1.5, 0.5)) if t % 3 == 1 and booster.spec.gradient.limited else None
        ticket = booster.ask(np.cos([t, 2.0 * t]), space=limits)
        seen.append([float(f"{value:.{DIGITS}g}") for value in np.ravel(ticket.prediction)])
        booster.tell(ticket, np.square(ticket.queries - 0.4).sum(axis=1))
    return seen


def history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Every kind of call, before a snapshot and after it."""
    play(booster, 0, 6)
    tickets = [booster.ask(np.ones(2) * t) for t in range(4)]
    journal.snapshot()
    play(booster, 6, 12)
    booster.forget(tickets[1])
    booster.reset([0, 2])
    booster.limit_in_flight(50)
    booster.tell(tickets[3], [0.1, 0.2, 0.3])
    play(booster, 12, 16)


def main(target: Path) -> None:
    target.mkdir(parents=True)  # files that an earlier version wrote are never written again
    expected: dict[str, Any] = {}
    for name in ("run", "closed", "within"):
        booster, path = fresh(name), target / f"{name}.journal"
        journal = bb.Journal(path, booster, sync_every=4)
        history(booster, journal)
        if name == "closed":
            journal.close()
        else:
            crash(journal)
        Path(f"{path}.lock").unlink()
        expected[name] = {
            "calls": journal.calls,
            "rounds": booster.rounds,
            "in_flight": list(booster.in_flight),
            "next": play(booster, 16, 20),
        }
    (target / "expected.json").write_text(json.dumps(expected, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
