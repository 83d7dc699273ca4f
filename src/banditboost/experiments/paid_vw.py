"""Vowpal Wabbit's learners with one paid answer a round: `--cats`, `--cbzo`, and SquareCB over bins.

They need the extra ``bench``. Contexts are written as ``name:value``, since bare tokens would become indicators that collide, and
costs are divided by the largest loss possible, so that they lie in [0, 1] up to noise.

- CATS (Majzoubi et al. 2020) learns a tree over K cells of the interval and plays uniformly within the bandwidth around the cell
  of its choice, and anywhere with probability ε. `--cats_pdf` is the same learner, which returns the density that `--cats` samples
  from: so the centre of its choice, the action that it proposes, is known too. It learns with `--coin`, which paid less than the
  default learning rate wherever both were tried.
- CBZO learns a linear policy from two points around its prediction. It ignores the range, so that it decides here in units in which
  the range is [-1, 1], starts at the middle, and its actions are clipped before they are played.
- SquareCB (Foster, Rakhlin 2020) regresses costs on contexts crossed with the bin, one line of a multi-line example per bin.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib.util import find_spec
from itertools import accumulate
from typing import Any

import numpy as np

from banditboost._core.streams import stream
from banditboost.experiments.paid_games import Played, Table, Till

MISSING = "Vowpal Wabbit needs the extra 'bench': pip install 'banditboost[bench]'."


def installed() -> bool:
    """Return whether Vowpal Wabbit can be imported."""
    return find_spec("vowpalwabbit") is not None


@contextmanager
def _workspace(options: str, seed: int) -> Iterator[Any]:
    """Yield a quiet learner that is closed at the end."""
    try:
        from vowpalwabbit import Workspace
    except ImportError:
        raise ImportError(MISSING) from None
    learner = Workspace(f"{options} --random_seed {seed + 1} --quiet")
    try:
        yield learner
    finally:
        learner.finish()


@lru_cache(maxsize=2)
def _texts(dataset: str, seed: int, half: str, rows: int) -> list[str]:
    """Return the contexts as Vowpal Wabbit reads them, written once for all losses, noises and settings."""
    contexts = Table(dataset, seed=seed, half=half, rows=rows).world().contexts()
    return [" ".join(f"x{j}:{row[j]:.6g}" for j in np.flatnonzero(row)) for row in contexts]


def texts_of(game: Table) -> list[str]:
    """Return the contexts of a game as Vowpal Wabbit reads them."""
    return _texts(game.dataset, game.seed, game.half, game.rows)


def _learn(learner: Any, action: float, cost: float, density: float, text: str) -> None:
    """Tell a learner of continuous actions what the action played did cost."""
    from vowpalwabbit import LabelType

    example = learner.parse(f"ca {action}:{cost}:{density} | {text}", LabelType.CONTINUOUS)
    learner.learn(example)
    learner.finish_example(example)


def cats(game: Table, cells: int, bandwidth: float, epsilon: float) -> Played:
    """Play CATS.

    Parameters
    ----------
    game
        The rounds.
    cells
        Number of cells of the tree (K), a power of two.
    bandwidth
        Half the width of what is played around a cell's centre, in cells; Vowpal Wabbit wants it in units of the action.
    epsilon
        Probability of an action that is uniform on the interval.
    """
    space, till, rng = game.space(), Till(game), stream(game.seed, "coins")
    width = bandwidth * (space.high - space.low) / cells
    options = (
        f"--cats_pdf {cells} --min_value {space.low} --max_value {space.high} --bandwidth {width} --epsilon {epsilon}"
    )
    with _workspace(f"{options} --coin -b 18", game.seed) as learner:
        for text, (first, second) in zip(texts_of(game), rng.random((till.rounds, 2)).tolist(), strict=True):
            pieces = learner.predict(f"| {text}")
            masses = list(accumulate((right - left) * density for left, right, density in pieces))
            left, right, density = pieces[min(bisect(masses, first * masses[-1]), len(pieces) - 1)]
            action = left + (right - left) * second
            likely = max(pieces, key=lambda piece: piece[2])
            cost = till.charge(action, 0.5 * (likely[0] + likely[1]))
            _learn(learner, action, cost, density, text)
    return till.played()


def cbzo(game: Table, rate: float, radius: float) -> Played:
    """Play CBZO.

    Parameters
    ----------
    game
        The rounds.
    rate
        The learning rate.
    radius
        Distance of the two points from the prediction, in halves of the interval.
    """
    space, till = game.space(), Till(game)
    middle, half = 0.5 * (space.low + space.high), 0.5 * (space.high - space.low)

    def real(action: float) -> float:
        return min(max(middle + half * action, space.low), space.high)

    coins = stream(game.seed, "coins").random(till.rounds) < 0.5
    with _workspace(f"--cbzo --policy linear --radius {radius} -l {rate} -b 18", game.seed) as learner:
        for text, coin in zip(texts_of(game), coins.tolist(), strict=True):
            below, above = learner.predict(f"| {text}")
            left, right, density = above if coin else below
            action = 0.5 * (left + right)
            cost = till.charge(real(action), real(0.25 * (below[0] + below[1] + above[0] + above[1])))
            _learn(learner, action, cost, density, text)
    return till.played()


def squarecb(game: Table, bins: int, gamma: float) -> Played:
    """Play SquareCB over the centres of equal bins.

    Parameters
    ----------
    game
        The rounds.
    bins
        Number of bins.
    gamma
        The scale of γ (`--gamma_scale`): the larger, the less it explores.
    """
    space, till, rng = game.space(), Till(game), stream(game.seed, "coins")
    centres = [space.low + (k + 0.5) * (space.high - space.low) / bins for k in range(bins)]
    lines = [f"|a b{k} c:{(k + 0.5) / bins:.6g}" for k in range(bins)]
    options = f"--cb_explore_adf --squarecb --gamma_scale {gamma} --cb_type mtr -q xa -b 20"
    with _workspace(options, game.seed) as learner:
        for text, coin in zip(texts_of(game), rng.random(till.rounds).tolist(), strict=True):
            shared = f"shared |x {text}"
            chances = learner.predict([shared, *lines])
            sums = list(accumulate(chances))
            k = min(bisect(sums, coin * sums[-1]), bins - 1)
            cost = till.charge(centres[k], centres[chances.index(max(chances))])
            told = f"0:{cost}:{chances[k] / sums[-1]} {lines[k]}"
            learner.learn([shared, *lines[:k], told, *lines[k + 1 :]])
    return till.played()
