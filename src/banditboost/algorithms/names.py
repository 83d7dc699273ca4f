"""The names by which learners, gradients and losses can be chosen: one table for the command line, scikit-learn and River.

A name stands for a learner with the chain and the gradient that suit it. Whoever adds an entry to `LEARNERS` has added it
everywhere: to ``banditboost run --learner``, to ``BoostedRegressor(learner=...)`` of both libraries, and to their help texts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

from banditboost._core.checks import count, one_of
from banditboost.algorithms import default_parts as parts
from banditboost.algorithms.default_parts import Numbers
from banditboost.booster import Booster
from banditboost.booster.named import MOST_COLUMNS
from banditboost.chains import Additive, Chain, ConvexHull, Trusted
from banditboost.gradients import Budget, Gradient, OnePoint, Remembered, Sphere, Surrogate
from banditboost.learners import Coin, Learner, Linear, ScaleFree
from banditboost.losses import Absolute, Bregman, Huber, Logistic, Loss, Quantile, Squared
from banditboost.rates import Power
from banditboost.spaces import Space

Part = TypeVar("Part")

MOST_DENSE = 512
"""Most features of copies that need all of them in an array: some hold their number squared."""
MOST_SPARSE = 2**18
"""Most features of copies that take sparse contexts."""
LEFT = 0.05
"""The share of a label that copies of one kind may leave unreached by the length of their steps; see `step_for`."""


class NamedLearner(NamedTuple):
    """What a learner's name stands for."""

    help: str
    """One sentence without its full stop, for help texts."""
    build: Callable[[Space, int, float, Numbers], Learner]
    """Makes the learner from a space, a number of copies, the curvature of the loss, and all of its numbers."""
    numbers: Callable[[Space, int], dict[str, float]]
    """Returns the learner's numbers and their defaults on a space, for a number of copies."""
    first: float | None = None
    """The step of the first copy in a chain that adds plays up; None gives it the same step as the others."""
    gradient: str = "remembered"
    """Which of `GRADIENTS` suits the learner."""
    unit_features: bool = False
    """Whether features should be scaled to [0, 1] before this learner sees them."""
    remembers: bool = False
    """Whether rounds are remembered, and a world that changes is followed, wherever `boosted` does so by default."""


class Named(NamedTuple, Generic[Part]):
    """What another name stands for."""

    help: str
    """One sentence without its full stop, for help texts."""
    part: Part


def _streaming(space: Space, copies: int, curvature: float, numbers: Numbers) -> Learner:
    return parts.copies_of(space, curvature, copies, None, numbers=numbers)


def _second_order(space: Space, copies: int, curvature: float, numbers: Numbers) -> Learner:
    return parts.linear_part(curvature, numbers["ridge"])


def _trees(space: Space, copies: int, curvature: float, numbers: Numbers) -> Learner:
    return parts.tree_part(space, curvature, numbers["evidence"], int(numbers["leaves"]))


def _tree_numbers(space: Space, copies: int) -> dict[str, float]:
    trees = parts.tree_part(space)
    return {"step": step_for(copies), "evidence": trees.evidence, "leaves": trees.max_leaves}


def _mixed_numbers(space: Space, ridge: float) -> dict[str, float]:
    trees = parts.tree_part(space)
    return {"step": Additive().step, "ridge": ridge, "evidence": trees.evidence, "leaves": trees.max_leaves}


LEARNERS: Mapping[str, NamedLearner] = {
    "boosted": NamedLearner(
        "the default: a linear model (online ridge regression), trees on what it leaves over, and a forest grown anew on "
        "remembered rounds",
        _streaming,
        lambda space, copies: _mixed_numbers(space, parts.RIDGE),
        first=1.0,
        remembers=True,
    ),
    "streaming": NamedLearner(
        "a linear model (online ridge regression), then trees on what it leaves over; no round is remembered",
        _streaming,
        lambda space, copies: _mixed_numbers(space, 1.0),
        first=1.0,
    ),
    "trees": NamedLearner("streaming regression trees", _trees, _tree_numbers),
    "second-order": NamedLearner(
        "linear models on standardised features, fitted by online ridge regression",
        _second_order,
        lambda space, copies: {"step": Additive().step, "ridge": 1.0},
        first=1.0,
    ),
    "coin": NamedLearner(
        "linear models without a learning rate, by coin betting; reads sparse rows as they are",
        lambda space, copies, curvature, numbers: Coin(),
        lambda space, copies: {},
    ),
    "scale-free": NamedLearner(
        "linear models by normalised adaptive gradient descent, for features of any scale",
        lambda space, copies, curvature, numbers: ScaleFree(numbers["rate"]),
        lambda space, copies: {"rate": 0.5},
        gradient="surrogate",
    ),
    "gradient-descent": NamedLearner(
        "linear models by projected gradient descent on features in [0, 1], as in the paper's experiments",
        lambda space, copies, curvature, numbers: Linear(
            space.diameter / 2 * numbers["radius"], Power(numbers["rate"], 0.5)
        ),
        lambda space, copies: {"rate": 0.1, "radius": 10.0},
        gradient="surrogate",
        unit_features=True,
    ),
}
"""All learners that can be chosen by name."""

