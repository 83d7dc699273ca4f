"""Noise on loss values: zero-mean and bounded, with the bound as a field (w in Section 3.1 of Brukhim, Hazan 2020)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

from banditboost._core.checks import LARGEST, Array, at_least_zero, positive
from banditboost._core.spec import Spec

__all__ = ["Noise", "Rademacher", "Silent", "TruncatedGaussian", "Uniform"]


@dataclass(frozen=True)
class Noise(Spec):
    """Zero-mean noise with |w| <= `bound`.

    Drawing in blocks gives the same numbers as drawing one by one.
    """

    bound: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_zero("bound", self.bound)
        if self.bound > LARGEST:  # as losses are
            raise ValueError(f"bound must be at most {LARGEST:g}, got {self.bound!r}.")

    @abstractmethod
    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw an array of noise."""


@dataclass(frozen=True)
class Silent(Noise, kind="noise.Silent"):
    """No noise at all.

    Examples
    --------
    >>> Silent().sample(np.random.default_rng(0), (2,)).tolist()
    [0.0, 0.0]
    """

    bound: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bound != 0:
            raise ValueError(f"bound must be 0 for silent noise, got {self.bound!r}.")

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Return zeros, without drawing from the generator."""
        return np.zeros(shape)


@dataclass(frozen=True)
class Uniform(Noise, kind="noise.Uniform"):
    """Noise that is uniform on [-bound, bound]; the paper's experiments use the bound 0.1.

    Examples
    --------
    >>> draws = Uniform(0.1).sample(np.random.default_rng(0), (1000,))
    >>> bool(abs(draws).max() <= 0.1), bool(abs(draws.mean()) < 0.01)
    (True, True)
    """

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw from the uniform distribution."""
        draws = rng.random(shape)  # and then as `rng.uniform` does, which takes longer
        draws *= 2 * self.bound
        draws -= self.bound
        return draws


@dataclass(frozen=True)
class Rademacher(Noise, kind="noise.Rademacher"):
    """Noise that is plus or minus the bound, each with probability one half: the largest variance that the bound allows."""

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw a random sign for each number."""
        return np.where(rng.random(shape) < 0.5, -self.bound, self.bound)


@dataclass(frozen=True)
class TruncatedGaussian(Noise, kind="noise.TruncatedGaussian"):
    """Gaussian noise of standard deviation `scale`, conditioned on |w| <= bound."""

    bound: float = 0.3
    scale: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("bound", self.bound)
        positive("scale", self.scale)

    def sample(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Draw by inverting the distribution function; one uniform number per draw makes blocks equal to single draws."""
        tail = ndtr(-self.bound / self.scale)
        draws = self.scale * ndtri(tail + (1 - 2 * tail) * rng.random(shape))
        return np.clip(draws, -self.bound, self.bound)
