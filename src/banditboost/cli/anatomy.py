"""What a booster has learned, by the names of the columns: weights where it is linear, tests where it grows trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.gradients import Budget
from banditboost.learners import Bank
from banditboost.learners.coin import CoinBank
from banditboost.learners.linear import LinearBank
from banditboost.learners.mixed import MixedBank
from banditboost.learners.scale_free import ScaleFreeBank
from banditboost.learners.scaled import ScaledBank
from banditboost.learners.second_order import SecondOrderBank
from banditboost.learners.standardized import StandardizedBank
from banditboost.learners.tree import TreeBank

DEVIATION, LARGEST, UNIT = "standard deviation", "largest value seen", "unit"


class Family(NamedTuple):
    """Copies of one kind within a booster."""

    bank: Bank
    counts: Array
    """How much each copy's play counts in the prediction."""
    unit: str
    """What a feature is measured in when copies see it."""


def chain_weights(booster: Booster) -> Array:
    """Return how much each copy's play counts in the prediction, as long as nothing is projected.

    Copy i is made to play the i-th unit vector: the prediction then is the vector of weights.

    Examples
    --------
    >>> import banditboost as bb
    >>> chain_weights(bb.algorithms.bandit_boosting(bb.spaces.Interval(0, 1), copies=3)).round(4).tolist()
    [0.1667, 0.3333, 0.5]
    >>> chain_weights(bb.algorithms.boosted(bb.spaces.Interval(0, 1), copies=3)).tolist()
    [1.0, 0.2, 0.2]
    """
    copies, chain = booster.spec.copies, booster.spec.chain
    return np.asarray(chain.path(np.eye(copies) / chain.gamma, np.zeros(copies), booster.chain_memory)[-1])


def families(booster: Booster) -> list[Family]:
    """Return the kinds of copies in a booster; none where it has not started."""
    return [] if booster.bank is None else list(_families(booster.bank, chain_weights(booster), UNIT))


def _families(bank: Bank, counts: Array, unit: str) -> Iterator[Family]:
    match bank:
        case ScaledBank():
            yield from _families(bank.bank, bank.gamma * counts, unit)
        case StandardizedBank():
            plain = bank.spec.spread == "deviation" and not bank.spec.squash
            yield from _families(bank.bank, counts, DEVIATION if plain else "scaled value")
        case MixedBank():
            begin = 0
            for copies, part in bank.banks:
                yield from _families(part, counts[begin : begin + copies], unit)
                begin += copies
        case ScaleFreeBank() | CoinBank():
            yield Family(bank, counts, LARGEST)
        case _:
            yield Family(bank, counts, unit)


def linear_weights(family: Family) -> tuple[Array, bool] | None:
    """Return Σ (chain weight) W over copies, shape (outputs, features), and whether the last is an intercept; None if none."""
    bank = family.bank
    if not isinstance(bank, LinearBank | SecondOrderBank | ScaleFreeBank | CoinBank):
        return None
    counts = family.counts
    if isinstance(bank, SecondOrderBank):
        counts = counts * bank.factors()
    flat = bank.weights.reshape(len(bank.weights), -1, bank.weights.shape[-1])
    return np.asarray(np.einsum("i,idp->dp", counts, flat)), bank.spec.intercept


def tests(family: Family, features: int) -> Array | None:
    """Return how often each feature is tested by the trees of a family; None if there are none."""
    if not isinstance(family.bank, TreeBank):
        return None
    trees = family.bank.trees
    tested = np.concatenate([row[:used] for row, used in zip(trees.feature, trees.nodes, strict=True)])
    return np.bincount(tested[tested >= 0], minlength=features).astype(np.float64)


def memories(booster: Booster) -> dict[str, Any]:
    """Return what chain and gradient remember, in words that say what it is."""
    found: dict[str, Any] = {}
    chain, gradient = booster.chain_memory, booster.gradient_memory
    if "shrinkage" in chain:
        found["shrinkage of each copy"] = chain["shrinkage"].tolist()
    if "scale" in gradient and gradient["scale"][0] > 0:
        weight, curved, sized, diameter = gradient["scale"].tolist()
        found["mean curvature of the losses"] = max(curved, sized / diameter) / weight
    if "baseline" in gradient:
        found["mean of the answers"] = float(gradient["baseline"][1])
    if "last" in gradient:
        found["last answers"] = gradient["last"].tolist()
    return found


def describe(
    booster: Booster, names: tuple[str, ...], outputs: tuple[str, ...], unit: str = UNIT
) -> list[dict[str, Any]]:
    """Return what every family of copies has learned, as plain data.

    Parameters
    ----------
    booster
        Who has learned.
    names
        Names of the features.
    outputs
        Names of the numbers of a prediction.
    unit
        What one of a feature is, where copies see it as it is.
    """
    found = (family._replace(unit=unit) if family.unit == UNIT else family for family in families(booster))
    return [_described(family, names, outputs) for family in found]


def _described(family: Family, names: tuple[str, ...], outputs: tuple[str, ...]) -> dict[str, Any]:
    kind = type(family.bank).__name__.removesuffix("Bank")
    found: dict[str, Any] = {"kind": kind, "copies": len(family.counts)}
    linear, counts = linear_weights(family), tests(family, len(names))
    if linear is not None:
        weights, intercept = linear
        order = np.argsort(-np.abs(weights[:, : len(names)]).max(axis=0), kind="stable")
        found["per"] = family.unit
        found["weights"] = {names[k]: dict(zip(outputs, weights[:, k].tolist(), strict=True)) for k in order}
        found["intercept"] = dict(zip(outputs, weights[:, -1].tolist(), strict=True)) if intercept else None
    elif counts is not None:
        assert isinstance(family.bank, TreeBank)
        found["leaves a tree"] = float(family.bank.leaves.mean())
        found["tests"] = {names[k]: int(counts[k]) for k in np.argsort(-counts, kind="stable") if counts[k]}
    return found


def asked(booster: Booster) -> int:
    """Return how many answers a round asks for, on average."""
    gradient = booster.spec.gradient
    return round(gradient.expected) if isinstance(gradient, Budget) else gradient.count(booster.spec.copies)
