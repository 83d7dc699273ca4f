"""Alarms: how often they are false where nothing changes, and how late they come where the world does.

Protocol: the default without memory, with nothing tuned, plays streams in which nothing changes, with one answer a round, two and
thirty: a linear relation, Friedman's function, labels that are 0 or 1, and a linear relation under noise without a variance
(Student's t with two degrees of freedom, cut off at twenty). Whatever alarm is raised there is false. Then it plays worlds that
change at known rounds; the delay is counted from there to the first alarm before the next change. The default as it is, which
remembers, takes ten times as long and more: it plays as many still streams for every number of answers, but each kind in turn, and
the flip.

How small a change is found is seen where no learner is in between: squares of normal numbers are told, which become larger by some
factor.

Broken detectors are told the same losses: one whose limit is that of a single test, at one in a hundred, and one that compares
means over fifty rounds with those before by their standard errors, on both sides. Both must raise more than one alarm in 20,000
rounds where nothing changes. And a detector that is told the losses of a flipped world in another order must not find the flip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from banditboost._core.checks import Array, count
from banditboost.algorithms import boosted
from banditboost.drifts import Alarm, Detector
from banditboost.evaluate import Trace, progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.statistics import grouped, rounded
from banditboost.noise import Uniform
from banditboost.spaces import Interval
from banditboost.worlds import Flip, Gradual, Recurring, Supervised

ANSWERS = (30, 2, 1)
"""Numbers of answers a round."""
ROUNDS = 20_000
"""Rounds of a stream in which nothing changes, and those for which alarms are counted."""
NOISE = 0.1
"""Half-width of the noise on answers."""
QUIET = {
    "linear": "a linear relation",
    "friedman": "Friedman's function",
    "labels": "labels 0 and 1",
    "heavy": "noise without a variance",
}
"""Streams in which nothing changes, with their titles in tables."""
CHANGING = {"flip": Flip, "recurring": Recurring, "gradual": Gradual}
"""Worlds that change."""
WAYS = {"ours": "as it is", "one_test": "the limit of one test", "z_scores": "z-scores, two-sided"}
"""Detectors, with their titles in tables."""
ONE_TEST = Detector(every=100.0, slack=0.0)
"""A limit that chance reaches once in a hundred tests, used in every round."""
FACTORS = (1.25, 1.5, 2.0, 3.0, 10.0)
"""By what squared errors are multiplied, from some round on."""
BEFORE, AFTER = 3000, 2000
"""Rounds before they are, and after."""
FRESH = 1000
"""The first seed: all constants of the detector were chosen on draws with smaller ones."""
STRETCH, FAR = 50, 3.0
"""How many rounds z-scores are means over, and how many standard errors are an alarm to them."""


def seeds(runs: int) -> range:
    """Return seeds that had no part in the choice of any constant."""
    return range(FRESH, FRESH + runs)


def quiet(name: str, seed: int, rounds: int = ROUNDS) -> tuple[Supervised, Interval]:
    """Return a stream in which nothing changes, and where predictions lie.

    Examples
    --------
    >>> world, space = quiet("friedman", seed=0, rounds=100)
    >>> len(world), world.features, space.high
    (100, 10, 30.0)
    """
    noise = Uniform(NOISE)
    if name == "linear":
        return Flip(rounds, at=(), noise=noise, seed=seed), Interval(-7.0, 7.0)
    rng = np.random.default_rng([list(QUIET).index(name), seed])
    if name == "friedman":
        X = rng.uniform(size=(rounds, 10))
        y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        return Supervised(X, y + rng.normal(size=rounds), noise=noise, seed=seed), Interval(0.0, 30.0)
    X, w = rng.uniform(-1, 1, (rounds, 6)), rng.normal(size=6)
    if name == "labels":
        y = (rng.uniform(size=rounds) < 1 / (1 + np.exp(-3 * X @ w))).astype(float)
        return Supervised(X, y, noise=noise, seed=seed), Interval(0.0, 1.0)
    y = np.clip(X @ w + 0.3 * rng.standard_t(2, size=rounds), -20.0, 20.0)
    return Supervised(X, y, noise=noise, seed=seed), Interval(-20.0, 20.0)


def played(world: Supervised, space: Interval, answers: int, seed: int, memory: bool) -> tuple[Trace, Array]:
    """Return the trace of the default with a detector, as it is or without memory, and what it was told in every round."""
    options: dict[str, Any] = {} if memory else {"memory": None}
    trace = progressive(boosted(space, answers=answers, seed=seed, bands=True, drifts=True, **options), world)
    assert trace.answered is not None
    return trace, trace.answered


def raised(detector: Detector, losses: Array) -> tuple[Alarm, ...]:
    """Return the last alarms that a detector raises where it is told losses in their order."""
    memory = detector.start()
    detector.learn_rounds(memory, losses)
    return detector.alarms(memory)


def count_raised(detector: Detector, losses: Array) -> int:
    """Return how many alarms a detector raises."""
    memory = detector.start()
    detector.learn_rounds(memory, losses)
    return detector.raised(memory)


def z_scores(losses: Array) -> int:
    """Return how many alarms are raised by one who compares the means of stretches with all rounds since the last alarm.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z_scores(rng.normal(size=1000)), z_scores(np.append(rng.normal(size=1000), 9.0 + rng.normal(size=1000)))
    (0, 1)
    """
    burn_in = Detector().burn_in
    alarms, since = 0, burn_in
    for end in range(2 * burn_in, len(losses) + 1, STRETCH):
        if end - since <= burn_in:
            continue
        known, last = losses[since : end - STRETCH], losses[end - STRETCH : end]
        error = known.std() * np.sqrt(1 / STRETCH + 1 / len(known))
        if abs(last.mean() - known.mean()) > FAR * error:
            alarms, since = alarms + 1, end - STRETCH
    return alarms


@dataclass(frozen=True)
class Quiet(Cell, kind="experiments.alarms.Quiet"):
    """A stream in which nothing changes."""

    world: str = "linear"
    answers: int = 30
    seed: int = 0
    rounds: int = ROUNDS
    memory: bool = False

    def run(self) -> dict[str, Any]:
        """Return how many alarms every detector raises."""
        trace, losses = played(*quiet(self.world, self.seed, self.rounds), self.answers, self.seed, self.memory)
        assert trace.drifts is not None
        return {"ours": len(trace.drifts), "one_test": count_raised(ONE_TEST, losses), "z_scores": z_scores(losses)}


@dataclass(frozen=True)
class Changing(Cell, kind="experiments.alarms.Changing"):
    """A world that changes at known rounds."""

    world: str = "flip"
    answers: int = 30
    seed: int = 0
    memory: bool = False

    def run(self) -> dict[str, Any]:
        """Return the delay of the alarm for every change, by how much its round was missed, and how many alarms are left over."""
        world = CHANGING[self.world](noise=Uniform(NOISE), seed=self.seed)
        trace, losses = played(world, Interval(-7.0, 7.0), self.answers, self.seed, self.memory)
        assert trace.drifts is not None
        other = raised(Detector(), np.random.default_rng(self.seed).permutation(losses))
        changes = [world.changes[0]] if self.world == "gradual" else list(world.changes)
        return judged(trace.drifts, changes, len(world)) | {
            "shuffled": judged(other, changes, len(world))["found"],
        }


@dataclass(frozen=True)
class Rising(Cell, kind="experiments.alarms.Rising"):
    """Squares of normal numbers that are multiplied by a factor from some round on."""

    factor: float = 2.0
    seed: int = 0

    def run(self) -> dict[str, Any]:
        """Return whether and when that was noticed."""
        losses = np.random.default_rng(self.seed).normal(size=BEFORE + AFTER) ** 2
        losses[BEFORE:] *= self.factor
        return judged(raised(Detector(), losses), [BEFORE], len(losses))


def judged(alarms: Sequence[Alarm], changes: Sequence[int], rounds: int) -> dict[str, Any]:
    """Return what alarms say about known changes.

    Examples
    --------
    >>> judged([Alarm(105, 101), Alarm(150, 140), Alarm(390, 350)], changes=[100, 200], rounds=300)
    {'found': 1, 'changes': 2, 'delays': [5], 'errors': [1], 'others': 2}
    """
    first: list[tuple[int, Alarm]] = []
    for change, following in zip(changes, [*changes[1:], rounds], strict=True):
        found = [alarm for alarm in alarms if change < alarm.round <= following]
        first += [(change, found[0])] if found else []
    return {
        "found": len(first),
        "changes": len(changes),
        "delays": [alarm.round - change for change, alarm in first],
        "errors": [alarm.since - change for change, alarm in first],
        "others": len(alarms) - len(first),
    }


def reproduce(
    *, runs: int = 50, changing: int = 20, quick: bool = False, **options: Unpack[ParallelOptions]
) -> dict[str, Any]:
    """Run all cells and return a row for every world and number of answers.

    Parameters
    ----------
    runs
        Number of streams of every kind in which nothing changes.
    changing
        Number of draws of every world that changes.
    quick
        True: two streams, and two draws; streams of the default that remembers have a tenth of the rounds.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    runs, changing = (2, 2) if quick else (count("runs", runs), count("changing", changing))
    still = [Quiet(name, answers, seed) for name in QUIET for answers in ANSWERS for seed in seeds(runs)]
    moving = [Changing(name, answers, seed) for name in CHANGING for answers in ANSWERS for seed in seeds(changing)]
    rounds = ROUNDS // 10 if quick else ROUNDS
    still += remembering(runs, rounds)
    moving += [Changing("flip", answers, seed, memory=True) for answers in ANSWERS for seed in seeds(changing)]
    rising = [Rising(factor, seed) for factor in FACTORS for seed in seeds(5 * changing)]
    done: dict[Cell, dict[str, Any]] = run_distinct([still, moving, rising], **options)
    tables = {
        "quiet": [_quiet_row(cell, found) for cell, found in grouped(still, done)],
        "changing": [_changing_row(cell, found) for cell, found in grouped(moving, done)],
        "rising": [_rising_row(cell, found) for cell, found in grouped(rising, done)],
    }
    part = Detector()
    return {
        "experiment": "alarms",
        "protocol": {"runs": runs, "changing": changing, "rounds": ROUNDS} | part.to_dict(),
        "tables": tables,
        "worst": max(row["ours"] for row in tables["quiet"]),
        "complaints": complaints(tables),
    }


