"""Regularised follow the leader: play the leader of the past losses plus a regulariser.

    x_t = argmin_{x in K}  η Σ_{τ<t} g_τ·x + R(x)

Euclidean R(x) = ‖x - c‖²/2 about the centre c gives Π_K(c - η Σ g); entropic R(x) = Σ x_j log x_j on the simplex gives exponential
weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from banditboost._core.checks import Array, count, one_of, positive
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.rates import Constant, Power, Rate
from banditboost.spaces import Simplex, Space
from banditboost.theory import entropic_range, euclidean_range, ftrl_rate


@dataclass(frozen=True)
class FTRL(Learner, kind="learners.FTRL"):
    """Copies that follow the regularised leader.

    Parameters
    ----------
    sigma
        Bound on the linear losses (σ): on their Euclidean norm, or on their largest coordinate for the entropy.
    horizon
        Number of rounds (T), for which theory prescribes the rate η; when it is not given, η falls like 1/√t.
    regularizer
        ``"euclidean"``, or ``"entropic"`` on the simplex.
    rate
        The rate η itself, instead of the one that theory prescribes.

    References
    ----------
    Hazan, *Introduction to Online Convex Optimization*, Chapter 5; regret: `banditboost.theory.ftrl_regret`.

    Examples
    --------
    >>> bank = FTRL(horizon=100, regularizer="entropic").start(1, Simplex(3), 0, np.random.default_rng(0))
    >>> bank.update(None, np.array([[0.0, 1.0, 1.0]]), t=1)
    >>> bank.play(None).round(3).tolist()
    [[0.367, 0.316, 0.316]]
    """

    sigma: float = 1.0
    horizon: int | None = None
    regularizer: Literal["euclidean", "entropic"] = "euclidean"
    rate: Rate | None = None

    contextual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("sigma", self.sigma)
        if self.rate is not None and not isinstance(self.rate, Rate):
            raise ValueError(f"rate must be a Rate, such as Power(0.1, 0.5), got {self.rate!r}.")
        one_of("regularizer", self.regularizer, ("euclidean", "entropic"))
        if self.horizon is not None:
            count("horizon", self.horizon)

    @classmethod
    def examples(cls) -> tuple[FTRL, ...]:
        """Give one without and one with a horizon."""
        return (cls(), cls(horizon=500))

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> FTRLBank:
        """Make copies without gradients."""
        sigma, spread = self.sigma, euclidean_range(space.diameter)
        if self.regularizer == "entropic":
            if not isinstance(space, Simplex):
                raise ValueError(
                    f"regularizer must be euclidean on a {type(space).__name__}: the entropy needs a Simplex."
                )
            # The entropy lives on probabilities p, of which the decision is floor + spread·p.
            sigma, spread = sigma * space.spread, entropic_range(space.size)
        rate = self.rate
        if rate is None:
            first = ftrl_rate(self.horizon or 1, sigma, spread)
            rate = Power(first, 0.5) if self.horizon is None else Constant(first)
        return FTRLBank(rate, self.regularizer == "entropic", copies, space)


class FTRLBank(Bank):
    """The sum of the gradients of every copy, and the rate of the next play."""

    def __init__(self, rate: Rate, entropic: bool, copies: int, space: Space) -> None:
        self.rate, self.entropic, self.space = rate, entropic, space
        self.total = np.zeros((copies, *space.shape))
        self.eta = np.array(rate.step(1))

    def play(self, context: Array | None) -> Array:
        """Return the regularised leaders."""
        if not self.entropic:
            return self.space.project(self.space.inner_centre - self.eta * self.total)
        assert isinstance(self.space, Simplex)
        spread = self.space.spread
        return np.asarray(self.space.floor + spread * softmax(-self.eta * spread * self.total, axis=-1))

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the gradients."""
        self.total += gradients
        self.eta[...] = self.rate.step(t + 1)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Forget the gradients of these copies."""
        self.total[copies] = 0.0

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned(self.kind, len(self.total))]

    @property
    def shared(self) -> frozenset[str]:
        """The rate."""
        return frozenset({"eta"})

    def arrays(self) -> dict[str, Array]:
        """Return the sums and the rate."""
        return {"total": self.total, "eta": self.eta}
