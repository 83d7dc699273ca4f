"""A synthetic linear world whose best linear predictor is known exactly."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array, at_least_zero, count, positive
from banditboost._core.streams import stream
from banditboost.losses import Squared
from banditboost.noise import Noise
from banditboost.worlds.supervised import Supervised


class SyntheticLinear(Supervised):
    """Labels W·x ± e: every context occurs twice, with labels above and below W·x by the same vector e.

    The residuals of W then add up to zero at every context, so that W is *exactly* the best linear predictor in hindsight under
    the squared loss, for any contexts, and its total loss is the sum of the squared residuals.

    Parameters
    ----------
    rounds
        T, the number of rounds, rounded up to an even number.
    features
        Length of a context, drawn uniformly from [-1, 1].
    dimension
        Length of a label; None for plain numbers.
    spread
        Largest residual in each coordinate.
    norm
        Frobenius norm of W.
    noise, seed
        As for every world.

    Examples
    --------
    >>> world = SyntheticLinear(rounds=100, features=3, spread=0.5, seed=1)
    >>> best = np.linalg.lstsq(world.contexts(), world.labels())[0]
    >>> bool(np.allclose(best, world.weights))
    True
    """

    def __init__(
        self,
        rounds: int = 1000,
        features: int = 5,
        dimension: int | None = None,
        spread: float = 0.1,
        norm: float = 1.0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> None:
        pairs = (count("rounds", rounds) + 1) // 2
        shape = () if dimension is None else (count("dimension", dimension),)
        rng = stream(count("seed", seed, least=0), "world")
        weights = rng.standard_normal((*shape, count("features", features)))
        weights *= positive("norm", norm) / np.linalg.norm(weights)
        contexts = rng.uniform(-1.0, 1.0, (pairs, features))
        residuals = rng.uniform(-1.0, 1.0, (pairs, *shape)) * at_least_zero("spread", spread)
        clean = contexts @ weights.T
        order = rng.permutation(2 * pairs)
        labels = np.concatenate([clean + residuals, clean - residuals])[order]
        super().__init__(np.concatenate([contexts, contexts])[order], labels, Squared(), noise, seed)
        self.weights: Array = weights
        """The best linear predictor, shape (*shape, features)."""

    @property
    def best_losses(self) -> Array:
        """The loss of `weights` in every round."""
        return self.loss.value(self.contexts() @ self.weights.T, self.labels(), len(self.shape))
