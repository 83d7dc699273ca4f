"""Regret of the online linear optimizers that serve as copies: OGD, FTRL, FPL and Online Frank-Wolfe.

The losses are g_t·x with ‖g_t‖ ≤ σ, over a set of diameter D.
FTRL and FPL share one proof. Let G_t = Σ_{τ≤t} g_τ, and let the (mean) play be x_t = ∇Φ(G_{t-1}) for a
concave, differentiable Φ. Then

    Σ_t g_t·x_t = Φ(G_T) - Φ(0) + Σ_t B_t,     B_t = ∫_0^1 g_t·(∇Φ(G_{t-1}) - ∇Φ(G_{t-1} + u g_t)) du,

so the regret is at most [Φ(G_T) - min_x G_T·x] - Φ(0) + Σ_t B_t: the price of smoothing Φ_0(G) = min_x G·x,
plus the price of its curvature (Abernethy, Lee, Sinha, Tewari 2014, *Online linear optimization via
smoothing*).
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from banditboost._core.checks import Array, at_least_zero, between, count, positive

Perturbation = Literal["uniform", "gaussian", "laplace"]


def ogd_regret(horizon: int, sigma: float, diameter: float) -> float:
    """Projected online gradient descent with η_t = D/(σ√t): regret ≤ (3/2) σD√T.

    Zinkevich 2003; Hazan, *Introduction to Online Convex Optimization*, Theorem 3.1. The bound is deterministic and
    holds against every adversary, hence in expectation and with every probability.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    sigma
        σ, a bound on ‖g_t‖₂.
    diameter
        D, the diameter of the set.

    Examples
    --------
    >>> ogd_regret(horizon=100, sigma=2.0, diameter=1.0)
    30.0
    """
    return 1.5 * positive("sigma", sigma) * positive("diameter", diameter) * math.sqrt(count("horizon", horizon))


def euclidean_range(diameter: float) -> float:
    """Range of R(x) = ‖x-c‖²/2 about a centre c in the set: B ≤ D²/2.

    R is 1-strongly convex in the Euclidean norm, so σ bounds the Euclidean norm of g.

    Parameters
    ----------
    diameter
        D, the diameter of the set.

    Examples
    --------
    >>> euclidean_range(diameter=2.0)
    2.0
    """
    return positive("diameter", diameter) ** 2 / 2.0


def entropic_range(dimension: int) -> float:
    """Range of R(x) = Σ_j x_j log x_j on the simplex: B = log d.

    R is 1-strongly convex in ‖·‖₁ (Pinsker's inequality), so σ bounds the largest absolute entry of g.

    Parameters
    ----------
    dimension
        d, the number of vertices, 2 or more.

    Examples
    --------
    >>> round(entropic_range(dimension=10), 6)
    2.302585
    """
    return math.log(count("dimension", dimension, least=2))


def ftrl_rate(horizon: int, sigma: float, regularizer_range: float) -> float:
    """Return the rate that minimises FTRL's bound: η = √(2B/(σ²T)).

    Parameters
    ----------
    horizon
        T, the number of rounds.
    sigma
        σ, a bound on ‖g_t‖ in the norm dual to the regularizer's.
    regularizer_range
        B = max R - min R over the set: :func:`euclidean_range`, :func:`entropic_range`, or that of another regularizer.

    Examples
    --------
    >>> ftrl_rate(horizon=100, sigma=2.0, regularizer_range=0.5)
    0.05
    """
    rounds, bound = count("horizon", horizon), positive("sigma", sigma)
    return math.sqrt(2.0 * positive("regularizer_range", regularizer_range) / rounds) / bound


def ftrl_regret(horizon: int, sigma: float, regularizer_range: float, rate: float | None = None) -> float:
    """Follow the regularized leader, x_t = argmin ηG_{t-1}·x + R(x): regret ≤ B/η + ησ²T/2, at best σ√(2BT).

    Proof: take Φ(G) = min_x G·x + R(x)/η in the identity at the top of this module. It exceeds Φ_0 by at most max R/η,
    -Φ(0) = -min R/η, and R being 1-strongly convex makes ∇Φ η-Lipschitz, so B_t ≤ ησ²/2. The bound is deterministic, as
    is :func:`ogd_regret`. The best rate gives σD√T with the Euclidean range D²/2, and σ√(2T log d) with the entropic
    range, where σ bounds the entries of g.

    Parameters
    ----------
    horizon, sigma, regularizer_range
        As in :func:`ftrl_rate`.
    rate
        η, the learning rate; left out, the rate that minimises the bound.

    Examples
    --------
    >>> ftrl_regret(horizon=100, sigma=2.0, regularizer_range=euclidean_range(1.0))
    20.0
    >>> ftrl_regret(horizon=100, sigma=2.0, regularizer_range=euclidean_range(1.0), rate=0.1)
    25.0
    """
    rounds, bound = count("horizon", horizon), positive("sigma", sigma)
    spread = positive("regularizer_range", regularizer_range)
    if rate is None:
        return bound * math.sqrt(2.0 * spread * rounds)
    eta = positive("rate", rate)
    return spread / eta + eta * bound**2 * rounds / 2.0


def fpl_scale(horizon: int, sigma: float, dimension: int, perturbation: Perturbation = "gaussian") -> float:
    """Return the scale that minimises FPL's bound: s = σ√(κT/μ), with κ and μ as in :func:`fpl_regret`.

    That is σ√T · 12^(1/4) for uniform, σ√T/(2πd)^(1/4) for Gaussian and σ√T/(8d)^(1/4) for Laplace
    perturbations. The scale does not depend on the set.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    sigma
        σ, a bound on ‖g_t‖₂.
    dimension
        d, the dimension of the decisions.
    perturbation
        "uniform", "gaussian" or "laplace".

    Examples
    --------
    >>> round(fpl_scale(horizon=100, sigma=1.0, dimension=5, perturbation="uniform"), 4)
    18.6121
    """
    rounds, bound = count("horizon", horizon), positive("sigma", sigma)
    kappa, mu = _perturbation(perturbation, count("dimension", dimension))
    return bound * math.sqrt(kappa * rounds / mu)


def fpl_regret(
    horizon: int,
    sigma: float,
    diameter: float,
    dimension: int,
    perturbation: Perturbation = "gaussian",
    scale: float | None = None,
    *,
    failure: float | None = None,
) -> float:
    """Follow the perturbed leader, x_t = argmin (G_{t-1} + p)·x: regret ≤ D(κσ²T/s + μs)/2, at best σD√(κμT).

    ========= ================================ ======== ======== ==========================
    p         coordinates                      κ        μ        best bound / (σD√T)
    ========= ================================ ======== ======== ==========================
    uniform   on [-s/2, s/2]                   √d       √(d/12)  √d / 12^(1/4)  = 0.537 √d
    gaussian  N(0, s²)                         1/√(2π)  √d       (d/2π)^(1/4)   = 0.632 d^¼
    laplace   density exp(-|p|/s)/(2s)         1/2      √(2d)    (d/2)^(1/4)    = 0.841 d^¼
    ========= ================================ ======== ======== ==========================

    Proof, with Φ(G) = E min_x (G+p)·x, whose gradient is the mean play, in the identity at the top of this module
    (Kalai, Vempala 2005, with sharper constants):

    1. Φ(G_T) ≤ min_x G_T·x since E p = 0; and since p and -p have the same distribution,
       -Φ(0) = E[max_x p·x - min_x p·x]/2 ≤ D E‖p‖/2 ≤ Dμs/2.
    2. f(p) = g·argmin (G+p)·x varies by at most ‖g‖D, so
       g·(∇Φ(G) - ∇Φ(G+ug)) = E f(p) - E f(p+ug) ≤ ‖g‖D · TV(p, p+ug), where TV is the total variation distance.
    3. TV(p, p+h) ≤ κ‖h‖₂/s, hence B_t ≤ ∫_0^1 κu‖g‖²D/s du ≤ κσ²D/(2s). Uniform: the two cubes share a
       fraction Π(1-|h_j|/s) ≥ 1-‖h‖₁/s, and ‖h‖₁ ≤ √d‖h‖₂. Gaussian: TV = P(|Z| ≤ ‖h‖/(2s)), Z standard normal.
       Laplace: Pinsker's √(KL/2) with KL = Σ_j (|h_j|/s + exp(-|h_j|/s) - 1) ≤ ‖h‖²/(2s²).

    The usual argument (be the perturbed leader) gives up to twice this bound. The paper's O(σD√T) hides
    the factor of the dimension in the last column: d^¼ for Gaussian and Laplace perturbations. For uniform
    perturbations this argument gives √d, since the total variation distance of shifted cubes grows that fast. The
    expected bound needs losses that do not depend on p; with p drawn afresh each round, g_t may depend on the past.

    With probability 1 - ρ, and p drawn *afresh* each round, σD√(T log(1/ρ)/2) is added. The differences
    g_t·(x_t - E_t x_t) are those of a martingale, each in an interval of length σD known beforehand (Hoeffding,
    Azuma), and Σ g_t·E_t x_t obeys the bound above on every sequence. With one p for all rounds no such bound holds. In
    Algorithms 1 and 2 the gradients of copy i depend only on the copies before it, so with perturbations that are
    independent across copies these gradients do not depend on copy i's own perturbation.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    sigma
        σ, a bound on ‖g_t‖₂.
    diameter
        D, the diameter of the set.
    dimension
        d, the dimension of the vectors that are perturbed.
    perturbation
        "uniform", "gaussian" or "laplace".
    scale
        s: side of the cube, standard deviation, or mean absolute value; left out, the value of :func:`fpl_scale`.
    failure
        ρ, the probability with which the bound may fail; left out, the bound holds in expectation.

    Examples
    --------
    >>> round(fpl_regret(horizon=100, sigma=1.0, diameter=2.0, dimension=4, perturbation="uniform"), 4)
    21.4914
    >>> round(fpl_regret(horizon=100, sigma=1.0, diameter=2.0, dimension=4, perturbation="gaussian"), 4)
    17.8649
    >>> round(fpl_regret(horizon=100, sigma=1.0, diameter=2.0, dimension=4, failure=0.01), 4)
    48.2134
    """
    rounds, bound = count("horizon", horizon), positive("sigma", sigma)
    size, dim = positive("diameter", diameter), count("dimension", dimension)
    kappa, mu = _perturbation(perturbation, dim)
    s = fpl_scale(rounds, bound, dim, perturbation) if scale is None else positive("scale", scale)
    rho = None if failure is None else between("failure", failure, 0, 1)
    price = 0.0 if rho is None else bound * size * math.sqrt(rounds * math.log(1.0 / rho) / 2.0)
    return size * (kappa * bound**2 * rounds / s + mu * s) / 2.0 + price


def fpl_accuracy(
    sigma: float,
    diameter: float,
    dimension: int,
    scale: float,
    share: float,
    perturbation: Perturbation = "gaussian",
) -> float:
    """How exact a perturbed leader must be: with an error of at most ε = (share/2)² B, B = κσ²D/(2s), regret grows by share·B·T.

    B is what :func:`fpl_regret` pays per round for plays that change. Proof: let x̂ be any member with (G+p)·x̂ ≤ min_x (G+p)·x + ε.
    For m(F) = min_x F·x and c > 0, m(G+p-cg) ≤ (G+p-cg)·x̂ ≤ m(G+p) + ε - c g·x̂, hence g·x̂ ≤ (m(G+p) - m(G+p-cg) + ε)/c. In the
    mean over p the difference is Φ(G) - Φ(G-cg) ≤ c g·∇Φ(G) + c²B by step 3 of :func:`fpl_regret`, so E g·x̂ ≤ g·∇Φ(G) + cB + ε/c,
    at best 2√(Bε) more than the exact leader, however x̂ was found.

    Parameters
    ----------
    sigma, diameter, dimension, perturbation
        As in :func:`fpl_regret`.
    scale
        s, the scale of the perturbation.
    share
        By which share of B·T regret may grow.

    Examples
    --------
    >>> round(fpl_accuracy(sigma=1.0, diameter=2.0, dimension=4, scale=4.0, share=0.02), 8)
    9.97e-06
    """
    kappa, _ = _perturbation(perturbation, count("dimension", dimension))
    moved = kappa * positive("sigma", sigma) ** 2 * positive("diameter", diameter) / (2.0 * positive("scale", scale))
    return (positive("share", share) / 2.0) ** 2 * moved


def fpl_inexact_factor(share: float) -> float:
    """How much dearer plays that change become where each search leaves a share a of what it saves: (1 + √a)/(1 - √a).

    The perturbation p stays. With F_t = G_{t-1} + p, any plays x_t, and what round t's search saves, d_t = F_{t+1}·(x_t - x_{t+1}),

        Σ g_t·x_t = Σ (F_{t+1} - F_t)·x_t = Σ d_t + F_{T+1}·x_{T+1} - F_1·x_1,

    a sum by parts, so regret is at most p·x* - min_x p·x + Σ d_t + ε_{T+1} with ε_t = F_t·x_t - min_x F_t·x: errors do not add up.
    As in :func:`fpl_accuracy`, E[d_t] ≤ (1+c)B + ε_t/c + ε_t - ε_{t+1} for every c > 0, with B = κσ²D/(2s). Where ε_{t+1} ≤ a d_t,
    Σ E d_t ≤ (1+c)/(1-a/c) BT, which c = √a makes (1+√a)/(1-√a) BT: the first term of :func:`fpl_regret` times this factor. The
    search that ends the game also leaves ε_{T+1} ≤ a d_T ≤ aσD/(1-a).

    Parameters
    ----------
    share
        a, what a search may leave of what it has saved, below 1.

    Examples
    --------
    >>> round(fpl_inexact_factor(0.01), 4)
    1.2222
    """
    root = math.sqrt(at_least_zero("share", share))
    if root >= 1.0:
        raise ValueError(f"share must be below 1, got {share!r}.")
    return (1.0 + root) / (1.0 - root)


def fpl_adaptive_regret(horizon: int, sigma: float, diameter: float, width: float, *, share: float = 0.0) -> float:
    """Follow the leader with Gaussian perturbations that are added where plays change: 24 max(σ√(fκDWT/√3), 2fσD).

    The scale starts at S_0 with S_0 W ≤ 2σD, where W ≥ E max_x p·x for a standard normal p. A phase ends when what searches have
    saved in it, Σ d_t ≥ 0, exceeds S_k W; then S_{k+1} = 2^j S_k with the least j ≥ 1 for which S_{k+1} W is as much as that, and a
    new perturbation q of scale √(S_{k+1}² - S_k²) is added. Neither σ nor T is known. Proof, for an oblivious adversary:

    1. The sum by parts of :func:`fpl_inexact_factor`, with each q at its time, gives on every sequence
       regret ≤ Σ_k (q_k·x* - min_x q_k·x) + Σ_t d_t (+ the error of the last play). q_k has mean zero and is drawn after it is
       known that phase k begins, so the first sum is at most Σ_k S_k W in the mean; and a phase k that ends has Σ d_t ≤ S_{k+1} W.
       Scales at least double, hence regret ≤ (2 + 2 + 1) W E S_K for the last scale S_K.
    2. Given the past, q_k is independent of the losses, and has at least the scale (√3/2) S_k: as if it stayed until T, the mean of
       Σ d_t is at most fκσ²DT/(√3 S_k). By Markov's inequality phase k ends with probability (S*/S_k)² at most, where
       S*² = fκσ²DT/(√3 W).
    3. One round saves at most fσD, so S_{k+1} ≤ 2 S_k + 2fσD/W ≤ 3 S_k where S_k ≥ u = max(S*, 2fσD/W). The first scale that
       is at least u is at most 3u, and from y ≥ u on E S_K ≤ y (1 + 2r² + 6r⁴/4 + 18r⁶/64 + ...) with r = u/y, hence E S_K ≤ 4.8u.

    Where plays change little, W S_K is small, and 5 W S_K bounds what is paid, whatever σ and T are.

    Parameters
    ----------
    horizon
        T, the number of rounds.
    sigma
        σ, a bound on ‖g_t‖₂.
    diameter
        D, the diameter of the set.
    width
        W, the Gaussian width of the set: an upper bound on the mean of max_x p·x (`Space.gaussian_width`).
    share
        What a search may leave of what it has saved, of which f is :func:`fpl_inexact_factor`.

    Examples
    --------
    >>> round(fpl_adaptive_regret(horizon=100, sigma=1.0, diameter=2.0, width=2.0), 2)
    230.36
    """
    rounds, bound = count("horizon", horizon), positive("sigma", sigma)
    size, wide, factor = positive("diameter", diameter), positive("width", width), fpl_inexact_factor(share)
    kappa, _ = _perturbation("gaussian", 1)
    often = bound * math.sqrt(factor * kappa * size * wide * rounds / math.sqrt(3.0))
    return 24.0 * max(often, 2.0 * factor * bound * size)


class FrankWolfeParameters(NamedTuple):
    """Learning rate and steps of Online-FW, returned by :func:`online_frank_wolfe_parameters`."""

    rate: float
    """η, the weight of the gradients against ‖x - x_1‖²."""
    steps: Array
    """s_1..s_T, the fraction of the way that each round moves towards the linear minimiser."""


def online_frank_wolfe_parameters(horizon: int, gradient_bound: float, diameter: float) -> FrankWolfeParameters:
    """Parameters of Online-FW: η = D/(2G T^{3/4}) and s_t = min(1, 2/√t), for a regret of O(T^{3/4}).

    Hazan, Kale 2012, in the adversarial form of Hazan's *Introduction to Online Convex Optimization* (online
    conditional gradient).

    Parameters
    ----------
    horizon
        T, the number of rounds.
    gradient_bound
        G, a bound on the norm of the gradients.
    diameter
        D, the diameter of the set.

    Examples
    --------
    >>> rate, steps = online_frank_wolfe_parameters(horizon=16, gradient_bound=1.0, diameter=2.0)
    >>> rate, float(steps[0]), float(steps[-1])
    (0.125, 1.0, 0.5)
    """
    rounds, bound = count("horizon", horizon), positive("gradient_bound", gradient_bound)
    rate = positive("diameter", diameter) / (2.0 * bound * rounds**0.75)
    return FrankWolfeParameters(rate, np.minimum(1.0, 2.0 / np.sqrt(np.arange(1.0, rounds + 1.0))))


def _perturbation(name: str, dimension: int) -> tuple[float, float]:
    """Constants (κ, μ) at scale 1: TV(p, p+h) ≤ κ‖h‖₂ and E‖p‖₂ ≤ μ."""
    if name == "uniform":
        return math.sqrt(dimension), math.sqrt(dimension / 12.0)
    if name == "gaussian":
        return 1.0 / math.sqrt(2.0 * math.pi), math.sqrt(dimension)
    if name == "laplace":
        return 0.5, math.sqrt(2.0 * dimension)
    raise ValueError(f"perturbation must be one of gaussian, laplace, uniform; got {name!r}.")
