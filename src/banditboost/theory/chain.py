"""The chain of copies: its steps, its weights, the recursion behind every bound, and the lemma that holds on every run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from banditboost._core.checks import Array, at_least_zero, count, finite, number, positive


def step_lengths(copies: int) -> Array:
    """Step lengths of Algorithms 1 and 2 (line 2): η_i = 2/(i+1) for i = 1..N.

    Parameters
    ----------
    copies
        N, the number of copies.

    Returns
    -------
    Array
        Shape (N,). The first is 1, so the start of the chain never enters the prediction.

    Examples
    --------
    >>> step_lengths(3).tolist()
    [1.0, 0.6666666666666666, 0.5]
    """
    n = count("copies", copies)
    return 2.0 / np.arange(2.0, n + 2.0)


def chain_weights(copies: int) -> Array:
    """Weights of the plays in the prediction: y^N = Σ_i w_i a_i/γ with w_i = 2i/(N(N+1)).

    Unrolling the chain of Algorithms 1 and 2 gives w_i = η_i Π_{k>i} (1-η_k). The weights sum to 1.

    Parameters
    ----------
    copies
        N, the number of copies.

    Returns
    -------
    Array
        Shape (N,).

    Examples
    --------
    >>> chain_weights(4).tolist()
    [0.1, 0.2, 0.3, 0.4]
    """
    n = count("copies", copies)
    return 2.0 * np.arange(1.0, n + 1.0) / (n * (n + 1.0))


def recursion_bound(copies: int, curvature: float, regret: float) -> Array:
    """Claim 11: φ_i ≤ (1-η_i) φ_{i-1} + η_i² C_1/2 + η_i C_2 for all i implies φ_i ≤ η_i C_1 + C_2.

    The paper asks for C_1, C_2 > 0; its induction needs C_1 ≥ 0 only.

    Parameters
    ----------
    copies
        N, the number of copies.
    curvature
        C_1, which is βD²T/γ² in the bounds.
    regret
        C_2 of any sign, which is the regret of one copy divided by γ in the bounds.

    Returns
    -------
    Array
        The bounds on φ_1..φ_N.

    Examples
    --------
    >>> recursion_bound(3, curvature=12.0, regret=1.0).tolist()
    [13.0, 9.0, 7.0]
    """
    c1, c2 = at_least_zero("curvature", curvature), number("regret", regret)
    return step_lengths(copies) * c1 + c2


def recursion_values(copies: int, curvature: float, regret: float, start: float = 0.0) -> Array:
    """Iterate Claim 11's recursion with equality: φ_i = (1-η_i) φ_{i-1} + η_i² C_1/2 + η_i C_2.

    In closed form φ_N = C_2 + C_1 · 2(N+1-H_{N+1})/(N(N+1)), where H_n is the n-th harmonic number. The claim therefore
    loses a factor of 2 in the term of C_1 at N = 1, and a factor that falls towards 1 as N grows.

    Parameters
    ----------
    copies, curvature, regret
        As in :func:`recursion_bound`.
    start
        φ_0, which has no effect since η_1 = 1.

    Returns
    -------
    Array
        φ_1..φ_N.

    Examples
    --------
    >>> recursion_values(3, curvature=12.0, regret=1.0).round(6).tolist()
    [7.0, 5.666667, 4.833333]
    """
    c1, c2, phi = at_least_zero("curvature", curvature), number("regret", regret), number("start", start)
    steps = step_lengths(copies)
    values = np.empty_like(steps)
    for i, eta in enumerate(steps.tolist()):
        phi = (1.0 - eta) * phi + eta**2 * c1 / 2.0 + eta * c2
        values[i] = phi
    return values


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
