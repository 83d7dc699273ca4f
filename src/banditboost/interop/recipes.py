"""From an estimator's parameters to the parts of a booster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from banditboost._core.checks import count, one_of, positive
from banditboost.algorithms import boosted
from banditboost.booster.spec import BoosterSpec
from banditboost.chains import Additive, Chain, ConvexHull
from banditboost.gradients import Exact
from banditboost.learners import Coin, Learner, Mixed, Network, SecondOrder, Tree, Wrapped
from banditboost.losses import Absolute, Bregman, Huber, Loss, Quantile, Squared
from banditboost.noise import Noise, Silent, Uniform
from banditboost.spaces import Space

LEARNERS = ("boosted", "coin", "linear", "trees")
FEEDBACK = ("bandit", "full")
OF_NUMBERS: Mapping[str, Loss] = {
    "squared": Squared(),
    "absolute": Absolute(),
    "huber": Huber(),
    "quantile": Quantile(),
}
"""Losses of regressors, by name."""
OF_CLASSES: Mapping[str, Loss] = {"brier": Squared(), "log": Bregman("entropy", 0.05)}
"""Losses of classifiers, by name."""


@dataclass(frozen=True)
class Recipe:
    """What both libraries' estimators are told about the booster that they are to make, checked.

    Parameters
    ----------
    learner
        ``"boosted"``: a linear copy, then trees, the default of `algorithms.boosted`; ``"trees"`` or ``"linear"``: one of
        its two halves; ``"coin"``: coin betting, linear, which reads sparse rows as they are; or any learner that takes
        contexts.
    copies, answers
        As for `algorithms.boosted`.
    chain
        When not given, `Additive` for learners that fit what is left over (``"boosted"``, ``"trees"``, ``"linear"``, `Tree`,
        `Network`, `Wrapped`, `SecondOrder` around zero), and `ConvexHull` for the others.
    loss
        What predictions are charged.
    feedback
        ``"bandit"``: loss values alone; ``"full"``: exact gradients.
    curvature
        For ``feedback="full"``: the second derivative of the loss, about. The squared loss (2), Huber's (1) and the
        Euclidean divergence (1) have their own; others must be given one. Values are scaled, and need none.
    seed
        Makes the booster reproducible.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> spec = Recipe(copies=5, learner="trees").spec(Interval(-1, 1))
    >>> type(spec.learner).__name__, spec.chain, type(spec.gradient).__name__
    ('Tree', Additive(gamma=1.0, step=0.2, first=None), 'Fitted')
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
        elif own_curvature(self.loss) is None:
            raise ValueError(
                f"curvature must be given with feedback 'full': the loss {type(self.loss).__name__} has none of its own."
            )

    def spec(self, space: Space) -> BoosterSpec:
        """Return the booster for a space."""
        full = self.feedback == "full"
        usual = boosted(
            space,
            copies=self.copies,
            answers=self.answers,
            gradient=Exact() if full else None,
            curvature=(self.curvature or own_curvature(self.loss) or 2.0) if full else 2.0,
            seed=self.seed,
        ).spec
        learner: Any = self.learner if isinstance(self.learner, Learner) else None
        chain = self.chain or (usual.chain if learner is None else chain_for(learner))
        if isinstance(self.learner, str) and self.learner != "boosted":
            parts = usual.learner.parts if isinstance(usual.learner, Mixed) else (usual.learner, Tree())
            learner = {"linear": parts[0], "trees": parts[1], "coin": Coin()}[self.learner]
            chain = self.chain or chain_for(learner)
        return replace(usual, learner=learner or usual.learner, chain=chain)


def chain_for(learner: Learner) -> Chain:
    """Return a chain that adds up what learners make of what is left over, or one that averages what the others play."""
    return Additive() if _fits_the_rest(learner) else ConvexHull()


def _fits_the_rest(learner: Any) -> bool:
    if isinstance(learner, Mixed):
        return all(map(_fits_the_rest, learner.parts))
    if isinstance(learner, SecondOrder):
        return learner.centre == "zero"
    if isinstance(learner, Tree | Network | Wrapped):
        return True
    return hasattr(learner, "learner") and _fits_the_rest(learner.learner)


def own_curvature(loss: Loss) -> float | None:
    """Return the second derivative of a loss, where it is about the same everywhere near the label."""
    if isinstance(loss, Bregman):
        return 1.0 if loss.potential == "euclidean" else None
    return {Squared: 2.0, Huber: 1.0}.get(type(loss))


def of_difference(loss: Loss) -> bool:
    """Say whether a loss depends on prediction minus label alone, so that both may be shifted."""
    return type(loss) in (Squared, Absolute, Huber, Quantile) or (
        isinstance(loss, Bregman) and loss.potential == "euclidean"
    )


def loss_of(loss: Any, known: Mapping[str, Loss]) -> Loss:
    """Return a loss that was given, or the one of a name."""
    return loss if isinstance(loss, Loss) else known[one_of("loss", loss, known)]


def noise_of(noise: Any) -> Noise:
    """Return the noise that was given: none, a `Noise`, or the bound of a uniform one."""
    if noise is None:
        return Silent()
    return noise if isinstance(noise, Noise) else Uniform(positive("noise", noise))
