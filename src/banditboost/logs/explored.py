"""How far from its own aims the policy that wrote a log has explored."""

from __future__ import annotations

import math

import numpy as np

from banditboost._core.checks import Array
from banditboost.booster.logged import MOST_FEATURES, NEAR, ROUNDING, Blocks


def explored(log: Blocks) -> tuple[float, ...] | None:
    """Return the half-width, along each coordinate, of the uniform law with the variance of actions about their aims.

    Aims are a linear regression of actions on contexts, as in `Booster.learn_from`. None where copies learn nothing from such aims:
    densities are not known, there are too few rows or too many features, nothing was explored, or the uniform law about the aims
    has weights whose mean is far from one, so that actions are no linear function of the context.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 1, (5000, 1))
    >>> prices = 3.0 + 2.0 * x + rng.uniform(-0.5, 0.5, (5000, 1))
    >>> rows = SimpleNamespace(contexts=x, actions=prices, losses=prices[:, 0], densities=np.ones(5000), row=0)
    >>> [round(width, 2) for width in explored(SimpleNamespace(blocks=lambda: [rows]))]
    [0.5]
    """
    squares, products, totals, n = np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), 0
    for block in log.blocks():
        if block.densities is None or np.isnan(block.densities).any() or block.contexts.shape[1] > MOST_FEATURES:
            return None
        terms, a = _terms(block.contexts), block.actions
        if n == 0:
            k, d = terms.shape[1], a.shape[1]
            squares, products, totals = np.zeros((k, k)), np.zeros((k, d)), np.zeros(d)
        squares, products = squares + terms.T @ terms, products + terms.T @ a
        totals, n = totals + (a * a).sum(axis=0), n + len(a)
    if n <= 2 * len(squares):
        return None
    weights = np.linalg.lstsq(squares, products, rcond=None)[0]
    left = totals - (products * weights).sum(axis=0)
    if not (left > ROUNDING * totals).all():
        return None
    half = np.sqrt(3.0 * left / (n - len(squares)))
    mean = 0.0
    for block in log.blocks():
        inside = (np.abs(block.actions - _terms(block.contexts) @ weights) <= half).all(axis=1)
        mean += float((inside / np.asarray(block.densities)).sum()) / n / math.prod((2.0 * half).tolist())
    return tuple(half.tolist()) if 1.0 / NEAR <= mean <= NEAR else None


def _terms(contexts: Array) -> Array:
    return np.column_stack([np.ones(len(contexts)), contexts])
