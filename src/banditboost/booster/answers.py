"""What the world answers: losses, or rewards, which are minus losses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster.ticket import Ticket
from banditboost.spaces.stacks import Stack


def told(
    ticket: Ticket, maximize: bool, values: ArrayLike | None, losses: ArrayLike | None, rewards: ArrayLike | None
) -> Array:
    """Return answers about a ticket as losses, or as gradients of losses, once they are found to be given once and to fit it.

    Parameters
    ----------
    ticket
        What was asked.
    maximize
        Whether values are rewards.
    values, losses, rewards
        The arguments of `banditboost.Booster.tell`.
    """
    usual = "rewards" if maximize else "losses"
    given: list[tuple[str, Any]] = [
        (name, answers)
        for name, answers in ((usual, values), ("losses", losses), ("rewards", rewards))
        if answers is not None
    ]
    if len(given) != 1:
        how_often = ("nothing", "", "two of them", "all three")[len(given)]
        raise ValueError(f"answers must be given once, as values or losses= or rewards=, got {how_often}.")
    name, answers = given[0]
    queries = len(ticket.probe.queries)
    shape = (queries,) if ticket.asks == "values" else (queries, *np.shape(ticket.prediction))
    if type(answers) is not np.ndarray and isinstance(answers, Stack):
        checked = answers.checked(name, shape)
    else:
        checked = checks.finite(name, answers, shape)
    return -checked if name == "rewards" else checked


def mean(answers: Array) -> float:
    """Return the mean of some losses, which is finite for all that are."""
    return float(np.clip((answers / len(answers)).sum(), -LARGEST, LARGEST))


LARGEST = float(np.finfo(float).max)
