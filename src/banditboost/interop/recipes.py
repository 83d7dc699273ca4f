"""From the parameters of an estimator to the parts of a booster."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from banditboost._core.checks import count, one_of, positive
from banditboost.algorithms import boosted
from banditboost.algorithms.names import FEEDBACK, LEARNERS, LOSSES, chain_for, most_features, named
from banditboost.booster.spec import BoosterSpec
from banditboost.chains import Chain
from banditboost.gradients import Exact
from banditboost.learners import Learner
from banditboost.losses import Loss, Squared
from banditboost.noise import Noise, Silent, Uniform
from banditboost.spaces import Interval, Space


@dataclass(frozen=True)
class Recipe:
    """The checked parameters from which the estimators of both libraries make their booster.

    Parameters
    ----------
    learner
        One of the names in `banditboost.algorithms.names.LEARNERS`, or any learner that takes contexts. The default,
        ``"boosted"``, is a linear copy followed by trees.
    copies, answers
        As for `algorithms.boosted`.
    chain
        When not given, `Trusted` for learners whose copies fit residuals (`Learner.fits_residuals`), with steps of 0.2 that are
        longer where copies are few (`algorithms.names.step_for`), and `ConvexHull` for all others.
    loss
        The loss that predictions are charged.
    feedback
        ``"bandit"``: the booster is told loss values alone; ``"full"``: it is told exact gradients.
    curvature
        Approximate second derivative of the loss, for ``feedback="full"``. It must be given for losses that have no `curvature`
        of their own. Loss values are scaled, so that ``feedback="bandit"`` needs none.
    seed
        Makes the booster reproducible.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> spec = Recipe(copies=20, learner="trees").spec(Interval(-1, 1))
    >>> type(spec.learner).__name__, spec.chain, type(spec.gradient).__name__
    ('Tree', Trusted(gamma=1.0, step=0.2, first=None, units=(1.0,)), 'Remembered')
    """

    learner: str | Learner = "boosted"
    copies: int = 30
    answers: int | None = None
    chain: Chain | None = None
    loss: Loss = Squared()  # noqa: RUF009 - specs are frozen
    feedback: str = "bandit"
    curvature: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.learner, Learner):
            one_of("learner", self.learner, LEARNERS)
        elif not self.learner.contextual:
            raise ValueError(f"learner must be one that takes contexts, got {self.learner!r}.")
        count("copies", self.copies)
        one_of("feedback", self.feedback, FEEDBACK)
        if self.feedback == "bandit":
            if self.curvature is not None:
                raise ValueError(f"curvature must be left out with feedback 'bandit', got {self.curvature!r}.")
            return
        if self.answers is not None:
            raise ValueError(f"answers must be left out with feedback 'full', got {self.answers!r}.")
        if self.curvature is not None:
            positive("curvature", self.curvature)
        elif self.loss.curvature is None:
            raise ValueError(
                f"curvature must be given with feedback 'full': the loss {type(self.loss).__name__} has none of its own."
            )

    def most_features(self, now: int | None = None) -> int:
        """Return how many features copies may be given, at first or where they have some `now`."""
        return most_features(self.spec(Interval(-1.0, 1.0)).learner, now)

    def spec(self, space: Space) -> BoosterSpec:
        """Return the booster for a space."""
        full = self.feedback == "full"
        gradient = Exact() if full else None
        curvature = (self.curvature or self.loss.curvature or 2.0) if full else None
        if isinstance(self.learner, Learner):
            usual = boosted(
                space, copies=self.copies, answers=self.answers, gradient=gradient, curvature=curvature, seed=self.seed
            )
            chain = self.chain or chain_for(self.learner, copies=self.copies)
            return replace(usual.spec, learner=self.learner, chain=chain)
        made = named(
            self.learner,
            space,
            copies=self.copies,
            answers=self.answers,
            gradient=gradient,
            curvature=curvature,
            seed=self.seed,
        ).spec
        return made if self.chain is None else replace(made, chain=self.chain)


def loss_of(loss: Any, known: Collection[str]) -> Loss:
    """Return a loss that was given, or the one that a name stands for."""
    return loss if isinstance(loss, Loss) else LOSSES[one_of("loss", loss, known)].part


def noise_of(noise: Any) -> Noise:
    """Return a noise: none for None, uniform noise for a number, which is its bound, or the `Noise` that was given."""
    if noise is None:
        return Silent()
    return noise if isinstance(noise, Noise) else Uniform(positive("noise", noise))
