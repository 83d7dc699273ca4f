"""Learners that forget: ridge regression and a mean in which a label counts less the older it is, both told labels.

A label that is `window` rounds older counts e times less, about: every round multiplies its weight by 1 - 1/window.
"""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array, positive
from banditboost.spaces import Interval
from banditboost.worlds import Supervised

FLOOR = 1e-6
"""What is left of the penalty for ever, so that the equations have one solution."""


def forgetting_of(window: float) -> float:
    """Return by how much a round multiplies the weights of all earlier ones.

    Examples
    --------
    >>> forgetting_of(100), forgetting_of(float("inf"))
    (0.99, 1.0)
    """
    if not window > 1:
        raise ValueError(f"window must be more than 1, got {window!r:.100}.")
    return 1.0 - 1.0 / window


def forgetting_ridge(
    world: Supervised, window: float = 100.0, ridge: float = 1.0, space: Interval | None = None
) -> Array:
    """Return the losses, round by round, of ridge regression on all earlier rounds, weighted by how recent they are.

    Unlike `online_ridge`, it does not count the context of a round before its label is known: with a short window, that would draw
    every prediction to zero.

    Parameters
    ----------
    world
        Labelled rounds with labels that are plain numbers.
    window
        After how many rounds a label counts e times less.
    ridge
        The ridge penalty, which is forgotten like labels are, so that it does not bias short windows.
    space
        The interval on which predictions are projected; by default they are not.

    Examples
    --------
    >>> from banditboost.evaluate import online_ridge
    >>> from banditboost.worlds import Flip
    >>> world = Flip(rounds=1000)
    >>> print(f"{forgetting_ridge(world, 30.0).mean():.2f} against {online_ridge(world).mean():.2f}")
    0.24 against 2.06
    """
    forgetting, penalty = forgetting_of(window), positive("ridge", ridge)
    contexts, labels = np.asarray(world.contexts()), world.labels()
    contexts = np.concatenate([contexts, np.ones((len(labels), 1))], axis=1)
    size = contexts.shape[1]
    gram, moment, floor = penalty * np.eye(size), np.zeros(size), FLOOR * np.eye(size)
    predictions = np.empty(len(labels))
    for t, (row, label) in enumerate(zip(contexts, labels, strict=True)):
        predictions[t] = row @ np.linalg.solve(gram + floor, moment)
        gram = forgetting * gram + np.multiply.outer(row, row)
        moment = forgetting * moment + label * row
    return world.loss.value(predictions if space is None else space.project(predictions), labels, 0)


def forgetting_mean(world: Supervised, window: float = 100.0, first: float = 0.0) -> Array:
    """Return the losses of predicting the mean of earlier labels, weighted by how recent they are (`first` in the first round).

    Examples
    --------
    >>> forgetting_mean(Supervised(np.zeros((3, 1)), [1.0, 3.0, 2.0]), window=2.0).round(3).tolist()
    [1.0, 4.0, 0.111]
    """
    forgetting, labels = forgetting_of(window), world.labels()
    predictions, total, weight = np.empty(len(labels)), 0.0, 0.0
    for t, label in enumerate(labels.tolist()):
        predictions[t] = total / weight if weight else first
        total, weight = forgetting * total + label, forgetting * weight + 1.0
    return world.loss.value(predictions, labels, 0)
