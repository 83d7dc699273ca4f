"""Losses of a prediction against a label: values, gradients, and the constants that regret bounds need.

Every loss takes points of shape (..., *shape) and a label of shape (*shape). Where labels have leading axes of their own, `ndim`
is the number of trailing axes that make one decision. Labels are assumed to lie in the space.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from banditboost._core.checks import Array, at_least_zero, between, number, one_of, positive
from banditboost._core.forms import no_loop
from banditboost._core.spec import Spec
from banditboost.spaces import Space
from banditboost.spaces.base import norms

__all__ = ["Absolute", "Bregman", "Constants", "Huber", "Logistic", "Loss", "Quantile", "Sale", "Squared"]


class Constants(NamedTuple):
    """Constants of a loss that regret bounds need, valid at all points where a run may evaluate the loss."""

    lipschitz: float
    """L, the largest norm of a gradient."""
    smoothness: float
    """β, the Lipschitz constant of the gradient; infinite where the loss has a kink."""
    bound: float
    """M, the largest absolute value of the loss."""


@dataclass(frozen=True)
class Loss(Spec):
    """A loss of a prediction against a label: convex, unless `convex` says otherwise."""

    @property
    def convex(self) -> bool:
        """Whether the loss is convex in the prediction, so that `gradient` bounds it from below and regret bounds hold."""
        return True

    @property
    def curvature(self) -> float | None:
        """The second derivative near the label, where it is about the same in every direction; None for all other losses."""
        return None

    @property
    def translation_invariant(self) -> bool:
        """Whether the loss depends on prediction minus label alone, so that both may be shifted by the same amount."""
        return False

    @abstractmethod
    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return the losses of the points, shape (...)."""

    @abstractmethod
    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return a (sub)gradient at each point, shape (..., *shape)."""

    @abstractmethod
    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L, β and M on Y/γ + δB, which contains all queries of a run with that γ and δ (by default Y itself)."""

    def compiled_form(self) -> Any:
        """Return the typed tuple by which compiled loops know this loss (`banditboost.extending`); None where there is none."""
        return None

    def why_not_compiled(self) -> str | None:
        """Return why no compiled loop can charge this loss, as half a sentence; None where one can."""
        if self.compiled_form() is None:
            return f"there is no compiled loop for the loss {type(self).__name__}"
        return no_loop("loss", self)


def _aligned(points: ArrayLike, label: ArrayLike, ndim: int | None) -> tuple[Array, Array, int]:
    points, label = np.asarray(points, dtype=np.float64), np.asarray(label, dtype=np.float64)
    return points, label, label.ndim if ndim is None else ndim


def _reach(space: Space, gamma: float, delta: float) -> float:
    """Largest distance between a label in Y and a point of Y/γ + δB."""
    gamma, delta = positive("gamma", gamma), at_least_zero("delta", delta)
    # ‖y/γ - y'‖ ≤ min(1, 1/γ)‖y - y'‖ + |1/γ - 1| max(‖y‖, ‖y'‖), by splitting off the smaller multiple of the difference.
    return min(1.0, 1 / gamma) * space.diameter + abs(1 / gamma - 1) * space.farthest + delta


@dataclass(frozen=True)
class Squared(Loss, kind="losses.Squared"):
    """Squared Euclidean distance ‖ŷ - y‖², for every dimension.

    Examples
    --------
    >>> Squared().value([3.0, 5.0], 4.0).tolist(), Squared().gradient([3.0, 5.0], 4.0).tolist()
    ([1.0, 1.0], [-2.0, 2.0])
    """

    @property
    def curvature(self) -> float:
        """2.0."""
        return 2.0

    @property
    def translation_invariant(self) -> bool:
        """True."""
        return True

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return ‖ŷ - y‖²."""
        points, label, ndim = _aligned(points, label, ndim)
        return np.asarray(np.square(points - label).sum(axis=tuple(range(-ndim, 0))))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return 2(ŷ - y)."""
        points, label, _ = _aligned(points, label, ndim)
        return 2 * (points - label)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = 2r, β = 2 and M = r², where r is the largest distance of a query from a label."""
        r = _reach(space, gamma, delta)
        return Constants(2 * r, 2.0, r * r)

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Squared(1.0)


@dataclass(frozen=True)
class Absolute(Loss, kind="losses.Absolute"):
    """Euclidean distance ‖ŷ - y‖: the absolute loss in one dimension, the norm of the error in more.

    Examples
    --------
    >>> Absolute().value([[3.0, 4.0]], [0.0, 0.0]).tolist()
    [5.0]
    """

    @property
    def translation_invariant(self) -> bool:
        """True."""
        return True

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return ‖ŷ - y‖."""
        return np.sqrt(Squared().value(points, label, ndim))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return the unit vector from the label to the point, and zero at the label."""
        points, label, ndim = _aligned(points, label, ndim)
        away = points - label
        length = norms(away, ndim)
        return np.divide(away, length, out=np.zeros_like(away), where=length > 0)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = 1, β = ∞ and M = r, where r is the largest distance of a query from a label."""
        return Constants(1.0, math.inf, _reach(space, gamma, delta))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Absolute()


