"""Algorithm 2: boosting weak online learners, from loss values or from exact gradients."""

from __future__ import annotations

from banditboost._core.checks import at_least_zero, count, number, positive
from banditboost.theory.projection_free import _with_failure, martingale_price
from banditboost.theory.smoothing import smoothed_smoothness, smoothing_gap


def gradient_boosting_regret(
    horizon: int, copies: int, smoothness: float, diameter: float, learner_regret: float, gamma: float = 1.0
) -> float:
    """Boosting with exact gradients: regret against CH(F) ≤ 2βD²T/(γ²N) + R_A(T)/γ.

    For γ = 1 this is Algorithm 2 of Beygelzimer, Hazan, Kale, Luo 2015; for other γ it is the proof of Theorem 9 up to
    its recursion. With exact gradients there is no martingale term, so the bound holds with probability 1 - ρ if the
    bound R_A of each copy holds with probability 1 - ρ/N.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    smoothness
        β, the smoothness constant of the losses on the set divided by γ.
    diameter
        D, the diameter of the set that contains the weak learners' plays.
    learner_regret
        R_A(T), the regret of one weak learner against γ times F.
    gamma
        γ > 0, the advantage of the weak learners.

    Examples
    --------
    >>> gradient_boosting_regret(100, 10, smoothness=1.0, diameter=2.0, learner_regret=30.0, gamma=0.5)
    380.0
    """
    rounds, n, g = count("horizon", horizon), count("copies", copies), positive("gamma", gamma)
    beta, size = at_least_zero("smoothness", smoothness), positive("diameter", diameter)
    return 2.0 * beta * size**2 * rounds / (g**2 * n) + number("learner_regret", learner_regret) / g


def weak_distance(diameter: float, gamma: float = 1.0, norm_bound: float | None = None) -> float:
    """Largest distance between a play divided by γ and a comparator: ‖a/γ - f‖ for a, f in Y.

    If 0 lies in the convex set Y, the distance is at most D·max(1, 1/γ): for γ ≥ 1 also a/γ lies in Y, and for γ ≤ 1
    also γf does, with a/γ - f = (a - γf)/γ. In general it is at most ‖a - f‖/γ + |1/γ - 1|·‖f‖ ≤ D/γ + |1/γ - 1|·r
    with r = max ‖y‖ over Y. Both bounds are D for γ = 1.

    Parameters
    ----------
    diameter
        D, the diameter of Y.
    gamma
        γ > 0, the advantage of the weak learners.
    norm_bound
        r = max ‖y‖ over Y; left out when 0 lies in Y.

    Examples
    --------
    >>> weak_distance(diameter=2.0, gamma=0.5), weak_distance(diameter=2.0, gamma=2.0)
    (4.0, 2.0)
    >>> weak_distance(diameter=2.0, gamma=0.5, norm_bound=5.0)
    9.0
    """
    size, g = positive("diameter", diameter), positive("gamma", gamma)
    if norm_bound is None:
        return size * max(1.0, 1.0 / g)
    return size / g + abs(1.0 / g - 1.0) * at_least_zero("norm_bound", norm_bound)


def boosting_regret(
    horizon: int,
    copies: int,
    dimension: int,
    lipschitz: float,
    diameter: float,
    delta: float,
    learner_regret: float,
    gamma: float = 1.0,
    *,
    failure: float | None = None,
    sigma: float | None = None,
    norm_bound: float | None = None,
) -> float:
    """Theorem 9: expected regret of Algorithm 2 against CH(F) ≤ 2dLD²T/(δγ²N) + R_A(T, σ)/γ + 2TδL.

    With probability 1 - ρ, (σ + L) D̄ √(2T log(4N/ρ)) is added, where D̄ is :func:`weak_distance`. The paper only
    remarks that such a bound exists; the proof is that of Proposition 13. Lemma 10 leaves

        ζ_{t,i} = (∇ℓ̂_t(y_t^{i-1}) - g_{t,i})·(a_{t,i}/γ - f(x_t)),

    in which the play is divided by γ and the comparator is not (the proof of Theorem 9 drops that 1/γ). Given the past
    and the plays of the round, the mean of ζ is 0, and |ζ| ≤ (σ + L)·‖a/γ - f‖ ≤ (σ + L) D̄, which is not divided by γ again.
    Azuma-Hoeffding at ρ/(2N) for each copy gives the term. The weak learners' R_A must hold at the level of
    :func:`optimizer_failure` against all of F at once (it then holds on CH(F), by linearity), and f must be fixed
    in advance. The projection costs nothing: ℓ(Πy) ≤ ℓ(y) ≤ ℓ̂(y) + δL.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    dimension
        d, the dimension of the decisions.
    lipschitz
        L, the Lipschitz constant on Y/γ and within δ of it; where γ ≥ 1 and 0 lies in Y, on Y and within δ of it.
    diameter
        D, the diameter of Y.
    delta
        δ, the radius of smoothing.
    learner_regret
        R_A(T, σ), the regret of one weak learner against γ times F, with σ of :func:`sphere_gradient_bound`.
    gamma
        γ > 0, the advantage of the weak learners.
    failure
        ρ, the probability with which the bound may fail; left out, the bound holds in expectation.
    sigma
        σ, a bound on the norm of the gradient estimates; needed together with ``failure``.
    norm_bound
        max ‖y‖ over Y, where 0 does not lie in Y; used together with ``failure`` only.

    Examples
    --------
    >>> setting = dict(horizon=10_000, copies=100, dimension=2, lipschitz=1.0, diameter=1.0, delta=0.1)
    >>> boosting_regret(**setting, learner_regret=500.0, gamma=0.5)
    19000.0
    >>> round(boosting_regret(**setting, learner_regret=500.0, gamma=0.5, failure=0.1, sigma=20.0), 1)
    36106.0
    """
    rounds, n = count("horizon", horizon), count("copies", copies)
    beta, gap = smoothed_smoothness(dimension, lipschitz, delta), smoothing_gap(delta, lipschitz)
    reach = weak_distance(diameter, gamma, norm_bound)
    bound = gradient_boosting_regret(rounds, n, beta, diameter, learner_regret, gamma) + 2.0 * rounds * gap
    if failure is None:
        return bound
    return bound + martingale_price(rounds, n, _with_failure("sigma", sigma), lipschitz, reach, failure)
