"""The chain of copies: its steps, its weights, and the recursion behind every bound."""

from __future__ import annotations

import numpy as np

from banditboost._core.checks import Array, at_least_zero, count, number


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
