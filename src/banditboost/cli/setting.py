"""The choices of the command line as data: a setting builds a loss, a world and a booster for a table."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, fields, replace

import numpy as np

from banditboost import noise
from banditboost._core.checks import count, one_of
from banditboost._core.spec import Spec
from banditboost.algorithms.names import (
    FEEDBACK,
    GRADIENTS,
    LEARNERS,
    LOSSES,
    LOSSES_OF_CLASSES,
    LOSSES_OF_NUMBERS,
    learner_numbers,
    most_features,
    named,
)
from banditboost.booster import Booster
from banditboost.datasets import Encoding, Prepared
from banditboost.gradients import Exact
from banditboost.learners.categories import Pairs, knowing
from banditboost.losses import Huber, Loss, Quantile
from banditboost.spaces import Interval, Space
from banditboost.worlds import Classification, Supervised

LOGITS = 5.0
"""Log-odds predicted under the logistic loss lie between minus and plus this: probabilities from 0.7% to 99.3%."""
NUMBERS = ("step", "rate", "radius", "ridge", "evidence", "leaves")
"""The options that are numbers of a learner; `LEARNERS` says which learner has which."""


@dataclass(frozen=True)
class Setting(Spec, kind="cli.Setting"):
    """All choices of `banditboost run` that decide what is learned; a number that is None has the learner's default.

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
        one_of("feedback", self.feedback, FEEDBACK)
        one_of("learner", self.learner, LEARNERS)
        one_of("gradient", self.gradient, ("auto", *GRADIENTS))
        count("copies", self.copies)
        if self.feedback == "full" and (self.gradient != "auto" or self.answers is not None):
            raise ValueError("gradient and answers must be left out with --feedback full, which tells gradients.")
        if self.answers is not None and count("answers", self.answers) > self.copies:
            raise ValueError(f"answers must be at most as many as copies ({self.copies}), got {self.answers}.")
        learner_numbers(self.learner, Interval(-1.0, 1.0), self.numbers)

    def options(self) -> str:
        """Return the options of `banditboost run` that make this setting; options with default values are left out."""
        said = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default:
                said += [f"--{field.name}", f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(said)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of the learner that were chosen."""
        return {name: value for name in NUMBERS if (value := getattr(self, name)) is not None}

    @property
    def most_features(self) -> int:
        """How many features of a file of examples the learner is given."""
        return most_features(booster_of(self, Interval(-1.0, 1.0)).spec.learner)

    @property
    def scaled(self) -> bool:
        """Whether the learner wants features scaled to [0, 1]."""
        return LEARNERS[self.learner].unit_features


def defaults(setting: Setting, space: Space) -> dict[str, float]:
    """Return the default numbers of a setting's learner on a space.

    Examples
    --------
    >>> defaults(Setting(), Interval(0, 1))
    {'step': 0.2, 'ridge': 3.0, 'evidence': 4.0, 'leaves': 64}
    """
    return learner_numbers(setting.learner, space, copies=setting.copies)


def loss_of(setting: Setting, encoding: Encoding) -> Loss:
    """Return the loss, or raise a sentence where the target does not allow it."""
    classes, name = encoding.classes, setting.loss
    if classes is None and name not in LOSSES_OF_NUMBERS:
        raise ValueError(
            f"loss must not be '{name}' for a target of numbers; --task classes treats every number as a class."
        )
    if name == "logistic" and classes is not None and len(classes) != 2:
        raise ValueError(
            f"loss must be 'log' or 'squared' for {len(classes)} classes, got 'logistic', which is for two."
        )
    if classes is not None and name not in (*LOSSES_OF_CLASSES, "logistic"):
        raise ValueError(f"loss must be 'squared', 'brier', 'log' or 'logistic' for classes, got '{name}'.")
    loss = LOSSES[name].part
    if isinstance(loss, Huber):
        low, high = encoding.interval
        return replace(loss, threshold=(high - low) / 10 if setting.threshold is None else setting.threshold)
    return replace(loss, level=setting.level) if isinstance(loss, Quantile) else loss


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


def booster_of(setting: Setting, space: Space, categories: Pairs = ()) -> Booster:
    """Return a fresh booster, whose forests, where it has any, know which features are indicators of one category."""
    full = setting.feedback == "full"
    made = named(
        setting.learner,
        space,
        copies=setting.copies,
        answers=setting.answers,
        gradient=Exact() if full else None if setting.gradient == "auto" else setting.gradient,
        curvature=_curvature(setting) if full else None,
        numbers=setting.numbers,
        seed=setting.seed,
    )
    return Booster.from_spec(knowing(made.spec, categories))


def _curvature(setting: Setting) -> float | None:
    """Return the curvature of the losses whose gradients are told; None for losses with kinks, whose gradients show it."""
    return {"absolute": None, "quantile": None, "huber": 1.0, "logistic": 0.25}.get(setting.loss, 2.0)
