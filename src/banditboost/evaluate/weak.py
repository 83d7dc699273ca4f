"""Measuring a weak learner: the advantage γ and the regret R(T) of Definition 6 in Brukhim, Hazan (2020)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from banditboost._core.checks import Array, finite
from banditboost._core.streams import stream
from banditboost.learners import Learner, Linear, Scaled
from banditboost.spaces import Interval


@dataclass(frozen=True, eq=False)
class WeakLearning:
    """Losses of a learner on a sequence of linear losses, beside those of the best function of its class."""

    learner: Array
    """Σ_{t≤T} ℓ'_t(A(x_t)) for every T."""
    best: Array
    """inf_f Σ_{t≤T} ℓ'_t(f(x_t)) for every T."""

    def regret(self, gamma: float = 1.0) -> Array:
        """Return R(T) = Σ ℓ'(A(x)) - γ inf_f Σ ℓ'(f(x)) for every T (Definition 6)."""
        return self.learner - gamma * self.best

    @property
    def gamma(self) -> float:
        """The advantage γ in the least-squares fit Σ ℓ'(A(x)) ≈ γ inf_f Σ ℓ'(f(x)) + r √T over all T."""
        return float(self._fit()[0])

    @property
    def regret_rate(self) -> float:
        """The coefficient r of the fit that defines `gamma`: regret per √T at the fitted γ."""
        return float(self._fit()[1])

    def _fit(self) -> Array:
        roots = np.sqrt(np.arange(1.0, len(self.learner) + 1))
        return np.asarray(np.linalg.lstsq(np.stack([self.best, roots], axis=1), self.learner)[0])


def weak_learning(learner: Learner, contexts: Array, gradients: Array, seed: int = 0) -> WeakLearning:
    """Play one copy of a learner against the linear losses y ↦ g_t·y and measure it against its class.

    Parameters
    ----------
    learner
        `Linear` with a radius, or `Scaled` around one: learners for whose class the best function is known.
    contexts, gradients
        x_t and g_t, shapes (T, features) and (T,).
    seed
        Seed of learners that are random.

    Examples
    --------
    A learner whose plays are halved has half the advantage:

    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, (4000, 3))
    >>> g = x[:, 0] - 0.5 * x[:, 1] + rng.uniform(-1, 1, 4000)
    >>> round(weak_learning(Linear(radius=1.0), x, g).gamma, 1)
    1.0
    >>> round(weak_learning(Scaled(Linear(radius=1.0), gamma=0.5), x, g).gamma, 1)
    0.5
    """
    contexts = finite("contexts", contexts)
    if contexts.ndim != 2 or len(contexts) == 0:
        raise ValueError(f"contexts must have shape (rounds, features) and at least one row, got {contexts.shape}.")
    gradients = finite("gradients", gradients, (len(contexts),))
    inner = learner
    while isinstance(inner, Scaled):
        inner = inner.learner
    if not isinstance(inner, Linear):
        raise ValueError(f"learner must be Linear or Scaled around it, got {type(learner).__name__}.")
    best = inner.best_in_hindsight(contexts, gradients)
    bank = learner.start(1, Interval(-1.0, 1.0), contexts.shape[1], stream(seed, "perturbations"))
    paid = np.empty(len(contexts))
    for t, (x, g) in enumerate(zip(contexts, gradients, strict=True)):
        paid[t] = g * bank.play(x)[0]
        bank.update(x, np.array([g]), t + 1)
    return WeakLearning(np.cumsum(paid), best)
