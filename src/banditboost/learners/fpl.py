"""Follow the perturbed leader: an online linear optimizer that needs the set's linear oracle and nothing else.

play  argmin_{x in K}  (Σ_{τ<t} g_τ + s·n_t) · x          n_t: a random vector, fresh every round
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, count, one_of, positive
from banditboost.learners import perturbing
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.learners.fpl_matrices import RankOneFPLBank
from banditboost.spaces import Space
from banditboost.spaces.rank_one import RankOne
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
        The scale s itself, instead of the one that theory prescribes; or ``"adaptive"``, for which neither σ nor T is needed: a
        Gaussian perturbation is drawn once, and others are added where plays have changed too much
        (`banditboost.learners.perturbing`).
    fresh
        Whether perturbations are drawn anew every round (needed for guarantees with high probability) or once, which guarantees
        in expectation do not need, nor does Theorem 2. An adaptive scale has perturbations that stay.

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
    scale: float | Literal["adaptive"] | None = None
    fresh: bool = True

    contextual: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("sigma", self.sigma)
        one_of("perturbation", self.perturbation, PERTURBATIONS)
        if self.horizon is not None:
            count("horizon", self.horizon)
        if self.adaptive and self.perturbation != "gaussian":
            raise ValueError(f"perturbation must be 'gaussian' where the scale is adaptive, got {self.perturbation!r}.")
        if self.scale is not None and self.scale != "adaptive":
            positive("scale", self.scale)

    @property
    def adaptive(self) -> bool:
        """Whether the scale grows as plays change."""
        return self.scale == "adaptive"

    @property
    def varies(self) -> bool:
        """Whether perturbations stay and their scale changes from round to round."""
        return not self.fresh and self.horizon is None and self.scale is None

    @classmethod
    def examples(cls) -> tuple[FPL, ...]:
        """Give every perturbation, fresh and fixed, with and without a horizon."""
        return (
            cls(),
            cls(perturbation="uniform", horizon=500),
            cls(perturbation="laplace", scale=2.0),
            cls(fresh=False),
            cls(scale="adaptive"),
        )

    def size(self, t: int, dimension: int) -> float:
        """Return the scale s of the perturbation in round t."""
        if isinstance(self.scale, int | float):
            return self.scale
        return fpl_scale(self.horizon or t, self.sigma, dimension, self.perturbation)

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: sums, and perturbations; for large matrices, at least those of sums and plays."""
        if isinstance(space, RankOne) and space.large:
            return RankOneFPLBank.n_floats(copies, space)
        return copies * 3 * (space.size + 1) if self.adaptive else 2 * copies * space.size + 1

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> Bank:
        """Make copies without gradients, and draw their first perturbations."""
        if isinstance(space, RankOne) and space.large:
            return RankOneFPLBank(self, copies, space, rng)
        return (AdaptiveFPLBank if self.adaptive else FPLBank)(self, copies, space, rng)

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


class AdaptiveFPLBank(FPLBank):
    """The same with perturbations that are added where plays change too much; each play is found when a round is told."""

    def __init__(self, spec: FPL, copies: int, space: Space, rng: np.random.Generator) -> None:
        self.spec, self.space, self.rng = spec, space, rng
        self.total = np.zeros((copies, *space.shape))
        self.noise = spec.draw(rng, self.total.shape)
        self.scale, self.saved = np.ones(copies), np.zeros(copies)
        self.seen = np.zeros(copies, dtype=np.bool_)
        self.plays = np.array(space.minimize(self.noise))

    def play(self, context: Array | None) -> Array:
        """Return the perturbed leaders."""
        return self.plays.copy()

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add the gradients, find the next plays, and perturb those copies more whose plays have changed too much."""
        first = perturbing.first_scales(gradients, np.flatnonzero(~self.seen), self.space)
        for copy, scale in first.items():
            self.noise[copy] *= scale
            self.scale[copy], self.seen[copy] = scale, True
        self.total += gradients
        before = self.plays.copy()
        self._lead(np.arange(len(self.plays)))
        away = ((self.total + self.noise) * (before - self.plays)).reshape(len(before), -1)
        self.saved += np.maximum(away.sum(axis=1), 0.0)
        scales = perturbing.next_scales(self.scale, self.saved, self.space)
        due = np.flatnonzero(scales > self.scale)
        for i in due:
            more = np.sqrt(scales[i] ** 2 - self.scale[i] ** 2)
            self.noise[i] += more * self.spec.draw(self.rng, self.noise[i].shape)
        self.scale[due], self.saved[due] = scales[due], 0.0
        self._lead(due)

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Forget the gradients of these copies, and draw their perturbations anew."""
        super().reset(copies, rng)
        self.scale[copies], self.saved[copies], self.seen[copies] = 1.0, 0.0, False
        self._lead(copies)

    @property
    def shared(self) -> frozenset[str]:
        """Nothing."""
        return frozenset()

    def arrays(self) -> dict[str, Array]:
        """Return sums, perturbations, plays, and what the scales depend on."""
        scales = {"scale": self.scale, "saved": self.saved, "seen": self.seen}
        return {"total": self.total, "noise": self.noise, "plays": self.plays} | scales

    def _lead(self, copies: NDArray[np.intp]) -> None:
        if len(copies):
            self.plays[copies] = self.space.minimize(self.total[copies] + self.noise[copies])
