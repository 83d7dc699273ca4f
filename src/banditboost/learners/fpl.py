"""Follow the perturbed leader: an online linear optimizer that needs the set's linear oracle and nothing else.

play  argmin_{x in K}  (Σ_{τ<t} g_τ + s·n_t) · x          n_t: a random vector, fresh every round
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count, one_of, positive
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.spaces import Space
from banditboost.spaces.rank_one import RankOne
from banditboost.spaces.stacks import Factored, Stack
from banditboost.theory import fpl_scale

PERTURBATIONS = ("gaussian", "laplace", "uniform")


@dataclass(frozen=True)
class FPL(Learner, kind="learners.FPL"):
    """Copies that follow the perturbed leader.

    The perturbation of the next play is drawn when a round is told, so that predicting changes nothing: all plays between two tells
    share one perturbation.

    Parameters
    ----------
    sigma
        Bound on the norm of the linear losses (σ).
    horizon
        Number of rounds (T), for which theory prescribes the scale s of the perturbation; when it is not given, the scale grows
        like √t.
    perturbation
        ``"gaussian"`` (the default: its regret grows least with the dimension), ``"uniform"`` on a cube, or ``"laplace"``:
        two-sided exponential.
    scale
        The scale s itself, instead of the one that theory prescribes.
    fresh
        Whether perturbations are drawn anew every round (needed for guarantees with high probability) or once.

    References
    ----------
    Kalai, Vempala (2005), Figure 1 and Theorem 1.1; the bound with these constants is `banditboost.theory.fpl_regret`.

    Examples
    --------
    >>> from banditboost.spaces import Simplex
    >>> bank = FPL(sigma=1.0, horizon=100).start(2, Simplex(3), 0, np.random.default_rng(0))
    >>> for t in range(1, 101):
    ...     bank.update(None, np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), t)
    >>> bank.play(None).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    sigma: float = 1.0
    horizon: int | None = None
    perturbation: Literal["gaussian", "laplace", "uniform"] = "gaussian"
    scale: float | None = None
    fresh: bool = True

    contextual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("sigma", self.sigma)
        one_of("perturbation", self.perturbation, PERTURBATIONS)
        if self.horizon is not None:
            count("horizon", self.horizon)
        if self.scale is not None:
            positive("scale", self.scale)

    @classmethod
    def examples(cls) -> tuple[FPL, ...]:
        """Give every perturbation, fresh and fixed, with and without a horizon."""
        return (
            cls(),
            cls(perturbation="uniform", horizon=500),
            cls(perturbation="laplace", scale=2.0),
            cls(fresh=False),
        )

    def size(self, t: int, dimension: int) -> float:
        """Return the scale s of the perturbation in round t."""
        if self.scale is not None:
            return self.scale
        return fpl_scale(self.horizon or t, self.sigma, dimension, self.perturbation)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: sums, and perturbations or, for large matrices, the vectors of the plays."""
        if isinstance(space, RankOne) and space.large:
            return copies * ((1 if self.fresh else 2) * space.size + sum(space.shape)) + 1
        return 2 * copies * space.size + 1

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
        """Make copies without gradients, and draw their first perturbations."""
        if isinstance(space, RankOne) and space.large:
            return RankOneFPLBank(self, copies, space, rng)
        return FPLBank(self, copies, space, rng)

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw perturbations of scale 1."""
        if self.perturbation == "gaussian":
            return rng.standard_normal(shape)
        if self.perturbation == "uniform":
            return rng.uniform(-0.5, 0.5, shape)
        return rng.laplace(size=shape)


class FPLBank(Bank):
    """The sum of the gradients and the perturbation of the next play, of every copy."""

    def __init__(self, spec: FPL, copies: int, space: Space, rng: np.random.Generator) -> None:
        self.spec, self.space, self.rng = spec, space, rng
        self.total = np.zeros((copies, *space.shape))
        self.noise = spec.draw(rng, self.total.shape)
        self.scale = np.array(spec.size(1, space.size))

    def play(self, context: Array | None) -> Array:
        """Return the perturbed leaders, one call of the oracle for all copies."""
        return self.space.minimize(self.total + self.scale * self.noise)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the gradients and draw the next perturbation."""
        self.total += gradients
        if self.spec.fresh:
            self.noise[...] = self.spec.draw(self.rng, self.noise.shape)
        self.scale[...] = self.spec.size(t + 1, self.space.size)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Forget the gradients of these copies and draw their perturbations anew."""
        self.total[copies] = 0.0
        self.noise[copies] = self.spec.draw(rng, self.noise[copies].shape)

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned("FPL", len(self.total))]

    @property
    def shared(self) -> frozenset[str]:
        """The scale of the perturbations."""
        return frozenset({"scale"})

    def arrays(self) -> dict[str, Array]:
        """Return sums, perturbations and scale."""
        return {"total": self.total, "noise": self.noise, "scale": self.scale}


class RankOneFPLBank(Bank):
    """The same for large matrices: one perturbation at a time, and plays as pairs of vectors, each searched from the last one.

    The next plays are searched when a round is told. Predicting then changes nothing although a search begins at the last answer,
    fresh perturbations need not be kept, and the sums of the gradients are the only N matrices in memory.
    """

    def __init__(self, spec: FPL, copies: int, space: RankOne, rng: np.random.Generator) -> None:
        self.spec, self.space, self.rng = spec, space, rng
        self.total = np.zeros((copies, *space.shape))
        self.noise = spec.draw(rng, (0 if spec.fresh else copies, *space.shape))
        self.scale = np.array(spec.size(1, space.size))
        self.left, self.right = (np.zeros((copies, side)) for side in space.shape)
        self._lead(range(copies), rng)

    def play(self, context: Array | None) -> Array:
        """Return the perturbed leaders, described by their vectors."""
        return Factored(self.left.copy(), self.right.copy()).array()

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the gradients and find the next plays."""
        if isinstance(gradients, Stack):
            gradients.add_to(self.total)
        else:
            self.total += gradients
        self.scale[...] = self.spec.size(t + 1, self.space.size)
        self._lead(range(len(self.total)), self.rng)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Forget the gradients of these copies, draw their perturbations anew and find their next plays."""
        for array in (self.total, self.left, self.right):
            array[copies] = 0.0
        if not self.spec.fresh:
            self.noise[copies] = self.spec.draw(rng, self.noise[copies].shape)
        self._lead(copies.tolist(), rng)

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned("FPL", len(self.total))]

    @property
    def shared(self) -> frozenset[str]:
        """The scale of the perturbations."""
        return frozenset({"scale"})

    def _lead(self, copies: Iterable[int], rng: np.random.Generator) -> None:
        """Find the next plays of some copies."""
        for i in copies:
            perturbed = self.spec.draw(rng, self.total[i].shape) if self.spec.fresh else self.noise[i].copy()
            perturbed *= self.scale
            perturbed += self.total[i]
            self.left[i], self.right[i] = self.space.minimize_factored(perturbed, start=self.right[i])

    def arrays(self) -> dict[str, Array]:
        """Return sums, scale, plays, and perturbations that are drawn once."""
        kept = {} if self.spec.fresh else {"noise": self.noise}
        return {"total": self.total, "scale": self.scale, "left": self.left, "right": self.right} | kept
