"""What seems wrong with a run on a user's table, in sentences: printed by the shell, and shown by reports."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost.datasets import Prepared
from banditboost.datasets.own_columns import Words

MUCH = 0.05
"""Rows without a target, and values that cannot be read, are remarked upon from this share on."""
SAME = 0.99
"""A target that has one value in this share of the rows is remarked upon."""
REVEALING = 0.999
"""A feature whose squared correlation with the target is larger gives it away, and so does one that names the class this often."""
FEWEST = 50
"""A column of words must have this many rows a word before it is said to give the class away."""


def warnings_of(results: dict[str, Any], table: Prepared) -> list[str]:
    """Return a sentence for everything that seems wrong with a run; an empty list where nothing does.

    Parameters
    ----------
    results
        The results of `banditboost run` as plain data: losses and comparators.
    table
        The table as it was read.
    """
    found = _of_the_target(table)
    if not found:
        found += _of_the_losses(results)
    return found + _of_the_columns(table) + _of_the_rows(table)


def _of_the_losses(results: dict[str, Any]) -> list[str]:
    mean = results["comparators"].get("running mean of labels")
    if mean is None or results["last_half_loss"] < mean["last_half_loss"]:
        if mean is None or results["mean_loss"] < mean["mean_loss"]:
            return []
        return [
            f"Over all rounds this run did no better than the running mean of labels ({results['mean_loss']:.5g} against "
            f"{mean['mean_loss']:.5g}), though it did in the last half: it learns late, or has too many columns for so few rows."
        ]
    return [
        f"In the last half this run did no better than the running mean of labels ({results['last_half_loss']:.5g} against "
        f"{mean['last_half_loss']:.5g}): the columns say little about '{results['target']}', or were not read as they are meant "
        "(--explain-columns)."
    ]


def _of_the_target(table: Prepared) -> list[str]:
    values, counts = np.unique(table.y, return_counts=True)
    share, most = counts.max() / counts.sum(), values[counts.argmax()]
    shown = f"{most:g}" if table.encoding.classes is None else f"'{most}'"
    if share == 1:
        return [f"The target is {shown} in every row: there is nothing to learn."]
    if share >= SAME:
        return [f"The target is {shown} in {share:.1%} of the rows."]
    return []


def _of_the_columns(table: Prepared) -> list[str]:
    names: list[str] = []
    if isinstance(table.X, np.ndarray):
        names = _revealing_numbers(table) if table.encoding.classes is None else _revealing_words(table)
    said = [
        f"Column '{name}' gives the target away: will it be known when predictions are made? --drop '{name}' leaves it out."
        for name in names
    ]
    for row in table.unread:
        if row.rows >= MUCH * len(table.y):
            said.append(f"{row} These are {row.rows / len(table.y):.0%} of the rows.")
    return said


def _revealing_numbers(table: Prepared) -> list[str]:
    """Return columns of which one feature is, nearly, a multiple of the target."""
    y = table.y - table.y.mean()
    size = np.square(y).sum()
    if not size > 0 or len(y) < FEWEST:
        return []
    X = table.X - table.X.mean(axis=0)
    squares = np.square(X).sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        share = np.where(squares > 0, np.square(y @ X) / (squares * size), 0.0)
    found, begin = [], 0
    for column in table.encoding.columns:
        end = begin + len(column.features)
        if (share[begin:end] > REVEALING).any():
            found.append(column.name)
        begin = end
    return found


def _revealing_words(table: Prepared) -> list[str]:
    """Return columns of words that name the class."""
    found, begin = [], 0
    codes = np.unique(table.y, return_inverse=True)[1]
    for column in table.encoding.columns:
        end = begin + len(column.features)
        if isinstance(column, Words) and end > begin and len(codes) >= FEWEST * (end - begin):
            level = np.where(table.X[:, begin:end].any(axis=1), table.X[:, begin:end].argmax(axis=1), end - begin)
            counts = np.zeros((end - begin + 1, codes.max() + 1))
            np.add.at(counts, (level, codes), 1)
            if counts.max(axis=1).sum() >= REVEALING * len(codes) and (counts.sum(axis=0) > 0).sum() > 1:
                found.append(column.name)
        begin = end
    return found


def _of_the_rows(table: Prepared) -> list[str]:
    rows = len(table.y) + table.dropped
    if table.dropped < MUCH * rows:
        return []
    return [f"{table.dropped:,} of {rows:,} rows have no target that can be read, and were left out."]
