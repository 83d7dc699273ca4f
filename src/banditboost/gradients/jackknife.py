"""Leave-one-out models of the round's loss: for every copy, a small model fitted to all answers but its own.

All N queries of a round evaluate the same convex function at known points. For copy i a model q_{-i} is fitted to the other
N-1 answers by ridge regression on features φ(z); the fit without a row follows from the fit to all rows:

    θ_{-i} = θ - A⁻¹φ_i e_i,   e_i = (loss_i - φ_i·θ) / (1 - h_i),   h_i = φ_i·A⁻¹φ_i,   A = Σ_k φ_k φ_kᵀ + Λ

and e_i is exactly loss_i - q_{-i}(z_i). Nothing in q_{-i} may depend on z_i or loss_i: features are centred and scaled by the
anchors, which are fixed before any query of the round, the ridge Λ is a constant, and the limit on q_{-i} is computed from the
other answers alone. Sums run over the rows that were asked about; θ_{-i} = θ for the others.

A constant that is added to all losses is added to every model and changes no slope: what is fitted is the answers less the mean
m_{-i} of the other answers, so that the ridge has nothing to say about the level. The fit is linear in the answers, hence
θ_{-i}(loss - m_{-i}) = θ_{-i}(loss) - m_{-i} θ_{-i}(1), where θ_{-i}(1) is the fit to answers that are all one. Since this is so
for every constant, one may be subtracted from the answers beforehand, even one that depends on all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from banditboost._core.checks import Array

LEVEL_RIDGE = 1e-6
"""Ridge penalty on the constant term: nearly none, but enough for a unique solution from a single answer."""


class Fit(NamedTuple):
    """Values and slopes of the leave-one-out models."""

    values: Array
    """q_{-i}(z_i), shape (N,)."""
    slopes: Array
    """∇q_{-i}(y^{i-1}), shape (N, d)."""


class _Frame(NamedTuple):
    """Centre and scale of the features, computed from the anchors, which are known before any direction is drawn."""

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
    centred: bool = True,
) -> Fit:
    """Fit q(z) = m + a + b·u + Σ h_j u_j²/2, u = (z - c)/s, to all rows but one, whose mean is m, for each row; evaluate it there.

    Parameters
    ----------
    anchors, points
        y^{k-1} and z_k, shape (N, d). The anchors' mean is the centre c; their spread plus δ is the scale s.
    answers, chosen
        Losses at z_k, and whether they were asked for, shape (N,).
    delta
        δ, the distance of the queries from the anchors.
    shape
        ``"level"``, ``"linear"``, ``"isotropic"`` (one h for all coordinates) or ``"diagonal"``.
    ridge
        Ridge penalty on b and h, for the scaled features.
    limit
        Largest distance of q, within δ of the anchor, from the mean of the other answers, in units of their range.
    centred
        False: answers are fitted as they are, and the ridge draws the level a little towards zero (m = 0 in q).
    """
    asked, frame = chosen.astype(np.float64), _frame(anchors, delta)
    middle = _middle(answers, asked) if centred else 0.0
    less = answers - middle
    phi, lever = _fit(frame(points), asked, shape, ridge)
    left = 1 - asked * (lever * phi).sum(axis=1)
    if not (left > 0).all():
        raise _undetermined(ridge, int(asked.sum()), phi.shape[1])
    mean, spread = _others(less, chosen)
    mean = np.where(asked.sum() > asked, mean, 0.0 - middle)  # without any other answer the model is zero
    thetas = _without_each(less, asked, phi, lever, left)
    if centred:
        thetas -= mean[:, np.newaxis] * _without_each(np.ones(len(answers)), asked, phi, lever, left)
    origin = np.zeros_like(mean) if centred else mean
    here = frame(anchors)
    slopes, bends = _slopes(thetas, here, shape)
    values, level = (thetas * phi).sum(axis=1), (thetas * _features(here, shape)).sum(axis=1)
    reach = delta / frame.scale
    strays = reach * np.sqrt(np.square(slopes).sum(axis=1)) + 0.5 * reach**2 * np.abs(bends).max(axis=1)
    strays += np.abs(level - origin)
    kept = np.where(strays > limit * spread, limit * spread / np.where(strays > 0, strays, 1.0), 1.0)
    return Fit(middle + (mean + kept * (values - origin)), (kept / frame.scale)[:, np.newaxis] * slopes)


def fit_all(
    anchors: Array, points: Array, answers: Array, chosen: NDArray[np.bool_], delta: float, shape: str, ridge: float
) -> tuple[Array, float]:
    """Fit one model to all rows; return its slopes at the anchors, shape (N, d), and its mean curvature over the coordinates."""
    frame, asked = _frame(anchors, delta), chosen.astype(np.float64)
    _, lever = _fit(frame(points), asked, shape, ridge)
    theta = lever.T @ (asked * (answers - _middle(answers, asked)))
    thetas = np.broadcast_to(theta, (len(anchors), len(theta)))
    slopes, bends = _slopes(thetas, frame(anchors), shape)
    return np.asarray(slopes / frame.scale), float(bends[0].mean()) / frame.scale**2


def _frame(anchors: Array, delta: float) -> _Frame:
    center = anchors.mean(axis=0)
    return _Frame(center, delta + float(np.sqrt(np.square(anchors - center).mean())))


def _middle(answers: Array, asked: Array) -> float:
    """Return the mean of the answers that were asked for; subtracted from all, it saves the digits that a large constant takes."""
    return float((asked * answers).sum() / max(asked.sum(), 1.0))


def _without_each(answers: Array, asked: Array, phi: Array, lever: Array, left: Array) -> Array:
    """Return θ_{-i} for every row."""
    theta = lever.T @ (asked * answers)
    surprises = asked * (answers - phi @ theta) / left
    return np.asarray(theta - lever * surprises[:, np.newaxis])


def _fit(u: Array, asked: Array, shape: str, ridge: float) -> tuple[Array, Array]:
    """Return φ and φA⁻¹, which times the answers is θ."""
    phi = _features(u, shape)
    penalty = np.full(phi.shape[1], ridge)
    penalty[0] = LEVEL_RIDGE
    try:
        inverse = np.linalg.inv(phi.T @ (asked[:, np.newaxis] * phi) + np.diag(penalty))
    except np.linalg.LinAlgError:
        raise _undetermined(ridge, int(asked.sum()), phi.shape[1]) from None
    return phi, phi @ inverse


def _undetermined(ridge: float, answers: int, coefficients: int) -> ValueError:
    return ValueError(
        f"ridge must be larger for {answers} answers to determine the {coefficients} coefficients of a model, got {ridge!r}."
    )


def _slopes(thetas: Array, u: Array, shape: str) -> tuple[Array, Array]:
    """Return the slopes at u and the curvatures, both in scaled units, shape (N, d)."""
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
    """Return, for each answer, the mean and the range of the other answers; zero where there are none."""
    others = chosen.sum() - chosen
    mean = ((answers * chosen).sum() - answers * chosen) / np.maximum(others, 1)
    high, low = np.where(chosen, answers, -np.inf), np.where(chosen, answers, np.inf)
    spread = _without(high) + _without(-low)
    return mean, np.where(others > 0, spread, 0.0)


def _without(values: Array) -> Array:
    """Return, for each value, the largest of the others, or 0 where there is no finite one."""
    if len(values) == 1:
        return np.zeros(1)
    order = np.argsort(values)
    largest = np.full(len(values), values[order[-1]])
    largest[order[-1]] = values[order[-2]]
    return np.where(np.isfinite(largest), largest, 0.0)
