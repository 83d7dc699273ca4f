"""Columns of a log that say what came of a decision, and were taken as its context because nobody named the context."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array
from banditboost.datasets.blocks import few
from banditboost.logs import Log

LEAST = 20
"""Of fewer rows nothing is said: a column may agree with the result by chance."""


def sentence(log: Log) -> str | None:
    """Return a sentence about columns of 0 and 1 that are 1 exactly where the result is above 0; None where there are none.

    Such a column, as `sold` beside a reward, is known after the decision only: a model that is shown it learns nothing of use.
    """
    names = log.context_names
    found = _outcomes(log)
    if not found.any():
        return None
    if log.encoding is not None:  # columns are named, and not what was made of them
        features = dict(zip(names, found, strict=True))
        columns = log.encoding.columns
        names = tuple(column.name for column in columns)
        found = np.array([any(features[name] for name in column.features) for column in columns])
    bad = [name for name, is_one in zip(names, found, strict=True) if is_one]
    rest = ",".join(name for name, is_one in zip(names, found, strict=True) if not is_one)
    column, verb, them = ("column", "is", "it") if len(bad) == 1 else ("columns", "are", "them")
    what = "reward" if log.in_rewards else "loss"
    way_out = f"--context {rest} leaves {them} out" if rest else f"--context leaves {them} out by naming other columns"
    return (
        f"Warning: the {column} {few(bad)} of the context {verb} 1 exactly where the {what} is above 0, and so a result that "
        f"nobody knows when deciding: {way_out}."
    )


def _outcomes(log: Log) -> NDArray[np.bool_]:
    """Return which columns of the context are 1 where the result is above 0, and 0 where it is not."""
    same, positive, n = np.ones(log.features, dtype=bool), 0, 0
    for block in log.blocks():
        if not same.any():
            return same
        above: Array = ((-block.losses if log.in_rewards else block.losses) > 0).astype(np.float64)
        same &= (block.contexts == above[:, np.newaxis]).all(axis=0)
        positive, n = positive + int(above.sum()), n + len(above)
    return same & (n >= LEAST and 0 < positive < n)
