"""How far from the prediction actions are played, and with what density: what exploring costs is decided here."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from banditboost._core import checks
from banditboost._core.checks import Array
from banditboost._core.spec import Spec
from banditboost.spaces import Space

__all__ = ["Explore"]


@dataclass(frozen=True)
class Explore(Spec, kind="explore.Explore"):
    """A continuous law of actions about the prediction, as wide as a share of the losses allows.

    On intervals and boxes every coordinate of an action is drawn by itself, with a density that rises from the middle of the law to
    its rim, proportional to |u|^(rim - 1): for the same cost, actions at a distance say more about the slope than actions near the
    prediction. Where the border is near, the law keeps its form and is moved inside: nothing is projected, so that there are no
    atoms, and the law's mean and variance are known in closed form. On other spaces actions are drawn from a ball in the tangent
    space whose centre is pulled inside by its radius.

    The width follows from what exploring costs. With the curvature h of the loss, an action at distance u costs about ½hu² more
    than the prediction; the law is as wide as makes this the share `budget` of the height of the losses above their lowest values.
    From `patience` rounds on the share falls like one over the root of the rounds, so that the width falls like t^(-1/4).

    Parameters
    ----------
    budget
        Share of the losses' height (their mean less a low quantile) that exploring may cost. Not given: 0.75 with one answer a
        round, which needs it to learn, and 0.08 with more, which compare answers with each other.
    patience
        Rounds after which the budget begins to fall. Not given: 1000 with one answer, never with more.
    least
        Least half-width of the law, in units of the decision: a floor under exploration, for worlds that change.
    most
        Greatest distance of an action from the prediction, in units of the decision, as in "never more than 2 euros off". One
        number, or one for each coordinate.
    rim
        How strongly the law prefers its rim; 1 is uniform. Not given: 3 with one answer, 4 with two, 2 with more.

    Examples
    --------
    >>> import banditboost as bb
    >>> booster = bb.algorithms.boosted(bb.spaces.Interval(0, 100), answers=1, explore=Explore(most=2.0))
    >>> ticket = booster.ask([0.3])
    >>> bool(abs(ticket.action - ticket.prediction) <= 2.0), bool(ticket.density[0] > 0)
    (True, True)
    """

    budget: float | None = None
    patience: float | None = None
    least: float | tuple[float, ...] = 0.0
    most: float | tuple[float, ...] | None = None
    rim: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("budget", "patience"):
            if getattr(self, name) is not None:
                checks.positive(name, getattr(self, name))
        if self.rim is not None and checks.number("rim", self.rim) < 1:
            raise ValueError(f"rim must be at least 1, got {self.rim!r}.")
        for name in ("least", "most"):
            values = getattr(self, name)
            for value in values if isinstance(values, tuple) else () if values is None else (values,):
                checks.at_least_zero(name, value)

    @classmethod
    def examples(cls) -> tuple[Explore, ...]:
        """Give the default, and one with limits."""
        return (cls(), cls(budget=0.1, patience=100.0, least=0.01, most=0.5, rim=1.0))

    def check(self, space: Space) -> None:
        """Raise an error where limits do not fit a space."""
        for name in ("least", "most"):
            values = getattr(self, name)
            if isinstance(values, tuple) and len(values) not in (1, space.size):
                raise ValueError(f"{name} must be one number or {space.size} for this space, got {len(values)}.")

    def share(self, answers: int) -> float:
        """Return the budget."""
        return (0.75 if answers == 1 else 0.08) if self.budget is None else self.budget

    def steady(self, answers: int) -> float:
        """Return the patience; infinite where the budget never falls."""
        return (1000.0 if answers == 1 else math.inf) if self.patience is None else self.patience

    def exponent(self, answers: int) -> float:
        """Return the rim."""
        return {1: 3.0, 2: 4.0}.get(answers, 2.0) if self.rim is None else self.rim

    def limits(self, extent: Array) -> tuple[Array, Array]:
        """Return the least half-width and the greatest distance for each coordinate, over the extents of the space."""
        least = np.broadcast_to(np.asarray(self.least, dtype=float), extent.shape) / extent
        most = (
            np.broadcast_to(np.asarray(np.inf if self.most is None else self.most, dtype=float), extent.shape) / extent
        )
        return np.array(least), np.array(most)

    def directions(self, answers: int, space: Space, uniforms: Array) -> Array:
        """Turn uniform numbers in [0, 1), shape (..., d), into coordinates in [-1, 1] with the law's density."""
        signed = 2.0 * uniforms - 1.0
        return np.asarray(np.copysign(np.abs(signed) ** (1.0 / self.exponent(answers)), signed))
