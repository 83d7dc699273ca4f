"""Online gradient boosting for the span: a bound with our own constants for Algorithm 1 of Beygelzimer et al. (2015).

The chain is y^i = Π((1 - σ_i η) y^{i-1} + η a_i/γ), with σ_i in [0, 1] learned by gradient descent on the linear losses
-∇ℓ_t(y^{i-1})·y^{i-1} σ. Comparators are f* = Σ_k w_k f_k with f_k in F; write W for any number with W ≥ 1 and
W ≥ Σ|w_k|, and q = 1 - η/W, which lies in [0, 1). The source is Beygelzimer, Hazan, Kale, Luo (2015). The assumptions are:

- F is symmetric and its functions, like the plays, are bounded by D; a copy has regret R_A against γF on linear losses;
- points of the set have norm B at most, y^0 included; gradients have norm L at most there;
- losses are convex where path and comparator lie, and β-smooth along every step *before* it is projected. Such a step may
  leave the set; smoothness within the radius B + ηD/γ is enough;
- ℓ_t(Πz) ≤ ℓ_t(z) wherever Π is applied, or Π never acts.

**One step.** Let z be the point that Π is applied to, and u = a_i/γ - σ_i y^{i-1}, so that z = y^{i-1} + ηu and ‖u‖ ≤ D/γ + B. By
the assumption on Π and by smoothness,

    ℓ_t(y^i) ≤ ℓ_t(z) ≤ ℓ_t(y^{i-1}) + η ∇·u + (β/2) η² ‖u‖²                     ∇ = ∇ℓ_t(y_t^{i-1})

Since F is symmetric and Σ|w_k| ≤ W, f*/W lies in the convex hull of F: the copy's regret bounds Σ_t ∇·(a_i/γ - f*/W) by R_A/γ.
Since W ≥ 1, 1/W lies in [0, 1]: the regret R_σ of σ bounds Σ_t (1/W - σ_i) ∇·y^{i-1}. Together, and then by convexity,

    Σ_t ∇·u  ≤  R_A/γ + R_σ + (1/W) Σ_t ∇·(f* - y^{i-1})  ≤  R_A/γ + R_σ - Δ_{i-1}/W

with Δ_i = Σ_t ℓ_t(y_t^i) - ℓ_t(f*(x_t)), of any sign. So Δ_i ≤ q Δ_{i-1} + η C with C = R_A/γ + R_σ + (β/2) η (D/γ + B)² T.

**All steps.** As q ≥ 0, the inequalities of the steps combine for all signs of Δ_i and C, and Σ_i η q^{N-i} = W (1 - q^N):

    Δ_N ≤ q^N Δ_0 + W (1 - q^N) C

For C ≥ 0 the factor 1 - q^N may be dropped. For Δ_0 ≥ 0, q^N may be replaced by exp(-ηN/W); for Δ_0 < 0 it may not, since
that would claim more than was shown. The first term is at most Δ_0/N with η = W ln N / N; with η = ln N / N it falls only like
N^{-1/W}.

The source's Theorem 1 has the same four terms. Its constants are not quoted here, because it also admits a projection that
raises the loss a little, and pays for it. The constants here are those of the derivation above. For γ = 1 and D = B the
curvature term is 2βηB²T.
"""

from __future__ import annotations

import math

from banditboost._core.checks import at_least_zero, count, number, positive
from banditboost.theory.projection_free import martingale_price
from banditboost.theory.smoothing import smoothed_smoothness, smoothing_gap


def span_shrinkage_regret(horizon: int, gradient_bound: float, radius: float, *, adaptive: bool = True) -> float:
    """Regret R_σ of a learned shrinkage σ in [0, 1] on its linear losses: √2 GB√T, or (3/2) GB√T.

    The slopes c_t = -g_t·y_t are at most GB, and the interval has diameter 1. Online gradient descent with steps α_t that do not
    grow has regret 1/(2α_T) + Σ_t α_t c_t²/2. The source's α_t = 1/(GB√t) give (3/2) GB√T, at every T. The adaptive
    α_t = 1/√(2 Σ_{s≤t} c_s²) give √2 √(Σ_t c_t²), for every G and B.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    gradient_bound
        G, a bound on the norm of the gradients: L for exact gradients, σ for estimates.
    radius
        B, the largest norm in the set.
    adaptive
        True: the steps adapt to the slopes. False: the steps are the source's.

    References
    ----------
    Zinkevich (2003), Theorem 1; Streeter, McMahan (2010), "Less regret via online conditioning", Section 2.

    Examples
    --------
    >>> span_shrinkage_regret(100, gradient_bound=2.0, radius=1.5, adaptive=False)
    45.0
    >>> round(span_shrinkage_regret(100, gradient_bound=2.0, radius=1.5), 4)
    42.4264
    """
    constant = math.sqrt(2.0) if _flag("adaptive", adaptive) else 1.5
    slope = at_least_zero("gradient_bound", gradient_bound) * positive("radius", radius)
    return constant * slope * math.sqrt(count("horizon", horizon))