GRADIENTS: Mapping[str, Named[Callable[[Space, int, int | None], Gradient]]] = {
    "remembered": Named(
        "the slope of a model of the loss around the prediction, which is remembered from round to round",
        parts.default_gradient,
    ),
    "fitted": Named(
        "the slope of a quadratic fitted to the round's loss values",
        lambda space, copies, answers: _with_budget(parts.fitted_to_round(space), answers, copies),
    ),
    "surrogate": Named(
        "one-point estimates whose control variate is a model of the other answers",
        lambda space, copies, answers: _with_budget(Surrogate(space.inner_radius / 4), answers, copies),
    ),
    "one-point": Named(
        "the one-point estimates of the paper's Algorithm 2",
        lambda space, copies, answers: _with_budget(OnePoint(space.inner_radius / 4), answers, copies),
    ),
}
"""All ways to make gradients from loss values that can be chosen by name."""

FEEDBACK: Mapping[str, str] = {
    "bandit": "loss values at the points asked about, and nothing else",
    "full": "the gradient of the loss at every point",
}
"""What the learner is told."""

LOSSES: Mapping[str, Named[Loss]] = {
    "squared": Named("the squared distance of prediction and label", Squared()),
    "absolute": Named("the absolute difference", Absolute()),
    "huber": Named("squared near the label, linear beyond a threshold", Huber()),
    "quantile": Named("the pinball loss of a quantile, the median unless said otherwise", Quantile()),
    "brier": Named("the squared distance of the probabilities from the true class", Squared()),
    "log": Named("minus the logarithm of the true class's probability, linear below 0.05", Bregman("entropy", 0.05)),
    "logistic": Named("the logistic loss of log-odds, for two classes", Logistic()),
}
"""All losses that can be chosen by name."""

LOSSES_OF_NUMBERS = ("squared", "absolute", "huber", "quantile")
"""Losses for predictions that are numbers."""
LOSSES_OF_CLASSES = ("squared", "brier", "log")
"""Losses for predictions that are probabilities of classes; ``"squared"`` and ``"brier"`` are the same there."""


def listed(names: Mapping[str, NamedLearner] | Mapping[str, Named[Loss]] | Mapping[str, str]) -> str:
    """Return names and what they stand for, on one line for help texts.

    Examples
    --------
    >>> listed(FEEDBACK)
    'bandit (loss values at the points asked about, and nothing else), full (the gradient of the loss at every point)'
    """
    said = ((name, entry if isinstance(entry, str) else entry.help) for name, entry in names.items())
    return ", ".join(f"{name} ({text})" for name, text in said)


def learner_numbers(learner: str, space: Space, chosen: Numbers | None = None, copies: int = 30) -> dict[str, float]:
    """Return the numbers of a named learner with so many copies: those that were chosen, and defaults for the others.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> learner_numbers("trees", Interval(0, 1), {"leaves": 8})
    {'step': 0.2, 'evidence': 4.0, 'leaves': 8}
    """
    known = LEARNERS[one_of("learner", learner, LEARNERS)].numbers(space, copies)
    for name in chosen or {}:
        if name not in known:
            raise ValueError(f"{name} must be left out for the learner '{learner}', which has no such number.")
    return known | dict(chosen or {})