@dataclass(frozen=True)
class Huber(Loss, kind="losses.Huber"):
    """Huber's loss of the distance r = ‖ŷ - y‖: r²/2 up to the threshold k, and k(r - k/2) beyond it.

    Examples
    --------
    >>> Huber(threshold=1.0).value([0.5, 3.0], 0.0).tolist()
    [0.125, 2.5]
    """

    threshold: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("threshold", self.threshold)

    @property
    def curvature(self) -> float:
        """1.0, within the threshold."""
        return 1.0

    @property
    def translation_invariant(self) -> bool:
        """True."""
        return True

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return r²/2 up to the threshold and k(r - k/2) beyond it."""
        r, k = Absolute().value(points, label, ndim), self.threshold
        return np.where(r <= k, 0.5 * r * r, k * (r - 0.5 * k))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return ŷ - y, clipped to norm k."""
        points, label, ndim = _aligned(points, label, ndim)
        away = points - label
        length = norms(away, ndim)
        return away * np.divide(self.threshold, length, out=np.ones_like(length), where=length > self.threshold)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = min(k, r), β = 1 and M = ℓ(r), where r is the largest distance of a query from a label."""
        r = _reach(space, gamma, delta)
        return Constants(min(self.threshold, r), 1.0, float(self.value(r, 0.0)))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Huber(self.threshold)


@dataclass(frozen=True)
class Logistic(Loss, kind="losses.Logistic"):
    """Logistic loss log(1 + exp(-y ŷ)) of labels in [-1, 1], summed over coordinates.

    Projecting on a bounded space can raise this loss: it keeps falling beyond a correct label, so that clipping the prediction
    raises it.

    Examples
    --------
    >>> Logistic().value(0.0, 1.0).round(4).item()
    0.6931
    """

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return Σ log(1 + exp(-y ŷ))."""
        points, label, ndim = _aligned(points, label, ndim)
        return np.asarray(np.logaddexp(0.0, -label * points).sum(axis=tuple(range(-ndim, 0))))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return -y / (1 + exp(y ŷ))."""
        points, label, _ = _aligned(points, label, ndim)
        return np.asarray(-label * expit(-label * points))

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = √d, β = 1/4 and M = d·log(1 + e^m), where m is the largest absolute coordinate of a query."""
        largest = space.farthest / positive("gamma", gamma) + at_least_zero("delta", delta)
        return Constants(math.sqrt(space.size), 0.25, space.size * float(np.logaddexp(0.0, largest)))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Logistic()


