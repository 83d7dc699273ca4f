"""Algorithm 1: projection-free online convex optimisation from gradient estimates or from loss values."""

from __future__ import annotations

import math

from banditboost._core.checks import at_least_zero, between, count, number, positive
from banditboost.theory.smoothing import smoothed_smoothness, smoothing_gap


def optimizer_failure(copies: int, failure: float) -> float:
    """Failure probability ρ/(2N) allowed to each copy's own regret bound, so that the whole fails with ρ at most.

    In the proof of Proposition 13, N copies that fail with ρ/(2N) each and N martingales that fail with ρ/(2N) each
    add up to ρ.

    Parameters
    ----------
    copies
        N, the number of copies.
    failure
        ρ, the probability with which the bound may fail.

    Examples
    --------
    >>> optimizer_failure(copies=10, failure=0.05)
    0.0025
    """
    return between("failure", failure, 0, 1) / (2 * count("copies", copies))


def martingale_price(
    horizon: int, copies: int, sigma: float, gradient_bound: float, distance: float, failure: float
) -> float:
    """Azuma-Hoeffding in the proof of Proposition 13: (σ + G) D √(2T log(4N/ρ)).

    Each difference ζ_{t,i} = (∇ℓ_t(x_t^{i-1}) - g_{t,i})·(a_{t,i} - x*) is at most (σ + G)D; all N sums stay
    below this price with probability 1 - ρ/2. The bound needs an x* that is fixed in advance, hence an oblivious
    adversary.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    sigma
        σ, a bound on ‖g_{t,i}‖.
    gradient_bound
        G, a bound on ‖∇ℓ_t‖ (L for the smoothed loss).
    distance
        D, the largest distance of a play from the comparator; see :func:`weak_distance` for γ ≠ 1.
    failure
        ρ, the probability with which the bound may fail.

    Examples
    --------
    >>> round(martingale_price(100, 10, sigma=1.0, gradient_bound=1.0, distance=1.0, failure=0.1), 4)
    69.2327
    """
    rounds, n, rho = count("horizon", horizon), count("copies", copies), between("failure", failure, 0, 1)
    spread = at_least_zero("sigma", sigma) + at_least_zero("gradient_bound", gradient_bound)
    return spread * positive("distance", distance) * math.sqrt(2.0 * rounds * math.log(4.0 * n / rho))


def projection_free_copies(horizon: int, smoothness: float, diameter: float, sigma: float) -> int:
    """Theorems 2 and 3: N = (βD/σ)√T, rounded up.

    The first term of the regret, 2βD²T/N, is then at most 2σD√T.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    smoothness
        β, the smoothness constant of the losses.
    diameter
        D, the diameter of the set.
    sigma
        σ, a bound on the norm of the gradient estimates.

    Examples
    --------
    >>> projection_free_copies(horizon=1000, smoothness=2.0, diameter=1.0, sigma=4.0)
    16
    """
    ratio = positive("smoothness", smoothness) * positive("diameter", diameter) / positive("sigma", sigma)
    value = ratio * math.sqrt(count("horizon", horizon))
    return max(1, math.ceil(value * (1.0 - 1e-12)))  # 10.000000000000002 copies are 10


