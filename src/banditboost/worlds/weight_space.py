"""A labelled world whose decisions are the weights of a linear predictor instead of predictions."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array
from banditboost._core.shown import Shown
from banditboost.spaces import Space
from banditboost.worlds.base import World, WorldBlock
from banditboost.worlds.supervised import Supervised


class WeightSpace(World):
    """The losses ℓ_t(w·x_t) as functions of the weights w: no context is shown, and decisions are weights.

    Brukhim, Hazan (2020) leave open whether their linear learners perturb their prediction (d = 1) or their weights (d = number
    of features); this world implements the second reading. The decision set is `Ball(world.dimension, radius)`.

    Parameters
    ----------
    world
        Labelled rounds with labels that are plain numbers.
    intercept
        True: a constant 1 is appended to every context.

    Examples
    --------
    >>> world = WeightSpace(Supervised([[2.0]], [3.0]), intercept=False)
    >>> world.values(0, np.array([[1.0], [1.5]])).tolist(), world.gradients(0, np.array([[1.0]])).tolist()
    ([1.0, 0.0], [[-4.0]])
    """

    def __init__(self, world: Supervised, intercept: bool = True) -> None:
        super().__init__(world.noise, world.seed)
        if world.shape != ():
            raise ValueError(f"world must have labels that are plain numbers, got labels of shape {world.shape}.")
        self.world, self.intercept = world, intercept

    @property
    def dimension(self) -> int:
        """Number of weights."""
        return self.world.features + self.intercept

    def __len__(self) -> int:
        return len(self.world)

    def context(self, t: int) -> None:
        """Return None: these rounds have no context."""
        return

    def _features(self, t: int) -> Array:
        contexts = self.world.contexts(t, t + 1)
        row = np.asarray(contexts if isinstance(contexts, np.ndarray) else contexts.toarray())[0]
        return np.append(row, 1.0) if self.intercept else row

    def compiled_block(self, begin: int, end: int) -> WorldBlock:
        """Return no contexts, and a loss that multiplies weights by them."""
        from banditboost._compiled.losses import OfProduct

        rows = self.world.contexts(begin, end)
        X = rows if isinstance(rows, np.ndarray) else rows.toarray()
        if self.intercept:
            X = np.concatenate([X, np.ones((len(X), 1))], axis=1)
        loss = OfProduct(self.world.loss.compiled_form(), np.ascontiguousarray(X), np.empty((1, 1)), np.empty((1, 1)))
        shown = Shown.features(np.empty((len(X), 1, 0)))
        return WorldBlock(shown, self.world.labels(begin, end).reshape(-1, 1), loss)

    def why_not_compiled(self, space: Space) -> str | None:
        """Return why the world within cannot be compiled, or that decisions are not weights."""
        if space.shape != (self.dimension,):
            return f"there are {self.dimension} weights and the space has shape {space.shape}"
        return super().why_not_compiled(space) or self.world.loss.why_not_compiled()

    def values(self, t: int, points: Array) -> Array:
        """Return ℓ(w·x_t, y_t)."""
        return self.world.values(t, points @ self._features(t))

    def gradients(self, t: int, points: Array) -> Array:
        """Return ℓ'(w·x_t, y_t) x_t."""
        features = self._features(t)
        return np.asarray(self.world.gradients(t, points @ features)[..., np.newaxis] * features)
