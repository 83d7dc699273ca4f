"""What the world answers: losses, or rewards, which are minus losses."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost.booster.ticket import Ticket
from banditboost.spaces import Space
from banditboost.spaces.stacks import Stack


class Said(NamedTuple):
    """What the world says about a ticket."""

    answers: Array
    """Losses of the queries that have one, or gradients of the loss."""
    actions: Array | None = None
    """What was played, shape (M, *shape), where it is not what was asked about or an answer is missing; None otherwise."""
    answered: NDArray[np.bool_] | None = None
    """Which queries have an answer, shape (M,), where `actions` are given."""


def told(
    ticket: Ticket,
    maximize: bool,
    values: ArrayLike | None,
    losses: ArrayLike | None,
    rewards: ArrayLike | None,
    answered: NDArray[np.bool_] | None = None,
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
    answered
        Which queries have an answer; all where it is not given.
    """
    usual = "rewards" if maximize else "losses"
    given: list[tuple[str, Any]] = [
        (name, answers)
        for name, answers in ((usual, values), ("losses", losses), ("rewards", rewards))
        if answers is not None
    ]
    name, answers = _once(given, "losses", "rewards")
    queries = len(ticket.probe.queries) if answered is None else int(np.count_nonzero(answered))
    shape = (queries,) if ticket.asks == "values" else (queries, *np.shape(ticket.prediction))
    if type(answers) is not np.ndarray and isinstance(answers, Stack):
        checked = answers.checked(name, shape)
    else:
        checked = checks.finite(name, [answers] if shape == (1,) and _plain(answers) else answers, shape)
    return -checked if name == "rewards" else checked


def _shape(value: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(value))
    except ValueError:  # lists of different lengths
        return None


def _plain(value: Any) -> bool:
    """Return whether a value is one number, and no list of one: what people write where a round has one answer."""
    return isinstance(value, float | int | np.number) or (isinstance(value, np.ndarray) and value.ndim == 0)


def played(ticket: Ticket, space: Space, actions: ArrayLike | None, answered: ArrayLike | None) -> Said:
    """Return what was played of a ticket and which of it has an answer, without the answers; nothing where all is as asked.

    Parameters
    ----------
    ticket
        What was asked.
    space
        Where actions lie.
    actions, answered
        The arguments of `banditboost.Booster.tell`.
    """
    queries = len(ticket.probe.queries)
    nothing = np.empty(0)
    if actions is None and answered is None:
        return Said(nothing)
    if ticket.asks != "values" or not isinstance(ticket.probe.queries, np.ndarray):
        raise ValueError(
            "actions and answered must be left out where gradients are told, or decisions are large matrices."
        )
    mask = np.ones(queries, dtype=np.bool_) if answered is None else np.array(answered)
    if mask.shape != (queries,) or mask.dtype != np.bool_:
        raise ValueError(f"answered must be True or False for each of {queries} queries, got {answered!r:.200}.")
    if not mask.any():
        raise ValueError("answered must be True for a query at least: forget a ticket to which no answer comes.")
    points = np.array(ticket.probe.queries, dtype=np.float64)
    if actions is not None:
        shape = (int(mask.sum()), *space.shape)
        one = shape[0] == 1 and _shape(actions) == space.shape  # one decision stands for a list of one
        given: Any = [actions] if one else actions
        points[mask] = checks.finite("actions", given, shape)
        outside = ~space.contains(points)
        if outside.any():
            raise ValueError(f"actions must lie in the space {space!r:.200}, got {points[outside][0].tolist()!r:.100}.")
    return Said(nothing, points, mask)


def single(maximize: bool, value: Any, loss: Any, reward: Any) -> Array:
    """Return what one action was worth as the loss of a round with one answer; arguments as for `banditboost.Booster.learn`."""
    usual = "reward" if maximize else "loss"
    given = [(name, worth) for name, worth in ((usual, value), ("loss", loss), ("reward", reward)) if worth is not None]
    name, worth = _once(given, "loss", "reward")
    return checks.finite(name, [checks.number(name, worth)]) * (-1.0 if name == "reward" else 1.0)


def _once(given: list[tuple[str, Any]], *names: str) -> tuple[str, Any]:
    """Return the one answer that was given, with its name; raise where there is none, or more than one."""
    if len(given) != 1:
        how_often = ("nothing", "", "two of them", "all three")[len(given)]
        raise ValueError(f"answers must be given once, as values or {names[0]}= or {names[1]}=, got {how_often}.")
    return given[0]


def mean(answers: Array) -> float:
    """Return the mean of some losses, which is finite for all that are."""
    found = answers.item() if answers.size == 1 else float((answers / len(answers)).sum())
    return min(max(found, -LARGEST), LARGEST)


LARGEST = float(np.finfo(float).max)
