"""What the tests of spaces share: every space there is, samples of members, and an independent projection."""

from __future__ import annotations

import re
from itertools import permutations

import numpy as np
from scipy.optimize import nnls

from banditboost import spaces
from banditboost._core.checks import Array
from banditboost.spaces import Birkhoff, Hull, L1Ball, Paths, Simplex, Space


def kinds() -> list[type[Space]]:
    """Every exported class of space, by discovery."""
    found = [getattr(spaces, name) for name in spaces.__all__]
    return [kind for kind in found if isinstance(kind, type) and issubclass(kind, Space) and kind is not Space]


EXAMPLES: list[Space] = [example for kind in kinds() for example in kind.examples()]


def name(space: object) -> str:
    """Give a test its name; addresses of functions would make it another one in every run."""
    return re.sub(r"<function (\w+) at 0x\w+>", r"\1", str(space))[:60]


def paths_of(space: Paths) -> Array:
    """Every path, found by walking on from the source."""
    found, waiting = [], [(space.source, np.zeros(len(space.edges)))]
    while waiting:
        place, path = waiting.pop()
        if place == space.sink:
            found.append(path)
        for k, (tail, head) in enumerate(space.edges):
            if tail == place:
                waiting.append((head, path + np.eye(len(space.edges))[k]))
    return np.array(found)


def vertices_of(space: Space) -> Array | None:
    """Every vertex as a row, listed without the library's oracle; None for sets that are not listed here."""
    if isinstance(space, Simplex):
        return np.full((space.dimension,) * 2, space.floor) + space.spread * np.eye(space.dimension)
    if isinstance(space, L1Ball):
        return space.radius * np.concatenate([np.eye(space.dimension), -np.eye(space.dimension)])
    if isinstance(space, Hull):
        return np.array(space.points)
    if isinstance(space, Birkhoff):
        return np.array([np.eye(space.n)[list(order)].ravel() for order in permutations(range(space.n))])
    return paths_of(space) if isinstance(space, Paths) else None


def nearest_mixtures(vertices: Array, points: Array) -> Array:
    """Project by non-negative least squares (Lawson, Hanson 1974, chapter 23): slow, exact, and nothing of ours."""
    return np.array([_nearest_mixture(vertices, point) for point in points])


def _nearest_mixture(vertices: Array, point: Array) -> Array:
    away = vertices - point
    away = away / np.abs(away).max()
    for seed in range(10):
        # SciPy 1.17's nnls stops too early now and then; another order of the vertices helps. Its answers are checked.
        order = np.random.default_rng(seed).permutation(len(vertices))
        weights, _ = nnls(np.vstack([away[order].T, np.ones(len(vertices))]), np.append(np.zeros(len(point)), 1.0))
        nearest = weights / weights.sum() @ vertices[order]
        if ((point - nearest) @ (vertices - nearest).T).max() < 1e-10:
            return np.asarray(nearest)
    raise AssertionError("The reference did not find the nearest mixture.")
