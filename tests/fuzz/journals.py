"""Journals, where the library has them: records torn, moved, repeated, and changed with checksums that go with the change."""

from __future__ import annotations

import contextlib
import importlib
import random
from pathlib import Path
from typing import Any

import numpy as np

import banditboost as bb
from tests.fuzz.mutations import spoil_bytes, spoil_json


def seeds(folder: Path) -> list[bytes]:
    """Journals of a few boosters, with asks, tells and a ticket in flight."""
    journal: Any = importlib.import_module("banditboost.journal")
    made = []
    learners = (bb.learners.Linear(), bb.learners.Stump(bins=4), bb.learners.OGD(), *bb.learners.Wrapped.examples())
    for k, learner in enumerate(learners):
        path = folder / f"seed{k}.journal"
        booster = bb.Booster(learner, 3, gradient=bb.gradients.Residual(0.2), space=bb.spaces.Ball(2, 1.0))
        kept = journal.Journal(path, booster)
        for t in range(6):
            ticket = booster.ask(np.full(2, 0.1 * t) if learner.contextual else None)
            if t < 5:
                booster.tell(ticket, np.linspace(0.0, 1.0, 3))
        made.append(path.read_bytes())  # with all its calls
        kept.close()
        made.append(path.read_bytes())  # a snapshot, a ticket and a digest
    others = (limited(folder / "limited.journal"), with_functions(folder / "functions.journal"))
    return [*made, *others, with_names(folder / "names.journal")]


def with_functions(path: Path) -> bytes:
    """A journal of a booster whose learner and whose space are functions."""
    journal: Any = importlib.import_module("banditboost.journal")
    space, learner = bb.spaces.Oracle.examples()[0], bb.learners.Wrapped.examples()[0]
    booster = bb.Booster(learner, 2, gradient=bb.gradients.Exact(), space=space)
    kept = journal.Journal(path, booster)
    for t in range(5):
        ticket = booster.ask([0.1 * t])
        if t < 4:
            booster.tell(ticket, np.ones((2, *space.shape)))
    made = path.read_bytes()
    kept.close()
    return made


def with_names(path: Path) -> bytes:
    """A journal of rounds whose contexts have names, some of them new, some within limits, and one in flight."""
    journal: Any = importlib.import_module("banditboost.journal")
    gradient, encoder = bb.gradients.Remembered(2), bb.encoder.Encoder(bits=5)
    booster = bb.Booster(copies=2, gradient=gradient, space=bb.spaces.Interval(0, 1), encoder=encoder)
    kept = journal.Journal(path, booster, snapshot_every=5)
    for t in range(9):
        x = {"word": f"w{t}", "number": 0.1 * t, "gone": None}
        ticket = booster.ask(x, space=(0.2, 0.8) if t % 2 else None)
        if t < 8:
            booster.tell(ticket, [0.1 * t, 0.2])
    made = path.read_bytes()
    kept.close()
    return made


def limited(path: Path) -> bytes:
    """A journal of rounds with limits of their own, with some in flight."""
    journal: Any = importlib.import_module("banditboost.journal")
    booster = bb.Booster(copies=3, gradient=bb.gradients.Remembered(3), space=bb.spaces.Box((0.0, -1.0), (2.0, 1.0)))
    kept = journal.Journal(path, booster, snapshot_every=5)
    for t in range(9):
        ticket = booster.ask(np.full(2, 0.1 * t), space=((0.1 * t, -0.5), (1.5, 0.5)) if t % 2 else None)
        if t % 3:
            booster.tell(ticket, rewards=np.linspace(0.0, 1.0, 3) * t)
    made = path.read_bytes()
    kept.close()
    return made


def spoil_records(data: bytes, rng: random.Random) -> bytes:
    """Change, double, drop or move a record, or change the snapshot's plain data, and frame all of them anew."""
    records: Any = importlib.import_module("banditboost.journal.framing")
    found = [
        [record.kind, record.payload, record.last_ask_checksum, record.shown, record.version]
        for record in records.scan("seed", data)[0]
    ]
    at = rng.randrange(len(found))
    match rng.randrange(9):
        case 0 | 1:
            found[at][1] = spoil_bytes(found[at][1], rng)
        case 5 | 6:
            tables: Any = importlib.import_module("banditboost._storage.array_table")
            header, arrays = tables.unpack(found[0][1])
            with contextlib.suppress(ValueError):  # NaN and infinity cannot be written
                found[0][1] = tables.pack(spoil_json(header, rng), arrays)
        case 2:
            found.insert(at, list(rng.choice(found)))
        case 3:
            found[at][0] = rng.choice((rng.randrange(256), rng.randrange(13)))
        case 7:
            found[at][3] = rng.randbytes(8 * rng.choice((0, 1, 2, 255)))
        case 8:
            found[at][4] = rng.randrange(256)
        case _:
            del found[at]
    made = b""
    for kind, payload, seen, shown, version in found:
        made += records.frame(kind, payload, len(made), rng.choice((0, len(made), 2**63)), seen, shown, version)
    return made


def replay(path: Path) -> None:
    """Read a journal as its commands do."""
    journal: Any = importlib.import_module("banditboost.journal")
    importlib.import_module("banditboost.journal.repair").contents(path)
    known = (bb.learners.Wrapped.examples()[0], bb.spaces.Oracle.examples()[0])
    journal.Journal.replay(path, {name: function for part in known for name, function in part.callables().items()})
