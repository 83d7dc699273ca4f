"""Write files of the present version, for later versions to read: ``python -m tests._storage.write_fixtures FOLDER``.

The folder gets ``files.zip`` (boosters around every part, a ticket, journals and a model of the command line) and ``expected.json``
(what the version that wrote them did next, the JSON of specs, and all kinds that it had). A folder that is committed is never
written again: write a new one when the format changes, and keep the old ones. `test_old_files.py` reads all of them.

The folder ``format2`` was written by running this file with the sources of the last commit that wrote that format.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import banditboost as bb
from banditboost.algorithms.default_parts import fitted_to_round, linear_part, tree_part

ROUNDS = 6
"""Rounds that a booster has learned from before it is saved."""
DIGITS = 12
"""Significant digits of an expected number; other machines may differ in the last ones."""

PRICES = bb.spaces.Interval(0.0, 2.0)


def specs() -> list[Any]:
    """Every example of every concrete part, and the specs of the command line's model files."""
    rooms = (bb.spaces, bb.losses, bb.noise, bb.rates, bb.learners, bb.chains, bb.gradients)
    found = []
    for room in rooms:
        for name in sorted(room.__all__):
            part = getattr(room, name)
            if inspect.isclass(part) and hasattr(part, "examples") and not inspect.isabstract(part):
                found += part.examples()
    return found


def kinds() -> list[str]:
    """The kinds of all concrete specs of the library, but for those of experiments, which no file holds."""
    base: Any = bb.BoosterSpec.__mro__[1]
    found, waiting = [], list(base.__subclasses__())
    while waiting:
        part = waiting.pop()
        waiting += part.__subclasses__()
        ours = part.__module__.startswith("banditboost.") and not part.__module__.startswith("banditboost.experiments.")
        if ours and not inspect.isabstract(part):
            found.append(part.kind)
    return sorted(found)


def boosters() -> list[tuple[str, bb.Booster]]:
    """A small booster around every part of a loop, and one of every recipe."""
    made = []
    for number, part in enumerate(specs()):
        parts: dict[str, Any] = {"space": bb.spaces.Interval(-1.0, 1.0), "gradient": bb.gradients.OnePoint(0.2)}
        if isinstance(part, bb.learners.Learner):
            parts["learner"] = part
        elif isinstance(part, bb.chains.Chain):
            parts["chain"] = part
        elif isinstance(part, bb.gradients.Gradient):
            parts["gradient"] = part
            if hasattr(part, "critic"):  # a critic for sales, whose prices are not negative
                parts["space"] = PRICES
        elif isinstance(part, bb.spaces.Space):
            parts |= {"space": part, "gradient": bb.gradients.OnePoint(part.inner_radius / 5)}
        elif isinstance(part, bb.rates.Rate):
            parts["learner"] = bb.learners.Linear(rate=part)
        else:
            continue
        try:
            booster = bb.Booster(copies=3, seed=5, **parts)
        except ValueError:  # a chain for one copy
            booster = bb.Booster(copies=1, seed=5, **parts)
        made.append((f"{number:03d}-{type(part).__name__}", booster))
    for name in bb.algorithms.__all__:
        small = {"copies": 4} if "copies" in inspect.signature(getattr(bb.algorithms, name)).parameters else {}
        space = PRICES if name == "pricing" else bb.spaces.Ball(2, 1.0)
        made.append((name, getattr(bb.algorithms, name)(space, seed=5, **small)))
    return made


def context(booster: bb.Booster, t: int) -> Any:
    """Return the context of a round; None for learners without contexts."""
    return np.cos([t, 2.0 * t, 3.0 * t]) if booster.spec.learner.contextual else None


def answers(ticket: bb.Ticket) -> Any:
    """Return the squared distances of the queries from a point, or their gradients."""
    away = np.asarray(ticket.queries) - 0.1
    return np.square(away).sum(axis=tuple(range(1, away.ndim))) if ticket.asks == "values" else 2 * away


def play(booster: bb.Booster, begin: int, end: int) -> list[list[float]]:
    """Play rounds; return the prediction and the first few coordinates of the queries of each."""
    seen = []
    for t in range(begin, end):
        ticket = booster.ask(context(booster, t))
        shown = [*np.ravel(ticket.prediction)[:6], *np.ravel(np.asarray(ticket.queries))[:6]]
        seen.append([float(f"{value:.{DIGITS}g}") for value in shown])
        booster.tell(ticket, answers(ticket))
    return seen