def span_boosting_regret(
    horizon: int,
    copies: int,
    step: float,
    smoothness: float,
    lipschitz: float,
    radius: float,
    learner_regret: float,
    start_regret: float,
    span_norm: float = 1.0,
    *,
    gamma: float = 1.0,
    play_bound: float | None = None,
    adaptive: bool = True,
) -> float:
    """Boosting for the span with exact gradients: regret ≤ q^N Δ_0 + W(1-q^N)(R_A/γ + R_σ + βη(D/γ+B)²T/2), q = 1 - η/W.

    The derivation stands at the top of :mod:`banditboost.theory.span`; for γ = 1 and D = B the last term is 2βηB²T. The
    comparator is one f* = Σ_k w_k f_k with Σ|w_k| ≤ W, and Δ_0 is the regret of the start against the same f*.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    copies
        N, the number of copies.
    step
        η in (0, 1]. The source asks for 1/N at least, so that the chain can cross the set; the bound does not need it.
    smoothness
        β, the smoothness constant of the losses within the radius B + ηD/γ.
    lipschitz
        L, a bound on the gradients along the path.
    radius
        B, the largest norm in the set.
    learner_regret
        R_A(T), the regret of one copy against γF for gradients of norm L at most; it may have any sign.
    start_regret
        Δ_0 = Σ_t ℓ_t(y^0) - ℓ_t(f*(x_t)), or an upper bound on it; it may have any sign.
    span_norm
        W ≥ 1, at least the sum Σ|w_k| of the weights in the comparator.
    gamma
        γ > 0, the advantage of the weak learners.
    play_bound
        D, the largest norm of a play; left out, it is B.
    adaptive
        As in :func:`span_shrinkage_regret`.

    References
    ----------
    Beygelzimer, Hazan, Kale, Luo (2015), "Online gradient boosting", Theorem 1.

    Examples
    --------
    Here q = 1/2, so that the regret is at most 64/16 + 1 · (15/16)(6 + 15 + 4·100) with R_σ = (3/2)·1·1·√100:

    >>> span_boosting_regret(100, 4, step=0.5, smoothness=4.0, lipschitz=1.0, radius=1.0, learner_regret=6.0,
    ...                      start_regret=64.0, adaptive=False)
    398.6875
    """
    rounds, own = count("horizon", horizon), number("learner_regret", learner_regret) / positive("gamma", gamma)
    kept, total = _contraction(copies, step, span_norm)
    shrinking = span_shrinkage_regret(rounds, at_least_zero("lipschitz", lipschitz), radius, adaptive=adaptive)
    curvature = _curvature(rounds, step, at_least_zero("smoothness", smoothness), radius, gamma, play_bound)
    return kept * number("start_regret", start_regret) + total * (own + shrinking + curvature)