@dataclass(frozen=True)
class Quantile(Loss, kind="losses.Quantile"):
    """Quantile ("pinball") loss max(τ(y - ŷ), (τ-1)(y - ŷ)), summed over coordinates.

    Projecting a prediction on an interval or a box never raises this loss; projecting on a ball may.

    Examples
    --------
    >>> Quantile(level=0.9).value([3.0, 5.0], 4.0).round(6).tolist()
    [0.9, 0.1]
    """

    level: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        between("level", self.level, 0.0, 1.0)

    @property
    def translation_invariant(self) -> bool:
        """True."""
        return True

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return Σ max(τ(y - ŷ), (τ-1)(y - ŷ))."""
        points, label, ndim = _aligned(points, label, ndim)
        short = label - points
        return np.asarray(np.maximum(self.level * short, (self.level - 1) * short).sum(axis=tuple(range(-ndim, 0))))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return -τ below the label, 1-τ above it and 0 at the label, for each coordinate."""
        points, label, _ = _aligned(points, label, ndim)
        return np.where(points < label, -self.level, np.where(points > label, 1 - self.level, 0.0))

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = max(τ, 1-τ)·√d, β = ∞ and M = L·r, where r is the largest distance of a query from a label."""
        steepest = max(self.level, 1 - self.level) * math.sqrt(space.size)
        return Constants(steepest, math.inf, steepest * _reach(space, gamma, delta))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Quantile(self.level)


@dataclass(frozen=True)
class Bregman(Loss, kind="losses.Bregman"):
    """Bregman divergence B(y, ŷ), with the label as its *first* argument, summed over coordinates.

    `potential="euclidean"` is ‖ŷ - y‖²/2; `potential="entropy"` is the generalised Kullback-Leibler divergence
    y log(y/ŷ) - y + ŷ for positive numbers. The label comes first because only then does the Pythagorean inequality give
    ℓ(Πz) ≤ ℓ(z); in the order of the footnote in Brukhim, Hazan (2020) the inequality fails. Below `floor` the divergence is
    continued by its tangent, so that it stays finite, convex and Lipschitz at every query.

    Examples
    --------
    >>> Bregman("entropy").value([0.5, 1.0], 1.0).round(4).tolist()
    [0.1931, 0.0]
    """

    potential: str = "entropy"
    floor: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("potential", self.potential, ("euclidean", "entropy"))
        positive("floor", self.floor)

    @property
    def curvature(self) -> float | None:
        """1.0 for the Euclidean potential; that of the entropy grows without bound near zero."""
        return 1.0 if self.potential == "euclidean" else None

    @property
    def translation_invariant(self) -> bool:
        """Whether the potential is Euclidean."""
        return self.potential == "euclidean"

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return B(y, ŷ)."""
        if self.potential == "euclidean":
            return 0.5 * Squared().value(points, label, ndim)
        points, label, ndim = _aligned(points, label, ndim)
        held = np.maximum(points, self.floor)
        log_ratio = np.log(np.where(label > 0, label, 1.0) / held)
        terms = label * log_ratio - label + held + (1 - label / self.floor) * np.minimum(points - self.floor, 0.0)
        return np.asarray(terms.sum(axis=tuple(range(-ndim, 0))))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return ŷ - y, or 1 - y/ŷ for the entropy."""
        points, label, _ = _aligned(points, label, ndim)
        return points - label if self.potential == "euclidean" else 1 - label / np.maximum(points, self.floor)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return the constants of half the squared loss or, for the entropy, those that follow from the slope at the floor."""
        r, top, root = _reach(space, gamma, delta), number("farthest", space.farthest), math.sqrt(space.size)
        if self.potential == "euclidean":
            return Constants(r, 1.0, 0.5 * r * r)
        slope = root * max(1.0, top / self.floor)
        return Constants(slope, top / self.floor**2, slope * r)

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Squared(0.5) if self.potential == "euclidean" else losses.Entropy(self.floor)


@dataclass(frozen=True)
class Sale(Loss, kind="losses.Sale"):
    """What a price loses, where the label w is the customer's willingness to pay: -price if price ≤ w, and 0 without a sale.

    The loss falls with slope -1 up to w, jumps to zero there and stays: it is neither convex nor continuous. The gradient is that
    almost everywhere. It does not see the jump, so that gradients that are told push prices up without end, and only loss *values*
    say where customers leave. The expected loss -price · P(sale | price) is smooth where the distribution of w is. The losses of
    several goods, each bought or not at its own price, add up over coordinates.

    Examples
    --------
    >>> Sale().value([3.0, 4.0, 5.0], 4.0).tolist(), Sale().gradient([3.0, 4.0, 5.0], 4.0).tolist()
    ([-3.0, -4.0, 0.0], [-1.0, -1.0, 0.0])
    """

    @property
    def convex(self) -> bool:
        """False."""
        return False

    def value(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return minus the sum of the prices that are paid."""
        points, label, ndim = _aligned(points, label, ndim)
        return np.asarray(np.where(points <= label, -points, 0.0).sum(axis=tuple(range(-ndim, 0))))

    def gradient(self, points: ArrayLike, label: ArrayLike, ndim: int | None = None) -> Array:
        """Return -1 up to the willingness to pay and 0 beyond, for each coordinate: the derivative almost everywhere."""
        points, label, _ = _aligned(points, label, ndim)
        return np.where(points <= label, -1.0, 0.0)

    def constants(self, space: Space, gamma: float = 1.0, delta: float = 0.0) -> Constants:
        """Return L = β = ∞, because of the jump, and M = √d times the largest norm of a query."""
        gamma, delta = positive("gamma", gamma), at_least_zero("delta", delta)
        return Constants(math.inf, math.inf, math.sqrt(space.size) * (space.farthest / gamma + delta))

    def compiled_form(self) -> Any:
        """Return the form in `banditboost._compiled.losses`."""
        from banditboost._compiled import losses

        return losses.Sale()