def projection_free_regret(
    horizon: int,
    copies: int,
    smoothness: float,
    diameter: float,
    learner_regret: float,
    *,
    failure: float | None = None,
    sigma: float | None = None,
    gradient_bound: float | None = None,
) -> float:
    """Propositions 5 and 13: expected regret of Algorithm 1 ≤ 2βD²T/N + R_A(T, σ).

    With probability 1 - ρ, (σ+G) D √(2T log(4N/ρ)) is added; see :func:`martingale_price`. The proofs in fact give
    N + 1 in the denominator; this is the bound as the paper states it.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    smoothness
        β, the smoothness constant of the losses.
    diameter
        D, the diameter of the set.
    learner_regret
        R_A(T, σ), the regret of one copy: expected, or at the level of :func:`optimizer_failure`.
    failure
        ρ, the probability with which the bound may fail; left out, the bound holds in expectation.
    sigma, gradient_bound
        σ and G, bounds on the gradient estimates and on the gradients; needed together with ``failure``.

    Examples
    --------
    >>> projection_free_regret(horizon=100, copies=10, smoothness=1.0, diameter=2.0, learner_regret=30.0)
    110.0
    """
    rounds, n = count("horizon", horizon), count("copies", copies)
    beta, size = at_least_zero("smoothness", smoothness), positive("diameter", diameter)
    bound = 2.0 * beta * size**2 * rounds / n + number("learner_regret", learner_regret)
    if failure is None:
        return bound
    return bound + martingale_price(
        rounds, n, _with_failure("sigma", sigma), _with_failure("gradient_bound", gradient_bound), size, failure
    )


def projection_free_bandit_delta(horizon: int) -> float:
    """Theorem 14: δ = T^{-1/4}.

    Parameters
    ----------
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> projection_free_bandit_delta(horizon=10_000)
    0.1
    """
    return 1.0 / math.sqrt(math.sqrt(count("horizon", horizon)))


def projection_free_bandit_copies(horizon: int) -> int:
    """Theorem 14: N = √T, rounded up.

    Parameters
    ----------
    horizon
        T, the number of rounds.

    Examples
    --------
    >>> projection_free_bandit_copies(horizon=10_000), projection_free_bandit_copies(horizon=10_001)
    (100, 101)
    """
    return math.isqrt(count("horizon", horizon) - 1) + 1


def projection_free_bandit_regret(
    horizon: int,
    copies: int,
    dimension: int,
    lipschitz: float,
    diameter: float,
    delta: float,
    learner_regret: float,
    *,
    failure: float | None = None,
    sigma: float | None = None,
) -> float:
    """Theorem 14: Algorithm 1 from loss values, 2dLD²T/(δN) + R_A(T) + (σ+L)D√(2T log(4N/ρ)) + 2TδL.

    With probability 1 - ρ this is Proposition 13 for the smoothed loss (β = dL/δ, G = L), plus twice the gap δL in each
    round. Without ``failure`` the third term falls away and the bound holds in expectation (Proposition 5). The
    prescribed δ and N make the bound O(T^{3/4}) up to the logarithm.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    dimension
        d, the dimension of the decisions.
    lipschitz
        L, the Lipschitz constant of the losses.
    diameter
        D, the diameter of the set.
    delta
        δ, the radius of smoothing.
    learner_regret
        R_A(T, σ) with σ of :func:`sphere_gradient_bound`: expected, or at the level of
        :func:`optimizer_failure`.
    failure
        ρ, the probability with which the bound may fail; left out, the bound holds in expectation.
    sigma
        σ, a bound on the norm of the gradient estimates; needed together with ``failure``.

    Examples
    --------
    >>> setting = dict(horizon=10_000, copies=100, dimension=2, lipschitz=1.0, diameter=1.0, delta=0.1)
    >>> projection_free_bandit_regret(**setting, learner_regret=500.0)
    6500.0
    >>> round(projection_free_bandit_regret(**setting, learner_regret=500.0, failure=0.1, sigma=20.0), 1)
    15053.0
    """
    rounds = count("horizon", horizon)
    beta, gap = smoothed_smoothness(dimension, lipschitz, delta), smoothing_gap(delta, lipschitz)
    smooth = projection_free_regret(
        rounds, copies, beta, diameter, learner_regret, failure=failure, sigma=sigma, gradient_bound=lipschitz
    )
    return smooth + 2.0 * rounds * gap


def _with_failure(name: str, value: float | None) -> float:
    """Return an argument that only the high-probability form needs."""
    if value is None:
        raise ValueError(f"{name} must be given together with failure, got None.")
    return at_least_zero(name, value)
