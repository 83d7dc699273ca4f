"""Torture: the default through late and lost answers, changes of scale, flat rounds, heavy tails and drifting contexts.

Protocol: the default, with nothing tuned, plays a stream of rows once for every trouble (`torture_games`). Its true loss at
predictions is added up over thirty-second parts of the rounds *told*, beside that of the running mean of the labels told so far.
With the absolute loss, which is played for late answers alone, the running median takes the place of the mean.
After the trouble, and two thousand rounds to recover, its share of the running mean's loss is divided by the same share of the run
that nothing disturbed, at the same numbers of rounds told. For late answers the trouble never ends, and all counts after the first
two thousand rounds told.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, NamedTuple, Unpack

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import count, one_of
from banditboost.experiments.cells import Cell, ParallelOptions, run_cells
from banditboost.experiments.data import check
from banditboost.experiments.paid_cells import TOLD, ours
from banditboost.experiments.statistics import rounded
from banditboost.experiments.torture_games import TROUBLES, lasting, named, possible, stream_of
from banditboost.spaces import Interval

ROUNDS = 16_000
ANSWERS = (TOLD, 1, 2, 5, 30)
"""Numbers of answers a round; gradients told are only told late, since nothing else here is about them."""
PARTS = 32
"""Parts of the rounds told over which losses are added up."""
RECOVERED = {True: 2 / 16, False: 8 / 16}
"""From which share of the rounds on a run counts, for troubles that are late answers and for others."""
WORSE = 1.10
"""Largest ratio to the undisturbed run that is not reported as above."""


class Game(NamedTuple):
    """A loss of the distance to the label."""

    loss: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    constant: Callable[[list[float]], float]
    """The best constant for labels in order."""


GAMES = {
    "squared": Game(np.square, lambda away: 2.0 * away, fmean),
    "absolute": Game(np.abs, np.sign, lambda labels: labels[len(labels) // 2]),
}
"""Losses by name; all but the first are played for late answers alone."""


@dataclass(frozen=True)
class Tortured(Cell, kind="experiments.torture.Tortured"):
    """The default on one stream with one trouble."""

    dataset: str = "abalone"
    answers: int = 30
    trouble: str = "none"
    rounds: int = ROUNDS
    seed: int = 0
    by_loss: str = "squared"

    def run(self) -> dict[str, Any]:
        """Play all rounds; return how many were asked in every part, and their losses, beside those of the running mean."""
        contexts, labels = stream_of(self.dataset, self.rounds, self.seed)
        trouble, rng = named(self.trouble), np.random.default_rng([self.seed, 1])
        booster = ours(Interval(0.0, 1.0), self.answers, seed=self.seed)
        touched, due = lasting(trouble, self.rounds), told_after(trouble.when(self.rounds, rng), self.rounds)
        sums, game, known = np.zeros((PARTS, 3)), GAMES[one_of("by_loss", self.by_loss, GAMES)], list[float]()
        tickets: dict[int, Any] = {}
        for t in range(self.rounds):
            age = t - touched.start if t in touched else -1
            seen = contexts[t] if trouble.where is None or age < 0 else trouble.where(contexts[t], age)
            tickets[t] = ticket = booster.ask(seen)
            points = np.array([float(ticket.prediction), game.constant(known) if known else 0.5])
            sums[booster.rounds * PARTS // self.rounds] += (1.0, *game.loss(points - labels[t]))
            for asked in due[t]:
                late = tickets.pop(asked)
                told = (game.loss if booster.spec.gradient.asks == "values" else game.slope)(
                    late.queries - labels[asked]
                )
                if trouble.what is not None and asked in touched:
                    told = trouble.what(told, asked - touched.start, rng)
                booster.tell(late, told)
                insort(known, float(labels[asked]))
        names = ("rounds", "loss", "mean")
        return {name: [rounded(float(value)) for value in column] for name, column in zip(names, sums.T, strict=True)}


def told_after(when: Any, rounds: int) -> list[list[int]]:
    """Return for every round which rounds are told after it; rounds that would be told at the same time are told in order."""
    due: list[list[int]] = [[] for _ in range(rounds)]
    for asked, told in enumerate(when.tolist()):
        if 0 <= told < rounds:
            due[told].append(asked)
    return due


def compared(result: dict[str, Any], calm: dict[str, Any], late: bool) -> dict[str, Any]:
    """Return a run's loss after recovery beside the running mean's and the undisturbed run's, in parts that have rounds.

    `share` is the run's loss over that of the running mean, and `ratio` is this share over that of the undisturbed run at the same
    numbers of rounds told; `soon` is the ratio before recovery, but for the first part; `worst` is the largest share of any part of
    a hundred rounds or more from then on.
    """
    asked, loss, mean = (np.array(result[name]) for name in ("rounds", "loss", "mean"))
    part, first = np.arange(PARTS), int(RECOVERED[late] * PARTS)

    def share_of(run: dict[str, Any], chosen: NDArray[np.bool_]) -> float:
        return float(np.array(run["loss"])[chosen].sum() / np.array(run["mean"])[chosen].sum())

    played = asked > 0
    after, before = played & (part >= first), played & (part >= 1) & (part < first)
    long = (asked >= min(100.0, asked.mean())) & (part >= (1 if late else first))
    found = {
        "loss": float(loss[after].sum() / asked[after].sum()),
        "share": share_of(result, after),
        "ratio": share_of(result, after) / share_of(calm, after),
        "soon": share_of(result, before) / share_of(calm, before) if before.any() else 1.0,
        "worst": float((loss[long] / mean[long]).max(initial=0.0)),
    }
    return {name: rounded(value) for name, value in found.items()}


def reproduce(
    names: Sequence[str],
    *,
    runs: int = 1,
    rounds: int = ROUNDS,
    answers: Sequence[int] = ANSWERS,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return a row for every data set, number of answers and trouble.

    Parameters
    ----------
    names
        Names of the data sets.
    runs
        Number of seeds, over which losses are added up.
    rounds
        Rounds of every stream; delays that are longer than half of it are left out.
    answers
        Numbers of answers a round, 0 for gradients told.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    check(names)
    count("runs", runs)
    count("rounds", rounds, least=PARTS)
    seeds, troubles = range(runs), possible(rounds)
    wanted = {
        (name, k, by_loss, trouble): [Tortured(name, k, trouble, rounds, seed, by_loss) for seed in seeds]
        for by_loss in GAMES
        for name in names
        for k in answers
        for trouble in troubles
        if (k != TOLD and by_loss == "squared") or trouble == "none" or TROUBLES[trouble].late
    }
    cells = [cell for group in wanted.values() for cell in group]
    # Rounds are played in Python, so that threads would wait for each other.
    done = dict(zip(cells, run_cells(cells, threads=False, **options), strict=True))
    summed = {key: _added([done[cell] for cell in group]) for key, group in wanted.items()}
    rows = [
        {"dataset": name, "answers": k, "by_loss": by_loss, "trouble": trouble}
        | compared(result, summed[name, k, by_loss, "none"], TROUBLES[trouble].late)
        for (name, k, by_loss, trouble), result in summed.items()
    ]
    protocol = {"rounds": rounds, "runs": runs, "datasets": list(names), "answers": list(answers)}
    return {"experiment": "torture", "protocol": protocol, "rows": rows}


def _added(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return sums over seeds."""
    return {name: np.sum([result[name] for result in results], axis=0).tolist() for name in results[0]}
