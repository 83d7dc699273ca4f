"""What the shell lets a user choose, as data: a setting builds a loss, a world and a booster for a table."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from banditboost import algorithms, noise
from banditboost._core.checks import count, one_of
from banditboost._core.spec import Spec
from banditboost.booster import Booster
from banditboost.chains import Additive, Chain, ConvexHull
from banditboost.datasets import Encoding, Prepared
from banditboost.gradients import Budget, Exact, Fitted, Gradient, OnePoint, Sphere, Surrogate
from banditboost.learners import Learner, Linear, Mixed, ScaleFree, SecondOrder, Standardized, Tree
from banditboost.losses import Absolute, Bregman, Huber, Logistic, Loss, Quantile, Squared
from banditboost.rates import Power
from banditboost.spaces import Interval, Space
from banditboost.worlds import Classification, Supervised

LOSSES = ("squared", "absolute", "huber", "quantile", "logistic", "log")
LEARNERS = ("boosted", "linear", "scale-free", "second-order", "tree")
FEEDBACKS = ("bandit", "full")
GRADIENTS = ("auto", "fitted", "surrogate", "one-point")
LOGITS = 5.0
"""Predictions under the logistic loss lie between minus and plus this: probabilities from 0.7% to 99.3%."""
STEP, RADIUS, RATE = 0.2, 10.0, {"linear": 0.1, "scale-free": 0.5}
"""What numbers are when not given; the radius in halves of the space's diameter."""
FLOOR = 0.05
"""Under the log loss a probability below this costs as if the loss went on as a line."""


