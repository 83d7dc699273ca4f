"""Whom we are compared with on paid losses: every peer is a function of a game, and of its settings where it has some.

Learners with settings get the better of two worlds: the setting that is best *in hindsight* on the very rounds that are reported,
and the one that is *tuned* on the first half of shuffle 0. Comparators without settings know more than a learner: the best constant
in hindsight, and the running mean (median, for the absolute loss), which is told every label.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.linalg.blas import dger

from banditboost._core.checks import Array, one_of
from banditboost._core.streams import stream
from banditboost.booster import Booster
from banditboost.chains import Additive
from banditboost.evaluate import progressive
from banditboost.experiments import paid_vw
from banditboost.experiments.paid_games import LOSSES, Played, Table, Till
from banditboost.gradients import Fitted
from banditboost.learners import Mixed, SecondOrder, Standardized, Tree

Setting = tuple[float, ...]
"""The numbers of a peer, in the order of its function's arguments."""

BINS = 10
"""Number of bins of the ε-greedy peer."""


class Ridges:
    """A ridge regression (ridge 1) of answers on contexts for every bin, which learns from the rounds in which the bin was played.

    Examples
    --------
    >>> ridges = Ridges(bins=2, size=1)
    >>> ridges.learn(1, np.ones(1), answer=3.0)
    >>> ridges.learn(1, np.ones(1), answer=3.0)
    >>> ridges.answers(np.ones(1)).tolist()
    [0.0, 2.0]
    """

    def __init__(self, bins: int, size: int, first: float = 0.0) -> None:
        self.weights = np.zeros((bins, size))
        self.weights[:, -1] = first  # of the constant feature: what is expected of a bin that was not tried yet
        self._inverses = [np.asfortranarray(np.eye(size)) for _ in range(bins)]

    def answers(self, x: Array) -> Array:
        """Return the answer that is expected from every bin."""
        return np.asarray(self.weights @ x)

    def learn(self, k: int, x: Array, answer: float) -> None:
        """Learn that bin k was answered so."""
        gain = self._inverses[k] @ x
        scale = 1 / (1 + float(gain @ x))
        self.weights[k] += gain * scale * (answer - float(self.weights[k] @ x))
        self._inverses[k] = dger(-scale, gain, gain, a=self._inverses[k], overwrite_a=1)


def greedy(game: Table, epsilon: float) -> Played:
    """Play the centre of the bin whose ridge regression expects the least, and that of any bin with probability ε.

    Parameters
    ----------
    game
        The rounds.
    epsilon
        Probability of a bin that is drawn uniformly.
    """
    space, till, rng = game.space(), Till(game), stream(game.seed, "coins")
    centres = (space.low + (np.arange(BINS) + 0.5) * (space.high - space.low) / BINS).tolist()
    contexts = np.column_stack([game.world().contexts(), np.ones(till.rounds)])
    ridges = Ridges(BINS, contexts.shape[1])
    explored = np.where(rng.random(till.rounds) < epsilon, rng.integers(BINS, size=till.rounds), -1).tolist()
    for x, drawn in zip(contexts, explored, strict=True):
        best = int(np.argmin(ridges.answers(x)))
        k = best if drawn < 0 else drawn
        ridges.learn(k, x, till.charge(centres[k], centres[best]))
    return till.played()


def best_constant(game: Table) -> Played:
    """Play the best constant in hindsight: the mean of the labels, or their median."""
    labels = game.world().labels()
    best = labels.mean() if game.loss == "squared" else np.median(labels)
    return _known(game, np.full(len(labels), best))


