"""Copies that see no feature: each plays one number for all contexts, the mean of what the rounds so far have asked for.

Idea: a linear model whose intercept is learned together with many weights takes long to find even the mean. A copy of its own finds
it at once, and the copies after it are judged by what they add to it: a chain can then shrink them towards the mean.

    a_i = - Σ_s g_{i,s} / (λ + c t)          ridge regression of -g/c on the constant 1
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array, positive
from banditboost._core.shown import Prepared, Shown
from banditboost.learners.base import Bank, Learned, Learner
from banditboost.spaces import Space


@dataclass(frozen=True)
class Level(Learner, kind="learners.Level"):
    """Copies that play the same in every context, for chains that add plays up.

    Parameters
    ----------
    ridge
        λ: how slowly plays leave zero.
    curvature
        c, the curvature of the loss: 2 for the squared loss.
    latest
        True: what the last round has asked for is played, -g/c, for gradients that tell the first copy where the best constant lies
        (`Remembered(levels=True)`). Where a gradient is zero, its round has asked for nothing.

    Examples
    --------
    >>> from banditboost.spaces import Interval
    >>> bank = Level().start(1, Interval(-5, 5), 3, np.random.default_rng(0))
    >>> for t in range(1, 101):  # the loss is least at 4
    ...     bank.update(np.zeros(3), np.array([-8.0]), t)
    >>> round(float(bank.play(np.ones(3))[0]), 2)
    3.98
    """

    ridge: float = 1.0
    curvature: float = 2.0
    latest: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("ridge", self.ridge)
        positive("curvature", self.curvature)

    @property
    def fits_residuals(self) -> bool:
        """True: it fits what the start of the chain has left over."""
        return True

    def thin(self, features: int) -> bool:
        """True: contexts play no part."""
        return True

    def n_floats(self, copies: int, space: Space, features: int) -> int:
        """Return the number of floats: a sum of gradients, and a weight."""
        return copies * (space.size + 1)

    def start(self, copies: int, space: Space, features: int, rng: np.random.Generator) -> LevelBank:
        """Play zero."""
        return LevelBank(self, np.zeros((copies, *space.shape)), np.full(copies, float(self.ridge)))


class LevelBank(Bank):
    """Minus the sums of gradients, shape (N, *shape), and λ + c t, shape (N,)."""

    def __init__(self, spec: Level, sums: Array, weights: Array) -> None:
        self.spec, self.sums, self.weights = spec, sums, weights

    def play(self, context: Array | None) -> Array:
        """Return the means."""
        return np.asarray(self.sums / self.weights.reshape(-1, *(1,) * (self.sums.ndim - 1)))

    def play_many(self, contexts: Array) -> Array:
        """Return the same for every row."""
        plays = self.play(None)
        return np.repeat(plays[:, np.newaxis], contexts.shape[0], axis=1)

    def update(self, context: Array | None, gradients: Array, t: int) -> None:
        """Add a round, or forget all others."""
        if self.spec.latest:
            self.sums[:] = np.where(gradients != 0, -gradients, self.sums)
            self.weights[:] = self.spec.curvature
            return
        self.sums -= gradients
        self.weights += self.spec.curvature

    def reset(self, copies: NDArray[np.intp], rng: np.random.Generator) -> None:
        """Let these copies play zero again."""
        self.sums[copies], self.weights[copies] = 0.0, self.spec.ridge

    def stretched(self, features: int, rng: np.random.Generator) -> LevelBank:
        """Return the same: features play no part."""
        return LevelBank(self.spec, self.sums.copy(), self.weights.copy())

    def feature_weights(self) -> list[Learned]:
        """Return nothing to show: these copies see no features."""
        return [Learned(self.kind, len(self.sums))]

    def arrays(self) -> dict[str, Array]:
        """Return sums and weights."""
        return {"sums": self.sums, "weights": self.weights}

    @property
    def skips_rounds(self) -> bool:
        """True: all is learned in place."""
        return True

    def compiled_form(self, shown: Shown, rounds_done: int) -> Prepared:
        """Return the form in `banditboost._compiled.level`."""
        from banditboost._compiled.level import Level as Form

        return Prepared(
            Form(self.sums.reshape(len(self.sums), -1), self.weights, float(self.spec.curvature), self.spec.latest)
        )
