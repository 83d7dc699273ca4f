"""The data of the experiments: the paper's data sets with features in [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from banditboost import datasets
from banditboost._core.checks import one_of
from banditboost.spaces import Interval

DENSE_UP_TO = 50
"""Data sets with more features than this are kept sparse."""


@lru_cache(maxsize=5)
def scaled(dataset: str) -> datasets.Dataset:
    """Return a data set with features in [0, 1], read once."""
    sparse = datasets.describe(dataset).features > DENSE_UP_TO
    return datasets.load(dataset, sparse=sparse).scaled("minmax")


def label_interval(dataset: str) -> Interval:
    """Return the range of a data set's labels, in which predictions lie."""
    return Interval(*datasets.describe(dataset).label_range)


def check(names: Sequence[str]) -> None:
    """Raise an error where a data set is unknown or cannot be read, before any work begins."""
    if not names:
        raise ValueError("datasets must name at least one data set, got none.")
    for name in names:
        scaled(one_of("datasets", name, datasets.NAMES))
