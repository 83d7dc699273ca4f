"""Write a golden journal of the present format: ``python -m tests.journal.write_golden FOLDER``.

The folder gets ``run.journal``, with calls of every kind, which ends as a crash leaves it, ``closed.journal``, which was closed,
``within.journal``, with limits of single rounds, ``late.journal``, with forests that were late, ``named.journal``, with contexts
that have names, ``noted.journal``, with notes beside its asks, ``others.journal``, with actions that others chose and answers that
are missing, ``lessons.journal``, with such actions in contexts that have names, and ``remarks.journal``, with what an owner has
decided between calls; and ``expected.json``: what the version that wrote them did next. A file that is committed is never written
again: write a new folder when the format changes, and keep the old ones; a journal with calls of a new kind is added to the present
one by its name, as in ``python -m tests.journal.write_golden FOLDER late``. Journals of formats 1 and 2 are among the files in
``tests/_storage``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import banditboost as bb
from banditboost.learners import background
from banditboost.learners.background import Growth
from tests.journal.common import crash

BOX = bb.spaces.Box((0.0, -1.0), (2.0, 1.0))
DIGITS = 12
NAMES = ("run", "closed", "within", "late", "named", "noted", "others", "lessons", "remarks")


def fresh(name: str) -> bb.Booster:
    """The booster of a golden journal."""
    learner: bb.learners.Learner = bb.learners.Linear(radius=2.0)
    if name == "late":
        learner = bb.learners.Grown(3, 2, least=1.0, first=4, memory=200, lag=0.25, background=True)
    gradient: bb.gradients.Gradient = bb.gradients.OnePoint(0.2)
    if name in ("within", "named", "others", "lessons"):
        gradient = bb.gradients.Remembered(3)
    encoder = bb.encoder.Encoder(bits=6) if name in ("named", "lessons") else None
    return bb.Booster(learner, 3, gradient=gradient, space=BOX, seed=7, encoder=encoder)


def context(booster: bb.Booster, t: int, numbers: Any) -> Any:
    """A context of two numbers; with names, and words that are new now and then, where a booster has an encoder."""
    if booster.names is None:
        return numbers
    return {"one": float(numbers[0]), "two": float(numbers[1]), "word": f"w{t % 9}", "bag": ["ä", "b"], "gone": None}


def play(booster: bb.Booster, begin: int, end: int, wait: bool = True) -> list[list[float]]:
    """Play rounds; return the predictions."""
    seen = []
    for t in range(begin, end):
        limits = ((0.5, -0.5), (1.5, 0.5)) if t % 3 == 1 and booster.spec.gradient.limited else None
        ticket = booster.ask(context(booster, t, np.cos([t, 2.0 * t])), space=limits)
        seen.append([float(f"{value:.{DIGITS}g}") for value in np.ravel(ticket.prediction)])
        if wait:
            booster.wait_for_growth()
        booster.tell(ticket, np.square(ticket.queries - 0.4).sum(axis=1))
    return seen


def history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Every kind of call, before a snapshot and after it."""
    play(booster, 0, 6)
    tickets = [booster.ask(context(booster, t, np.ones(2) * t)) for t in range(4)]
    journal.snapshot()
    play(booster, 6, 12)
    booster.forget(tickets[1])
    booster.reset([0, 2])
    booster.limit_in_flight(50)
    booster.tell(tickets[3], [0.1, 0.2, 0.3])
    play(booster, 12, 16)


def late_history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Forests that are ready in rounds 8 and 14 only."""
    waiting: list[Growth] = []
    plain = background.begin
    setattr(background, "begin", waiting.append)  # noqa: B010 - mypy lets no function be replaced
    try:
        for t in range(16):
            if t in (8, 14):
                for growth in waiting:
                    growth.run()
                waiting.clear()
            play(booster, t, t + 1, wait=False)
            if t == 11:
                booster.reset([1])
    finally:
        setattr(background, "begin", plain)  # noqa: B010
    for growth in waiting:  # what was late when the journal ended is ready in the next round
        growth.run()


def others_history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Actions that others chose, first of all and between rounds, and rounds that are told as they were played."""
    booster.learn([1.0, 0.5], [1.0, 0.2], loss=0.4)
    history(booster, journal)
    booster.learn([0.3, 0.1], [1.1, 0.1], reward=-0.3, density=2.0)
    booster.learn([0.1, 0.3], [0.9, 0.4], loss=0.2, density=3.0, aim=[1.0, 0.3], spread=[0.2, 0.1])
    ticket = booster.ask(np.ones(2))
    booster.tell(ticket, [0.2, 0.1], actions=np.round(ticket.queries[1:], 1), answered=[False, True, True])


def remarks_history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Decisions of an owner before all calls and after them."""
    journal.remark(b"first")
    history(booster, journal)
    journal.remark(b"")
    journal.remark(b"\x00last")


def lessons_history(booster: bb.Booster, journal: bb.Journal) -> None:
    """Actions that others chose in contexts with names, first of all and between rounds."""
    booster.learn({"word": "first"}, [1.0, 0.2], loss=0.4)
    history(booster, journal)
    booster.learn({"word": "new", "one": 0.5}, [1.1, 0.1], reward=-0.3, density=2.0)


def main(target: Path, *names: str) -> None:
    target.mkdir(parents=True, exist_ok=bool(names))  # files that an earlier version wrote are never written again
    expected: dict[str, Any] = json.loads((target / "expected.json").read_text()) if names else {}
    for name in names or NAMES:
        if name in expected:
            raise ValueError(f"{name} is there already.")
        booster, path = fresh(name), target / f"{name}.journal"
        journal = bb.Journal(path, booster, sync_every=4)
        journal.annotate(b"beside an ask" if name == "noted" else b"")
        histories = {
            "late": late_history,
            "others": others_history,
            "lessons": lessons_history,
            "remarks": remarks_history,
        }
        histories.get(name, history)(booster, journal)
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
    main(Path(sys.argv[1]), *sys.argv[2:])
