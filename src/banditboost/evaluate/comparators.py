"""Comparators of a run: predictors that know more than the learner does."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack

from banditboost._core.checks import Array
from banditboost.losses import Squared
from banditboost.worlds import Supervised


def best_linear(world: Supervised, intercept: bool = True) -> Array:
    """Return the losses, round by round, of the best linear predictor in hindsight under the squared loss.

    It solves the normal equations of all rounds at once, also where columns are linearly dependent.

    Examples
    --------
    >>> from banditboost.worlds import SyntheticLinear
    >>> world = SyntheticLinear(rounds=200, features=3)
    >>> bool(np.allclose(best_linear(world, intercept=False), world.best_losses))
    True
    """
    if not isinstance(world.loss, Squared):
        raise ValueError(f"loss must be Squared for the best linear predictor, got {type(world.loss).__name__}.")
    features, outputs = world.features + intercept, int(np.prod(world.shape))
    gram, moment = np.zeros((features, features)), np.zeros((features, outputs))
    for contexts, labels in in_blocks(world, intercept):
        product = contexts.T @ contexts
        gram += product if isinstance(product, np.ndarray) else product.toarray()
        moment += contexts.T @ labels
    # Columns are scaled to the same norm first, because a small column beside a large one would count as dependent.
    length = np.sqrt(np.diag(gram))
    length[length == 0] = 1.0
    weights = np.linalg.lstsq(gram / np.outer(length, length), moment / length[:, np.newaxis], rcond=1e-12)[0]
    weights /= length[:, np.newaxis]
    return np.concatenate([np.square(X @ weights - y).sum(axis=1) for X, y in in_blocks(world, intercept)])


def in_blocks(world: Supervised, intercept: bool, rows: int = 8192) -> Iterator[tuple[Array | csr_array, Array]]:
    """Yield contexts and labels of some rounds at a time, so that a large table is never copied as a whole."""
    for begin in range(0, len(world), rows):
        contexts, labels = world.contexts(begin, begin + rows), world.labels(begin, begin + rows)
        if intercept:
            ones = np.ones((len(labels), 1))
            contexts = hstack([contexts, csr_array(ones)]) if world.sparse else np.hstack([contexts, ones])
        yield contexts, labels.reshape(len(labels), -1)


def running_mean(world: Supervised, first: ArrayLike = 0.0) -> Array:
    """Return the losses of predicting the mean of all earlier labels (`first` in the first round), without any context.

    Examples
    --------
    >>> running_mean(Supervised(np.zeros((3, 1)), [1.0, 3.0, 2.0])).tolist()
    [1.0, 4.0, 0.0]
    """
    labels = world.labels()
    seen = np.arange(1, len(labels)).reshape(-1, *(1,) * (labels.ndim - 1))
    start = np.broadcast_to(np.asarray(first, dtype=np.float64), (1, *labels.shape[1:]))
    means = np.concatenate([start, np.cumsum(labels, axis=0)[:-1] / seen])
    return world.loss.value(means, labels, labels.ndim - 1)
