"""The default where answers do not give the label away, and how far gradients from values miss a quantile.

Protocol: the default, with nothing tuned, plays every game of `hidden_games` once and in order, with one answer a round, two and
five, and with thirty, which show the targets of the games in ten dimensions. Beside it stand the default that is told gradients,
where the loss has any, and the constant that was best in earlier rounds, which knows their labels. What is paid at the points asked
is kept beside the loss at predictions.

Coverage: under the quantile loss of level τ a share τ of the labels should lie at or below the prediction. The share is counted in
the second half of the rounds, for gradients that are told, for those of the default, and for `Fitted`, whose quadratic does not fit
the kink of this loss.

Decoding: what these games avoid. In every round the label is computed from the round's noisy squared losses alone, by somebody who
knows that they are squared, and compared with the true one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Unpack

import numpy as np

from banditboost import algorithms
from banditboost._core.checks import Array, count
from banditboost.evaluate import progressive
from banditboost.experiments.cells import Cell, ParallelOptions, run_distinct
from banditboost.experiments.data import label_interval, scaled
from banditboost.experiments.hidden_games import DIMENSIONS, GAMES, ROUNDS, Game
from banditboost.experiments.paid_cells import TOLD, judged, ours
from banditboost.experiments.paid_games import Played
from banditboost.experiments.statistics import means, rounded
from banditboost.gradients import Exact, Fitted, Gradient
from banditboost.losses import Quantile
from banditboost.worlds import Supervised

ANSWERS = (1, 2, 5, 30)
"""Numbers of answers a round."""
LEVELS = (0.1, 0.5, 0.9)
"""Quantiles whose coverage is counted."""
WAYS = {"told": TOLD, "one": 1, "thirty": 30, "fitted": 30}
"""How gradients are made where coverage is counted, with the number of answers a round."""
DATASET = "abalone"
"""The data set whose quantiles are predicted, and whose labels are computed from answers."""
SHORT = 1000
"""Rounds that are quicker played than compiled."""
DECODED = (2, 5, 30)
"""Numbers of answers from which labels are computed."""
NOISE = 0.1
"""Half-width of the noise on those answers."""

_GAME = Game()


@dataclass(frozen=True)
class Hidden(Cell, kind="experiments.hidden.Hidden"):
    """The default in a game."""

    game: Game = _GAME
    answers: int = 1

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        booster, world = ours(self.game.space(), self.answers, seed=self.game.seed), self.game.world()
        trace = progressive(booster, world, keep="losses", compiled=way_to_play(len(world)))
        paid, beside = (trace.losses if self.answers == TOLD else trace.paid), self.game.beside()
        return judged(Played(paid + beside, trace.losses + beside))


@dataclass(frozen=True)
class Constant(Cell, kind="experiments.hidden.Constant"):
    """The constant that was best in earlier rounds."""

    game: Game = _GAME

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        losses = self.game.constants() + self.game.beside()
        return judged(Played(losses, losses))


@dataclass(frozen=True)
class Coverage(Cell, kind="experiments.hidden.Coverage"):
    """The default under the quantile loss: how many labels lie at or below its predictions in the second half of the rounds."""

    level: float = 0.9
    way: str = "fitted"
    seed: int = 0
    rounds: int = ROUNDS

    def run(self) -> dict[str, Any]:
        """Play all rounds."""
        data, space = scaled(DATASET), label_interval(DATASET)
        world = Supervised(data.X, data.y, Quantile(self.level)).shuffled(self.seed).head(min(self.rounds, len(data.y)))
        told: dict[str, Gradient] = {"told": Exact(), "fitted": Fitted(space.diameter / 4, scaled=True)}
        made = {"gradient": told[self.way]} if self.way in told else {"answers": WAYS[self.way]}
        booster = algorithms.boosted(space, seed=self.seed, **({"memory": None} | made))
        trace = progressive(booster, world, compiled=way_to_play(len(world)))
        late = len(trace) // 2
        return {
            "coverage": rounded(float(np.mean(world.labels()[late:] <= trace.predictions[late:]))),
            "predicted_late": rounded(float(trace.losses[late:].mean())),
            "paid_late": rounded(float((trace.losses if self.way == "told" else trace.paid)[late:].mean())),
        }


@dataclass(frozen=True)
class Decoded(Cell, kind="experiments.hidden.Decoded"):
    """Labels, computed from the squared losses that the default is told in one round: their error, beside the labels' deviation."""

    answers: int = 30
    seed: int = 0
    rounds: int = 1000

    def run(self) -> dict[str, Any]:
        """Play some rounds, and compute the label in each."""
        data, rng = scaled(DATASET), np.random.default_rng(self.seed)
        rows = rng.permutation(len(data.y))[: self.rounds]
        booster, errors = ours(label_interval(DATASET), self.answers, seed=self.seed), []
        for row in rows:
            ticket = booster.ask(data.X[row])
            told = (ticket.queries - data.y[row]) ** 2 + rng.uniform(-NOISE, NOISE, self.answers)
            errors.append(decoded(ticket.queries, told) - data.y[row])
            booster.tell(ticket, told)
        return {
            "error": rounded(float(np.sqrt(np.mean(np.square(errors))))),
            "deviation": rounded(float(data.y[rows].std())),
        }