def span_bandit_boosting_regret(
    horizon: int,
    copies: int,
    step: float,
    dimension: int,
    lipschitz: float,
    radius: float,
    delta: float,
    sigma: float,
    learner_regret: float,
    start_regret: float,
    span_norm: float = 1.0,
    *,
    gamma: float = 1.0,
    play_bound: float | None = None,
    adaptive: bool = True,
    smoothness: float | None = None,
    harmless: bool = True,
    failure: float | None = None,
) -> float:
    """Boosting for the span from loss values: expected regret ≤ q^N (Δ_0 + δLT) + W(1-q^N) C + δLT, q = 1 - η/W.

    Here C = R_A(T, σ)/γ + R_σ(T, σ) + βη(D/γ+B)²T/2 with β = dL/δ. This is :func:`span_boosting_regret` for the smoothed losses
    ℓ̂_t(y) = E ℓ_t(y + δu), whose gradients are estimated without bias by estimates of norm σ at most. Plays, shrinkage and path
    are fixed before the answers of a round are drawn, so that in expectation the copies' regret on the estimates is their regret
    on ∇ℓ̂_t, provided that f* is fixed in advance. Convexity gives ℓ_t ≤ ℓ̂_t ≤ ℓ_t + δL, so that going back to ℓ_t costs δLT at f*
    and q^N δLT at y^0, which is no more than the 2δLT of Theorem 9 of Brukhim, Hazan (2020).

    **The projection.** The bound is for a Π that never raises the *smoothed* loss either, which does not follow from Π never
    raising the loss. It holds where Π never acts (‖y^0‖ + ηND/γ ≤ B and the set contains the ball of radius B); where the loss is
    a function of ‖y - label‖ and the label lies in the set that Π projects on; and on an interval, for losses that are least at
    the label, where all labels are δ or more away from the ends. (Where queries stay inside the set, Π projects on the *shrunk*
    set, and the ends are those of the shrunk set.)
    Otherwise ℓ̂_t(Πz) ≤ ℓ_t(Πz) + δL ≤ ℓ_t(z) + δL ≤ ℓ̂_t(z) + δL, and ``harmless=False`` adds δLT/η to C, for a Π that does
    not raise the loss itself.

    With probability 1 - ρ, W(1-q^N) (σ + L)(D + D/γ + B) √(2T log(4N/ρ)) is added. The proof is that of Proposition 13 of
    Brukhim, Hazan (2020); the differences are
    ζ_{t,i} = (∇ℓ̂_t(y_t^{i-1}) - g_{t,i})·(a_{t,i}/γ - f*/W + (1/W - σ_{t,i}) y_t^{i-1}), and ‖f*/W‖ ≤ D, |1/W - σ_{t,i}| ≤ 1.

    Parameters
    ----------
    horizon, copies, step, radius, span_norm, gamma, play_bound, adaptive
        As in :func:`span_boosting_regret`.
    dimension
        d, the dimension of the decisions.
    lipschitz
        L, the Lipschitz constant within δ of the set, of the steps that leave it, and of the comparator, which may lie outside.
    delta
        δ, the radius of smoothing.
    sigma
        σ, a bound on the estimates, such as :func:`sphere_gradient_bound`; the source's shrinkage rate is then 1/(σB√t).
    learner_regret
        R_A(T, σ), the regret of one copy against γF: expected, or at the level of :func:`optimizer_failure`.
    start_regret
        Δ_0, measured with the losses themselves, not the smoothed ones.
    smoothness
        β of the losses, where they are smooth: the smoothed losses inherit it, and the smaller of β and dL/δ is used.
    harmless
        True where Π never raises the smoothed loss.
    failure
        ρ, the probability with which the bound may fail; left out, the bound holds in expectation.

    References
    ----------
    Beygelzimer, Hazan, Kale, Luo (2015), Theorem 1, with the smoothing of Brukhim, Hazan (2020), Theorem 9.

    Examples
    --------
    Here q = 1/2, and the bound is (64 + 50)/16 + (15/16)(6 + 30 + (1/2)·(2/0.5)·4·100/2) + 50:

    >>> setting = dict(horizon=100, copies=4, step=0.5, dimension=2, lipschitz=1.0, radius=1.0, delta=0.5, sigma=2.0)
    >>> span_bandit_boosting_regret(**setting, learner_regret=6.0, start_regret=64.0, adaptive=False)
    465.875
    >>> span_bandit_boosting_regret(**setting, learner_regret=6.0, start_regret=64.0, adaptive=False, harmless=False)
    559.625
    """
    rounds, L, eta = count("horizon", horizon), at_least_zero("lipschitz", lipschitz), number("step", step)
    gap, beta = rounds * smoothing_gap(delta, L), smoothed_smoothness(dimension, L, delta)
    if smoothness is not None:
        beta = min(beta, at_least_zero("smoothness", smoothness))
    kept, total = _contraction(copies, eta, span_norm)
    own = number("learner_regret", learner_regret) / positive("gamma", gamma)
    own += span_shrinkage_regret(rounds, at_least_zero("sigma", sigma), radius, adaptive=adaptive)
    own += _curvature(rounds, eta, beta, radius, gamma, play_bound)
    if not _flag("harmless", harmless):
        own += gap / eta
    if failure is not None:
        size = _play_bound(play_bound, radius)
        reach = size + size / positive("gamma", gamma) + positive("radius", radius)
        own += martingale_price(rounds, copies, sigma, L, reach, failure)
    return kept * (number("start_regret", start_regret) + gap) + total * own + gap


def _contraction(copies: int, step: float, span_norm: float) -> tuple[float, float]:
    """Return q^N and Σ_i η q^{N-i} = W (1 - q^N)."""
    n, eta, norm = count("copies", copies), number("step", step), number("span_norm", span_norm)
    if not 0 < eta <= 1:
        raise ValueError(f"step must lie in (0, 1], got {step!r}.")
    if norm < 1:
        raise ValueError(f"span_norm must be at least 1, got {span_norm!r}.")
    kept = (1.0 - eta / norm) ** n
    return kept, norm * (1.0 - kept)


def _flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return value


def _play_bound(play_bound: float | None, radius: float) -> float:
    return positive("radius", radius) if play_bound is None else positive("play_bound", play_bound)


def _curvature(rounds: int, step: float, beta: float, radius: float, gamma: float, play_bound: float | None) -> float:
    """Return (β/2) η (D/γ + B)² T."""
    reach = _play_bound(play_bound, radius) / positive("gamma", gamma) + positive("radius", radius)
    return beta * step * reach**2 * rounds / 2.0
