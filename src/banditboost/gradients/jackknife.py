"""A small model of the round's loss, fitted to all answers but one: for every copy at once.

All N queries of a round look at the same convex function, at known points. For copy i a model q_{-i} is fitted to the other
N-1 answers by ridge regression on features φ(z); the fit without a row follows from the fit to all rows:

    θ_{-i} = θ - A⁻¹φ_i e_i,   e_i = (loss_i - φ_i·θ) / (1 - h_i),   h_i = φ_i·A⁻¹φ_i,   A = Σ_k φ_k φ_kᵀ + Λ

and e_i is exactly loss_i - q_{-i}(z_i). Nothing in q_{-i} may depend on z_i or loss_i: features are centred and scaled by the
anchors, which were fixed before any question was asked, and the ridge Λ is a constant.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from banditboost.require import Array


class Fit(NamedTuple):
    """What the models say where it matters."""

    surprises: Array
    """e_i = loss_i - q_{-i}(z_i), shape (N,)."""
    slopes: Array
    """∇q_{-i}(y^{i-1}), shape (N, d)."""


def leave_one_out(queries: Array, answers: Array, anchors: Array, delta: float, curvature: str, ridge: float) -> Fit:
    """Fit q(z) = a + b·u + Σ h_j u_j²/2 with u = (z - c)/s to all rows but each; return surprises and slopes.

    Parameters
    ----------
    queries, answers
        Points z_k, shape (N, d), and losses, shape (N,).
    anchors
        y^{k-1}, shape (N, d): their mean is the centre c, their spread and δ the scale s.
    delta
        δ.
    curvature
        ``"none"``, ``"isotropic"`` (one h for all coordinates) or ``"diagonal"``.
    ridge
        Penalty on slopes and curvatures in units of the scaled features; the level a is free.
    """
    copies, d = queries.shape
    center = anchors.mean(axis=0)
    scale = delta + float(np.sqrt(np.square(anchors - center).mean()))
    features = _features((queries - center) / scale, curvature)
    penalty = np.full(features.shape[1], ridge)
    penalty[0] = 1e-9  # the level is free, but one other answer must be enough for a solution
    inverse = np.linalg.inv(features.T @ features + np.diag(penalty))
    lever = features @ inverse
    left = 1 - (lever * features).sum(axis=1)
    theta = lever.T @ answers
    surprises = (answers - features @ theta) / left
    thetas = theta - lever * surprises[:, np.newaxis]
    u = (anchors - center) / scale
    bends = np.zeros((copies, d)) if curvature == "none" else thetas[:, d + 1 :]
    return Fit(surprises, (thetas[:, 1 : d + 1] + bends * u) / scale)


def _features(u: Array, curvature: str) -> Array:
    ones = np.ones((len(u), 1))
    if curvature == "none":
        return np.concatenate([ones, u], axis=1)
    half = 0.5 * np.square(u)
    return np.concatenate([ones, u, half.sum(axis=1, keepdims=True) if curvature == "isotropic" else half], axis=1)
