"""Kernels: a policy that always plays one action is evaluated as if it played actions near it, with a kernel as its density.

In d dimensions a kernel is the product of d kernels, each with a width of its own. Where the border of the space is near, a kernel
is cut off there and divided by what is left of it, so that it stays a density on the space.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from banditboost._core.checks import Array

Bounds = tuple[Array, Array]


class Kernel(NamedTuple):
    """A symmetric density on the line, for the width one, and its distribution function."""

    density: Callable[[Array], Array]
    below: Callable[[Array], Array]


def _epanechnikov(u: Array) -> Array:
    return np.asarray(0.75 * np.maximum(1.0 - u * u, 0.0))


def _epanechnikov_below(u: Array) -> Array:
    u = np.clip(u, -1.0, 1.0)
    return np.asarray(0.5 + 0.75 * u - 0.25 * u**3)


def _gaussian(u: Array) -> Array:
    return np.asarray(np.exp(-0.5 * u * u) / math.sqrt(2.0 * math.pi))


def _gaussian_below(u: Array) -> Array:
    return np.asarray(ndtr(u))


def _triangular(u: Array) -> Array:
    return np.asarray(np.maximum(1.0 - np.abs(u), 0.0))


def _triangular_below(u: Array) -> Array:
    u = np.clip(u, -1.0, 1.0)
    return np.asarray(0.5 + u - 0.5 * u * np.abs(u))


def _uniform(u: Array) -> Array:
    return np.asarray(0.5 * (np.abs(u) <= 1.0))


def _uniform_below(u: Array) -> Array:
    return np.asarray(0.5 + 0.5 * np.clip(u, -1.0, 1.0))


KERNELS = {
    "epanechnikov": Kernel(_epanechnikov, _epanechnikov_below),
    "gaussian": Kernel(_gaussian, _gaussian_below),
    "triangular": Kernel(_triangular, _triangular_below),
    "uniform": Kernel(_uniform, _uniform_below),
}


def smoothed(kernel: Kernel, actions: Array, targets: Array, widths: Array, bounds: Bounds | None = None) -> Array:
    """Return the density of a smoothed policy at actions, shape (n,).

    Parameters
    ----------
    kernel
        One of `KERNELS`.
    actions, targets
        Where the density is wanted, and what the policy plays, shape (n, d).
    widths
        One for each coordinate, shape (d,).
    bounds
        The least and the greatest value of each coordinate, where the space has them.

    Examples
    --------
    In the open, and at the border of [0, 1], where half of the kernel is cut off:

    >>> at, plays = np.array([[0.5], [0.0]]), np.array([[0.5], [0.0]])
    >>> smoothed(KERNELS["uniform"], at, plays, np.array([0.1]), (np.zeros(1), np.ones(1))).tolist()
    [5.0, 10.0]
    """
    found = np.ones(len(actions))
    for j, width in enumerate(widths):
        centre = targets[:, j]
        each = kernel.density((actions[:, j] - centre) / width) / width
        if bounds is not None:
            inside = kernel.below((bounds[1][j] - centre) / width) - kernel.below((bounds[0][j] - centre) / width)
            each = np.divide(each, inside, out=np.zeros_like(each), where=inside > 0)
        found *= each
    return found
