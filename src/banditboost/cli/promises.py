"""The bound of `banditboost.theory` that covers a booster, and its value where all of its constants are known."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from banditboost import theory
from banditboost.booster import Booster
from banditboost.chains import Additive, ConvexHull, Harmonic, Span
from banditboost.cli.model import Model
from banditboost.datasets import Encoding
from banditboost.datasets.own_columns import Numbers
from banditboost.gradients import Averaged, Exact, OnePoint, Recursive, Stochastic
from banditboost.learners import FPL, FTRL, OGD, Linear
from banditboost.losses import Constants
from banditboost.rates import Constant, Power, Theory


def promises(booster: Booster, model: Model | None) -> dict[str, Any]:
    """Return a bound with its name, a sentence and its value; or a sentence that says why there is none.

    Examples
    --------
    >>> import banditboost as bb
    >>> print(promises(bb.algorithms.boosted(bb.spaces.Interval(0, 1)), None)["says"])
    No bound covers the chain Mix, which adds plays up without shrinkage.
    """
    spec = booster.spec
    if isinstance(spec.chain, Additive):
        return _none(f"No bound covers the chain {type(spec.chain).__name__}, which adds plays up without shrinkage.")
    if isinstance(spec.learner, FPL | OGD | FTRL):
        return _projection_free(booster)
    if isinstance(spec.chain, Span):
        return _none(
            "theory.span_boosting_regret (exact gradients) and theory.span_bandit_boosting_regret (loss values, OnePoint) cover "
            "the chain Span; they need the loss of the chain's start, which a model file does not know."
        )
    if not isinstance(spec.chain, ConvexHull) or spec.chain.steps != Harmonic():
        return _none(f"No bound of the paper covers the chain {spec.chain!r}.")
    if not isinstance(spec.gradient, OnePoint | Exact):
        return _none(
            f"No bound with known constants covers the gradient {type(spec.gradient).__name__}: "
            "those of the paper are for OnePoint and Exact."
        )
    return _boosting(booster, model)


def _none(says: str) -> dict[str, Any]:
    return {"bound": None, "says": says, "value": None}


def _projection_free(booster: Booster) -> dict[str, Any]:
    gradient = booster.spec.gradient
    if isinstance(gradient, Averaged | Recursive):
        return _none(f"No bound of the paper covers the gradient {type(gradient).__name__}.")
    name = "projection_free_bandit_regret" if isinstance(gradient, OnePoint) else "projection_free_regret"
    if not isinstance(gradient, OnePoint | Stochastic | Exact) or not isinstance(booster.spec.chain, ConvexHull):
        return _none(
            f"No bound of the paper covers {type(gradient).__name__} with {type(booster.spec.chain).__name__}."
        )
    return _none(f"theory.{name} covers this; it needs the constants of the losses, which a model file does not know.")


def _boosting(booster: Booster, model: Model | None) -> dict[str, Any]:
    """Theorem 9, or its form with exact gradients, for linear copies on a ball of weights."""
    spec, name = (
        booster.spec,
        "boosting_regret" if isinstance(booster.spec.gradient, OnePoint) else "gradient_boosting_regret",
    )
    learner = spec.learner
    known = (
        isinstance(learner, Linear)
        and learner.radius is not None
        and isinstance(learner.rate, Constant | Power | Theory)
    )
    if not known or spec.chain.gamma != 1 or not spec.inside:
        return _none(
            f"theory.{name} covers this, given the regret of one copy, which is not known for {learner!r} here."
        )
    if model is None or not model.encoding.scaled:
        return _none(
            f"theory.{name} covers this; it needs the loss and the largest context, which the model file does not know."
        )
    if booster.rounds == 0:
        return _none(f"theory.{name} covers this; no round has been told yet.")
    assert isinstance(learner, Linear)
    T, N, space = booster.rounds, spec.copies, spec.space
    constants = model.loss.constants(space)
    if isinstance(spec.gradient, Exact) and math.isinf(constants.smoothness):
        return _none("No bound covers exact gradients of a loss with a kink: the chain's bound needs a smooth loss.")
    sigma = _gradient_bound(booster, constants, model.setting.noise)
    own = _descent_regret(learner, T, sigma * longest_context(model.encoding, learner.intercept))
    if isinstance(spec.gradient, OnePoint):
        value = theory.boosting_regret(T, N, space.rank, constants.lipschitz, space.diameter, spec.gradient.delta, own)
        title, when = "Theorem 9 of Brukhim, Hazan (2020)", "in expectation"
    else:
        value = theory.gradient_boosting_regret(T, N, constants.smoothness, space.diameter, own)
        title, when = "Algorithm 2 of Beygelzimer et al. (2015)", "always"
    vacuous = value >= constants.bound * T
    says = (
        f"{title} (theory.{name}): {when}, after {T:,} rounds, the total loss of the predictions is at most {value:.4g} above that "
        f"of every linear predictor with weights of norm {learner.radius:g} or less whose predictions stay where copies play; "
        f"{value / T:.4g} a round."
    )
    if isinstance(spec.gradient, OnePoint):
        says += " It says nothing of the loss paid at the points asked."
    if vacuous:
        says += f" The bound is vacuous: no round can cost more than {constants.bound:.4g}."
    return {"bound": f"theory.{name}", "says": says, "value": value, "a_round": value / T, "vacuous": vacuous}


def _gradient_bound(booster: Booster, constants: Constants, noise: float) -> float:
    gradient = booster.spec.gradient
    if isinstance(gradient, OnePoint):
        return theory.sphere_gradient_bound(booster.spec.space.rank, constants.bound, gradient.delta, noise)
    return constants.lipschitz


def _descent_regret(learner: Linear, rounds: int, gradient: float) -> float:
    """Zinkevich (2003), Theorem 1, for steps η_t that do not grow: D²/(2η_T) + (G²/2) Σ η_t, D = 2R the diameter of the ball."""
    assert learner.radius is not None
    steps = learner.rate.at(np.arange(1.0, rounds + 1))
    return float((2 * learner.radius) ** 2 / (2 * steps[-1]) + gradient**2 / 2 * steps.sum())


def longest_context(encoding: Encoding, intercept: bool) -> float:
    """Return the largest norm of a context whose numbers lie in [0, 1] and whose words have one indicator each."""
    squares = sum(len(column.features) if isinstance(column, Numbers) else 1 for column in encoding.columns)
    return math.sqrt(squares + intercept)