def write_boosters(folder: Path) -> dict[str, Any]:
    expected = {}
    for name, booster in boosters():
        play(booster, 0, ROUNDS)
        booster.save(folder / f"{name}.bb")
        expected[f"{name}.bb"] = play(booster, ROUNDS, ROUNDS + 2)
    return expected


def write_ticket(folder: Path) -> list[list[float]]:
    booster = former_default()
    play(booster, 0, ROUNDS)
    ticket = booster.ask(context(booster, ROUNDS))
    ticket.save(folder / "ticket.ticket")
    booster.save(folder / "ticket-booster.model")
    booster.tell(ticket, answers(ticket))
    return play(booster, ROUNDS + 1, ROUNDS + 3)


def former_default() -> bb.Booster:
    """The default as it was when these files were written: journals go on with the parts that they began with."""
    space = bb.spaces.Ball(2, 1.0)
    return bb.Booster(
        learner=bb.learners.Mixed((linear_part(), tree_part(space)), (1, 3)),
        copies=4,
        chain=bb.chains.Additive(step=0.2, first=1.0),
        gradient=fitted_to_round(space),
        space=space,
        seed=3,
    )


def journalled(name: str) -> bb.Booster:
    """Return a fresh booster of the kind whose journal is called so."""
    recipes = {
        "boosted": lambda: former_default(),
        "plan": lambda: bb.algorithms.projection_free_bandit(bb.spaces.Ball(2, 1.0), seed=3),
        "wrapped": lambda: bb.Booster(bb.learners.Wrapped.examples()[0], 2, space=bb.spaces.Interval(-1, 1), seed=3),
    }
    return recipes[name]()


def write_journals(folder: Path) -> dict[str, Any]:
    expected = {}
    for name in ("boosted", "plan", "wrapped"):
        booster = journalled(name)
        journal = bb.Journal(folder / f"{name}.journal", booster, snapshot_every=8)
        play(booster, 0, 20)  # beyond a snapshot, and beyond the first phase of a plan
        booster.ask(context(booster, 20))
        journal.close()
        (folder / f"{name}.journal.lock").unlink()
        expected[f"{name}.journal"] = {"rounds": booster.rounds, "calls": journal.calls, "next": play(booster, 21, 23)}
    return expected


def write_table_model(folder: Path, version: dict[str, str]) -> dict[str, Any]:
    """Train a model on a small table by the command line, and record what it predicts."""
    rows = [f"{x},{('red', 'blue', 'green')[x % 3]},{0.5 * x + x % 3}" for x in range(60)]
    table = folder / "table.csv"
    table.write_text("\n".join(["size,colour,price", *rows]) + "\n")
    runner = importlib.import_module("typer.testing").CliRunner()
    app = importlib.import_module(version["app"]).app
    options = ["--target", "price", "--copies", "3", "--save", str(folder / "table.model"), "--quiet"]
    done = runner.invoke(app, ["run", str(table), *options], catch_exceptions=False)
    if done.exit_code:
        raise RuntimeError(done.output)
    table.unlink()
    known = importlib.import_module(version["model"]).load_model(folder / "table.model")
    contexts = np.linspace(0.0, 1.0, 4 * known.booster.features).reshape(4, -1)
    predicted = [float(f"{value:.{DIGITS}g}") for value in known.predict(contexts)]
    return {"predicted": predicted, "columns": [column.name for column in known.encoding.columns]}


def main(target: Path) -> None:
    if target.exists():
        raise SystemExit(f"{target} exists: files that an earlier version wrote are never written again.")
    new = importlib.util.find_spec("banditboost.commands") is None  # the room of commands in format 2
    version = (
        {"app": "banditboost.cli.app", "model": "banditboost.cli.model"}
        if new
        else {"app": "banditboost.cli", "model": "banditboost.commands.model"}
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        expected = {
            "boosters": write_boosters(folder),
            "ticket": write_ticket(folder),
            "journals": write_journals(folder),
            "table": write_table_model(folder, version),
            "specs": [part.to_dict() for part in specs()],
            "kinds": kinds(),
        }
        target.mkdir(parents=True)
        with zipfile.ZipFile(target / "files.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as held:
            for path in sorted(folder.iterdir()):
                held.writestr(zipfile.ZipInfo(path.name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    (target / "expected.json").write_text(json.dumps(expected, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
