"""The smoothed loss and its sphere estimator: the regret that bandit feedback and queries inside the set cost."""

from __future__ import annotations

from banditboost._core.checks import at_least_zero, count, positive


def smoothing_gap(delta: float, lipschitz: float) -> float:
    """Lemma 8 (1): |ℓ̂(y) - ℓ(y)| ≤ δL, where ℓ̂(y) = E ℓ(y + δu).

    The paper draws u from the unit sphere; the loss whose gradient is (d/δ) E[ℓ(y+δv) v], v on the sphere,
    has u uniform in the unit *ball* (Flaxman, Kalai, McMahan 2005, Lemma 2.1). The bound holds for both, and
    ℓ̂ is convex and L-Lipschitz.

    Parameters
    ----------
    delta
        δ, the radius of smoothing.
    lipschitz
        L, the Lipschitz constant of the loss on the set and within δ of it.

    Examples
    --------
    >>> smoothing_gap(delta=0.5, lipschitz=3.0)
    1.5
    """
    return positive("delta", delta) * at_least_zero("lipschitz", lipschitz)


def smoothed_smoothness(dimension: int, lipschitz: float, delta: float) -> float:
    """Lemma 8 (2): the smoothed loss is β-smooth with β = dL/δ, even where the loss itself is not smooth.

    In one dimension ℓ(y) = |y| attains this constant. In d dimensions E|v·u| ≤ 1/√d sharpens the paper's proof to
    √d·L/δ; the bounds of the paper, and those here, use dL/δ.

    Parameters
    ----------
    dimension
        d, the dimension of the set; where the set has an empty interior, the dimension of its affine hull.
    lipschitz
        L, the Lipschitz constant of the losses.
    delta
        δ, the radius of smoothing.

    Examples
    --------
    >>> smoothed_smoothness(dimension=3, lipschitz=2.0, delta=0.5)
    12.0
    """
    return count("dimension", dimension) * at_least_zero("lipschitz", lipschitz) / positive("delta", delta)


def sphere_gradient_bound(dimension: int, loss_bound: float, delta: float, noise_bound: float = 0.0) -> float:
    """Lemma 8 (3): ‖(d/δ)(ℓ(y+δv) + w) v‖ ≤ σ = d(M + noise)/δ.

    The value dM/δ of the paper's main text is for values without noise. Its appendix bounds the noise by M as well,
    which gives 2dM/δ.

    Parameters
    ----------
    dimension
        d, the dimension of the decisions.
    loss_bound
        M, a bound on |ℓ| wherever it is queried.
    delta
        δ, the radius of smoothing.
    noise_bound
        A bound on the absolute value |w| of the noise.

    Examples
    --------
    >>> sphere_gradient_bound(dimension=2, loss_bound=1.0, delta=0.5, noise_bound=0.25)
    5.0
    """
    total = at_least_zero("loss_bound", loss_bound) + at_least_zero("noise_bound", noise_bound)
    return count("dimension", dimension) * total / positive("delta", delta)


def shrinkage(delta: float, inner_radius: float) -> float:
    """Fraction ξ = δ/r by which the set is shrunk so that queries stay inside it (footnote to Section 3.3).

    If a ball of radius r about c lies in the convex set Y, then c + (1-ξ)(Y-c) + δB lies in Y for ξ = δ/r,
    since
    (1-ξ)(y-c) + δv = (1-ξ)(y-c) + ξ·rv.

    Parameters
    ----------
    delta
        δ, the radius of smoothing, at most the inner radius.
    inner_radius
        r, the radius of a ball about the centre that lies inside the set (within its affine hull).

    Examples
    --------
    >>> shrinkage(delta=0.1, inner_radius=0.5)
    0.2
    """
    size, radius = positive("delta", delta), positive("inner_radius", inner_radius)
    if size > radius:
        raise ValueError(f"delta must be at most inner_radius ({inner_radius!r}), got {delta!r}.")
    return size / radius


def shrinkage_price(horizon: int, delta: float, inner_radius: float, lipschitz: float, diameter: float) -> float:
    """Price of queries inside the set: moving the comparator into the shrunk set costs at most ξDLT with ξ = δ/r.

    The comparator x* moves to c + (1-ξ)(x*-c), at a distance of ξ‖x*-c‖ ≤ ξD. Adding this price to a bound for the
    shrunk set gives a bound against the whole set.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    delta
        δ, the radius of smoothing.
    inner_radius
        r, as in :func:`shrinkage`.
    lipschitz
        L, the Lipschitz constant of the losses.
    diameter
        D, the diameter of the set.

    Examples
    --------
    >>> shrinkage_price(horizon=1000, delta=0.1, inner_radius=0.5, lipschitz=1.0, diameter=2.0)
    400.0
    """
    rounds = count("horizon", horizon)
    xi = shrinkage(delta, inner_radius)
    return xi * positive("diameter", diameter) * at_least_zero("lipschitz", lipschitz) * rounds
