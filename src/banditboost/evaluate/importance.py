"""What mattered to a model: how much worse it does without a feature, and how its predictions move with one.

Both look at a model from outside: they change contexts and look at predictions. What features do together shows only as far as
they are moved together, and features that say the same share what they are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from banditboost._core.checks import Array, count, finite
from banditboost.worlds import Supervised

Predict = Callable[[Any], Array]
"""Predictions for the rows of a table, such as `Booster.predict_many`."""
SMALL = 2**22
"""Rows of a sparse world with more numbers than this, zeros among them, are handed to the model as sparse rows."""


@dataclass(frozen=True, eq=False)
class Importance:
    """How much larger the loss becomes where a group of features is shuffled, as `permutation_importance` returns it."""

    loss: float
    """Mean loss with all features as they are."""
    increases: Array
    """How much larger the mean loss is, shape (groups, repeats)."""

    @property
    def mean(self) -> Array:
        """Mean increase of every group."""
        return np.asarray(self.increases.mean(axis=1))

    @property
    def error(self) -> Array:
        """Standard error of that mean over repeats, which says nothing about other rows."""
        repeats = self.increases.shape[1]
        if repeats == 1:
            return np.full(len(self.increases), np.nan)
        return np.asarray(self.increases.std(axis=1, ddof=1) / np.sqrt(repeats))


def permutation_importance(
    predict: Predict,
    world: Supervised,
    groups: Sequence[Sequence[int]] | None = None,
    *,
    rounds: int = 2000,
    repeats: int = 5,
    seed: int = 0,
) -> Importance:
    """Return how much larger the loss becomes when the values of a group of features are shuffled among the latest rounds.

    A feature that the model does not use has exactly zero. For a linear model that predicts its labels exactly, under the squared
    loss, the expected increase is 2 w² times the variance of the feature.

    Parameters
    ----------
    predict
        Predictions for the rows of a table, such as ``booster.predict_many``.
    world
        Labelled rounds; the true losses count, without noise.
    groups
        Indices of features that are shuffled together, such as the indicators of one category; by default every feature alone.
    rounds
        How many of the latest rounds are used.
    repeats
        How often every group is shuffled.
    seed
        The seed of the shuffles.

    References
    ----------
    Breiman (2001), "Random forests", Section 10; Fisher, Rudin, Dominici (2019), "All models are wrong, but many are useful".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 3))
    >>> world = Supervised(X, 3 * X[:, 0] + X[:, 1])
    >>> found = permutation_importance(lambda rows: 3 * rows[:, 0] + rows[:, 1], world)
    >>> found.mean.round(1).tolist(), (2 * np.array([9, 1, 0]) * X.var(axis=0)).round(1).tolist()
    ([1.6, 0.2, 0.0], [1.6, 0.2, 0.0])
    """
    X, labels = _latest(world, rounds)
    chosen = [(feature,) for feature in range(world.features)] if groups is None else groups
    columns = [_columns(group, world.features) for group in chosen]
    rng = np.random.default_rng(seed)

    def loss(rows: Array) -> float:
        return float(world.loss.value(predict(rows), labels, labels.ndim - 1).mean())

    usual = loss(X)
    increases = np.empty((len(columns), count("repeats", repeats)))
    for place, group in enumerate(columns):
        for repeat in range(repeats):
            increases[place, repeat] = loss(_with(X, group, X[:, group][rng.permutation(len(labels))])) - usual
    return Importance(usual, increases)


def partial_dependence(
    predict: Predict, world: Supervised, group: Sequence[int], values: ArrayLike, *, rounds: int = 500
) -> Array:
    """Return the mean prediction over the latest rounds with a group of features set to each of some values.

    Parameters
    ----------
    predict
        Predictions for the rows of a table, such as ``booster.predict_many``.
    world
        The rounds whose other features are kept as they are.
    group
        Indices of the features that are set.
    values
        What they are set to, shape (values, features of the group); one number for each value where the group is one feature.
    rounds
        How many of the latest rounds are used.

    Returns
    -------
    Array
        Shape (values, *shape of a prediction).

    References
    ----------
    Friedman (2001), "Greedy function approximation: a gradient boosting machine", Section 8.2.

    Examples
    --------
    >>> world = Supervised([[0.0, 1.0], [1.0, 3.0]], [0.0, 0.0])
    >>> partial_dependence(lambda rows: rows[:, 0] * rows[:, 1], world, [0], [0.0, 0.5, 1.0]).tolist()
    [0.0, 1.0, 2.0]
    """
    X, _ = _latest(world, rounds)
    columns = _columns(group, world.features)
    settings = finite("values", values)
    if settings.ndim == 1 and len(columns) == 1:
        settings = settings[:, np.newaxis]
    if settings.ndim != 2 or settings.shape[1] != len(columns) or len(settings) == 0:
        raise ValueError(f"values must have shape (values, {len(columns)}), got {settings.shape}.")
    return np.array([predict(_with(X, columns, _repeated(X, setting))).mean(axis=0) for setting in settings])


def _latest(world: Supervised, rounds: int) -> tuple[Any, Array]:
    """Return contexts and labels of the latest rounds."""
    begin = max(0, len(world) - count("rounds", rounds))
    contexts: Any = world.contexts(begin)
    if world.sparse and math.prod(contexts.shape) > SMALL:
        return csr_array(contexts), world.labels(begin)
    return contexts.toarray() if world.sparse else np.asarray(contexts), world.labels(begin)


def _repeated(X: Any, setting: Array) -> Any:
    """Return the same values for every row of a table, sparse where that is."""
    if isinstance(X, np.ndarray):
        return np.ones((len(X), 1)) * setting
    there, rows = np.flatnonzero(setting), X.shape[0]
    ends = np.arange(rows + 1) * len(there)
    return csr_array((np.tile(setting[there], rows), np.tile(there, rows), ends), shape=(rows, len(setting)))


def _with(X: Any, columns: NDArray[np.intp], values: Any) -> Any:
    """Return a table with other values in some columns; sparse rows stay sparse."""
    if isinstance(X, np.ndarray):
        changed = X.copy()
        changed[:, columns] = values
        return changed
    rest, new = X.tocoo(), values.tocoo()
    kept = ~np.isin(rest.col, columns)
    data = np.concatenate([rest.data[kept], new.data])
    where = np.concatenate([rest.row[kept], new.row]), np.concatenate([rest.col[kept], columns[new.col]])
    return csr_array((data, where), shape=X.shape)


def _columns(group: Sequence[int], features: int) -> NDArray[np.intp]:
    for index in group:
        if count("groups", index, least=0) >= features:
            raise ValueError(f"groups must have indices below the number of features ({features}), got {index}.")
    if len(group) == 0 or len(set(group)) < len(group):
        raise ValueError(f"groups must have indices that differ, at least one each, got {list(group)}.")
    return np.array(group, dtype=np.intp)
