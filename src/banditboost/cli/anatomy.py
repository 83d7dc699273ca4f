"""What a booster has learned, by the names of the columns: weights of linear copies, and tests of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster import Booster
from banditboost.chains import Mix
from banditboost.gradients import Budget, Stochastic
from banditboost.learners.base import UNIT, Learned, LinearWeights, TreeTests

FOLLOWED = 100
"""The mean of losses that the critic of `Remembered` follows reaches back about so many rounds."""


def chain_weights(booster: Booster) -> Array:
    """Return the weight of each copy's play in the prediction, as long as nothing is projected.

    Where copy i plays the i-th unit vector, the prediction is the vector of weights.

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


def memories(booster: Booster) -> dict[str, Any]:
    """Return what chain and gradient remember, under names for people."""
    found: dict[str, Any] = {}
    chain, gradient = booster.chain_memory, booster.gradient_memory
    if "shrinkage" in chain:
        found["shrinkage of each copy"] = chain["shrinkage"].tolist()
    if "trust" in chain:
        found |= _trust(booster)
    if "bends" in gradient:
        found |= _remembered(booster)
    elif isinstance(booster.spec.gradient, Stochastic):
        pass  # the scale of gradients that are told says nothing of the losses' height
    elif "scale" in gradient and gradient["scale"][0] > 0:
        weight, curved, sized, diameter = gradient["scale"].tolist()
        found["mean curvature of the losses"] = max(curved, sized / diameter) / weight
    if "baseline" in gradient:
        found["mean of the answers"] = float(gradient["baseline"][1])
    if "last" in gradient:
        found["last answers"] = gradient["last"].tolist()
    return found


def _trust(booster: Booster) -> dict[str, Any]:
    """Return how far copies are followed: all together, or those of each kind where rivals are among them."""
    trust, mix = booster.chain_memory["trust"], booster.spec.chain
    if not isinstance(mix, Mix):
        return {"trust in all copies but the first": float(trust[-1])}
    found = {f"trust in copy {i + 1}": float(trust[i]) for i in range(1, mix.later(len(trust)))}
    if mix.later(len(trust)) < mix.streams(len(trust)):
        found["trust in the copies after it"] = float(trust[mix.later(len(trust))])
    last = {f"trust in copy {i + 1}, grown anew": float(trust[i]) for i in range(mix.streams(len(trust)), len(trust))}
    return found | last


def _remembered(booster: Booster) -> dict[str, Any]:
    """Return what the critic of `Remembered` knows, in the units of losses and decisions."""
    facts, bends = booster.gradient_memory["facts"], booster.gradient_memory["bends"]
    if facts[4] <= 0:
        return {"rounds in which the critic alone has learned": int(facts[0])}
    space = booster.spec.space
    curvature = (bends[2] if space.bounds is not None else bends[2, :1]) / space.extents[
        : 1 if space.bounds is None else None
    ] ** 2
    rounds, rewards = int(facts[0]), booster.spec.maximize
    over = f"about the last {FOLLOWED}" if rounds > FOLLOWED else f"all {rounds}"
    name = f"{'reward' if rewards else 'loss'} at predictions, mean over {over} rounds"
    level = -float(facts[1]) if rewards else float(facts[1])
    return {name: level, "mean curvature of the losses": float(np.mean(curvature))}


def describe(
    booster: Booster, names: tuple[str, ...], outputs: tuple[str, ...], unit: str = UNIT
) -> list[dict[str, Any]]:
    """Return what every kind of copies has learned, as plain data.

    Parameters
    ----------
    booster
        The booster that has learned; nothing is returned before its first round.
    names
        Names of the features.
    outputs
        Names of the numbers of a prediction.
    unit
        What a feature is measured in, where copies see it as it was given.
    """
    described: list[dict[str, Any]] = []
    counts, begin = chain_weights(booster), 0
    for part in booster.bank.feature_weights() if booster.bank is not None else ():
        described.append(_described(part, counts[begin : begin + part.copies], names, outputs, unit))
        begin += part.copies
    return described


def _described(
    part: Learned, counts: Array, names: tuple[str, ...], outputs: tuple[str, ...], unit: str
) -> dict[str, Any]:
    """Return what copies of one kind have learned; `counts` are the weights of the copies in the prediction."""
    found: dict[str, Any] = {"kind": part.kind, "copies": part.copies}
    match part.shown:
        case LinearWeights():
            weights = np.einsum("i,idp->dp", counts, part.shown.weights)
            order = np.argsort(-np.abs(weights[:, : len(names)]).max(axis=0), kind="stable")
            found["per"] = unit if part.shown.unit == UNIT else part.shown.unit
            found["weights"] = {names[k]: dict(zip(outputs, weights[:, k].tolist(), strict=True)) for k in order}
            last = dict(zip(outputs, weights[:, -1].tolist(), strict=True))
            found["intercept"] = last if part.shown.intercept else None
        case TreeTests():
            tests = part.shown.tests.sum(axis=0)
            found["leaves a tree"] = float(part.shown.leaves.mean())
            found["tests"] = {names[k]: int(tests[k]) for k in np.argsort(-tests, kind="stable") if tests[k]}
        case None:
            pass
    return found


def asked(booster: Booster) -> int:
    """Return the mean number of answers that a round asks for."""
    gradient = booster.spec.gradient
    return round(gradient.expected) if isinstance(gradient, Budget) else gradient.count(booster.spec.copies)
