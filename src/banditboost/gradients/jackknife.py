"""A small model of the round's loss, fitted to all answers but one: for every copy at once.

All N queries of a round look at the same convex function, at known points. For copy i a model q_{-i} is fitted to the other
N-1 answers by ridge regression on features φ(z); the fit without a row follows from the fit to all rows:

    θ_{-i} = θ - A⁻¹φ_i e_i,   e_i = (loss_i - φ_i·θ) / (1 - h_i),   h_i = φ_i·A⁻¹φ_i,   A = Σ_k φ_k φ_kᵀ + Λ

and e_i is exactly loss_i - q_{-i}(z_i). Nothing in q_{-i} may depend on z_i or loss_i: features are centred and scaled by the
anchors, which were fixed before any question was asked, the ridge Λ is a constant, and how far q_{-i} may go is measured by the
other answers alone. Sums run over the rows that were asked; θ_{-i} = θ for those that were not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

LEVEL_RIDGE = 1e-6
"""The level is as good as free, but one other answer must be enough for a solution."""


class Fit(NamedTuple):
    """What the models say where it matters."""

    values: Array
    """q_{-i}(z_i), shape (N,)."""
    slopes: Array
    """∇q_{-i}(y^{i-1}), shape (N, d)."""


class _Frame(NamedTuple):
    """Where features are centred and what they are scaled by: the anchors', known before any direction was drawn."""

    center: Array
    scale: float

    def __call__(self, points: Array) -> Array:
        return np.asarray((points - self.center) / self.scale)


def leave_one_out(
    anchors: Array,
    points: Array,
    answers: Array,
    chosen: NDArray[np.bool_],
    delta: float,
    shape: str,
    ridge: float,
    limit: float,
) -> Fit:
    """Fit q(z) = a + b·u + Σ h_j u_j²/2 with u = (z - c)/s to all rows but each; return what it says of that row.

    Parameters
    ----------
    anchors, points
        y^{k-1} and z_k, shape (N, d): the anchors' mean is the centre c, their spread and δ the scale s.
    answers, chosen
        Losses at z_k and whether they were asked for, shape (N,).
    delta
        δ.
    shape
        ``"level"``, ``"linear"``, ``"isotropic"`` (one h for all coordinates) or ``"diagonal"``.
    ridge
        Penalty on b and h in units of the scaled features.
    limit
        How far from the mean of the other answers q may go within δ of the anchor, in units of their range.
    """
    asked, frame = chosen.astype(np.float64), _frame(anchors, delta)
    phi, lever, theta = _fit(frame(points), answers, asked, shape, ridge)
    left = 1 - asked * (lever * phi).sum(axis=1)
    if not (left > 0).all():
        raise _undetermined(ridge, int(asked.sum()), phi.shape[1])
    surprises = asked * (answers - phi @ theta) / left
    thetas = theta - lever * surprises[:, np.newaxis]
    here = frame(anchors)
    slopes, bends = _slopes(thetas, here, shape)
    values, level = (thetas * phi).sum(axis=1), (thetas * _features(here, shape)).sum(axis=1)
    reach = delta / frame.scale
    strays = reach * np.sqrt(np.square(slopes).sum(axis=1)) + 0.5 * reach**2 * np.abs(bends).max(axis=1)
    mean, spread = _others(answers, chosen)
    strays += np.abs(level - mean)
    kept = np.where(strays > limit * spread, limit * spread / np.where(strays > 0, strays, 1.0), 1.0)
    return Fit(mean + kept * (values - mean), (kept / frame.scale)[:, np.newaxis] * slopes)


def fit_all(
    anchors: Array, points: Array, answers: Array, chosen: NDArray[np.bool_], delta: float, shape: str, ridge: float
) -> tuple[Array, float]:
    """Fit one such model to all rows; return slopes at the anchors, shape (N, d), and the mean curvature of the coordinates."""
    frame, asked = _frame(anchors, delta), chosen.astype(np.float64)
    # Less their mean, so that a large level costs nothing; with a row left out that would tell of it.
    centred = answers - (asked * answers).sum() / max(asked.sum(), 1.0)
    _, _, theta = _fit(frame(points), centred, asked, shape, ridge)
    thetas = np.broadcast_to(theta, (len(anchors), len(theta)))
    slopes, bends = _slopes(thetas, frame(anchors), shape)
    return np.asarray(slopes / frame.scale), float(bends[0].mean()) / frame.scale**2


def _frame(anchors: Array, delta: float) -> _Frame:
    center = anchors.mean(axis=0)
    return _Frame(center, delta + float(np.sqrt(np.square(anchors - center).mean())))


def _fit(u: Array, answers: Array, asked: Array, shape: str, ridge: float) -> tuple[Array, Array, Array]:
    """Return φ, φA⁻¹ and θ."""
    phi = _features(u, shape)
    penalty = np.full(phi.shape[1], ridge)
    penalty[0] = LEVEL_RIDGE
    try:
        inverse = np.linalg.inv(phi.T @ (asked[:, np.newaxis] * phi) + np.diag(penalty))
    except np.linalg.LinAlgError:
        raise _undetermined(ridge, int(asked.sum()), phi.shape[1]) from None
    lever = phi @ inverse
    return phi, lever, lever.T @ (asked * answers)


def _undetermined(ridge: float, answers: int, coefficients: int) -> ValueError:
    return ValueError(
        f"ridge must be larger for {answers} answers to determine the {coefficients} coefficients of a model, got {ridge!r}."
    )


def _slopes(thetas: Array, u: Array, shape: str) -> tuple[Array, Array]:
    """Return slopes at u, and the bends, both in scaled units, shape (N, d)."""
    d = u.shape[1]
    bends = np.zeros_like(u)
    if shape in ("isotropic", "diagonal"):
        bends += thetas[:, d + 1 :]
    return bends * u + (thetas[:, 1 : d + 1] if shape != "level" else 0.0), bends


def _features(u: Array, shape: str) -> Array:
    ones, half = np.ones((len(u), 1)), 0.5 * np.square(u)
    match shape:
        case "level":
            return ones
        case "linear":
            return np.concatenate([ones, u], axis=1)
        case "isotropic":
            return np.concatenate([ones, u, half.sum(axis=1, keepdims=True)], axis=1)
    return np.concatenate([ones, u, half], axis=1)


def _others(answers: Array, chosen: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return mean and range of the other answers, for each; zero where there are none."""
    others = chosen.sum() - chosen
    mean = ((answers * chosen).sum() - answers * chosen) / np.maximum(others, 1)
    high, low = np.where(chosen, answers, -np.inf), np.where(chosen, answers, np.inf)
    spread = _without(high) + _without(-low)
    return mean, np.where(others > 0, spread, 0.0)


def _without(values: Array) -> Array:
    """Return, for each, the largest of the others (0 where that is nothing at all)."""
    if len(values) == 1:
        return np.zeros(1)
    order = np.argsort(values)
    largest = np.full(len(values), values[order[-1]])
    largest[order[-1]] = values[order[-2]]
    return np.where(np.isfinite(largest), largest, 0.0)
