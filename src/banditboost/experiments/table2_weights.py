"""N-FKM as FKM is published: it perturbs its decision, which for a linear model are the weights.

This is the algorithm of a booster with one copy of `OGD` and `OnePoint(δ, queries=N)` on a ball of weights in
`worlds.WeightSpace`, with two differences: what is predicted is w·x projected on the range of labels, as every other algorithm of
the table projects, and many settings share their random directions, so that a grid takes little longer than one setting.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.streams import stream
from banditboost.evaluate import Trace
from banditboost.gradients import OnePoint
from banditboost.rates import Power
from banditboost.spaces import Ball, Interval
from banditboost.worlds import Supervised

NUMBERS = 2**21
"""Random numbers that are held at a time."""


def fkm_on_weights(
    radii: Sequence[float],
    rates: Sequence[Power],
    world: Supervised,
    *,
    queries: int,
    delta: float,
    space: Interval,
    seed: int,
) -> list[Trace]:
    """Play N-FKM with several settings on the same rounds, with the same directions and the same noise; return their traces.

    Parameters
    ----------
    radii, rates
        The radius of the ball of weights and the step sizes, one of each for every setting.
    world
        Labelled rounds; a constant is appended to contexts.
    queries, delta
        Loss values asked a round (N), and their distance in the space of weights (δ).
    space
        Where predictions are projected; queries are not.
    seed
        Of the directions.

    Examples
    --------
    >>> import banditboost as bb
    >>> world = bb.worlds.SyntheticLinear(rounds=4000, features=3, noise=bb.noise.Uniform(0.1))
    >>> options = {"queries": 20, "delta": 0.5, "space": Interval(-2, 2), "seed": 0}
    >>> (trace,) = fkm_on_weights([3.0], [Power(0.1, 0.5)], world, **options)
    >>> print(f"{trace.losses[2000:].mean():.4f} against {world.best_losses[2000:].mean():.4f}")
    0.0034 against 0.0034
    """
    from banditboost._compiled.weights import Rounds, fkm_rounds

    settings, d, rounds = len(radii), world.features + 1, len(world)
    gradient, ball = OnePoint(delta, queries=queries), Ball(d, 1.0)
    streams, rng = {"directions": stream(seed, "directions")}, stream(world.seed, "noise")
    world.begin()
    weights, scratch = np.zeros((settings, d)), (np.empty(queries), np.empty(queries), np.empty((1, 1)))
    predictions, losses, paid = (np.empty((rounds, settings)) for _ in range(3))
    block = max(1, NUMBERS // (queries * d))
    for begin in range(0, rounds, block):
        end = min(begin + block, rounds)
        asking = gradient.draw(1, ball, streams, end - begin, world.noise, rng)
        steps = np.stack([rate.at(np.arange(begin + 1.0, end + 1)) for rate in rates], axis=1)
        fkm_rounds(
            weights,
            Rounds(
                _contexts(world, begin, end),
                world.labels(begin, end).reshape(-1, 1),
                asking.directions,
                asking.noise.reshape(end - begin, queries),
                steps,
                np.array(radii, dtype=np.float64),
                delta,
                space.low,
                space.high,
                world.loss.compiled_form(),
                predictions[begin:end],
                losses[begin:end],
                paid[begin:end],
            ),
            *scratch,
        )
    columns = (np.ascontiguousarray(a.T) for a in (losses, paid, predictions))
    return [Trace(*found) for found in zip(*columns, strict=True)]


def _contexts(world: Supervised, begin: int, end: int) -> Array:
    rows = world.contexts(begin, end)
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return np.column_stack([dense, np.ones(len(dense))])