def running_mean(game: Table) -> Played:
    """Play the mean of all earlier labels, or their median for the absolute loss; the middle of the interval in round one."""
    labels, space = game.world().labels(), game.space()
    middle = 0.5 * (space.low + space.high)
    if game.loss == "squared":
        means = np.cumsum(labels)[:-1] / np.arange(1, len(labels))
        return _known(game, np.append(middle, means))
    seen: list[float] = []
    actions = []
    for label in labels.tolist():
        n = len(seen)
        actions.append(0.5 * (seen[(n - 1) // 2] + seen[n // 2]) if n else middle)
        insort(seen, label)
    return _known(game, np.array(actions))


def former(game: Table) -> Played:
    """Play the default as it was before one answer sufficed: 30 answers a round, far from the prediction.

    What it paid is the mean of the round's thirty losses.
    """
    space, linear = game.space(), Standardized(SecondOrder(1.0, 2.0, centre="zero"))
    trees = Tree(curvature=2.0, evidence=4.0, ridge=20.0, max_leaves=64)
    gradient = Fitted(space.diameter / 4, ridge=1e-3, scaled=True)
    chain = Additive(step=0.2, first=1.0)
    booster = Booster(Mixed((linear, trees), (1, 29)), 30, chain, gradient, space, seed=game.seed)
    trace = progressive(booster, game.world(), keep="losses")
    return Played(trace.paid, trace.losses)


def _known(game: Table, actions: Array) -> Played:
    """Return the losses of actions that nobody explores around."""
    losses = LOSSES[game.loss].value(actions, game.world().labels(), 0)
    return Played(losses, losses)


def _cats_grid() -> tuple[Setting, ...]:
    """Return numbers of cells, bandwidths in cells, and ε; more cells than two bandwidths, as CATS demands."""
    shapes = [(4, 0.25), (8, 0.25), (8, 0.5), (8, 1), (16, 0.5), (16, 1), (32, 1), (32, 2), (64, 4), (128, 4)]
    return tuple((float(cells), float(h), epsilon) for cells, h in shapes for epsilon in (0.02, 0.08, 0.2))


GRIDS: dict[str, tuple[Setting, ...]] = {
    "cats": _cats_grid(),
    "cbzo": tuple((rate, radius) for rate in (0.001, 0.003, 0.01, 0.03) for radius in (0.1, 0.3)),
    "squarecb": ((8.0, 100.0), (8.0, 1000.0), (16.0, 1000.0)),
    "greedy": ((0.0,), (0.003,), (0.01,), (0.03,), (0.1,)),
}
"""The settings of every peer that has some."""
QUICK: dict[str, tuple[Setting, ...]] = {
    "cats": ((8.0, 0.5, 0.08), (16.0, 1.0, 0.08)),
    "cbzo": ((0.003, 0.1),),
    "squarecb": ((8.0, 100.0),),
    "greedy": ((0.03,), (0.1,)),
}
"""Fewer settings, for a first look."""
KNOWING: dict[str, Callable[[Table], Played]] = {
    "best_constant": best_constant,
    "running_mean": running_mean,
    "former": former,
}
"""Comparators without settings."""
TITLES = {
    "cats": "Vowpal Wabbit --cats",
    "cbzo": "Vowpal Wabbit --cbzo",
    "squarecb": "SquareCB over bins",
    "greedy": "ε-greedy, a ridge per bin",
    "best_constant": "best constant in hindsight",
    "running_mean": "running mean, told labels",
    "former": "boosted as it was, 30 answers",
}
"""Names of peers in tables."""


def play(name: str, game: Table, setting: Setting = ()) -> Played:
    """Let a peer play a game.

    Parameters
    ----------
    name
        One of `TITLES`.
    game
        The rounds.
    setting
        The peer's numbers, as in `GRIDS`; nothing for comparators without any.

    Examples
    --------
    >>> game = Table("abalone", rows=1000)
    >>> print(f"{play('best_constant', game).paid.mean():.2f}, {play('running_mean', game).paid.mean():.2f}")
    11.32, 11.50
    """
    if one_of("name", name, tuple(TITLES)) in KNOWING:
        return KNOWING[name](game)
    if name == "greedy":
        return greedy(game, *setting)
    if name == "cbzo":
        return paid_vw.cbzo(game, *setting)
    if name == "squarecb":
        return paid_vw.squarecb(game, int(setting[0]), setting[1])
    return paid_vw.cats(game, int(setting[0]), *setting[1:])


@lru_cache(maxsize=1)
def missing() -> tuple[str, ...]:
    """Return the peers whose library is not installed."""
    return () if paid_vw.installed() else ("cats", "cbzo", "squarecb")


def wanted_peers(text: str) -> tuple[str, ...]:
    """Return the peers with settings that are named in a text, separated by commas.

    Examples
    --------
    >>> wanted_peers("cats, greedy"), wanted_peers("all") == tuple(GRIDS), wanted_peers("")
    (('cats', 'greedy'), True, ())
    """
    names = tuple(GRIDS) if text == "all" else tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names:
        one_of("peers", name, tuple(GRIDS))
    return names