def decoded(points: Array, answers: Array) -> float:
    """Return the label whose squared distances to points come closest to answers, by Newton's method from either side.

    Examples
    --------
    >>> points = np.array([9.0, 10.0, 11.0])
    >>> round(decoded(points, (points - 12.5) ** 2), 6)
    12.5
    """

    def misfit(label: float) -> float:
        return float(np.square((points - label) ** 2 - answers).sum())

    found = []
    for side in (-1.0, 1.0):
        label = float(points.mean()) + side * float(np.sqrt(max(answers.mean(), 0.0)))
        for _ in range(20):
            slopes = 2 * (label - points)
            label -= float(slopes @ ((points - label) ** 2 - answers)) / max(float(slopes @ slopes), 1e-12)
        found.append(label)
    return min(found, key=misfit)


def way_to_play(rounds: int) -> bool | None:
    """Return False, for plain NumPy, where compiling would take longer than playing so few rounds; None leaves the choice."""
    return False if rounds <= SHORT else None


def has_gradients(name: str) -> bool:
    """Say whether the loss of a game has gradients to tell: a sale has none, since revenue falls from a price to nothing."""
    return name != "shop"


def reproduce(
    names: Sequence[str] = tuple(GAMES),
    *,
    runs: int = 10,
    rounds: int = ROUNDS,
    quick: bool = False,
    **options: Unpack[ParallelOptions],
) -> dict[str, Any]:
    """Run all cells and return a row for every game and contestant, and for every level and way.

    Parameters
    ----------
    names
        Names of the games.
    runs
        Number of draws of every game, and of shuffles.
    rounds
        Rounds of every game.
    quick
        True: at most 500 rounds, one answer only, and the coverage of `Fitted` for the highest level only.
    options
        `jobs`, `cluster`, `folder` and `progress`, as for `run_cells`.
    """
    rounds, seeds = min(count("rounds", rounds, least=10), 500 if quick else rounds), range(count("runs", runs))
    asked, counted = (ANSWERS[:1], [(LEVELS[-1], "fitted")]) if quick else (ANSWERS, list(product(LEVELS, WAYS)))
    games: dict[tuple[str, str, int], list[Cell]] = {}
    for name in names:
        drawn = [Game(name, seed, rounds) for seed in seeds]
        for answers in (*asked, *([TOLD] if has_gradients(name) else [])):
            games[name, "ours", answers] = [Hidden(game, answers) for game in drawn]
        games[name, "constant", TOLD] = [Constant(game) for game in drawn]
    levels: dict[tuple[float, str], list[Cell]] = {
        (level, way): [Coverage(level, way, seed, rounds) for seed in seeds] for level, way in counted
    }
    showing: dict[int, list[Cell]] = {k: [Decoded(k, seed, min(rounds, 1000)) for seed in seeds] for k in DECODED}
    done = run_distinct([*games.values(), *levels.values(), *showing.values()], **options)
    tables = {
        "games": [
            {"game": name, "who": who, "answers": answers} | means([done[cell] for cell in cells])
            for (name, who, answers), cells in games.items()
        ],
        "coverage": [
            {"level": level, "way": way} | means([done[cell] for cell in cells])
            for (level, way), cells in levels.items()
        ],
        "decoded": [{"answers": answers} | means([done[cell] for cell in cells]) for answers, cells in showing.items()],
    }
    protocol = {"runs": runs, "rounds": rounds, "answers": list(asked), "dimensions": DIMENSIONS, "dataset": DATASET}
    protocol |= {"noise": NOISE}
    return {"experiment": "hidden", "protocol": protocol, "tables": tables}