def remembering(runs: int, rounds: int = ROUNDS) -> list[Quiet]:
    """Return still streams for the default that remembers, so many for every number of answers, each kind in turn.

    Examples
    --------
    >>> [(cell.world, cell.answers) for cell in remembering(2)]
    [('linear', 30), ('friedman', 30), ('linear', 2), ('friedman', 2), ('linear', 1), ('friedman', 1)]
    """
    kinds = list(QUIET)
    return [Quiet(kinds[k % len(kinds)], n, seed, rounds, True) for n in ANSWERS for k, seed in enumerate(seeds(runs))]


def _quiet_row(cell: Any, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    row = {way: rounded(float(np.mean([one[way] for one in found]))) for way in WAYS}
    row |= {"runs_with": sum(one["ours"] > 0 for one in found), "runs": len(found)}
    return {"world": cell.world, "answers": cell.answers, "memory": cell.memory} | row


def _changing_row(cell: Any, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    delays, errors = (sorted(value for one in found for value in one[name]) for name in ("delays", "errors"))
    totals = {name: sum(one[name] for one in found) for name in ("found", "changes", "others", "shuffled")}
    which = {"world": cell.world, "answers": cell.answers, "memory": cell.memory}
    return which | {"delays": delays, "errors": errors} | totals


def _rising_row(cell: Any, found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    delays = [value for one in found for value in one["delays"]]
    return {
        "factor": cell.factor,
        "found": rounded(float(np.mean([one["found"] for one in found]))),
        "delay": float(np.median(delays)) if delays else None,
        "others": rounded(float(np.mean([one["others"] for one in found]))),
    }


def complaints(tables: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return a sentence for everything that is not as it must be, broken detectors that nobody would notice among them."""
    said = [
        f"{QUIET[row['world']].capitalize()}, answers {row['answers']}: {row['ours']:g} false alarms in {ROUNDS:,} rounds."
        for row in tables["quiet"]
        if row["ours"] > 1
    ]
    for way in ("one_test", "z_scores"):
        if np.mean([row[way] for row in tables["quiet"]]) <= 1:
            said.append(f"A detector that is broken ({WAYS[way]}) raises no more alarms than it may.")
    for row in tables["changing"]:
        if row["world"] == "flip" and row["found"] < row["changes"]:
            said.append(f"Flip, answers {row['answers']}: {row['changes'] - row['found']} changes were not found.")
        if row["shuffled"] > 0.2 * row["changes"]:
            said.append(f"{row['world'].capitalize()}, answers {row['answers']}: changes are found in shuffled losses.")
    return said