def named(
    learner: str,
    space: Space,
    *,
    copies: int = 30,
    answers: int | None = None,
    gradient: str | Gradient | None = None,
    curvature: float | None = None,
    numbers: Numbers | None = None,
    seed: int = 0,
) -> Booster:
    """Build the booster that a learner's name stands for.

    Parameters
    ----------
    learner
        One of `LEARNERS`.
    space
        Where predictions must land.
    copies
        Number of copies (N).
    answers
        Number of loss values asked a round; as many as copies when not given.
    gradient
        One of `GRADIENTS`, or a gradient itself; when not given, the one that suits the learner.
    curvature
        Approximate second derivative of the loss, for gradients that are not scaled: 2 for the squared loss.
    numbers
        Numbers of the learner that differ from their defaults; see `learner_numbers`.
    seed
        Makes the run reproducible.

    Examples
    --------
    >>> from banditboost.algorithms import boosted
    >>> from banditboost.spaces import Interval
    >>> named("boosted", Interval(0, 1)).spec == boosted(Interval(0, 1)).spec
    True
    >>> named("trees", Interval(0, 1), copies=5, numbers={"leaves": 8}).spec.learner.max_leaves
    8
    """
    count("copies", copies)
    all_numbers = learner_numbers(learner, space, numbers, copies)
    entry = LEARNERS[learner]
    own = None if gradient is None or gradient == entry.gradient else gradient
    memory = None
    if entry.remembers and not isinstance(own, str):
        memory = parts.remembered("auto", space, copies, own, curvature)
    if entry.remembers and memory is None and "ridge" not in (numbers or {}):
        all_numbers["ridge"] = 1.0  # the linear copy then is the first, as in `boosted` without memory
    if gradient is None or isinstance(gradient, str):
        chosen = entry.gradient if gradient is None else one_of("gradient", gradient, GRADIENTS)
        gradient = GRADIENTS[chosen].part(space, copies, answers)
    elif answers is not None:
        raise ValueError(f"answers must be left out where gradient is given, got {answers!r}.")
    elif curvature is None:
        gradient = parts.scaled(gradient, space)
    bend = 2.0 if curvature is None else curvature
    if memory is not None:
        if isinstance(gradient, Remembered):
            gradient = parts.wary(gradient, space, adaptive=True)
        made = parts.copies_of(space, bend, copies, memory, gradient, True, all_numbers)
        chain: Chain = parts.chain_for(space, memory, gradient, True, all_numbers["step"])
    else:
        made = entry.build(space, copies, bend, all_numbers)
        chain = chain_for(made, all_numbers.get("step", Additive().step), entry.first, parts.units(space))
    learner_in_units = parts.in_units(made, space) if made.fits_residuals else made
    return Booster(learner_in_units, copies, chain, gradient, space, seed=seed, start=space.inner_centre)


def most_features(learner: Learner, now: int | None = None) -> int:
    """Return how many features copies may be given where names and words decide it: at first, or where they have some `now`.

    Copies that have begun with few features take very many only where they know the rounds from which others can learn; else they
    stay narrow.

    Examples
    --------
    >>> from banditboost.algorithms import boosted
    >>> from banditboost.spaces import Interval
    >>> most_features(boosted(Interval(0, 1)).spec.learner), most_features(Coin())
    (262144, 512)
    """
    if not learner.thin(MOST_DENSE + 1):
        return MOST_DENSE
    return MOST_SPARSE if now is None or learner.remembers or learner.thin(now) else MOST_COLUMNS


def step_for(copies: int) -> float:
    """Return the step of copies of one kind that add up: 0.2, and more where copies are too few to reach the label by that.

    Copies that fit what is left over, and step by η, leave (1 - η)^N of a label; η is large enough for that to be `LEFT` or less.

    Examples
    --------
    >>> [round(step_for(copies), 2) for copies in (1, 3, 10, 30)]
    [0.95, 0.63, 0.26, 0.2]
    """
    return max(Additive().step, 1 - float(LEFT ** (1 / count("copies", copies))))


def chain_for(
    learner: Learner,
    step: float | None = None,
    first: float | None = None,
    units: tuple[float, ...] = (1.0,),
    copies: int = 30,
) -> Chain:
    """Return a chain that adds plays up for learners that fit residuals, as far as they are trusted, and averages others."""
    if not learner.fits_residuals:
        return ConvexHull()
    if step is None:
        step = step_for(copies) if first is None else Additive().step
    return Trusted(step=step, first=first, units=units)


def _with_budget(gradient: Sphere, answers: int | None, copies: int) -> Gradient:
    if answers is None:
        return gradient
    if count("answers", answers) > copies:
        raise ValueError(f"answers must be at most as many as copies ({copies}), got {answers}.")
    return Budget(gradient, answers, exactly=True)