@dataclass(frozen=True)
class Setting(Spec, kind="cli.Setting"):
    """All choices of `banditboost run` that decide what is learned; None leaves a number to the learner's default.

    Examples
    --------
    >>> Setting(copies=10, step=0.5).options()
    '--copies 10 --step 0.5'
    """

    loss: str = "squared"
    level: float = 0.5
    threshold: float | None = None
    feedback: str = "bandit"
    learner: str = "boosted"
    gradient: str = "auto"
    copies: int = 30
    answers: int | None = None
    noise: float = 0.0
    step: float | None = None
    rate: float | None = None
    radius: float | None = None
    ridge: float | None = None
    evidence: float | None = None
    leaves: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("loss", self.loss, LOSSES)
        one_of("feedback", self.feedback, FEEDBACKS)
        one_of("learner", self.learner, LEARNERS)
        one_of("gradient", self.gradient, GRADIENTS)
        count("copies", self.copies)
        if self.feedback == "full" and (self.gradient != "auto" or self.answers is not None):
            raise ValueError("gradient and answers must be left out with --feedback full, which tells gradients.")
        if self.answers is not None and count("answers", self.answers) > self.copies:
            raise ValueError(f"answers must be at most as many as copies ({self.copies}), got {self.answers}.")
        for name, users in USERS.items():
            if getattr(self, name) is not None and self.learner not in users:
                raise ValueError(f"{name} must be left out for the learner '{self.learner}': it has none.")

    def options(self) -> str:
        """Return the options of `banditboost run` that say this; what is as it comes is left out."""
        said = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                said += [f"--{field.name}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(said)

    @property
    def scaled(self) -> bool:
        """Whether the learner wants numbers between 0 and 1."""
        return self.learner == "linear"


USERS = {
    "step": ("boosted", "tree", "second-order"),
    "rate": ("linear", "scale-free"),
    "radius": ("linear",),
    "ridge": ("boosted", "second-order"),
    "evidence": ("boosted", "tree"),
    "leaves": ("boosted", "tree"),
}
"""Which learners have which number."""


def numbers_of(learner: str) -> tuple[str, ...]:
    """Return the numbers that a learner has."""
    return tuple(name for name, users in USERS.items() if learner in users)


def defaults(setting: Setting, space: Space) -> dict[str, float]:
    """Return the numbers that a learner comes with on a space.

    Examples
    --------
    >>> defaults(Setting(), Interval(0, 1))
    {'step': 0.2, 'ridge': 1.0, 'evidence': 4.0, 'leaves': 64}
    """
    first = algorithms.boosted(space)
    linear, trees = _parts(first.spec.learner)
    known = {"step": STEP, "ridge": linear.ridge, "evidence": trees.evidence, "leaves": trees.max_leaves}
    known |= {"rate": RATE[setting.learner], "radius": RADIUS} if setting.learner in RATE else {}
    return {name: known[name] for name in numbers_of(setting.learner)}


def loss_of(setting: Setting, encoding: Encoding) -> Loss:
    """Return the loss, where the target allows it."""
    classes = encoding.classes
    if setting.loss in ("logistic", "log") and classes is None:
        raise ValueError(
            f"loss must not be '{setting.loss}' for a target of numbers; --task classes makes classes of them."
        )
    if setting.loss == "logistic" and classes is not None and len(classes) != 2:
        raise ValueError(
            f"loss must be 'log' or 'squared' for {len(classes)} classes, got 'logistic', which is for two."
        )
    if classes is not None and setting.loss not in ("squared", "log", "logistic"):
        raise ValueError(f"loss must be 'squared', 'log' or 'logistic' for classes, got '{setting.loss}'.")
    if setting.loss == "huber":
        low, high = encoding.interval
        return Huber((high - low) / 10 if setting.threshold is None else setting.threshold)
    if setting.loss == "quantile":
        return Quantile(setting.level)
    made: dict[str, Loss] = {
        "squared": Squared(),
        "absolute": Absolute(),
        "logistic": Logistic(),
        "log": Bregman("entropy", FLOOR),
    }
    return made[setting.loss]


def world_of(setting: Setting, table: Prepared) -> Supervised:
    """Return the table as a world."""
    loss, encoding = loss_of(setting, table.encoding), table.encoding
    blur = noise.Uniform(setting.noise) if setting.noise > 0 else noise.Silent()
    if encoding.classes is None:
        return Supervised(table.X, table.y, loss, blur, setting.seed)
    if setting.loss == "logistic":
        return Supervised(table.X, np.where(table.y == encoding.classes[1], 1.0, -1.0), loss, blur, setting.seed)
    return Classification(table.X, table.y, loss, blur, setting.seed, names=np.array(encoding.classes))


def space_of(setting: Setting, world: Supervised, encoding: Encoding) -> Space:
    """Return where predictions lie."""
    if isinstance(world, Classification):
        return world.space
    return Interval(-LOGITS, LOGITS) if setting.loss == "logistic" else Interval(*encoding.interval)


def booster_of(setting: Setting, space: Space) -> Booster:
    """Return a fresh booster."""
    first = algorithms.boosted(space, copies=setting.copies, curvature=_curvature(setting, space))
    learner, chain = _learner(setting, space, first), _chain(setting)
    return Booster(learner, setting.copies, chain, _gradient(setting, space, first), space, seed=setting.seed)


def _curvature(setting: Setting, space: Space) -> float:
    """Return the curvature that copies assume. `Fitted` scales every loss to 2; gradients that are told come in their own units."""
    if setting.feedback != "full":
        return 2.0
    kinked = 4 / space.diameter  # slope 1, given up within a quarter of the space
    return {"absolute": kinked, "quantile": kinked, "huber": 1.0, "logistic": 0.25}.get(setting.loss, 2.0)


def _learner(setting: Setting, space: Space, first: Booster) -> Learner:
    half = space.diameter / 2
    if setting.learner == "linear":
        return Linear(half * _or(setting.radius, RADIUS), Power(_or(setting.rate, RATE["linear"]), 0.5))
    if setting.learner == "scale-free":
        return ScaleFree(_or(setting.rate, RATE["scale-free"]))
    linear, trees = _parts(first.spec.learner)
    line = Standardized(replace(linear, ridge=_or(setting.ridge, linear.ridge)))
    trees = replace(
        trees, evidence=_or(setting.evidence, trees.evidence), max_leaves=int(_or(setting.leaves, trees.max_leaves))
    )
    if setting.learner == "second-order" or (setting.learner == "boosted" and setting.copies == 1):
        return line
    return trees if setting.learner == "tree" else Mixed((line, trees), (1, setting.copies - 1))


def _parts(learner: Learner) -> tuple[SecondOrder, Tree]:
    """Return the linear and the tree part of the default booster."""
    linear, trees = learner.parts if isinstance(learner, Mixed) else (learner, Tree())
    assert isinstance(linear, Standardized)
    assert isinstance(linear.learner, SecondOrder)
    assert isinstance(trees, Tree)
    return linear.learner, trees


def _chain(setting: Setting) -> Chain:
    if setting.learner in ("linear", "scale-free"):
        return ConvexHull()
    return Additive(_or(setting.step, STEP), None if setting.learner == "tree" else 1.0)


def _gradient(setting: Setting, space: Space, first: Booster) -> Gradient:
    if setting.feedback == "full":
        return Exact()
    hull = setting.learner in ("linear", "scale-free")
    kind = ("surrogate" if hull else "fitted") if setting.gradient == "auto" else setting.gradient
    gradient: Sphere
    if kind == "fitted":
        assert isinstance(first.spec.gradient, Fitted)
        gradient = first.spec.gradient
    else:
        made: dict[str, Any] = {"surrogate": Surrogate, "one-point": OnePoint}
        gradient = made[kind](space.inner_radius / 4)
    return gradient if setting.answers is None else Budget(gradient, setting.answers, exactly=True)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
