"""The inequalities behind the bounds, unrolled over the chain: they hold on every run, without statistics."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, finite, number, positive
from banditboost.theory.chain import chain_weights, step_lengths
from banditboost.theory.span import _contraction


def unrolled_lemma(
    gradients: ArrayLike,
    plays: ArrayLike,
    comparator: ArrayLike,
    *,
    smoothness: float,
    diameter: float,
    gamma: float = 1.0,
) -> float:
    """Lemma 10, unrolled over the chain and summed over the rounds: it holds on *every* run, without statistics.

    With w_i = 2i/(N(N+1))::

        Σ_t ℓ_t(y_t^N) - ℓ_t(x*)  ≤  Σ_i w_i [ βD²T/(γ²(i+1)) + Σ_t ∇ℓ_t(y_t^{i-1})·(a_{t,i}/γ - x*) ]

    The inequality holds for any plays, provided that the losses are convex and β-smooth along the path, that
    the set is convex, and that γ·y^0 lies in it: then all γ·y^{i-1} lie in it, hence ‖a_i/γ - y^{i-1}‖ ≤ D/γ. It
    bounds the regret on ℓ where the gradients are those of ℓ, and on the smoothed loss where they are those of the
    smoothed loss.

    Parameters
    ----------
    gradients
        (T, N, *shape): the exact gradients ∇ℓ_t(y_t^{i-1}). To test code, pass the gradients that copy i *learned from*:
        true gradients that were logged beside the plays satisfy the lemma even when the wrong copy learns from them.
    plays
        (T, N, *shape): the raw plays a_{t,i}, not divided by γ.
    comparator
        x* of shape (*shape), or f(x_t) of shape (T, *shape).
    smoothness
        β, the smoothness constant of the losses.
    diameter
        D, the diameter of the set that contains the plays.
    gamma
        γ > 0, the advantage of the weak learners.

    Returns
    -------
    float
        The right-hand side of the inequality.

    See Also
    --------
    unrolled_bracket : the sharper form, which also bounds the regret from below.

    Examples
    --------
    One round, two copies, ℓ(y) = y²/2 on [-1, 1] and the start at 1: the path is 1, -1, 1/3, and its regret
    is 1/18 ≤ 5/9.

    >>> round(unrolled_lemma([[1.0, -1.0]], [[-1.0, 1.0]], 0.0, smoothness=1.0, diameter=2.0), 6)
    0.555556
    """
    beta, d, g = positive("smoothness", smoothness), positive("diameter", diameter), positive("gamma", gamma)
    grads, acts, star = _run(gradients, plays, comparator)
    rounds, copies = acts.shape[:2]
    linear = np.einsum("tnd,tnd->n", grads, acts / g - star)
    curvature = step_lengths(copies) * beta * d**2 * rounds / (2.0 * g**2)
    return float(chain_weights(copies) @ (curvature + linear))


class UnrolledBracket(NamedTuple):
    """Bounds on the regret of one run, returned by :func:`unrolled_bracket` and :func:`unrolled_span`."""

    lower: float
    """Lower bound on the regret of the run."""
    linear: float
    """Weighted regret of the copies on their linear losses."""
    upper: float
    """Upper bound on the regret of the run."""


def unrolled_bracket(
    gradients: ArrayLike,
    plays: ArrayLike,
    comparator: ArrayLike,
    *,
    smoothness: float,
    start: ArrayLike,
    gamma: float = 1.0,
) -> UnrolledBracket:
    """Lemma 10, unrolled, with the run's own distances: the regret lies in [lower, upper] on every run.

    The regret is Σ_t ℓ_t(y_t^N) - ℓ_t(x*). With w_i = 2i/(N(N+1))::

        linear = Σ_i w_i Σ_t ∇ℓ_t(y_t^{i-1})·(a_{t,i}/γ - x*)
        upper  = linear + Σ_i w_i Σ_t η_i (β/2) ‖a_{t,i}/γ - y_t^{i-1}‖²
        lower  = linear - Σ_i w_i Σ_t (β/2) ‖x* - y_t^{i-1}‖²

    The proof of Lemma 10 uses smoothness for the step from y^{i-1} to y^i and convexity for the comparator;
    exchanging the two gives the lower bound. For a loss (β/2)‖y - c‖² both are equalities, so that up to rounding
    regret = lower + upper - linear, which is the sharpest test of an implementation. The set plays no role, so the
    start may lie anywhere.

    The two bounds detect different mistakes. A gradient taken at y^i instead of y^{i-1} always satisfies the upper
    bound, since convexity alone gives ℓ(y^i) - ℓ(x*) ≤ (1-η)(ℓ(y^{i-1}) - ℓ(x*)) + η∇ℓ(y^i)·(a/γ - x*); the lower
    bound detects it.

    Parameters
    ----------
    gradients, plays, comparator, smoothness, gamma
        As in :func:`unrolled_lemma`.
    start
        y^0 of shape (*shape), or one per round. The rest of the path is computed from the plays with the
        paper's steps, y^i = 2/(i(i+1)γ) Σ_{k≤i} k a_k, independently of the code under test.

    Returns
    -------
    UnrolledBracket
        (lower, linear, upper).

    Examples
    --------
    The run of :func:`unrolled_lemma`'s example, whose regret is 1/18 = 0.0556:

    >>> low, linear, high = unrolled_bracket([[1.0, -1.0]], [[-1.0, 1.0]], 0.0, smoothness=1.0, start=1.0)
    >>> round(low, 6), round(high, 6), round(low + high - linear, 6)
    (-1.5, 0.555556, 0.055556)
    """
    beta, g = positive("smoothness", smoothness), positive("gamma", gamma)
    grads, acts, star = _run(gradients, plays, comparator)
    first = _per_round("start", start, np.shape(plays))
    copies = acts.shape[1]
    order = np.arange(1.0, copies + 1.0)[:, None]
    path = 2.0 / (order * (order + 1.0) * g) * np.cumsum(order * acts, axis=1)
    before = np.concatenate([np.broadcast_to(first, (len(acts), 1, acts.shape[2])), path[:, :-1]], axis=1)
    weights = chain_weights(copies)
    linear = float(weights @ np.einsum("tnd,tnd->n", grads, acts / g - star))
    step = np.square(acts / g - before).sum(axis=(0, 2)) * step_lengths(copies)
    gap = np.square(star - before).sum(axis=(0, 2))
    lower, upper = linear - beta / 2.0 * float(weights @ gap), linear + beta / 2.0 * float(weights @ step)
    return UnrolledBracket(lower, linear, upper)


def unrolled_span(
    gradients: ArrayLike,
    plays: ArrayLike,
    shrinkage: ArrayLike,
    comparator: ArrayLike,
    *,
    step: float,
    smoothness: float,
    start: ArrayLike,
    start_regret: float,
    span_norm: float = 1.0,
    gamma: float = 1.0,
    project: Callable[[Array], Array] | None = None,
) -> UnrolledBracket:
    """The bound for the span, unrolled, with the run's own regrets and distances: it holds on *every* run, without statistics.

    The regret is Σ_t ℓ_t(y_t^N) - ℓ_t(f*(x_t)). With q = 1 - η/W and u_{t,i} = a_{t,i}/γ - σ_{t,i} y_t^{i-1}::

        linear = q^N Δ_0 + Σ_i η q^{N-i} Σ_t ∇ℓ_t(y_t^{i-1})·(u_{t,i} - (f*(x_t) - y_t^{i-1})/W)
        upper  = linear + Σ_i η q^{N-i} Σ_t (βη/2) ‖u_{t,i}‖²
        lower  = linear - Σ_i η q^{N-i} Σ_t (β/2W) ‖f*(x_t) - y_t^{i-1}‖²

    The upper bound holds for any plays, any shrinkage and any f*, for losses that are convex and β-smooth and that Π never
    raises; f* need not be in any span, and Δ_0 may have any sign. Smoothness for the comparator and convexity for the step give
    the lower bound, which is -∞ (no statement) as soon as Π has moved a point. For a loss (β/2)‖y - c‖² both are equalities where
    Π has moved no point, so that up to rounding regret = lower + upper - linear.

    Parameters
    ----------
    gradients
        (T, N, *shape): the exact gradients ∇ℓ_t(y_t^{i-1}). To test code, pass the gradients that copy i *learned from*.
    plays
        (T, N, *shape): the raw plays a_{t,i}, not divided by γ.
    shrinkage
        (T, N): the σ_{t,i} that round t was played with.
    comparator
        f*(x_t) of shape (T, *shape), or one point of shape (*shape).
    step
        η in (0, 1], the step length of the chain.
    smoothness
        β, the smoothness constant of the losses.
    start
        y^0 of shape (*shape), or one per round. The rest of the path is computed here, independently of the code under test.
    start_regret
        Δ_0 = Σ_t ℓ_t(y_t^0) - ℓ_t(f*(x_t)).
    span_norm
        W ≥ 1, at least the sum Σ|w_k| of the weights in the comparator.
    gamma
        γ > 0, the advantage of the weak learners.
    project
        Π, applied to points of shape (T, *shape); left out where nothing is projected.

    Returns
    -------
    UnrolledBracket
        (lower, linear, upper).

    References
    ----------
    The proof of Theorem 1 of Beygelzimer, Hazan, Kale, Luo (2015).

    Examples
    --------
    One round, two copies, ℓ(y) = y²/2, f* = 0, Δ_0 = 1/2: with σ = (1, 0) and η = 1/2 the path is 1, 0, 1/2, its regret 1/8.

    >>> run = dict(step=0.5, smoothness=1.0, start=1.0, start_regret=0.5)
    >>> low, linear, high = unrolled_span([[1.0, 0.0]], [[-1.0, 1.0]], [[1.0, 0.0]], 0.0, **run)
    >>> low, high, low + high - linear
    (-0.25, 0.25, 0.125)
    """
    beta, g, eta = positive("smoothness", smoothness), positive("gamma", gamma), number("step", step)
    grads, acts, star = _run(gradients, plays, comparator)
    shape, (rounds, copies, size) = np.shape(plays), acts.shape
    given_up = finite("shrinkage", shrinkage, copy=False)
    if given_up.shape != (rounds, copies):
        raise ValueError(f"shrinkage must have shape {(rounds, copies)}, one number per play, got {given_up.shape}.")
    _contraction(copies, eta, span_norm)
    before, moved = np.empty_like(acts), np.empty_like(acts)
    here, projected = np.broadcast_to(_per_round("start", start, shape)[:, 0], (rounds, size)), False
    for i in range(copies):
        before[:, i] = here
        moved[:, i] = acts[:, i] / g - given_up[:, i, np.newaxis] * here
        here = here + eta * moved[:, i]
        if project is not None:
            there = np.asarray(project(here.reshape(rounds, *shape[2:]))).reshape(rounds, size)
            projected, here = projected or not np.array_equal(there, here), there
    kept = 1.0 - eta / span_norm
    weights = eta * kept ** np.arange(copies - 1.0, -1.0, -1.0)
    slopes = np.einsum("tnd,tnd->n", grads, moved - (star - before) / span_norm)
    linear = kept**copies * number("start_regret", start_regret) + float(weights @ slopes)
    upper = linear + beta * eta / 2.0 * float(weights @ np.square(moved).sum(axis=(0, 2)))
    gap = beta / (2.0 * span_norm) * float(weights @ np.square(star - before).sum(axis=(0, 2)))
    return UnrolledBracket(-math.inf if projected else linear - gap, linear, upper)


def _run(gradients: ArrayLike, plays: ArrayLike, comparator: ArrayLike) -> tuple[Array, Array, Array]:
    """Check a run's arrays and flatten them to (T, N, d), (T, N, d) and (T or 1, 1, d)."""
    acts, grads = finite("plays", plays, copy=False), finite("gradients", gradients, copy=False)
    if acts.ndim < 2 or 0 in acts.shape:
        raise ValueError(f"plays must have shape (rounds, copies, *shape) and not be empty, got {acts.shape}.")
    if grads.shape != acts.shape:
        raise ValueError(f"gradients must have the shape of plays {acts.shape}, got {grads.shape}.")
    star = _per_round("comparator", comparator, acts.shape)
    rounds, copies = acts.shape[:2]
    return grads.reshape(rounds, copies, -1), acts.reshape(rounds, copies, -1), star


def _per_round(name: str, values: ArrayLike, run: tuple[int, ...]) -> Array:
    """Bring one point, or one point per round, to shape (1 or T, 1, d)."""
    points = finite(name, values, copy=False)
    if points.shape not in (run[2:], (run[0], *run[2:])):
        raise ValueError(f"{name} must have shape {run[2:]} or {(run[0], *run[2:])}, got {points.shape}.")
    rounds = 1 if points.shape == run[2:] else run[0]
    return points.reshape(rounds, 1, -1)
